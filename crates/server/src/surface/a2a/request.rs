//! Parameters: read by the names of both versions, refused by where they stand.

use selvedge_protocol::json::Node;

use super::fault::Fault;

/// A member by its name or by its name in protobuf, which readers of its JSON take too.
pub(super) fn member<'d, 'a>(object: Node<'d, 'a>, name: &str) -> Option<Node<'d, 'a>> {
    object.some(name).or_else(|| {
        let mut snake = String::with_capacity(name.len() + 4);
        for c in name.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        object.some(&snake)
    })
}

/// A member that is text, if it is there. An empty one is not.
pub(super) fn text(object: Node<'_, '_>, name: &str, at: &str) -> Result<Option<String>, Fault> {
    let Some(value) = member(object, name) else { return Ok(None) };
    match value.str() {
        Some(text) => Ok(Some(text.into_owned()).filter(|text| !text.is_empty())),
        None => Err(Fault::at(format!("{at}/{name}"), format!("`{name}` must be a string"))),
    }
}

/// A member that must be text.
pub(super) fn needed(object: Node<'_, '_>, name: &str, at: &str) -> Result<String, Fault> {
    text(object, name, at)?
        .ok_or_else(|| Fault::at(format!("{at}/{name}"), format!("`{name}` is missing")))
}

/// A member that is a yes or no, if it is there.
pub(super) fn flag(object: Node<'_, '_>, name: &str, at: &str) -> Result<Option<bool>, Fault> {
    let Some(value) = member(object, name) else { return Ok(None) };
    match value.bool() {
        Some(flag) => Ok(Some(flag)),
        None => Err(Fault::at(format!("{at}/{name}"), format!("`{name}` must be true or false"))),
    }
}

/// A member that is a number that counts something, if it is there.
pub(super) fn count(object: Node<'_, '_>, name: &str, at: &str) -> Result<Option<usize>, Fault> {
    let Some(value) = member(object, name) else { return Ok(None) };
    match value.i64().and_then(|count| usize::try_from(count).ok()) {
        Some(count) => Ok(Some(count)),
        None => {
            let message = format!("`{name}` must be a whole number from 0");
            Err(Fault::at(format!("{at}/{name}"), message))
        }
    }
}
