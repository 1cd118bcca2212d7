//! `/process`: one turn, as one response.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt as _, stream};
use http::{HeaderMap, header};
use selvedge_protocol::dialect::Id;
use selvedge_protocol::json::{Doc, quote};
use selvedge_store::{Appended, Create, InboxKind, Key};
use sha2::{Digest as _, Sha256};

use super::request::{Answer, Asked, Said, To, history, read};
use super::whole;
use crate::auth::Principal;
use crate::extract::Payload;
use crate::query::Query;
use crate::state::event_at;
use crate::surface::native::acts::inputs::{Reply, give};
use crate::surface::native::messages::{Saying, receivers, say};
use crate::surface::native::stream::start;
use crate::turn::{Turn, Until};
use crate::view::{Filter, Format, Kind};
use crate::{App, Error, ErrorCode};

/// `POST /process`
pub(super) async fn process(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let asked = read(&body)?;
    let streams = asked.streams;
    // The same request with the last id that was seen goes on after it.
    let from = start(&Query::new(None), &headers)?;
    let turn = begin(&app, &principal, asked).await?;
    if !streams {
        return Ok(waited(app, turn));
    }
    let kind = kind(&principal);
    let from = from.unwrap_or_else(|| turn.start());
    turn.shown(&app, kind, from).await
}

/// What a caller sees of a turn.
pub(super) fn kind(principal: &Principal) -> Kind {
    let sees = principal.sees.min(selvedge_protocol::journal::Visibility::Participants);
    Kind { format: Format::Dialect(Id::AgentApi), filter: Filter::all(sees) }
}

/// The response as a whole. The head of the answer does not wait for it: turns may be long.
fn waited(app: App, turn: Turn) -> Response {
    let whole = async move {
        let (thread, after, tasks) = (turn.thread.clone(), turn.after, turn.tasks.clone());
        let upto = turn.rested(app.clone()).await;
        let told = app.blocking(move |store| Ok(whole::told(store, &thread, &tasks, after..upto)?));
        told.await?
            .map(bytes::Bytes::from)
            .ok_or_else(|| Error::new(ErrorCode::Internal, "the turn ended without a response"))
    };
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, Body::from_stream(stream::once(whole.boxed()))).into_response()
}

/// Does what a request asks for; gives the turn that comes of it.
pub(super) async fn begin(app: &App, principal: &Principal, asked: Asked) -> Result<Turn, Error> {
    let Asked { session: id, model, answers, said, .. } = asked;
    let mut first: Option<Appended> = None;
    let mut tasks = Vec::new();
    let waiting = match answers.is_empty() {
        true => Vec::new(),
        false => waiting(app, principal, &id).await?,
    };
    let named = |answer: Answer| {
        let found = waiting.iter().find(|one| one.is_for(&answer.to));
        (found.map(|one| one.input.clone()), answer)
    };
    let mut answers: Vec<_> = answers.into_iter().map(named).collect();
    // What nothing waits for fails before anything is answered.
    answers.sort_by_key(|(input, _)| input.is_some());
    for (input, answer) in answers {
        let at = answer.at.clone();
        let given = answered(app, principal, &id, (input, answer)).await;
        let (appended, task) = given.map_err(|error| error.within(&at))?;
        tasks.extend(task.filter(|task| !tasks.contains(task)));
        first.get_or_insert(appended);
    }
    if let Some(said) = said {
        let (appended, new) = spoken(app, principal, (&id, model), said).await?;
        tasks.extend(new);
        first.get_or_insert(appended);
    }
    let first = first.ok_or_else(|| Error::new(ErrorCode::BadParameter, "nothing was said"))?;
    let after = first.first.saturating_sub(1);
    // Sent again, it may have been answered since: the turn is told to where it rests now.
    let until = if first.duplicate { Until::RestNow } else { Until::Rest };
    Ok(Turn { id, thread: first.thread, after, tasks, until })
}

/// Says something in a session, which is made if it is new.
async fn spoken(
    app: &App,
    principal: &Principal,
    (id, model): (&str, Option<String>),
    said: Said,
) -> Result<(Appended, Vec<String>), Error> {
    let wanted = principal.thread(id);
    let thread = app.find_thread(&wanted).await?;
    let is_new = thread.is_none();
    // A model that is an agent here is whom the request is for; else it is but a wish.
    let desk = app.desk();
    let named = model.filter(|name| desk.is_some_and(|desk| desk.member(name).is_some()));
    let mut to = receivers(app, thread, named.map(|name| vec![name])).await?;
    // A response is one agent's.
    let own = to.iter().position(|one| Some(one.as_str()) == app.agent()).unwrap_or(0);
    to.swap(0, own);
    to.truncate(1);
    let mut before = Vec::new();
    if is_new {
        before.push(format!("{{\"kind\":\"thread-created\",\"contextId\":{}}}", quote(id)));
    }
    let key = said.named.then(|| {
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        let name = digest(&said.id).iter().fold(String::new(), |out, b| out + &format!("{b:02x}"));
        Key { text: format!("agent-api:{name}"), digest: digest(&said.event).into() }
    });
    before.extend(history(&said.before, to.first().map_or("", String::as_str)));
    let saying = Saying {
        thread: id,
        create: Create::IfMissing,
        before,
        message: said.id,
        event: said.event,
        text: said.text,
        to,
        key,
    };
    let (appended, said) = say(app, principal, saying).await?;
    let tasks = said.tasks.into_iter().map(|(task, _)| task).chain(said.resumed).collect();
    Ok((appended, tasks))
}

/// A question that waits, and the call that it is about.
struct Waiting {
    input: String,
    call: Option<String>,
}

impl Waiting {
    fn is_for(&self, to: &To) -> bool {
        match to {
            To::Input(id) => self.input == *id,
            To::Call(id) => self.call.as_ref() == Some(id),
        }
    }
}

/// What waits for answers in a session.
async fn waiting(app: &App, principal: &Principal, id: &str) -> Result<Vec<Waiting>, Error> {
    let thread = app.fresh(&principal.thread(id)).await?;
    app.blocking(move |store| {
        let mut all = Vec::new();
        for item in store.pending(&thread)? {
            let asked = event_at(store, &thread, item.seq)?;
            let call = asked.and_then(|asked| asked.str("toolCallId").map(|id| id.into_owned()));
            if item.kind == InboxKind::Input {
                all.push(Waiting { input: item.id, call });
            }
        }
        Ok(all)
    })
    .await
}

/// Answers what a response asked.
async fn answered(
    app: &App,
    principal: &Principal,
    thread: &str,
    (input, answer): (Option<String>, Answer),
) -> Result<(Appended, Option<String>), Error> {
    let input = match (input, answer.to) {
        (Some(input), _) | (None, To::Input(input)) => input,
        (None, To::Call(call)) => {
            let message = format!("no call `{call}` waits for its output");
            return Err(Error::new(ErrorCode::NotFound, message));
        }
    };
    let doc = Doc::parse(&answer.body)
        .map_err(|error| Error::new(ErrorCode::BadJson, error.to_string()))?;
    let reply = Reply { thread, id: &input, root: doc.root(), key: None };
    give(app, principal, reply).await.map_err(|error| Error { pointer: None, ..error })
}
