//! Chat messages for Gemini's `generateContent`.

use super::chat::{Message, Piece, chat, object};
use super::{History, Media, Side, Source, View};
use crate::base64::{Alphabet, encode};
use crate::json::quote;

/// The `systemInstruction` and the `contents` of a request, as one object;
/// `systemInstruction` is left out where there is none.
pub fn gemini(history: &History, view: View<'_>, system: Option<&str>) -> String {
    let chat = chat(history, view, system);
    let contents: Vec<String> = chat.messages.iter().filter_map(content).collect();
    let system = match chat.system.as_slice() {
        [] => String::new(),
        system => {
            let parts: Vec<String> = system.iter().map(|text| text_part(text, "")).collect();
            format!("\"systemInstruction\":{{\"parts\":[{}]}},", parts.join(","))
        }
    };
    format!("{{{system}\"contents\":[{}]}}", contents.join(","))
}

fn content(message: &Message) -> Option<String> {
    let mut parts = Vec::new();
    // A thought's signature goes on the part that follows the thought.
    let mut seal = String::new();
    for piece in &message.pieces {
        match piece {
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) => parts.push(text_part(text, &std::mem::take(&mut seal))),
            Piece::Media(media) => parts.push(media_part(media)),
            Piece::Thought(thought) => {
                if thought.is_of("google") && !thought.text.is_empty() {
                    parts.push(format!("{{\"text\":{},\"thought\":true}}", quote(&thought.text)));
                }
                if let Some(signature) = thought.signature("google") {
                    seal = format!(",\"thoughtSignature\":{}", quote(signature));
                }
            }
            Piece::Call { id, name, arguments } => parts.push(format!(
                "{{\"functionCall\":{{\"id\":{},\"name\":{},\"args\":{}}}{}}}",
                quote(id),
                quote(name),
                object(arguments, "value"),
                std::mem::take(&mut seal)
            )),
            Piece::Return { id, name, failed, content } => parts.push(format!(
                "{{\"functionResponse\":{{\"id\":{},\"name\":{},\"response\":{}}}}}",
                quote(id),
                quote(name),
                object(content, if *failed { "error" } else { "output" })
            )),
        }
    }
    // One that came after everything goes back as it came: on a part without text.
    if !seal.is_empty() {
        parts.push(text_part("", &seal));
    }
    if parts.is_empty() {
        return None;
    }
    let role = match message.side {
        Side::Input => "user",
        Side::Output => "model",
    };
    Some(format!("{{\"role\":\"{role}\",\"parts\":[{}]}}", parts.join(",")))
}

fn text_part(text: &str, seal: &str) -> String {
    format!("{{\"text\":{}{seal}}}", quote(text))
}

fn media_part(media: &Media) -> String {
    let mime = quote(&media.media_type);
    match &media.source {
        Source::Url(url) => {
            format!("{{\"fileData\":{{\"mimeType\":{mime},\"fileUri\":{}}}}}", quote(url))
        }
        Source::Bytes(bytes) => format!(
            "{{\"inlineData\":{{\"mimeType\":{mime},\"data\":\"{}\"}}}}",
            encode(bytes, Alphabet::Standard)
        ),
    }
}
