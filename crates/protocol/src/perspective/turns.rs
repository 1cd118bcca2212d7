//! Actions made into model input and model output, as one agent or nobody in particular sees it.

use std::collections::HashMap;

use super::history::{History, Item, Step};
use super::{Attribution, OthersTools, Policy, View};
use crate::journal::transcript::{Action, ActionKind};
use crate::json::{Raw, quote};

/// What goes into or comes out of one model call.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Which.
    pub side: Side,
    /// The task it belongs to.
    pub task: Option<Raw<'static>>,
    /// Whose output it is.
    pub agent: Option<Raw<'static>>,
    /// The model call that made it; 0 where the source does not say.
    pub step: u32,
    /// What is known of that call.
    pub call: Step,
    /// Instructions in force, for input.
    pub instructions: Option<Raw<'static>>,
    /// Its parts.
    pub entries: Vec<Entry>,
}

/// Input or output of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// For the model to read.
    Input,
    /// Made by the model.
    Output,
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// An action of the transcript.
    Action(usize),
    /// A system prompt, an action of the transcript.
    Prompt(usize),
    /// A file of the history.
    File(usize),
    /// What someone else said or did, told as input: a string or content parts.
    Told {
        /// What is told.
        content: Raw<'static>,
        /// When it was.
        timestamp: Option<Raw<'static>>,
    },
}

/// The turns of a thread.
pub fn turns(history: &History, view: View<'_>) -> Vec<Turn> {
    let (me, policy) = match view {
        View::Recorder => (None, Policy::default()),
        View::Agent(agent, policy) => (Some(history.resolve(agent)), policy),
    };
    let mut making = Making {
        history,
        me,
        policy,
        turns: Vec::new(),
        steps: HashMap::new(),
        instructions: None,
        fresh: false,
    };
    for item in &history.items {
        making.item(item);
    }
    making.turns
}

struct Making<'h> {
    history: &'h History,
    me: Option<&'h str>,
    policy: Policy,
    turns: Vec<Turn>,
    /// The turn of each model call.
    steps: HashMap<u32, usize>,
    instructions: Option<Raw<'static>>,
    /// Whether the next input begins a turn of its own.
    fresh: bool,
}

