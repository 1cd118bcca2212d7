//! Agent cards: one for both versions, and a longer one for who has a key.

use std::sync::LazyLock;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use selvedge_agents::Member;
use selvedge_protocol::dialect::a2a::EVENTS_EXTENSION;
use selvedge_protocol::time;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::answer::Answer;
use super::caller::{Caller, Version, base};
use super::fault::{Fault, What};
use super::message::MODES;
use super::relay::SEQUENCE;
use crate::app::A2aVersions;
use crate::auth::Principal;
use crate::clock::now;
use crate::query::Query;
use crate::{App, Error, ErrorCode};

/// Members that only 0.3 has.
const OLD: [&str; 6] = [
    "additionalInterfaces",
    "preferredTransport",
    "protocolVersion",
    "security",
    "supportsAuthenticatedExtendedCard",
    "url",
];
/// How long a card may be kept, in seconds.
const MAX_AGE: u32 = 300;

/// `GET /.well-known/agent-card.json`
pub(super) async fn shown(State(app): State<App>, headers: HeaderMap) -> Response {
    let agent = app.agent().map(str::to_owned);
    let mut card = card(&app, &base(&app, &headers), agent.as_deref(), Entry::Both("/a2a"));
    // Who says that it reads 1.0 gets what 1.0 has, and nothing else.
    let asked = Version::asked(&headers, &Query::new(None));
    if app.options().a2a == A2aVersions::Newest || matches!(asked, Ok(Some(Version::V1))) {
        narrow(&mut card);
    }
    answered(&card, &headers)
}

/// `GET /a2a/agents/{agent}/.well-known/agent-card.json`
pub(super) async fn of_agent(
    State(app): State<App>,
    Extension(_): Extension<Principal>,
    Path(agent): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    known(&app, &agent)?;
    let path = format!("/a2a/agents/{}", crate::surface::native::threads::encode(&agent));
    Ok(answered(&card(&app, &base(&app, &headers), Some(&agent), Entry::Rpc(&path)), &headers))
}

/// Refuses an agent that is not here.
pub(super) fn known(app: &App, agent: &str) -> Result<(), Error> {
    let member = app.desk().and_then(|desk| desk.member(agent));
    match member {
        Some(_) => Ok(()),
        None => {
            let agent = selvedge_protocol::validate::brief(agent);
            Err(Error::new(ErrorCode::NotFound, format!("there is no agent `{agent}`")))
        }
    }
}

/// `GetExtendedAgentCard`: with what the agent can use, and the other agents.
pub(super) fn extended(caller: &Caller) -> Result<Answer, Fault> {
    let app = &caller.app;
    // In 0.3 it is for those who have shown who they are, and here nobody can.
    if caller.version == Version::V03 && app.is_open() {
        let message = "without keys there is no other card than the public one";
        return Err(Fault::new(What::NoExtendedCard, message));
    }
    let agent = caller.agent.as_deref().or_else(|| app.agent());
    let path = caller.agent.as_ref().map(|agent| format!("/a2a/agents/{agent}"));
    let entry = path.as_deref().map_or(Entry::Both("/a2a"), Entry::Rpc);
    let mut card = card(app, &caller.base, agent, entry);
    let members = app.desk().into_iter().flat_map(|desk| desk.members());
    let mut more = Vec::new();
    for member in members {
        if Some(member.id()) != agent {
            more.push(skill(member.id(), &format!("Asks the agent `{}`.", member.id()), "agent"));
        } else if let Member::Here(own) = member {
            let tools = own.tools.iter();
            more.extend(tools.map(|tool| skill(&tool.spec.name, &tool.spec.description, "tool")));
        }
    }
    if let Some(skills) = card["skills"].as_array_mut() {
        skills.extend(more);
    }
    if caller.version == Version::V1 {
        narrow(&mut card);
    }
    Ok(Answer::Json(card.to_string()))
}

/// Leaves out what only 0.3 reads.
fn narrow(card: &mut Value) {
    let Some(members) = card.as_object_mut() else { return };
    for name in OLD {
        members.remove(name);
    }
    if let Some(Value::Object(capabilities)) = members.get_mut("capabilities") {
        capabilities.remove("stateTransitionHistory");
    }
    let schemes = members.get_mut("securitySchemes").and_then(Value::as_object_mut);
    for scheme in
        schemes.into_iter().flat_map(|all| all.values_mut()).filter_map(Value::as_object_mut)
    {
        scheme.remove("type");
        scheme.remove("scheme");
    }
}

