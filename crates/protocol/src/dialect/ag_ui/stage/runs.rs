//! Runs and subagents: how they begin and end.

use std::collections::HashSet;

use super::super::model::CANCELED;
use super::{Run, Stage, code, millis, plain, record, result, stamped, text};
use crate::dialect::object::Object;
use crate::journal::Event;
use crate::journal::flow::{Outcome, Waiting};
use crate::json::{Raw, quote};

impl Stage {
    /// Begins a run for a task; ends the one at hand, whose task may go on later.
    pub(super) fn begin(&mut self, task: &str, event: Option<&Event<'_>>) {
        self.left.extend(self.run.as_ref().map(|run| run.task.clone()));
        self.end(&Outcome::Completed, None);
        self.left.remove(task);
        let wanted = plain(task);
        let id = self.unique(&wanted);
        let parent = self.interrupted.remove(task);
        let meta = event.and_then(|e| e.at("metadata", "/parentRunId"));
        self.run = Some(Run {
            task: task.to_owned(),
            id,
            parent: parent.or(meta.map(|m| m.to_string())),
            started: false,
            time: event.and_then(millis),
            subagents: Vec::new(),
            ended: HashSet::new(),
            steps: Vec::new(),
            step_count: 0,
            texts: Vec::new(),
            thoughts: Vec::new(),
            calls: Vec::new(),
            interrupts: Vec::new(),
            pending: Vec::new(),
            waiting: None,
            usage: Vec::new(),
            spoken: false,
        });
    }

    /// Says that the run started, once something happens in it.
    pub(super) fn flush(&mut self) {
        let thread = self.thread();
        let Some(run) = self.run.as_mut().filter(|run| !run.started) else { return };
        run.started = true;
        let messages = std::mem::take(&mut self.messages);
        let answers = std::mem::take(&mut self.answers);
        let mut start = record("RUN_STARTED")
            .raw("threadId", &thread)
            .raw("runId", &run.id)
            .some("parentRunId", run.parent.as_ref());
        if !messages.is_empty() || !answers.is_empty() {
            let mut input = Object::new()
                .raw("threadId", &thread)
                .raw("runId", &run.id)
                .raw("messages", &format!("[{}]", messages.join(",")))
                .raw("tools", "[]")
                .raw("context", "[]");
            if !answers.is_empty() {
                input = input.raw("resume", &format!("[{}]", answers.join(",")));
            }
            start = start.raw("input", &input.end());
        }
        let time = run.time;
        self.out.push(stamped(start, time));
        self.out.append(&mut self.deferred);
    }

    pub(super) fn run_started(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        agent: Option<Raw<'static>>,
        parent: Option<Raw<'static>>,
    ) {
        if event.and_then(|e| e.get("dispatched")).and_then(Raw::bool) == Some(true) {
            self.made.insert(task.to_owned());
        }
        let announced = self.announced.remove(task);
        let parent = parent
            .map(|p| p.to_string())
            .or_else(|| announced.as_ref().map(|a| a.parent.clone()))
            .filter(|parent| parent != task);
        let under = match (&parent, &self.run) {
            (Some(parent), Some(run)) => {
                run.has(parent) || run.ended.contains(parent) || self.descends(parent, run)
            }
            _ => false,
        };
        let Some(parent) = parent.filter(|_| under) else {
            self.begin(task, event);
            return;
        };
        self.parents.insert(task.to_owned(), parent.clone());
        self.enter(&parent);
        let Some(run) = self.run.as_mut() else { return };
        if run.ended.contains(task) || run.has(task) {
            return;
        }
        let nested = run.task != parent && run.has(&parent);
        let name = agent.or_else(|| announced.as_ref().and_then(|a| a.agent.clone()));
        let name = name.filter(|n| n.body().is_some()).unwrap_or(Raw::Ref("\"subagent\""));
        let prompt = announced.as_ref().and_then(|a| a.prompt.as_ref());
        let call = announced.as_ref().and_then(|a| a.call.as_ref());
        let record = record("SUBAGENT_STARTED")
            .raw("subagentRunId", &text(task))
            .raw("name", &name)
            .some("description", prompt.filter(|p| p.body().is_some_and(|b| !b.is_empty())))
            .some("parentSubagentRunId", nested.then_some(&parent))
            .some("parentToolCallId", call);
        run.subagents.push(task.to_owned());
        self.out.push(stamped(record, event.and_then(millis)));
    }

