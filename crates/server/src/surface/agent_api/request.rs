//! A request, read: what is said, what is answered, and how the answer is to come.
//!
//! Invariant: a request that breaks the protocol's rules is refused before anything of it is done.

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::{self, DecodeOptions, Frames, Start};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Doc, Node, quote};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::fault::invalid;
use crate::surface::native::threads::{body_object, named_id, text_member};
use crate::{Error, ErrorCode};

/// Messages of one request.
const MESSAGES: usize = 1000;
/// What a request wishes for the answer; it goes with the message.
const WISHES: [&str; 13] = [
    "id",
    "response_id",
    "model",
    "top_p",
    "temperature",
    "frequency_penalty",
    "presence_penalty",
    "max_tokens",
    "stop",
    "n",
    "seed",
    "tools",
    "user_id",
];

/// A request.
pub(super) struct Asked {
    pub(super) session: String,
    /// Whether the response comes piece by piece.
    pub(super) streams: bool,
    /// Who is named as the model.
    pub(super) model: Option<String>,
    pub(super) answers: Vec<Answer>,
    pub(super) said: Option<Said>,
}

/// What is said last: someone is to answer it.
pub(super) struct Said {
    pub(super) id: String,
    /// Whether the client gave the id: the same id is the same message.
    pub(super) named: bool,
    pub(super) event: String,
    pub(super) text: Option<String>,
    /// Messages that the client says were said before.
    pub(super) before: Vec<String>,
}

/// An answer to what a response asked.
pub(super) struct Answer {
    /// Its place in the request.
    pub(super) at: String,
    pub(super) to: To,
    /// `{"value":…}`, as the native API takes it.
    pub(super) body: String,
}

/// What is answered.
pub(super) enum To {
    /// A question.
    Input(String),
    /// A call of a tool that the client runs.
    Call(String),
}

/// Reads a request.
pub(super) fn read(body: &[u8]) -> Result<Asked, Error> {
    let doc = body_object(body)?;
    let root = doc.root();
    check(root)?;
    let session = named_id(text_member(root, "session_id")?, "session_id")?;
    let model = text_member(root, "model")?;
    let streams = root.some("stream").and_then(Node::bool) != Some(false);
    let messages: Vec<Node<'_, '_>> =
        root.some("input").into_iter().flat_map(Node::children).collect();
    let calls: Vec<String> = messages.iter().filter_map(|message| called(*message)).collect();
    let mut answers = Vec::new();
    let mut said = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        match answer(*message, format!("/input/{i}"), &calls)? {
            Read::Said => said.push(*message),
            Read::Answer(answer) => answers.push(answer),
            Read::Nothing => {}
        }
    }
    let said = match said.split_last() {
        Some((last, before)) => Some(speech(root, *last, before)?),
        None => None,
    };
    if said.is_none() && answers.is_empty() {
        let message = "`input` must have a message, or an answer to what was asked";
        return Err(Error::new(ErrorCode::BadParameter, message).at("/input"));
    }
    Ok(Asked { session, streams, model, answers, said })
}

/// Checks a request against the protocol's rules, and its tools.
fn check(root: Node<'_, '_>) -> Result<(), Error> {
    let mut report = Report::new();
    match root.get("input") {
        None => report.error("missing-field", "/input", None, "Field required"),
        Some(input) => {
            // It is a request, whatever else it says it is.
            if root.get("object").is_none() {
                (dialect::agent_api::DIALECT.validator)().value("", root, &mut report);
            } else {
                report.error("wrong-type", "/object", None, "a request has no `object`");
            }
            if input.children().count() > MESSAGES {
                let message = format!("a request may have {MESSAGES} messages");
                report.error("agent-api-range", "/input", None, message);
            }
        }
    }
    let tools = root.some("tools").map_or("null", Node::raw);
    let tools = serde_json::json!({ "tools": serde_json::from_str::<Value>(tools).ok() });
    if let Err((at, message)) = selvedge_agents::wish::tools(&tools) {
        report.error("agent-api-tool", &at, None, message);
    }
    invalid(&report).map_or(Ok(()), Err)
}

/// The call that a message makes.
fn called(message: Node<'_, '_>) -> Option<String> {
    let kind = message.some("type")?.str()?;
    let data = data(message).filter(|_| kind.ends_with("_call"))?;
    data.some("call_id")?.str().map(|id| id.into_owned())
}

fn data<'d, 'a>(message: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    let content = message.some("content")?.children().next()?;
    content.some("data").filter(|data| data.is_object())
}

enum Read {
    Said,
    Answer(Answer),
    Nothing,
}

/// Whether a message answers something; the output of a call that the request tells of is history.
fn answer(message: Node<'_, '_>, at: String, calls: &[String]) -> Result<Read, Error> {
    let kind = message.some("type").and_then(Node::str).unwrap_or_default();
    let wrong = |what: &str| {
        let message = format!("a message of type `{kind}` needs {what}");
        Error::new(ErrorCode::BadParameter, message).at(format!("{at}/content"))
    };
    let text = |name: &str| data(message)?.some(name)?.str().map(|text| text.into_owned());
    match &*kind {
        "heartbeat" => Ok(Read::Nothing),
        "mcp_approval_response" => {
            let id = text("approval_request_id");
            let approve = data(message).and_then(|data| data.some("approve")?.bool());
            let (Some(id), Some(approve)) = (id, approve) else {
                return Err(wrong("data with `approval_request_id` and `approve`"));
            };
            let reason = text("reason");
            let reason = reason.map_or(String::new(), |r| format!(",\"reason\":{}", quote(&r)));
            let body = format!("{{\"value\":{approve}{reason}}}");
            Ok(Read::Answer(Answer { at, to: To::Input(id), body }))
        }
        kind if kind.ends_with("_call_output") => {
            let output = data(message).and_then(|data| data.get("output"));
            let (Some(id), Some(output)) = (text("call_id"), output) else {
                return Err(wrong("data with `call_id` and `output`"));
            };
            if calls.contains(&id) {
                return Ok(Read::Said);
            }
            // A string that holds JSON is what it holds: outputs have no other form.
            let held = output.str().filter(|text| Doc::parse(text).is_ok());
            let value = held.map_or_else(|| output.raw().to_owned(), |text| text.into_owned());
            Ok(Read::Answer(Answer {
                at,
                to: To::Call(id),
                body: format!("{{\"value\":{value}}}"),
            }))
        }
        _ => Ok(Read::Said),
    }
}

