//! Threads: made, shown, changed, listed, branched.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use selvedge_protocol::json::{Node, quote};
use selvedge_store::{
    Append, Appended, Create, Key, Store, Summary, TendError, ThreadQuery, ThreadRef,
};
use serde_json::{Map, Value, json};

use super::bodies::{self, NewMessage, Role, mint, wrong};
use super::capabilities::{Deed, Parties, judged};
use super::gather::parsed;
use super::messages::latest;
use super::pages::{Asked, Order, Page, answer, list as listed};
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Payload};
use crate::query::Query;
use crate::state::event_at;
use crate::surface::native::events::key;
use crate::surface::native::messages::{Saying, receivers, say};
use crate::surface::native::threads::body_object;
use crate::surface::native::transfer::exported;
use crate::view::Filter;
use crate::{App, Error, ErrorCode};

/// Messages that a subthread can begin with copies of.
const COPIES: usize = 100;

/// `POST /v1/threads` and `POST /v1/thread`
pub(super) async fn create(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let new = NewThread::read(&app, (doc.root(), 0), (&principal, &headers))?;
    let key = key(&headers, &body)?;
    let id = new.id.clone();
    let appended = match new.spoken(&app, key.clone()).await {
        Some(saying) => say(&app, &principal, saying).await?.0,
        None => {
            let drafts = Stamp::new(&id, now()).events(new.events(&[]).as_bytes())?;
            let mut append = Append::new(principal.thread(&id), drafts).creating(Create::New);
            append.key = key;
            made(&app, append).await?
        }
    };
    Ok(answer(&shown(&app, &id, appended.thread).await?))
}

/// Appends; a thread that was made before under the same key is there.
pub(super) async fn made(app: &App, append: Append) -> Result<Appended, Error> {
    Ok(app.append(append).await?)
}

/// A thread that is to be made.
pub(super) struct NewThread {
    pub(super) id: String,
    parties: Parties,
    /// That it is made, who takes part, and what was said before.
    before: Vec<String>,
    /// What was said last, if that asks or answers nothing.
    last: Option<NewMessage>,
}

impl NewThread {
    pub(super) fn read(
        app: &App,
        (root, which): (Node<'_, '_>, usize),
        who: (&Principal, &HeaderMap),
    ) -> Result<Self, Error> {
        let id = mint("thread_", who.1, which);
        let metadata = bodies::metadata(root)?;
        let mut created = format!("{{\"kind\":\"thread-created\",\"contextId\":{}", quote(&id));
        let (mut before, mut parties) = (Vec::new(), Parties::default());
        if let Some(metadata) = metadata {
            for (name, field) in [("topic", "title"), ("parent_id", "parentThreadId")] {
                if let Some(value) = metadata.some(name).filter(|value| value.is_string()) {
                    created.push_str(&format!(",\"{field}\":{}", value.raw()));
                }
            }
            created.push_str(&format!(",\"metadata\":{}", metadata.raw()));
            before.extend(joined(app, metadata)?);
            parties = Parties::of(app, &parsed(metadata.raw()).unwrap_or_default());
        }
        created.push('}');
        before.insert(0, created);
        let mut last = None;
        for (i, message) in bodies::messages(root, "messages", who)?.into_iter().enumerate() {
            let deed = judged(who.0, &parties, &[], &message);
            let deed = deed.map_err(|error| error.within(&format!("/messages/{i}")))?;
            before.extend(last.take().map(|message: NewMessage| message.event));
            match deed {
                Deed::Asks(event) => {
                    before.push(message.event);
                    let mut asks = String::new();
                    event.write(&mut asks);
                    before.push(asks);
                }
                Deed::None | Deed::Answers(..) => last = Some(message),
            }
        }
        Ok(Self { id, parties, before, last })
    }

    /// The events that make it, and some after them.
    pub(super) fn events(&self, more: &[String]) -> String {
        let last = self.last.as_ref().map(|message| &message.event);
        let all: Vec<&str> =
            self.before.iter().chain(last).chain(more).map(String::as_str).collect();
        format!("[{}]", all.join(","))
    }

