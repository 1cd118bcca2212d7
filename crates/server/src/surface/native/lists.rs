//! Lists over all threads of a tenant: threads, what waits for someone, what was said.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::json::Doc;
use selvedge_protocol::time;
use selvedge_store::{
    Found, Glance, InboxItem, InboxKind, InboxOrder, InboxQuery, Listed, Piece, Place, Scalar,
    Summary, ThreadQuery, ThreadStatus,
};
use serde_json::{Value, json};

use super::stream::filter;
use crate::auth::Principal;
use crate::query::Query;
use crate::{App, Error, ErrorCode};

/// Items of a page, unless asked otherwise, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 500;

/// `GET /api/threads`
pub(crate) async fn threads(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let (limit, after) = page(&query)?;
    let mut asked = ThreadQuery::new(principal.tenant.clone(), limit);
    asked.after = after;
    asked.participant = query.get("participant").map(str::to_owned);
    if let Some(name) = query.get("status") {
        let known = ThreadStatus::named(name);
        asked.status = Some(known.ok_or_else(|| {
            let message = "`status` must be waiting, working, failed or idle";
            Error::new(ErrorCode::BadParameter, message)
        })?);
    }
    asked.metadata =
        query.prefixed("metadata.").map(|(key, value)| (key, scalar(&value))).collect();
    let listed = app.blocking(move |store| {
        let Listed { items, next } = store.threads(&asked)?;
        let numbers: Vec<i64> = items.iter().map(|summary| summary.num).collect();
        let glances = store.glances(&numbers)?;
        Ok(Listed { items: items.into_iter().zip(glances).collect(), next })
    });
    Ok(answer("threads", listed.await?, |(summary, glance)| thread(&summary, &glance)))
}

/// `GET /api/inbox`
pub(crate) async fn inbox(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let (limit, after) = page(&query)?;
    let kind = match query.get("kind") {
        None => None,
        Some("input") => Some(InboxKind::Input),
        Some("auth") => Some(InboxKind::Auth),
        Some(_) => {
            let message = "`kind` must be input or auth";
            return Err(Error::new(ErrorCode::BadParameter, message));
        }
    };
    let user_only = matches!(query.get("requireUser"), Some("true" | "1"));
    let sees = filter(&query, &principal)?.sees;
    let order = match query.get("order") {
        None | Some("oldest") => InboxOrder::Oldest,
        Some("urgency") => InboxOrder::Urgent,
        Some(_) => {
            let message = "`order` must be oldest or urgency";
            return Err(Error::new(ErrorCode::BadParameter, message));
        }
    };
    let asked = InboxQuery { kind, user_only, sees, order, after, limit };
    let tenant = principal.tenant.clone();
    let listed = app.blocking(move |store| Ok(store.inbox(&tenant, &asked)?)).await?;
    Ok(answer("items", listed, |item| waiting(&item)))
}

/// `GET /api/search?q=`
pub(crate) async fn search(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let (limit, after) = page(&query)?;
    let Some(words) = query.get("q").map(str::to_owned) else {
        let message = "say what to look for with `?q=`";
        return Err(Error::new(ErrorCode::BadParameter, message));
    };
    let tenant = principal.tenant.clone();
    let run = move |store: &selvedge_store::Store| {
        Ok(store.search(&tenant, &words, limit, after.as_ref())?)
    };
    let mut listed = app.blocking(run).await?;
    listed.items.retain(|found| found.visibility <= principal.sees);
    Ok(answer("results", listed, |found| result(&found)))
}

/// How many, and from where on.
pub(super) fn page(query: &Query<'_>) -> Result<(usize, Option<Place>), Error> {
    let limit = query.limit(PAGE, PAGE_MAX)?;
    Ok((limit, query.get("after").map(Place::new)))
}

fn answer<T>(name: &str, listed: Listed<T>, each: impl Fn(T) -> Value) -> Response {
    let items: Vec<Value> = listed.items.into_iter().map(each).collect();
    let next = listed.next.map(|next| next.to_string());
    let body = json!({ name: items, "next": next }).to_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A value of metadata as a query spells it: JSON if it is a number or a boolean, else text.
fn scalar(text: &str) -> Scalar {
    match Doc::parse(text) {
        Ok(doc) if doc.root().bool().is_some() => Scalar::Bool(text == "true"),
        Ok(doc) => match (doc.root().f64(), doc.root().str()) {
            (Some(number), _) => Scalar::Number(number),
            (None, Some(inner)) => Scalar::Text(inner.into_owned()),
            (None, None) => Scalar::Text(text.to_owned()),
        },
        Err(_) => Scalar::Text(text.to_owned()),
    }
}

/// A thread's line.
pub(super) fn thread(of: &Summary, glance: &Glance) -> Value {
    let Tokens { input, output, cost, .. } = glance.tokens;
    let agents = glance.agents.iter().map(|agent| json!({ "id": agent.id, "name": agent.name }));
    let metadata = of.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
    json!({
        "id": of.id,
        "cursor": format!("{}.{}", of.epoch, of.head),
        "head": of.head,
        "createdAt": time::from_millis(of.created),
        "updatedAt": time::from_millis(of.updated),
        "status": of.status.name(),
        "title": of.title,
        "metadata": metadata.unwrap_or(Value::Null),
        "lastWords": of.words,
        "messages": of.messages,
        "tasks": of.tasks,
        "participants": of.participants,
        "artifacts": of.artifacts,
        "pending": of.pending,
        "agents": agents.collect::<Vec<_>>(),
        "tokens": input.saturating_add(output),
        "cost": cost,
    })
}

fn waiting(of: &InboxItem) -> Value {
    json!({
        "thread": of.thread,
        "kind": of.kind.name(),
        "id": of.id,
        "taskId": of.task,
        "seq": of.seq,
        "at": time::from_millis(of.at),
        "type": of.ty,
        "prompt": of.prompt,
        "requireUser": of.require_user,
        "urgency": of.urgency.name(),
        "expiresAt": of.expires.and_then(time::from_millis),
    })
}

fn result(of: &Found) -> Value {
    let pieces = of.snippet.iter().map(|piece| match piece {
        Piece::Around(text) => json!({ "text": text }),
        Piece::Hit(text) => json!({ "hit": text }),
    });
    json!({
        "thread": of.thread,
        "title": of.title,
        "seq": of.seq,
        "at": time::from_millis(of.at),
        "snippet": pieces.collect::<Vec<_>>(),
    })
}
