//! What an agent elsewhere has not heard yet.
//!
//! Invariant: what is said in a round is what stands in the journal before its `step-started` and
//! was in no round before it that was heard. Said again, it is the same.

use std::collections::HashMap;

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::transcript::ActionKind;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::perspective::{Entry, History, Part, Policy, Side, View, parts, turns};

/// What was said since an agent was told last.
pub(super) struct Told {
    agent: String,
    policy: Policy,
    since: History,
    /// Which telling `since` follows.
    from: u64,
    /// What was said since the tellings that are under way, by their tasks.
    under_way: HashMap<String, (u64, History)>,
    tellings: u64,
}

impl Told {
    pub(super) fn new(agent: &str, policy: Policy) -> Self {
        Self {
            agent: agent.to_owned(),
            policy,
            since: History::new(),
            from: 0,
            under_way: HashMap::new(),
            tellings: 0,
        }
    }

    pub(super) fn apply(&mut self, event: &Event<'_>) {
        self.since.apply(event);
        for (_, later) in self.under_way.values_mut() {
            later.apply(event);
        }
        let own = event.str("agentId").is_some_and(|agent| agent == self.agent);
        let Some(task) = event.str("taskId").filter(|_| own) else { return };
        match event.kind() {
            Kind::StepStarted if is_telling(event) => {
                self.tellings += 1;
                let mut later = History::new();
                later.participants.clone_from(&self.since.participants);
                self.under_way.insert(task.into_owned(), (self.tellings, later));
            }
            // It may not have heard it.
            Kind::AttemptSuperseded => drop(self.under_way.remove(&*task)),
            Kind::StepFinished => self.heard(&task),
            _ if TaskState::after(event).is_some_and(TaskState::is_terminal) => self.heard(&task),
            _ => {}
        }
    }

    fn heard(&mut self, task: &str) {
        if let Some((telling, later)) = self.under_way.remove(task)
            && telling > self.from
        {
            (self.from, self.since) = (telling, later);
        }
    }

    /// What it is to be told now: what others said, attributed, in order.
    pub(super) fn parts(&self) -> Vec<Part> {
        let view = View::Agent(&self.agent, self.policy);
        let inputs = turns(&self.since, view).into_iter().filter(|turn| turn.side == Side::Input);
        let actions = self.since.transcript.actions();
        let mut out = Vec::new();
        for entry in inputs.flat_map(|turn| turn.entries) {
            match entry {
                Entry::Told { content, .. } => out.extend(parts(Some(&content), None)),
                Entry::Action(at) => {
                    let said = actions.get(at).filter(|a| a.kind == ActionKind::UserMessage);
                    let Some(said) = said else { continue };
                    match said.get("content") {
                        Some(content) => {
                            out.extend(parts(Some(content), said.get("attachments")));
                        }
                        None => out.push(Part::Text(said.text())),
                    }
                }
                // A system prompt is another agent's business, and it knows its own files.
                Entry::Prompt(_) | Entry::File(_) => {}
            }
        }
        out
    }
}

/// Whether a round tells the agent what was said in the thread.
fn is_telling(event: &Event<'_>) -> bool {
    event.at("metadata", "/remote/says").is_some_and(|says| says.is("thread"))
}
