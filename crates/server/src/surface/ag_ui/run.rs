//! Runs: begun with messages, gone on with answers, or joined.
//!
//! Invariant: what a client gets is one run, begun first and ended last, with its own id, however
//! often the task behind it has waited.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use selvedge_protocol::dialect::Id as DialectId;
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::{Raw, quote};
use selvedge_store::{Create, ThreadRef};
use serde_json::{Value, json};

use super::answers::{self, Answer, once};
use super::input::{Input, Message, Role, wrong};
use super::snapshot::messages;
use crate::auth::Principal;
use crate::extract::Payload;
use crate::query::Query;
use crate::surface::asked::{began, beside, root_of, unfinished};
use crate::surface::native::messages::{Saying, opening, plain, receivers, say};
use crate::surface::native::stream::{event_stream, filter};
use crate::surface::native::threads::body_object;
use crate::turn::{Ending, Frame, Turn, Until, Writing};
use crate::view::{Format, Kind, Place, Start};
use crate::{App, Error, ErrorCode};

/// New messages that one run may bring.
const MESSAGES: usize = 64;

/// What a client follows: a stretch of a task, or of each one that answers.
struct Followed {
    thread: ThreadRef,
    stretches: Vec<Stretch>,
    /// What was said before, for who does not have it.
    prelude: Option<String>,
    /// Calls whose results the client brought.
    known: Vec<String>,
}

/// A task, the entry that began it, and the last entry that the client has.
struct Stretch {
    task: String,
    began: u64,
    after: u64,
}

/// `POST /ag-ui`
pub(super) async fn run(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let doc = body_object(&body)?;
    let mut input = Input::read(doc.root())?;
    input.agent = input.agent.or(query.get("agent").map(str::to_owned));
    let format = Format::Dialect(DialectId::AgUi);
    let kind = Kind { format, filter: filter(&query, &principal)? };
    let answers = answers::brought(&app, &principal, &input).await?;
    if !answers.is_empty() {
        let followed = resumed(&app, &principal, &input, &answers).await?;
        return follow(&app, kind, &input, followed).await;
    }
    match said(&app, &principal, &input).await? {
        Some(followed) => follow(&app, kind, &input, followed).await,
        None => join(&app, &principal, kind, &input).await,
    }
}

/// Goes on with a task that waited.
async fn resumed(
    app: &App,
    principal: &Principal,
    input: &Input<'_>,
    answers: &[Answer],
) -> Result<Followed, Error> {
    let after = answers::given(app, principal, input, answers).await?;
    let thread = app.thread(&principal.thread(&input.thread)).await?;
    let mut stretches: Vec<Stretch> = Vec::new();
    for answer in answers {
        let task = answer.item.task.clone().unwrap_or_default();
        let task = root_of(app, &thread, task).await?;
        if stretches.iter().all(|own| own.task != task) {
            let began = began(app, &thread, &task).await?.unwrap_or(after);
            stretches.push(Stretch { task, began, after });
        }
    }
    let known = answers.iter().filter_map(|answer| answer.call.clone()).collect();
    Ok(Followed { thread, stretches, prelude: None, known })
}

/// Says what is new in the client's messages; none if nothing is.
async fn said(
    app: &App,
    principal: &Principal,
    input: &Input<'_>,
) -> Result<Option<Followed>, Error> {
    let users: Vec<&Message<'_>> =
        input.messages.iter().rev().take_while(|message| message.role == Role::User).collect();
    if users.is_empty() {
        return Ok(None);
    }
    let (thread, mut before) = opening(app, principal, &input.thread).await?;
    let named = input.agent.clone().map(|agent| vec![agent]);
    let to = receivers(app, thread.clone(), named).await.map_err(|error| match error.pointer {
        Some(_) => error.at("/forwardedProps/agent"),
        None => error,
    })?;
    let mut new = Vec::new();
    for message in users {
        if let Some(thread) = &thread
            && is_known(app, thread, &message.id, &to).await?
        {
            break;
        }
        new.push(message);
        if new.len() > MESSAGES {
            let message = format!("at most {MESSAGES} messages are taken with one run");
            return Err(wrong(&message, "/messages"));
        }
    }
    let Some((last, earlier)) = new.split_first() else { return Ok(None) };
    for message in earlier.iter().rev() {
        before.push(text_of(&message.event(None)?));
    }
    let event = last.event(input.tools)?;
    let text = event.get("content").and_then(Raw::doc).and_then(|doc| plain(doc.root()));
    let event = text_of(&event);
    let saying = Saying {
        thread: &input.thread,
        create: Create::IfMissing,
        before,
        message: last.id.clone(),
        text,
        to,
        key: Some(once(input, &last.id, &event)),
        event,
    };
    let (appended, said) = say(app, principal, saying).await?;
    let thread = appended.thread;
    // The tasks come last.
    let first = appended.last.saturating_sub(said.tasks.len() as u64) + 1;
    let new = said.tasks.into_iter().zip(first..);
    let mut stretches: Vec<Stretch> = new
        .map(|((task, _), began)| Stretch { task, began, after: began.saturating_sub(1) })
        .collect();
    for task in said.resumed {
        let after = appended.first.saturating_sub(1);
        let began = began(app, &thread, &task).await?.unwrap_or(appended.first);
        stretches.push(Stretch { task, began, after });
    }
    if stretches.is_empty() {
        return Err(Error::new(ErrorCode::Internal, "nobody answers the message"));
    }
    Ok(Some(Followed { thread, stretches, prelude: None, known: Vec::new() }))
}

