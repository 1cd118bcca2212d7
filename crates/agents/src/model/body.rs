//! Putting a request together: the conversation as it was written, the other members beside it.

use serde_json::{Map, Value, json};

use super::{Effort, Settings, Thinking, ToolSpec};

/// Members that the thread and the model decide, never a setting.
const OURS: &[&str] =
    &["contents", "input", "instructions", "messages", "stream", "system", "systemInstruction"];

/// A request: the members of `seen`, which is JSON text of an object that is not empty, and the
/// others, with the settings of this provider merged in last. The conversation is not read again,
/// so what is in it stays as it was written.
pub(super) fn body(seen: &str, members: Value, settings: &Settings) -> String {
    let mut members = members;
    let extra: Map<String, Value> = settings
        .extra
        .iter()
        .filter(|(name, _)| !OURS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    merge(&mut members, &Value::Object(extra));
    let rest = members.to_string();
    let (head, rest) = (seen.strip_suffix('}').unwrap_or(seen), rest.get(1..).unwrap_or("}"));
    let comma = if rest == "}" { "" } else { "," };
    format!("{head}{comma}{rest}")
}

/// Merges as RFC 7396 does.
fn merge(into: &mut Value, patch: &Value) {
    let (Value::Object(into), Value::Object(patch)) = (&mut *into, patch) else {
        *into = patch.clone();
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            into.remove(name);
        } else {
            merge(into.entry(name.clone()).or_insert_with(|| json!({})), value);
        }
    }
}

/// Adds a member, if there is something to add.
pub(super) fn put(members: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(value), Some(members)) = (value, members.as_object_mut()) {
        members.insert(name.to_owned(), value);
    }
}

/// The tools, each written as its provider wants it; nothing where there are none.
pub(super) fn tools(tools: &[ToolSpec], each: fn(&ToolSpec, Value) -> Value) -> Option<Value> {
    let list = || tools.iter().map(|tool| each(tool, schema(tool))).collect();
    (!tools.is_empty()).then(|| Value::Array(list()))
}

/// A tool's schema with what every provider asks of one, even for a tool without arguments.
fn schema(tool: &ToolSpec) -> Value {
    let mut schema = tool.schema.clone();
    if !schema.is_object() {
        schema = json!({});
    }
    if let Some(members) = schema.as_object_mut() {
        members.entry("type").or_insert_with(|| json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// A temperature as it is written; what is no number is left out.
pub(super) fn temperature(settings: &Settings) -> Option<Value> {
    settings.temperature.filter(|t| t.is_finite()).map(|t| json!(t))
}

impl Thinking {
    /// The effort that is meant, or that is nearest to a number of tokens.
    pub(super) fn effort(self) -> Effort {
        match self {
            Self::Effort(effort) => effort,
            Self::Tokens(0..=512) => Effort::Minimal,
            Self::Tokens(513..=4096) => Effort::Low,
            Self::Tokens(4097..=16384) => Effort::Medium,
            Self::Tokens(_) => Effort::High,
        }
    }
}

impl Effort {
    /// Its name, as OpenAI and Anthropic spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_adds_is_merged_last_and_the_conversation_stays_as_written() {
        let extra = json!({
            "thinking": {"display": "omitted"},
            "stream_options": null,
            "messages": [],
            "stream": false,
            "top_k": 3
        });
        let Value::Object(extra) = extra else { panic!() };
        let settings = Settings { extra, ..Settings::default() };
        let members =
            json!({"stream": true, "stream_options": {}, "thinking": {"type": "adaptive"}});
        let written = body(r#"{"messages":[1.0e2]}"#, members, &settings);
        assert!(written.starts_with(r#"{"messages":[1.0e2],"#), "{written}");
        assert_eq!(
            serde_json::from_str::<Value>(&written).unwrap(),
            json!({"messages": [100.0], "stream": true, "top_k": 3,
                "thinking": {"type": "adaptive", "display": "omitted"}})
        );
        assert_eq!(body("{\"a\":1}", json!({}), &Settings::default()), "{\"a\":1}");
    }
}
