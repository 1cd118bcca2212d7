//! Thoughts that an agent shares.

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use serde_json::{Value, json};

use super::Doing;
use crate::journal::JournalError;
use crate::tool::builtin::SHARED;

impl Doing {
    /// Shares a thought. It and the call's end are one append, so it is shared once.
    pub(super) async fn share(&self, arguments: &Value) -> Result<(), JournalError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let mut metadata = json!({"source": "tool-call"});
        let known = [
            ("confidence", "confidence"),
            ("alternatives", "alternatives"),
            ("related_to", "relatedTo"),
        ];
        for (argument, name) in known {
            if let Some(value) = arguments.get(argument) {
                metadata[name] = value.clone();
            }
        }
        let thought = Event::new(Kind::ThoughtStream)
            .with_str("thoughtId", &self.place())
            .with_str("thoughtType", text("type").unwrap_or("reasoning"))
            .with_str("verbosity", text("verbosity").unwrap_or("normal"))
            .with_str("content", text("content").unwrap_or_default())
            .with("index", Raw::owned(self.thoughts.to_string()))
            .with_str("providerName", SHARED)
            .with("metadata", Raw::owned(metadata.to_string()));
        let done = self
            .complete(Raw::Ref("true"))
            .with("outcome", Raw::Ref("\"success\""))
            .with("result", Raw::Ref("{\"shared\":true}"));
        self.writer.append(vec![self.start("local"), thought, done]).await.map(|_| ())
    }
}
