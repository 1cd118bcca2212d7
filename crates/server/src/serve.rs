//! Listening, and stopping well.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use selvedge_agents::{Journal, Runner};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::app::Closing;
use crate::auth::guard::Peer;
use crate::edge::headers;
use crate::metrics::Metrics;
use crate::plain::{self, Left, Plain};
use crate::routes::Site;
use crate::stall::Impatient;
use crate::streams::Streams;
use crate::{App, Error, ErrorCode, expiry, retention, surface};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes of a request's head, give or take what is read at once.
const HEAD_BYTES: usize = 64 << 10;
/// How often files are looked at that can be replaced.
const PERIOD: Duration = Duration::from_secs(1);
/// How often credentials that have ended are forgotten.
const SWEEP: Duration = Duration::from_secs(60);
/// Turns of agents at once.
const TURNS: usize = 4096;

/// Serves until `stop` ends, then closes: open requests are answered, open streams are told to
/// resume later and end. Who does not take that in is cut off after a moment.
pub async fn serve(
    app: App,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut keeping = JoinSet::new();
    keeping.spawn(keep(app.clone()));
    keeping.spawn(work(app.clone()));
    #[cfg(feature = "otel")]
    let (last, traces) = traces(&app);
    keeping.spawn(expiry::keep(app.clone()));
    keeping.spawn(retention::keep(app.clone()));
    keeping.spawn(surface::a2a::keep(app.clone()));
    let site = Arc::new(Site::new(app.clone()));
    let streams = Arc::new(Streams::default());
    let most = app.options().connections.min(u32::MAX as usize);
    let slots = Arc::new(Semaphore::new(most));
    let mut open = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(ended) = open.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection was dropped");
                }
                continue;
            }
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most often too many files are open; others have to close first.
                tracing::error!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // An event is small and should leave at once.
        let _ = stream.set_nodelay(true);
        match slots.clone().try_acquire_owned() {
            Ok(slot) => {
                let slot = Slot::new(slot, app.metrics().clone());
                let connection =
                    Connection { app: app.clone(), site: site.clone(), stream, peer, slot };
                open.spawn(connection.serve(streams.clone()));
            }
            Err(_) => {
                app.metrics().turned_away.add(1);
                open.spawn(turn_away(app.clone(), stream));
            }
        }
    }
    drop(listener);
    app.close_streams();
    // All connections, streams too, have given their places back.
    let ended = slots.acquire_many(u32::try_from(most).unwrap_or(u32::MAX));
    if timeout(app.options().grace, ended).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut off");
    }
    #[cfg(feature = "otel")]
    {
        drop(last);
        let _ = traces.await;
    }
    // Whoever opens the journal next need not wait for them.
    keeping.shutdown().await;
    Ok(())
}

/// Sends traces, until what it gives first is dropped.
#[cfg(feature = "otel")]
fn traces(app: &App) -> (tokio::sync::oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let (last, ended) = tokio::sync::oneshot::channel::<()>();
    let work = app.tracing();
    let task = tokio::spawn(async move {
        if let Some(work) = work {
            work.run(async { drop(ended.await) }).await;
        }
    });
    (last, task)
}

/// The journal as agents use it: what they do is counted and told as everyone's is.
fn journal(app: App) -> Journal {
    let (store, vault) = (app.store().clone(), app.vault().clone());
    Journal::new(
        store,
        Arc::new(move |append| {
            let app = app.clone();
            Box::pin(async move { app.append(append).await })
        }),
    )
    .with_vault(vault)
}

/// Looks after what can change while it serves.
async fn keep(app: App) {
    let certificates = async {
        let mut period = tokio::time::interval(PERIOD);
        while app.tls().is_some() {
            period.tick().await;
            let app = app.clone();
            let _ =
                tokio::task::spawn_blocking(move || app.tls().map(crate::tls::Tls::reload)).await;
        }
    };
    let credentials = async {
        let mut period = tokio::time::interval(SWEEP);
        app.staffed().await;
        loop {
            period.tick().await;
            if let Err(error) = app.vault().sweep().await {
                tracing::warn!(%error, "credentials that have ended could not be forgotten");
            }
        }
    };
    let shares = async {
        if app.store().is_shared() {
            app.gate().watch_revoked().await;
        }
    };
    tokio::join!(app.gate().keep(), shares, certificates, credentials);
}

/// Lets the agents work, as soon as there are any.
async fn work(app: App) {
    let desk = app.staffed().await;
    Runner::new(desk, journal(app), TURNS).run().await;
}

/// One of the connections that may be open.
struct Slot {
    _permit: OwnedSemaphorePermit,
    metrics: Arc<Metrics>,
}

impl Slot {
    fn new(permit: OwnedSemaphorePermit, metrics: Arc<Metrics>) -> Self {
        metrics.connections.add(1);
        Self { _permit: permit, metrics }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.metrics.connections.sub(1);
    }
}

/// A connection, and all it needs.
struct Connection {
    app: App,
    site: Arc<Site>,
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
}

impl Connection {
    async fn serve(self, streams: Arc<Streams>) {
        let Self { app, site, mut stream, peer, slot } = self;
        let Some(tls) = app.tls() else {
            let left = Plain::new(&app, &site, &mut stream, peer).serve().await;
            let followed = match left {
                Ok(Left::Closed) => stream.shutdown().await,
                // Boxed, and so only there for those who need it.
                Ok(Left::Read(read)) => {
                    let stream = impatient(&app, stream).after(read);
                    Box::pin(requests(app, site, stream, peer)).await;
                    Ok(())
                }
                // Moved to the threads for streams, together with its place.
                Ok(Left::Stream(response)) => stream.into_std().map(|stream| {
                    streams.spawn(async move {
                        let followed = match TcpStream::from_std(stream) {
                            Ok(mut stream) => plain::follow(&app, &mut stream, response).await,
                            Err(error) => Err(error),
                        };
                        broke(followed);
                        drop(slot);
                    });
                }),
                Err(error) => Err(error),
            };
            return broke(followed);
        };
        match timeout(HANDSHAKE, tls.acceptor().accept(impatient(&app, stream))).await {
            Ok(Ok(stream)) => Box::pin(requests(app.clone(), site, stream, peer)).await,
            Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
            Err(_) => tracing::debug!("a handshake took too long"),
        }
    }
}

fn broke(ended: io::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

fn impatient<S>(app: &App, stream: S) -> Impatient<S> {
    Impatient::new(stream, app.options().stall, app.metrics().clone())
}

async fn requests<S>(app: App, site: Arc<Site>, stream: S, peer: SocketAddr)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer.ip()));
        let site = site.clone();
        async move {
            let mut response = site.answer(request).await;
            headers::add(response.headers_mut());
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.options().head_timeout)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut closing = app.closing();
    let closed = async {
        let _ = closing.wait_for(|closing| *closing == Closing::Now).await;
    };
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = closed => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Says that there are too many already, without reading what is asked.
async fn turn_away(app: App, mut stream: TcpStream) {
    let error = Error::new(ErrorCode::TooManyConnections, "too many connections are open");
    app.metrics().answer(error.code.status(), Some(error.code));
    // Without a handshake it could not be read.
    if app.tls().is_none() {
        let body = error.body();
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
             retry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let said = async {
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await
        };
        let _ = timeout(Duration::from_secs(1), said).await;
    }
}