impl Making<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Action { index, whole } => self.action(*index, *whole),
            Item::Prompt { index } => {
                let Some(action) = self.history.transcript.actions().get(*index) else { return };
                if self.mine(action) {
                    self.input(action.task.as_ref(), Entry::Prompt(*index));
                }
            }
            Item::Instructions(text) => {
                self.instructions = Some(text.clone());
                self.fresh = true;
            }
            Item::File(index) => {
                let Some(file) = self.history.files.get(*index) else { return };
                if self.is_me(file.agent.as_ref()) {
                    let (task, agent, step) = (file.task.clone(), file.agent.clone(), file.step);
                    self.output(task, agent, step, false, Entry::File(*index));
                }
            }
            Item::Empty { side, task, call } => {
                self.turns.push(Turn {
                    side: *side,
                    task: task.clone(),
                    agent: None,
                    step: 0,
                    call: Step::clone(call),
                    instructions: self.instructions.clone().filter(|_| *side == Side::Input),
                    entries: Vec::new(),
                });
                self.fresh = true;
            }
            Item::Call { task, step } => {
                let turn = self.turns.iter_mut().rev().find(|t| t.side == Side::Output);
                if let Some(turn) = turn.filter(|t| t.task.is_none() || t.task == *task) {
                    turn.call.add(step);
                }
            }
        }
    }

    fn action(&mut self, index: usize, whole: bool) {
        let history = self.history;
        let Some(action) = history.transcript.actions().get(index) else { return };
        if action.superseded {
            return;
        }
        match action.kind {
            ActionKind::UserMessage => {
                self.input(action.task.as_ref(), Entry::Action(index));
            }
            ActionKind::System => {
                let feedback = action.get("name").is_some_and(|n| n.is("retry_feedback"));
                if feedback && self.mine(action) {
                    self.input(action.task.as_ref(), Entry::Action(index));
                }
            }
            ActionKind::ToolReturn => {
                let call = action.counterpart.and_then(|at| history.transcript.actions().get(at));
                let owner = call.unwrap_or(action);
                if !self.mine(owner) {
                    self.tell_return(owner, action);
                } else if is_providers(owner) {
                    let (task, agent) = (owner.task.clone(), owner.agent.clone());
                    self.output(task, agent, owner.step, false, Entry::Action(index));
                } else {
                    self.input(action.task.as_ref(), Entry::Action(index));
                }
            }
            ActionKind::AssistantMessage | ActionKind::Thinking | ActionKind::ToolCall => {
                if self.mine(action) {
                    let agent = agent_of(action).cloned();
                    let (task, step) = (action.task.clone(), action.step);
                    let whole = whole && action.kind == ActionKind::AssistantMessage;
                    self.output(task, agent, step, whole, Entry::Action(index));
                } else {
                    self.tell(action);
                }
            }
        }
    }

    fn mine(&self, action: &Action) -> bool {
        self.is_me(agent_of(action))
    }

    /// Without a name nobody else is meant.
    fn is_me(&self, agent: Option<&Raw<'static>>) -> bool {
        match (self.me, agent) {
            (Some(me), Some(agent)) => agent.is(me),
            _ => true,
        }
    }

    fn input(&mut self, task: Option<&Raw<'static>>, entry: Entry) {
        let same = |turn: &Turn| {
            turn.side == Side::Input
                && (turn.task.is_none() || task.is_none() || turn.task.as_ref() == task)
        };
        match self.turns.last_mut().filter(|turn| same(turn) && !self.fresh) {
            Some(turn) => {
                turn.task = turn.task.take().or(task.cloned());
                turn.entries.push(entry);
            }
            None => self.turns.push(Turn {
                side: Side::Input,
                task: task.cloned(),
                agent: None,
                step: 0,
                call: Step::default(),
                instructions: self.instructions.clone(),
                entries: vec![entry],
            }),
        }
        self.fresh = false;
    }

    fn output(
        &mut self,
        task: Option<Raw<'static>>,
        agent: Option<Raw<'static>>,
        step: u32,
        whole: bool,
        entry: Entry,
    ) {
        let at = if step > 0 {
            self.steps.get(&step).copied().filter(|at| !self.ends_again(*at, &entry))
        } else {
            let same = |turn: &Turn| {
                turn.side == Side::Output
                    && turn.step == 0
                    && turn.task == task
                    && turn.agent == agent
                    && turn.call.finish.is_none()
            };
            let last = self.turns.len().wrapping_sub(1);
            self.turns.get(last).filter(|turn| !whole && same(turn)).map(|_| last)
        };
        if let Some(turn) = at.and_then(|at| self.turns.get_mut(at)) {
            turn.entries.push(entry);
            return;
        }
        let mut call = self.history.steps.get((step as usize).wrapping_sub(1)).cloned();
        if let Entry::Action(index) = entry
            && let Some(action) = self.history.transcript.actions().get(index)
        {
            // A whole message says itself how it ended.
            let own = Step {
                usage: action.get("usage").cloned(),
                finish: action.get("finishReason").cloned(),
                ..Step::default()
            };
            let mut known = own;
            if let Some(call) = &call {
                known.add(call);
            }
            call = Some(known);
        }
        let mut call = call.unwrap_or_default();
        if call.model.is_none() {
            let id = agent.as_ref().and_then(|a| a.str().map(|s| s.into_owned()));
            let who = id.and_then(|id| self.history.participant(&id));
            call.model = who.and_then(|p| p.model.clone());
        }
        if step > 0 {
            self.steps.insert(step, self.turns.len());
        }
        self.turns.push(Turn {
            side: Side::Output,
            task,
            agent,
            step,
            call,
            instructions: None,
            entries: vec![entry],
        });
    }

    /// Whether an entry says how its model call ended, and one of the turn has said so before:
    /// then it is another call's.
    fn ends_again(&self, turn: usize, entry: &Entry) -> bool {
        let ends = |entry: &Entry| match entry {
            Entry::Action(at) => {
                let action = self.history.transcript.actions().get(*at);
                action.is_some_and(|action| action.get("finishReason").is_some())
            }
            _ => false,
        };
        ends(entry) && self.turns.get(turn).is_some_and(|turn| turn.entries.iter().any(ends))
    }

    /// Tells what another agent said, or which tool it called.
    fn tell(&mut self, action: &Action) {
        let name = self.name(action);
        let content = match action.kind {
            ActionKind::AssistantMessage => match action.get("content") {
                Some(content) if action.pieces.is_empty() && content.is_array() => {
                    attributed_parts(&name, content, self.policy.attribution)
                }
                _ => Raw::string(&attributed(&name, &action.text(), self.policy.attribution)),
            },
            ActionKind::ToolCall => {
                let tool = action.get("toolName").and_then(|t| t.str().map(|s| s.into_owned()));
                let tool = tool.unwrap_or_default();
                let text = match self.policy.tools {
                    OthersTools::Hide => return,
                    OthersTools::Summarise => format!("[used the tool {tool}]"),
                    OthersTools::Show => format!("[called {tool} with {}]", action.arguments()),
                };
                Raw::string(&attributed(&name, &text, self.policy.attribution))
            }
            _ => return,
        };
        let timestamp = action.timestamp.clone();
        self.input(action.task.as_ref(), Entry::Told { content, timestamp });
    }

    fn tell_return(&mut self, call: &Action, result: &Action) {
        let name = self.name(call);
        let field = |name: &str| {
            result.get(name).map(|v| v.str().map_or(v.to_string(), |s| s.into_owned()))
        };
        let tool = field("toolName").unwrap_or_default();
        let failed = result.get("success").and_then(Raw::bool) == Some(false);
        let text = match self.policy.tools {
            OthersTools::Show => {
                let said = field("result").or_else(|| field("error")).unwrap_or_default();
                format!("[{tool} {} {said}]", if failed { "failed:" } else { "returned" })
            }
            OthersTools::Summarise if failed => format!("[the tool {tool} failed]"),
            OthersTools::Summarise | OthersTools::Hide => return,
        };
        let content = Raw::string(&attributed(&name, &text, self.policy.attribution));
        let timestamp = result.timestamp.clone();
        self.input(result.task.as_ref(), Entry::Told { content, timestamp });
    }

    fn name(&self, action: &Action) -> String {
        let id = agent_of(action).and_then(|a| a.str().map(|s| s.into_owned())).unwrap_or_default();
        match self.history.participant(&id) {
            Some(who) => who.name.clone().or_else(|| who.identifier.clone()).unwrap_or(id),
            None => id,
        }
    }
}

