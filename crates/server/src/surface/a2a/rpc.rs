//! JSON-RPC: the methods of both versions on one URL, told apart by their names.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, header};
use selvedge_protocol::json::text::has_lone_surrogate;
use selvedge_protocol::json::{Doc, Node};

use super::answer::{Answer, Binding};
use super::caller::{Caller, Extension as Ours, Version};
use super::fault::{Fault, What};
use super::{card, push, send, stream, tasks};
use crate::App;
use crate::auth::{Principal, Scope};
use crate::extract::Payload;
use crate::query::Query;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    SetPush,
    GetPush,
    ListPush,
    DeletePush,
    Card,
}

/// Operations by their names in 1.0 and 0.3.
const METHODS: &[(Operation, &str, &str)] = &[
    (Operation::Send, "SendMessage", "message/send"),
    (Operation::Stream, "SendStreamingMessage", "message/stream"),
    (Operation::Get, "GetTask", "tasks/get"),
    (Operation::List, "ListTasks", "tasks/list"),
    (Operation::Cancel, "CancelTask", "tasks/cancel"),
    (Operation::Subscribe, "SubscribeToTask", "tasks/resubscribe"),
    (Operation::SetPush, "CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"),
    (Operation::GetPush, "GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get"),
    (Operation::ListPush, "ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list"),
    (
        Operation::DeletePush,
        "DeleteTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/delete",
    ),
    (Operation::Card, "GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"),
];

/// `POST /a2a`
pub(super) async fn call(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    agent: Option<axum::extract::Path<String>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, crate::Error> {
    let agent = agent.map(|axum::extract::Path(agent)| agent);
    if let Some(agent) = &agent {
        card::known(&app, agent)?;
    }
    let query = Query::new(query.as_deref());
    let asked = Version::asked(&headers, &query);
    let version = asked.as_ref().ok().copied().flatten().unwrap_or(Version::V1);
    let refuse = |fault: Fault| {
        Ok(Binding::Rpc("null".to_owned()).told((version, Ours::Inactive), Err(fault)))
    };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.map_or("", |kind| kind.split(';').next().unwrap_or("")).trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let message = "requests are `application/json`";
        return refuse(Fault::new(What::ContentType, message));
    }
    let doc = match Doc::parse_bytes(&body) {
        Ok(doc) => doc,
        Err(error) => return refuse(Fault::new(What::Parse, format!("not JSON: {error}"))),
    };
    let root = doc.root();
    let id = root.get("id").filter(|id| is_id(*id));
    let id = id.map_or("null", Node::raw).to_owned();
    let binding = Binding::Rpc(id.clone());
    let (operation, version) = match operation(root) {
        Ok(found) => found,
        Err(fault) => return Ok(binding.told((version, Ours::Inactive), Err(fault))),
    };
    let mut caller = Caller::new(app, principal, version, &headers, &query)?;
    caller.agent = agent;
    let answer = match asked {
        Err(fault) => Err(fault),
        Ok(_) => run(&caller, operation, root, &binding).await,
    };
    let streams = matches!(operation, Operation::Stream | Operation::Subscribe);
    Ok(match answer {
        // Clients of 0.3 take the answers of these methods as events only.
        Err(fault) if streams && version == Version::V03 => fault.event(&id),
        answer => binding.told((version, caller.extension), answer),
    })
}

/// Whether a request can be told by it: half a character cannot be said again.
fn is_id(id: Node<'_, '_>) -> bool {
    id.f64().is_some() || (id.is_string() && !has_lone_surrogate(id.body()))
}

/// Which operation a request names, in which version.
fn operation(root: Node<'_, '_>) -> Result<(Operation, Version), Fault> {
    let wrong = |message: &str| Fault::new(What::Request, message);
    if !root.is_object() {
        return Err(wrong("a request is one JSON object"));
    }
    if !root.get("jsonrpc").is_some_and(|version| version.is("2.0")) {
        return Err(wrong("`jsonrpc` must be \"2.0\""));
    }
    if root.get("id").is_some_and(|id| !is_id(id) && !id.is_null()) {
        return Err(wrong("`id` must be a string or a number"));
    }
    let Some(method) = root.get("method").and_then(Node::str) else {
        return Err(wrong("`method` must be a string"));
    };
    let found = METHODS.iter().find_map(|(operation, new, old)| match &*method {
        name if name == *new => Some((*operation, Version::V1)),
        name if name == *old => Some((*operation, Version::V03)),
        _ => None,
    });
    let unknown = || {
        let method = selvedge_protocol::validate::brief(&method);
        Fault::new(What::Method, format!("there is no method `{method}`"))
    };
    let found = found.ok_or_else(unknown)?;
    if root.some("params").is_some_and(|params| !params.is_object()) {
        return Err(Fault::at("", "`params` must be an object"));
    }
    Ok(found)
}

async fn run(
    caller: &Caller,
    operation: Operation,
    root: Node<'_, '_>,
    binding: &Binding,
) -> Result<Answer, Fault> {
    caller.spoken()?;
    let nothing =
        Doc::parse("{}").map_err(|error| Fault::new(What::Internal, error.to_string()))?;
    let params = root.some("params").unwrap_or_else(|| nothing.root());
    match operation {
        Operation::Get | Operation::List | Operation::Subscribe | Operation::Card => {}
        _ => caller.needs(Scope::Both)?,
    }
    match operation {
        Operation::Send => send::send(caller, params).await,
        Operation::Stream => stream::send(caller, params, binding).await,
        Operation::Get => tasks::get(caller, params).await,
        Operation::List => tasks::list(caller, params).await,
        Operation::Cancel => tasks::cancel(caller, params).await,
        Operation::Subscribe => stream::subscribe(caller, params, binding).await,
        Operation::SetPush => push::set(caller, params).await,
        Operation::GetPush => push::get(caller, params).await,
        Operation::ListPush => push::list(caller, params).await,
        Operation::DeletePush => push::delete(caller, params).await,
        Operation::Card => card::extended(caller),
    }
}