    /// A thread of AITP that begins with something for its agents, who answer it.
    async fn spoken(&self, app: &App, key: Option<Key>) -> Option<Saying<'_>> {
        let last = self.last.as_ref().filter(|message| message.role == Role::User)?;
        if !self.parties.is_aitp() {
            return None;
        }
        let named = Some(self.parties.agents.clone()).filter(|agents| !agents.is_empty());
        Some(Saying {
            thread: &self.id,
            create: Create::New,
            before: self.before.clone(),
            message: last.id.clone(),
            event: last.event.clone(),
            text: last.text.clone(),
            // Nobody may be there to answer.
            to: receivers(app, None, named).await.ok()?,
            key,
        })
    }
}

/// That the actors of a thread's metadata take part.
fn joined(app: &App, metadata: Node<'_, '_>) -> Result<Vec<String>, Error> {
    let actors = metadata.some("actors").into_iter().flat_map(Node::children);
    let one = |(i, actor)| {
        let at = format!("/metadata/actors/{i}");
        actor_joined(app, actor).map_err(|error: Error| error.within(&at))
    };
    actors.enumerate().map(one).collect()
}

/// That an actor of AITP takes part, with what it says that it can.
fn actor_joined(app: &App, actor: Node<'_, '_>) -> Result<String, Error> {
    let id = actor.some("id").filter(|id| id.str().is_some_and(|id| !id.is_empty()));
    let id = id.ok_or_else(|| wrong("an actor has an `id`", "/id"))?;
    let desk = app.desk();
    let is_agent = id.str().is_some_and(|id| desk.is_some_and(|desk| desk.member(&id).is_some()));
    let role = if is_agent { "agent" } else { "user" };
    let mut event = format!(
        "{{\"kind\":\"participant-joined\",\"participantId\":{},\"role\":\"{role}\"",
        id.raw()
    );
    if let Some(able) = actor.some("capabilities") {
        let named = |item: Node<'_, '_>| item.is_string() || item.some("schema").is_some();
        if !able.is_array() || !able.children().all(named) {
            let message = "`capabilities` must be an array of schemas' addresses";
            return Err(wrong(message, "/capabilities"));
        }
        event.push_str(&format!(",\"capabilities\":{}", able.raw()));
    }
    if let Some(client) = actor.some("client_id").filter(|client| client.is_string()) {
        event.push_str(&format!(",\"clientId\":{}", client.raw()));
    }
    event.push('}');
    Ok(event)
}

/// `GET /v1/threads/{id}`
pub(super) async fn retrieve(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    Ok(answer(&shown(&app, &id, thread).await?))
}

/// `POST /v1/threads/{id}`: AITP asks for a thread so, and OpenAI changes one.
pub(super) async fn modify(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    if body.is_empty() {
        let query = Query::new(Some("dialect=aitp"));
        return exported(&app, &query, id, thread, Filter::all(principal.sees), None).await;
    }
    let doc = body_object(&body)?;
    if let Some(metadata) = bodies::metadata(doc.root())? {
        let before = shown(&app, &id, thread.clone()).await?;
        let drafts = Stamp::new(&id, now()).events(changed(&app, metadata, &before)?.as_bytes())?;
        let mut append = Append::new(principal.thread(&id), drafts);
        append.key = key(&headers, &body)?;
        app.append_to(&id, append).await?;
    }
    Ok(answer(&shown(&app, &id, thread).await?))
}

/// The events that give a thread other metadata. Actors stay unless others are named; who is not
/// named any more leaves.
fn changed(app: &App, metadata: Node<'_, '_>, before: &Value) -> Result<String, Error> {
    let mut new = parsed(metadata.raw()).unwrap_or_default();
    let actors = before["metadata"]["actors"].as_array();
    let mut events = joined(app, metadata)?;
    if metadata.some("actors").is_none() {
        if let Some(actors) = actors {
            new["actors"] = actors.clone().into();
        }
    } else {
        let stays = |id: &Value| {
            new["actors"].as_array().into_iter().flatten().any(|actor| actor["id"] == *id)
        };
        let gone = actors.into_iter().flatten().filter(|actor| !stays(&actor["id"]));
        let left = |actor: &Value| {
            json!({ "kind": "participant-left", "participantId": actor["id"] }).to_string()
        };
        events.extend(gone.map(left));
    }
    events.insert(0, json!({ "kind": "thread-updated", "metadata": new }).to_string());
    Ok(format!("[{}]", events.join(",")))
}

