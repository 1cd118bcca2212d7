//! From events to spans: a task, each of its model calls, each of its tools.
//!
//! Named and attributed as the GenAI semantic conventions say. What was said is not in them.
//!
//! Invariant: ids follow from the thread and the events, so a span that is told twice is the same.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use selvedge_protocol::journal::fold::{TaskState, Tokens};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw};
use selvedge_protocol::time;
use sha2::{Digest as _, Sha256};

use super::Committed;

/// Tasks that may be open at once; the oldest is given up for the next.
const TASKS: usize = 10_000;
/// Model calls and tools of one task that may be open at once.
const OPEN: usize = 256;

/// What has begun and not ended.
pub(super) struct Spans {
    tasks: HashMap<String, Task>,
    order: VecDeque<String>,
    scope: InstrumentationScope,
}

struct Task {
    trace: TraceId,
    id: SpanId,
    parent: SpanId,
    began: SystemTime,
    agent: Option<String>,
    /// Whether someone said that it was made; other events may just mention it.
    announced: bool,
    tokens: Tokens,
    open: Vec<Open>,
}

/// A model call or a tool at work.
struct Open {
    what: What,
    id: SpanId,
    began: SystemTime,
    attributes: Vec<KeyValue>,
}

#[derive(PartialEq, Eq)]
enum What {
    Step { model: Option<String> },
    Tool { call: String, name: String },
}

/// Where an event stands.
struct Seen<'e, 'a> {
    event: &'e Event<'a>,
    thread: &'e str,
    name: &'e str,
    seq: u64,
    at: SystemTime,
}

impl Seen<'_, '_> {
    fn text(&self, name: &str) -> Option<String> {
        self.event.str(name).map(|text| text.into_owned())
    }

    fn id(&self, what: &str) -> SpanId {
        span_id(self.thread, what)
    }
}

impl Spans {
    pub(super) fn new() -> Self {
        let scope = InstrumentationScope::builder("selvedge")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Self { tasks: HashMap::new(), order: VecDeque::new(), scope }
    }

    /// Takes in what was committed; gives the spans that ended with it.
    pub(super) fn take(&mut self, committed: &Committed) -> Vec<SpanData> {
        let mut ended = Vec::new();
        let thread = &committed.thread;
        let place = format!("{}\n{}\n{}", thread.key.tenant, thread.key.id, thread.epoch);
        for (i, text) in committed.events.iter().enumerate() {
            let Ok(doc) = Doc::parse_bytes(text) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            let told = event.str("timestamp").and_then(|text| time::to_millis(&text));
            let millis = u64::try_from(told.unwrap_or(committed.at)).unwrap_or(0);
            let seen = Seen {
                event: &event,
                thread: &place,
                name: &thread.key.id,
                seq: committed.first + i as u64,
                at: SystemTime::UNIX_EPOCH + Duration::from_millis(millis),
            };
            self.event(&seen, &mut ended);
        }
        ended
    }

