//! What whoever asks an agent wishes for the answer: tools of their own, and how to answer.
//!
//! Wishes stand in the metadata of the message that a task answers, or of the task itself, under
//! `request`, in the words that the Agent API, AG-UI and OpenAI share: `tools`, `temperature`,
//! `top_p`, `max_tokens`.
//!
//! Invariant: a wish adds tools that the one who asks runs, and takes none of the agent's own; a
//! bound gets narrower only.

use std::sync::Arc;

use selvedge_protocol::journal::{Event, Kind};
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::model::ToolSpec;
use crate::tool::{Doer, Tool};

/// Tools that one message may bring.
pub const TOOLS: usize = 128;

/// The wishes of the message that was said last.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    message: String,
    request: Option<Value>,
}

impl Wishes {
    /// Takes an event in; where it makes this task, gives the agent as it was wished for.
    pub(crate) fn apply(
        &mut self,
        event: &Event<'_>,
        task: &str,
        agent: &Arc<Agent>,
    ) -> Option<Arc<Agent>> {
        match event.kind() {
            Kind::Message => {
                self.message = event.str("messageId").unwrap_or_default().into_owned();
                self.request = request(event);
                None
            }
            Kind::TaskCreated if event.str("taskId").is_some_and(|own| own == task) => {
                let own = event.str("messageId").is_some_and(|own| own == self.message);
                let said = self.request.take().filter(|_| own);
                Some(Arc::new(granted(agent, &request(event).or(said)?)))
            }
            _ => None,
        }
    }
}

/// What an event wishes for.
fn request(event: &Event<'_>) -> Option<Value> {
    serde_json::from_str(&event.at("metadata", "/request")?).ok()
}

/// An agent as it was wished for.
fn granted(agent: &Agent, request: &Value) -> Agent {
    let mut granted = agent.clone();
    let own = |tool: &Tool| {
        agent.tools.iter().any(|own| own.spec.name == tool.spec.name)
            || agent.servers.iter().any(|server| server.may_have(&tool.spec.name))
    };
    // Whoever took the request has refused tools that cannot be.
    let brought = tools(request).unwrap_or_default();
    granted.tools.extend(brought.into_iter().filter(|tool| !own(tool)).map(Arc::new));
    let number = |name: &str| request.get(name).and_then(Value::as_f64);
    let settings = &mut granted.settings;
    settings.temperature = number("temperature").or(settings.temperature);
    if let Some(top_p) = request.get("top_p").filter(|top_p| top_p.is_number()) {
        settings.extra.insert("top_p".to_owned(), top_p.clone());
    }
    let wished = request.get("max_tokens").and_then(Value::as_u64);
    let wished = wished.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0);
    let most = settings.max_tokens.unwrap_or(u32::MAX);
    settings.max_tokens = wished.map(|tokens| tokens.min(most)).or(settings.max_tokens);
    granted
}

/// The tools that a request brings (`tools`); else why they cannot be, and where.
pub fn tools(request: &Value) -> Result<Vec<Tool>, (String, String)> {
    let none = Vec::new();
    let list = match request.get("tools") {
        None | Some(Value::Null) => &none,
        Some(Value::Array(list)) => list,
        Some(_) => return Err(("/tools".to_owned(), "expected a list".to_owned())),
    };
    if list.len() > TOOLS {
        return Err(("/tools".to_owned(), format!("a request may bring {TOOLS} tools")));
    }
    let tool = |(i, value): (usize, &Value)| {
        tool(value).map_err(|message| (format!("/tools/{i}"), message))
    };
    list.iter().enumerate().map(tool).collect()
}

/// A tool, as `{"type":"function","function":{…}}` or as the function alone.
fn tool(value: &Value) -> Result<Tool, String> {
    let function = value.get("function").unwrap_or(value);
    let text = |name: &str| function.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    let sane = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(sane) {
        return Err("`name` must be 1 to 64 letters, digits, `_` or `-`".to_owned());
    }
    let empty = || Value::Object(Map::new());
    let schema = function.get("parameters").filter(|schema| schema.is_object()).cloned();
    let mut schema = schema.unwrap_or_else(empty);
    if let Some(members) = schema.as_object_mut() {
        members.entry("type").or_insert_with(|| "object".into());
    }
    let description = text("description").to_owned();
    let spec = ToolSpec { name: name.to_owned(), description, schema };
    Tool::new(spec, Doer::Client).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::json::Doc;
    use serde_json::json;

    use super::*;
    use crate::script::Script;

    fn event(value: &Value) -> Event<'static> {
        let text = value.to_string();
        Event::parse(Doc::parse(&text).unwrap().root()).unwrap().to_owned()
    }

    #[test]
    fn a_message_brings_tools_and_settings_for_the_task_that_answers_it() {
        let mut agent = Agent::new("ada", Arc::new(Script::of(Vec::new())));
        agent.settings.max_tokens = Some(100);
        let agent = Arc::new(agent);
        let tool = json!({"type": "function", "function": {"name": "where", "description": "d"}});
        let request = json!({"tools": [tool], "max_tokens": 500, "temperature": 0.5});
        let said = |id: &str| {
            event(&json!({"kind": "message", "role": "user", "content": "x", "messageId": id,
                          "metadata": {"request": request}}))
        };
        let made = |message: &str| {
            event(&json!({"kind": "task-created", "taskId": "t", "messageId": message}))
        };
        let mut wishes = Wishes::default();
        assert!(wishes.apply(&said("m"), "t", &agent).is_none());
        assert!(wishes.apply(&made("m"), "other", &agent).is_none());
        let granted = wishes.apply(&made("m"), "t", &agent).unwrap();
        assert_eq!(granted.tools[0].spec.name, "where");
        assert_eq!(granted.settings.max_tokens, Some(100), "bounds get narrower only");
        assert_eq!(granted.settings.temperature, Some(0.5));
        assert!(wishes.apply(&said("m"), "t", &granted).is_none());
        let again = wishes.apply(&made("m"), "t", &granted).unwrap();
        assert_eq!(again.tools.len(), 1, "an agent's own tool is not replaced");
        wishes.apply(&said("n"), "t", &agent);
        assert!(wishes.apply(&made("m"), "t", &agent).is_none(), "another message's");
    }

    #[test]
    fn tools_that_cannot_be_are_refused_with_their_place() {
        let refused = |list: Value| tools(&json!({ "tools": list })).err().map(|(at, _)| at);
        assert_eq!(refused(json!([{"name": "a"}, {"name": "b c"}])).as_deref(), Some("/tools/1"));
        assert_eq!(refused(json!({})).as_deref(), Some("/tools"));
        let broken = json!([{"name": "a", "parameters": {"type": 7}}]);
        assert_eq!(refused(broken).as_deref(), Some("/tools/0"));
        let many: Vec<Value> = (0..=TOOLS).map(|i| json!({"name": format!("t{i}")})).collect();
        assert_eq!(refused(many.into()).as_deref(), Some("/tools"));
        assert_eq!(refused(Value::Null), None);
    }
}
