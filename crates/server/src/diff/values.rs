//! Two JSON values, by pointer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use selvedge_protocol::json::{Node, quote, same_value};

/// Changes that are told at most.
const CHANGES: usize = 10_000;

/// What differs, as members of a JSON array, and whether all of it is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) list: String,
    pub(crate) count: usize,
    pub(crate) truncated: bool,
}

impl Changes {
    /// What differs between two values.
    pub(crate) fn between(old: Node<'_, '_>, new: Node<'_, '_>) -> Self {
        let mut all = Self::default();
        all.compare("", old, new);
        all
    }

    fn compare(&mut self, at: &str, old: Node<'_, '_>, new: Node<'_, '_>) {
        if old.is_object() && new.is_object() {
            let (olds, news) = (members(old), members(new));
            for (name, value) in &olds {
                let at = below(at, name);
                match news.get(name) {
                    Some(other) => self.compare(&at, *value, *other),
                    None => self.tell("remove", &at, Some(*value), None),
                }
            }
            for (name, value) in &news {
                if !olds.contains_key(name) {
                    self.tell("add", &below(at, name), None, Some(*value));
                }
            }
        } else if old.is_array() && new.is_array() {
            let (mut olds, mut news) = (old.children(), new.children());
            for i in 0.. {
                let at = format!("{at}/{i}");
                match (olds.next(), news.next()) {
                    (Some(old), Some(new)) => self.compare(&at, old, new),
                    (Some(old), None) => self.tell("remove", &at, Some(old), None),
                    (None, Some(new)) => self.tell("add", &at, None, Some(new)),
                    (None, None) => break,
                }
            }
        } else if !same_value(old, new) {
            self.tell("replace", at, Some(old), Some(new));
        }
    }

    fn tell(&mut self, op: &str, at: &str, old: Option<Node<'_, '_>>, new: Option<Node<'_, '_>>) {
        if self.count >= CHANGES {
            self.truncated = true;
            return;
        }
        let comma = if self.count > 0 { "," } else { "" };
        self.list.push_str(&format!("{comma}{{\"op\":\"{op}\",\"path\":{}", quote(at)));
        for (name, value) in [("from", old), ("to", new)] {
            if let Some(value) = value {
                self.list.push_str(&format!(",\"{name}\":{}", value.raw()));
            }
        }
        self.list.push('}');
        self.count += 1;
    }
}

/// An object's members, by name; the last of a name counts.
fn members<'d, 'a>(object: Node<'d, 'a>) -> BTreeMap<Cow<'a, str>, Node<'d, 'a>> {
    object.members().map(|(name, value)| (name.str().unwrap_or_default(), value)).collect()
}

fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::json::Doc;

    use super::*;

    #[test]
    fn changes_are_told_by_pointer() {
        let old = Doc::parse(r#"{"a":1,"b":{"x/y":[1,2]},"gone":null,"same":1.0}"#).unwrap();
        let new = Doc::parse(r#"{"b":{"x/y":[1,3,4]},"a":"1","come":{},"same":1}"#).unwrap();
        let told = Changes::between(old.root(), new.root());
        let expected = r#"{"op":"replace","path":"/a","from":1,"to":"1"},{"op":"replace","path":"/b/x~1y/1","from":2,"to":3},{"op":"add","path":"/b/x~1y/2","to":4},{"op":"remove","path":"/gone","from":null},{"op":"add","path":"/come","to":{}}"#;
        assert_eq!((told.list.as_str(), told.count), (expected, 5));
    }
}
