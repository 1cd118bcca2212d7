//! Tools that an agent speaks with: questions, and thoughts that others get to see.

use serde_json::{Value, json};

use super::{Doer, SchemaError, Tool, Whom};
use crate::model::ToolSpec;

/// Whose thoughts are that an agent shares: no provider takes them back.
pub(crate) const SHARED: &str = "selvedge";

/// Tools for questions, and what each is called in a configuration.
pub const ASK: &[(&str, &str)] = &[("user", "ask_user"), ("coordinator", "ask_coordinator")];
/// The tool for thoughts.
pub const THOUGHTS: &[(&str, &str)] = &[("share", "think")];

/// Types of questions.
const TYPES: [&str; 4] = ["clarification", "confirmation", "selection", "custom"];
/// Types of thoughts.
const THOUGHT_TYPES: [&str; 6] =
    ["planning", "reasoning", "reflection", "decision", "observation", "strategy"];

/// The tools.
pub fn tools() -> Result<Vec<Tool>, SchemaError> {
    let ask = |name: &str, description: &str, whom| {
        let schema = questions();
        let (name, description) = (name.to_owned(), description.to_owned());
        Tool::new(ToolSpec { name, description, schema }, Doer::Ask(whom))
    };
    Ok(vec![
        ask(
            "ask_user",
            "Ask the user and wait for the answer. Use it for what only the user can decide: \
             money, consent, wishes. With `options` they choose one; with `schema` they fill in a \
             form.",
            Whom::User,
        )?,
        ask(
            "ask_coordinator",
            "Ask whoever coordinates your work and wait for the answer. If they cannot tell, the \
             user is asked.",
            Whom::Coordinator,
        )?,
        Tool::new(
            ToolSpec {
                name: "think".to_owned(),
                description: "Share a thought with those who follow your work: what you plan, \
                              notice or decide, in a sentence or two. Nobody answers."
                    .to_owned(),
                schema: thoughts(),
            },
            Doer::Share,
        )?,
    ])
}

fn questions() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": 8000},
            "type": {"enum": TYPES, "description": "`clarification` if it is not said."},
            "options": {"type": "array", "minItems": 1, "maxItems": 100,
                        "description": "For `selection`: what there is to choose from."},
            "multiple": {"type": "boolean", "description": "Whether several may be chosen."},
            "schema": {"type": "object", "description": "JSON Schema that the answer must fit."},
            "urgency": {"enum": ["low", "medium", "high"]},
            "timeout": {"type": "integer", "minimum": 1, "maximum": 2_592_000,
                        "description": "Seconds after which nobody needs to answer any more."},
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

fn thoughts() -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": {"type": "string", "minLength": 1, "maxLength": 8000},
            "type": {"enum": THOUGHT_TYPES, "description": "`reasoning` if it is not said."},
            "verbosity": {"enum": ["brief", "normal", "detailed"]},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "alternatives": {"type": "array", "maxItems": 20,
                             "items": {"type": "string", "maxLength": 2000}},
            "related_to": {"type": "string", "maxLength": 256,
                           "description": "Another thought or a tool call, by its id."},
        },
        "required": ["content"],
        "additionalProperties": false,
    })
}
