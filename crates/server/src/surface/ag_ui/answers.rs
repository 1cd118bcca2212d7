//! What a run brings for a task that waits: answers to interrupts, and results of tools that the
//! client ran.

use selvedge_agents::fits;
use selvedge_protocol::json::{Doc, Node, quote};
use selvedge_store::{InboxItem, InboxKind, Key};
use sha2::{Digest as _, Sha256};

use super::input::{Input, Role, wrong};
use crate::auth::Principal;
use crate::surface::asked::{Asked, asked, word};
use crate::surface::native::acts::auths::authenticate;
use crate::surface::native::acts::inputs::{Reply, give};
use crate::surface::native::threads::text_member;
use crate::{App, Error, ErrorCode};

/// An answer, as a body of the native API.
pub(super) struct Answer {
    pub(super) item: InboxItem,
    body: String,
    /// What the client sent.
    sent: String,
    pointer: String,
    /// The call whose result the client has said itself.
    pub(super) call: Option<String>,
}

/// The answers that a run brings, checked. Nothing is given yet.
pub(super) async fn brought(
    app: &App,
    principal: &Principal,
    input: &Input<'_>,
) -> Result<Vec<Answer>, Error> {
    if input.resume.is_empty() && input.messages.last().is_none_or(|m| m.role != Role::Tool) {
        return Ok(Vec::new());
    }
    let thread = app.fresh(&principal.thread(&input.thread)).await?;
    let waiting = asked(app, &thread, principal.sees).await?;
    let mut answers = Vec::new();
    for (i, node) in input.resume.iter().enumerate() {
        let pointer = format!("/resume/{i}");
        let id = text_member(*node, "interruptId").map_err(|error| error.within(&pointer))?;
        let id = id.unwrap_or_default();
        let known = waiting.iter().find(|one| one.item.id == id);
        let item = match known {
            Some(one) => one.item.clone(),
            // Sent before, if this run was; else it is not there.
            None => known_once(app, &thread, &id).await?.ok_or_else(|| {
                let message = format!("interrupt `{id}` not found");
                Error::new(ErrorCode::NotFound, message).at(format!("{pointer}/interruptId"))
            })?,
        };
        let body = body_of(*node, known, &pointer)?;
        answers.push(Answer { item, body, sent: node.raw().to_owned(), pointer, call: None });
    }
    for message in input.messages.iter().rev().take_while(|message| message.role == Role::Tool) {
        let pointer = format!("{}/toolCallId", message.pointer);
        let call = text_member(message.node, "toolCallId")?;
        let call = call.ok_or_else(|| wrong("`toolCallId` must be a string", &pointer))?;
        let own = |one: &&Asked| one.event.str("toolCallId").is_some_and(|own| own == call);
        let Some(one) = waiting.iter().find(own) else { continue };
        let at = format!("{}/content", message.pointer);
        let content = message.node.get("content");
        let content = content.ok_or_else(|| wrong("`content` is missing", &at))?;
        // A result is a text; what was JSON before is JSON again.
        let text = content.str();
        let json = text.as_ref().and_then(|text| Doc::parse(text).ok());
        let value = json.as_ref().map_or(content.raw(), |doc| doc.root().raw()).to_owned();
        let value = match message.node.some("error").and_then(Node::str) {
            Some(error) => format!("{{\"error\":{}}}", quote(&error)),
            None => value,
        };
        let body = format!("{{\"value\":{value}}}");
        let (item, sent) = (one.item.clone(), body.clone());
        answers.push(Answer { item, body, sent, pointer: at, call: Some(call) });
    }
    Ok(answers)
}

/// Gives the answers of a run, each once; says after which entry the run begins.
pub(super) async fn given(
    app: &App,
    principal: &Principal,
    input: &Input<'_>,
    answers: &[Answer],
) -> Result<u64, Error> {
    for Answer { item, body, sent, pointer, .. } in answers {
        let doc = Doc::parse(body).map_err(|error| wrong(&error.to_string(), pointer))?;
        let key = Some(once(input, &item.id, sent));
        let reply = Reply { thread: &input.thread, id: &item.id, root: doc.root(), key };
        let given = match item.kind {
            InboxKind::Input => give(app, principal, reply).await,
            InboxKind::Auth => authenticate(app, principal, reply).await,
        };
        given.map_err(|error| error.at(pointer.clone()))?;
    }
    // All of them were asked when the client had them.
    Ok(answers.iter().map(|answer| answer.item.seq).max().unwrap_or(0))
}

/// The body for the native API: what an answer says, or that there is none.
fn body_of(node: Node<'_, '_>, one: Option<&Asked>, pointer: &str) -> Result<String, Error> {
    let at = format!("{pointer}/payload");
    let status = text_member(node, "status").map_err(|error| error.within(pointer))?;
    let confirms = one.is_some_and(Asked::confirms);
    let value = match status.as_deref() {
        None | Some("resolved") => {
            let payload = node.get("payload");
            let payload = payload.ok_or_else(|| wrong("`payload` is missing", &at))?;
            let auth = one.is_some_and(|one| one.item.kind == InboxKind::Auth);
            if auth {
                return Ok(payload.raw().to_owned());
            }
            match confirms {
                true => {
                    let said = payload.bool().or_else(|| payload.get("approved")?.bool());
                    let said = said.or_else(|| word(&payload.str()?));
                    let message = "to agree, answer `true`; to refuse, `false`";
                    said.ok_or_else(|| wrong(message, &at))?.to_string()
                }
                false => payload.raw().to_owned(),
            }
        }
        Some("cancelled") if confirms || one.is_none() => "false".to_owned(),
        Some("cancelled") => "null".to_owned(),
        Some(_) => {
            let message = "`status` must be resolved or cancelled";
            return Err(wrong(message, &format!("{pointer}/status")));
        }
    };
    if let Some(one) = one {
        let doc = Doc::parse(&value).map_err(|error| wrong(&error.to_string(), &at))?;
        fits::question(&one.event, doc.root())
            .map_err(|misfit| wrong(&misfit.message, &format!("{at}{}", misfit.pointer)))?;
    }
    Ok(format!("{{\"value\":{value}}}"))
}

/// A question, answered or not.
async fn known_once(
    app: &App,
    thread: &selvedge_store::ThreadRef,
    id: &str,
) -> Result<Option<InboxItem>, Error> {
    let (thread, id) = (thread.clone(), id.to_owned());
    let find =
        move |store: &selvedge_store::Store| Ok(store.question(&thread, InboxKind::Input, &id)?);
    app.blocking(find).await
}

/// Lets a run be sent again.
pub(super) fn once(input: &Input<'_>, what: &str, body: &str) -> Key {
    let mut of = Sha256::new();
    for part in [&input.run, what] {
        of.update((part.len() as u64).to_le_bytes());
        of.update(part.as_bytes());
    }
    let text: String = of.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Key { text: format!("ag-ui:{text}"), digest: Sha256::digest(body.as_bytes()).into() }
}
