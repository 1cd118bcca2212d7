//! Budgets: what may be spent before someone is asked, and what they have said.
//!
//! Invariant: how much may be spent follows from the configuration and the answers in the journal,
//! and nothing else. One question at a time is open for a budget; its answer holds for all tasks
//! that wait for it.

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use serde_json::Value;

use super::progress::agreed;
use super::spending::{BUDGET, Spending, Spent};
use crate::config::file::{Bounds, Budget};

/// What was asked about budgets.
#[derive(Debug, Default)]
pub(super) struct Raises {
    asked: Vec<Asked>,
}

/// A question about one budget.
#[derive(Debug)]
struct Asked {
    input: String,
    of: Of,
    /// The task that asked last, and those that wait with it.
    task: String,
    waiting: Vec<String>,
    /// What a plain yes adds.
    raise: f64,
    answer: Option<Said>,
}

/// Which budget: whose, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Of {
    scope: String,
    kind: String,
}

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    /// So much more.
    More(f64),
    No,
    /// Whoever asked is over, or nobody answered in time.
    Nothing,
}

/// Whether a task may go on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// It may.
    Go,
    /// These events ask, and it waits.
    Ask(Vec<Event<'static>>),
    /// It waits for an answer that is in the journal as open.
    Wait,
    /// Someone said no.
    No(String),
}

/// A budget that is used up.
struct Reached {
    of: Of,
    /// Who has spent it, in words.
    who: String,
    base: f64,
    limit: f64,
    used: f64,
}

impl Raises {
    /// Takes an event in.
    pub(super) fn apply(&mut self, event: &Event<'_>, spending: &mut Spending) {
        let Some(task) = event.str("taskId") else { return };
        match event.kind() {
            Kind::InputRequired => self.asked(&task, event),
            Kind::InputReceived | Kind::InputExpired => self.answered(event),
            Kind::TaskStatus => {
                let by = event.at("metadata", "/blockedBy");
                let open = self.asked.iter_mut().rev().find(|asked| {
                    by.as_ref().is_some_and(|by| by.is(&asked.input)) && asked.answer.is_none()
                });
                if let Some(open) = open {
                    open.waiting.push(task.clone().into_owned());
                }
            }
            _ => {}
        }
        if TaskState::after(event).is_some_and(TaskState::is_terminal) {
            for open in self.asked.iter_mut().filter(|a| a.task == *task && a.answer.is_none()) {
                open.answer = Some(Said::Nothing);
                spending.closed(&open.input);
            }
        }
    }

    /// Whether a task of an agent may go on.
    pub(super) fn judge(
        &self,
        spending: &Spending,
        budget: &Budget,
        task: &str,
        agent: &str,
    ) -> Verdict {
        let root = spending.root(task);
        let scopes: [(String, String, &Bounds, &dyn Fn() -> Spent); 3] = [
            ("thread".to_owned(), "This thread".to_owned(), &budget.thread, &|| {
                spending.of_thread()
            }),
            (
                format!("task:{root}"),
                "This task, with its subtasks,".to_owned(),
                &budget.task,
                &|| spending.of_tree(root),
            ),
            (
                format!("agent:{agent}"),
                format!("The agent `{agent}`, in this thread,"),
                &budget.agent,
                &|| spending.of_agent(agent),
            ),
        ];
        for (scope, who, bounds, spent) in scopes {
            if *bounds == Bounds::default() {
                continue;
            }
            let spent = spent();
            let kinds = [
                ("tokens", bounds.tokens.map(|n| n as f64), spent.tokens as f64),
                ("cost", bounds.cost, spent.cost),
                ("time", bounds.time.map(|t| t.0.as_secs_f64()), spent.millis as f64 / 1e3),
            ];
            for (kind, base, used) in kinds {
                let Some(base) = base else { continue };
                let of = Of { scope: scope.clone(), kind: kind.to_owned() };
                let limit = base + self.raised(&of);
                if used >= limit {
                    let reached = Reached { of, who, base, limit, used };
                    return self.reached(&reached, task);
                }
            }
        }
        Verdict::Go
    }

    fn reached(&self, reached: &Reached, task: &str) -> Verdict {
        let before: Vec<&Asked> = self.asked.iter().filter(|a| a.of == reached.of).collect();
        let prompt = reached.prompt();
        match before.last() {
            Some(last) if last.answer.is_none() => {
                if last.concerns(task) {
                    return Verdict::Wait;
                }
                let waits = Event::new(Kind::TaskStatus)
                    .with("status", Raw::Ref("\"waiting-input\""))
                    .with_str("message", &prompt)
                    .with(
                        "metadata",
                        Raw::owned(format!("{{\"blockedBy\":{}}}", quote(&last.input))),
                    );
                Verdict::Ask(vec![waits])
            }
            Some(last) if last.answer == Some(Said::No) && last.concerns(task) => {
                Verdict::No(format!("{} and nobody allows more", reached.state()))
            }
            _ => Verdict::Ask(reached.ask(before.len() + 1, &prompt)),
        }
    }

