//! Runs: begun with messages, gone on with answers, or joined.
//!
//! Invariant: what a client gets is one run, begun first and ended last, with its own id, however
//! often the task behind it has waited.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
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
use crate::surface::asked::{began, root_of, unfinished};
use crate::surface::native::messages::{Saying, opening, plain, receivers, say};
use crate::surface::native::stream::{event_stream, filter};
use crate::surface::native::threads::body_object;
use crate::turn::{Ending, Frame, Turn, Until, Writing};
use crate::view::{Format, Kind, Place, Start};
use crate::{App, Error, ErrorCode};

/// New messages that one run may bring.
const MESSAGES: usize = 64;

/// A stretch of a task that a client follows.
struct Followed {
    thread: ThreadRef,
    task: String,
    began: u64,
    /// The last entry that the client has.
    after: u64,
    /// What was said before, for who does not have it.
    prelude: Option<String>,
    /// Calls whose results the client brought.
    known: Vec<String>,
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
    let task = answers.first().and_then(|answer| answer.item.task.clone()).unwrap_or_default();
    let task = root_of(app, &thread, task).await?;
    let began = began(app, &thread, &task).await?.unwrap_or(after);
    let known = answers.iter().filter_map(|answer| answer.call.clone()).collect();
    Ok(Followed { thread, task, began, after, prelude: None, known })
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
    let (task, began, after) = match (said.tasks.first(), said.resumed.first()) {
        (Some((task, _)), _) => {
            // The tasks come last.
            let after = appended.last.saturating_sub(said.tasks.len() as u64);
            (task.clone(), after + 1, after)
        }
        (None, Some(task)) => {
            let after = appended.first.saturating_sub(1);
            let began = began(app, &thread, task).await?.unwrap_or(appended.first);
            (task.clone(), began, after)
        }
        (None, None) => return Err(Error::new(ErrorCode::Internal, "nobody answers the message")),
    };
    let known = Vec::new();
    Ok(Some(Followed { thread, task, began, after, prelude: None, known }))
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
    let turn = unfinished(app, &thread).await?.pop();
    let upto = turn.as_ref().map(|task| task.began.0.saturating_sub(1));
    let snapshot = messages(app, &thread, kind.clone(), upto).await?;
    let snapshot = json!({ "type": "MESSAGES_SNAPSHOT", "messages": snapshot }).to_string();
    if let Some(task) = turn {
        let (began, after) = (task.began.0, task.began.0.saturating_sub(1));
        let prelude = Some(snapshot);
        let followed = Followed { thread, task: task.id, began, after, prelude, known: Vec::new() };
        return follow(app, kind, input, followed).await;
    }
    let names = Names::of(input);
    let mut out = String::new();
    for data in [names.started(None), snapshot, names.finished()] {
        push(&data, &mut out);
    }
    Ok(event_stream(Body::from(out)))
}

/// A stretch of a task as a run.
async fn follow(
    app: &App,
    kind: Kind,
    input: &Input<'_>,
    followed: Followed,
) -> Result<Response, Error> {
    let Followed { thread, task, began, after, prelude, known } = followed;
    let place = Place { cursor: Cursor { epoch: thread.epoch, seq: after }, records: 0 };
    let turn = Turn {
        id: input.thread.clone(),
        thread,
        after: began.saturating_sub(1),
        tasks: vec![task],
        until: Until::RestNow,
    };
    let bracket = Bracket { names: Names::of(input), prelude, known, ..Bracket::default() };
    turn.told(app, kind, Start::After(place), bracket.writing(), Ending::Told).await
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
    ended: bool,
}

impl Bracket {
    fn writing(self) -> Writing {
        let shared = Arc::new(Mutex::new(self));
        let own = shared.clone();
        let frame = move |frame: &Frame<'_>, out: &mut String| {
            own.lock().unwrap_or_else(PoisonError::into_inner).frame(frame, out);
        };
        let end = move |out: &mut String| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).end(out);
        };
        Writing { frame: Box::new(frame), end: Box::new(end) }
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut String) {
        let data = frame.data;
        match kind_of(data) {
            "RUN_STARTED" if self.started => {}
            "RUN_STARTED" => {
                let event: Value = serde_json::from_str(data).unwrap_or_default();
                self.start(event.get("timestamp"), out);
            }
            // What the run before it left, which its reader had then.
            _ if !self.started || self.ended => {}
            // The task went on since; here it is one run.
            "RUN_FINISHED" if !frame.id.is_empty() && waits(data) => {}
            "RUN_FINISHED" => {
                self.ended = true;
                let mut event: Value = serde_json::from_str(data).unwrap_or_default();
                event["threadId"] = json!(self.names.thread);
                event["runId"] = json!(self.names.run);
                push(&event.to_string(), out);
            }
            "RUN_ERROR" => {
                self.ended = true;
                push(data, out);
            }
            "TOOL_CALL_RESULT" if self.is_known(data) => {}
            _ => push(data, out),
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

    fn end(&mut self, out: &mut String) {
        if !self.started {
            self.start(None, out);
        }
        if !self.ended {
            push(&self.names.finished(), out);
        }
    }
}

/// The type of an event, which comes first in it.
fn kind_of(event: &str) -> &str {
    let rest = event.strip_prefix("{\"type\":\"").unwrap_or("");
    rest.split('"').next().unwrap_or("")
}

/// Whether a run ended with something that is waited for.
fn waits(finished: &str) -> bool {
    let interrupted = "\"outcome\":{\"type\":\"interrupt\"";
    finished.contains(interrupted) || finished.contains("\"pendingToolCallIds\":[")
}

fn push(data: &str, out: &mut String) {
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
}
