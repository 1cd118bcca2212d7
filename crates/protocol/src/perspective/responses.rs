//! Input items for OpenAI's Responses API, for requests that keep nothing there (`store: false`).

use super::chat::{Message, Piece, Thought, chat, object, plain};
use super::{History, Media, Side, Source, View};
use crate::base64::{Alphabet, encode};
use crate::json::quote;

/// The `instructions` and the `input` of a request, as one object; `instructions` is left out
/// where there are none. Of thoughts only those come back that are OpenAI's own and encrypted.
pub fn responses(history: &History, view: View<'_>, system: Option<&str>) -> String {
    let chat = chat(history, view, system);
    let mut items: Vec<String> = Vec::new();
    for message in &chat.messages {
        match message.side {
            Side::Input => input(message, &mut items),
            Side::Output => output(message, &mut items),
        }
    }
    let instructions = match chat.system.as_slice() {
        [] => String::new(),
        system => format!("\"instructions\":{},", quote(&system.join("\n\n"))),
    };
    format!("{{{instructions}\"input\":[{}]}}", items.join(","))
}

fn input(message: &Message, items: &mut Vec<String>) {
    let mut content = Vec::new();
    for piece in &message.pieces {
        match piece {
            Piece::Return { id, content, .. } => items.push(format!(
                "{{\"type\":\"function_call_output\",\"call_id\":{},\"output\":{}}}",
                quote(id),
                quote(&plain(content))
            )),
            Piece::Text(text) => content.push(part("input_text", text)),
            Piece::Media(media) => content.push(media_part(media)),
            Piece::Thought(_) | Piece::Call { .. } => {}
        }
    }
    if !content.is_empty() {
        items.push(format!(
            "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{}]}}",
            content.join(",")
        ));
    }
}

fn output(message: &Message, items: &mut Vec<String>) {
    // A thought without what it led to is refused, so it waits for that.
    let mut thoughts: Vec<String> = Vec::new();
    for piece in &message.pieces {
        let item = match piece {
            Piece::Thought(thought) => {
                thoughts.extend(reasoning(thought));
                continue;
            }
            Piece::Text(text) if !text.is_empty() => format!(
                "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{}]}}",
                part("output_text", text)
            ),
            Piece::Call { id, name, arguments } => format!(
                "{{\"type\":\"function_call\",\"call_id\":{},\"name\":{},\"arguments\":{}}}",
                quote(id),
                quote(name),
                quote(&object(arguments, "value"))
            ),
            Piece::Text(_) | Piece::Media(_) | Piece::Return { .. } => continue,
        };
        items.append(&mut thoughts);
        items.push(item);
    }
}

fn reasoning(thought: &Thought) -> Option<String> {
    let sealed = quote(thought.signature("openai")?);
    let summary = match thought.text.as_str() {
        "" => String::new(),
        text => part("summary_text", text),
    };
    Some(format!(
        "{{\"type\":\"reasoning\",\"summary\":[{summary}],\"encrypted_content\":{sealed}}}"
    ))
}

fn part(kind: &str, text: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"text\":{}}}", quote(text))
}

fn media_part(media: &Media) -> String {
    let data = |bytes: &[u8]| {
        quote(&format!("data:{};base64,{}", media.media_type, encode(bytes, Alphabet::Standard)))
    };
    match (media.class, &media.source) {
        ("image", source) => {
            let url = match source {
                Source::Url(url) => quote(url),
                Source::Bytes(bytes) => data(bytes),
            };
            format!("{{\"type\":\"input_image\",\"image_url\":{url},\"detail\":\"auto\"}}")
        }
        ("file", Source::Url(url)) => {
            format!("{{\"type\":\"input_file\",\"file_url\":{}}}", quote(url))
        }
        ("file", Source::Bytes(bytes)) => format!(
            "{{\"type\":\"input_file\",\"filename\":{},\"file_data\":{}}}",
            quote(media.name.as_deref().unwrap_or("file")),
            data(bytes)
        ),
        // Sound and video have no part: what they are is told.
        (class, Source::Url(url)) => part("input_text", &format!("[{class}: {url}]")),
        (class, Source::Bytes(_)) => {
            let name = media.name.as_deref().unwrap_or(&media.media_type);
            part("input_text", &format!("[{class}: {name}]"))
        }
    }
}
