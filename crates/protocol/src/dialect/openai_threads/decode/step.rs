//! Run steps: one model call each, with the tool calls it made.

use super::run::time_of;
use super::{Out, Reader, stamp, usage};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};

/// What is known of a step.
#[derive(Debug, Default)]
pub(super) struct Step {
    task: Option<Raw<'static>>,
    done: bool,
    /// Call ids by their index in the stream.
    calls: Vec<(i64, Raw<'static>)>,
}

/// How far a tool call is.
#[derive(Debug, Default)]
pub(super) struct Call {
    name: Option<Raw<'static>>,
    complete: bool,
    returned: bool,
    /// The step that made it.
    step: Option<String>,
}

impl Reader {
    /// Notes which step makes a call. A call of the same id that returned in another step is
    /// forgotten: ids may be used again.
    fn made_in(&mut self, call: Node<'_, '_>, step: &str) {
        let Some(id) = call.get("id") else { return };
        let Some(known) = self.calls.get_mut(id.raw()) else { return };
        match &known.step {
            None => known.step = Some(step.to_owned()),
            Some(own) if own != step && known.returned => drop(self.calls.remove(id.raw())),
            Some(_) => {}
        }
    }

    pub(super) fn step<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let (Some(id), Some(run)) = (node.get("id"), node.get("run_id")) else { return };
        if !id.is_string() || !run.is_string() {
            return;
        }
        self.heard(node, out);
        let task = self.begin(run, node, out);
        let created = time_of(node, "created_at", out);
        if !self.steps.contains_key(id.raw()) {
            let step = Step { task: Some(task.clone()), ..Step::default() };
            self.steps.insert(id.raw().to_owned(), step);
            out.bind(Some(id), "stepId");
            let event = self.event(Kind::StepStarted, &task).with("stepId", id);
            out.push(event.with_some("timestamp", created));
        } else {
            out.marks.implied(id);
        }
        for name in ["status", "type"] {
            out.implied(node.get(name));
        }
        let status = node.get("status").map_or("", |s| s.body());
        let details = node.get("step_details").filter(|d| d.is_object());
        let mut spoken = None;
        if let Some(details) = details {
            out.marks.open(details);
            out.implied(details.get("type"));
            if let Some(made) = details.get("message_creation").filter(|m| m.is_object()) {
                out.marks.open(made);
                out.implied(made.get("message_id"));
                spoken = made.get("message_id");
            }
            if let Some(calls) = details.get("tool_calls").filter(|c| c.is_array()) {
                out.marks.list(calls);
                for call in calls.children() {
                    self.made_in(call, id.raw());
                    if status == "in_progress" {
                        self.begun_call(call, &task, out);
                    } else {
                        self.whole_call(call, &task, out);
                        self.output(call, status, &task, out);
                    }
                    self.made_in(call, id.raw());
                }
            }
        }
        if status != "in_progress" {
            self.finished(node, id, status, spoken, &task, out);
        }
    }

