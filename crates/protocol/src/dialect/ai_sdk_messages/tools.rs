//! Tool calls, approvals, sources and data, folded into parts.

use super::chat::Chat;
use super::message::Message;
use super::part::{Approval, Part, State, Tool};
use crate::dialect::ai_sdk::json::Object;
use crate::dialect::ai_sdk::{Version, approval_prompt, content, meta};
use crate::journal::kind::{COMMON, spec};
use crate::journal::{Event, Kind};
use crate::json::{Raw, push_escaped};

/// What a tool event says beside its own fields.
struct Side {
    provider: Option<Raw<'static>>,
    tool: Option<Raw<'static>>,
    title: Option<Raw<'static>>,
    encoding: Option<Raw<'static>>,
    dynamic: bool,
    invalid: bool,
}

impl Side {
    fn of(event: &Event<'_>) -> Self {
        let doc = event.get("metadata").and_then(Raw::doc);
        let get = |name| {
            let root = doc.as_ref()?.root();
            root.some(name).map(|n| Raw::owned(n.raw()))
        };
        let on = |name| get(name).is_some_and(|v| v.as_str() == "true");
        Self {
            provider: get("providerMetadata"),
            tool: get("toolMetadata"),
            title: get("title"),
            encoding: get("inputEncoding"),
            dynamic: on("dynamic"),
            invalid: on("invalid"),
        }
    }
}

impl Chat {
    /// The part of a tool call: the one of the current step, else the latest.
    fn tool_at(&mut self, event: &Event<'_>, id: &str) -> Option<(usize, usize)> {
        let own = self.at(event);
        if let Some(at) = self.messages.get(own).and_then(|m| m.tools.get(id)) {
            return Some((own, *at));
        }
        let other = *self.calls.get(id)?;
        let at = *self.messages.get(other)?.tools.get(id)?;
        if other >= self.open_from() {
            return Some((other, at));
        }
        // Its message is written already: the call comes again, with its return.
        let copy = self.messages.get(other)?.parts.get(at)?.clone();
        let message = self.messages.get_mut(own)?;
        let at = message.push(copy);
        message.tools.insert(id.to_owned(), at);
        Some((own, at))
    }

    pub(super) fn call_delta(&mut self, event: &Event<'_>) {
        let (Some(id), Some(delta)) = (event.get("toolCallId"), event.body("delta")) else {
            return;
        };
        let task = event.get("taskId").map_or("", Raw::as_str);
        let place = match &self.last {
            Some((last_task, last_id, message, at)) if last_task == task && last_id == &**id => {
                (*message, *at)
            }
            _ => {
                let message = self.at(event);
                let known = self.messages.get(message).and_then(|m| m.tools.get(id.as_str()));
                let Some(at) = known.copied() else { return };
                self.last = Some((task.to_owned(), id.to_string(), message, at));
                (message, at)
            }
        };
        if let Some(tool) = self.messages.get_mut(place.0).and_then(|m| m.tool(place.1))
            && tool.state == State::InputStreaming
        {
            tool.streamed.push_str(delta);
            tool.raw_input.get_or_insert(Raw::Ref("\"\""));
        }
    }

    pub(super) fn call(&mut self, event: &Event<'_>) {
        let Some(id) = event.get("toolCallId").map(Raw::to_owned) else { return };
        let side = Side::of(event);
        let version = self.version;
        let at = self.at(event);
        let message = &mut self.messages[at];
        let there = message.tools.get(id.as_str()).copied().filter(|at| *at >= message.step);
        if event.kind() == Kind::ToolStart && there.is_some() {
            return;
        }
        // Only an input that was refused takes over the part of a call of the other kind.
        let there = there.filter(|at| match message.parts.get(*at) {
            Some(Part::Tool(tool)) => {
                tool.dynamic == side.dynamic || side.invalid && version >= Version::V6
            }
            _ => false,
        });
        let new = there.is_none();
        let part = there.unwrap_or_else(|| {
            let tool = Tool { id: id.clone(), dynamic: side.dynamic, ..Tool::default() };
            message.push(Part::Tool(Box::new(tool)))
        });
        message.tools.insert(id.to_string(), part);
        let Some(tool) = message.tool(part) else { return };
        if let Some(name) = event.get("toolName") {
            tool.name = name.to_owned();
        }
        if tool.name.body().is_none() {
            tool.name = Raw::Ref("\"tool\"");
        }
        let input = event.get("arguments").map(Raw::to_owned);
        tool.output = None;
        tool.error = None;
        tool.preliminary = None;
        tool.raw_input = None;
        tool.streamed.clear();
        tool.encoding = None;
        if event.kind() == Kind::ToolCallStarted {
            tool.state = State::InputStreaming;
            tool.input = None;
            tool.encoding = side.encoding;
        } else if side.invalid && !tool.dynamic && version <= Version::V6 {
            tool.state = State::OutputError;
            tool.input = None;
            tool.raw_input = input;
        } else {
            tool.state = if side.invalid { State::OutputError } else { State::InputAvailable };
            tool.input = input.or(Some(Raw::Ref("{}")));
        }
        tool.title = side.title.filter(|_| !side.invalid).or(tool.title.take());
        tool.metadata = side.tool.or(tool.metadata.take());
        if let Some(executed) = event.get("providerExecuted").filter(|e| !e.is_null()) {
            tool.executed = Some(executed.to_owned());
        }
        if let Some(provider) = side.provider {
            match (version, tool.state) {
                (Version::V5, State::InputStreaming) => {}
                (Version::V5, State::OutputError) if !new => {}
                (Version::V6 | Version::V7, State::OutputError) => {
                    tool.result_provider = Some(provider);
                }
                _ => tool.call_provider = Some(provider),
            }
        }
        self.calls.insert(id.to_string(), at);
    }

