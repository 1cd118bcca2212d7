//! Claude: a compact prompt with labels.

use super::{Prompt, content, context, data, envelope, literal, sliced, string};
use crate::dialect::envelope::js::{self, Indent};
use crate::json::{Node, Raw};

/// Claude's `toEnvelope(prompt)`. `prompt` is a JSON string.
pub fn to_envelope(prompt: &Raw<'_>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"claude.generic","name":"Claude","model":"claude-3.7-sonnet"}"#;
    let task = sliced(prompt);
    envelope(agent, timestamp, "analyze", &task, None, "text", &string(prompt))
}

pub(super) fn from_envelope(envelope: Node<'_, '_>) -> Prompt {
    let mut body = String::from("[INTENT:");
    js::interpolate(envelope.get("intent"), &mut body);
    body.push_str("] [TASK:");
    js::interpolate(envelope.get("task"), &mut body);
    body.push_str("]\\nCONTEXT:\\n");
    if let Some(context) = context(envelope) {
        js::interpolate(Some(context), &mut body);
    }
    body.push_str("\\nCONTENT:\\n");
    match content(envelope, "text") {
        Some(text) => js::interpolate(Some(text), &mut body),
        None => data(content(envelope, "data"), Indent::None, &mut body),
    }
    Prompt::Text(literal(&body))
}
