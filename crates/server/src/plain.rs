//! HTTP/1.1 as nearly everyone speaks it, in as few steps as will do.
//!
//! A request whose head is ordinary and whose body is short, with its length said, is read, answered
//! and written here. Whatever else comes (chunked bodies, long ones, `expect`, upgrades, HTTP/1.0,
//! what breaks the rules) is left to hyper, together with the connection and all that was read of
//! it, so there is one place that knows the whole protocol. What it is for: hyper keeps 16 KiB for
//! each connection, however idle, and a stream of events needs none of them.
//!
//! Invariant: a request is answered here if and only if all of it has arrived and its end is beyond
//! doubt. Nothing is answered here that was not read to its end.

mod answer;
mod head;
mod swift;

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::{Buf as _, BytesMut};
use http::{Method, header};
use http_body::Body as _;
use tokio::io::{AsyncRead as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use self::head::{Head, Reading};
use self::swift::{Said, Swift};
use crate::App;
use crate::app::Closing;
use crate::auth::guard::Peer;
use crate::edge::late;
use crate::routes::Site;
use crate::seldom::Seldom;

/// Bytes that are read at once.
const PIECE: usize = 8 << 10;
/// Bytes of a request, head and body, that is answered here.
const MOST: usize = 256 << 10;
/// Bytes of a head that has not ended after which it is left to hyper, who will refuse it.
const HEAD_MOST: usize = 64 << 10;

/// Why no more is answered here.
pub(crate) enum Left {
    /// The connection is over.
    Closed,
    /// What comes is for hyper; this is what was read of it.
    Read(BytesMut),
    /// A stream was asked for, and this is the answer: the last on this connection.
    Stream(Box<Response<Body>>),
}

/// A connection.
pub(crate) struct Plain<'a> {
    app: &'a App,
    site: &'a Site,
    stream: &'a mut TcpStream,
    peer: SocketAddr,
    /// What was read and not answered.
    buffer: BytesMut,
    /// Runs out when a head takes too long; it is not wound up for each request.
    clock: Pin<Box<Sleep>>,
    deadline: Instant,
    closed: Seldom<()>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(
        app: &'a App,
        site: &'a Site,
        stream: &'a mut TcpStream,
        peer: SocketAddr,
    ) -> Self {
        let mut closing = app.closing();
        let closed = Seldom::new(async move {
            let _ = closing.wait_for(|closing| *closing == Closing::Now).await;
        });
        let deadline = Instant::now() + app.options().head_timeout;
        let clock = Box::pin(sleep_until(deadline));
        Self { app, site, stream, peer, buffer: BytesMut::new(), clock, deadline, closed }
    }

    /// Answers requests until there are no more, or one that is not for here.
    pub(crate) async fn serve(mut self) -> io::Result<Left> {
        loop {
            let head = match self.next().await? {
                Next::Request(head) => head,
                Next::Swift(swift) => match self.swiftly(swift).await? {
                    true => return Ok(Left::Closed),
                    false => continue,
                },
                Next::Other => return Ok(Left::Read(self.buffer)),
                Next::End => return Ok(Left::Closed),
            };
            let (method, last) = (head.method.clone(), head.last);
            let mut request = head.request(&mut self.buffer);
            request.extensions_mut().insert(Peer(self.peer.ip()));
            // Boxed: it is large, and gone when a stream begins.
            let Some(response) = self.answered(Box::pin(self.site.answer(request))).await else {
                return Ok(Left::Closed);
            };
            if method == Method::GET && is_stream(&response) {
                return Ok(Left::Stream(Box::new(response)));
            }
            let limit = self.app.options().stall;
            if self.buffer.is_empty() {
                // A stream may go on for days.
                self.buffer = BytesMut::new();
            }
            let last = last || self.app.is_closing();
            let written = answer::write(self.stream, limit, (method, last), response).await;
            note(self.app, &written);
            written?;
            if last || self.app.is_closing() {
                return Ok(Left::Closed);
            }
        }
    }

    /// Answers an append; whether it was the last on its connection.
    async fn swiftly(&mut self, mut swift: Box<Swift>) -> io::Result<bool> {
        let options = self.app.options();
        self.deadline = Instant::now() + options.request_timeout;
        let came = {
            let Self { app, clock, deadline, .. } = self;
            let mut appended = pin!(swift.append(app));
            loop {
                tokio::select! {
                    biased;
                    came = &mut appended => break came,
                    () = &mut *clock => match Instant::now() < *deadline {
                        true => clock.as_mut().reset(*deadline),
                        false => break Err(late(app)),
                    }
                }
            }
        };
        let last = swift.last || self.app.is_closing();
        let written = match swift.told(self.app, came, last) {
            Said::Text(text) => answer::whole(self.stream, options.stall, &text).await,
            Said::Response(response) => {
                answer::write(self.stream, options.stall, (Method::POST, last), response).await
            }
        };
        note(self.app, &written);
        written?;
        Ok(last || self.app.is_closing())
    }

    /// The next request, with all of its body.
    async fn next(&mut self) -> io::Result<Next> {
        self.deadline = Instant::now() + self.app.options().head_timeout;
        let (mut known, mut seen) = (None, 0);
        loop {
            let reading = match known.take() {
                Some(head) => Reading::Head(head),
                // One that comes byte by byte is not read again for each of them.
                None if seen > 0 && !head::ends(&self.buffer, seen) => Reading::More,
                None => match Swift::read(self.app, self.site, &self.buffer, self.peer) {
                    Some(swift) => {
                        self.buffer.advance(swift.size);
                        if self.buffer.is_empty() {
                            self.buffer = BytesMut::new();
                        }
                        return Ok(Next::Swift(swift));
                    }
                    None => Head::read(&self.buffer),
                },
            };
            seen = self.buffer.len();
            match reading {
                Reading::Head(head) if head.size() > MOST => return Ok(Next::Other),
                Reading::Head(head) if head.size() <= self.buffer.len() => {
                    return Ok(Next::Request(head));
                }
                Reading::Head(head) => known = Some(head),
                Reading::Other => return Ok(Next::Other),
                Reading::More if seen >= HEAD_MOST => return Ok(Next::Other),
                Reading::More => {}
            }
            match self.more().await? {
                More::Bytes => {}
                More::End => return Ok(Next::End),
                // Hyper may be more patient with what has begun.
                More::Late if self.buffer.is_empty() => return Ok(Next::End),
                More::Late => return Ok(Next::Other),
            }
        }
    }

    /// Reads on.
    async fn more(&mut self) -> io::Result<More> {
        let Self { stream, buffer, clock, deadline, closed, .. } = self;
        // A request that has begun is waited for, also when the server closes.
        let idle = buffer.is_empty();
        let mut read = pin!(read(stream, buffer));
        loop {
            return tokio::select! {
                biased;
                read = &mut read => Ok(match read {
                    Ok(0) if idle => More::End,
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(_) => More::Bytes,
                    Err(error) => return Err(error),
                }),
                () = &mut *closed, if idle => Ok(More::End),
                () = &mut *clock => {
                    if Instant::now() < *deadline {
                        clock.as_mut().reset(*deadline);
                        continue;
                    }
                    Ok(More::Late)
                }
            };
        }
    }

    /// The answer; none if whoever asked is gone before there is one.
    async fn answered(
        &mut self,
        answer: impl Future<Output = Response<Body>>,
    ) -> Option<Response<Body>> {
        let mut answer = pin!(answer);
        tokio::select! {
            biased;
            response = &mut answer => Some(response),
            () = gone(self.stream) => None,
        }
    }
}

