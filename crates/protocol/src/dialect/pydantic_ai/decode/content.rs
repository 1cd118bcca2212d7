//! What users say, as content parts.

use crate::json::{Node, Raw, quote};
use crate::residue::Marks;

/// The items of a user prompt as content parts.
pub(super) fn user_content<'a>(items: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Raw<'a> {
    let mut out = Parts::new(ev);
    marks.list(items);
    for item in items.children() {
        let kind = item.get("kind");
        let part = match kind.as_ref().map(|k| k.body()) {
            None if item.is_string() => Some(("text", vec![("text", item)])),
            Some("text-content" | "structured-content") => {
                item.get("content").map(|c| ("text", vec![("text", c)]))
            }
            Some("image-url") => media(item, "image", "image_url", "url"),
            Some("audio-url") => media(item, "audio", "url", "url"),
            Some("video-url") => media(item, "video", "url", "url"),
            Some("document-url") => media(item, "file", "url", "url"),
            Some("binary") => binary(item),
            Some("uploaded-file") => media(item, "file", "name", "file_id"),
            _ => None,
        };
        let Some(part) = part else { continue };
        if let Some(kind) = kind {
            marks.fixed(kind);
        }
        out.add(part, marks);
    }
    out.finish()
}

/// What was spoken: the words, with the sound where it was kept.
pub(super) fn speech<'a>(part: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Option<Raw<'a>> {
    let transcript = part.some("transcript").filter(|t| t.is_string());
    let audio = part.some("audio").filter(|a| a.get("data").is_some());
    let (Some(audio), sound) = (audio, audio.and_then(binary)) else {
        let transcript = transcript?;
        marks.bind(transcript, ev, "content");
        return Some(Raw::from(transcript));
    };
    let mut out = Parts::new(ev);
    if let Some(transcript) = transcript {
        out.add(("text", vec![("text", transcript)]), marks);
    }
    marks.open(audio);
    if let Some(sound) = sound {
        out.add(sound, marks);
    }
    Some(out.finish())
}

/// A content part: its type, and its fields with the values that they are.
type Part<'d, 'a> = (&'static str, Vec<(&'static str, Node<'d, 'a>)>);

/// Content parts being written.
struct Parts {
    out: String,
    count: usize,
    ev: usize,
}

impl Parts {
    fn new(ev: usize) -> Self {
        Self { out: String::from("["), count: 0, ev }
    }

    fn add(&mut self, (class, fields): Part<'_, '_>, marks: &mut Marks) {
        if self.count > 0 {
            self.out.push(',');
        }
        self.out.push_str("{\"type\":");
        self.out.push_str(&quote(class));
        for (name, node) in fields {
            self.out.push(',');
            self.out.push_str(&quote(name));
            self.out.push(':');
            self.out.push_str(node.raw());
            marks.bind_at(node, self.ev, "content", &format!("/{}/{name}", self.count));
        }
        self.out.push('}');
        self.count += 1;
    }

    fn finish<'a>(mut self) -> Raw<'a> {
        self.out.push(']');
        Raw::owned(self.out)
    }
}

fn binary<'d, 'a>(item: Node<'d, 'a>) -> Option<Part<'d, 'a>> {
    let media_type = item.get("media_type").and_then(|m| m.str()).unwrap_or_default();
    let class = match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "file",
    };
    media(item, class, if class == "image" { "image_base64" } else { "data" }, "data")
}

fn media<'d, 'a>(
    item: Node<'d, 'a>,
    class: &'static str,
    name: &'static str,
    key: &str,
) -> Option<Part<'d, 'a>> {
    let mut fields = vec![(name, item.get(key)?)];
    if let Some(media_type) = item.some("media_type") {
        fields.push(("media_type", media_type));
    }
    Some((class, fields))
}
