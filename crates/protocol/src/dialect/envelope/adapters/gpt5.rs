//! GPT-5: is told to speak envelopes itself.

use super::{Prompt, context, envelope, literal, sliced, string};
use crate::dialect::envelope::js::{self, Indent};
use crate::json::{Node, Raw};

/// GPT-5's `toEnvelope(system, user)`. Both are JSON strings.
pub fn to_envelope(system: &Raw<'_>, user: &Raw<'_>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"gpt5.generic","name":"GPT‑5","model":"gpt-5"}"#;
    let task = sliced(user);
    envelope(agent, timestamp, "plan", &task, Some(&string(system)), "text", &string(user))
}

pub(super) fn from_envelope(envelope: Node<'_, '_>) -> Prompt {
    let mut system = String::from("You speak Envelope v1. Intent=");
    js::interpolate(envelope.get("intent"), &mut system);
    system.push_str(". Return JSON only.");
    let mut json = String::from("{");
    if let Some(task) = envelope.get("task") {
        json.push_str("\"task\":");
        js::stringify(task, Indent::None, &mut json);
        json.push(',');
    }
    json.push_str("\"context\":");
    match context(envelope) {
        Some(context) => js::stringify(context, Indent::None, &mut json),
        None => json.push_str("null"),
    }
    json.push('}');
    Prompt::Chat { system: literal(&system), user: Raw::string(&json) }
}
