//! The objects of the Assistants stream as JSON, keys in the order of the real writer.
//!
//! Every argument is JSON text.

use crate::json::{Node, Raw, quote, text};
use crate::sse;

/// An object that is built member by member.
#[derive(Debug, Clone)]
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self(String::from("{"))
    }

    pub(super) fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(value.as_ref());
        self
    }

    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A server-sent event.
pub(super) fn event(name: &str, data: &str) -> String {
    sse::write(Some(name), None, data)
}

/// Adds metadata, in which all values are texts here; one name is taken.
pub(super) fn labels(metadata: Option<&Raw<'_>>, taken: &str, mut out: Object) -> Object {
    let doc = metadata.and_then(Raw::doc);
    for (name, value) in doc.iter().flat_map(|doc| doc.root().members()) {
        if name.str().is_some_and(|name| name != taken) {
            let text = if value.is_string() { value.raw().to_owned() } else { quote(value.raw()) };
            out = out.with(name.body(), text);
        }
    }
    out
}

/// `null`, or the value.
pub(super) fn or_null<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |v| v.to_string())
}

/// A text part of a whole message; `body` is a string body.
pub(super) fn text_part(body: &str) -> String {
    format!(
        "{{\"text\":{{\"annotations\":[],\"value\":\"{}\"}},\"type\":\"text\"}}",
        text::minimal(body)
    )
}

/// A message.
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    pub(super) assistant: Option<&'a str>,
    pub(super) attachments: &'a str,
    pub(super) completed: Option<i64>,
    pub(super) content: &'a str,
    pub(super) created: i64,
    /// Why it is not complete.
    pub(super) incomplete: Option<&'a str>,
    pub(super) incomplete_at: Option<i64>,
    pub(super) metadata: &'a str,
    pub(super) role: &'a str,
    pub(super) run: Option<&'a str>,
    pub(super) status: &'a str,
    pub(super) thread: &'a str,
}

impl Message<'_> {
    pub(super) fn write(&self) -> String {
        let why = self.incomplete.map(|r| format!("{{\"reason\":\"{r}\"}}"));
        Object::new()
            .with("id", self.id)
            .with("assistant_id", or_null(self.assistant))
            .with("attachments", self.attachments)
            .with("completed_at", or_null(self.completed))
            .with("content", self.content)
            .with("created_at", self.created.to_string())
            .with("incomplete_at", or_null(self.incomplete_at))
            .with("incomplete_details", or_null(why))
            .with("metadata", self.metadata)
            .with("object", "\"thread.message\"")
            .with("role", quote(self.role))
            .with("run_id", or_null(self.run))
            .with("status", quote(self.status))
            .with("thread_id", self.thread)
            .end()
    }
}

/// A run step.
pub(super) struct Step<'a> {
    pub(super) id: &'a str,
    pub(super) assistant: &'a str,
    pub(super) created: i64,
    /// When it ended, unless it is in progress.
    pub(super) ended: i64,
    pub(super) run: &'a str,
    pub(super) status: &'a str,
    pub(super) details: &'a str,
    pub(super) kind: &'a str,
    pub(super) thread: &'a str,
    pub(super) usage: Option<Usage>,
    /// What went wrong, as a string body.
    pub(super) error: Option<&'a str>,
}

impl Step<'_> {
    pub(super) fn write(&self) -> String {
        let when = |status| or_null((self.status == status).then_some(self.ended));
        let error = self.error.map(|message| {
            Object::new()
                .with("code", "\"server_error\"")
                .with("message", format!("\"{message}\""))
                .end()
        });
        Object::new()
            .with("id", self.id)
            .with("assistant_id", self.assistant)
            .with("cancelled_at", when("cancelled"))
            .with("completed_at", when("completed"))
            .with("created_at", self.created.to_string())
            .with("expired_at", when("expired"))
            .with("failed_at", when("failed"))
            .with("last_error", or_null(error))
            .with("metadata", "{}")
            .with("object", "\"thread.run.step\"")
            .with("run_id", self.run)
            .with("status", quote(self.status))
            .with("step_details", self.details)
            .with("thread_id", self.thread)
            .with("type", quote(self.kind))
            .with("usage", or_null(self.usage.map(Usage::write)))
            .end()
    }
}

/// Tokens used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt: u64,
    pub(super) completion: u64,
    pub(super) total: u64,
}

impl Usage {
    /// Reads token counts under the journal's names or OpenAI's.
    pub(super) fn read(usage: Node<'_, '_>) -> Option<Self> {
        let count = |names: [&str; 2]| {
            names.iter().find_map(|name| {
                let number = usage.get(name)?.f64()?;
                (0.0..1e15).contains(&number).then_some(number as u64)
            })
        };
        let prompt = count(["input_tokens", "prompt_tokens"]);
        let completion = count(["output_tokens", "completion_tokens"]);
        let total = count(["total_tokens", "totalTokens"]);
        if prompt.is_none() && completion.is_none() && total.is_none() {
            return None;
        }
        let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
        Some(Self { prompt, completion, total: total.unwrap_or(prompt + completion) })
    }

    pub(super) fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.completion += other.completion;
        self.total += other.total;
    }

    pub(super) fn write(self) -> String {
        Object::new()
            .with("completion_tokens", self.completion.to_string())
            .with("prompt_tokens", self.prompt.to_string())
            .with("total_tokens", self.total.to_string())
            .end()
    }
}

/// Content and attachments of a message from the journal's content parts.
pub(super) fn content(said: Option<&Raw<'_>>, attached: Option<&Raw<'_>>) -> (Vec<String>, String) {
    let mut parts = Vec::new();
    let mut files = Vec::new();
    if let Some(said) = said {
        match said.body() {
            Some(body) => parts.push(text_part(body)),
            None => {
                if let Some(doc) = said.doc() {
                    doc.root().children().for_each(|part| one_part(part, &mut parts, &mut files));
                }
            }
        }
    }
    if let Some(doc) = attached.and_then(Raw::doc) {
        doc.root().children().for_each(|file| one_file(file, &mut files));
    }
    (parts, format!("[{}]", files.join(",")))
}

fn one_part(part: Node<'_, '_>, parts: &mut Vec<String>, files: &mut Vec<String>) {
    let field = |name: &str| part.some(name).filter(|v| v.is_string());
    let text = field("text").or_else(|| part.is_string().then_some(part));
    if let Some(text) = text {
        parts.push(text_part(text.body()));
    } else if let Some(url) = field("image_url") {
        parts.push(image(url.body()));
    } else if let Some(data) = field("image_base64") {
        let media = field("media_type").map_or("image/png", |m| m.body());
        parts.push(image(&format!("data:{media};base64,{}", data.body())));
    } else if let Some(url) = field("url") {
        // Only pictures have a place of their own.
        parts.push(text_part(url.body()));
    } else {
        one_file(part, files);
    }
}

fn image(url: &str) -> String {
    format!("{{\"image_url\":{{\"url\":\"{url}\"}},\"type\":\"image_url\"}}")
}

fn one_file(file: Node<'_, '_>, files: &mut Vec<String>) {
    let id = file.some("name").or_else(|| file.some("url"));
    let id = id.or_else(|| file.is_string().then_some(file)).filter(|id| id.is_string());
    if let Some(id) = id {
        let tools = "[{\"type\":\"file_search\"}]";
        files.push(Object::new().with("file_id", id.raw()).with("tools", tools).end());
    }
}
