//! The parts of a message's content, whatever they hold.

use crate::base64;
use crate::json::{Node, Raw};

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text, decoded.
    Text(String),
    /// Something to look at, listen to or read.
    Media(Media),
}

/// An image, a sound, a video or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// `image`, `audio`, `video` or `file`.
    pub class: &'static str,
    /// Where it is.
    pub source: Source,
    /// Its media type: as given, or guessed.
    pub media_type: String,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// Where a part's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// At a URL.
    Url(String),
    /// Here.
    Bytes(Vec<u8>),
}

/// The parts of a `content` value: a string, or ThreadProtocol content parts; then attachments.
pub fn parts(content: Option<&Raw<'_>>, attachments: Option<&Raw<'_>>) -> Vec<Part> {
    let mut out = Vec::new();
    if let Some(content) = content {
        match content.str() {
            Some(text) => out.push(Part::Text(text.into_owned())),
            None => each(content, &mut out),
        }
    }
    if let Some(attachments) = attachments {
        each(attachments, &mut out);
    }
    out
}

fn each(list: &Raw<'_>, out: &mut Vec<Part>) {
    let Some(doc) = list.doc() else { return };
    let root = doc.root();
    if root.is_array() {
        out.extend(root.children().filter_map(part));
    } else {
        out.extend(part(root));
    }
}

fn part(node: Node<'_, '_>) -> Option<Part> {
    let text = |key: &str| node.get(key).and_then(|n| n.str()).map(|s| s.into_owned());
    if let Some(text) = node.str() {
        return Some(Part::Text(text.into_owned()));
    }
    if let Some(text) = text("text") {
        return Some(Part::Text(text));
    }
    if let Some(data) = node.some("data").filter(|data| data.is_object() || data.is_array()) {
        // Models read data as they read text.
        return Some(Part::Text(data.raw().to_owned()));
    }
    let media_type = text("media_type").filter(|m| !m.is_empty());
    let name = text("name");
    let data = text("image_base64").or_else(|| text("data"));
    let (source, found) = if let Some(data) = data {
        match data_uri(&data) {
            Some((media_type, bytes)) => (Source::Bytes(bytes), media_type),
            None => (Source::Bytes(base64::decode(&data)?), None),
        }
    } else if let Some(url) = text("image_url").or_else(|| text("url")) {
        match data_uri(&url) {
            Some((media_type, bytes)) => (Source::Bytes(bytes), media_type),
            None => (Source::Url(url), None),
        }
    } else {
        // A file known only by name is told as text: the name is all there is.
        return name.map(Part::Text);
    };
    let known = media_type.or(found).or_else(|| {
        let named = name.as_deref().and_then(inferred_media_type);
        let by_url = match &source {
            Source::Url(url) => inferred_media_type(url),
            Source::Bytes(_) => None,
        };
        named.or(by_url).map(str::to_owned)
    });
    let class = match text("type").as_deref() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => class_of(known.as_deref().unwrap_or("")),
    };
    let media_type = known.unwrap_or_else(|| "application/octet-stream".to_owned());
    Some(Part::Media(Media { class, source, media_type, name }))
}

fn class_of(media_type: &str) -> &'static str {
    match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "file",
    }
}

/// The media type and bytes of a base64 `data:` URI.
fn data_uri(url: &str) -> Option<(Option<String>, Vec<u8>)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    let media_type = Some(media_type).filter(|m| !m.is_empty()).map(str::to_owned);
    Some((media_type, base64::decode(data)?))
}

/// The media type that a name or URL lets expect.
pub fn inferred_media_type(name: &str) -> Option<&'static str> {
    let path = name.split(['?', '#']).next()?;
    let extension = path.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" | "oga" => "audio/ogg",
        "flac" => "audio/flac",
        "aac" => "audio/aac",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "mkv" => "video/x-matroska",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "md" => "text/markdown",
        "json" => "application/json",
        "xml" => "application/xml",
        _ => return None,
    })
}
