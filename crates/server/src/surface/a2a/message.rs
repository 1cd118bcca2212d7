//! What is sent: a message, and how it is to be answered.

use selvedge_protocol::json::{Node, quote};

use super::caller::Version;
use super::config::Config;
use super::fault::Fault;
use super::request::{count, flag, member, needed, text};

/// Media types of what is taken: all, since the journal keeps them as they are. Those that agents
/// understand best come first.
pub(super) const MODES: &[&str] = &["text/plain", "application/json", "*/*"];
/// Parts of one message.
const PARTS: usize = 1000;

/// A message to an agent.
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) context: Option<String>,
    pub(super) task: Option<String>,
    /// The content of the journal's event, as JSON.
    pub(super) content: String,
    /// What it says, if it is but text.
    pub(super) text: Option<String>,
    /// Data that came with it, as JSON.
    pub(super) data: Vec<String>,
    /// Metadata, as JSON.
    pub(super) metadata: Option<String>,
    pub(super) history: Option<usize>,
    pub(super) wait: Wait,
    pub(super) push: Option<Config>,
}

/// When an answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// When the task is over or waits for someone.
    Rest,
    /// At once.
    Not,
}

impl Sent {
    pub(super) fn read(params: Node<'_, '_>, version: Version) -> Result<Self, Fault> {
        let Some(message) = member(params, "message").filter(|message| message.is_object()) else {
            return Err(Fault::at("/message", "`message` is missing: what is sent?"));
        };
        let at = "/message";
        let id = needed(message, "messageId", at)?;
        if id.len() > 256 || id.contains(|c: char| c.is_control()) {
            let message = "`messageId` must have 1 to 256 bytes and no control characters";
            return Err(Fault::at("/message/messageId", message));
        }
        let role = needed(message, "role", at)?;
        if !matches!((version, &*role), (Version::V1, "ROLE_USER") | (Version::V03, "user")) {
            return Err(Fault::at("/message/role", "`role` must be the user's"));
        }
        let parts = member(message, "parts").filter(|parts| parts.is_array());
        let Some(parts) = parts.filter(|parts| parts.children().next().is_some()) else {
            return Err(Fault::at("/message/parts", "`parts` must be an array of parts"));
        };
        if parts.children().count() > PARTS {
            return Err(Fault::at("/message/parts", format!("at most {PARTS} parts are taken")));
        }
        let mut pieces = Vec::new();
        for (i, part) in parts.children().enumerate() {
            pieces.push(Piece::read(part, version, &format!("/message/parts/{i}"))?);
        }
        let texts = pieces.iter().map(|piece| piece.plain.clone());
        let text_only = texts.collect::<Option<Vec<_>>>().map(|texts| texts.concat());
        let content = match &text_only {
            Some(only) => quote(only),
            None => {
                let parts: Vec<&str> = pieces.iter().map(|piece| &*piece.content).collect();
                format!("[{}]", parts.join(","))
            }
        };
        let asked = member(params, "configuration").filter(|asked| asked.is_object());
        let own = "/configuration";
        let (mut history, mut wait, mut push) = (None, Wait::Rest, None);
        if let Some(asked) = asked {
            history = count(asked, "historyLength", own)?;
            let not = match version {
                Version::V1 => flag(asked, "returnImmediately", own)?,
                Version::V03 => flag(asked, "blocking", own)?.map(|blocking| !blocking),
            };
            if not == Some(true) {
                wait = Wait::Not;
            }
            let names = ["taskPushNotificationConfig", "pushNotificationConfig"];
            for name in names {
                if let Some(config) = member(asked, name) {
                    push = Some(Config::read(config, version, &format!("{own}/{name}"))?);
                }
            }
        }
        let metadata = message.some("metadata").filter(|metadata| metadata.is_object());
        Ok(Self {
            id,
            context: text(message, "contextId", at)?,
            task: text(message, "taskId", at)?,
            content,
            text: text_only,
            data: pieces.into_iter().filter_map(|piece| piece.data).collect(),
            metadata: metadata.map(|metadata| metadata.raw().to_owned()),
            history,
            wait,
            push,
        })
    }
}

/// A part of a message.
struct Piece {
    /// As a part of the journal's content, as JSON.
    content: String,
    /// Its text, if it is but that.
    plain: Option<String>,
    /// Its data, as JSON.
    data: Option<String>,
}

impl Piece {
    fn read(part: Node<'_, '_>, version: Version, at: &str) -> Result<Self, Fault> {
        if !part.is_object() {
            return Err(Fault::at(at, "a part is an object"));
        }
        let (part, names) = match version {
            Version::V1 => (part, ["text", "raw", "url", "data"]),
            Version::V03 => {
                let kind = needed(part, "kind", at)?;
                match &*kind {
                    "text" => (part, ["text", "", "", ""]),
                    "data" => (part, ["", "", "", "data"]),
                    "file" => match part.some("file").filter(|file| file.is_object()) {
                        Some(file) => (file, ["", "bytes", "uri", ""]),
                        None => return Err(Fault::at(format!("{at}/file"), "`file` is missing")),
                    },
                    _ => {
                        let message = "`kind` must be text, file or data";
                        return Err(Fault::at(format!("{at}/kind"), message));
                    }
                }
            }
        };
        let given: Vec<_> = names
            .into_iter()
            .enumerate()
            .filter_map(|(i, name)| Some((i, part.get(name).filter(|_| !name.is_empty())?)))
            .collect();
        let [(which, value)] = given.as_slice() else {
            return Err(Fault::at(at, "a part has one of text, bytes, an address or data"));
        };
        let is_text = *which < 3;
        if is_text && !value.is_string() {
            return Err(Fault::at(at, "the content of this part must be a string"));
        }
        if *which == 3 && version == Version::V03 && !value.is_object() {
            return Err(Fault::at(format!("{at}/data"), "`data` must be an object"));
        }
        let (media, name) = match version {
            Version::V1 => ("mediaType", "filename"),
            Version::V03 => ("mimeType", "name"),
        };
        let (media, name) = (text(part, media, at)?, text(part, name, at)?);
        Ok(Self::made(*which, *value, media.as_deref(), name.as_deref()))
    }

    fn made(which: usize, value: Node<'_, '_>, media: Option<&str>, name: Option<&str>) -> Self {
        let sort = media.and_then(|media| media.split('/').next()).unwrap_or("");
        let (ty, key) = match (which, sort) {
            (0, _) => ("text", "text"),
            (3, _) => ("data", "data"),
            (1, "image") => ("image", "image_base64"),
            (_, "image") => ("image", "image_url"),
            (1, "audio" | "video") => (sort, "data"),
            (_, "audio" | "video") => (sort, "url"),
            (1, _) => ("file", "data"),
            _ => ("file", "url"),
        };
        let mut content = format!("{{\"type\":{},\"{key}\":{}", quote(ty), value.raw());
        for (key, value) in [("media_type", media), ("name", name)] {
            if let Some(value) = value.filter(|_| which != 0) {
                content.push_str(&format!(",\"{key}\":{}", quote(value)));
            }
        }
        content.push('}');
        let plain = value.str().filter(|_| which == 0).map(|text| text.into_owned());
        Self { content, plain, data: (which == 3).then(|| value.raw().to_owned()) }
    }
}
