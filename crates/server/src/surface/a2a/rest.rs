//! HTTP+JSON: the same operations under paths. Ids of tasks may have slashes in them, escaped or
//! not: what is asked for is told by how the path ends.

use axum::Extension;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Uri, header};
use selvedge_protocol::json::{Doc, quote};

use super::answer::{Answer, Binding};
use super::caller::{Caller, Version};
use super::fault::{Fault, What};
use super::{card, draft, push, send as sending, stream as streaming, tasks};
use crate::App;
use crate::auth::{Principal, Scope};
use crate::extract::Payload;
use crate::query::Query;

/// What the path of a task asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'p> {
    Task(&'p str),
    Cancel(&'p str),
    Subscribe(&'p str),
    Configs(&'p str),
    Config(&'p str, &'p str),
}

const CONFIGS: &str = "/pushNotificationConfigs";

impl<'p> Wanted<'p> {
    fn read(path: &'p str) -> Self {
        if let Some(task) = path.strip_suffix(":cancel") {
            return Self::Cancel(task);
        }
        if let Some(task) = path.strip_suffix(":subscribe") {
            return Self::Subscribe(task);
        }
        if let Some(task) = path.strip_suffix(CONFIGS) {
            return Self::Configs(task);
        }
        match path.rfind(CONFIGS) {
            Some(at) => {
                let (task, rest) = path.split_at(at);
                match rest.strip_prefix(CONFIGS).and_then(|rest| rest.strip_prefix('/')) {
                    Some(config) if !config.is_empty() => Self::Config(task, config),
                    _ => Self::Task(path),
                }
            }
            None => Self::Task(path),
        }
    }
}

/// A request: who asks, and with what.
struct Asked {
    caller: Caller,
    binding: Binding,
}

impl Asked {
    fn new(app: App, principal: Principal, uri: &Uri, headers: &HeaderMap) -> Result<Self, Fault> {
        let query = Query::new(uri.query());
        // Only the paths of 0.3 have its prefix.
        let of_path = match uri.path().starts_with("/a2a/v1/") {
            true => Version::V03,
            false => Version::V1,
        };
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let accepts = headers.get(header::ACCEPT).and_then(|kind| kind.to_str().ok());
        let a2a =
            [kind, accepts].into_iter().flatten().any(|kind| kind.contains("application/a2a+json"));
        let media = if a2a { "application/a2a+json" } else { "application/json" };
        let version = Version::asked(headers, &query)?;
        let version = version.unwrap_or(of_path);
        let caller = Caller::new(app, principal, version, headers, &query)?;
        caller.spoken()?;
        let binding = match version {
            Version::V1 => Binding::Rest(media),
            Version::V03 => Binding::Draft,
        };
        // The binding of 0.3 is a translation of this one.
        let caller = Caller { version: Version::V1, ..caller };
        Ok(Self { caller, binding })
    }

    /// A body as 1.0 has it.
    fn body(&self, headers: &HeaderMap, body: &[u8]) -> Result<String, Fault> {
        let text = body_text(headers, body)?;
        match self.binding {
            Binding::Draft => draft::request(text),
            _ => Ok(text.to_owned()),
        }
    }

    fn told(&self, answer: Result<Answer, Fault>) -> Response {
        let caller = &self.caller;
        self.binding.told((caller.version, caller.extension), answer)
    }
}

/// Reads a body or what stands for one; a fault if it is no object.
fn params(text: &str) -> Result<Doc<'_>, Fault> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let doc =
        Doc::parse(text).map_err(|error| Fault::new(What::Params, format!("not JSON: {error}")))?;
    if doc.root().is_object() { Ok(doc) } else { Err(Fault::at("", "the body must be an object")) }
}

fn body_text<'b>(headers: &HeaderMap, body: &'b [u8]) -> Result<&'b str, Fault> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    if !body.is_empty() && !kind.is_empty() && !kind.ends_with("json") {
        return Err(Fault::new(What::ContentType, "bodies are `application/json`"));
    }
    std::str::from_utf8(body).map_err(|error| {
        Fault::new(What::Params, format!("invalid UTF-8 at byte {}", error.valid_up_to()))
    })
}

/// Parameters from a query, and some of a path, as an object. Numbers and booleans are told by how
/// they look: nothing else that is asked for looks so.
fn from_query(query: Option<&str>, own: &[(&str, &str)]) -> String {
    let mut out = String::from("{");
    let mut add = |name: &str, value: &str| {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&format!("{}:{value}", quote(name)));
    };
    for (name, value) in own {
        add(name, &quote(value));
    }
    for (name, value) in form_urlencoded::parse(query.unwrap_or("").as_bytes()) {
        if own.iter().any(|(own, _)| *own == name) {
            continue;
        }
        let plain = value.parse::<i64>().is_ok() || matches!(&*value, "true" | "false");
        let text = matches!(&*name, "contextId" | "pageToken" | "status");
        if plain && !text { add(&name, &value) } else { add(&name, &quote(&value)) }
    }
    out.push('}');
    out
}

