//! Parts of messages and artifacts, in the shapes of 1.0, of 0.3, and of the 0.3 REST server.

use super::model::filled;
use crate::json::{Node, Raw, quote};
use crate::residue::Marks;

/// What a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Text,
    Raw,
    Url,
    Data,
}

/// A part.
#[derive(Clone)]
pub(super) struct Piece<'d, 'a> {
    pub(super) class: Class,
    /// The text, base64, address or data.
    pub(super) value: Node<'d, 'a>,
    pub(super) media: Option<Node<'d, 'a>>,
    pub(super) name: Option<Node<'d, 'a>>,
    /// The value, where it is not the node's own: bytes that were encoded twice.
    other: Option<Raw<'a>>,
}

impl<'a> Piece<'_, 'a> {
    /// The value.
    pub(super) fn raw(&self) -> Raw<'a> {
        self.other.clone().unwrap_or_else(|| Raw::from(self.value))
    }

    /// Says that the value is an event's field, or a place in it.
    pub(super) fn bind(&self, ev: usize, field: &'static str, path: &str, marks: &mut Marks) {
        if self.other.is_some() {
            marks.implied(self.value);
        } else {
            marks.bind_at(self.value, ev, field, path);
        }
    }

    /// Whether it is text without the marks of a file.
    pub(super) fn is_plain(&self) -> bool {
        self.class == Class::Text
            && self.name.is_none()
            && self.media.is_none_or(|m| m.is("text/plain"))
    }
}

/// Which shapes to expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shapes {
    /// Those of the protocol.
    Usual,
    /// Those of the 0.3 draft in protobuf names, where data is wrapped once more.
    Draft,
}

/// The parts of a message or artifact. Marks the list and its discriminators.
pub(super) fn pieces<'d, 'a>(
    parts: Node<'d, 'a>,
    shapes: Shapes,
    marks: &mut Marks,
) -> Vec<Piece<'d, 'a>> {
    marks.list(parts);
    parts.children().filter_map(|part| piece(part, shapes, marks)).collect()
}

fn piece<'d, 'a>(part: Node<'d, 'a>, shapes: Shapes, marks: &mut Marks) -> Option<Piece<'d, 'a>> {
    for key in ["filename", "mediaType"] {
        if let Some(empty) = part.get(key).filter(|n| n.is("")) {
            marks.implied(empty);
        }
    }
    let mut media = filled(part, "mediaType");
    let mut name = filled(part, "filename");
    // A text part of 0.3 has no place for them; our own writer puts them here.
    if let Some(about) =
        part.get("metadata").filter(|_| part.get("kind").is_some_and(|k| k.is("text")))
    {
        media = media.or_else(|| filled(about, "mediaType"));
        name = name.or_else(|| filled(about, "filename"));
        if media.is_some() || name.is_some() {
            marks.open(about);
        }
    }
    let make = |class, value| Piece { class, value, media, name, other: None };
    let found = if let Some(text) = part.get("text").filter(|n| n.is_string()) {
        make(Class::Text, text)
    } else if let Some(raw) = part.get("raw").filter(|n| n.is_string()) {
        make(Class::Raw, raw)
    } else if let Some(url) = part.get("url").filter(|n| n.is_string()) {
        make(Class::Url, url)
    } else if let Some(file) = part.get("file").filter(|n| n.is_object()) {
        file_piece(file, marks)?
    } else if let Some(data) = part.get("data") {
        match data.get("data").filter(|_| shapes == Shapes::Draft) {
            Some(inner) => {
                marks.open(data);
                make(Class::Data, inner)
            }
            None => make(Class::Data, data),
        }
    } else {
        return None;
    };
    if let Some(kind) = part.get("kind") {
        marks.implied(kind);
    }
    Some(found)
}

fn file_piece<'d, 'a>(file: Node<'d, 'a>, marks: &mut Marks) -> Option<Piece<'d, 'a>> {
    let text = |key| file.get(key).filter(|n: &Node<'_, '_>| n.is_string());
    let (class, value, other) = if let Some(bytes) = text("bytes") {
        (Class::Raw, bytes, None)
    } else if let Some(uri) = text("uri").or_else(|| text("fileWithUri")) {
        (Class::Url, uri, None)
    } else {
        let bytes = text("fileWithBytes")?;
        (Class::Raw, bytes, unwrap_base64(bytes.body()))
    };
    marks.open(file);
    let (media, name) = (filled(file, "mimeType"), filled(file, "name"));
    Some(Piece { class, value, media, name, other })
}

/// The 0.3 REST server encodes bytes twice: the base64 inside base64, if that is what it is.
fn unwrap_base64(body: &str) -> Option<Raw<'static>> {
    let mut out = String::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut have) = (0u32, 0u32);
    for byte in body.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        have += 6;
        if have >= 8 {
            have -= 8;
            let byte = (bits >> have & 0xff) as u8;
            if !byte.is_ascii_alphanumeric() && !b"+/-_=".contains(&byte) {
                return None;
            }
            out.push(char::from(byte));
        }
    }
    Some(Raw::string(&out))
}

/// The content of a message: a string for one plain text, else content parts. Data parts have no
/// place in it; they are put in `data`.
pub(super) fn content<'d, 'a>(
    pieces: Vec<Piece<'d, 'a>>,
    ev: usize,
    marks: &mut Marks,
    data: &mut Vec<Piece<'d, 'a>>,
) -> Raw<'a> {
    let (own, shown): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|p| p.class == Class::Data);
    data.extend(own);
    if let [only] = shown.as_slice()
        && only.class == Class::Text
    {
        only.bind(ev, "content", "", marks);
        return only.raw();
    }
    if shown.is_empty() {
        return Raw::Ref("\"\"");
    }
    let mut out = String::from("[");
    for (i, piece) in shown.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let (class, key) = place(piece);
        out.push_str("{\"type\":");
        out.push_str(&quote(class));
        let media = piece.media.filter(|_| piece.class != Class::Text);
        let name = piece.name.filter(|_| class != "image" && class != "text");
        let raw = piece.raw();
        let value = [
            (key, Some(raw.as_str())),
            ("media_type", media.map(Node::raw)),
            ("name", name.map(Node::raw)),
        ];
        for (key, value) in value.into_iter().filter_map(|(k, v)| Some((k, v?))) {
            out.push_str(",\"");
            out.push_str(key);
            out.push_str("\":");
            out.push_str(value);
        }
        out.push('}');
        piece.bind(ev, "content", &format!("/{i}/{key}"), marks);
        for (node, key) in [(media, "media_type"), (name, "name")] {
            if let Some(node) = node {
                marks.bind_at(node, ev, "content", &format!("/{i}/{key}"));
            }
        }
    }
    out.push(']');
    Raw::owned(out)
}

/// The type of a content part, and the key of its value.
fn place(piece: &Piece<'_, '_>) -> (&'static str, &'static str) {
    let url = piece.class == Class::Url;
    let media = piece.media.map_or("", |m| m.body());
    if piece.class == Class::Text {
        ("text", "text")
    } else if media.starts_with("image/") {
        ("image", if url { "image_url" } else { "image_base64" })
    } else {
        let class = match media.split('/').next() {
            Some("audio") => "audio",
            Some("video") => "video",
            _ => "file",
        };
        (class, if url { "url" } else { "data" })
    }
}
