//! What a server wants to know from a user.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value, json};

use crate::tool::{Invocation, Question, Schema};
use crate::turn::Answer;

/// How often a user is asked for an answer that fits.
const TRIES: usize = 3;
/// Bytes of a question.
const PROMPT: usize = 4 << 10;

/// Asks a user; `number` counts questions. Addresses to visit are declined: nobody here can tell
/// whether they are safe.
pub(super) async fn answer(
    request: &ElicitRequestParams,
    call: &Invocation,
    number: impl Fn() -> usize,
) -> ElicitResult {
    let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
    else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let schema = serde_json::to_value(requested_schema).unwrap_or_else(|_| json!({}));
    let Ok(fits) = Schema::new(&schema) else {
        return ElicitResult::new(ElicitationAction::Cancel);
    };
    let asked = message.get(..message.floor_char_boundary(PROMPT)).unwrap_or_default();
    let mut prompt = asked.to_owned();
    for _ in 0..TRIES {
        let question = Question { prompt, schema: or_no(&schema) };
        let value = match call.ask(number(), &question).await {
            Ok(Answer::Value(text)) => serde_json::from_str(&text).unwrap_or(Value::Null),
            Ok(Answer::Expired) => return ElicitResult::new(ElicitationAction::Cancel),
            Err(error) => {
                tracing::warn!(%error, "a question of an MCP server was not asked");
                return ElicitResult::new(ElicitationAction::Cancel);
            }
        };
        match read(value, &schema) {
            (ElicitationAction::Accept, content) => match fits.check(&content) {
                Ok(()) => {
                    return ElicitResult::new(ElicitationAction::Accept).with_content(content);
                }
                Err(said) => prompt = format!("{asked}\n\nThe last answer does not fit: {said}"),
            },
            (action, _) => return ElicitResult::new(action),
        }
    }
    ElicitResult::new(ElicitationAction::Decline)
}

/// The form, or a no.
fn or_no(form: &Value) -> Value {
    let no = json!({
        "type": "object",
        "properties": {"action": {"enum": ["decline", "cancel"]}},
        "required": ["action"],
    });
    json!({"anyOf": [form, no]})
}

/// What an answer means: the protocol's own form, the content alone, or a no.
fn read(value: Value, schema: &Value) -> (ElicitationAction, Value) {
    match value {
        Value::Null | Value::Bool(false) if !takes_bool(schema) => {
            (ElicitationAction::Decline, Value::Null)
        }
        Value::Object(mut members) => match members.get("action").and_then(Value::as_str) {
            Some("accept") => {
                let content = members.remove("content").unwrap_or_else(|| json!({}));
                (ElicitationAction::Accept, content)
            }
            Some("decline") => (ElicitationAction::Decline, Value::Null),
            Some("cancel") => (ElicitationAction::Cancel, Value::Null),
            _ => (ElicitationAction::Accept, Value::Object(members)),
        },
        // A form of one field may be answered with its value.
        other => match only(schema) {
            Some((name, _)) => (ElicitationAction::Accept, json!({name: other})),
            None => (ElicitationAction::Accept, other),
        },
    }
}

/// Whether a form has one field, for yes or no.
fn takes_bool(schema: &Value) -> bool {
    only(schema).is_some_and(|(_, field)| field["type"] == "boolean")
}

/// The one field of a form.
fn only(schema: &Value) -> Option<(&String, &Value)> {
    let mut fields = schema.get("properties")?.as_object()?.iter();
    fields.next().filter(|_| fields.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_in_each_of_their_forms() {
        let form = json!({"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}});
        let one = json!({"properties": {"name": {"type": "string"}}});
        let yes = json!({"properties": {"sure": {"type": "boolean"}}});
        for (value, schema, wanted) in [
            (json!({"name": "Ada"}), &form, (ElicitationAction::Accept, json!({"name": "Ada"}))),
            (
                json!({"action": "accept", "content": {"name": "Ada"}}),
                &form,
                (ElicitationAction::Accept, json!({"name": "Ada"})),
            ),
            (json!({"action": "decline"}), &form, (ElicitationAction::Decline, Value::Null)),
            (json!({"action": "cancel"}), &form, (ElicitationAction::Cancel, Value::Null)),
            (json!(null), &form, (ElicitationAction::Decline, Value::Null)),
            (json!(false), &form, (ElicitationAction::Decline, Value::Null)),
            (json!("Ada"), &one, (ElicitationAction::Accept, json!({"name": "Ada"}))),
            (json!("Ada"), &form, (ElicitationAction::Accept, json!("Ada"))),
            (json!(false), &yes, (ElicitationAction::Accept, json!({"sure": false}))),
        ] {
            assert_eq!(read(value.clone(), schema), wanted, "{value}");
        }
    }
}