/// `DELETE /v1/threads/{id}`
pub(super) async fn remove(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    match app.store().delete(principal.thread(&id)).await {
        Ok(()) => Ok(answer(&json!({ "id": id, "object": "thread.deleted", "deleted": true }))),
        Err(TendError::NotFound) => Err(Error::no_thread(&id)),
        Err(error) => Err(error.into()),
    }
}

/// `GET /v1/threads`: by when they were updated, which OpenAI never had and AITP's hub did.
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let asked = Asked::new(&query)?;
    if asked.order == Order::Ascending || asked.before.is_some() {
        let at = if asked.before.is_some() { "/before" } else { "/order" };
        let message = "threads are listed from the one updated last, on with `after`";
        return Err(wrong(message, at));
    }
    let below = match query.get("include_subthreads") {
        None | Some("true" | "1") => true,
        Some("false" | "0") => false,
        Some(_) => {
            return Err(wrong("`include_subthreads` must be true or false", "/include_subthreads"));
        }
    };
    let after = match &asked.after {
        Some(id) => {
            let thread = app.fresh(&principal.thread(id)).await?;
            app.blocking(move |store| Ok(store.summary(&thread)?)).await?.map(|own| own.place())
        }
        None => None,
    };
    let tenant = principal.tenant.clone();
    app.store().up_to_date().await?;
    let page = app.blocking(move |store| {
        let mut wanted = ThreadQuery::new(tenant.clone(), asked.limit + 1);
        wanted.after = after;
        let mut items = Vec::new();
        loop {
            let found = store.threads(&wanted)?;
            for summary in found.items {
                if super::files::is_file(&summary) {
                    continue;
                }
                let key = selvedge_store::ThreadKey::new(tenant.clone(), summary.id.as_str());
                let Some(thread) = store.thread(&key)? else { continue };
                let parent = parent(store, &thread)?;
                if below || parent.is_none() {
                    items.push(object(&summary, parent));
                }
                if items.len() > asked.limit {
                    items.truncate(asked.limit);
                    return Ok(Page { items, has_more: true });
                }
            }
            wanted.after = match found.next {
                Some(next) => Some(next),
                None => return Ok(Page { items, has_more: false }),
            };
        }
    });
    Ok(listed(page.await?))
}

/// `POST /v1/threads/{id}/fork`
pub(super) async fn fork(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let from = app.thread(&principal.thread(&id)).await?;
    let of = from.clone();
    let at = app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let own = mint("thread_", &headers, 2);
    let event = format!(
        "{{\"kind\":\"thread-created\",\"parentThreadId\":{},\"forkedAt\":{at}}}",
        quote(&id)
    );
    let drafts = Stamp::new(&own, now()).events(event.as_bytes())?;
    let create = Create::Branch { from, at };
    let mut append = Append::new(principal.thread(&own), drafts).creating(create);
    append.key = key(&headers, &body)?;
    let appended = made(&app, append).await?;
    Ok(answer(&shown(&app, &own, appended.thread).await?))
}

