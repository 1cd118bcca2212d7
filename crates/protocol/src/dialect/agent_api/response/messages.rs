//! Messages in the making: text, reasoning, tool calls and their results.

use super::super::write;
use super::{Content, End, Message, Response, Stage, plain, text};
use crate::dialect::object::Object;
use crate::journal::Event;
use crate::json::Raw;

impl Stage {
    /// Begins a message and says so.
    pub(super) fn open(
        &mut self,
        task: &str,
        key: &str,
        wanted: &str,
        kind: &'static str,
        role: &'static str,
        event: Option<&Event<'_>>,
    ) -> Message {
        self.enter(task);
        let id = self.unique(wanted);
        let agent = event.and_then(|e| e.get("agentId").or(e.get("author")));
        let agent = agent.map(Raw::to_owned).or_else(|| self.agents.get(task).cloned());
        let metadata = match agent.filter(|a| a.body().is_some() && role == "assistant") {
            Some(agent) => Object::new().raw("agent_id", &agent).end(),
            None => String::from("null"),
        };
        let message = Message {
            task: task.to_owned(),
            key: key.to_owned(),
            id,
            began: self.response.as_ref().map_or(0, |r| r.number),
            kind,
            role,
            metadata,
            body: String::new(),
            name: String::new(),
        };
        let number = self.response.as_mut().map(Response::next).unwrap_or_default();
        self.step(message.record(&number, "in_progress", "null", None));
        message
    }

    /// Says a content of a message, or how far it has come; gives what it said.
    pub(super) fn content(
        &mut self,
        message: &Message,
        index: usize,
        status: &str,
        content: &Content,
    ) -> String {
        let number = self.response.as_mut().map(Response::next).unwrap_or_default();
        let mut object = Object::new()
            .raw("sequence_number", &number)
            .text("object", "content")
            .text("status", status)
            .raw("error", "null")
            .text("type", content.kind)
            .raw("index", &index.to_string())
            .raw("delta", "false")
            .raw("msg_id", &message.id);
        for (key, value) in &content.members {
            object = object.raw(key, value);
        }
        let record = object.end();
        self.step(record.clone());
        record
    }

    /// Says a message's contents as a whole, and its end.
    pub(super) fn close(&mut self, message: Message, end: End<'_>) {
        let status = if end.error.is_some() { "failed" } else { "completed" };
        let mut contents = Vec::new();
        for (index, content) in end.contents.iter().enumerate() {
            contents.push(self.content(&message, index, status, content));
        }
        let contents = format!("[{}]", contents.join(","));
        let Some(response) = self.response.as_mut() else { return };
        let record = message.record(&response.next(), status, &contents, end.error);
        response.output.push((message.began, record.clone()));
        self.step(record);
    }

    /// Ends a message whose source never did.
    pub(super) fn abandon(&mut self, message: Message) {
        let contents = match message.kind {
            "plugin_call" | "mcp_call" => {
                let arguments = format!("\"{}\"", message.body);
                let server = self.servers.get(&message.key).cloned();
                vec![write::call(&message.key, &message.name, &arguments, server.as_deref())]
            }
            "message" | "reasoning" if !message.body.is_empty() => {
                vec![Content::new("text", "text", format!("\"{}\"", message.body))]
            }
            _ => Vec::new(),
        };
        self.close(message, End { contents, error: None });
    }

    /// A message that comes whole.
    pub(super) fn whole(
        &mut self,
        task: &str,
        wanted: &str,
        kind: &'static str,
        role: &'static str,
        contents: Vec<Content>,
        event: &Event<'_>,
    ) {
        let message = self.open(task, "", wanted, kind, role, Some(event));
        self.close(message, End { contents, error: None });
    }

    pub(super) fn text_started(
        &mut self,
        task: &str,
        id: &str,
        kind: &'static str,
        event: Option<&Event<'_>>,
    ) {
        let wanted = event.and_then(|e| e.str("messageId")).unwrap_or_else(|| id.into());
        let role = match event.and_then(|e| e.get("role")).and_then(Raw::body) {
            Some("user") => "user",
            Some("system" | "developer") => "system",
            _ => "assistant",
        };
        let message = self.open(task, id, &wanted, kind, role, event);
        if let Some(response) = self.response.as_mut() {
            response.open.push(message);
        }
    }

    pub(super) fn delta(
        &mut self,
        task: &str,
        id: &str,
        kind: &'static str,
        body: &str,
        event: Option<&Event<'_>>,
    ) {
        if body.is_empty() {
            return;
        }
        if self.response.as_mut().is_none_or(|r| r.find(task, id).is_none()) {
            self.text_started(task, id, kind, event);
        }
        let taken = self.response.as_mut().and_then(|r| r.remove(task, id));
        let Some(mut message) = taken else { return };
        message.body.push_str(body);
        let number = self.response.as_mut().map(Response::next).unwrap_or_default();
        self.step(piece(&number, &message.id, body));
        if let Some(response) = self.response.as_mut() {
            response.open.push(message);
        }
    }

