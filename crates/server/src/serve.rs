//! Listening, and stopping well.

use std::io;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

use crate::{App, router};

/// How long what is open may hold up the end.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until `stop` ends, then closes: open requests are answered, open streams are told to
/// resume later and end. Who does not take that in is cut off after a moment.
pub async fn serve(
    app: App,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // An event is small and should leave at once.
        let _ = stream.set_nodelay(true);
    });
    let (stopping, stopped) = tokio::sync::oneshot::channel();
    let served = axum::serve(listener, router(app.clone())).with_graceful_shutdown(async move {
        stop.await;
        app.close_streams();
        let _ = stopping.send(());
    });
    let cut = async {
        let _ = stopped.await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = served => served,
        () = cut => Ok(()),
    }
}
