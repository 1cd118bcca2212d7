//! Events to stream responses.

use super::model::{EVENTS_EXTENSION, State, Version};
use super::pen::Pen;
use super::write::{Envelope, clean};
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::flow::{Flow, Out, Outcome, Paused, Signal, Waiting};
use crate::journal::{Batch, Event, Kind};
use crate::json::Raw;

/// Writes stream responses.
pub(super) struct Writer {
    flow: Flow,
    script: Script,
    /// Whether anything was written that did not stand in a stream of our own; if not, the end of
    /// the source is as it was.
    wrote: bool,
}

/// Turns signals into records.
struct Script {
    pen: Pen,
    extension: Extension,
}

/// Whether events that A2A has no place for are written under the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    Active,
    Inactive,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let version = options.target.as_ref().map_or("1.0", |t| t.version.as_str());
        let which = if version.starts_with("0.") { Version::V03 } else { Version::V1 };
        let envelope =
            if version.contains("-jsonrpc") { Envelope::JsonRpc } else { Envelope::Bare };
        let extension =
            if version.ends_with("+events") { Extension::Active } else { Extension::Inactive };
        let pen = Pen::new(which, envelope, options.thread_id.as_deref());
        Self { flow: Flow::new(), script: Script { pen, extension }, wrote: false }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        self.wrote |= !batch.events.is_empty();
        let Self { flow, script, .. } = self;
        for event in &batch.events {
            flow.apply(event, &mut |task, event, signal| script.signal(task, event, signal, out));
        }
    }

    fn pause(&mut self, out: &mut Records) {
        let Self { flow, script, wrote } = self;
        let sink: &mut Out<'_> = &mut |task, event, signal| script.signal(task, event, signal, out);
        if flow.pause(sink) == Paused::All {
            script.pen.finish(out);
            *wrote = false;
        }
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        let Self { flow, script, .. } = self;
        let out = &mut Records::default();
        for event in &batch.events {
            flow.observe(event, &mut |task, event, signal| script.signal(task, event, signal, out));
        }
    }

    fn finish(&mut self, out: &mut Records) {
        let Self { flow, script, wrote } = self;
        if !*wrote {
            return;
        }
        flow.finish(&mut |task, event, signal| script.signal(task, event, signal, out));
        script.pen.finish(out);
    }
}

impl Script {
    fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal, out: &mut Records) {
        let pen = &mut self.pen;
        match signal {
            Signal::RunStarted { parent, .. } => {
                pen.start(task, event, parent);
                // What the user said is known: nothing is waited for.
                if event.is_some_and(|e| e.get("messageId").is_some()) {
                    pen.announce(task, event, out);
                }
            }
            Signal::RunWaiting { on } => {
                let state = match on {
                    Waiting::Input => State::InputRequired,
                    Waiting::Auth => State::AuthRequired,
                };
                // A question was written with the state already.
                if event.is_some_and(|e| e.kind() == Kind::TaskStatus) {
                    pen.status(task, event, state, None, out);
                }
            }
            Signal::RunFinished { outcome } => {
                let state = match outcome {
                    Outcome::Completed => State::Completed,
                    Outcome::Failed { .. } if event.is_some_and(is_rejected) => State::Rejected,
                    Outcome::Failed { .. } => State::Failed,
                    Outcome::Canceled => State::Canceled,
                    Outcome::Waiting => return,
                };
                pen.end(task, event, state, out);
            }
            Signal::TextStarted { id } => {
                if !is_message(event) {
                    pen.text_started(task, event, &id);
                }
            }
            Signal::TextDelta { id, body } => {
                if !is_message(event) {
                    let whole = event.is_some_and(|e| e.kind() == Kind::ContentComplete);
                    pen.text(task, event, &id, &body, whole, out);
                }
            }
            Signal::TextFinished { id, .. } => {
                if !is_message(event) {
                    pen.text_finished(task, event, &id, out);
                }
            }
            Signal::Event => self.event(task, event, out),
            Signal::StepStarted
            | Signal::StepFinished
            | Signal::CallStarted
            | Signal::CallDelta { .. }
            | Signal::Call { .. }
            | Signal::Return { .. }
            | Signal::ThoughtStarted { .. }
            | Signal::ThoughtDelta { .. }
            | Signal::ThoughtFinished { .. } => {
                pen.work(task, event, out);
                self.extra(task, event, out);
            }
        }
    }

    fn event(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        let Some(event) = event else { return };
        let pen = &mut self.pen;
        let role = event.get("role").and_then(Raw::body);
        match event.kind() {
            Kind::ThreadCreated => pen.enter(event),
            Kind::Message if role == Some("user") => pen.user(task, event, out),
            Kind::Message if role == Some("agent") => pen.spoken(task, event, out),
            Kind::FileWrite => pen.file(task, event, out),
            Kind::DataWrite => pen.data(task, event, out),
            Kind::DatasetWrite => pen.dataset(task, event, out),
            Kind::Source => pen.source(task, event, out),
            Kind::SubtaskCreated => pen.subtask(task, event),
            Kind::InputRequired | Kind::ToolInputRequired => {
                pen.ask(task, event, State::InputRequired, out);
            }
            Kind::AuthRequired => pen.ask(task, event, State::AuthRequired, out),
            Kind::InputReceived => pen.answer(task, event, out),
            Kind::TaskStatus => pen.status(task, Some(event), State::Working, None, out),
            Kind::Error => pen.error(task, event, out),
            _ => self.extra(task, Some(event), out),
        }
    }

    /// Writes an event under the extension, if that is active.
    fn extra(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        let Some(event) = event else { return };
        let parts = matches!(event.kind(), Kind::PartStarted | Kind::PartFinished);
        if self.extension == Extension::Inactive || event.kind().is_internal() || parts {
            return;
        }
        let mut text = String::new();
        event.write(&mut text);
        let value = format!("{{{}:{text}}}", crate::json::quote(EVENTS_EXTENSION));
        self.pen.extra(task, event, clean(&value), out);
    }
}

fn is_message(event: Option<&Event<'_>>) -> bool {
    event.is_some_and(|e| e.kind() == Kind::Message)
}

fn is_rejected(event: &Event<'_>) -> bool {
    event.at("metadata", "/reason").is_some_and(|r| r.is("rejected"))
}

/// Which words of an event can be told from what is written.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::TaskStatus => &["status", "metadata/reason"],
        Kind::TaskComplete => &["kind"],
        Kind::PartStarted | Kind::PartFinished => &["partType"],
        Kind::Message => &["role"],
        Kind::FileWrite => &["index", "complete", "encoding"],
        Kind::DatasetWrite => &["index", "complete"],
        Kind::InputRequired => {
            &["requireUser", "inputType", "metadata/isAutomatic", "metadata/multiple"]
        }
        Kind::ToolInputRequired => &["inputType", "metadata/isAutomatic", "metadata/multiple"],
        Kind::InputReceived => &["value", "metadata/isAutomatic"],
        Kind::AuthRequired => &["authType"],
        _ => &[],
    };
    words.contains(&field)
}
