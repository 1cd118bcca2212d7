//! Questions: whether a tool may be used, what a client is to do, what an agent wants to know.

use std::time::Duration;

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use serde_json::{Value, json};

use super::Doing;
use crate::journal::JournalError;
use crate::tool::{Manner, Tool, Whom};

impl Doing {
    /// Asks a user whether the tool may be used.
    pub(super) async fn ask_consent(&self, tool: &Tool) -> Result<(), JournalError> {
        let prompt = format!("Use {} with {}?", code(&self.call.name), code(&self.call.arguments));
        let asked = Event::new(Kind::InputRequired)
            .with_str("inputId", &self.consent_id())
            .with("inputType", Raw::Ref("\"confirmation\""))
            .with("requireUser", Raw::Ref("true"));
        self.ask(asked, &prompt, tool.manner(), Whom::User).await
    }

    /// Asks whoever is connected to do it.
    pub(super) async fn ask_client(&self, tool: &Tool) -> Result<(), JournalError> {
        let prompt = format!("Execute client-side tool: {}", self.call.name);
        let metadata = format!(
            "{{\"toolCall\":{{\"id\":{},\"function\":{{\"name\":{},\"arguments\":{}}}}}}}",
            quote(&self.call.id),
            quote(&self.call.name),
            quote(&self.call.arguments)
        );
        let asked = Event::new(Kind::InputRequired)
            .with_str("inputId", &self.place())
            .with("inputType", Raw::Ref("\"tool-execution\""))
            .with("metadata", Raw::owned(metadata));
        self.ask(asked, &prompt, tool.manner(), Whom::Coordinator).await
    }

    /// Asks what the agent wants to know.
    pub(super) async fn ask_question(
        &self,
        tool: &Tool,
        whom: Whom,
        arguments: &Value,
    ) -> Result<(), JournalError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let options = arguments.get("options").filter(|options| options.is_array());
        let usual = if options.is_some() { "selection" } else { "clarification" };
        let ty = text("type").unwrap_or(usual);
        if ty == "selection" && options.is_none() {
            let message = "`/options` is missing: what is there to choose from?";
            return self.failed("validation_error", message).await;
        }
        let given = |name: &str| arguments.get(name).map(|value| Raw::owned(value.to_string()));
        let mut metadata = json!({});
        for name in ["urgency", "timeout", "multiple"] {
            if let Some(value) = arguments.get(name) {
                metadata[name] = value.clone();
            }
        }
        let mut asked = Event::new(Kind::InputRequired)
            .with_str("inputId", &self.place())
            .with_str("inputType", ty)
            .with("requireUser", Raw::Ref(if whom == Whom::User { "true" } else { "false" }))
            .with_some("options", options.map(|options| Raw::owned(options.to_string())))
            .with_some("schema", given("schema"));
        if metadata.as_object().is_some_and(|metadata| !metadata.is_empty()) {
            asked = asked.with("metadata", Raw::owned(metadata.to_string()));
        }
        let timeout = arguments.get("timeout").and_then(Value::as_u64).map(Duration::from_secs);
        let prompt = text("question").unwrap_or_default();
        let usual = tool.manner();
        let manner = Manner { patience: timeout.or(usual.patience), ..usual };
        self.ask(asked, prompt, manner, whom).await
    }

    /// Writes a question down, and who is to answer it first.
    async fn ask(
        &self,
        asked: Event<'static>,
        prompt: &str,
        manner: Manner,
        whom: Whom,
    ) -> Result<(), JournalError> {
        let asked = asked.with_str("prompt", prompt).with_str("toolCallId", &self.call.id);
        let asked = manner.of(asked);
        let coordinator = self.coordinator.as_deref().filter(|_| whom == Whom::Coordinator);
        let mut events = vec![asked];
        let waits_for = match coordinator {
            Some(agent) => {
                let (task, made) = self.consult(agent, &events[0], 1, None);
                events.extend(made);
                task
            }
            None => "user".to_owned(),
        };
        let input = events[0].get("inputId").map_or_else(String::new, ToString::to_string);
        let metadata = format!("{{\"blockedBy\":{},\"inputId\":{input}}}", quote(&waits_for));
        events.push(
            Event::new(Kind::TaskStatus)
                .with("status", Raw::Ref("\"waiting-input\""))
                .with_str("message", prompt)
                .with("metadata", Raw::owned(metadata)),
        );
        self.writer.append(events).await.map(|_| ())
    }
}

/// A text as code in Markdown, whatever marks are in it.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    if longest == 0 {
        return format!("`{text}`");
    }
    let marks = "`".repeat(longest + 1);
    format!("{marks} {text} {marks}")
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn code_is_code_whatever_marks_are_in_it() {
        assert_eq!(code(r#"{"a":1}"#), r#"`{"a":1}`"#);
        assert_eq!(code("a `b` ``c``"), "``` a `b` ``c`` ```");
    }
}