    pub(super) fn output(&mut self, event: &Event<'_>) {
        let Some(id) = event.get("toolCallId").map(Raw::to_owned) else { return };
        let side = Side::of(event);
        let version = self.version;
        let (message_at, at) = match self.tool_at(event, &id) {
            Some(place) => place,
            None => {
                // A return without its call.
                let at = self.at(event);
                let message = &mut self.messages[at];
                let name = event.get("toolName").map_or(Raw::Ref("\"tool\""), Raw::to_owned);
                let input = Some(Raw::Ref("{}"));
                let tool = Tool { id: id.clone(), name, input, ..Tool::default() };
                let part = message.push(Part::Tool(Box::new(tool)));
                message.tools.insert(id.to_string(), part);
                self.calls.insert(id.to_string(), at);
                (at, part)
            }
        };
        let Some(tool) = self.messages.get_mut(message_at).and_then(|m| m.tool(at)) else { return };
        if tool.state == State::InputStreaming && tool.input.is_none() {
            let streamed = crate::json::text::decode(&tool.streamed).into_owned();
            tool.input = Some(match super::super::ai_sdk::json::close_partial(&streamed) {
                Some(value) => Raw::owned(value),
                None => Raw::Ref("{}"),
            });
        }
        let denied = event.get("outcome").is_some_and(|o| o.is("denied"));
        let failed = event.get("success").and_then(Raw::bool) == Some(false)
            || event.get("success").is_none() && event.get("error").is_some();
        let refused = event.get("outcome").is_some_and(|o| o.is("validation_error"));
        if denied && version >= Version::V6 && tool.approval.is_some() {
            tool.state = State::OutputDenied;
            return;
        }
        tool.preliminary = event.get("preliminary").filter(|p| !p.is_null()).map(Raw::to_owned);
        tool.output = None;
        if failed {
            tool.state = State::OutputError;
            tool.error = Some(error_text(event, denied));
        } else {
            tool.state = State::OutputAvailable;
            tool.error = None;
            tool.raw_input = None;
            tool.output = Some(event.get("result").map_or(Raw::Ref("null"), Raw::to_owned));
        }
        if let Some(executed) = event.get("providerExecuted").filter(|e| !e.is_null()) {
            tool.executed = Some(executed.to_owned());
        }
        tool.metadata = side.tool.or(tool.metadata.take());
        if !refused && side.provider.is_some() {
            tool.result_provider = side.provider;
        }
    }

    pub(super) fn asked(&mut self, event: &Event<'_>) {
        let (Some(id), Some(call)) = (event.get("inputId"), event.get("toolCallId")) else {
            return self.as_data(event);
        };
        let confirms = event.get("inputType").is_none_or(|t| t.is("confirmation"));
        if self.version == Version::V5 || !confirms {
            return self.as_data(event);
        }
        let Some((message, at)) = self.tool_at(event, call) else { return self.as_data(event) };
        self.approvals.insert(id.to_string(), (message, call.to_string()));
        let Some(tool) = self.messages.get_mut(message).and_then(|m| m.tool(at)) else { return };
        let usual = approval_prompt(&tool.name.str().unwrap_or_default());
        let prompt = event.get("prompt").filter(|p| !p.is(&usual) && !p.is(""));
        tool.state = State::ApprovalRequested;
        let more = meta::says_more(event, meta::ASKED.0, meta::ASKED.1);
        tool.approval = Some(Approval {
            id: id.to_owned(),
            descriptor: meta::find(event, "approvalDescriptor").filter(|d| !d.is_null()),
            schema_input: meta::find(event, "inputSchemaInput"),
            request_reason: prompt.map(Raw::to_owned),
            automatic: meta::flag(event, "isAutomatic"),
            signature: meta::find(event, "signature").filter(|s| !s.is_null()),
            approved: None,
            reason: None,
        });
        if more {
            self.as_data(event);
        }
    }