fn agent_of(action: &Action) -> Option<&Raw<'static>> {
    action.agent.as_ref().or_else(|| action.get("author"))
}

fn is_providers(call: &Action) -> bool {
    call.get("providerExecuted").and_then(Raw::bool) == Some(true)
}

/// Text with a sign of whose it is.
fn attributed(name: &str, text: &str, how: Attribution) -> String {
    match how {
        Attribution::None => text.to_owned(),
        Attribution::Prefix => format!("{{agent:{name}}}: {text}"),
        Attribution::Quote => {
            let mut out = format!("{name} wrote:");
            for line in text.split('\n') {
                out.push_str("\n> ");
                out.push_str(line);
            }
            out
        }
        Attribution::Xml => {
            format!("<message from=\"{}\">{}</message>", xml(name), xml(text))
        }
    }
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Content parts with a sign of whose they are: on the first text, else before all.
fn attributed_parts(name: &str, content: &Raw<'_>, how: Attribution) -> Raw<'static> {
    let Some(doc) = content.doc() else { return Raw::owned(content.as_str()) };
    let mut done = how == Attribution::None;
    let mut items: Vec<String> = Vec::new();
    for part in doc.root().children() {
        match part.get("text").and_then(|t| t.str()).filter(|_| !done) {
            Some(text) => {
                done = true;
                let text = quote(&attributed(name, &text, how));
                items.push(format!("{{\"type\":\"text\",\"text\":{text}}}"));
            }
            None => items.push(part.raw().to_owned()),
        }
    }
    if !done {
        let text = quote(attributed(name, "", how).trim_end());
        items.insert(0, format!("{{\"type\":\"text\",\"text\":{text}}}"));
    }
    Raw::owned(format!("[{}]", items.join(",")))
}
