//! The parts of requests and responses.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

use super::{Version, time, value};
use crate::base64::{self, Alphabet};
use crate::dialect::pydantic_ai::decode::is_minted_thought;
use crate::journal::transcript::{Action, ActionKind};
use crate::json::{Raw, push_escaped};
use crate::perspective::{Entry, History, Media, Part, Source, parts};

/// A list of parts being written.
pub(super) struct List<'h, 'o> {
    version: Version,
    history: &'h History,
    out: &'o mut String,
    first: bool,
}

impl<'h, 'o> List<'h, 'o> {
    pub(super) fn new(version: Version, history: &'h History, out: &'o mut String) -> Self {
        Self { version, history, out, first: true }
    }

    fn begin(&mut self) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
    }

    fn add(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn text(&mut self, value: Option<&Raw<'_>>) {
        value::text_or_null(value, self.out);
    }

    fn action(&self, at: usize) -> Option<&'h Action> {
        self.history.transcript.actions().get(at)
    }

    /// Writes what an entry of the input is.
    pub(super) fn request(&mut self, entry: &Entry) {
        match entry {
            Entry::Prompt(at) => {
                let Some(action) = self.action(*at) else { return };
                let content = parts(action.get("data"), None);
                self.system_prompt(&plain(&content), action.timestamp.as_ref());
            }
            Entry::Told { content, timestamp } => {
                self.user_prompt(&parts(Some(content), None), timestamp.as_ref());
            }
            Entry::Action(at) => {
                let Some(action) = self.action(*at) else { return };
                match action.kind {
                    ActionKind::UserMessage => {
                        let mut content: Vec<Part> = Vec::new();
                        for piece in &action.pieces {
                            content.push(Part::Text(crate::json::text::decode(&piece.body).into()));
                        }
                        content.extend(parts(action.get("content"), action.get("attachments")));
                        self.user_prompt(&content, action.timestamp.as_ref());
                    }
                    ActionKind::ToolReturn => self.tool_return(action),
                    ActionKind::System => self.feedback(action),
                    _ => {}
                }
            }
            Entry::File(_) => {}
        }
    }

    fn system_prompt(&mut self, text: &str, at: Option<&Raw<'_>>) {
        self.begin();
        self.add("{\"content\":\"");
        push_escaped(text, self.out);
        self.add("\",\"timestamp\":");
        time::push(at, self.out);
        self.add(match self.version {
            Version::One => ",\"dynamic_ref\":null,\"part_kind\":\"system-prompt\"}",
            Version::Two => {
                ",\"dynamic_ref\":null,\"context_id\":null,\"scope\":\"conversation\",\
                 \"metadata\":null,\"part_kind\":\"system-prompt\"}"
            }
        });
    }

    fn user_prompt(&mut self, content: &[Part], at: Option<&Raw<'_>>) {
        self.begin();
        self.add("{\"content\":");
        match content {
            [Part::Text(text)] => {
                self.add("\"");
                push_escaped(text, self.out);
                self.add("\"");
            }
            [] => self.add("\"\""),
            items => {
                for (i, item) in items.iter().enumerate() {
                    self.add(if i > 0 { "," } else { "[" });
                    match item {
                        Part::Text(text) => {
                            self.add("\"");
                            push_escaped(text, self.out);
                            self.add("\"");
                        }
                        Part::Media(media) => push_media(media, self.out),
                    }
                }
                self.add("]");
            }
        }
        self.add(",\"timestamp\":");
        time::push(at, self.out);
        self.add(",\"part_kind\":\"user-prompt\"}");
    }

    fn tool_return(&mut self, action: &Action) {
        let outcome = outcome(action);
        let asked_again = matches!(outcome, "retried" | "validation_error");
        if self.version == Version::One && asked_again {
            self.retry_prompt(result(action), Some(action), action.timestamp.as_ref());
            return;
        }
        self.begin();
        let scalar = self.returned(action);
        self.add(match (self.version, outcome) {
            (Version::One, "success") => ",\"outcome\":\"success\"",
            (Version::One, "denied") => ",\"outcome\":\"denied\"",
            (Version::One, _) => ",\"outcome\":\"failed\"",
            (Version::Two, "success") => ",\"outcome\":\"success\",\"retry\":null",
            (Version::Two, "denied") => ",\"outcome\":\"denied\",\"retry\":null",
            (Version::Two, "interrupted") => ",\"outcome\":\"interrupted\",\"retry\":null",
            (Version::Two, "retried") => ",\"outcome\":\"retried\",\"retry\":null",
            (Version::Two, "validation_error") => {
                ",\"outcome\":\"retried\",\"retry\":{\"cause\":\"validation_error\",\
                 \"attempt\":null,\"max_retries\":null}"
            }
            (Version::Two, _) => ",\"outcome\":\"failed\",\"retry\":null",
        });
        self.add(",\"part_kind\":\"tool-return\"");
        self.digests(scalar);
    }

    /// Writes a return's fields up to its time; says whether its content is a scalar.
    fn returned(&mut self, action: &Action) -> bool {
        self.add("{\"tool_name\":");
        self.name(action);
        self.add(",\"content\":");
        let content = result(action);
        value::push(content, value::Files::Rebuilt, self.out);
        self.add(",\"tool_call_id\":");
        self.text(action.get("toolCallId"));
        self.add(",\"tool_kind\":null,\"metadata\":null,\"timestamp\":");
        time::push(action.timestamp.as_ref(), self.out);
        !content.starts_with(['{', '['])
    }

    /// Files inside a result are never vouched for: what a tool sent stays data.
    fn digests(&mut self, scalar: bool) {
        self.add(if scalar { "}" } else { ",\"content_file_digests\":[]}" });
    }

    fn name(&mut self, action: &Action) {
        match action.get("toolName") {
            Some(name) if name.body().is_some() => self.text(Some(name)),
            _ => self.add("\"unknown\""),
        }
    }

    fn retry_prompt(&mut self, content: &str, call: Option<&Action>, at: Option<&Raw<'_>>) {
        self.begin();
        self.add("{\"content\":");
        value::push_feedback(content, self.out);
        match call {
            Some(action) => {
                self.add(",\"tool_name\":");
                self.name(action);
                self.add(",\"tool_call_id\":");
                self.text(action.get("toolCallId"));
            }
            None => {
                let id = crate::ident::from_text(content).replace('-', "");
                let _ = write!(self.out, ",\"tool_name\":null,\"tool_call_id\":\"pyd_ai_{id}\"");
            }
        }
        self.add(",\"timestamp\":");
        time::push(at, self.out);
        self.add(",\"part_kind\":\"retry-prompt\"}");
    }

    fn feedback(&mut self, action: &Action) {
        let data = action.get("data").map_or("\"\"", Raw::as_str);
        if self.version == Version::One {
            self.retry_prompt(data, None, action.timestamp.as_ref());
            return;
        }
        self.begin();
        self.add("{\"content\":");
        let cause = match value::push_feedback(data, self.out) {
            value::Feedback::Text => "model_retry",
            value::Feedback::Errors => "validation_error",
        };
        let _ = write!(
            self.out,
            ",\"retry\":{{\"cause\":\"{cause}\",\"attempt\":null,\"max_retries\":null}},\"timestamp\":"
        );
        time::push(action.timestamp.as_ref(), self.out);
        self.add(",\"part_kind\":\"retry-feedback\"}");
    }

    /// Writes what an entry of the output is.
    pub(super) fn response(&mut self, entry: &Entry) {
        match entry {
            Entry::File(at) => {
                let Some(file) = self.history.files.get(*at) else { return };
                let media_type = file.media_type.as_ref().and_then(|m| m.str());
                let media_type = media_type.as_deref().unwrap_or("application/octet-stream");
                let id = file.id.as_ref().and_then(|id| id.str());
                self.begin();
                self.add("{\"content\":");
                push_binary(&file.bytes, media_type, id.as_deref(), self.out);
                self.add(PART_END);
                self.add("\"part_kind\":\"file\"}");
            }
            Entry::Action(at) => {
                let Some(action) = self.action(*at) else { return };
                match action.kind {
                    ActionKind::AssistantMessage => self.message(action),
                    ActionKind::Thinking => self.thinking(action),
                    ActionKind::ToolCall => self.tool_call(action),
                    ActionKind::ToolReturn => self.provider_return(action),
                    _ => {}
                }
            }
            Entry::Prompt(_) | Entry::Told { .. } => {}
        }
    }

    fn message(&mut self, action: &Action) {
        for piece in &action.pieces {
            self.said(&crate::json::text::decode(&piece.body));
        }
        for part in parts(action.get("content"), action.get("attachments")) {
            match part {
                Part::Text(text) => self.said(&text),
                Part::Media(Media { source: Source::Bytes(bytes), media_type, name, .. }) => {
                    self.begin();
                    self.add("{\"content\":");
                    push_binary(&bytes, &media_type, name.as_deref(), self.out);
                    self.add(PART_END);
                    self.add("\"part_kind\":\"file\"}");
                }
                // A response holds no files by address: the address is told.
                Part::Media(Media { source: Source::Url(url), .. }) => self.said(&url),
            }
        }
    }

    fn said(&mut self, text: &str) {
        self.begin();
        self.add("{\"content\":\"");
        push_escaped(text, self.out);
        self.add("\"");
        self.add(PART_END);
        if self.version == Version::Two {
            self.add("\"citations\":null,");
        }
        self.add("\"part_kind\":\"text\"}");
    }

    fn thinking(&mut self, action: &Action) {
        self.begin();
        self.add("{\"content\":\"");
        push_escaped(&action.text(), self.out);
        self.add("\",\"id\":");
        let id = action.get("thoughtId").filter(|id| !is_minted_thought(id));
        self.text(id);
        self.add(",\"signature\":");
        self.text(action.get("signature"));
        self.add(",\"provider_name\":");
        self.text(action.get("providerName"));
        self.add(",\"provider_details\":null,\"part_kind\":\"thinking\"}");
    }

    fn tool_call(&mut self, action: &Action) {
        let providers = action.get("providerExecuted").and_then(Raw::bool) == Some(true);
        self.begin();
        self.add("{\"tool_name\":");
        self.name(action);
        self.add(",\"args\":");
        value::push_arguments(&action.arguments(), self.out);
        self.add(",\"tool_call_id\":");
        self.text(action.get("toolCallId"));
        self.add(",\"tool_kind\":null,\"id\":null,\"provider_name\":");
        self.text(action.get("providerName"));
        self.add(",\"provider_details\":null,\"part_kind\":");
        self.add(if providers { "\"builtin-tool-call\"}" } else { "\"tool-call\"}" });
    }

    fn provider_return(&mut self, action: &Action) {
        self.begin();
        let scalar = self.returned(action);
        self.add(match (self.version, outcome(action)) {
            (_, "success") => ",\"outcome\":\"success\"",
            (_, "denied") => ",\"outcome\":\"denied\"",
            (Version::Two, "interrupted") => ",\"outcome\":\"interrupted\"",
            _ => ",\"outcome\":\"failed\"",
        });
        self.add(",\"provider_name\":null,\"provider_details\":null,");
        self.add("\"part_kind\":\"builtin-tool-return\"");
        self.digests(scalar);
    }
}