    fn event(&mut self, seen: &Seen<'_, '_>, ended: &mut Vec<SpanData>) {
        let Some(task) = seen.text("taskId") else { return };
        match seen.event.kind() {
            Kind::TaskCreated => {
                self.task(&task, seen).announced = true;
            }
            Kind::SubtaskCreated => {
                if let Some(child) = seen.text("subtaskId") {
                    let (trace, parent) = {
                        let task = self.task(&task, seen);
                        (task.trace, task.id)
                    };
                    let child = self.task(&child, seen);
                    (child.trace, child.parent, child.announced) = (trace, parent, true);
                }
            }
            Kind::StepStarted => {
                let attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.conversation.id", seen.name.to_owned()),
                ];
                let what = What::Step { model: seen.text("model") };
                self.begin(&task, seen, what, attributes);
            }
            Kind::StepFinished => self.step_ended(&task, seen, ended),
            Kind::LlmUsage => {
                if let Some(tokens) = Tokens::told(seen.event) {
                    self.task(&task, seen).count(tokens);
                }
            }
            Kind::ToolStart => {
                let (Some(call), Some(name)) = (seen.text("toolCallId"), seen.text("toolName"))
                else {
                    return;
                };
                let attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "execute_tool"),
                    KeyValue::new("gen_ai.tool.name", name.clone()),
                    KeyValue::new("gen_ai.tool.call.id", call.clone()),
                    KeyValue::new("gen_ai.conversation.id", seen.name.to_owned()),
                ];
                self.begin(&task, seen, What::Tool { call, name }, attributes);
            }
            Kind::ToolComplete => self.tool_ended(&task, seen, ended),
            _ => {}
        }
        if let Some(state) = TaskState::after(seen.event).filter(|state| state.is_terminal()) {
            self.task_ended(&task, seen, state, ended);
        }
    }

    /// The task; it begins here if nobody has said so.
    fn task(&mut self, id: &str, seen: &Seen<'_, '_>) -> &mut Task {
        let key = format!("{}\n{id}", seen.thread);
        if !self.tasks.contains_key(&key) {
            if self.tasks.len() >= TASKS
                && let Some(oldest) = self.order.pop_front()
            {
                self.tasks.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        let parent = seen.text("parentTaskId");
        let whole = parent.as_ref().and_then(|parent| {
            self.tasks.get(&format!("{}\n{parent}", seen.thread)).map(|task| task.trace)
        });
        let task = self.tasks.entry(key).or_insert_with(|| Task {
            trace: whole.unwrap_or_else(|| trace_id(seen.thread, id)),
            id: seen.id(&format!("task {id}")),
            parent: parent.map_or(SpanId::INVALID, |parent| seen.id(&format!("task {parent}"))),
            began: seen.at,
            agent: None,
            announced: false,
            tokens: Tokens::default(),
            open: Vec::new(),
        });
        // Who called it is not who does it.
        if task.agent.is_none() && seen.event.kind() != Kind::SubtaskCreated {
            task.agent = seen.text("agentId");
        }
        task
    }

    fn begin(&mut self, id: &str, seen: &Seen<'_, '_>, what: What, attributes: Vec<KeyValue>) {
        let span = seen.id(&format!("entry {}", seen.seq));
        let task = self.task(id, seen);
        if task.open.len() < OPEN {
            task.open.push(Open { what, id: span, began: seen.at, attributes });
        }
    }

    fn step_ended(&mut self, id: &str, seen: &Seen<'_, '_>, ended: &mut Vec<SpanData>) {
        let scope = self.scope.clone();
        let task = self.task(id, seen);
        let tokens = Tokens::told(seen.event);
        task.count(tokens.unwrap_or_default());
        let last = task.open.iter().rposition(|open| matches!(open.what, What::Step { .. }));
        let Some(mut open) = last.map(|at| task.open.remove(at)) else { return };
        if let What::Step { model } = &mut open.what {
            let told = seen.text("model");
            if let Some(model) = &told {
                open.attributes.push(KeyValue::new("gen_ai.response.model", model.clone()));
            }
            *model = model.take().or(told);
        }
        if let Some(provider) = seen.text("providerName") {
            open.attributes.push(KeyValue::new("gen_ai.provider.name", provider));
        }
        if let Some(tokens) = tokens {
            open.attributes.extend(usage(tokens));
        }
        let mut status = Status::Unset;
        if let Some(reason) = seen.text("finishReason") {
            if reason == "error" {
                open.attributes.push(KeyValue::new("error.type", "error"));
                status = Status::error("the model call failed");
            }
            let reasons = Value::Array(vec![opentelemetry::StringValue::from(reason)].into());
            open.attributes.push(KeyValue::new("gen_ai.response.finish_reasons", reasons));
        }
        ended.push(task.span(open, seen.at, status, scope));
    }

    fn tool_ended(&mut self, id: &str, seen: &Seen<'_, '_>, ended: &mut Vec<SpanData>) {
        if seen.event.get("preliminary").and_then(Raw::bool) == Some(true) {
            return;
        }
        let scope = self.scope.clone();
        let task = self.task(id, seen);
        let call = seen.text("toolCallId");
        let is_it = |open: &Open| matches!(&open.what, What::Tool { call: own, .. } if Some(own) == call.as_ref());
        let Some(mut open) = task.open.iter().position(is_it).map(|at| task.open.remove(at)) else {
            return;
        };
        let failed = seen.event.get("success").and_then(Raw::bool) == Some(false);
        let status = match failed {
            true => {
                let outcome = seen.text("outcome").unwrap_or_else(|| "failed".to_owned());
                open.attributes.push(KeyValue::new("error.type", outcome));
                Status::error("the tool failed")
            }
            false => Status::Unset,
        };
        ended.push(task.span(open, seen.at, status, scope));
    }

    fn task_ended(
        &mut self,
        id: &str,
        seen: &Seen<'_, '_>,
        state: TaskState,
        ended: &mut Vec<SpanData>,
    ) {
        let key = format!("{}\n{id}", seen.thread);
        // The first end counts; a task that was only ever ended has nothing to show.
        let Some(mut task) = self.tasks.remove(&key) else { return };
        self.order.retain(|known| *known != key);
        if !task.announced && task.open.is_empty() && task.tokens.calls == 0 {
            return;
        }
        for open in std::mem::take(&mut task.open) {
            let status = Status::error("the task ended first");
            ended.push(task.span(open, seen.at, status, self.scope.clone()));
        }
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.conversation.id", seen.name.to_owned()),
            KeyValue::new("selvedge.task.id", id.to_owned()),
            KeyValue::new("selvedge.task.state", state.name()),
        ];
        if let Some(agent) = &task.agent {
            attributes.push(KeyValue::new("gen_ai.agent.name", agent.clone()));
        }
        if task.tokens.calls > 0 {
            attributes.extend(usage(task.tokens));
        }
        let status = match state {
            TaskState::Failed => {
                let code = seen.text("code").unwrap_or_else(|| "failed".to_owned());
                attributes.push(KeyValue::new("error.type", code));
                Status::error("the task failed")
            }
            _ => Status::Unset,
        };
        let name = match &task.agent {
            Some(agent) => format!("invoke_agent {agent}"),
            None => "invoke_agent".to_owned(),
        };
        let (trace, parent, began) = (task.trace, task.parent, task.began);
        ended.push(data(
            context(trace, task.id),
            parent,
            SpanKind::Internal,
            name,
            (began, seen.at),
            attributes,
            status,
            self.scope.clone(),
        ));
    }
}

