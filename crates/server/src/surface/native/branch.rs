//! Branches: a thread that goes another way from some point on, and what differs between two.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::{Node, quote};
use selvedge_store::{
    Append, Appended, Create, Draft, Key, Promote, PromoteError, Promoted, TendError, ThreadRef,
};
use serde_json::json;

use super::events::{entries, key, made, now, placed};
use super::stream::filter;
use super::threads::{body_object, named_id, new_id, text_member};
use crate::auth::Principal;
use crate::compare::{self, Side};
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
    let key = key(&headers, &body)?;
    let branch = Branch { id: &own, parent: &id, from, at };
    let appended = branch_off(&app, &principal, branch, title.as_deref(), key).await?;
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

/// A thread that is to go another way.
pub(crate) struct Branch<'a> {
    /// The id it is to have.
    pub(crate) id: &'a str,
    pub(crate) parent: &'a str,
    pub(crate) from: ThreadRef,
    /// The last entry that both have.
    pub(crate) at: u64,
}

/// Makes a branch.
pub(crate) async fn branch_off(
    app: &App,
    principal: &Principal,
    branch: Branch<'_>,
    title: Option<&str>,
    key: Option<Key>,
) -> Result<Appended, Error> {
    let Branch { id, parent, from, at } = branch;
    let mut events = format!(
        "[{{\"kind\":\"thread-created\",\"parentThreadId\":{},\"forkedAt\":{at}}}",
        quote(parent)
    );
    // It has the title of the thread it came from until another is told.
    if let Some(title) = title {
        events.push_str(&format!(",{{\"kind\":\"thread-updated\",\"title\":{}}}", quote(title)));
    }
    events.push(']');
    let drafts = Stamp::new(id, now()).events(events.as_bytes())?;
    let create = Create::Branch { from, at };
    let mut append = Append::new(principal.thread(id), drafts).creating(create);
    append.key = key;
    Ok(app.append(append).await?)
}

/// `POST /api/threads/{id}/promote`: the branch takes the id of the thread it came from. Asked
/// again, by any of the branch's ids, it answers the same and changes nothing.
pub(crate) async fn promote(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let given = text_member(doc.root(), "old")?;
    let old = named_id(given, "old")?;
    let wanted = principal.thread(&id);
    let found = app.blocking(move |store| Ok(store.lineage(&wanted)?)).await?;
    let lineage = found.ok_or_else(|| Error::no_thread(&id))?;
    if lineage.promoted {
        let of = lineage.thread.clone();
        let head = app.blocking(move |store| Ok(store.head(&of)?)).await?;
        let cursor = Cursor { epoch: lineage.thread.epoch, seq: head };
        return Ok(promoted(&lineage.id, lineage.parent.as_deref(), cursor, Again::Yes));
    }
    if lineage.id != id {
        return Err(Error::no_thread(&id));
    }
    let Some(parent) = lineage.parent else {
        let message = match lineage.thread.branch {
            None => "the thread is no branch, so there is nothing it could take the place of",
            Some(_) => "the thread it branched off from is gone",
        };
        return Err(Error::new(ErrorCode::Conflict, message));
    };
    if old == id {
        let message = "`old` must be another id than the branch's own";
        return Err(Error::new(ErrorCode::BadParameter, message).at("/old"));
    }
    let done = take_place(&app, &principal, &id, &parent, &old).await?;
    let cursor = Cursor { epoch: done.thread.epoch, seq: done.head };
    Ok(promoted(&parent, Some(&old), cursor, Again::No))
}

