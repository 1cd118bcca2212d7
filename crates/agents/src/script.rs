//! A mind that says what is written down: for demonstrations, for tests, and to measure the loop.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, StreamExt as _};
use schemars::JsonSchema;
use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::journal::transcript::ActionKind;
use selvedge_protocol::perspective::Item;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::{Mind, Saying};
use crate::model::{Done, Failure, FailureKind, Finish, Price, Request, Said, Terms, Thought};

/// Whose thoughts a script's are.
const PROVIDER: &str = "script";

/// What is said, call by call.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// How the mind is called where others name their model.
    pub name: String,
    /// What to say to what; the first that fits.
    pub rules: Vec<Rule>,
    /// How long a word takes.
    pub pace: Duration,
    /// What a million words are said to cost.
    pub price: Option<Price>,
}

/// What to say to something.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// Fits if what the user said last has this in it, upper or lower case; empty fits always.
    pub when: String,
    /// Fits if the id of what the user said last, an answer included, begins with this.
    pub when_id: String,
    /// What to say at each model call of the turn; the last again if there are more.
    pub lines: Vec<Line>,
}

/// What is said at one model call. `{input}` is what the user said last.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// A thought.
    pub think: String,
    /// Whole thoughts that are shared, of every sort.
    pub thoughts: Vec<Thought>,
    /// The answer.
    pub say: String,
    /// Tools to call.
    pub calls: Vec<(String, Value)>,
    /// Fails instead, after what was said.
    pub fail: Option<FailureKind>,
    /// What the answer advances, where it is not what was asked for.
    pub intent: Option<String>,
    /// How sure it is.
    pub confidence: Option<Confidence>,
    /// What may be done next.
    pub next: Vec<Proposal>,
    /// What the answer is.
    pub reply: Reply,
    /// How long it takes before anything is said.
    pub pause: Duration,
}

/// What an answer is, where a protocol tells the two apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The result of a task.
    #[default]
    Task,
    /// A mere message.
    Message,
}

/// How sure an answer is, from 0 to 1, and why.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Confidence {
    /// How sure.
    pub score: f64,
    /// Why.
    pub rationale: String,
}

/// What may be done next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proposal {
    /// What it advances.
    pub intent: String,
    /// What is to be done.
    pub task: String,
    /// With what.
    pub args: Option<Value>,
}

impl Line {
    /// What is said beside the answer, if anything is.
    fn aside(&self) -> Option<String> {
        let plain = self.intent.is_none() && self.confidence.is_none() && self.next.is_empty();
        if plain && self.reply == Reply::Task {
            return None;
        }
        let mut aside = json!({});
        if let Some(intent) = &self.intent {
            aside["intent"] = json!(intent);
        }
        if let Some(confidence) = &self.confidence {
            aside["confidence"] = json!({ "score": confidence.score });
            if !confidence.rationale.is_empty() {
                aside["confidence"]["rationale"] = json!(confidence.rationale);
            }
        }
        if self.reply == Reply::Message {
            aside["reply"] = json!("message");
        }
        let next = self.next.iter().map(|next| {
            let mut own = json!({ "intent": next.intent, "task": next.task });
            if let Some(args) = &next.args {
                own["args"] = args.clone();
            }
            own
        });
        let next: Vec<Value> = next.collect();
        if !next.is_empty() {
            aside["outputs"] = json!({ "next_actions": next });
        }
        Some(aside.to_string())
    }
}

impl Script {
    /// A script that always says the same.
    pub fn saying(text: &str) -> Self {
        let line = Line { say: text.to_owned(), ..Line::default() };
        Self::of(vec![line])
    }

    /// A script of one rule.
    pub fn of(lines: Vec<Line>) -> Self {
        let rules = vec![Rule { lines, ..Rule::default() }];
        Self { name: "script".to_owned(), rules, ..Self::default() }
    }

    /// What is said to something at this call of a model.
    fn line(&self, request: &Request<'_>, input: &str) -> Option<&Line> {
        let (low, id) = (input.to_lowercase(), last_id(request));
        let fits =
            |rule: &&Rule| low.contains(&rule.when.to_lowercase()) && id.starts_with(&rule.when_id);
        let rule = self.rules.iter().find(fits)?;
        let at = (request.iteration as usize).saturating_sub(1);
        rule.lines.get(at).or_else(|| rule.lines.last())
    }

