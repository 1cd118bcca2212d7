//! Share links: one thread up to one point, for whoever has the link, without what is nobody
//! else's business (see [`crate::redact`]).

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use selvedge_protocol::journal::Visibility;
use selvedge_protocol::json::Node;
use selvedge_protocol::time;
use selvedge_store::{NewShare, Share, ThreadRef};
use serde_json::{Value, json};

use super::branch::place;
use super::events::{now, page};
use super::stream::{follow, format, start};
use super::threads::{body_object, shown, text_member};
use super::transfer::exported;
use crate::auth::Principal;
use crate::extract::{Id, Payload};
use crate::query::Query;
use crate::redact::{Cut, Show};
use crate::state::{Origin, ends_at};
use crate::view::{Filter, Kind, Start};
use crate::{App, Error, ErrorCode};

/// Bytes of a share's title.
const TITLE: usize = 256;

/// `POST /api/threads/{id}/shares`
pub(crate) async fn create(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    let title = text_member(root, "title")?;
    if title.as_ref().is_some_and(|title| title.len() > TITLE) {
        let message = format!("`title` must have at most {TITLE} bytes");
        return Err(Error::new(ErrorCode::BadParameter, message).at("/title"));
    }
    let (shows, expires) = (shows(root)?, expires(root)?);
    let thread = app.thread(&principal.thread(&id)).await?;
    let of = thread.clone();
    let head = app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let upto = match root.some("at") {
        Some(at) => place(at, &thread)?,
        None => head,
    };
    if upto > head {
        let message = format!("`at` is {upto}, but the thread's head is {head}");
        return Err(Error::new(ErrorCode::BadParameter, message).at("/at"));
    }
    let of = thread.clone();
    app.blocking(move |store| ends_at(store, &of, upto)).await.map_err(|error| error.at("/at"))?;
    let tenant = principal.tenant.to_string();
    let made = NewShare { tenant, thread: thread.num, upto, title, shows, expires };
    let own = app.clone();
    let added = app.blocking(move |_| Ok(own.gate().shares().add(made, now())?)).await?;
    let Some((share, token)) = added else {
        return Err(Error::new(ErrorCode::Conflict, "the thread has too many shares; revoke some"));
    };
    let mut answer = told(&share);
    answer["link"] = format!("/api/shares/{token}").into();
    answer["token"] = token.into();
    Ok((StatusCode::CREATED, json_of(&answer)).into_response())
}

/// `GET /api/threads/{id}/shares`
pub(crate) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let own = app.clone();
    let shares = app.blocking(move |_| Ok(own.gate().shares().list(thread.num)?)).await?;
    let shares: Vec<Value> = shares.iter().map(told).collect();
    Ok(json_of(&json!({ "shares": shares })).into_response())
}

/// `DELETE /api/threads/{id}/shares/{share}`
pub(crate) async fn revoke(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Path((id, share)): Path<(String, String)>,
) -> Result<StatusCode, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let own = app.clone();
    let revoked =
        app.blocking(move |_| Ok(own.gate().shares().revoke(thread.num, &share, now())?)).await?;
    let Some(revoked) = revoked else {
        return Err(Error::new(ErrorCode::NotFound, "the thread has no such share"));
    };
    app.gate().revoked(revoked.hash);
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /api/shares/{token}`
pub(crate) async fn show(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Error> {
    let (share, thread, filter) = shared(&app, &principal).await?;
    shown(&app, &share.id, thread, filter, None, Origin::Told).await
}

/// `GET /api/shares/{token}/events`
pub(crate) async fn events(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let (_, thread, filter) = shared(&app, &principal).await?;
    page(&app, &Query::new(query.as_deref()), thread, filter).await
}

/// `GET /api/shares/{token}/stream`
pub(crate) async fn stream(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(token): Id,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let (format, start) = (format(&query)?, start(&query, &headers)?.unwrap_or(Start::Earliest));
    let (_, thread, filter) = shared(&app, &principal).await?;
    let kind = Kind { format, filter };
    follow(&app, (format!("/api/shares/{token}"), None), thread, kind, start).await
}

/// `GET /api/shares/{token}/export`
pub(crate) async fn export(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let (share, thread, filter) = shared(&app, &principal).await?;
    let id = share.id.clone();
    // From nobody's side: agents' ids are not known to strangers.
    let agent = None;
    exported(&app, &Query::new(query.as_deref()), id, thread, filter, agent).await
}

/// What a caller who came by a share may read. Filters are not theirs to choose: asking for the
/// events of someone would tell whether they take part.
async fn shared(
    app: &App,
    principal: &Principal,
) -> Result<(Arc<Share>, ThreadRef, Filter), Error> {
    let none = || Error::new(ErrorCode::NotFound, "there is no such share");
    let share = principal.share.clone().ok_or_else(none)?;
    let num = share.made.thread;
    let thread = app.blocking(move |store| Ok(store.numbered(num)?)).await?.ok_or_else(none)?;
    let mut filter = Filter::all(principal.sees.min(Visibility::Participants));
    filter.cut = Some(Arc::new(Cut {
        id: share.id.clone(),
        salt: share.salt,
        shows: share.made.shows.iter().filter_map(|name| Show::named(name)).collect(),
        upto: share.made.upto,
    }));
    Ok((share, thread, filter))
}

/// A share without its token.
fn told(share: &Share) -> Value {
    let at = |millis: Option<i64>| millis.and_then(time::from_millis);
    json!({
        "id": share.id,
        "at": share.made.upto,
        "title": share.made.title,
        "show": share.made.shows,
        "createdAt": at(Some(share.created)),
        "expiresAt": at(share.made.expires),
        "revokedAt": at(share.revoked),
    })
}

fn json_of(value: &Value) -> impl IntoResponse + use<> {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string())
}

fn shows(root: Node<'_, '_>) -> Result<Vec<String>, Error> {
    let names = || Show::ALL.map(Show::name).join(", ");
    let wrong = |pointer: String| {
        let message = format!("`show` is a list of {}", names());
        Error::new(ErrorCode::BadParameter, message).at(pointer)
    };
    let Some(list) = root.some("show") else { return Ok(Vec::new()) };
    if !list.is_array() {
        return Err(wrong("/show".to_owned()));
    }
    let mut shows = Vec::new();
    for (at, name) in list.children().enumerate() {
        let known = name.str().and_then(|name| Show::named(&name));
        let known = known.ok_or_else(|| wrong(format!("/show/{at}")))?.name().to_owned();
        if !shows.contains(&known) {
            shows.push(known);
        }
    }
    Ok(shows)
}

fn expires(root: Node<'_, '_>) -> Result<Option<i64>, Error> {
    let Some(text) = text_member(root, "expiresAt")? else { return Ok(None) };
    match time::to_millis(&text) {
        Some(at) if at > now() => Ok(Some(at)),
        _ => {
            let message = "`expiresAt` must be a time to come, such as 2030-01-31T12:00:00Z";
            Err(Error::new(ErrorCode::BadParameter, message).at("/expiresAt"))
        }
    }
}
