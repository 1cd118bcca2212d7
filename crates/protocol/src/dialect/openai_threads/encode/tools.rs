//! Tool calls, the steps that hold them, and the questions asked as calls.

use super::wire::{Object, event};
use super::{Call, Event, Raw, Records, State, Tools, mint, quote, text};
use crate::json::push_escaped;

/// Functions that stand for questions, and for requests for credentials.
pub(super) const REQUEST_INPUT: &str = "\"request_input\"";
pub(super) const REQUEST_AUTH: &str = "\"request_auth\"";

impl State {
    /// Opens a step of tool calls, unless one is open, and adds a call to it.
    fn add_call(&mut self, task: &str, id: String, name: String, out: &mut Records) {
        self.close_message(task, None, out);
        if self.runs.get(task).is_some_and(|run| run.tools.is_none()) {
            let step_id = self.runs.get_mut(task).and_then(|run| run.step_id.take());
            let step = self.id("step_", step_id, task);
            let tools = Tools { id: step, created: self.clock, calls: Vec::new(), usage: None };
            let thread = self.thread().to_owned();
            let Some(run) = self.runs.get_mut(task) else { return };
            let details = tools.details();
            let data = run.step(&tools.id, self.clock, "tool_calls", &details, &thread).write();
            out.item(event("thread.run.step.created", &data));
            out.item(event("thread.run.step.in_progress", &data));
            run.tools = Some(tools);
        }
        let Some(tools) = self.runs.get_mut(task).and_then(|run| run.tools.as_mut()) else {
            return;
        };
        let function = Object::new()
            .with("arguments", "\"\"")
            .with("name", &name)
            .with("output", "null")
            .end();
        let data = tools.delta(tools.calls.len(), Some(&id), &function);
        out.item(event("thread.run.step.delta", &data));
        tools.calls.push(Call {
            id,
            name,
            arguments: String::new(),
            complete: false,
            output: None,
            asks: None,
            answer: None,
        });
    }

    /// The latest call of that id in the open step.
    fn find(&mut self, task: &str, id: &str) -> Option<(&mut Tools, usize)> {
        let tools = self.runs.get_mut(task)?.tools.as_mut()?;
        let index = tools.calls.iter().rposition(|call| call.id == id && call.output.is_none())?;
        Some((tools, index))
    }

    pub(super) fn begin_call(&mut self, task: &str, source: &Event<'_>, out: &mut Records) {
        self.resume(task, out);
        let id = call_id(source.get("toolCallId"), task);
        let name = name_of(source.get("toolName"));
        self.add_call(task, id, name, out);
    }

    pub(super) fn call_delta(&mut self, task: &str, id: &Raw<'_>, body: &str, out: &mut Records) {
        let Some((tools, index)) = self.find(task, id.as_str()) else { return };
        let Some(call) = tools.calls.get_mut(index) else { return };
        call.arguments.push_str(body);
        let piece = Object::new().with("arguments", format!("\"{}\"", text::minimal(body))).end();
        let data = tools.delta(index, None, &piece);
        out.item(event("thread.run.step.delta", &data));
    }

    pub(super) fn call(
        &mut self,
        task: &str,
        source: &Event<'_>,
        arguments: &Raw<'_>,
        out: &mut Records,
    ) {
        let id = call_id(source.get("toolCallId"), task);
        let begun = self
            .find(task, &id)
            .and_then(|(tools, index)| tools.calls.get(index).map(|call| call.complete));
        if begun != Some(false) {
            self.resume(task, out);
            self.add_call(task, id.clone(), name_of(source.get("toolName")), out);
        }
        self.whole_call(task, &id, &body_of(arguments), out);
    }

    /// A call's arguments are known.
    fn whole_call(&mut self, task: &str, id: &str, arguments: &str, out: &mut Records) {
        let Some((tools, index)) = self.find(task, id) else { return };
        let Some(call) = tools.calls.get_mut(index) else { return };
        if call.arguments.is_empty() {
            self.call_delta(task, &Raw::owned(id), arguments, out);
        } else {
            call.arguments = arguments.to_owned();
        }
        if let Some((tools, index)) = self.find(task, id)
            && let Some(call) = tools.calls.get_mut(index)
        {
            call.complete = true;
        }
    }

    pub(super) fn returned(
        &mut self,
        task: &str,
        source: &Event<'_>,
        name: Option<Raw<'static>>,
        out: &mut Records,
    ) {
        if source.get("preliminary").and_then(Raw::bool) == Some(true) {
            return;
        }
        let id = call_id(source.get("toolCallId"), task);
        let failed = source.get("success").and_then(Raw::bool) == Some(false);
        let value = match failed {
            true => source.get("error").or_else(|| source.get("result")),
            false => source.get("result").or_else(|| source.get("error")),
        };
        let output = match value {
            Some(value) => format!("\"{}\"", body_of(value)),
            None => "\"\"".to_owned(),
        };
        // A call may be answered from another run than the one that made it.
        let known = self.run_of(&id).unwrap_or_else(|| task.to_owned());
        if self.find(&known, &id).is_none() {
            self.resume(&known, out);
            self.add_call(&known, id.clone(), name_of(name.as_ref()), out);
            self.whole_call(&known, &id, "{}", out);
        }
        self.output(&known, &id, output, out);
    }

    fn run_of(&self, id: &str) -> Option<String> {
        let open = |call: &Call| call.id == id && call.output.is_none();
        let holds = |run: &super::Run| run.tools.as_ref().is_some_and(|t| t.calls.iter().any(open));
        self.runs.iter().find(|(_, run)| holds(run)).map(|(task, _)| task.clone())
    }