/// Where a card's agent is asked.
#[derive(Clone, Copy)]
enum Entry<'p> {
    /// Through both bindings.
    Both(&'p str),
    /// Through JSON-RPC.
    Rpc(&'p str),
}

/// The card: what 1.0 reads, and what 0.3 reads beside it.
fn card(app: &App, base: &str, agent: Option<&str>, entry: Entry<'_>) -> Value {
    let name = agent.unwrap_or("selvedge");
    let about = match agent {
        Some(agent) => format!("The agent `{agent}`, in durable threads."),
        None => "Agents in durable threads.".to_owned(),
    };
    let (path, bindings): (&str, &[&str]) = match entry {
        Entry::Both(path) => (path, &["JSONRPC", "HTTP+JSON"]),
        Entry::Rpc(path) => (path, &["JSONRPC"]),
    };
    let url = format!("{base}{path}");
    let versions: &[&str] = match app.options().a2a {
        A2aVersions::All => &["1.0", "0.3"],
        A2aVersions::Newest => &["1.0"],
    };
    let versions = versions.iter();
    let supported: Vec<Value> = versions
        .flat_map(|version| bindings.iter().map(move |binding| (version, binding)))
        .map(|(version, binding)| {
            json!({ "url": url, "protocolBinding": binding, "protocolVersion": version })
        })
        .collect();
    let additional: Vec<Value> =
        bindings.iter().map(|binding| json!({ "url": url, "transport": binding })).collect();
    let extensions = json!([
        {
            "uri": EVENTS_EXTENSION,
            "description": "Tool calls, thoughts, subtasks and all else that happens, as events in \
                            the metadata of status updates",
            "required": false,
        },
        {
            "uri": SEQUENCE,
            "description": "Comes with the events: the place of each in the thread, to resume from \
                            with `Last-Event-ID`",
            "required": false,
        },
    ]);
    let mut card = json!({
        "name": name,
        "description": about,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": supported,
        "capabilities": {
            "streaming": true,
            "pushNotifications": true,
            "stateTransitionHistory": true,
            "extendedAgentCard": true,
            "extensions": extensions,
        },
        "defaultInputModes": MODES,
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [skill(name, &about, "agent")],
        "url": url,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": additional,
        "protocolVersion": "0.3.0",
        "supportsAuthenticatedExtendedCard": !app.is_open(),
    });
    if !app.is_open() {
        card["securitySchemes"] = json!({ "bearer": {
            "httpAuthSecurityScheme": { "scheme": "Bearer" },
            "type": "http",
            "scheme": "bearer",
        }});
        card["securityRequirements"] = json!([{ "schemes": { "bearer": { "list": [] } } }]);
        card["security"] = json!([{ "bearer": [] }]);
    }
    card
}

/// Agents and what they can do change with the process only.
static MADE: LazyLock<i64> = LazyLock::new(now);

/// A time as headers have it.
fn http_date(millis: i64) -> Option<String> {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time::from_millis(millis)?;
    let day = DAYS.get(usize::try_from(millis.div_euclid(86_400_000).rem_euclid(7)).ok()?)?;
    let month = text.get(5..7)?.parse::<usize>().ok()?.checked_sub(1)?;
    let (year, date, clock) = (text.get(..4)?, text.get(8..10)?, text.get(11..19)?);
    Some(format!("{day}, {date} {} {year} {clock} GMT", MONTHS.get(month)?))
}

fn skill(id: &str, about: &str, tag: &str) -> Value {
    json!({ "id": id, "name": id, "description": about, "tags": [tag] })
}

fn answered(card: &Value, headers: &HeaderMap) -> Response {
    let body = card.to_string();
    let digest = Sha256::digest(body.as_bytes());
    let digest: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{digest}\"");
    let mut response = match headers.get(header::IF_NONE_MATCH) {
        Some(own) if own.as_bytes() == etag.as_bytes() => StatusCode::NOT_MODIFIED.into_response(),
        _ => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
    };
    let own = response.headers_mut();
    let age = format!("public, max-age={MAX_AGE}");
    for (name, value) in [(header::CACHE_CONTROL, age), (header::ETAG, etag)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            own.insert(name, value);
        }
    }
    if let Some(made) = http_date(*MADE).and_then(|made| HeaderValue::from_str(&made).ok()) {
        own.insert(header::LAST_MODIFIED, made);
    }
    own.insert(header::VARY, HeaderValue::from_static("host, a2a-version"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_headers_have_them() {
        assert_eq!(http_date(784_111_777_000).as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert_eq!(http_date(0).as_deref(), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
    }
}
