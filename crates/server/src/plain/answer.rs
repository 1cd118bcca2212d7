//! Writing an answer.

use std::cell::RefCell;
use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::response::Response;
use bytes::{Buf as _, Bytes};
use http::{HeaderMap, Method, StatusCode, header};
use http_body::{Body as _, Frame};
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::gone;
use crate::edge::headers;

/// Bytes that a head has room for before it grows.
const HEAD: usize = 768;

/// How the end of a body is told.
enum Length {
    /// There is none, and nobody expects one.
    None,
    Known(u64),
    /// In pieces, of which an empty one is the last.
    Chunked,
}

/// Writes an answer to a request of a method; `last` if the connection ends with it. A peer that
/// takes nothing for `limit` is an error, and so is a body that breaks off.
pub(super) async fn write(
    stream: &mut TcpStream,
    limit: Duration,
    (method, last): (Method, bool),
    response: Response<Body>,
) -> io::Result<()> {
    let (parts, mut body) = response.into_parts();
    let bodiless = matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || parts.status.is_informational();
    // What a body would have had that was asked about only.
    let said = parts.headers.get(header::CONTENT_LENGTH).filter(|_| method == Method::HEAD);
    let said = said.and_then(|said| said.to_str().ok()?.parse().ok());
    let length = match said.or(body.size_hint().exact()) {
        _ if bodiless => Length::None,
        Some(exact) => Length::Known(exact),
        None => Length::Chunked,
    };
    let mut head = head(parts.status, &parts.headers, &length, last);
    drop(parts);
    if bodiless || method == Method::HEAD {
        return send(stream, limit, &mut [IoSlice::new(&head)]).await;
    }
    match length {
        Length::None => Ok(()),
        Length::Known(exact) => {
            let mut left = exact;
            // The head goes with the first piece.
            while let Some(data) = frame(&mut body).await? {
                left = left.checked_sub(data.len() as u64).ok_or_else(broken)?;
                send(stream, limit, &mut [IoSlice::new(&head), IoSlice::new(&data)]).await?;
                head.clear();
            }
            if left > 0 {
                return Err(broken());
            }
            send(stream, limit, &mut [IoSlice::new(&head)]).await
        }
        Length::Chunked => {
            send(stream, limit, &mut [IoSlice::new(&head)]).await?;
            drop(head);
            chunks(stream, limit, body).await
        }
    }
}