/// What most response parts end with.
const PART_END: &str = ",\"id\":null,\"provider_name\":null,\"provider_details\":null,";

/// How a call went, in the events' words.
fn outcome(action: &Action) -> &'static str {
    match action.get("outcome").and_then(Raw::body) {
        Some("success") => "success",
        Some("denied") => "denied",
        Some("interrupted") => "interrupted",
        Some("retried") => "retried",
        Some("validation_error") => "validation_error",
        Some(_) => "failed",
        None if action.get("success").and_then(Raw::bool) == Some(false) => "failed",
        None => "success",
    }
}

/// What a tool gave back: its result, else its error.
fn result(action: &Action) -> &str {
    match (action.get("result"), action.get("error")) {
        (Some(result), None) => result,
        (Some(result), Some(_)) if !result.is_null() => result,
        (_, Some(error)) => error,
        (None, None) => "null",
    }
}

/// The text of parts, media left out.
fn plain(content: &[Part]) -> String {
    let mut out = String::new();
    for part in content {
        if let Part::Text(text) = part {
            out.push_str(text);
        }
    }
    out
}

fn push_media(media: &Media, out: &mut String) {
    let name = media.name.as_deref();
    match &media.source {
        Source::Bytes(bytes) => push_binary(bytes, &media.media_type, name, out),
        Source::Url(url) => {
            let kind = match media.class {
                "image" => "image-url",
                "audio" => "audio-url",
                "video" => "video-url",
                _ => "document-url",
            };
            out.push_str("{\"url\":\"");
            push_escaped(url, out);
            let _ = write!(
                out,
                "\",\"force_download\":false,\"vendor_metadata\":null,\"kind\":\"{kind}\",\"media_type\":\""
            );
            push_escaped(&media.media_type, out);
            out.push_str("\",\"identifier\":\"");
            push_identifier(name, url.as_bytes(), out);
            out.push_str("\"}");
        }
    }
}

/// Writes bytes as the package's binary content.
pub(super) fn push_binary(bytes: &[u8], media_type: &str, name: Option<&str>, out: &mut String) {
    out.push_str("{\"data\":\"");
    out.push_str(&base64::encode(bytes, Alphabet::UrlSafe));
    out.push_str("\",\"media_type\":\"");
    push_escaped(media_type, out);
    out.push_str("\",\"vendor_metadata\":null,\"kind\":\"binary\",\"identifier\":\"");
    push_identifier(name, bytes, out);
    out.push_str("\"}");
}

fn push_identifier(name: Option<&str>, bytes: &[u8], out: &mut String) {
    match name {
        Some(name) => push_escaped(name, out),
        None => {
            for byte in Sha1::digest(bytes).iter().take(3) {
                let _ = write!(out, "{byte:02x}");
            }
        }
    }
}
