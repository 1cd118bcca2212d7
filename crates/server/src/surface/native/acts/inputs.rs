//! Questions: listed, answered once. Requests for credentials are listed with them.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use selvedge_agents::fits;
use selvedge_protocol::journal::{Event, Kind, Visibility};
use selvedge_protocol::json::{Node, Raw, quote};
use selvedge_protocol::time;
use selvedge_store::{Append, Appended, Guard, InboxItem, InboxKind, Key};

use crate::auth::{Principal, Scope};
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Ids, Payload};
use crate::query::Query;
use crate::state::event_at;
use crate::surface::native::events::{key_of, told};
use crate::surface::native::stream::filter;
use crate::surface::native::threads::{body_object, text_member};
use crate::{App, Error, ErrorCode};

/// Questions of a page, unless asked otherwise, and at most.
const PAGE: usize = 100;
const PAGE_MAX: usize = 500;

/// `GET /api/threads/{id}/inputs`
pub(crate) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let sees = filter(&query, &principal)?.sees;
    let after: u64 = query.parsed("after", "a sequence number")?.unwrap_or(0);
    let limit = query.limit(PAGE, PAGE_MAX)?;
    let thread = app.fresh(&principal.thread(&id)).await?;
    let body = app
        .blocking(move |store| {
            let waiting = store.pending(&thread)?;
            let mut waiting = waiting.into_iter().filter(|item| item.seq > after);
            let mut items = String::new();
            let mut last = None;
            for item in waiting.by_ref().take(limit) {
                last = Some(item.seq);
                let Some(asked) = event_at(store, &thread, item.seq)? else { continue };
                if Visibility::of_event(&asked) <= sees {
                    let comma = if items.is_empty() { "" } else { "," };
                    items.push_str(&format!("{comma}{}", shown(&item, &asked)));
                }
            }
            let next = last.filter(|_| waiting.next().is_some());
            let next = next.map_or("null".to_owned(), |next| next.to_string());
            Ok(format!("{{\"items\":[{items}],\"next\":{next}}}"))
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// What waits, with the event that asked as it was received.
fn shown(item: &InboxItem, asked: &Event<'_>) -> String {
    let time = |at: Option<i64>| {
        at.and_then(time::from_millis).map_or("null".to_owned(), |time| quote(&time))
    };
    let mut event = String::new();
    asked.write(&mut event);
    format!(
        "{{\"kind\":\"{}\",\"id\":{},\"taskId\":{},\"seq\":{},\"at\":{},\"requireUser\":{},\
         \"urgency\":\"{}\",\"expiresAt\":{},\"question\":{event}}}",
        item.kind.name(),
        quote(&item.id),
        item.task.as_deref().map_or("null".to_owned(), quote),
        item.seq,
        time(Some(item.at)),
        item.require_user,
        item.urgency.name(),
        time(item.expires),
    )
}

/// A question that the caller may see, answered or not.
pub(super) async fn question(
    app: &App,
    principal: &Principal,
    (thread, kind, id): (&str, InboxKind, &str),
) -> Result<(InboxItem, Event<'static>), Error> {
    let there = app.fresh(&principal.thread(thread)).await?;
    let (own, sees) = (id.to_owned(), principal.sees);
    let found = app.blocking(move |store| {
        let Some(item) = store.question(&there, kind, &own)? else { return Ok(None) };
        let asked = event_at(store, &there, item.seq)?;
        Ok(asked.filter(|asked| Visibility::of_event(asked) <= sees).map(|asked| (item, asked)))
    });
    found.await?.ok_or_else(|| {
        let message = format!("{} `{id}` not found in thread `{thread}`", kind.name());
        Error::new(ErrorCode::NotFound, message)
    })
}

/// `POST /api/threads/{id}/inputs/{inputId}`
pub(crate) async fn answer(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(thread, id): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let key = key_of(&headers, &[b"answer", id.as_bytes(), &body])?;
    let answer = Reply { thread: &thread, id: &id, root: doc.root(), key };
    let (appended, _) = give(&app, &principal, answer).await?;
    Ok(told(&appended, ""))
}

/// What someone says to a question or a request for credentials.
pub(crate) struct Reply<'a> {
    pub(crate) thread: &'a str,
    /// `inputId` or `authId`.
    pub(crate) id: &'a str,
    pub(crate) root: Node<'a, 'a>,
    pub(crate) key: Option<Key>,
}

/// Answers a question (`value`, and perhaps `userId` and `reason`); says where, and which task had
/// asked.
pub(crate) async fn give(
    app: &App,
    principal: &Principal,
    answer: Reply<'_>,
) -> Result<(Appended, Option<String>), Error> {
    let Reply { thread, id: input, root, key } = answer;
    let reason = text_member(root, "reason")?;
    let user = user(root, principal)?;
    let Some(value) = root.get("value") else {
        let message = "`value` is missing: what is the answer?";
        return Err(Error::new(ErrorCode::BadParameter, message).at("/value"));
    };
    let (item, asked) = question(app, principal, (thread, InboxKind::Input, input)).await?;
    if item.require_user && principal.is_agent() {
        return Err(Error::new(ErrorCode::UserRequired, "only a user may answer this"));
    }
    fits::question(&asked, value).map_err(|misfit| {
        Error::new(ErrorCode::BadParameter, misfit.message).at(format!("/value{}", misfit.pointer))
    })?;
    let mut event = received(principal, (&item, &asked), user, Raw::owned(value.raw()));
    if let Some(reason) = reason {
        event.set("metadata", Raw::owned(format!("{{\"reason\":{}}}", quote(&reason))));
    }
    let task = item.task.clone();
    Ok((close(app, principal, (thread, item), event, key).await?, task))
}

/// The event that answers a question.
pub(crate) fn received(
    principal: &Principal,
    (item, asked): (&InboxItem, &Event<'_>),
    user: Option<String>,
    value: Raw<'static>,
) -> Event<'static> {
    let by = if principal.is_agent() { ("agent", "agentId") } else { ("user", "userId") };
    closing(Kind::InputReceived, item, asked)
        .with_str("providedBy", by.0)
        .with_some(by.1, user.map(|user| Raw::string(&user)))
        .with("value", value)
}

/// Who answers: whom the token was made for, or whom the body names.
pub(super) fn user(body: Node<'_, '_>, principal: &Principal) -> Result<Option<String>, Error> {
    let named = text_member(body, "userId")?;
    match (&principal.subject, named) {
        (Some(own), Some(named)) if **own != *named && !principal.may(Scope::Operator) => {
            let message = "`userId` is not whom the token was made for";
            Err(Error::new(ErrorCode::Forbidden, message).at("/userId"))
        }
        (_, Some(named)) => Ok(Some(named)),
        (own, None) => Ok(own.as_ref().map(ToString::to_string)),
    }
}

/// An event that closes a question; whoever sees the one sees the other.
pub(crate) fn closing(kind: Kind, item: &InboxItem, asked: &Event<'_>) -> Event<'static> {
    let name = match item.kind {
        InboxKind::Input => "inputId",
        InboxKind::Auth => "authId",
    };
    Event::new(kind)
        .with_str(name, &item.id)
        .with_some("taskId", item.task.as_deref().map(Raw::string))
        .with_some("visibility", asked.get("visibility").map(Raw::to_owned))
}

pub(super) async fn close(
    app: &App,
    principal: &Principal,
    (thread, item): (&str, InboxItem),
    event: Event<'static>,
    key: Option<Key>,
) -> Result<Appended, Error> {
    let drafts = Stamp::new(thread, now()).own(&[event])?;
    let mut append = Append::new(principal.thread(thread), drafts);
    append.key = key;
    append.guard = Some(Guard::Open { kind: item.kind, id: item.id });
    app.append_to(thread, append).await
}
