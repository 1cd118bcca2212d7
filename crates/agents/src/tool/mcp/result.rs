//! What a server answers, as a model gets to see it.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::tool::{RESULT, ToolError};

/// Bytes of base64: models read it as text, and pay for every letter.
const BASE64: usize = 32 << 10;

/// The answer as JSON: one text as it is, structured content as it is, anything else as a list
/// under `content`. What would be too long is left out and said to be.
pub(super) fn value(result: CallToolResult) -> Result<Value, ToolError> {
    let texts = texts(&result.content);
    if result.is_error == Some(true) {
        let said = match texts {
            Some(texts) if !texts.is_empty() => texts.join("\n"),
            _ => json!(blocks(result.content)).to_string(),
        };
        let end = said.floor_char_boundary(RESULT / 4);
        return Err(ToolError(said.get(..end).unwrap_or_default().to_owned()));
    }
    Ok(match (result.structured_content, texts) {
        // Texts repeat it, for those who cannot read it.
        (Some(structured), Some(_)) => structured,
        (Some(structured), None) => {
            json!({"structuredContent": structured, "content": blocks(result.content)})
        }
        (None, Some(texts)) => match texts.as_slice() {
            [only] => json!(only),
            _ => json!({"content": blocks(result.content)}),
        },
        (None, None) => json!({"content": blocks(result.content)}),
    })
}

/// The texts, if there is nothing else.
fn texts(content: &[ContentBlock]) -> Option<Vec<&str>> {
    let texts = content.iter().map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Blocks without what only a user interface needs.
fn blocks(content: Vec<ContentBlock>) -> Vec<Value> {
    let mut left = BASE64;
    content.into_iter().map(|block| self::block(block, &mut left)).collect()
}

fn block(block: ContentBlock, left: &mut usize) -> Value {
    match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text.text}),
        ContentBlock::Image(image) => {
            bytes(json!({"type": "image", "mimeType": image.mime_type}), "data", image.data, left)
        }
        ContentBlock::Audio(audio) => {
            bytes(json!({"type": "audio", "mimeType": audio.mime_type}), "data", audio.data, left)
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                json!({"type": "resource", "uri": uri, "mimeType": mime_type, "text": text})
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let about = json!({"type": "resource", "uri": uri, "mimeType": mime_type});
                bytes(about, "blob", blob, left)
            }
            _ => json!({"type": "resource"}),
        },
        ContentBlock::ResourceLink(link) => {
            let about = json!({"type": "resource_link", "uri": link.uri, "name": link.name,
                "description": link.description, "mimeType": link.mime_type, "size": link.size});
            without_nulls(about)
        }
        _ => json!({"type": "unknown"}),
    }
}

/// Base64, as long as there is room for it: half of it is worth nothing.
fn bytes(mut about: Value, name: &str, data: String, left: &mut usize) -> Value {
    if data.len() <= *left {
        *left -= data.len();
        about[name] = Value::String(data);
    } else {
        about["omitted"] = json!(format!("{} bytes of base64", data.len()));
    }
    about
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: Value) -> Result<Value, ToolError> {
        value(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn each_kind_of_answer_is_readable_json() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (result, wanted) in [
            (json!({"content": [text("hi")]}), json!("hi")),
            (
                json!({"content": [text("a"), text("b")]}),
                json!({"content": [text("a"), text("b")]}),
            ),
            (
                json!({"content": [text("{\"t\":1}")], "structuredContent": {"t": 1}}),
                json!({"t": 1}),
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}],
                       "structuredContent": {"t": 1}}),
                json!({"structuredContent": {"t": 1},
                       "content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}),
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "x://y", "name": "y"}]}),
                json!({"content": [{"type": "resource_link", "uri": "x://y", "name": "y"}]}),
            ),
            (json!({"content": []}), json!({"content": []})),
        ] {
            assert_eq!(read(result), Ok(wanted));
        }
        let failed = read(json!({"content": [text("no"), text("luck")], "isError": true}));
        assert_eq!(failed, Err(ToolError("no\nluck".to_owned())));
    }

    #[test]
    fn pictures_that_are_too_large_are_left_out_and_said_to_be() {
        let image =
            |size| json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(size)});
        let result = read(json!({"content": [image(10), image(1 << 20), image(20)]})).unwrap();
        let omitted = json!({"type": "image", "mimeType": "image/png",
                             "omitted": "1048576 bytes of base64"});
        assert_eq!(result, json!({"content": [image(10), omitted, image(20)]}));
    }
}