    /// What answers have added to a budget.
    fn raised(&self, of: &Of) -> f64 {
        let more = self.asked.iter().filter(|asked| asked.of == *of).map(|asked| asked.answer);
        more.map(|answer| if let Some(Said::More(more)) = answer { more } else { 0.0 }).sum()
    }

    fn asked(&mut self, task: &str, event: &Event<'_>) {
        let at = |pointer: &str| event.at("metadata", pointer);
        let text = |pointer: &str| at(pointer).and_then(|v| v.str().map(|v| v.into_owned()));
        let (Some(input), Some(scope), Some(kind), Some(raise)) = (
            event.str("inputId"),
            text("/budget/scope"),
            text("/budget/kind"),
            at("/budget/raise").and_then(|raise| raise.f64()),
        ) else {
            return;
        };
        // Two tasks may have asked the same at the same time: it is one question.
        let known = self.asked.iter_mut().find(|asked| asked.input == input);
        match known {
            Some(known) if known.answer.is_none() => {
                let first = std::mem::replace(&mut known.task, task.to_owned());
                known.waiting.push(first);
            }
            Some(_) => {}
            None => self.asked.push(Asked {
                input: input.into_owned(),
                of: Of { scope, kind },
                task: task.to_owned(),
                waiting: Vec::new(),
                raise,
                answer: None,
            }),
        }
    }

    /// The first answer counts.
    fn answered(&mut self, event: &Event<'_>) {
        let Some(input) = event.str("inputId") else { return };
        let open = self.asked.iter_mut().find(|a| a.input == input && a.answer.is_none());
        let Some(open) = open else { return };
        let value = event.get("value").map_or("null", Raw::as_str);
        open.answer = Some(match event.kind() {
            Kind::InputReceived => said(value, open.raise),
            _ => Said::No,
        });
    }
}

impl Asked {
    fn concerns(&self, task: &str) -> bool {
        self.task == task || self.waiting.iter().any(|waiting| waiting == task)
    }
}

/// What an answer means: so much more, as much again, or no.
fn said(value: &str, again: f64) -> Said {
    let value: Value = serde_json::from_str(value).unwrap_or(Value::Null);
    let number = value
        .as_f64()
        .or_else(|| value.get("amount")?.as_f64())
        .or_else(|| value.as_str()?.trim().parse().ok());
    match number {
        Some(more) if more.is_finite() && more > 0.0 => Said::More(more),
        Some(_) => Said::No,
        None if agreed(&value) => Said::More(again),
        None => Said::No,
    }
}

impl Reached {
    /// The events that ask.
    fn ask(&self, nth: usize, prompt: &str) -> Vec<Event<'static>> {
        let Of { scope, kind } = &self.of;
        let metadata = format!(
            "{{\"budget\":{{\"scope\":{},\"kind\":\"{kind}\",\"limit\":{},\"used\":{},\
             \"raise\":{}}},\"urgency\":\"high\"}}",
            quote(scope),
            number(self.limit),
            number(self.used),
            number(self.base)
        );
        vec![
            Event::new(Kind::InputRequired)
                .with_str("inputId", &format!("{BUDGET}{scope}/{kind}/{nth}"))
                .with("inputType", Raw::Ref("\"confirmation\""))
                .with("requireUser", Raw::Ref("true"))
                .with_str("prompt", prompt)
                .with("metadata", Raw::owned(metadata)),
            Event::new(Kind::TaskStatus)
                .with("status", Raw::Ref("\"waiting-input\""))
                .with_str("message", prompt),
        ]
    }

    fn state(&self) -> String {
        let (used, limit) = (number(self.used), number(self.limit));
        match self.of.kind.as_str() {
            "tokens" => format!("{} has used {used} of {limit} tokens", self.who),
            "cost" => format!("{} has spent {used} of {limit}", self.who),
            _ => format!("{} has been at work for {used} of {limit} seconds", self.who),
        }
    }

    fn prompt(&self) -> String {
        let more = number(self.base);
        let unit = match self.of.kind.as_str() {
            "tokens" => " tokens",
            "cost" => "",
            _ => " seconds",
        };
        format!(
            "{}. Go on with {more}{unit} more? A number allows that many instead.",
            self.state()
        )
    }
}

/// A number as people write it: no more digits than there are.
fn number(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    serde_json::Number::from_f64(rounded).map_or("0".to_owned(), |number| {
        let text = number.to_string();
        text.strip_suffix(".0").unwrap_or(&text).to_owned()
    })
}
