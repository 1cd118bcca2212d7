//! Runs: one agent turn each.

use super::{Out, Reader, stamp};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) agent: Option<Raw<'static>>,
    pub(super) done: bool,
    pub(super) working: bool,
    /// Whether a step said how many tokens it used.
    pub(super) counted: bool,
    instructed: bool,
    cancelling: bool,
}

impl Reader {
    /// The run's state, beginning the run where nothing was heard of it.
    pub(super) fn begin<'a>(
        &mut self,
        id: Node<'_, 'a>,
        node: Node<'_, 'a>,
        out: &mut Out<'_, 'a>,
    ) -> Raw<'static> {
        let task: Raw<'static> = Raw::owned(id.raw());
        self.current = Some(task.clone());
        let agent = node.some("assistant_id").filter(|a| a.is_string());
        let model = node.some("model").filter(|m| m.is_string());
        self.join(agent, model, out);
        if self.runs.contains_key(task.as_str()) {
            out.marks.implied(id);
            return task;
        }
        let agent = agent.map(|a| Raw::owned(a.raw()));
        self.runs.insert(task.to_string(), Run { agent: agent.clone(), ..Run::default() });
        out.bind(Some(id), "taskId");
        let metadata = node.some("metadata").filter(|m| m.is_object());
        let parent = metadata.and_then(|m| m.some("parent_run_id")).filter(|p| p.is_string());
        if let (Some(metadata), Some(parent)) = (metadata, parent) {
            out.marks.open(metadata);
            out.bind(Some(parent), "parentTaskId");
        }
        out.push(
            Event::new(Kind::TaskCreated)
                .with("taskId", id)
                .with("initiator", Raw::Ref("\"user\""))
                .with_some("agentId", agent)
                .with_some("parentTaskId", parent)
                .with_some("timestamp", node.some("created_at").and_then(stamp)),
        );
        task
    }

    /// An event of a run.
    pub(super) fn event<'a>(&self, kind: Kind, task: &Raw<'static>) -> Event<'a> {
        let agent = self.runs.get(task.as_str()).and_then(|run| run.agent.clone());
        Event::new(kind).with("taskId", task.clone()).with_some("agentId", agent)
    }

    pub(super) fn run<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(id) = node.get("id").filter(|id| id.is_string()) else { return };
        self.heard(node, out);
        out.implied(node.some("created_at"));
        let task = self.begin(id, node, out);
        self.instructions(node, &task, out);
        let Some(status) = node.get("status").filter(|s| s.is_string()) else { return };
        out.marks.implied(status);
        let done = self.runs.get(task.as_str()).is_some_and(|run| run.done);
        if done {
            return;
        }
        match status.body() {
            "in_progress" => self.works(node, &task, out),
            "requires_action" => self.requires_action(node, &task, out),
            "cancelling" => self.cancelling(&task, out),
            "completed" | "incomplete" => self.completed(node, &task, out),
            "failed" => self.failed(node, &task, out),
            "cancelled" => {
                self.run_usage(node, &task, out);
                let at = time_of(node, "cancelled_at", out);
                self.ends(&task);
                let event = self.event(Kind::TaskStatus, &task);
                let event = event.with("status", Raw::Ref("\"canceled\""));
                out.push(event.with_some("timestamp", at));
            }
            "expired" => {
                self.run_usage(node, &task, out);
                let at = time_of(node, "expires_at", out);
                self.ends(&task);
                let event = self.event(Kind::TaskStatus, &task);
                out.push(
                    event
                        .with("status", Raw::Ref("\"failed\""))
                        .with("message", Raw::Ref("\"expired\""))
                        .with("metadata", Raw::Ref("{\"reason\":\"timeout\"}"))
                        .with_some("timestamp", at),
                );
            }
            _ => {}
        }
    }

    fn ends(&mut self, task: &Raw<'static>) {
        if let Some(run) = self.runs.get_mut(task.as_str()) {
            run.done = true;
        }
    }

    /// A run's instructions are its system prompt; every later copy of the run repeats them.
    fn instructions<'a>(&mut self, node: Node<'_, 'a>, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        let Some(text) = node.some("instructions").filter(|i| i.is_string()) else { return };
        let Some(run) = self.runs.get_mut(task.as_str()) else { return };
        if run.instructed || text.body().is_empty() {
            out.marks.implied(text);
            return;
        }
        run.instructed = true;
        out.bind(Some(text), "content");
        out.push(
            Event::new(Kind::Message)
                .with("taskId", task.clone())
                .with("role", Raw::Ref("\"system\""))
                .with("content", text),
        );
    }

    fn works<'a>(&mut self, node: Node<'_, 'a>, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        let at = time_of(node, "started_at", out);
        let Some(run) = self.runs.get_mut(task.as_str()) else { return };
        if run.working {
            return;
        }
        run.working = true;
        let event = self.event(Kind::TaskStatus, task).with("status", Raw::Ref("\"working\""));
        out.push(event.with_some("timestamp", at));
    }

    fn requires_action<'a>(
        &mut self,
        node: Node<'_, 'a>,
        task: &Raw<'static>,
        out: &mut Out<'_, 'a>,
    ) {
        let action = node.some("required_action").filter(|a| a.is_object());
        let submit = action.and_then(|a| a.get("submit_tool_outputs")).filter(|s| s.is_object());
        if let (Some(action), Some(submit)) = (action, submit) {
            out.marks.open(action);
            out.marks.open(submit);
            out.implied(action.get("type"));
            if let Some(calls) = submit.get("tool_calls").filter(|c| c.is_array()) {
                out.marks.list(calls);
                for call in calls.children() {
                    self.whole_call(call, task, out);
                }
            }
        }
        if let Some(run) = self.runs.get_mut(task.as_str()) {
            run.working = false;
        }
        let event = self.event(Kind::TaskStatus, task);
        out.push(event.with("status", Raw::Ref("\"waiting-input\"")));
    }

    fn cancelling<'a>(&mut self, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        let Some(run) = self.runs.get_mut(task.as_str()) else { return };
        if !std::mem::replace(&mut run.cancelling, true) {
            out.push(Event::new(Kind::CancelRequested).with("taskId", task.clone()));
        }
    }

    fn completed<'a>(&mut self, node: Node<'_, 'a>, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        self.run_usage(node, task, out);
        let at = time_of(node, "completed_at", out);
        let details = node.some("incomplete_details").filter(|d| d.is_object());
        let reason = details.and_then(|d| d.some("reason")).filter(|r| r.is_string());
        let next = out.next();
        if let (Some(details), Some(reason)) = (details, reason) {
            out.marks.open(details);
            out.marks.bind_at(reason, next, "metadata", "/reason");
        }
        let metadata = reason.map(|r| Raw::owned(format!("{{\"reason\":{}}}", r.raw())));
        self.ends(task);
        let event = self.event(Kind::TaskComplete, task).with_some("metadata", metadata);
        out.push(event.with_some("timestamp", at));
    }

    fn failed<'a>(&mut self, node: Node<'_, 'a>, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        self.run_usage(node, task, out);
        let at = time_of(node, "failed_at", out);
        let error = node.some("last_error").filter(|e| e.is_object());
        let message = error.and_then(|e| e.some("message")).filter(|m| m.is_string());
        let code = error.and_then(|e| e.some("code")).filter(|c| c.is_string());
        if let Some(error) = error {
            out.marks.open(error);
        }
        let next = out.next();
        out.bind(message, "message");
        if let Some(code) = code {
            out.marks.bind_at(code, next, "metadata", "/code");
        }
        let metadata = code.map(|c| Raw::owned(format!("{{\"code\":{}}}", c.raw())));
        self.ends(task);
        out.push(
            self.event(Kind::TaskStatus, task)
                .with("status", Raw::Ref("\"failed\""))
                .with_some("message", message)
                .with_some("metadata", metadata)
                .with_some("timestamp", at),
        );
    }

    /// The tokens of a whole run, unless its steps told theirs.
    fn run_usage<'a>(&mut self, node: Node<'_, 'a>, task: &Raw<'static>, out: &mut Out<'_, 'a>) {
        let Some(usage) = node.some("usage").filter(|u| u.is_object()) else { return };
        if self.runs.get(task.as_str()).is_some_and(|run| run.counted) {
            out.marks.implied(usage);
            return;
        }
        let model = node.some("model").filter(|m| m.is_string());
        let mut event = self.event(Kind::LlmUsage, task).with_some("model", model);
        out.marks.open(usage);
        for name in ["prompt_tokens", "completion_tokens", "total_tokens"] {
            let value = usage.some(name);
            out.bind(value, name);
            event = event.with_some(name, value);
        }
        out.push(event);
    }
}

/// A moment of a run or step.
pub(super) fn time_of<'a>(
    node: Node<'_, 'a>,
    name: &str,
    out: &mut Out<'_, 'a>,
) -> Option<Raw<'a>> {
    let at = node.some(name)?;
    out.marks.implied(at);
    stamp(at)
}
