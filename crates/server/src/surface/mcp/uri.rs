//! The names of resources: `thread://{thread}`, and what is below it.

use std::borrow::Cow;

use crate::surface::native::threads::encode;
use crate::{Error, ErrorCode};

/// What a resource is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// A thread's state.
    Thread,
    /// A page of its journal, after a place.
    Events { after: Option<String> },
    /// Its tasks.
    Tasks,
    /// One of them, with what it said.
    Task(String),
    /// Its artifacts.
    Artifacts,
    /// What one of them holds.
    Artifact(String),
}

/// The resource of a thread.
pub(super) fn uri(thread: &str, named: &Named) -> String {
    let thread = encode(thread);
    match named {
        Named::Thread => format!("thread://{thread}"),
        Named::Events { after: None } => format!("thread://{thread}/events"),
        Named::Events { after: Some(after) } => {
            format!("thread://{thread}/events?after={}", encode(after))
        }
        Named::Tasks => format!("thread://{thread}/tasks"),
        Named::Task(id) => format!("thread://{thread}/tasks/{}", encode(id)),
        Named::Artifacts => format!("thread://{thread}/artifacts"),
        Named::Artifact(id) => format!("thread://{thread}/artifacts/{}", encode(id)),
    }
}

/// The thread that a resource belongs to, and what it is.
pub(super) fn parse(uri: &str) -> Result<(String, Named), Error> {
    let unknown = || Error::new(ErrorCode::NotFound, format!("there is no resource `{uri}`"));
    let rest = uri.strip_prefix("thread://").ok_or_else(unknown)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let parts: Vec<String> = path.split('/').map(decode).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (thread, named) = match parts.as_slice() {
        [thread] | [thread, ""] => (thread, Named::Thread),
        [thread, "events"] => {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            let after = pairs.find(|(name, _)| name == "after").map(|(_, v)| v.into_owned());
            (thread, Named::Events { after })
        }
        [thread, "tasks"] => (thread, Named::Tasks),
        [thread, "tasks", id] => (thread, Named::Task((*id).to_owned())),
        [thread, "artifacts"] => (thread, Named::Artifacts),
        [thread, "artifacts", id] => (thread, Named::Artifact((*id).to_owned())),
        _ => return Err(unknown()),
    };
    if thread.is_empty() {
        return Err(unknown());
    }
    Ok(((*thread).to_owned(), named))
}

fn decode(part: &str) -> String {
    // A plus is itself in a path.
    let form = format!("v={}", part.replace('+', "%2B").replace('&', "%26"));
    let mut pairs = form_urlencoded::parse(form.as_bytes());
    pairs.next().map_or_else(String::new, |(_, value)| Cow::into_owned(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_whatever_ids_hold() {
        for id in ["t", "a/b", "a b+c", "ü?&=#%", "message/agent"] {
            for named in [
                Named::Thread,
                Named::Events { after: Some("1.2".to_owned()) },
                Named::Events { after: None },
                Named::Tasks,
                Named::Task(id.to_owned()),
                Named::Artifacts,
                Named::Artifact(id.to_owned()),
            ] {
                let uri = uri(id, &named);
                assert_eq!(parse(&uri).unwrap(), (id.to_owned(), named), "{uri}");
            }
        }
        for bad in ["", "http://x", "thread://", "thread://t/x", "thread://t/tasks/a/b"] {
            assert_eq!(parse(bad).unwrap_err().code, ErrorCode::NotFound, "{bad}");
        }
    }
}
