//! Addresses with places for arguments.
//!
//! Invariant: an argument fills its place and nothing else. It cannot add a path segment, a
//! parameter or a fragment, and it cannot climb out of its folder.

use std::fmt::Write as _;

use reqwest::Url;
use serde_json::{Map, Value};

/// Bytes of an address.
const URL: usize = 8 << 10;

/// An address with places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(String),
}

/// Why a text is no address with places.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum TemplateError {
    #[error("`{0}` is no http or https address")]
    NotHttp(String),
    #[error("`{{` without a name and `}}` behind it")]
    Unclosed,
    #[error("arguments may stand in the path and the query only")]
    Misplaced,
    #[error("the address has a user or a password in it; headers are the place for secrets")]
    Credentials,
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}').ok_or(TemplateError::Unclosed)?;
            if name.is_empty() || name.contains('{') {
                return Err(TemplateError::Unclosed);
            }
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Argument(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        let template = Self(pieces);
        // Places must leave the origin as it is, whatever stands in them.
        let (one, two) = (template.with("a")?, template.with("b.c")?);
        if one.origin() != two.origin() || one.fragment() != two.fragment() {
            return Err(TemplateError::Misplaced);
        }
        if !one.username().is_empty() || one.password().is_some() {
            return Err(TemplateError::Credentials);
        }
        Ok(template)
    }

    /// The arguments that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The address with arguments in their places; they are taken out of `arguments`.
    pub(super) fn fill(&self, arguments: &mut Map<String, Value>) -> Result<Url, String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Argument(name) => match arguments.get(name) {
                    None | Some(Value::Null) => return Err(format!("`/{name}` is missing")),
                    Some(Value::Array(_) | Value::Object(_)) => {
                        return Err(format!("`/{name}` must be a text, a number or a boolean"));
                    }
                    Some(value) => encode(&plain(value), &mut text),
                },
            }
        }
        for name in self.names() {
            arguments.remove(name);
        }
        let path = text.split(['?', '#']).next().unwrap_or_default();
        if text.len() > URL {
            return Err("the arguments are too long for an address".to_owned());
        }
        if path.split('/').skip(3).any(|segment| matches!(segment, "." | "..")) {
            return Err("the arguments would lead to another folder".to_owned());
        }
        Url::parse(&text).map_err(|error| format!("the arguments make no address: {error}"))
    }

    fn with(&self, filler: &str) -> Result<Url, TemplateError> {
        let filled = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Argument(_) => filler,
        });
        let text: String = filled.collect();
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        url.ok_or(TemplateError::NotHttp(text))
    }
}

/// A value without quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Writes a text so that every character but the plainest is encoded.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(template: &str, arguments: Value) -> Result<String, String> {
        let mut arguments = arguments.as_object().unwrap().clone();
        let template = Template::parse(template).unwrap();
        template.fill(&mut arguments).map(|url| url.to_string())
    }

    #[test]
    fn arguments_fill_their_places_and_nothing_else() {
        let address = "https://api.example.com/users/{id}/posts?q={q}";
        for (id, q, wanted) in [
            (json!("ada"), json!("x"), "https://api.example.com/users/ada/posts?q=x"),
            (json!(7), json!(true), "https://api.example.com/users/7/posts?q=true"),
            (
                json!("a/b?c#d&e"),
                json!("x&y=z#f"),
                "https://api.example.com/users/a%2Fb%3Fc%23d%26e/posts?q=x%26y%3Dz%23f",
            ),
            (json!("é {}"), json!(""), "https://api.example.com/users/%C3%A9%20%7B%7D/posts?q="),
            (json!("../.."), json!(""), "https://api.example.com/users/..%2F../posts?q="),
        ] {
            assert_eq!(filled(address, json!({"id": id, "q": q})), Ok(wanted.to_owned()));
        }
        for (id, said) in [
            (json!(".."), "the arguments would lead to another folder"),
            (json!("."), "the arguments would lead to another folder"),
            (json!(["a"]), "`/id` must be a text, a number or a boolean"),
            (json!(null), "`/id` is missing"),
            (json!("x".repeat(10_000)), "the arguments are too long for an address"),
        ] {
            assert_eq!(filled(address, json!({"id": id, "q": ""})), Err(said.to_owned()));
        }
    }

    #[test]
    fn addresses_that_let_arguments_choose_the_host_are_refused() {
        for (template, error) in [
            ("https://{host}/x", TemplateError::Misplaced),
            ("https://{host}.example.com/x", TemplateError::Misplaced),
            (
                "https://example.com:8{port}/x",
                TemplateError::NotHttp("https://example.com:8a/x".to_owned()),
            ),
            ("{url}", TemplateError::NotHttp("a".to_owned())),
            ("https://example.com/#{x}", TemplateError::Misplaced),
            ("https://me:secret@example.com/", TemplateError::Credentials),
            ("ftp://example.com/{x}", TemplateError::NotHttp("ftp://example.com/a".to_owned())),
            ("https://example.com/{x", TemplateError::Unclosed),
            ("https://example.com/{}", TemplateError::Unclosed),
        ] {
            assert_eq!(Template::parse(template), Err(error), "{template}");
        }
    }
}