/// `POST /message:send`
pub(super) async fn send(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Fault> {
    let asked = Asked::new(app, principal, &uri, &headers)?;
    let answer = async {
        let text = asked.body(&headers, &body)?;
        let doc = params(&text)?;
        sending::send(&asked.caller, doc.root()).await
    };
    Ok(asked.told(answer.await))
}

/// `POST /message:stream`
pub(super) async fn stream(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Fault> {
    let asked = Asked::new(app, principal, &uri, &headers)?;
    let answer = async {
        let text = asked.body(&headers, &body)?;
        let doc = params(&text)?;
        streaming::send(&asked.caller, doc.root(), &asked.binding).await
    };
    Ok(asked.told(answer.await))
}

/// `GET /tasks`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let asked = Asked::new(app, principal, &uri, &headers)?;
    let text = from_query(uri.query(), &[]);
    let answer = async { tasks::list(&asked.caller, params(&text)?.root()).await };
    Ok(asked.told(answer.await))
}

/// `GET /tasks/{id}`, `…:subscribe`, and `…/pushNotificationConfigs`
pub(super) async fn get(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Path(path): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let asked = Asked::new(app, principal, &uri, &headers)?;
    let (caller, query) = (&asked.caller, uri.query());
    let answer = async {
        match Wanted::read(&path) {
            Wanted::Task(task) => {
                tasks::get(caller, params(&from_query(query, &[("id", task)]))?.root()).await
            }
            Wanted::Subscribe(task) => {
                let text = from_query(query, &[("id", task)]);
                streaming::subscribe(caller, params(&text)?.root(), &asked.binding).await
            }
            Wanted::Configs(task) => {
                caller.needs(Scope::Both)?;
                push::list(caller, params(&from_query(query, &[("taskId", task)]))?.root()).await
            }
            Wanted::Config(task, id) => {
                caller.needs(Scope::Both)?;
                let text = from_query(query, &[("taskId", task), ("id", id)]);
                push::get(caller, params(&text)?.root()).await
            }
            Wanted::Cancel(_) => Err(Fault::new(What::Method, "a task is canceled with POST")),
        }
    };
    Ok(asked.told(answer.await))
}

/// `POST /tasks/{id}:cancel`, `…:subscribe`, and `…/pushNotificationConfigs`
pub(super) async fn act(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
    uri: Uri,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Fault> {
    let asked = Asked::new(app, principal, &uri, &headers)?;
    let caller = &asked.caller;
    let answer = async {
        let text = asked.body(&headers, &body)?;
        match Wanted::read(&path) {
            Wanted::Cancel(task) => {
                caller.needs(Scope::Both)?;
                tasks::cancel(caller, params(&from_query(None, &[("id", task)]))?.root()).await
            }
            Wanted::Subscribe(task) => {
                let text = from_query(query.as_deref(), &[("id", task)]);
                streaming::subscribe(caller, params(&text)?.root(), &asked.binding).await
            }
            Wanted::Configs(task) => {
                caller.needs(Scope::Both)?;
                push::set_for(caller, task, params(&text)?.root()).await
            }
            Wanted::Task(task) => Err(Fault::no_task(task)),
            Wanted::Config(..) => Err(Fault::new(What::Method, "that is not done with POST")),
        }
    };
    Ok(asked.told(answer.await))
}

/// `DELETE /tasks/{id}/pushNotificationConfigs/{config}`
pub(super) async fn remove(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Path(path): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let asked = Asked::new(app, principal, &uri, &headers)?;
    let answer = async {
        match Wanted::read(&path) {
            Wanted::Config(task, id) => {
                let text = from_query(None, &[("taskId", task), ("id", id)]);
                push::delete(&asked.caller, params(&text)?.root()).await
            }
            Wanted::Task(task) => Err(Fault::no_task(task)),
            _ => Err(Fault::new(What::Method, "that is not done with DELETE")),
        }
    };
    Ok(asked.told(answer.await))
}

/// `GET /extendedAgentCard`
pub(super) async fn extended(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let mut asked = Asked::new(app, principal, &uri, &headers)?;
    if let Binding::Draft = asked.binding {
        // The card is read as JSON.
        asked.caller.version = Version::V03;
        asked.binding = Binding::Rest("application/json");
    }
    Ok(asked.told(card::extended(&asked.caller)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_a_task_is_told_by_the_end_of_its_path() {
        assert_eq!(Wanted::read("m/a"), Wanted::Task("m/a"));
        assert_eq!(Wanted::read("m/a:cancel"), Wanted::Cancel("m/a"));
        assert_eq!(Wanted::read("m/a:subscribe"), Wanted::Subscribe("m/a"));
        assert_eq!(Wanted::read("m/a/pushNotificationConfigs"), Wanted::Configs("m/a"));
        assert_eq!(Wanted::read("m/a/pushNotificationConfigs/c/1"), Wanted::Config("m/a", "c/1"));
    }
}