    pub(super) fn text_finished(&mut self, task: &str, id: &str, body: &str) {
        let Some(message) = self.response.as_mut().and_then(|r| r.remove(task, id)) else { return };
        if let Some(response) = self.response.as_mut() {
            response.spoken |= message.kind == "message" && message.role == "assistant";
        }
        // Where another response came between, the message before it has the beginning.
        let own = if message.body.is_empty() { body } else { &message.body };
        let contents = vec![Content::new("text", "text", format!("\"{own}\""))];
        self.close(message, End { contents, error: None });
    }

    pub(super) fn call_started(&mut self, task: &str, event: Option<&Event<'_>>) {
        let Some(event) = event else { return };
        let key = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        if self.response.as_mut().is_some_and(|r| r.find(task, &key).is_some()) {
            return;
        }
        let server = event.at("metadata", "/server_label").filter(|s| s.body().is_some());
        let kind = if server.is_some() { "mcp_call" } else { "plugin_call" };
        let name = event.get("toolName").map_or("\"tool\"", |name| name.as_str());
        // The message named may be the one that the call belongs to.
        let own = event.str("messageId").filter(|m| !self.used.contains(m.as_ref()));
        let wanted = own.map_or_else(|| plain(&key), |m| m.into_owned());
        let mut message = self.open(task, &key, &wanted, kind, "assistant", Some(event));
        message.name = text(name);
        let content = write::call(&key, &message.name, "\"\"", server.as_deref());
        if let Some(server) = server {
            self.servers.insert(key, server);
        }
        self.content(&message, 0, "in_progress", &content);
        if let Some(response) = self.response.as_mut() {
            response.open.push(message);
        }
    }

    pub(super) fn call(&mut self, task: &str, arguments: &Raw<'_>, event: Option<&Event<'_>>) {
        let Some(event) = event else { return };
        self.enter(task);
        self.call_started(task, Some(event));
        let key = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        let Some(message) = self.response.as_mut().and_then(|r| r.remove(task, &key)) else {
            return;
        };
        let server = self.servers.get(&key).cloned();
        let written = write::as_string(arguments);
        let called = write::Called { name: message.name.clone(), arguments: written.clone() };
        self.calls.insert(key.clone(), called);
        let contents = vec![write::call(&key, &message.name, &written, server.as_deref())];
        self.close(message, End { contents, error: None });
    }

    pub(super) fn returned(
        &mut self,
        task: &str,
        name: Option<Raw<'static>>,
        event: Option<&Event<'_>>,
    ) {
        let Some(event) = event else { return };
        let key = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        let mcp = self.servers.contains_key(&key);
        let kind = if mcp { "mcp_call_output" } else { "plugin_call_output" };
        let slot = format!("{key}:output");
        let value = event.get("result").filter(|r| !r.is_null()).or(event.get("error"));
        let output = value.or(event.get("result")).map_or("\"\"".to_owned(), write::as_string);
        let name = name.filter(|n| n.body().is_some());
        let content = Content::new(
            "data",
            "data",
            Object::new()
                .raw("call_id", &key)
                .raw("name", name.as_deref().unwrap_or("null"))
                .raw("output", &output)
                .end(),
        );
        self.enter(task);
        let open = self.response.as_mut().and_then(|r| r.remove(task, &slot));
        let message = match open {
            Some(message) => message,
            None => {
                let own = event.str("messageId").map(|m| m.into_owned());
                let wanted = own.unwrap_or_else(|| format!("{}:output", plain(&key)));
                self.open(task, &slot, &wanted, kind, "tool", Some(event))
            }
        };
        if event.get("preliminary").and_then(Raw::bool) == Some(true) {
            self.content(&message, 0, "in_progress", &content);
            if let Some(response) = self.response.as_mut() {
                response.open.push(message);
            }
            return;
        }
        let told = event.get("error").filter(|e| e.body().is_some());
        let failed = told.is_some() || event.get("success").and_then(Raw::bool) == Some(false);
        let why = told.map_or(output.as_str(), |e| e.as_str());
        let error = failed.then_some(("\"TOOL_ERROR\"", why));
        self.close(message, End { contents: vec![content], error });
    }

    pub(super) fn error(&mut self, task: &str, code: Option<&str>, message: &str) {
        let wanted = format!("msg_{}", self.used.len() + 1);
        let opened = self.open(task, "", &wanted, "error", "assistant", None);
        let contents = vec![Content::new("text", "text", message)];
        let error = Some((code.unwrap_or("\"ERROR\""), message));
        self.close(opened, End { contents, error });
    }
}

/// A piece of a text, as a content. Most of what is written is this, so it is put together in one
/// go; `id` and `number` are JSON, `body` is what stands between quotes.
fn piece(number: &str, id: &str, body: &str) -> String {
    const PARTS: [&str; 4] = [
        "{\"sequence_number\":",
        ",\"object\":\"content\",\"status\":\"in_progress\",\"error\":null,\"type\":\"text\",\
         \"index\":0,\"delta\":true,\"msg_id\":",
        ",\"text\":\"",
        "\"}",
    ];
    let [begin, middle, text, end] = PARTS;
    let mut out = String::with_capacity(192 + id.len() + body.len());
    for part in [begin, number, middle, id, text, body, end] {
        out.push_str(part);
    }
    out
}
