//! Peers that take nothing: a connection that cannot be written to for too long is cut off.
//!
//! A body is only asked for more when there is room for it, so it cannot notice by itself; what is
//! held for a peer is freed with its connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::metrics::Metrics;

/// A connection with an end to waiting for its peer.
pub(crate) struct Impatient<S> {
    stream: S,
    limit: Duration,
    /// Runs while the peer takes nothing.
    patience: Option<Pin<Box<Sleep>>>,
    metrics: Arc<Metrics>,
    /// What was read of it already, and is to be read again.
    read: BytesMut,
}

impl<S> Impatient<S> {
    pub(crate) fn new(stream: S, limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self { stream, limit, patience: None, metrics, read: BytesMut::new() }
    }

    /// Beginning with what was read of it already.
    pub(crate) fn after(mut self, read: BytesMut) -> Self {
        self.read = read;
        self
    }

    /// Watches how a write went.
    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.patience = None;
            return written;
        }
        let limit = self.limit;
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(limit)));
        if patience.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.metrics.stalled.add(1);
        // Should it be asked again, it is over again, after as long.
        patience.as_mut().reset(Instant::now() + limit);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = self.read.len().min(buf.remaining());
        buf.put_slice(&self.read.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