/// `POST /v1/threads/{id}/subthread`: `messages_to_copy` by their ids, then `new_messages`.
pub(super) async fn subthread(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let doc = body_object(&body)?;
    let copied = copies(doc.root())?;
    let new = bodies::messages(doc.root(), "new_messages", (&principal, &headers))?;
    let own = mint("thread_", &headers, 3);
    let mut events = vec![format!(
        "{{\"kind\":\"thread-created\",\"contextId\":{},\"parentThreadId\":{},\"metadata\":{}}}",
        quote(&own),
        quote(&id),
        json!({ "parent_id": id })
    )];
    if !copied.is_empty() {
        let wanted = copied.clone();
        let is_there = move |said: &[Value]| {
            wanted.iter().all(|id| said.iter().any(|own| own["id"] == id.as_str()))
        };
        let said = latest(&app, &principal, (&id, thread), is_there).await?;
        for (i, wanted) in copied.iter().enumerate() {
            let found = said.iter().find(|message| message["id"] == wanted.as_str());
            let message = found.ok_or_else(|| {
                let message = format!("message `{wanted}` not found in thread `{id}`");
                Error::new(ErrorCode::NotFound, message).at(format!("/messages_to_copy/{i}"))
            })?;
            events.push(copy(message, &mint("msg_", &headers, MESSAGES_COPIED + i)));
        }
    }
    events.extend(new.into_iter().map(|message| message.event));
    let drafts = Stamp::new(&own, now()).events(format!("[{}]", events.join(",")).as_bytes())?;
    let mut append = Append::new(principal.thread(&own), drafts).creating(Create::New);
    append.key = key(&headers, &body)?;
    let appended = made(&app, append).await?;
    Ok(answer(&shown(&app, &own, appended.thread).await?))
}

/// Copies are counted apart from new messages.
const MESSAGES_COPIED: usize = 1000;

/// Ids of messages that are to be copied.
fn copies(root: Node<'_, '_>) -> Result<Vec<String>, Error> {
    let Some(list) = root.some("messages_to_copy") else { return Ok(Vec::new()) };
    let ids: Option<Vec<String>> =
        list.children().map(|id| id.str().map(|id| id.into_owned())).collect();
    ids.filter(|ids| list.is_array() && ids.len() <= COPIES).ok_or_else(|| {
        let message = format!("`messages_to_copy` must be up to {COPIES} ids of messages");
        wrong(message, "/messages_to_copy")
    })
}

/// A message of another thread, said again.
fn copy(message: &Value, id: &str) -> String {
    let role = if message["role"] == "assistant" { "agent" } else { "user" };
    let mut parts = Vec::new();
    for part in message["content"].as_array().into_iter().flatten() {
        parts.push(match (&part["text"]["value"], &part["image_url"]["url"]) {
            (Value::String(text), _) => json!({ "type": "text", "text": text }),
            (_, Value::String(url)) => json!({ "type": "image", "image_url": url }),
            _ => json!({ "type": "file", "name": part["image_file"]["file_id"] }),
        });
    }
    let mut event = json!({ "kind": "message", "role": role, "messageId": id, "content": parts });
    let author = [&message["assistant_id"], &message["metadata"]["actor"]];
    if let Some(author) = author.into_iter().find(|author| author.is_string()) {
        event["author"] = author.clone();
    }
    let files = message["attachments"].as_array().into_iter().flatten();
    let files: Vec<Value> = files.map(|file| json!({ "name": file["file_id"] })).collect();
    if !files.is_empty() {
        event["attachments"] = files.into();
    }
    event.to_string()
}

/// A thread as OpenAI has it.
pub(super) async fn shown(app: &App, id: &str, thread: ThreadRef) -> Result<Value, Error> {
    app.store().fresh(&thread).await?;
    let found = app.blocking(move |store| {
        let summary = store.summary(&thread)?;
        let parent = parent(store, &thread)?;
        Ok(summary.map(|summary| object(&summary, parent)))
    });
    found.await?.ok_or_else(|| Error::no_thread(id))
}

fn object(summary: &Summary, parent: Option<String>) -> Value {
    let metadata = summary.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let mut metadata: Map<String, Value> = metadata.unwrap_or_default();
    for (name, value) in [("topic", &summary.title), ("parent_id", &parent)] {
        if let Some(value) = value {
            metadata.entry(name).or_insert_with(|| value.as_str().into());
        }
    }
    json!({
        "id": summary.id, "object": "thread", "created_at": summary.created.div_euclid(1000),
        "metadata": metadata, "tool_resources": {},
    })
}

/// The thread that a thread was made from. Blocks for the disk.
fn parent(store: &Store, thread: &ThreadRef) -> Result<Option<String>, Error> {
    let created = event_at(store, thread, thread.base() + 1)?;
    Ok(created.and_then(|event| event.str("parentThreadId").map(|id| id.into_owned())))
}