/// What is said last, with what was said before it.
fn speech(root: Node<'_, '_>, last: Node<'_, '_>, before: &[Node<'_, '_>]) -> Result<Said, Error> {
    let given = text_member(last, "id")?.filter(|id| !id.is_empty());
    let named = given.is_some();
    let id = given.unwrap_or_else(|| Uuid::now_v7().to_string());
    let (content, text) = content(last);
    let role = match last.some("role").and_then(Node::str).as_deref() {
        Some("system") => "system",
        Some("tool") => "tool",
        Some("assistant") => "agent",
        _ => "user",
    };
    let mut event = format!(
        "{{\"kind\":\"message\",\"role\":\"{role}\",\"messageId\":{},\"content\":{content}",
        quote(&id)
    );
    let own = last.some("metadata").filter(|metadata| metadata.is_object());
    let own = own.and_then(|metadata| serde_json::from_str(metadata.raw()).ok());
    let mut metadata: Map<String, Value> = own.unwrap_or_default();
    let wishes = WISHES.iter().filter_map(|name| {
        let value: Value = serde_json::from_str(root.some(name)?.raw()).ok()?;
        // One answer is what is given anyway.
        (*name != "n" || value != 1).then(|| ((*name).to_owned(), value))
    });
    let wishes: Map<String, Value> = wishes.collect();
    if !wishes.is_empty() {
        metadata.insert("request".to_owned(), wishes.into());
    }
    if !metadata.is_empty() {
        event.push_str(&format!(",\"metadata\":{}", Value::from(metadata)));
    }
    event.push('}');
    let before = before.iter().map(|message| message.raw().to_owned()).collect();
    Ok(Said { id, named, event, text, before })
}

/// A message's contents as the journal's parts, and what they say if that is but text.
fn content(message: Node<'_, '_>) -> (String, Option<String>) {
    let mut parts = Vec::new();
    let mut text = Some(String::new());
    for content in message.some("content").into_iter().flat_map(Node::children) {
        let first = |names: &[&str]| names.iter().find_map(|name| content.some(name));
        let kind = content.some("type").and_then(Node::str).unwrap_or_default();
        let (class, name, value) = match &*kind {
            "text" => ("text", "text", content.some("text")),
            "refusal" => ("text", "text", content.some("refusal")),
            "image" => ("image", "image_url", content.some("image_url")),
            "video" => ("video", "url", content.some("video_url")),
            "audio" => match content.some("data") {
                Some(data) if data.str().is_some_and(|data| data.contains("://")) => {
                    ("audio", "url", Some(data))
                }
                data => ("audio", "data", data),
            },
            "data" => ("data", "data", content.some("data")),
            _ if content.some("file_url").is_some() => ("file", "url", content.some("file_url")),
            _ if content.some("file_data").is_some() => ("file", "data", content.some("file_data")),
            _ => ("file", "name", first(&["file_id", "filename"])),
        };
        let Some(value) = value else { continue };
        match (text.as_mut(), value.str()) {
            (Some(text), Some(own)) if class == "text" => text.push_str(&own),
            _ => text = None,
        }
        let mut part = format!("{{\"type\":\"{class}\",\"{name}\":{}", value.raw());
        if let Some(filename) = content.some("filename").filter(|_| name != "name") {
            part.push_str(&format!(",\"name\":{}", filename.raw()));
        }
        if let Some(format) = content.some("format").and_then(Node::str) {
            let known =
                if format.contains('/') { format } else { format!("audio/{format}").into() };
            part.push_str(&format!(",\"media_type\":{}", quote(&known)));
        }
        part.push('}');
        parts.push(part);
    }
    let content = match &text {
        Some(text) => quote(text),
        None => format!("[{}]", parts.join(",")),
    };
    (content, text.filter(|text| !text.is_empty()))
}

/// What was said elsewhere before, by an agent and others, as the events of a task that is over.
pub(super) fn history(before: &[String], agent: &str) -> Vec<String> {
    if before.is_empty() {
        return Vec::new();
    }
    let task = Uuid::now_v7().to_string();
    let source = format!("{{\"id\":{},\"input\":[{}]}}", quote(&task), before.join(","));
    let options = DecodeOptions {
        agent: Some(agent.to_owned()),
        start: Start::Continue,
        frames: Frames::Skip,
        ..DecodeOptions::default()
    };
    let mut events = Vec::new();
    dialect::decode(&dialect::agent_api::DIALECT, &options, &source, |batch| {
        for event in batch.events.iter().filter(|event| event.kind() != Kind::ThreadCreated) {
            let mut text = String::new();
            event.write(&mut text);
            events.push(text);
        }
    });
    events.push(format!("{{\"kind\":\"task-complete\",\"taskId\":{}}}", quote(&task)));
    events
}
