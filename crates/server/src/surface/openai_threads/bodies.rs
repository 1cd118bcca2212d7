//! What requests say: messages and metadata, checked against what OpenAI takes.

use http::HeaderMap;
use selvedge_protocol::json::{Node, NodeKind, quote};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::auth::Principal;
use crate::{Error, ErrorCode};

/// Characters of a text, parts of a message, messages at once, attachments.
const TEXT: usize = 256_000;
const PARTS: usize = 100;
const MESSAGES: usize = 100;
const ATTACHMENTS: usize = 10;
/// Members of metadata, characters of their names and values, and actors that AITP puts there.
const MEMBERS: usize = 16;
const NAME: usize = 64;
const VALUE: usize = 512;
const ACTORS: usize = 64;

/// Something wrong with a part of a body.
pub(super) fn wrong(message: impl Into<String>, pointer: impl Into<String>) -> Error {
    Error::new(ErrorCode::BadParameter, message).at(pointer)
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

/// A message that is to be said.
pub(super) struct NewMessage {
    pub(super) id: String,
    pub(super) role: Role,
    /// The event that says it.
    pub(super) event: String,
    /// What it says, if it is but text.
    pub(super) text: Option<String>,
}

/// An id for something that a request makes: the same request under the same key makes the same.
/// `which` tells apart what one key may make in several places.
pub(super) fn mint(prefix: &str, headers: &HeaderMap, which: usize) -> String {
    let id = match headers.get("idempotency-key") {
        Some(key) => {
            let digest = Sha256::new().chain_update(key.as_bytes()).chain_update(prefix);
            let digest: [u8; 32] = digest.chain_update(which.to_le_bytes()).finalize().into();
            let half = digest.first_chunk::<16>().copied().unwrap_or_default();
            Uuid::from_bytes(half)
        }
        None => Uuid::now_v7(),
    };
    format!("{prefix}{}", id.simple())
}

/// The messages in a member of a body.
pub(super) fn messages(
    root: Node<'_, '_>,
    name: &str,
    (principal, headers): (&Principal, &HeaderMap),
) -> Result<Vec<NewMessage>, Error> {
    let Some(list) = root.some(name) else { return Ok(Vec::new()) };
    let at = format!("/{name}");
    if !list.is_array() || list.children().count() > MESSAGES {
        return Err(wrong(format!("`{name}` must be an array of up to {MESSAGES} messages"), at));
    }
    let one = |(i, node)| {
        message(node, i, (principal, headers)).map_err(|error| error.within(&format!("{at}/{i}")))
    };
    list.children().enumerate().map(one).collect()
}

/// A message; a text alone is one of the user's, as AITP has it.
pub(super) fn message(
    node: Node<'_, '_>,
    which: usize,
    (principal, headers): (&Principal, &HeaderMap),
) -> Result<NewMessage, Error> {
    if !node.is_object() && !node.is_string() {
        return Err(wrong("a message is an object with `role` and `content`", ""));
    }
    let role = match node.some("role").map(Node::str) {
        Some(Some(role)) if role == "user" => Role::User,
        None if node.is_string() => Role::User,
        Some(Some(role)) if role == "assistant" => Role::Assistant,
        _ => return Err(wrong("`role` must be user or assistant", "/role")),
    };
    if role == Role::User && principal.is_agent() {
        let message = "an agent speaks as `assistant`";
        return Err(Error::new(ErrorCode::Forbidden, message).at("/role"));
    }
    let (content, text) = match node.is_string() {
        true => content(node),
        false => content(node.some("content").ok_or_else(|| {
            wrong("`content` is missing: a text or an array of parts", "/content")
        })?),
    }
    .map_err(|error| error.within("/content"))?;
    let id = mint("msg_", headers, which);
    let name = if role == Role::User { "user" } else { "agent" };
    let mut event = format!(
        "{{\"kind\":\"message\",\"role\":\"{name}\",\"messageId\":{},\"content\":{content}",
        quote(&id)
    );
    let metadata = if node.is_object() { metadata(node)? } else { None };
    let actor = metadata.and_then(|metadata| metadata.some("actor")).filter(|a| a.is_string());
    if let Some(author) = actor
        .map(|actor| actor.raw().to_owned())
        .or_else(|| principal.subject.as_deref().filter(|_| role == Role::User).map(quote))
    {
        event.push_str(&format!(",\"author\":{author}"));
    }
    if let Some(files) = attachments(node)? {
        event.push_str(&format!(",\"attachments\":{files}"));
    }
    if let Some(metadata) = metadata {
        event.push_str(&format!(",\"metadata\":{}", metadata.raw()));
    }
    event.push('}');
    Ok(NewMessage { id, role, event, text })
}

/// What a message says, as the journal has it, and as text if it is but text.
fn content(node: Node<'_, '_>) -> Result<(String, Option<String>), Error> {
    let is_text = |node: Node<'_, '_>| match node.str() {
        Some(text) if text.chars().count() > TEXT => {
            Err(wrong(format!("a text may have up to {TEXT} characters"), ""))
        }
        Some(text) => Ok(text.into_owned()),
        None => Err(wrong("expected a text", "")),
    };
    if node.is_string() {
        let text = is_text(node)?;
        return Ok((node.raw().to_owned(), Some(text)));
    }
    let count = node.children().count();
    if !node.is_array() || count == 0 || count > PARTS {
        return Err(wrong(format!("a text, or an array of 1 to {PARTS} parts"), ""));
    }
    let (mut parts, mut texts) = (Vec::new(), Some(Vec::new()));
    for (i, part) in node.children().enumerate() {
        let at = |pointer: &str| format!("/{i}{pointer}");
        let member = |sort: &str, name: &str| {
            let value = part.some(sort).and_then(|part| part.some(name));
            value.filter(|value| value.is_string()).ok_or_else(|| {
                wrong(format!("`{sort}.{name}` must be a string"), at(&format!("/{sort}/{name}")))
            })
        };
        let sort = part.some("type").and_then(Node::str);
        // AITP's parts are texts.
        let text = if part.is_string() { Some(part) } else { part.some("text") };
        match (sort.as_deref(), text) {
            (Some("text") | None, Some(text)) => {
                let said = is_text(text).map_err(|e| e.within(&at("")))?;
                parts.push(format!("{{\"type\":\"text\",\"text\":{}}}", text.raw()));
                texts.iter_mut().for_each(|texts| texts.push(said.clone()));
            }
            (Some("image_url"), _) => {
                let url = member("image_url", "url")?.raw();
                parts.push(format!("{{\"type\":\"image\",\"image_url\":{url}}}"));
                texts = None;
            }
            (Some("image_file"), _) => {
                let file = member("image_file", "file_id")?.raw();
                parts.push(format!("{{\"type\":\"file\",\"name\":{file}}}"));
                texts = None;
            }
            _ => {
                let message = "a part must be of type text, image_url or image_file";
                return Err(wrong(message, at("/type")));
            }
        }
    }
    let text = texts.map(|texts| texts.concat());
    let content = match (&text, parts.len()) {
        (Some(text), 1) => quote(text),
        _ => format!("[{}]", parts.join(",")),
    };
    Ok((content, text))
}

/// Attached files, as the journal has them.
fn attachments(node: Node<'_, '_>) -> Result<Option<String>, Error> {
    let Some(list) = node.some("attachments") else { return Ok(None) };
    if !list.is_array() || list.children().count() > ATTACHMENTS {
        let message = format!("`attachments` must be an array of up to {ATTACHMENTS} files");
        return Err(wrong(message, "/attachments"));
    }
    let mut files = Vec::new();
    for (i, file) in list.children().enumerate() {
        let id = file.some("file_id").filter(|id| id.is_string());
        let id = id.ok_or_else(|| {
            wrong("`file_id` must be a string", format!("/attachments/{i}/file_id"))
        })?;
        files.push(format!("{{\"name\":{}}}", id.raw()));
    }
    Ok((!files.is_empty()).then(|| format!("[{}]", files.join(","))))
}

/// The metadata of a body, if it is there and can be taken. Beside texts, AITP's actors are there
/// and a parent that may be null.
pub(super) fn metadata<'d, 'a>(root: Node<'d, 'a>) -> Result<Option<Node<'d, 'a>>, Error> {
    let Some(metadata) = root.some("metadata") else { return Ok(None) };
    if !metadata.is_object() || metadata.members().count() > MEMBERS {
        let message = format!("`metadata` must be an object with up to {MEMBERS} members");
        return Err(wrong(message, "/metadata"));
    }
    for (name, value) in metadata.members() {
        let name = name.str().unwrap_or_default();
        let fits = match &*name {
            "actors" => value.is_array() && value.children().count() <= ACTORS,
            "parent_id" if value.kind() == NodeKind::Null => true,
            _ => value.str().is_some_and(|value| value.chars().count() <= VALUE),
        };
        if !fits || name.chars().count() > NAME {
            let message =
                format!("metadata has names of up to {NAME} characters and texts of up to {VALUE}");
            return Err(wrong(message, format!("/metadata/{name}")));
        }
    }
    Ok(Some(metadata))
}