/// Writes the answer to a request for a stream, until it ends.
pub(crate) async fn follow(
    app: &App,
    stream: &mut TcpStream,
    response: Box<Response<Body>>,
) -> io::Result<()> {
    let limit = app.options().stall;
    // Boxed: what it needs is gone when the stream goes on, perhaps for days.
    let written = match Box::pin(answer::begin(stream, limit, *response)).await {
        Ok(body) => answer::chunks(stream, limit, body).await,
        Err(error) => Err(error),
    };
    note(app, &written);
    written?;
    stream.shutdown().await
}

/// Counts peers that take nothing.
fn note(app: &App, written: &io::Result<()>) {
    if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        app.metrics().stalled.add(1);
    }
}

fn is_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
        && response.body().size_hint().exact().is_none()
}

/// What comes next on a connection.
#[expect(clippy::large_enum_variant, reason = "boxed it would be allocated for each request")]
enum Next {
    Request(Head),
    Swift(Box<Swift>),
    Other,
    End,
}

enum More {
    Bytes,
    End,
    Late,
}

/// Reads what there is into a buffer, which takes no room until then.
async fn read(stream: &mut TcpStream, into: &mut BytesMut) -> io::Result<usize> {
    std::future::poll_fn(|cx| {
        let mut piece = [const { std::mem::MaybeUninit::uninit() }; PIECE];
        let mut piece = ReadBuf::uninit(&mut piece);
        ready!(Pin::new(&mut *stream).poll_read(cx, &mut piece))?;
        into.extend_from_slice(piece.filled());
        Poll::Ready(Ok(piece.filled().len()))
    })
    .await
}

/// Ends when the peer is gone. One who has sent more already is taken to be there.
async fn gone(stream: &TcpStream) {
    std::future::poll_fn(|cx| {
        let mut byte = [0];
        match ready!(stream.poll_peek(cx, &mut ReadBuf::new(&mut byte))) {
            Ok(0) | Err(_) => Poll::Ready(()),
            Ok(_) => Poll::Pending,
        }
    })
    .await;
}
