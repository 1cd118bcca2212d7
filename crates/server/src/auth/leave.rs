//! Answers that go on end when the right to read them does.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::{Frame, SizeHint};

use super::ring::Gate;
use super::{Pass, Principal};
use crate::clock::now;
use crate::metrics::{Metrics, Resync};
use crate::seldom::Seldom;

/// A body that is watched while it is read.
pub(super) struct Watched {
    body: Body,
    kind: Answer,
    ended: Seldom<Resync>,
    over: bool,
    metrics: Arc<Metrics>,
}

/// What an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Events, which can say why they end.
    Events,
    /// Something else, which is cut off so that nobody takes it for whole.
    Other,
}

impl Watched {
    pub(super) fn new(
        body: Body,
        kind: Answer,
        gate: &Gate,
        principal: &Principal,
        metrics: Arc<Metrics>,
    ) -> Self {
        if kind == Answer::Events {
            metrics.readers.add(1);
        }
        let ended = ended(gate, principal);
        Self { body, kind, ended, over: false, metrics }
    }
}

/// Waits for the end of the right to read.
fn ended(gate: &Gate, principal: &Principal) -> Seldom<Resync> {
    // It can only fail when the server is gone, and the stream with it.
    match principal.pass.clone() {
        Pass::Share(hash) => {
            let mut shares = gate.watch_shares();
            let revoked = async move {
                let _ = shares.wait_for(|revoked| revoked.contains(&hash)).await.is_ok();
            };
            within(principal.expires, revoked)
        }
        pass => {
            let mut ring = gate.watch();
            let revoked = async move {
                let _ = ring.wait_for(|ring| !ring.admits(&pass)).await.is_ok();
            };
            within(principal.expires, revoked)
        }
    }
}

/// Waits for either end. Each answer has one of these for as long as it goes on, so a clock is only
/// in those that need one.
fn within(
    expires: Option<i64>,
    revoked: impl Future<Output = ()> + Send + 'static,
) -> Seldom<Resync> {
    let revoked = revoked.map(|()| Resync::Revoked);
    match expires {
        None => Seldom::new(revoked),
        Some(at) => Seldom::new(async move {
            tokio::select! {
                reason = revoked => reason,
                () = expired(at) => Resync::Expired,
            }
        }),
    }
}

async fn expired(at: i64) {
    loop {
        let left = u64::try_from(at.saturating_sub(now())).unwrap_or(0);
        if left == 0 {
            return;
        }
        // Timers have an end of their own; a key's may be centuries away.
        tokio::time::sleep(Duration::from_millis(left.min(86_400_000))).await;
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.over {
            return Poll::Ready(None);
        }
        if let Poll::Ready(reason) = Pin::new(&mut self.ended).poll(cx) {
            self.over = true;
            self.metrics.resync(reason);
            let name = reason.name();
            return Poll::Ready(Some(match self.kind {
                // Every piece of a stream of events is whole events, so this is one more.
                Answer::Events => {
                    let frame = format!("event: resync\ndata: {{\"reason\":\"{name}\"}}\n\n");
                    Ok(Frame::data(Bytes::from(frame)))
                }
                Answer::Other => Err(axum::Error::new(std::io::Error::other(name))),
            }));
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.metrics.sent.add(data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.kind == Answer::Events {
            self.metrics.readers.sub(1);
        }
    }
}