impl Task {
    fn count(&mut self, tokens: Tokens) {
        self.tokens.input += tokens.input;
        self.tokens.output += tokens.output;
        self.tokens.cached += tokens.cached;
        self.tokens.reasoning += tokens.reasoning;
        self.tokens.calls += tokens.calls;
    }

    /// What was open, ended.
    fn span(
        &self,
        mut open: Open,
        end: SystemTime,
        status: Status,
        scope: InstrumentationScope,
    ) -> SpanData {
        let (kind, name) = match &open.what {
            What::Step { model: Some(model) } => {
                open.attributes.push(KeyValue::new("gen_ai.request.model", model.clone()));
                (SpanKind::Client, format!("chat {model}"))
            }
            What::Step { model: None } => (SpanKind::Client, "chat".to_owned()),
            What::Tool { name, .. } => (SpanKind::Internal, format!("execute_tool {name}")),
        };
        if let Some(agent) = &self.agent {
            open.attributes.push(KeyValue::new("gen_ai.agent.name", agent.clone()));
        }
        let context = context(self.trace, open.id);
        data(context, self.id, kind, name, (open.began, end), open.attributes, status, scope)
    }
}

fn usage(tokens: Tokens) -> [KeyValue; 2] {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    [
        KeyValue::new("gen_ai.usage.input_tokens", count(tokens.input)),
        KeyValue::new("gen_ai.usage.output_tokens", count(tokens.output)),
    ]
}

fn trace_id(thread: &str, task: &str) -> TraceId {
    let digest = Sha256::digest(format!("trace\n{thread}\n{task}"));
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    TraceId::from_bytes(bytes)
}

fn span_id(thread: &str, what: &str) -> SpanId {
    let digest = Sha256::digest(format!("span\n{thread}\n{what}"));
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    SpanId::from_bytes(bytes)
}

fn context(trace: TraceId, id: SpanId) -> SpanContext {
    SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::default())
}

fn data(
    span_context: SpanContext,
    parent_span_id: SpanId,
    span_kind: SpanKind,
    name: String,
    (start_time, end_time): (SystemTime, SystemTime),
    attributes: Vec<KeyValue>,
    status: Status,
    instrumentation_scope: InstrumentationScope,
) -> SpanData {
    SpanData {
        span_context,
        parent_span_id,
        parent_span_is_remote: false,
        span_kind,
        name: name.into(),
        start_time,
        // Clocks of several machines may disagree.
        end_time: end_time.max(start_time),
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status,
        instrumentation_scope,
    }
}
