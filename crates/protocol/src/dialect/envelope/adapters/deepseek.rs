//! DeepSeek: a system text for the intent, and a user text for the rest. Ours, in the document's
//! manner: it has none.

use super::{Prompt, content, context, data, envelope, literal, sliced, string};
use crate::dialect::envelope::js::{self, Indent};
use crate::json::{Node, Raw};

/// `toEnvelope(prompt)`. `prompt` is a JSON string.
pub fn to_envelope(prompt: &Raw<'_>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"deepseek.generic","name":"DeepSeek","model":"deepseek-chat"}"#;
    let task = sliced(prompt);
    envelope(agent, timestamp, "analyze", &task, None, "text", &string(prompt))
}

pub(super) fn from_envelope(envelope: Node<'_, '_>) -> Prompt {
    let mut system = String::from("Your intent: ");
    js::interpolate(envelope.get("intent"), &mut system);
    system.push_str(". Answer in text, or with one Envelope v1 as JSON.");
    let mut user = String::new();
    js::interpolate(envelope.get("task"), &mut user);
    if let Some(context) = context(envelope) {
        user.push_str("\\n\\nContext: ");
        js::interpolate(Some(context), &mut user);
    }
    user.push_str("\\n\\n");
    match content(envelope, "text") {
        Some(text) => js::interpolate(Some(text), &mut user),
        None => data(content(envelope, "data"), Indent::None, &mut user),
    }
    Prompt::Chat { system: literal(&system), user: literal(&user) }
}
