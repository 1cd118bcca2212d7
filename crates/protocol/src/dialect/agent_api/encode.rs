//! Events to the Agent API's stream, or to the folded response that a stream ends with.

use super::response::{Form, Stage};
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::Batch;
use crate::journal::flow::{Flow, Out, Paused};
use crate::sse;

/// The version that is written for readers who are to answer: see [`Form::Live`].
pub const LIVE: &str = "live";

/// Writes events of any dialect as responses.
pub(super) struct Writer {
    flow: Flow,
    stage: Stage,
    form: Form,
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
        let folded = options.target.as_ref().is_some_and(|t| t.version == "folded");
        let live = options.target.as_ref().is_some_and(|t| t.version == LIVE);
        let form = match (folded, live) {
            (true, _) => Form::Folded,
            (false, true) => Form::Live,
            (false, false) => Form::Stream,
        };
        Self {
            flow: Flow::new(),
            stage: Stage::new(form, options.thread_id.as_deref()),
            form,
            last: Last::Replayed,
        }
    }

    fn drain(&mut self, out: &mut Records) {
        for record in self.stage.take() {
            match self.form {
                Form::Stream | Form::Live => out.item(sse::write(None, None, &record)),
                Form::Folded => out.item(record),
            }
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
        for event in &batch.events {
            let sink: &mut Out<'_> = &mut |task, event, signal| stage.signal(task, event, signal);
            flow.observe(event, sink);
        }
        self.stage.take();
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
