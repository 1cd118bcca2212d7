//! Requests for credentials: closed once, by a user, with the credential itself encrypted.
//!
//! Invariant: a credential goes from the request's body into the vault, sealed, and nowhere else.
//! The journal gets the id under which it is kept. Of several that arrive at once, the one whose
//! event is committed counts; the others are forgotten.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use selvedge_agents::credential::{Arrived, ReceiveError};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Raw, quote};
use selvedge_store::{Appended, InboxKind};

use super::inputs::{Reply, close, closing, question, user};
use crate::auth::Principal;
use crate::extract::{Ids, Payload};
use crate::surface::native::events::{key_of, told};
use crate::surface::native::threads::{body_object, text_member};
use crate::{App, Error, ErrorCode};

/// Who authenticates, where neither a token nor the body says it.
const SOMEONE: &str = "user";

/// `POST /api/threads/{id}/auths/{authId}`
pub(crate) async fn authenticated(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(thread, id): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    for (name, _) in root.members() {
        let name = name.str().unwrap_or_default();
        if !matches!(&*name, "userId" | "credential") {
            let message = format!(
                "`{name}` is not taken: credentials come encrypted, in `credential`, and never \
                 enter the journal"
            );
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            return Err(Error::new(ErrorCode::BadParameter, message).at(pointer));
        }
    }
    let key = key_of(&headers, &[b"auth", id.as_bytes(), &body])?;
    let proof = Reply { thread: &thread, id: &id, root, key };
    let (appended, _) = authenticate(&app, &principal, proof).await?;
    Ok(told(&appended, ""))
}

/// Closes a request for credentials (`userId`, and `credential` where one was asked for); says
/// where, and which task had asked.
pub(crate) async fn authenticate(
    app: &App,
    principal: &Principal,
    proof: Reply<'_>,
) -> Result<(Appended, Option<String>), Error> {
    let Reply { thread, id: auth, root, key } = proof;
    let wrong = |message: &str, at: &str| Error::new(ErrorCode::BadParameter, message).at(at);
    let named = user(root, principal)?;
    let credential = text_member(root, "credential")?;
    let (item, asked) = question(app, principal, (thread, InboxKind::Auth, auth)).await?;
    if principal.is_agent() {
        return Err(Error::new(ErrorCode::UserRequired, "only a user may authenticate"));
    }
    let encrypted = asked.get("encryptionKey").is_some();
    let user = match (named, credential.is_some()) {
        (Some(user), _) => user,
        (None, true) if encrypted => SOMEONE.to_owned(),
        _ => return Err(wrong("`userId` is missing: who has authenticated?", "/userId")),
    };
    let kept = match (encrypted, credential) {
        (false, None) => None,
        (false, Some(_)) => {
            let message = "this request has no key to encrypt for: only `userId` is taken";
            return Err(wrong(message, "/credential"));
        }
        (true, None) => {
            let message = "`credential` is missing: a JWE for the request's `encryptionKey`";
            return Err(wrong(message, "/credential"));
        }
        (true, Some(jwe)) => receive(app, principal, (thread, auth), (&user, jwe)).await?,
    };
    let mut event = closing(Kind::AuthCompleted, &item, &asked).with_str("userId", &user);
    if let Some(kept) = &kept {
        let metadata = format!("{{\"credentialId\":{}}}", quote(&kept.id));
        event = event.with("metadata", Raw::owned(metadata));
    }
    let task = item.task.clone();
    let closed = close(app, principal, (thread, item), event, key).await;
    if let Some(kept) = kept {
        let tidied = match &closed {
            Ok(appended) if !appended.duplicate => app.vault().done(kept.thread, auth).await,
            _ => app.vault().forget(&kept.id).await,
        };
        if let Err(error) = tidied {
            tracing::warn!(%error, "a key or a credential could not be forgotten");
        }
    }
    Ok((closed?, task))
}

/// A credential that is kept, of a thread.
struct Kept {
    id: String,
    thread: i64,
}

/// Takes a credential, if the request is open. What became of one that is not, whoever closes it
/// is told.
async fn receive(
    app: &App,
    principal: &Principal,
    (thread, auth): (&str, &str),
    (user, jwe): (&str, String),
) -> Result<Option<Kept>, Error> {
    let there = app.fresh(&principal.thread(thread)).await?;
    let (of, own) = (there.clone(), auth.to_owned());
    let open = app.blocking(move |store| {
        let waiting = store.pending(&of)?;
        Ok(waiting.iter().any(|item| item.kind == InboxKind::Auth && item.id == own))
    });
    if !open.await? {
        return Ok(None);
    }
    let (auth, context, user) = (auth.to_owned(), thread.to_owned(), user.to_owned());
    let arrived = Arrived { auth, context, thread: there.num, user, jwe };
    match app.vault().receive(arrived).await {
        Ok(id) => Ok(Some(Kept { id, thread: there.num })),
        Err(error) => {
            let (code, at) = match &error {
                ReceiveError::Gone => (ErrorCode::Expired, "/credential"),
                ReceiveError::OtherUser => (ErrorCode::Forbidden, "/userId"),
                ReceiveError::Refused(_) | ReceiveError::NoText => {
                    (ErrorCode::BadCredential, "/credential")
                }
                ReceiveError::Vault(_) => {
                    return Err(Error::new(ErrorCode::Storage, error.to_string()));
                }
            };
            Err(Error::new(code, error.to_string()).at(at))
        }
    }
}
