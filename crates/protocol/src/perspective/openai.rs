//! Chat messages for OpenAI's chat completions and whoever speaks them.

use super::chat::{Message, Piece, chat, object, plain};
use super::{History, Media, Side, Source, View};
use crate::base64::{Alphabet, encode};
use crate::json::quote;

/// The `messages` of a request, as `{"messages":[…]}`. Thoughts have no place there, but for those
/// of DeepSeek that led to a call: it wants them back.
pub fn openai(history: &History, view: View<'_>, system: Option<&str>) -> String {
    let chat = chat(history, view, system);
    let mut messages: Vec<String> = Vec::new();
    for text in &chat.system {
        messages.push(format!("{{\"role\":\"system\",\"content\":{}}}", quote(text)));
    }
    for message in &chat.messages {
        match message.side {
            Side::Input => input(message, &mut messages),
            Side::Output => messages.extend(output(message)),
        }
    }
    format!("{{\"messages\":[{}]}}", messages.join(","))
}

fn input(message: &Message, messages: &mut Vec<String>) {
    let mut content = Vec::new();
    for piece in &message.pieces {
        match piece {
            Piece::Return { id, content, .. } => messages.push(format!(
                "{{\"role\":\"tool\",\"tool_call_id\":{},\"content\":{}}}",
                quote(id),
                quote(&plain(content))
            )),
            Piece::Text(text) => content.push(part(text)),
            Piece::Media(media) => content.push(media_part(media)),
            Piece::Thought(_) | Piece::Call { .. } => {}
        }
    }
    let content = match (content.len(), message.pieces.last()) {
        (0, _) => return,
        // One text is a plain string.
        (1, Some(Piece::Text(text))) => quote(text),
        _ => format!("[{}]", content.join(",")),
    };
    messages.push(format!("{{\"role\":\"user\",\"content\":{content}}}"));
}

fn output(message: &Message) -> Option<String> {
    let texts: Vec<&String> = message
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        })
        .collect();
    let calls: Vec<String> = message
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Call { id, name, arguments } => Some(format!(
                "{{\"id\":{},\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}}}",
                quote(id),
                quote(name),
                quote(&object(arguments, "value"))
            )),
            _ => None,
        })
        .collect();
    let content = match texts.as_slice() {
        [] if calls.is_empty() => return None,
        [] => "null".to_owned(),
        [text] => quote(text),
        texts => {
            let texts: Vec<String> = texts.iter().map(|text| part(text)).collect();
            format!("[{}]", texts.join(","))
        }
    };
    let calls = match calls.as_slice() {
        [] => String::new(),
        calls => format!("{},\"tool_calls\":[{}]", reasoning(message), calls.join(",")),
    };
    Some(format!("{{\"role\":\"assistant\",\"content\":{content}{calls}}}"))
}

fn reasoning(message: &Message) -> String {
    let thoughts = message.pieces.iter().filter_map(|piece| match piece {
        Piece::Thought(thought) if thought.is_named("deepseek") => Some(thought.text.as_str()),
        _ => None,
    });
    match thoughts.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        thoughts => format!(",\"reasoning_content\":{}", quote(&thoughts.join("\n\n"))),
    }
}

fn part(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

fn media_part(media: &Media) -> String {
    let data = |bytes: &[u8]| {
        format!("data:{};base64,{}", media.media_type, encode(bytes, Alphabet::Standard))
    };
    match (media.class, &media.source) {
        ("image", source) => {
            let url = match source {
                Source::Url(url) => url.clone(),
                Source::Bytes(bytes) => data(bytes),
            };
            format!("{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}", quote(&url))
        }
        ("audio", Source::Bytes(bytes)) => {
            let format = if media.media_type.ends_with("wav") { "wav" } else { "mp3" };
            format!(
                "{{\"type\":\"input_audio\",\"input_audio\":{{\"data\":\"{}\",\"format\":\"{format}\"}}}}",
                encode(bytes, Alphabet::Standard)
            )
        }
        (_, Source::Bytes(bytes)) => format!(
            "{{\"type\":\"file\",\"file\":{{\"filename\":{},\"file_data\":{}}}}}",
            quote(media.name.as_deref().unwrap_or("file")),
            quote(&data(bytes))
        ),
        (_, Source::Url(url)) => part(url),
    }
}
