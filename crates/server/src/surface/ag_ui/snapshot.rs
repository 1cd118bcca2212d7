//! What was said in a thread, as AG-UI's messages: its events, folded as its client folds them.

use selvedge_store::ThreadRef;
use serde_json::{Map, Value, json};

use crate::view::{Kind, whole};
use crate::{App, Error};

/// The messages of a thread up to an entry, or all.
pub(super) async fn messages(
    app: &App,
    thread: &ThreadRef,
    kind: Kind,
    upto: Option<u64>,
) -> Result<Vec<Value>, Error> {
    let thread = thread.clone();
    let read = move |store: &selvedge_store::Store| {
        let upto = match upto {
            Some(upto) => upto,
            None => store.head(&thread)?,
        };
        let told = whole(store, &thread, &kind, upto)?;
        let mut fold = Fold::default();
        for event in told.events.iter().chain(&told.ending) {
            if let Ok(Value::Object(event)) = serde_json::from_str(event) {
                fold.apply(&event);
            }
        }
        Ok(fold.messages)
    };
    app.blocking(read).await
}

#[derive(Default)]
struct Fold {
    messages: Vec<Value>,
}

impl Fold {
    fn apply(&mut self, event: &Map<String, Value>) {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        match text("type").unwrap_or_default() {
            "RUN_STARTED" => {
                let said = event.get("input").and_then(|input| input["messages"].as_array());
                for message in said.into_iter().flatten() {
                    self.messages.push(message.clone());
                }
            }
            "TEXT_MESSAGE_START" => self.begin(event, text("role").unwrap_or("assistant")),
            "REASONING_MESSAGE_START" => self.begin(event, "reasoning"),
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                let own = |message: &Value| message["id"].as_str() == text("messageId");
                if let Some(message) = self.messages.iter_mut().rfind(|message| own(message)) {
                    append(&mut message["content"], text("delta").unwrap_or_default());
                }
            }
            "TOOL_CALL_START" => {
                let (id, name) = (text("toolCallId"), text("toolCallName"));
                let call = json!({ "id": id, "type": "function",
                                   "function": { "name": name, "arguments": "" } });
                let parent = text("parentMessageId");
                let own = |message: &Value| {
                    message["role"] == "assistant" && message["id"].as_str() == parent
                };
                let parent = self.messages.iter().rposition(own).filter(|_| parent.is_some());
                let at = parent.unwrap_or_else(|| {
                    let mut message = json!({ "id": id, "role": "assistant", "toolCalls": [] });
                    by(event, &mut message);
                    self.messages.push(message);
                    self.messages.len() - 1
                });
                match self.messages[at]["toolCalls"].as_array_mut() {
                    Some(calls) => calls.push(call),
                    None => self.messages[at]["toolCalls"] = json!([call]),
                }
            }
            "TOOL_CALL_ARGS" => {
                if let Some((_, call)) = self.call(text("toolCallId")) {
                    append(&mut call["function"]["arguments"], text("delta").unwrap_or_default());
                }
            }
            "TOOL_CALL_RESULT" => {
                let mut message = json!({
                    "id": text("messageId"), "role": "tool", "toolCallId": text("toolCallId"),
                    "content": event.get("content"),
                });
                by(event, &mut message);
                // Beside its call, whatever was said meanwhile.
                let mut at = match self.call(text("toolCallId")) {
                    Some((at, _)) => at + 1,
                    None => self.messages.len(),
                };
                while self.messages.get(at).is_some_and(|next| next["role"] == "tool") {
                    at += 1;
                }
                self.messages.insert(at, message);
            }
            _ => {}
        }
    }

    fn begin(&mut self, event: &Map<String, Value>, role: &str) {
        let id = event.get("messageId");
        let mut message = json!({ "id": id, "role": role, "content": "" });
        if let Some(name) = event.get("name").filter(|_| role != "reasoning") {
            message["name"] = name.clone();
        }
        by(event, &mut message);
        self.messages.push(message);
    }

    /// A tool call, and the number of the message it stands in.
    fn call(&mut self, id: Option<&str>) -> Option<(usize, &mut Value)> {
        self.messages.iter_mut().enumerate().rev().find_map(|(at, message)| {
            let calls = message.get_mut("toolCalls")?.as_array_mut()?;
            let call = calls.iter_mut().find(|call| call["id"].as_str() == id)?;
            Some((at, call))
        })
    }
}

/// Says of a message which subagent's it is.
fn by(event: &Map<String, Value>, message: &mut Value) {
    if let Some(subagent) = event.get("subagentRunId") {
        message["subagentRunId"] = subagent.clone();
    }
}

fn append(text: &mut Value, more: &str) {
    match text {
        Value::String(text) => text.push_str(more),
        other => *other = Value::String(more.to_owned()),
    }
}
