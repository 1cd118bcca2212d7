//! The handshake, which is also the health message: who is here, and what they take.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_agents::router::Team as _;
use selvedge_protocol::dialect::envelope::INTENTS;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Node, Raw};
use serde_json::{Value, json};

use super::fault::envelope;
use crate::App;

/// `GET /envelopes/handshake`
pub(super) async fn show(State(app): State<App>) -> Response {
    answer(&app)
}

/// The server's own handshake.
pub(super) fn answer(app: &App) -> Response {
    let body = ours(app).to_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn ours(app: &App) -> Value {
    let desk = app.desk();
    let agents: Vec<Value> = desk
        .into_iter()
        .flat_map(|desk| desk.members().map(move |member| (desk, member.id())))
        .map(|(desk, id)| {
            let rules = desk.rules().agents.iter().filter(|(_, agent)| *agent == id);
            let intents: Vec<&String> = rules.map(|(intent, _)| intent).collect();
            json!({ "id": id, "model": desk.model(id), "intents": intents })
        })
        .collect();
    let status = match desk {
        Some(desk) if desk.is_busy() => "busy",
        Some(_) => "ready",
        None => "no agents",
    };
    let data = json!({
        "supports": ["text", "code", "json", "tool_result", "error"],
        "intents": INTENTS,
        "modes": ["parent", "mux-v1"],
        "agents": agents,
        "status": status,
    });
    envelope("Announce envelope support and capabilities", &json!({ "type": "json", "data": data }))
}

/// Whether an envelope only says what its sender supports.
pub(super) fn is_handshake(envelope: Node<'_, '_>) -> bool {
    envelope.get("role").is_some_and(|role| role.is("system"))
        && envelope.get("intent").is_some_and(|intent| intent.is("reflect"))
        && envelope.pointer("/content/data/supports").is_some_and(Node::is_array)
}

/// Whoever says what they support takes part, with that.
pub(super) fn joined(envelope: Node<'_, '_>) -> Option<Event<'static>> {
    let agent = envelope.get("agent")?;
    let id = agent.get("id").filter(|id| id.is_string())?;
    let supports = envelope.pointer("/content/data/supports")?;
    let mut event = Event::new(Kind::ParticipantJoined)
        .with("participantId", Raw::owned(id.raw()))
        .with("role", Raw::Ref("\"agent\""));
    for name in ["name", "model", "version"] {
        if let Some(value) = agent.get(name).filter(|value| value.is_string()) {
            event = event.with(name, Raw::owned(value.raw()));
        }
    }
    let supports: Vec<String> =
        supports.children().map(|one| format!("{{\"schema\":{}}}", one.raw())).collect();
    let mut event = event.with("capabilities", Raw::owned(format!("[{}]", supports.join(","))));
    event.single_line();
    Some(event)
}