    pub(super) fn answered(&mut self, event: &Event<'_>) {
        self.goes_on(event);
        let id = event.get("inputId").map_or("", Raw::as_str);
        let approved = event.get("value").and_then(|value| {
            let doc = value.doc()?;
            doc.root().bool().or_else(|| doc.root().get("approved")?.bool())
        });
        let place = self.approvals.get(id).cloned();
        let (Some((_, call)), Some(approved)) = (place, approved) else {
            return self.as_data(event);
        };
        let Some((message, at)) = self.tool_at(event, &call) else { return self.as_data(event) };
        let Some(tool) = self.messages.get_mut(message).and_then(|m| m.tool(at)) else { return };
        tool.state = State::ApprovalResponded;
        if let Some(approval) = &mut tool.approval {
            approval.approved = Some(approved);
            approval.reason = event.at("value", "/reason").filter(|r| r.body().is_some());
        }
        if let Some(executed) = meta::find(event, "providerExecuted") {
            tool.executed = Some(executed);
        }
        if let Some(provider) = meta::find(event, "providerMetadata") {
            tool.call_provider = Some(provider);
        }
        // Who answered is not said unless it was the user.
        let user = event.get("providedBy").is_none_or(|by| by.is("user"));
        if !user || meta::says_more(event, meta::ANSWERED.0, meta::ANSWERED.1) {
            self.as_data(event);
        }
    }

    pub(super) fn source(&mut self, event: &Event<'_>) {
        let version = self.version;
        let mut json = String::new();
        write_source(event, version, true, &mut json);
        self.message(event).push(Part::Fixed(json));
    }

    pub(super) fn system(&mut self, event: &Event<'_>) {
        let data = event.get("data").map_or(Raw::Ref("null"), Raw::to_owned);
        let part = meta::find(event, "part");
        let version = self.version;
        // What became of the thread's id is nothing that anyone said.
        if meta::flag(event, "transient") || event.body("name") == Some("thread.promoted") {
            return;
        }
        let part = part.as_ref().and_then(Raw::body);
        if part == Some("message-data")
            && let Some(message) = self.messages.last_mut()
            && message.fixed.is_some()
        {
            return message.add_fixed(
                event.body("name").unwrap_or("system"),
                event.get("systemId"),
                &data,
            );
        }
        let message = self.message(event);
        match part {
            Some("message-metadata") => message.merge_metadata(&data),
            Some("custom") if version >= Version::V7 => {
                let rest = data.strip_prefix('{').unwrap_or("}");
                let json = format!("{{\"type\":\"custom\",{rest}");
                message.push(Part::Fixed(json));
            }
            _ => {
                let name = event.body("name").unwrap_or("system");
                let id = event.get("systemId").filter(|i| i.body().is_some()).map(Raw::to_owned);
                message.set_data(name, id, data);
            }
        }
    }

    pub(super) fn file(&mut self, event: &Event<'_>) {
        let Some((media, url)) = whole_file(event) else { return self.as_data(event) };
        let mut json = String::new();
        Object::new(&mut json)
            .raw("type", "\"file\"")
            .body("mediaType", media)
            .some("filename", event.get("name").map(Raw::as_str))
            .body("url", &url)
            .end();
        let message = self.message(event);
        message.push(Part::Fixed(json));
        if meta::says_more(event, meta::FILE, &[]) {
            message.set_data("file-write", None, Raw::owned(event_data(event, Some("data"))));
        }
    }

    /// What UIMessages have no part for, as data of its own.
    pub(super) fn as_data(&mut self, event: &Event<'_>) {
        let id = ["artifactId", "inputId", "authId", "subtaskId", "messageId"]
            .iter()
            .find_map(|f| event.get(f));
        let id = id.filter(|i| i.body().is_some()).map(Raw::to_owned);
        let data = Raw::owned(event_data(event, None));
        let message: &mut Message = self.message(event);
        // Chunks of an artifact add up; everything else replaces what was there.
        let id =
            if matches!(event.kind(), Kind::FileWrite | Kind::DatasetWrite) { None } else { id };
        message.set_data(event.kind().name(), id, data);
    }
}

