//! Chat messages for Anthropic's Messages API.

use super::chat::{Message, Piece, chat, object, plain};
use super::{History, Media, Side, Source, View};
use crate::base64::{Alphabet, encode};
use crate::json::{Raw, quote};

/// The system prompt and the `messages` of a request, as `{"system":…,"messages":[…]}`; `system`
/// is left out where there is none. Roles alternate, and only signed thoughts are sent back.
pub fn anthropic(history: &History, view: View<'_>, system: Option<&str>) -> String {
    let chat = chat(history, view, system);
    let messages: Vec<String> = chat.messages.iter().filter_map(message).collect();
    let system = match chat.system.as_slice() {
        [] => String::new(),
        system => format!("\"system\":{},", quote(&system.join("\n\n"))),
    };
    format!("{{{system}\"messages\":[{}]}}", messages.join(","))
}

fn message(message: &Message) -> Option<String> {
    let blocks: Vec<String> = message.pieces.iter().filter_map(block).collect();
    if blocks.is_empty() {
        return None;
    }
    let role = match message.side {
        Side::Input => "user",
        Side::Output => "assistant",
    };
    Some(format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(",")))
}

fn block(piece: &Piece) -> Option<String> {
    Some(match piece {
        // Empty text is refused.
        Piece::Text(text) if text.is_empty() => return None,
        Piece::Text(text) => text_block(text),
        Piece::Media(media) => media_block(media),
        Piece::Thought(thought) => {
            let signature = quote(thought.signature("anthropic")?);
            if thought.is_redacted() {
                format!("{{\"type\":\"redacted_thinking\",\"data\":{signature}}}")
            } else {
                format!(
                    "{{\"type\":\"thinking\",\"thinking\":{},\"signature\":{signature}}}",
                    quote(&thought.text)
                )
            }
        }
        Piece::Call { id, name, arguments } => format!(
            "{{\"type\":\"tool_use\",\"id\":{},\"name\":{},\"input\":{}}}",
            quote(id),
            quote(name),
            object(arguments, "value")
        ),
        Piece::Return { id, failed, content, .. } => {
            let error = if *failed { ",\"is_error\":true" } else { "" };
            format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":{}{error}}}",
                quote(id),
                quote(&returned(content))
            )
        }
    })
}

fn returned(content: &Raw<'_>) -> String {
    if content.is_null() { String::new() } else { plain(content) }
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

fn media_block(media: &Media) -> String {
    let kind = match media.class {
        "image" => "image",
        "file" => "document",
        // Sound and video have no block: what they are is told.
        class => {
            let name = match (&media.name, &media.source) {
                (Some(name), _) => name,
                (None, Source::Url(url)) => url,
                (None, Source::Bytes(_)) => &media.media_type,
            };
            return text_block(&format!("[{class}: {name}]"));
        }
    };
    match &media.source {
        Source::Url(url) => format!(
            "{{\"type\":\"{kind}\",\"source\":{{\"type\":\"url\",\"url\":{}}}}}",
            quote(url)
        ),
        Source::Bytes(bytes) if kind == "document" && media.media_type.starts_with("text/") => {
            format!(
                "{{\"type\":\"document\",\"source\":{{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":{}}}}}",
                quote(&String::from_utf8_lossy(bytes))
            )
        }
        Source::Bytes(bytes) => format!(
            "{{\"type\":\"{kind}\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":\"{}\"}}}}",
            quote(&media.media_type),
            encode(bytes, Alphabet::Standard)
        ),
    }
}
