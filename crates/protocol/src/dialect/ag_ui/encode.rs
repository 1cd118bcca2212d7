//! Events to AG-UI's, strictly bracketed: runs one after the other, nothing open at a run's end.

use super::stage::Stage;
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::flow::{Flow, Out, Paused};
use crate::journal::{Batch, Event, Kind};
use crate::sse;

/// Writes events of any dialect as AG-UI events.
pub(super) struct Writer {
    flow: Flow,
    stage: Stage,
    last: Last,
}

/// Where the last record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// From its frame: what it left open is the source's business.
    Replayed,
    /// From us: what is open is ours to close.
    Written,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            flow: Flow::new(),
            stage: Stage::new(options.thread_id.as_deref()),
            last: Last::Replayed,
        }
    }

    fn drain(&mut self, out: &mut Records) {
        for record in self.stage.take() {
            out.item(sse::write(None, None, &record));
        }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        self.last = Last::Written;
        let Self { flow, stage, .. } = self;
        for event in &batch.events {
            let sink: &mut Out<'_> = &mut |task, event, signal| stage.signal(task, event, signal);
            flow.apply(event, sink);
        }
        self.drain(out);
    }

    fn pause(&mut self, out: &mut Records) {
        let Self { flow, stage, .. } = self;
        let paused = flow.pause(&mut |task, event, signal| stage.signal(task, event, signal));
        if paused == Paused::All {
            stage.finish();
        }
        self.drain(out);
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        self.last = Last::Replayed;
        let Self { flow, stage, .. } = self;
        for event in batch.events.iter().filter(|e| e.kind() != Kind::Message) {
            let sink: &mut Out<'_> = &mut |task, event, signal| stage.signal(task, event, signal);
            flow.observe(event, sink);
        }
        stage.replayed(batch.events.iter().any(waits));
    }

    fn finish(&mut self, out: &mut Records) {
        if self.last == Last::Replayed {
            return;
        }
        let Self { flow, stage, .. } = self;
        flow.finish(&mut |task, event, signal| stage.signal(task, event, signal));
        stage.finish();
        self.drain(out);
    }
}

fn waits(event: &Event<'_>) -> bool {
    event.kind() == Kind::TaskStatus && event.get("status").is_some_and(|s| s.is("waiting-input"))
}