/// Writes an answer that is all there, in one go if the peer takes it.
pub(super) async fn whole(stream: &mut TcpStream, limit: Duration, text: &[u8]) -> io::Result<()> {
    let taken = match stream.try_write(text) {
        Ok(taken) => taken,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    match text.get(taken..) {
        None | Some([]) => Ok(()),
        Some(rest) => send(stream, limit, &mut [IoSlice::new(rest)]).await,
    }
}

/// Writes the head of an answer of unknown length, the last on its connection, and gives its body:
/// whoever waits for the first event should know that there is a stream.
pub(super) async fn begin(
    stream: &mut TcpStream,
    limit: Duration,
    response: Response<Body>,
) -> io::Result<Body> {
    let (parts, body) = response.into_parts();
    let head = head(parts.status, &parts.headers, &Length::Chunked, true);
    send(stream, limit, &mut [IoSlice::new(&head)]).await?;
    Ok(body)
}

/// Writes a body of unknown length, for as long as the peer is there.
pub(super) async fn chunks(
    stream: &mut TcpStream,
    limit: Duration,
    mut body: Body,
) -> io::Result<()> {
    loop {
        let data = tokio::select! {
            biased;
            data = frame(&mut body) => data?,
            () = gone(stream) => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        let Some(data) = data else {
            return send(stream, limit, &mut [IoSlice::new(b"0\r\n\r\n")]).await;
        };
        // An empty piece would be the last.
        if data.has_remaining() {
            let mut digits = [0; 18];
            let mut all = [
                IoSlice::new(size(data.len(), &mut digits)),
                IoSlice::new(&data),
                IoSlice::new(b"\r\n"),
            ];
            send(stream, limit, &mut all).await?;
        }
    }
}

/// The next piece of a body.
async fn frame(body: &mut Body) -> io::Result<Option<Bytes>> {
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        match frame.transpose().map_err(io::Error::other)?.map(Frame::into_data) {
            Some(Ok(data)) => return Ok(Some(data)),
            // Trailers: nobody here has any.
            Some(Err(_)) => {}
            None => return Ok(None),
        }
    }
}

/// Writes all of some pieces.
async fn send(
    stream: &mut TcpStream,
    limit: Duration,
    mut pieces: &mut [IoSlice<'_>],
) -> io::Result<()> {
    // Runs while the peer takes nothing, which is seldom: there is no clock for those who do.
    let mut patience: Option<Pin<Box<Sleep>>> = None;
    while pieces.iter().any(|piece| !piece.is_empty()) {
        let written = std::future::poll_fn(|cx| {
            let written = Pin::new(&mut *stream).poll_write_vectored(cx, pieces);
            if written.is_ready() {
                return written;
            }
            let patience = patience.get_or_insert_with(|| Box::pin(sleep(limit)));
            ready!(patience.as_mut().poll(cx));
            Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")))
        });
        match written.await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => IoSlice::advance_slices(&mut pieces, count),
        }
        patience = None;
    }
    Ok(())
}

fn broken() -> io::Error {
    io::Error::other("a body is not as long as it said")
}

/// A number and a line's end, as pieces begin.
fn size(number: usize, digits: &mut [u8; 18]) -> &[u8] {
    let mut rest = &mut digits[..];
    // There is room for the largest.
    let _ = write!(rest, "{number:x}\r\n");
    let left = rest.len();
    digits.get(..digits.len() - left).unwrap_or_default()
}

fn head(status: StatusCode, headers: &HeaderMap, length: &Length, last: bool) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(b"HTTP/1.1 ");
    head.extend_from_slice(status.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(status.canonical_reason().unwrap_or("").as_bytes());
    head.extend_from_slice(b"\r\n");
    let mut line = |name: &[u8], value: &[u8]| {
        head.extend_from_slice(name);
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    };
    for (name, value) in headers {
        // How long it is and whether more follows is said below.
        if !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONNECTION)
        {
            line(name.as_str().as_bytes(), value.as_bytes());
        }
    }
    for (name, value) in headers::missing(headers) {
        line(name.as_str().as_bytes(), value.as_bytes());
    }
    match length {
        Length::None => {}
        Length::Known(exact) => line(b"content-length", exact.to_string().as_bytes()),
        Length::Chunked => line(b"transfer-encoding", b"chunked"),
    }
    if last {
        line(b"connection", b"close");
    }
    dated(|date| line(b"date", date.as_bytes()));
    head.extend_from_slice(b"\r\n");
    head
}

/// Tells the time, as answers have it; put into words once a second.
pub(super) fn dated(tell: impl FnOnce(&str)) {
    thread_local! {
        static DATE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    DATE.with_borrow_mut(|(known, date)| {
        if *known != second {
            *date = httpdate::fmt_http_date(now);
            *known = second;
        }
        tell(date);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_begin_with_their_size() {
        let mut digits = [0; 18];
        for (number, text) in [(0, "0\r\n"), (10, "a\r\n"), (4096, "1000\r\n")] {
            assert_eq!(size(number, &mut digits), text.as_bytes());
        }
        assert_eq!(size(usize::MAX, &mut digits), b"ffffffffffffffff\r\n");
    }

    #[test]
    fn a_head_says_once_how_its_body_ends() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_LENGTH, 7.into());
        headers.insert("a", "b".parse().unwrap());
        let always: String = headers::missing(&headers)
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let text = |length, last| {
            let head = String::from_utf8(head(StatusCode::OK, &headers, &length, last)).unwrap();
            let (head, date) = head.split_once("date: ").unwrap();
            assert!(date.ends_with(" GMT\r\n\r\n"), "{date}");
            head.to_owned()
        };
        assert_eq!(
            text(Length::Known(3), false),
            format!("HTTP/1.1 200 OK\r\na: b\r\n{always}content-length: 3\r\n")
        );
        assert_eq!(
            text(Length::Chunked, true),
            format!(
                "HTTP/1.1 200 OK\r\na: b\r\n{always}transfer-encoding: chunked\r\nconnection: close\r\n"
            )
        );
    }
}