    pub(super) fn run_finished(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        outcome: &Outcome,
    ) {
        let was_left = self.left.remove(task);
        let is_at_hand = self.run.as_ref().is_some_and(|run| run.has(task));
        if was_left && !is_at_hand && matches!(outcome, Outcome::Failed { .. } | Outcome::Canceled)
        {
            // Its run was ended for another's, as if all had gone well.
            self.begin(task, event);
            self.flush();
            self.end(outcome, event);
            return;
        }
        let Some(run) = &self.run else {
            // It ended here when it asked; an answer that came since belongs to what follows.
            if event.is_some() && (self.interrupted.contains_key(task) || !self.answers.is_empty())
            {
                self.begin(task, event);
                self.flush();
                self.end(outcome, event);
            }
            return;
        };
        if run.task == task {
            if run.waits() && *outcome != Outcome::Waiting {
                self.enter(task);
            }
            self.end(outcome, event);
        } else if run.subagents.iter().any(|s| s == task) {
            self.subagent_finished(task, event, outcome);
        }
    }

    pub(super) fn subagent_finished(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        outcome: &Outcome,
    ) {
        self.close(Some(task));
        let Some(run) = self.run.as_mut() else { return };
        run.subagents.retain(|s| s != task);
        run.ended.insert(task.to_owned());
        let record = match outcome {
            Outcome::Failed { message } => record("SUBAGENT_ERROR")
                .raw("subagentRunId", task)
                .body("message", message)
                .some("code", event.and_then(code)),
            Outcome::Canceled => record("SUBAGENT_ERROR")
                .raw("subagentRunId", task)
                .raw("message", "\"canceled\"")
                .text("code", CANCELED),
            Outcome::Waiting => {
                let ids: Vec<&str> = run
                    .interrupts
                    .iter()
                    .filter(|(t, ..)| t == task)
                    .map(|(_, id, _)| id.as_str())
                    .collect();
                let outcome =
                    format!("{{\"type\":\"suspended\",\"interruptIds\":[{}]}}", ids.join(","));
                record("SUBAGENT_FINISHED").raw("subagentRunId", task).raw("outcome", &outcome)
            }
            Outcome::Completed => record("SUBAGENT_FINISHED")
                .raw("subagentRunId", task)
                .some("result", event.and_then(result))
                .raw("outcome", "{\"type\":\"success\"}"),
        };
        self.out.push(stamped(record, event.and_then(millis)));
    }

    /// Closes what a task left open, or everything.
    pub(super) fn close(&mut self, only: Option<&str>) {
        let Some(run) = self.run.as_mut() else { return };
        let closes = |task: &str| only.is_none_or(|only| only == task);
        let subagents = run.subagents.clone();
        let mut records = Vec::new();
        let mut say = |task: &str, record: Object| {
            let subagent = subagents.iter().any(|s| s == task);
            let record = if subagent { record.raw("subagentRunId", task) } else { record };
            records.push(record.end());
        };
        for open in run.thoughts.extract_if(.., |open| closes(&open.task)) {
            if open.message {
                say(&open.task, record("REASONING_MESSAGE_END").raw("messageId", &open.wire));
            }
            say(&open.task, record("REASONING_END").raw("messageId", &open.wire));
        }
        for open in run.texts.extract_if(.., |open| closes(&open.task)) {
            say(&open.task, record("TEXT_MESSAGE_END").raw("messageId", &open.wire));
        }
        for open in run.calls.extract_if(.., |open| closes(&open.task)) {
            say(&open.task, record("TOOL_CALL_END").raw("toolCallId", &open.id));
        }
        for (task, name) in run.steps.extract_if(.., |(task, _)| closes(task)) {
            say(&task, record("STEP_FINISHED").raw("stepName", &name));
        }
        self.out.append(&mut records);
    }

