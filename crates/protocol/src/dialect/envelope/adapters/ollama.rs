//! Ollama, and whatever else is asked with one plain text.

use super::{Prompt, content, context, data, envelope, literal, sliced, string};
use crate::dialect::envelope::js::{self, Indent};
use crate::json::{Node, Raw, quote};

/// Ollama's `toEnvelope(prompt, model)`. `prompt` is a JSON string; the model is `llama3.2` unless
/// given.
pub fn to_envelope(prompt: &Raw<'_>, model: Option<&str>, timestamp: &str) -> Raw<'static> {
    let agent = format!(
        r#"{{"id":"ollama.generic","name":"Ollama","model":{},"version":"2025-10"}}"#,
        quote(model.unwrap_or("llama3.2"))
    );
    let task = sliced(prompt);
    envelope(&agent, timestamp, "execute", &task, None, "text", &string(prompt))
}

pub(super) fn from_envelope(envelope: Node<'_, '_>) -> Prompt {
    let mut body = String::new();
    let set = |node: Option<Node<'_, '_>>| node.is_some_and(js::truthy);
    let intent = envelope.get("intent").filter(|i| js::truthy(*i));
    if let Some(intent) = intent.filter(|i| !i.is("execute")) {
        body.push_str("Task: ");
        js::interpolate(Some(intent), &mut body);
        body.push_str("\\n");
    }
    let task = envelope.get("task");
    if set(task) {
        js::interpolate(task, &mut body);
        body.push_str("\\n\\n");
    }
    let context = context(envelope);
    if set(context) {
        body.push_str("Context: ");
        js::interpolate(context, &mut body);
        body.push_str("\\n\\n");
    }
    let text = content(envelope, "text");
    if set(text) {
        js::interpolate(text, &mut body);
    } else {
        data(content(envelope, "data").filter(|d| js::truthy(*d)), Indent::None, &mut body);
    }
    Prompt::Text(literal(&body))
}
