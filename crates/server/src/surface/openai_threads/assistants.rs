//! Assistants: the agents that work here. They are configuration, so nobody makes one by a request.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use selvedge_agents::Member;
use serde_json::{Value, json};

use super::pages::{Asked, answer, list as listed};
use crate::extract::Id;
use crate::query::Query;
use crate::{App, Error, ErrorCode};

/// `GET /v1/assistants`
pub(super) async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let asked = Asked::new(&Query::new(query.as_deref()))?;
    let mut all: Vec<Value> = members(&app).map(object).collect();
    all.sort_by(|one, other| one["id"].as_str().cmp(&other["id"].as_str()));
    Ok(listed(asked.of(all, |assistant| assistant["id"].as_str().unwrap_or_default())?))
}

/// `GET /v1/assistants/{id}`
pub(super) async fn retrieve(State(app): State<App>, Id(id): Id) -> Result<Response, Error> {
    let found = members(&app).find(|member| member.id() == id).map(object);
    let found = found.ok_or_else(|| {
        let id = selvedge_protocol::validate::brief(&id);
        Error::new(ErrorCode::NotFound, format!("assistant `{id}` not found"))
    })?;
    Ok(answer(&found))
}

fn members(app: &App) -> impl Iterator<Item = &Member> {
    app.desk().into_iter().flat_map(|desk| desk.members())
}

fn object(member: &Member) -> Value {
    let agent = match member {
        Member::Here(agent) => Some(agent),
        Member::Worker(_) | Member::Remote(_) => None,
    };
    let mind = agent.and_then(|agent| agent.minds.first());
    let tools = agent.iter().flat_map(|agent| &agent.tools);
    let tools: Vec<Value> = tools
        .map(|tool| {
            let spec = &tool.spec;
            json!({ "type": "function", "function": {
                "name": spec.name, "description": spec.description, "parameters": spec.schema,
            } })
        })
        .collect();
    json!({
        "id": member.id(), "object": "assistant", "created_at": 0, "name": member.id(),
        "description": null, "model": mind.map_or("", |mind| mind.name()),
        "instructions": null, "tools": tools, "tool_resources": {}, "metadata": {},
        "temperature": null, "top_p": null, "response_format": "auto",
    })
}
