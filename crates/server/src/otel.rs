//! OpenTelemetry: what tasks, model calls and tools did, as spans to a collector.
//!
//! Spans are made from what was committed, so they are the same whoever ran the agent and whatever
//! protocol it spoke. A collector that is slow or gone costs spans, never appends.

mod spans;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use selvedge_store::{Append, Appended, ThreadKey};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use spans::Spans;

/// Appends that may wait for the tracer.
const QUEUE: usize = 4096;
/// Spans of one export, and the longest wait for them.
const BATCH: usize = 512;
const PERIOD: Duration = Duration::from_secs(2);
/// How long the last export may take.
const LAST: Duration = Duration::from_secs(5);

/// Where spans go.
#[derive(Debug, Clone)]
pub struct TraceOptions {
    /// The collector's address, such as `http://127.0.0.1:4318`.
    pub endpoint: String,
}

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("cannot send traces to {endpoint}: {cause}")]
pub struct TraceError {
    endpoint: String,
    cause: String,
}

/// Events that were committed.
pub(crate) struct Committed {
    thread: Thread,
    first: u64,
    at: i64,
    events: Vec<Bytes>,
}

struct Thread {
    key: ThreadKey,
    epoch: u64,
}

/// An append on its way.
pub(crate) struct Pending {
    key: ThreadKey,
    events: Vec<Bytes>,
}

/// Takes what is committed.
pub(crate) struct Tracer {
    sender: Sender<Committed>,
    work: Mutex<Option<Work>>,
}

impl Tracer {
    pub(crate) fn open(options: &TraceOptions) -> Result<Self, TraceError> {
        crate::tls::install();
        let failed = |cause: String| TraceError { endpoint: options.endpoint.clone(), cause };
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(opentelemetry_otlp::Protocol::HttpJson)
            .with_endpoint(format!("{}/v1/traces", options.endpoint.trim_end_matches('/')))
            .build()
            .map_err(|error| failed(error.to_string()))?;
        exporter.set_resource(&Resource::builder().with_service_name("selvedge").build());
        let (sender, receiver) = channel(QUEUE);
        let work = Work { receiver, spans: Spans::new(), exporter };
        Ok(Self { sender, work: Mutex::new(Some(work)) })
    }

    /// What to remember of an append until it is committed.
    pub(crate) fn pending(&self, append: &Append) -> Pending {
        let events = append.events.iter().map(|draft| draft.event.clone()).collect();
        Pending { key: append.thread.clone(), events }
    }

    /// An append was committed.
    pub(crate) fn committed(&self, pending: Pending, appended: &Appended) {
        if appended.duplicate {
            return;
        }
        let thread = Thread { key: pending.key, epoch: appended.thread.epoch };
        let (first, at) = (appended.first, appended.at);
        let committed = Committed { thread, first, at, events: pending.events };
        if self.sender.try_send(committed).is_err() {
            tracing::debug!("a trace is not complete: the collector is slow");
        }
    }

    /// What there is to do; whoever serves does it.
    pub(crate) fn work(&self) -> Option<Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Making spans and sending them.
pub(crate) struct Work {
    receiver: Receiver<Committed>,
    spans: Spans,
    exporter: SpanExporter,
}

impl Work {
    /// Works until `stop` ends, and then sends what is left.
    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut ready: Vec<SpanData> = Vec::new();
        let mut period = tokio::time::interval(PERIOD);
        let mut stop = std::pin::pin!(stop);
        loop {
            let due = tokio::select! {
                committed = self.receiver.recv() => {
                    let Some(committed) = committed else { break };
                    ready.extend(self.spans.take(&committed));
                    ready.len() >= BATCH
                }
                _ = period.tick() => !ready.is_empty(),
                () = &mut stop => break,
            };
            if due {
                self.send(std::mem::take(&mut ready)).await;
            }
        }
        while let Ok(committed) = self.receiver.try_recv() {
            ready.extend(self.spans.take(&committed));
        }
        if !ready.is_empty() && timeout(LAST, self.send(ready)).await.is_err() {
            tracing::warn!("the last traces could not be sent in time");
        }
    }

    async fn send(&self, spans: Vec<SpanData>) {
        let count = spans.len();
        if let Err(error) = self.exporter.export(spans).await {
            tracing::warn!(%error, count, "traces could not be sent");
        }
    }
}