    fn pieces(&self, request: &Request<'_>) -> VecDeque<Result<Said, Failure>> {
        let input = last_input(request);
        let Some(line) = self.line(request, &input) else {
            return VecDeque::from([Ok(done(Finish::Stop, 0))]);
        };
        let fill = |text: &str| text.replace("{input}", &input);
        let mut out = VecDeque::new();
        for word in words(&fill(&line.think)) {
            out.push_back(Ok(Said::Thought(word)));
        }
        if !line.think.is_empty() {
            out.push_back(Ok(Said::ThoughtEnd { signature: None, provider: PROVIDER }));
        }
        for thought in &line.thoughts {
            let thought = Thought { text: fill(&thought.text), ..thought.clone() };
            out.push_back(Ok(Said::Shared(Box::new(thought))));
        }
        for word in words(&fill(&line.say)) {
            out.push_back(Ok(Said::Text(word)));
        }
        let count = out.len() as u64;
        if let Some(kind) = line.fail {
            let message = format!("the script fails: {}", kind.code());
            out.push_back(Err(Failure { kind, message, retry_after: None }));
            return out;
        }
        for (i, (name, arguments)) in line.calls.iter().enumerate() {
            let id = unused(request, format!("call-{}-{}", request.iteration, i + 1));
            let arguments = fill_value(arguments, &input).to_string();
            out.push_back(Ok(Said::Call { id, name: name.clone(), arguments }));
        }
        out.extend(line.aside().map(|aside| Ok(Said::Aside(aside))));
        let finish = if line.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        out.push_back(Ok(done(finish, count)));
        out
    }
}

impl Mind for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> &str {
        PROVIDER
    }

    fn terms(&self) -> Terms {
        Terms { price: self.price, ..Terms::default() }
    }

    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>> {
        let pieces = self.pieces(request);
        let pace = self.pace;
        let pause = self.line(request, &last_input(request)).map_or(Duration::ZERO, |l| l.pause);
        let saying = stream::unfold(pieces, move |mut pieces| async move {
            let next = pieces.pop_front()?;
            if !pace.is_zero() {
                tokio::time::sleep(pace).await;
            }
            Some((next, pieces))
        });
        async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            Ok(saying.boxed())
        }
        .boxed()
    }
}

/// What the turn answers: what the user, or whoever called, said when it began. What others say
/// meanwhile changes no rule.
fn last_input(request: &Request<'_>) -> String {
    let actions = request.history.transcript.actions();
    let own = actions.get(request.heard);
    if let Some(own) = own.filter(|action| action.kind == ActionKind::UserMessage) {
        return own.text();
    }
    let heard = request.history.items.iter().rev().filter_map(|item| match item {
        Item::Action { index, .. } => actions.get(*index),
        _ => None,
    });
    let mut said = heard.filter(|action| action.kind == ActionKind::UserMessage);
    said.next().map(|action| action.text()).unwrap_or_default()
}

/// The id of what the user said last, whether it is heard as a message or as an answer.
fn last_id(request: &Request<'_>) -> String {
    let actions = request.history.transcript.actions().iter().rev();
    let mut said = actions.filter(|action| action.kind == ActionKind::UserMessage);
    let id = said.next().and_then(|action| action.get("messageId"));
    id.and_then(|id| id.str()).map(|id| id.into_owned()).unwrap_or_default()
}

/// An id that no call of the thread has, as models give them.
fn unused(request: &Request<'_>, id: String) -> String {
    let actions = request.history.transcript.actions();
    let used = |id: &str| {
        let calls = actions.iter().filter(|action| action.kind == ActionKind::ToolCall);
        calls.filter_map(|call| call.get("toolCallId")).any(|own| own.is(id))
    };
    if !used(&id) {
        return id;
    }
    let more = (2..).map(|n| format!("{id}-{n}"));
    more.take(10_000).find(|id| !used(id)).unwrap_or(id)
}

fn done(finish: Finish, words: u64) -> Said {
    let tokens = Tokens { input: 1, output: words, calls: 1, ..Tokens::default() };
    Said::Done(Done { finish, usage: Some(tokens), model: None })
}

/// Words with the space behind them.
fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

/// The same value with what the user said in its texts.
fn fill_value(value: &Value, input: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("{input}", input)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, input)).collect(),
        Value::Object(members) => {
            members.iter().map(|(k, v)| (k.clone(), fill_value(v, input))).collect()
        }
        other => other.clone(),
    }
}