    fn finished<'a>(
        &mut self,
        node: Node<'_, 'a>,
        id: Node<'_, 'a>,
        status: &str,
        spoken: Option<Node<'_, 'a>>,
        task: &Raw<'static>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(step) = self.steps.get_mut(id.raw()) else { return };
        if std::mem::replace(&mut step.done, true) {
            return;
        }
        let message = spoken.and_then(|m| self.messages.get_mut(m.raw()));
        let cut = message.and_then(|message| {
            message.step_done = true;
            message.finish
        });
        let (reason, when) = match status {
            "failed" => ("\"error\"", "failed_at"),
            "expired" => ("\"error\"", "expired_at"),
            "cancelled" => ("\"interrupted\"", "cancelled_at"),
            _ if spoken.is_some() => (cut.unwrap_or("\"stop\""), "completed_at"),
            _ => ("\"tool_calls\"", "completed_at"),
        };
        if let Some(error) = node.some("last_error").filter(|e| e.is_object()) {
            out.marks.open(error);
            let (message, code) = (error.some("message"), error.some("code"));
            if let Some(message) = message.filter(|m| m.is_string()) {
                out.bind(Some(message), "message");
                out.bind(code, "code");
                let event = self.event(Kind::Error, task).with_some("code", code);
                out.push(event.with("message", message));
            }
        }
        let at = time_of(node, when, out);
        let used = usage(node, out);
        if used.is_some()
            && let Some(run) = self.runs.get_mut(task.as_str())
        {
            run.counted = true;
        }
        out.push(
            self.event(Kind::StepFinished, task)
                .with("stepId", Raw::owned(id.raw()))
                .with("finishReason", Raw::Ref(reason))
                .with_some("usage", used)
                .with_some("timestamp", at),
        );
    }

    pub(super) fn step_delta<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(id) = node.get("id").filter(|id| id.is_string()) else { return };
        out.marks.implied(id);
        let task = self.steps.get(id.raw()).and_then(|step| step.task.clone());
        let Some(task) = task.or_else(|| self.current.clone()) else { return };
        let Some(delta) = node.get("delta").filter(|d| d.is_object()) else { return };
        let Some(details) = delta.get("step_details").filter(|d| d.is_object()) else { return };
        out.marks.open(delta);
        out.marks.open(details);
        out.implied(details.get("type"));
        out.implied(details.get("message_creation"));
        let Some(calls) = details.get("tool_calls").filter(|c| c.is_array()) else { return };
        out.marks.list(calls);
        for call in calls.children() {
            out.implied(call.get("index"));
            let index = call.get("index").and_then(|i| i.i64()).unwrap_or(0);
            let step = self.steps.entry(id.raw().to_owned()).or_default();
            if let Some(call_id) = call.some("id").filter(|id| id.is_string()) {
                let call_id: Raw<'static> = Raw::owned(call_id.raw());
                if !step.calls.iter().any(|(i, _)| *i == index) {
                    step.calls.push((index, call_id));
                }
                self.made_in(call, id.raw());
                self.begun_call(call, &task, out);
                self.made_in(call, id.raw());
                continue;
            }
            let known = step.calls.iter().find(|(i, _)| *i == index).map(|(_, id)| id.clone());
            let Some(call_id) = known else { continue };
            out.implied(call.get("type"));
            self.arguments(call, &call_id, &task, out);
            // Code and its output come whole when the step ends.
            out.implied(call.get("code_interpreter"));
            out.implied(call.get("file_search"));
        }
    }

    /// A call that a model is still writing.
    fn begun_call<'a>(&mut self, call: Node<'_, 'a>, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        let Some(id) = call.get("id").filter(|id| id.is_string()) else { return };
        let kind = call.get("type");
        out.implied(kind);
        let known: Raw<'static> = Raw::owned(id.raw());
        if self.calls.contains_key(known.as_str()) {
            out.marks.implied(id);
            if let Some(function) = call.get("function").filter(|f| f.is_object()) {
                out.marks.open(function);
                out.implied(function.get("name"));
                out.implied(function.some("arguments"));
            }
            return;
        }
        let function = call.get("function").filter(|f| f.is_object());
        let named = function.and_then(|f| f.get("name")).filter(|n| n.is_string());
        let name = match named {
            Some(name) => Raw::from(name),
            None => kind.map_or(Raw::Ref("\"function\""), Raw::from),
        };
        out.bind(Some(id), "toolCallId");
        if let Some(function) = function {
            out.marks.open(function);
        }
        out.bind(named, "toolName");
        let call_state = Call { name: Some(name.to_owned()), ..Call::default() };
        self.calls.insert(known.to_string(), call_state);
        out.push(
            self.event(Kind::ToolCallStarted, task).with("toolCallId", id).with("toolName", name),
        );
        self.arguments(call, &known, task, out);
        out.implied(call.get("code_interpreter"));
        out.implied(call.get("file_search"));
    }

    /// A piece of a function's arguments.
    fn arguments<'a>(
        &mut self,
        call: Node<'_, 'a>,
        id: &Raw<'static>,
        task: &Raw<'static>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(function) = call.get("function").filter(|f| f.is_object()) else { return };
        out.marks.open(function);
        let piece = function.some("arguments").filter(|a| a.is_string());
        // A step that just begins may show a call without its arguments.
        let begins = call.get("index").is_none() && piece.is_some_and(|p| p.is("{}"));
        if begins {
            out.implied(piece);
        } else if let Some(piece) = piece.filter(|p| !p.body().is_empty()) {
            out.bind(Some(piece), "delta");
            out.push(
                Event::new(Kind::ToolCallDelta)
                    .with("taskId", task.clone())
                    .with("toolCallId", id.clone())
                    .with("delta", piece),
            );
        }
        self.output(call, "in_progress", task, out);
    }

    /// A call whose arguments are all there.
    pub(super) fn whole_call<'a>(
        &mut self,
        call: Node<'_, 'a>,
        task: &Raw<'static>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(id) = call.get("id").filter(|id| id.is_string()) else { return };
        let kind = call.get("type");
        out.implied(kind);
        let function = call.get("function").filter(|f| f.is_object());
        let own = kind.and_then(|k| call.get(k.body())).filter(|d| d.is_object());
        let known = self.calls.entry(id.raw().to_owned()).or_default();
        if known.complete {
            out.marks.implied(id);
            if let Some(own) = own {
                out.marks.open(own);
                out.implied(own.get("input"));
            }
            if let Some(function) = function {
                out.marks.open(function);
                out.implied(function.get("name"));
                out.implied(function.get("arguments"));
            }
            return;
        }
        known.complete = true;
        out.bind(Some(id), "toolCallId");
        let next = out.next();
        let (name, arguments) = if let Some(function) = function {
            out.marks.open(function);
            let name = function.get("name").filter(|n| n.is_string());
            out.bind(name, "toolName");
            let arguments = match function.some("arguments").filter(|a| a.is_string()) {
                Some(text) if text.body().is_empty() => {
                    out.marks.implied(text);
                    Raw::Ref("{}")
                }
                Some(text) => out.json(text, "arguments"),
                None => Raw::Ref("{}"),
            };
            (name.map(Raw::from), arguments)
        } else {
            let input = own.and_then(|o| o.some("input").or_else(|| o.some("ranking_options")));
            let arguments = match (own, input) {
                (Some(own), Some(input)) => {
                    let key = if own.get("input").is_some() { "input" } else { "ranking_options" };
                    out.marks.open(own);
                    out.marks.bind_at(input, next, "arguments", &format!("/{key}"));
                    Raw::owned(format!("{{\"{key}\":{}}}", input.raw()))
                }
                _ => Raw::Ref("{}"),
            };
            (kind.map(Raw::from), arguments)
        };
        let name = name.unwrap_or(Raw::Ref("\"function\""));
        known.name = Some(name.to_owned());
        let own_tool = function.is_none().then_some(Raw::Ref("true"));
        out.push(
            self.event(Kind::ToolCall, task)
                .with("toolCallId", id)
                .with("toolName", name)
                .with("arguments", arguments)
                .with_some("providerExecuted", own_tool),
        );
    }

    /// What a tool returned, where the call says so.
    fn output<'a>(
        &mut self,
        call: Node<'_, 'a>,
        status: &str,
        task: &Raw<'static>,
        out: &mut Out<'_, 'a>,
    ) {
        let function = call.get("function").filter(|f| f.is_object());
        let given = function.and_then(|f| f.some("output")).filter(|o| o.is_string());
        let own = call.get("type").and_then(|k| call.get(k.body())).filter(|d| d.is_object());
        let shown = own
            .filter(|_| function.is_none() && status != "in_progress")
            .and_then(|o| o.some("outputs").or_else(|| o.some("results")));
        let Some(id) = call.get("id").filter(|id| id.is_string()) else { return };
        let Some(known) = self.calls.get_mut(id.raw()) else { return };
        let Some(result) = given.or(shown) else { return };
        if let Some(own) = own.filter(|_| given.is_none()) {
            out.marks.open(own);
        }
        if std::mem::replace(&mut known.returned, true) {
            out.marks.implied(result);
            return;
        }
        let name = known.name.clone();
        let failed = status == "failed";
        let result = if given.is_some() {
            out.json(result, "result")
        } else {
            out.bind(Some(result), "result");
            result.into()
        };
        out.push(
            self.event(Kind::ToolComplete, task)
                .with("toolCallId", Raw::owned(id.raw()))
                .with_some("toolName", name)
                .with("success", Raw::Ref(if failed { "false" } else { "true" }))
                .with_some("outcome", failed.then_some(Raw::Ref("\"failed\"")))
                .with("result", result),
        );
    }

    /// What a client sends for a run that requires action.
    pub(super) fn tool_outputs<'a>(
        &mut self,
        node: Node<'_, 'a>,
        outputs: Node<'_, 'a>,
        out: &mut Out<'_, 'a>,
    ) {
        self.heard(node, out);
        out.marks.list(outputs);
        for item in outputs.children() {
            let id = item.get("tool_call_id").filter(|id| id.is_string());
            let (Some(id), Some(output)) = (id, item.get("output")) else { continue };
            let known = self.calls.entry(id.raw().to_owned()).or_default();
            known.returned = true;
            let name = known.name.clone();
            out.bind(Some(id), "toolCallId");
            let result = out.json(output, "result");
            out.push(
                Event::new(Kind::ToolComplete)
                    .with_some("taskId", self.current.clone())
                    .with("toolCallId", id)
                    .with_some("toolName", name)
                    .with("success", Raw::Ref("true"))
                    .with("result", result)
                    .with_some("timestamp", item.some("created_at").and_then(stamp)),
            );
        }
    }
}