/// Whether the journal has a message that one of some agents answers.
async fn is_known(
    app: &App,
    thread: &ThreadRef,
    message: &str,
    to: &[String],
) -> Result<bool, Error> {
    app.store().fresh(thread).await?;
    for agent in to {
        if began(app, thread, &format!("{message}/{agent}")).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn text_of(event: &selvedge_protocol::journal::Event<'_>) -> String {
    let mut out = String::new();
    event.write(&mut out);
    out
}

/// Joins what is there: what was said, and the turn that is not over, from its start.
async fn join(
    app: &App,
    principal: &Principal,
    kind: Kind,
    input: &Input<'_>,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&input.thread)).await?;
    let turn = match unfinished(app, &thread).await?.pop() {
        Some(task) => {
            let all = beside(app, &thread, task.began.0).await?;
            let is_there = all.iter().any(|(own, _)| *own == task.id);
            // It may have begun with its first word.
            if is_there { all } else { vec![(task.id, task.began.0)] }
        }
        None => Vec::new(),
    };
    let upto = turn.first().map(|(_, began)| began.saturating_sub(1));
    let snapshot = messages(app, &thread, kind.clone(), upto).await?;
    let snapshot = json!({ "type": "MESSAGES_SNAPSHOT", "messages": snapshot }).to_string();
    if !turn.is_empty() {
        let stretch =
            |(task, began): (String, u64)| Stretch { task, began, after: began.saturating_sub(1) };
        let stretches = turn.into_iter().map(stretch).collect();
        let followed = Followed { thread, stretches, prelude: Some(snapshot), known: Vec::new() };
        return follow(app, kind, input, followed).await;
    }
    let names = Names::of(input);
    let mut out = String::new();
    for data in [names.started(None), snapshot, names.finished()] {
        push(&data, &mut out);
    }
    Ok(event_stream(Body::from(out)))
}

/// Stretches of tasks as one run, one after the other: the journal has what the later ones said
/// meanwhile.
async fn follow(
    app: &App,
    kind: Kind,
    input: &Input<'_>,
    followed: Followed,
) -> Result<Response, Error> {
    let Followed { thread, stretches, prelude, known } = followed;
    let count = stretches.len();
    let bracket = Bracket { names: Names::of(input), prelude, known, ..Bracket::default() };
    let bracket = Arc::new(Mutex::new(bracket));
    let turn = |Stretch { task, began, after }: Stretch| {
        let place = Place { cursor: Cursor { epoch: thread.epoch, seq: after }, records: 0 };
        let turn = Turn {
            id: input.thread.clone(),
            thread: thread.clone(),
            after: began.saturating_sub(1),
            tasks: vec![task],
            until: Until::RestNow,
        };
        (turn, Start::After(place))
    };
    let mut turns = stretches.into_iter().map(turn);
    let Some((first, start)) = turns.next() else {
        return Err(Error::new(ErrorCode::Internal, "nobody answers the message"));
    };
    let response = first.told(app, kind.clone(), start, writing(&bracket), Ending::Told).await?;
    let (parts, body) = response.into_parts();
    let (app, own) = (app.clone(), bracket.clone());
    let later = stream::iter(turns.collect::<Vec<_>>().into_iter().zip(1..)).then(
        move |((turn, start), before): (_, usize)| {
            let (app, kind, bracket) = (app.clone(), kind.clone(), own.clone());
            async move {
                // One that was cut off is the last.
                if lock(&bracket).outcomes.len() < before {
                    return stream::empty().boxed();
                }
                match turn.told(&app, kind, start, writing(&bracket), Ending::Told).await {
                    Ok(response) => response.into_body().into_data_stream().boxed(),
                    Err(error) => stream::once(async { Err(axum::Error::new(error)) }).boxed(),
                }
            }
        },
    );
    let end = stream::once(async move {
        let mut out = String::new();
        let mut bracket = lock(&bracket);
        if bracket.outcomes.len() == count {
            bracket.end(&mut out);
        }
        Ok(Bytes::from(out))
    });
    let body = body.into_data_stream().chain(later.flatten()).chain(end);
    Ok(Response::from_parts(parts, Body::from_stream(body)))
}

fn lock(bracket: &Mutex<Bracket>) -> MutexGuard<'_, Bracket> {
    bracket.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How one stretch is written.
fn writing(bracket: &Arc<Mutex<Bracket>>) -> Writing {
    let (own, shared) = (bracket.clone(), bracket.clone());
    let frame = move |frame: &Frame<'_>, out: &mut String| lock(&own).frame(frame, out);
    let end = move |_: &mut String| lock(&shared).rest();
    Writing { frame: Box::new(frame), end: Box::new(end) }
}

/// What a client calls its run.
#[derive(Debug, Clone, Default)]
struct Names {
    thread: String,
    run: String,
    parent: Option<String>,
}

impl Names {
    fn of(input: &Input<'_>) -> Self {
        Self { thread: input.thread.clone(), run: input.run.clone(), parent: input.parent.clone() }
    }

    /// That it began; `at` is when, as the event says.
    fn started(&self, at: Option<&Value>) -> String {
        let mut event = json!({
            "type": "RUN_STARTED", "threadId": self.thread, "runId": self.run,
        });
        if let Some(parent) = &self.parent {
            event["parentRunId"] = json!(parent);
        }
        if let Some(at) = at {
            event["timestamp"] = at.clone();
        }
        event.to_string()
    }

    /// That it ended, and nothing more is to be told.
    fn finished(&self) -> String {
        json!({
            "type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run,
            "outcome": { "type": "success" },
        })
        .to_string()
    }
}

/// A run on its way to a client.
#[derive(Default)]
struct Bracket {
    names: Names,
    prelude: Option<String>,
    known: Vec<String>,
    started: bool,
    /// Whether the encoder is in a run: a task has several where it or a subagent waited.
    open: bool,
    /// Whether that has but begun.
    bare: bool,
    /// How the latest of those ended. Here they are one run.
    held: Option<Value>,
    /// How each stretch ended.
    outcomes: Vec<Option<Value>>,
}

impl Bracket {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let data = frame.data;
        match kind_of(data) {
            "RUN_STARTED" => {
                (self.open, self.bare) = (true, true);
                if !self.started {
                    let event: Value = serde_json::from_str(data).unwrap_or_default();
                    self.start(event.get("timestamp"), out);
                }
            }
            // What the run before it left, which its reader had then.
            _ if !self.open => {}
            "RUN_FINISHED" | "RUN_ERROR" => {
                self.open = false;
                // Where a turn rests, its encoder may open and close a run that nothing is in.
                let is_ending = self.bare && frame.id.is_empty() && self.held.is_some();
                if !is_ending {
                    self.held = serde_json::from_str(data).ok();
                }
            }
            kind => {
                (self.bare, self.held) = (false, None);
                if kind != "TOOL_CALL_RESULT" || !self.is_known(data) {
                    push(data, out);
                }
            }
        }
    }

    fn start(&mut self, at: Option<&Value>, out: &mut String) {
        self.started = true;
        push(&self.names.started(at), out);
        if let Some(prelude) = self.prelude.take() {
            push(&prelude, out);
        }
    }

    /// Whether the client has a result already, as a message of its own.
    fn is_known(&self, data: &str) -> bool {
        self.known.iter().any(|call| data.contains(&format!("\"toolCallId\":{}", quote(call))))
    }

    /// A stretch is over, or waits.
    fn rest(&mut self) {
        self.open = false;
        self.outcomes.push(self.held.take());
    }

    fn end(&mut self, out: &mut String) {
        if !self.started {
            self.start(None, out);
        }
        let told = outcome(std::mem::take(&mut self.outcomes));
        match told {
            Some(mut event) => {
                if event["type"] == "RUN_FINISHED" {
                    event["threadId"] = json!(self.names.thread);
                    event["runId"] = json!(self.names.run);
                }
                push(&event.to_string(), out);
            }
            None => push(&self.names.finished(), out),
        }
    }
}

/// How several stretches ended together: with a failure of one, else with all that is waited for.
fn outcome(all: Vec<Option<Value>>) -> Option<Value> {
    let mut all: Vec<Value> = all.into_iter().flatten().collect();
    if let Some(at) = all.iter().position(|event| event["type"] == "RUN_ERROR") {
        return Some(all.swap_remove(at));
    }
    let listed = |name: &str| -> Vec<Value> {
        let lists = all.iter().filter_map(|event| event["outcome"][name].as_array());
        lists.flatten().cloned().collect()
    };
    let (interrupts, pending) = (listed("interrupts"), listed("pendingToolCallIds"));
    let waits = |event: &Value| event["outcome"]["type"] == "interrupt";
    let mut own = all.iter().find(|event| waits(event)).or(all.last())?.clone();
    if !interrupts.is_empty() {
        own["outcome"]["interrupts"] = json!(interrupts);
    } else if !pending.is_empty() {
        own["outcome"]["pendingToolCallIds"] = json!(pending);
    }
    Some(own)
}

/// The type of an event, which comes first in it.
fn kind_of(event: &str) -> &str {
    let rest = event.strip_prefix("{\"type\":\"").unwrap_or("");
    rest.split('"').next().unwrap_or("")
}

fn push(data: &str, out: &mut String) {
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
}