/// A file that came whole and in base64: its media type and a data URL, as string bodies.
pub(in crate::dialect) fn whole_file<'e>(event: &'e Event<'_>) -> Option<(&'e str, String)> {
    let whole = event.get("index").is_none_or(|i| i.i64() == Some(0))
        && event.get("complete").is_none_or(|c| c.bool() == Some(true))
        && event.get("encoding").is_some_and(|e| e.is("base64"));
    let data = event.body("data").filter(|_| whole)?;
    let media = event.body("mimeType").unwrap_or("application/octet-stream");
    let mut url = format!("data:{media};base64,");
    content::push_standard_base64(data, &mut url);
    Some((media, url))
}

/// An event as the data of a `data-*` part or chunk: its kind's own fields.
pub(in crate::dialect) fn event_data(event: &Event<'_>, without: Option<&str>) -> String {
    let known = spec(event.kind()).map_or(&[][..], |s| s.fields);
    let mut out = String::from("{");
    for (name, value) in event.fields() {
        let own = known.iter().chain(COMMON).any(|f| f.name == name);
        if !own || name == "contextId" || without == Some(name) {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        out.push('"');
        push_escaped(name, &mut out);
        out.push_str("\":");
        out.push_str(value);
    }
    out.push('}');
    out
}

/// A tool's error as a string literal: its text, its result, or what became of it.
pub(in crate::dialect) fn error_text(event: &Event<'_>, denied: bool) -> Raw<'static> {
    if let Some(error) = event.get("error").filter(|e| e.body().is_some()) {
        return error.to_owned();
    }
    match event.get("result").filter(|r| !r.is_null()) {
        Some(result) if result.body().is_some() => result.to_owned(),
        Some(result) => Raw::string(result),
        None if denied => Raw::Ref("\"denied\""),
        None => Raw::Ref("\"failed\""),
    }
}

/// What a source says that its part or chunk has no field for, as provider metadata of our own.
fn unsaid(event: &Event<'_>, written: &[&str]) -> Option<Raw<'static>> {
    let mut rest = String::new();
    for name in ["sourceId", "url", "title", "mediaType", "filename"] {
        if let Some(value) = event.get(name).filter(|v| v.body().is_some())
            && !written.contains(&name)
        {
            rest.push_str(if rest.is_empty() { "{\"selvedge\":{\"" } else { ",\"" });
            rest.push_str(name);
            rest.push_str("\":");
            rest.push_str(value);
        }
    }
    (!rest.is_empty()).then(|| Raw::owned(rest + "}}"))
}

/// A source or file as a part or chunk.
pub(in crate::dialect) fn write_source(
    event: &Event<'_>,
    version: Version,
    part: bool,
    out: &mut String,
) {
    let get = |name: &str| event.get(name).filter(|v| v.body().is_some()).map(Raw::as_str);
    let (id, url, title, media) = (get("sourceId"), get("url"), get("title"), get("mediaType"));
    let given = event.body("sourceType");
    let kind = match given {
        Some(kind) => kind,
        None if id.is_none() && url.is_some() && media.is_some() => "file",
        None if url.is_some() => "url",
        None => "document",
    };
    let written: &[&str] = match kind {
        "file" | "reasoning-file" if part => &["url", "mediaType", "filename"],
        "file" | "reasoning-file" => &["url", "mediaType"],
        "url" => &["sourceId", "url", "title"],
        _ => &["sourceId", "title", "mediaType", "filename"],
    };
    let provider = meta::find(event, "providerMetadata").or_else(|| unsaid(event, written));
    let id = id.or(url).unwrap_or("\"source\"");
    let mut object = Object::new(out);
    match kind {
        "file" | "reasoning-file" => {
            let ty = match kind {
                "reasoning-file" if version >= Version::V7 => "\"reasoning-file\"",
                _ => "\"file\"",
            };
            object.raw("type", ty);
            object.raw("mediaType", media.unwrap_or("\"application/octet-stream\""));
            if part {
                object.some("filename", get("filename"));
            }
            object.raw("url", url.unwrap_or("\"\""));
            if version >= Version::V6 || !part {
                object.some("providerMetadata", provider.as_deref());
            }
        }
        "url" => {
            object.raw("type", "\"source-url\"").raw("sourceId", id);
            object.raw("url", url.unwrap_or("\"\"")).some("title", title);
            object.some("providerMetadata", provider.as_deref());
        }
        _ => {
            object.raw("type", "\"source-document\"").raw("sourceId", id);
            object.raw("mediaType", media.unwrap_or("\"application/octet-stream\""));
            object.raw("title", title.or(get("filename")).unwrap_or("\"document\""));
            object.some("filename", get("filename")).some("providerMetadata", provider.as_deref());
        }
    }
    object.end();
}
