//! How a model gets to know the artifact tools.

use serde_json::{Value, json};

use super::Deed;
use crate::model::ToolSpec;

pub(super) fn spec(deed: Deed) -> ToolSpec {
    let (name, description, schema) = match deed {
        Deed::Create => (
            "artifact_create",
            "Create an artifact that the user keeps: a file (give `content`, or `url` where it is), a data record (give \
             `data`) or a dataset (give `rows`). Its name is its id from then on.",
            object(&["name"], &[], Content::Any),
        ),
        Deed::Append => (
            "artifact_append",
            "Add text to the end of a file (give `content`) or rows to a dataset (give `rows`). \
             This makes a new version.",
            object(&["id"], &[], Content::Growing),
        ),
        Deed::Update => (
            "artifact_update",
            "Replace what an artifact holds with a new version. With `version`, only if that is \
             still the latest.",
            object(&["id"], &["version"], Content::Any),
        ),
        Deed::List => (
            "artifact_list",
            "List the artifacts of this conversation.",
            object(&[], &[], Content::None),
        ),
        Deed::Read => (
            "artifact_read",
            "Read an artifact: the latest version, or `version`. Long ones come in parts: go on \
             with `offset` set to `next_offset`.",
            object(&["id"], &["version", "offset"], Content::None),
        ),
    };
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}

/// What a tool takes beside names and numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    None,
    Growing,
    Any,
}

fn object(texts: &[&str], numbers: &[&str], content: Content) -> Value {
    let mut properties = serde_json::Map::new();
    for name in texts {
        let schema = json!({"type": "string", "minLength": 1, "maxLength": 200});
        properties.insert((*name).to_owned(), schema);
    }
    for name in numbers {
        properties.insert((*name).to_owned(), json!({"type": "integer", "minimum": 0}));
    }
    if content != Content::None {
        let about = json!({"type": "string", "description": "The text of a file"});
        properties.insert("content".to_owned(), about);
        let about = json!({"type": "array", "items": {"type": "object"},
                           "description": "The rows of a dataset"});
        properties.insert("rows".to_owned(), about);
    }
    if content == Content::Any {
        let about = json!({"type": "object", "description": "A data record"});
        properties.insert("data".to_owned(), about);
        let about = json!({"type": "string", "maxLength": 100, "description": "Of a file: text/plain if not told"});
        properties.insert("mime_type".to_owned(), about);
        let about = json!({"enum": ["utf-8", "base64"],
                           "description": "How `content` is to be read: utf-8 if not told"});
        properties.insert("encoding".to_owned(), about);
        let about = json!({"type": "string", "minLength": 1, "maxLength": 2000,
                           "description": "Instead of `content`: where the file is"});
        properties.insert("url".to_owned(), about);
        let about = json!({"type": "string", "maxLength": 2000});
        properties.insert("description".to_owned(), about);
    }
    json!({"type": "object", "properties": properties, "required": texts,
           "additionalProperties": false})
}
