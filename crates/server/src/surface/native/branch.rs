//! Branches: a thread that goes another way from some point on, and what differs between two.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::{Node, quote};
use selvedge_store::{Append, Create, ThreadRef};

use super::events::{entries, key, made, now};
use super::stream::filter;
use super::threads::{body_object, new_id, text_member};
use crate::auth::Principal;
use crate::event::Stamp;
use crate::extract::{Id, Payload};
use crate::query::Query;
use crate::view::Sieve;
use crate::{App, Error, ErrorCode};

/// `POST /api/threads/{id}/fork`
pub(crate) async fn fork(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    let own = new_id(root)?;
    let title = text_member(root, "title")?;
    let from = app.thread(&principal.thread(&id)).await?;
    let of = from.clone();
    let head = app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let at = match root.some("at") {
        Some(at) => place(at, &from)?,
        None => head,
    };
    let mut event = format!(
        "{{\"kind\":\"thread-created\",\"parentThreadId\":{},\"forkedAt\":{at}",
        quote(&id)
    );
    if let Some(title) = title {
        event.push_str(&format!(",\"title\":{}", quote(&title)));
    }
    event.push('}');
    let drafts = Stamp::new(&own, now()).events(event.as_bytes())?;
    let create = Create::Branch { from, at };
    let mut append = Append::new(principal.thread(&own), drafts).creating(create);
    append.key = key(&headers, &body)?;
    let appended = app.append(append).await?;
    let cursor = Cursor { epoch: appended.thread.epoch, seq: appended.last };
    let body = format!(
        "{{\"id\":{},\"parent\":{},\"at\":{at},\"cursor\":\"{cursor}\",\"head\":{},\"duplicate\":{}}}",
        quote(&own),
        quote(&id),
        appended.last,
        appended.duplicate
    );
    Ok(made(&own, &appended, body))
}

/// `GET /api/threads/{id}/diff?with=`
pub(crate) async fn diff(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let Some(with) = query.get("with") else {
        let message = "name the other thread with `?with=`";
        return Err(Error::new(ErrorCode::BadParameter, message));
    };
    let limit: usize = query.parsed("limit", "a number")?.unwrap_or(1000).clamp(1, 10_000);
    let filter = filter(&query, &principal)?;
    let left = app.thread(&principal.thread(&id)).await?;
    let right = app.thread(&principal.thread(with)).await?;
    let base = shared(&left, &right);
    let mut out = format!("{{\"base\":{base}");
    for (name, id, thread) in [("left", id.as_str(), left), ("right", with, right)] {
        let of = thread.clone();
        let page = app.blocking(move |store| Ok(store.read(&of, base, limit, 8 << 20)?)).await?;
        let head = page.head;
        let (list, seen) = entries(&page, base, &mut Sieve::new(filter.clone()));
        let cursor = Cursor { epoch: thread.epoch, seq: seen };
        out.push_str(&format!(
            ",\"{name}\":{{\"id\":{},\"entries\":[{list}],\"cursor\":\"{cursor}\",\"head\":{head}}}",
            quote(id)
        ));
    }
    out.push('}');
    Ok(([(header::CONTENT_TYPE, "application/json")], out).into_response())
}

/// The last sequence number that two threads share.
fn shared(left: &ThreadRef, right: &ThreadRef) -> u64 {
    // How far each thread's past is its own, from the youngest to the oldest.
    fn chain(thread: &ThreadRef) -> Vec<(i64, u64)> {
        let mut all = vec![(thread.num, u64::MAX)];
        let mut at = u64::MAX;
        let mut next = thread.branch.as_ref();
        while let Some(branch) = next {
            at = at.min(branch.at);
            all.push((branch.parent.num, at));
            next = branch.parent.branch.as_ref();
        }
        all
    }
    let right = chain(right);
    let common = chain(left).into_iter().find_map(|(num, at)| {
        right.iter().find(|(other, _)| *other == num).map(|(_, other)| at.min(*other))
    });
    common.unwrap_or(0)
}

/// A sequence number, or a cursor of the thread.
fn place(at: Node<'_, '_>, thread: &ThreadRef) -> Result<u64, Error> {
    let wrong = || {
        let message = "`at` must be a sequence number or a cursor of the thread";
        Error::new(ErrorCode::BadParameter, message).at("/at")
    };
    if let Some(seq) = at.i64() {
        return u64::try_from(seq).map_err(|_| wrong());
    }
    let cursor: Cursor = at.str().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    if cursor.epoch == thread.epoch { Ok(cursor.seq) } else { Err(wrong()) }
}