    /// Ends the run at hand.
    pub(super) fn end(&mut self, outcome: &Outcome, event: Option<&Event<'_>>) {
        if self.run.is_none() {
            return;
        }
        self.flush();
        self.conclude(event);
        self.close(None);
        let children: Vec<String> =
            self.run.iter().flat_map(|run| run.subagents.iter().rev().cloned()).collect();
        for child in children {
            let asked =
                self.run.iter().any(|r| r.interrupts.iter().any(|(task, ..)| *task == child));
            let outcome = if asked { Outcome::Waiting } else { Outcome::Completed };
            self.subagent_finished(&child, None, &outcome);
            self.left.insert(child);
        }
        let thread = self.thread();
        let Some(mut run) = self.run.take() else { return };
        let waits = run.waits() && !matches!(outcome, Outcome::Failed { .. } | Outcome::Canceled);
        let usage = (!run.usage.is_empty()).then(|| format!("[{}]", run.usage.join(",")));
        let finished = || record("RUN_FINISHED").raw("threadId", &thread).raw("runId", &run.id);
        let record = match outcome {
            Outcome::Failed { message } => record("RUN_ERROR")
                .body("message", message)
                .some("code", event.and_then(code))
                .some("usage", usage),
            Outcome::Canceled => {
                finished().raw("outcome", "{\"type\":\"cancelled\"}").some("usage", usage)
            }
            _ if waits && run.interrupts.is_empty() && !run.pending.is_empty() => {
                self.interrupted.insert(run.task.clone(), run.id.clone());
                let calls = run.pending.join(",");
                let outcome = format!("{{\"type\":\"success\",\"pendingToolCallIds\":[{calls}]}}");
                finished().raw("outcome", &outcome).some("usage", usage)
            }
            _ if waits || *outcome == Outcome::Waiting => {
                if run.interrupts.is_empty() {
                    let reason = match run.waiting {
                        Some(Waiting::Auth) => "auth",
                        _ => "input_required",
                    };
                    let one = Object::new().raw("id", &run.id).text("reason", reason).end();
                    run.interrupts.push((run.task.clone(), run.id.clone(), one));
                }
                let all: Vec<&str> = run.interrupts.iter().map(|(.., i)| i.as_str()).collect();
                let outcome =
                    format!("{{\"type\":\"interrupt\",\"interrupts\":[{}]}}", all.join(","));
                self.interrupted.insert(run.task.clone(), run.id.clone());
                finished().raw("outcome", &outcome).some("usage", usage)
            }
            _ => finished()
                .some("result", event.and_then(result))
                .raw("outcome", "{\"type\":\"success\"}")
                .some("usage", usage),
        };
        self.out.push(stamped(record, event.and_then(millis)));
    }

    /// Says the result of a task that said nothing else.
    pub(super) fn conclude(&mut self, event: Option<&Event<'_>>) {
        let Some(run) = self.run.as_ref().filter(|run| !run.spoken) else { return };
        let body = event.and_then(|e| e.body("content")).unwrap_or("");
        if !body.is_empty() {
            let task = run.task.clone();
            let id = format!("{}:result", plain(&run.id));
            self.text_delta(&task, &id, body, event);
            self.text_finished(&task, &id, event);
        }
    }

    pub(super) fn step_started(&mut self, task: &str, event: Option<&Event<'_>>) {
        self.enter(task);
        let given = event.and_then(|e| e.get("stepId")).filter(|s| s.body().is_some());
        let Some(run) = self.run.as_mut() else { return };
        run.step_count += 1;
        let open = |name: &str| run.steps.iter().any(|(t, s)| t == task && s == name);
        let name = match given {
            Some(name) if !open(name) => name.to_string(),
            Some(name) => quote(&format!("{}:{}", plain(name), run.step_count)),
            None => format!("\"step-{}\"", run.step_count),
        };
        let record = record("STEP_STARTED").raw("stepName", &name);
        run.steps.push((task.to_owned(), name));
        self.write(task, record, event);
    }

    pub(super) fn step_finished(&mut self, task: &str, event: Option<&Event<'_>>) {
        if let Some(event) = event {
            self.usage(task, event);
        }
        let given = event.and_then(|e| e.get("stepId"));
        let Some(run) = self.run.as_mut() else { return };
        let mine = |(t, s): &(String, String)| t == task && given.is_none_or(|g| s == g.as_str());
        let at = run.steps.iter().rposition(mine);
        let at = at.or_else(|| run.steps.iter().rposition(|(t, _)| t == task));
        let Some((_, name)) = at.map(|at| run.steps.remove(at)) else { return };
        self.put(task, record("STEP_FINISHED").raw("stepName", &name), event);
    }
}
