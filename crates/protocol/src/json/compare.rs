//! Whether two values mean the same, however they are spelled.

use super::{Node, NodeKind, text};

/// Compares values: numbers as doubles, strings as text, objects without regard to order and with
/// the last of repeated keys.
pub fn same_value(a: Node<'_, '_>, b: Node<'_, '_>) -> bool {
    match (a.kind(), b.kind()) {
        (NodeKind::Number, NodeKind::Number) => a.f64() == b.f64(),
        (NodeKind::Plain | NodeKind::Escaped, NodeKind::Plain | NodeKind::Escaped) => {
            text::minimal(a.body()) == text::minimal(b.body())
        }
        (NodeKind::Array, NodeKind::Array) => {
            a.children().count() == b.children().count()
                && a.children().zip(b.children()).all(|(a, b)| same_value(a, b))
        }
        (NodeKind::Object, NodeKind::Object) => {
            let covers = |a: Node<'_, '_>, b: Node<'_, '_>| {
                a.members().all(|(key, _)| {
                    let Some(name) = key.str() else { return false };
                    match (a.get(&name), b.get(&name)) {
                        (Some(x), Some(y)) => same_value(x, y),
                        _ => false,
                    }
                })
            };
            covers(a, b)
                && b.members().all(|(key, _)| key.str().is_some_and(|k| a.get(&k).is_some()))
        }
        (x, y) => x == y && a.raw() == b.raw(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn spelling_does_not_matter() {
        for (a, b, same) in [
            ("{\"a\":1.0,\"b\":[\"\\u00e9\"]}", "{ \"b\": [\"é\"], \"a\": 1 }", true),
            ("{\"a\":1,\"a\":2}", "{\"a\":2}", true),
            ("{\"a\":1}", "{\"a\":1,\"b\":null}", false),
            ("[1,2]", "[2,1]", false),
            ("true", "false", false),
            ("1e2", "100", true),
        ] {
            let (x, y) = (Doc::parse(a).unwrap(), Doc::parse(b).unwrap());
            assert_eq!(same_value(x.root(), y.root()), same, "{a} {b}");
        }
    }
}