/// Lets a branch take the id of the thread it came from, which is called `old` from then on.
pub(crate) async fn take_place(
    app: &App,
    principal: &Principal,
    id: &str,
    parent: &str,
    old: &str,
) -> Result<Promoted, Error> {
    let tell = |context: &str| -> Result<Draft, Error> {
        let event = format!(
            "{{\"kind\":\"system\",\"name\":\"thread.promoted\",\"data\":{{\"id\":{},\"branch\":{},\"old\":{}}}}}",
            quote(parent),
            quote(id),
            quote(old)
        );
        let drafts = Stamp::new(context, now()).events(event.as_bytes())?;
        drafts.into_iter().next().ok_or_else(|| Error::new(ErrorCode::Internal, "no event"))
    };
    let promote = Promote {
        branch: principal.thread(id),
        parent: principal.thread(parent),
        old: principal.thread(old),
        told: tell(parent)?,
        told_old: tell(old)?,
    };
    app.store().promote(promote).await.map_err(|error| {
        let message = error.to_string();
        match error {
            PromoteError::Exists { .. } => Error::new(ErrorCode::ThreadExists, message).at("/old"),
            PromoteError::NoBranch { .. } => Error::new(ErrorCode::Conflict, message),
            PromoteError::Tend(TendError::NotFound) => Error::no_thread(id),
            PromoteError::Tend(TendError::Busy) => Error::new(ErrorCode::Busy, message),
            PromoteError::Tend(_) => Error::new(ErrorCode::Storage, message),
        }
    })
}

/// Whether a branch had been promoted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    No,
    Yes,
}

fn promoted(id: &str, old: Option<&str>, cursor: Cursor, again: Again) -> Response {
    // The old line may have been deleted since.
    let old = old.map_or_else(|| "null".to_owned(), quote);
    let body = format!(
        "{{\"id\":{},\"old\":{old},\"cursor\":\"{cursor}\",\"head\":{},\"duplicate\":{}}}",
        quote(id),
        cursor.seq,
        again == Again::Yes
    );
    placed(cursor, body)
}

/// Threads of a family that are told.
const FAMILY: usize = 1000;

/// `GET /api/threads/{id}/branches`: the thread with all that it came from and all that came of
/// those, the oldest first.
pub(crate) async fn branches(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.fresh(&principal.thread(&id)).await?;
    let look = move |store: &selvedge_store::Store| {
        let kin = store.family(&thread, FAMILY + 1)?;
        let nums: Vec<i64> = kin.iter().map(|kin| kin.num).collect();
        Ok((kin, store.glances(&nums)?))
    };
    let (kin, glances) = app.blocking(look).await?;
    let more = kin.len() > FAMILY;
    let place = |num: i64| kin.iter().position(|kin| kin.num == num);
    let threads = kin.iter().zip(&glances).take(FAMILY).map(|(kin, glance)| {
        // By place: a thread that was deleted has no id any more.
        let parent = kin.parent.and_then(place);
        let line = kin.summary.as_ref().map(|summary| super::lists::thread(summary, glance));
        let mut own = line.unwrap_or_else(|| json!({}));
        own["id"] = json!(kin.id);
        own["parent"] = json!(parent);
        own["at"] = json!(kin.parent.map(|_| kin.at));
        own["promoted"] = json!(kin.promoted);
        own
    });
    let body = json!({ "threads": threads.collect::<Vec<_>>(), "more": more }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
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
    let (a, b) = (left.clone(), right.clone());
    // A thread shares all it has with itself.
    let heads = app.blocking(move |store| Ok(store.head(&a)?.min(store.head(&b)?))).await?;
    let base = shared(&left, &right).min(heads);
    let mut out = format!("{{\"base\":{base}");
    let mut sides = Vec::new();
    for (name, id, thread) in [("left", id.as_str(), left), ("right", with, right)] {
        let (of, own) = (thread.clone(), filter.clone());
        let (page, side) = app
            .blocking(move |store| {
                let page = store.read(&of, base, limit, 8 << 20)?;
                let side = Side::fold(store, &of, base, page.head, own)?;
                Ok((page, side))
            })
            .await?;
        let head = page.head;
        let (list, seen) = entries(&page, base, &mut Sieve::new(filter.clone()));
        let cursor = Cursor { epoch: thread.epoch, seq: seen };
        out.push_str(&format!(
            ",\"{name}\":{{\"id\":{},\"entries\":[{list}],\"cursor\":\"{cursor}\",\"head\":{head},\
             \"summary\":{}}}",
            quote(id),
            side.summary()
        ));
        sides.push(side);
    }
    if let [left, right] = sides.as_slice() {
        out.push_str(&format!(",\"difference\":{}", compare::difference(left, right)));
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
pub(super) fn place(at: Node<'_, '_>, thread: &ThreadRef) -> Result<u64, Error> {
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
