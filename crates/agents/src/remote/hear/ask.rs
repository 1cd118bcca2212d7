//! What an agent elsewhere asks, as questions of our task.
//!
//! An agent that wants credentials gets none through the journal: the user is asked to do what it
//! says, and to tell when it is done.

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};

use super::Ear;
use crate::remote::talk::Outcome;

/// A tool call that someone is to do.
pub(super) struct OpenCall {
    id: String,
    name: String,
    arguments: String,
}

/// What is told of a request for credentials, besides its words.
const AUTH: &[&str] = &["authType", "provider", "scopes", "authUrl", "infoUrl"];

impl Ear {
    /// A question, to be asked when the agent waits.
    pub(super) fn asks(&mut self, event: &Event<'_>) {
        let auth = event.kind() == Kind::AuthRequired;
        let id = event.str(if auth { "authId" } else { "inputId" }).map(|id| id.into_owned());
        if id.as_ref().is_some_and(|id| self.answered.contains(id)) {
            return;
        }
        let prompt = event.str("prompt").unwrap_or_default().into_owned();
        let asked = if auth {
            let mut told = String::new();
            for name in AUTH {
                if let Some(value) = event.get(name) {
                    told.push_str(&format!(",{}:{value}", quote(name)));
                }
            }
            self.question(id.as_deref(), &prompt, told.trim_start_matches(','))
                .with("inputType", Raw::Ref("\"confirmation\""))
                .with("requireUser", Raw::Ref("true"))
        } else {
            let mut asked = self.question(id.as_deref(), &prompt, "");
            let schema = event.get("schema").filter(|schema| schema.is_object());
            let options = event.get("options").filter(|options| options.is_array());
            let kind = event.get("inputType").filter(|kind| {
                let usual = ["confirmation", "clarification", "selection", "data"];
                usual.iter().any(|name| kind.is(name))
            });
            asked = asked
                .with("inputType", kind.map_or(Raw::Ref("\"clarification\""), Raw::to_owned))
                .with_some("schema", schema.map(Raw::to_owned))
                .with_some("options", options.map(Raw::to_owned));
            if event.get("requireUser").and_then(Raw::bool) == Some(true) {
                asked = asked.with("requireUser", Raw::Ref("true"));
            }
            asked
        };
        self.questions.push(asked);
    }

    /// A tool call begins or ends; one that has not ended may be for us to do.
    pub(super) fn call(&mut self, event: &Event<'_>) {
        let Some(id) = event.str("toolCallId").map(|id| id.into_owned()) else { return };
        self.calls.retain(|call| call.id != id);
        let own = event.get("providerExecuted").and_then(Raw::bool) == Some(true);
        if event.kind() == Kind::ToolCall && !own {
            let name = event.str("toolName").unwrap_or_default().into_owned();
            let arguments = event.get("arguments").map_or("null", Raw::as_str).to_owned();
            self.calls.push(OpenCall { id, name, arguments });
        }
    }

    /// The agent waits for someone.
    pub(super) fn waits(&mut self, state: TaskState, message: Option<String>, whole: bool) {
        let mut asked = std::mem::take(&mut self.questions);
        if asked.is_empty() && self.answers && whole {
            // A task that is told whole, from before the answer.
            self.waits = true;
            return;
        }
        if asked.is_empty() {
            asked = self.calls.iter().map(|call| self.execution(call)).collect();
        }
        if asked.is_empty() {
            let plain = self.question(None, &message.unwrap_or_default(), "");
            asked.push(match state {
                TaskState::WaitingAuth => plain
                    .with("inputType", Raw::Ref("\"confirmation\""))
                    .with("requireUser", Raw::Ref("true")),
                _ => plain.with("inputType", Raw::Ref("\"clarification\"")),
            });
        }
        let named = asked.into_iter().enumerate().map(|(nth, asked)| {
            let input = self.stamp.name(&self.stamp.piece(&nth.to_string()));
            let mut asked = asked.with_str("inputId", &input);
            asked.single_line();
            asked
        });
        self.outcome = Some(Outcome::Asks(named.collect()));
    }

    /// A question, with what the agent calls it.
    fn question(&self, id: Option<&str>, prompt: &str, auth: &str) -> Event<'static> {
        let id = id.map_or_else(|| "null".to_owned(), quote);
        let auth = if auth.is_empty() { String::new() } else { format!(",\"auth\":{{{auth}}}") };
        Event::new(Kind::InputRequired)
            .with_str("prompt", prompt)
            .with("metadata", Raw::owned(format!("{{\"remote\":{{\"id\":{id}}}{auth}}}")))
    }

    /// A tool call that whoever is connected is to do.
    fn execution(&self, call: &OpenCall) -> Event<'static> {
        let metadata = format!(
            "{{\"toolCall\":{{\"id\":{},\"function\":{{\"name\":{},\"arguments\":{}}}}},\
             \"remote\":{{\"id\":{}}}}}",
            quote(&self.stamp.piece(&call.id)),
            quote(&call.name),
            quote(&call.arguments),
            quote(&call.id)
        );
        Event::new(Kind::InputRequired)
            .with("inputType", Raw::Ref("\"tool-execution\""))
            .with_str("prompt", &format!("Execute client-side tool: {}", call.name))
            .with_str("toolCallId", &self.stamp.piece(&call.id))
            .with("metadata", Raw::owned(metadata))
    }
}