    fn output(&mut self, task: &str, id: &str, output: String, out: &mut Records) {
        let Some((tools, index)) = self.find(task, id) else { return };
        if let Some(call) = tools.calls.get_mut(index) {
            call.complete = true;
            call.output = Some(output);
        }
        if tools.calls.iter().all(|call| call.output.is_some()) {
            self.close_tools(task, "completed", out);
        }
    }

    /// Ends the open step of tool calls. Calls that got no output keep none.
    pub(super) fn close_tools(&mut self, task: &str, status: &str, out: &mut Records) {
        let clock = self.clock;
        let thread = self.thread().to_owned();
        let Some(run) = self.runs.get_mut(task) else { return };
        let Some(tools) = run.tools.take() else { return };
        let details = tools.details();
        let mut step = run.step(&tools.id, tools.created, "tool_calls", &details, &thread);
        step.status = status;
        step.ended = clock;
        step.usage = tools.usage;
        step.error = (status == "failed").then_some("the run failed");
        out.item(event(&format!("thread.run.step.{status}"), &step.write()));
    }

    /// What a client is to do is a call already: its output is the answer.
    fn ask_client(&mut self, task: &str, source: &Event<'_>) -> bool {
        if source.get("inputType").is_none_or(|ty| !ty.is("tool-execution")) {
            return false;
        }
        let (Some(question), Some(call)) = (source.get("inputId"), source.get("toolCallId")) else {
            return false;
        };
        let Some((tools, index)) = self.find(task, call.as_str()) else { return false };
        let Some(call) = tools.calls.get_mut(index) else { return false };
        call.asks = Some(question.to_string());
        true
    }

    /// A question as a call that only the client can answer.
    pub(super) fn ask(
        &mut self,
        task: &str,
        source: &Event<'_>,
        id: &'static str,
        name: &str,
        out: &mut Records,
    ) {
        if self.ask_client(task, source) {
            return;
        }
        let mut arguments = Object::new();
        for (field, value) in source.fields() {
            let name = match field {
                "inputType" => "input_type",
                "toolCallId" => "tool_call_id",
                "requireUser" => "require_user",
                "authType" => "auth_type",
                "authUrl" => "auth_url",
                "authorizationEndpoint" => "authorization_endpoint",
                "infoUrl" => "info_url",
                "prompt" | "options" | "schema" | "provider" | "scopes" => field,
                _ => continue,
            };
            arguments = arguments.with(name, value.as_str());
        }
        let mut body = String::new();
        push_escaped(&arguments.end(), &mut body);
        let question = call_id(source.get(id), task);
        // A question about a call may have the call's own id.
        let taken = self.find(task, &question).is_some();
        let id = if taken {
            quote(&format!("{}/input", Raw::owned(question.as_str()).str().unwrap_or_default()))
        } else {
            question.clone()
        };
        self.add_call(task, id.clone(), name.to_owned(), out);
        self.whole_call(task, &id, &body, out);
        if let Some((tools, index)) = self.find(task, &id)
            && let Some(call) = tools.calls.get_mut(index)
        {
            call.asks = Some(question);
        }
    }

    /// The answer to a question.
    pub(super) fn answered(
        &mut self,
        source: &Event<'_>,
        id: &'static str,
        value: &'static str,
        out: &mut Records,
    ) {
        let Some(id) = source.get(id) else { return };
        let asked = self.runs.iter().find_map(|(task, run)| {
            let calls = run.tools.iter().flat_map(|tools| &tools.calls);
            let mut open = calls.filter(|call| call.output.is_none());
            let call = open.find(|call| call.asks.as_deref() == Some(id.as_str()))?;
            Some((task.clone(), call.id.clone()))
        });
        let Some((task, call)) = asked else { return };
        let output = source.get(value).map(body_of).unwrap_or_default();
        let output = format!("\"{output}\"");
        match self.find(&task, &call) {
            Some((tools, index)) if !is_question(tools, index) => {
                if let Some(call) = tools.calls.get_mut(index) {
                    call.asks = None;
                    call.answer = Some(output);
                }
            }
            _ => self.output(&task, &call, output, out),
        }
        let waits = |run: &super::Run| run.asks();
        match self.runs.get(&task).is_some_and(waits) {
            // Others are to be answered still.
            true => self.wait(&task, out),
            false => self.resume(&task, out),
        }
    }
}

/// Whether a call is there for a question alone.
fn is_question(tools: &Tools, index: usize) -> bool {
    let name = tools.calls.get(index).map_or("", |call| call.name.as_str());
    matches!(name, REQUEST_INPUT | REQUEST_AUTH)
}

/// A value's text as a string body: a string's own, or any other value's JSON.
fn body_of(value: &Raw<'_>) -> String {
    match value.body() {
        Some(body) => text::minimal(body).into_owned(),
        None => {
            let mut out = String::new();
            push_escaped(value, &mut out);
            out
        }
    }
}

fn name_of(name: Option<&Raw<'_>>) -> String {
    match name {
        Some(name) if name.body().is_some() => name.to_string(),
        _ => "\"tool\"".to_owned(),
    }
}

fn call_id(id: Option<&Raw<'_>>, task: &str) -> String {
    match id {
        Some(id) if id.body().is_some() => id.to_string(),
        Some(id) if !id.is_null() => quote(id),
        _ => mint("call_", task),
    }
}
