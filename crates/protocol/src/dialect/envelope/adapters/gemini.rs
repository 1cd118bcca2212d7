//! Gemini: a goal, and data.

use super::{Prompt, content, context, data, envelope, literal, string};
use crate::dialect::envelope::js::{self, Indent};
use crate::json::{Node, Raw};

/// Gemini's `toEnvelope({goal, data})`. `goal` is a JSON string, `data` any JSON.
pub fn to_envelope(goal: &Raw<'_>, data: Option<&Raw<'_>>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"gemini.generic","name":"Gemini","model":"gemini-2.5-pro"}"#;
    let mut json = String::new();
    match data.filter(|data| !data.is_null()).and_then(|data| data.doc()) {
        Some(doc) => js::stringify(doc.root(), Indent::None, &mut json),
        None => json.push_str("{}"),
    }
    envelope(agent, timestamp, "execute", &string(goal), None, "json", &json)
}

pub(super) fn from_envelope(envelope: Node<'_, '_>) -> Prompt {
    let mut body = String::from("Goal: ");
    js::interpolate(envelope.get("task"), &mut body);
    body.push_str("\\nIntent: ");
    js::interpolate(envelope.get("intent"), &mut body);
    body.push_str("\\nContext: ");
    match context(envelope) {
        Some(context) => js::interpolate(Some(context), &mut body),
        None => body.push_str("n/a"),
    }
    body.push_str("\\nData:");
    data(content(envelope, "data"), Indent::Two, &mut body);
    Prompt::Text(literal(&body))
}
