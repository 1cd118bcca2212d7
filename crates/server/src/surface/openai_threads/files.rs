//! Files. A file is a thread of its own that holds one artifact of the same name: it is durable, a
//! tenant's own, and deleted as threads are.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use selvedge_protocol::json::quote;
use selvedge_store::{
    Append, Artifact, Create, Scalar, Summary, TendError, ThreadQuery, ThreadRef, WhichVersion,
};
use serde_json::{Value, json};

use super::bodies::{mint, wrong};
use super::multipart::fields;
use super::pages::{Asked, Order, Page, answer, list as listed};
use super::threads::made;
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Ids, Payload};
use crate::query::Query;
use crate::surface::native::acts::artifacts::{download, file_events};
use crate::surface::native::events::key;
use crate::{App, Error, ErrorCode};

/// What the metadata of a file's thread says in `object`.
const FILE: &str = "file";
/// Bytes of a file's name, and of what it is for.
const NAME: usize = 256;

/// `POST /v1/files`
pub(super) async fn create(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let fields = fields(&headers, &body)?;
    let field = |name: &str| fields.iter().find(|field| field.name == name);
    let file = field("file").ok_or_else(|| wrong("`file` is missing", "/file"))?;
    let purpose = field("purpose").ok_or_else(|| wrong("`purpose` is missing", "/purpose"))?;
    let purpose = String::from_utf8_lossy(&purpose.body).into_owned();
    let known = !purpose.is_empty() && purpose.len() <= NAME;
    if !known {
        return Err(wrong(format!("`purpose` must have 1 to {NAME} bytes"), "/purpose"));
    }
    let name = file.filename.clone().filter(|name| !name.is_empty()).unwrap_or("file".to_owned());
    if name.len() > NAME || name.contains(|c: char| c.is_control()) {
        return Err(wrong(format!("a file's name has up to {NAME} bytes"), "/file"));
    }
    let id = mint("file-", &headers, 0);
    let metadata = json!({ "object": FILE, "purpose": purpose, "bytes": file.body.len() });
    let event = format!(
        "{{\"kind\":\"thread-created\",\"contextId\":{},\"title\":{},\"metadata\":{metadata}}}",
        quote(&id),
        quote(&name)
    );
    let stamp = Stamp::new(&id, now());
    let mut drafts = stamp.events(event.as_bytes())?;
    let (own, media, bytes) = (id.clone(), file.media_type.clone(), file.body.clone());
    drafts.extend(
        app.blocking(move |_| stamp.own(&file_events(&own, &name, media.as_deref(), &bytes)))
            .await?,
    );
    let mut append = Append::new(principal.thread(&id), drafts).creating(Create::New);
    append.key = key(&headers, &body)?;
    let appended = made(&app, append).await?;
    Ok(answer(&shown(&app, &id, appended.thread).await?))
}

/// Whether a thread is a file.
pub(super) fn is_file(summary: &Summary) -> bool {
    said(summary, "object").as_str() == Some(FILE)
}

/// What a thread's metadata says.
fn said(summary: &Summary, name: &str) -> Value {
    let metadata = summary.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
    metadata.and_then(|metadata: Value| metadata.get(name).cloned()).unwrap_or_default()
}

fn no_file(id: &str) -> Error {
    let id = selvedge_protocol::validate::brief(id);
    Error::new(ErrorCode::NotFound, format!("file `{id}` not found"))
}

async fn shown(app: &App, id: &str, thread: ThreadRef) -> Result<Value, Error> {
    app.store().fresh(&thread).await?;
    let own = id.to_owned();
    let found = app.blocking(move |store| {
        let artifact = store.artifact(&thread, &own, WhichVersion::Latest)?;
        Ok(store.summary(&thread)?.zip(artifact))
    });
    let found = found.await?.map(|(summary, artifact)| object(&summary, Some(&artifact)));
    found.ok_or_else(|| no_file(id))
}

fn object(summary: &Summary, artifact: Option<&Artifact>) -> Value {
    let own = artifact.and_then(|artifact| artifact.name.clone());
    let name = own.or_else(|| summary.title.clone()).unwrap_or_else(|| summary.id.clone());
    let size = artifact.and_then(|artifact| artifact.versions.last()).map(|version| version.size);
    let size = said(summary, "bytes").as_u64().or(size).unwrap_or(0);
    let purpose = said(summary, "purpose");
    let purpose = if purpose.is_string() { purpose } else { "assistants_output".into() };
    json!({
        "id": summary.id, "object": "file", "bytes": size, "filename": name, "purpose": purpose,
        "created_at": summary.created.div_euclid(1000), "status": "processed",
        "expires_at": null, "status_details": null,
    })
}

/// `GET /v1/files`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let asked = Asked::new(&query)?;
    if asked.order == Order::Ascending || asked.before.is_some() {
        return Err(wrong("files are listed from the newest, on with `after`", "/order"));
    }
    let mut wanted = ThreadQuery::new(principal.tenant.clone(), asked.limit);
    wanted.metadata = vec![("object".to_owned(), Scalar::Text(FILE.to_owned()))];
    if let Some(purpose) = query.get("purpose") {
        wanted.metadata.push(("purpose".to_owned(), Scalar::Text(purpose.to_owned())));
    }
    if let Some(id) = &asked.after {
        let thread = app.fresh(&principal.thread(id)).await.map_err(|_| no_file(id))?;
        let last = app.blocking(move |store| Ok(store.summary(&thread)?)).await?;
        wanted.after = last.map(|last| last.place());
    }
    app.store().up_to_date().await?;
    let page = app.blocking(move |store| Ok(store.threads(&wanted)?)).await?;
    let items = page.items.iter().map(|summary| object(summary, None)).collect();
    Ok(listed(Page { items, has_more: page.next.is_some() }))
}

/// `GET /v1/files/{id}`
pub(super) async fn retrieve(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await.map_err(|_| no_file(&id))?;
    Ok(answer(&shown(&app, &id, thread).await?))
}

/// `GET /v1/files/{id}/content`
pub(super) async fn content(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let ids = Ids(id.clone(), id.clone());
    let answer = download(State(app), Extension(principal), ids, headers, RawQuery(None)).await;
    answer.map_err(|error| if error.code == ErrorCode::NotFound { no_file(&id) } else { error })
}

/// `DELETE /v1/files/{id}`: a conversation is no file, whatever it is called.
pub(super) async fn remove(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.fresh(&principal.thread(&id)).await.map_err(|_| no_file(&id))?;
    let summary = app.blocking(move |store| Ok(store.summary(&thread)?)).await?;
    if !summary.is_some_and(|summary| is_file(&summary)) {
        return Err(wrong("this is a thread; delete it as one", "/file_id"));
    }
    match app.store().delete(principal.thread(&id)).await {
        Ok(()) => Ok(answer(&json!({ "id": id, "object": "file", "deleted": true }))),
        Err(TendError::NotFound) => Err(no_file(&id)),
        Err(error) => Err(error.into()),
    }
}
