//! What a run requires, answered: outputs of tools that the client runs, and answers to questions.
//!
//! A question has no form of its own here: it is a call of `request_input`, and a request for
//! credentials is one of `request_auth`. The output answers it.

use std::collections::HashSet;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use selvedge_agents::fits;
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::{Doc, Node, Raw, quote};
use selvedge_store::{Append, Guard, InboxItem, InboxKind};

use super::bodies::wrong;
use super::gather::before;
use super::pages::answer;
use super::questions::open;
use super::runs::{found, object, streams};
use super::stream::{Following, follow};
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Ids, Payload};
use crate::surface::native::acts::auths::authenticate;
use crate::surface::native::acts::inputs::{Reply, received};
use crate::surface::native::events::key_of;
use crate::surface::native::messages::candidates;
use crate::surface::native::threads::{body_object, text_member};
use crate::view::{Place, Start};
use crate::{App, Error, ErrorCode};

/// Outputs at once.
const OUTPUTS: usize = 128;

/// `POST /v1/threads/{id}/runs/{run}/submit_tool_outputs`
pub(super) async fn submit(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, run): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let (thread, task) = found(&app, &principal, (&id, &run)).await?;
    let doc = body_object(&body)?;
    let streams = streams(doc.root())?;
    let given = given(doc.root())?;
    let mut asked = open(&app, &principal, &thread).await?;
    asked.retain(|(item, _)| item.task.as_deref() == Some(&*run));
    let key = key_of(&headers, &[b"outputs", run.as_bytes(), &body])?;
    let (mut events, mut guards, mut proofs) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (call, output)) in given.iter().enumerate() {
        let at = |name: &str| format!("/tool_outputs/{i}/{name}");
        let question = asked.iter().find(|(item, asked)| is_call(item, asked, call));
        let Some((item, question)) = question else {
            let call = selvedge_protocol::validate::brief(call);
            let message = format!("run `{run}` requires no output of `{call}`");
            return Err(wrong(message, at("tool_call_id")));
        };
        if item.require_user && principal.is_agent() {
            let error = Error::new(ErrorCode::UserRequired, "only a user may answer this");
            return Err(error.at(at("tool_call_id")));
        }
        match item.kind {
            InboxKind::Input => {
                let value = meant(question, output).map_err(|e| e.within(&at("output")))?;
                let user = principal.subject.as_ref().map(ToString::to_string);
                events.push(received(&principal, (item, question), user, Raw::owned(value)));
                guards.push(Guard::Open { kind: item.kind, id: item.id.clone() });
            }
            InboxKind::Auth => proofs.push((item.id.clone(), output.clone(), at("output"))),
        }
    }
    let mut first = None;
    if !events.is_empty() {
        let drafts = Stamp::new(&id, now()).own(&events)?;
        let guard = Guard::All(guards);
        let mut append = Append::new(principal.thread(&id), drafts).guarded(guard);
        append.key = key;
        first = Some(app.append_to(&id, append).await?.first);
    }
    for (auth, output, at) in proofs {
        let doc = body_object(output.as_bytes()).map_err(|error| error.within(&at))?;
        let proof = Reply { thread: &id, id: &auth, root: doc.root(), key: None };
        let (appended, _) =
            authenticate(&app, &principal, proof).await.map_err(|e| e.within(&at))?;
        first.get_or_insert(appended.first);
    }
    let (Some(first), true) = (first, streams) else {
        return Ok(answer(&object(&app, &principal, (&id, &run)).await?));
    };
    let of = thread.clone();
    let after = app.blocking(move |store| Ok(before(store, &of, &task)?)).await?;
    let start = Start::After(Place::of(&thread, first.saturating_sub(1)));
    let following = Following { run, after, start, rests: first, opening: String::new() };
    follow(&app, &principal, (&id, thread), following).await
}

/// Calls and their outputs.
fn given(root: Node<'_, '_>) -> Result<Vec<(String, String)>, Error> {
    let list = root.some("tool_outputs").filter(|list| list.is_array());
    let list = list.filter(|list| (1..=OUTPUTS).contains(&list.children().count()));
    let list = list.ok_or_else(|| {
        wrong(format!("`tool_outputs` must be an array of 1 to {OUTPUTS} outputs"), "/tool_outputs")
    })?;
    let mut known = HashSet::new();
    let mut out = Vec::new();
    for (i, output) in list.children().enumerate() {
        let at = |error: Error| error.within(&format!("/tool_outputs/{i}"));
        let call = text_member(output, "tool_call_id").map_err(at)?.unwrap_or_default();
        let said = text_member(output, "output").map_err(at)?.unwrap_or_default();
        if call.is_empty() || !known.insert(call.clone()) {
            let message = "`tool_call_id` must name a call, and each only once";
            return Err(wrong(message, format!("/tool_outputs/{i}/tool_call_id")));
        }
        out.push((call, said));
    }
    Ok(out)
}

/// Whether a call is how a question is told here.
fn is_call(item: &InboxItem, asked: &Event<'_>, call: &str) -> bool {
    let own = asked.get("toolCallId").filter(|own| own.is(call));
    if asked.get("inputType").is_some_and(|ty| ty.is("tool-execution")) && own.is_some() {
        return true;
    }
    // A question with the id of its call is told under another.
    call == item.id || call.strip_suffix("/input").is_some_and(|id| id == item.id)
}

/// What an output means as the answer to a question, as JSON.
fn meant(asked: &Event<'_>, output: &str) -> Result<String, Error> {
    let is = |name: &str| asked.get("inputType").is_some_and(|own| own.is(name));
    let json =
        Doc::parse(output).ok().filter(|doc| doc.root().is_object() || doc.root().is_array());
    let json = json.map(|_| output.to_owned());
    let mut may: Vec<String> = match is("tool-execution") {
        // What a tool gives is data where it is, and text else.
        true => json.into_iter().chain([quote(output)]).collect(),
        false => candidates(asked, output).into_iter().chain(json).collect(),
    };
    if may.is_empty() && !is("confirmation") {
        may.push(quote(output));
    }
    let mut why = "say yes or no".to_owned();
    for value in may {
        let Ok(doc) = Doc::parse(&value) else { continue };
        match fits::question(asked, doc.root()) {
            Ok(()) => return Ok(value),
            Err(misfit) => why = misfit.message,
        }
    }
    Err(wrong(format!("this does not answer the question: {why}"), ""))
}
