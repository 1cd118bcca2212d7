//! Parts of a UIMessage, and how each version of `ai` writes them.

use crate::dialect::ai_sdk::Version;
use crate::dialect::ai_sdk::json::{Object, close_partial};
use crate::json::{Raw, text};

/// Whether a streamed part may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It was opened and not closed.
    Open,
    /// It grows as long as nothing comes after it; taken as whole.
    Loose,
    /// It is whole.
    Done,
}

/// A part.
#[derive(Debug, Clone)]
pub(super) enum Part {
    StepStart,
    Text(Box<Text>),
    Tool(Box<Tool>),
    /// An application's data: type, id and value as JSON text.
    Data {
        ty: String,
        id: Option<Raw<'static>>,
        data: Raw<'static>,
    },
    /// Anything that never changes, as JSON text.
    Fixed(String),
}

/// A text or a thought.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) thought: bool,
    pub(super) id: Option<Raw<'static>>,
    /// As a string body.
    pub(super) body: String,
    pub(super) growth: Growth,
    pub(super) provider: Option<Raw<'static>>,
    pub(super) citations: Option<Raw<'static>>,
}

/// A tool call with all that came of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tool {
    pub(super) id: Raw<'static>,
    pub(super) name: Raw<'static>,
    pub(super) dynamic: bool,
    pub(super) state: State,
    pub(super) title: Option<Raw<'static>>,
    pub(super) metadata: Option<Raw<'static>>,
    pub(super) encoding: Option<Raw<'static>>,
    pub(super) input: Option<Raw<'static>>,
    /// The input as it was streamed, as a string body.
    pub(super) streamed: String,
    pub(super) raw_input: Option<Raw<'static>>,
    pub(super) output: Option<Raw<'static>>,
    pub(super) error: Option<Raw<'static>>,
    pub(super) executed: Option<Raw<'static>>,
    pub(super) preliminary: Option<Raw<'static>>,
    pub(super) call_provider: Option<Raw<'static>>,
    pub(super) result_provider: Option<Raw<'static>>,
    pub(super) approval: Option<Approval>,
}

/// An approval asked for, and its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Approval {
    pub(super) id: Raw<'static>,
    pub(super) descriptor: Option<Raw<'static>>,
    pub(super) schema_input: Option<Raw<'static>>,
    pub(super) request_reason: Option<Raw<'static>>,
    pub(super) automatic: bool,
    pub(super) signature: Option<Raw<'static>>,
    pub(super) approved: Option<bool>,
    pub(super) reason: Option<Raw<'static>>,
}

/// How far a tool call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    InputStreaming,
    InputAvailable,
    ApprovalRequested,
    ApprovalResponded,
    OutputAvailable,
    OutputError,
    OutputDenied,
}

impl State {
    /// Whether the call has returned.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::OutputAvailable | Self::OutputError | Self::OutputDenied)
    }

    fn name(self) -> &'static str {
        match self {
            Self::InputStreaming => "\"input-streaming\"",
            Self::InputAvailable => "\"input-available\"",
            Self::ApprovalRequested => "\"approval-requested\"",
            Self::ApprovalResponded => "\"approval-responded\"",
            Self::OutputAvailable => "\"output-available\"",
            Self::OutputError => "\"output-error\"",
            Self::OutputDenied => "\"output-denied\"",
        }
    }
}

impl Part {
    /// Appends the part as JSON.
    pub(super) fn write(&self, version: Version, out: &mut String) {
        match self {
            Part::StepStart => out.push_str("{\"type\":\"step-start\"}"),
            Part::Fixed(json) => out.push_str(json),
            Part::Data { ty, id, data } => {
                Object::new(out).raw("type", ty).some("id", id.as_deref()).raw("data", data).end();
            }
            Part::Text(text) => text.write(version, out),
            Part::Tool(tool) => tool.write(version, out),
        }
    }
}

impl Text {
    fn write(&self, version: Version, out: &mut String) {
        let mut part = Object::new(out);
        part.raw("type", if self.thought { "\"reasoning\"" } else { "\"text\"" });
        if self.thought {
            part.some("id", self.id.as_deref());
        }
        part.body("text", &self.body).some("providerMetadata", self.provider.as_deref());
        let streaming = self.growth == Growth::Open;
        part.raw("state", if streaming { "\"streaming\"" } else { "\"done\"" });
        if version >= Version::V7 {
            part.some("citations", self.citations.as_deref());
        }
        part.end();
    }
}

impl Tool {
    fn write(&self, version: Version, out: &mut String) {
        let mut part = Object::new(out);
        if self.dynamic {
            part.raw("type", "\"dynamic-tool\"").raw("toolName", &self.name);
        } else {
            let name = self.name.body().unwrap_or("tool");
            part.body("type", &format!("tool-{name}"));
        }
        part.raw("toolCallId", &self.id).raw("state", self.state.name());
        let newer = version >= Version::V6;
        if newer {
            part.some("title", self.title.as_deref());
            part.some("toolMetadata", self.metadata.as_deref());
        }
        if self.state == State::InputStreaming {
            self.write_streamed(version, &mut part);
        } else {
            part.some("input", self.input.as_deref());
        }
        part.some("output", self.output.as_deref());
        if self.state != State::InputStreaming {
            part.some("rawInput", self.raw_input.as_deref());
        }
        part.some("errorText", self.error.as_deref())
            .some("providerExecuted", self.executed.as_deref())
            .some("preliminary", self.preliminary.as_deref());
        part.some("callProviderMetadata", self.call_provider.as_deref());
        if newer {
            part.some("resultProviderMetadata", self.result_provider.as_deref());
        }
        if let Some(approval) = &self.approval {
            let mut json = String::new();
            approval.write(version, &mut json);
            part.raw("approval", &json);
        }
        part.end();
    }

    /// The input as far as it was streamed.
    fn write_streamed(&self, version: Version, part: &mut Object<'_>) {
        if self.streamed.is_empty() && self.raw_input.is_none() {
            if version >= Version::V6 {
                part.some("inputEncoding", self.encoding.as_deref());
            }
            return;
        }
        let encoded = self.encoding.as_ref().is_some_and(|e| e.is("text"));
        if encoded && version >= Version::V6 {
            part.body("input", &self.streamed);
        } else if let Some(value) = close_partial(&text::decode(&self.streamed)) {
            part.raw("input", &value);
        }
        if version >= Version::V6 {
            part.some("inputEncoding", self.encoding.as_deref());
        }
        part.body("rawInput", &self.streamed);
    }
}

impl Approval {
    fn write(&self, version: Version, out: &mut String) {
        let mut object = Object::new(out);
        object
            .raw("id", &self.id)
            .some("descriptor", self.descriptor.as_deref())
            .some("inputSchemaInput", self.schema_input.as_deref());
        if version >= Version::V7 {
            object.some("requestReason", self.request_reason.as_deref());
            if self.automatic {
                object.raw("isAutomatic", "true");
            }
        }
        object.some("signature", self.signature.as_deref());
        if let Some(approved) = self.approved {
            object.raw("approved", if approved { "true" } else { "false" });
        }
        object.some("reason", self.reason.as_deref());
        object.end();
    }
}
