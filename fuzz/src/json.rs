//! Any bytes as JSON: taken exactly when another parser takes them, and the same value however it
//! is printed.

use selvedge_protocol::canonical::{canonical, canonical_eq};
use selvedge_protocol::json::{
    Doc, Node, Style, SyntaxKind, compact, is_stable, print, same_value,
};
use serde::de::IgnoredAny;

/// Panics if a promise is broken.
pub(crate) fn check(bytes: &[u8]) {
    let parsed = Doc::parse_bytes(bytes);
    let taken =
        serde_json::from_slice::<IgnoredAny>(bytes).is_ok() && std::str::from_utf8(bytes).is_ok();
    match &parsed {
        Ok(_) => assert!(taken, "only we take it"),
        Err(error) if error.kind == SyntaxKind::TooDeep => return,
        Err(error) => assert!(!taken, "only we refuse it: {error}"),
    }
    let (Ok(doc), Ok(source)) = (parsed, std::str::from_utf8(bytes)) else { return };
    look(doc.root());
    for style in Style::ALL {
        let mut printed = String::new();
        print(doc.root(), style, &mut printed);
        let again = Doc::parse(&printed).expect("what is printed is JSON");
        assert!(same_value(doc.root(), again.root()), "{} is another value", style.name());
        let mut twice = String::new();
        print(again.root(), style, &mut twice);
        assert_eq!(twice, printed, "{} changes what it printed", style.name());
    }
    if let Ok(form) = canonical(source) {
        assert_eq!(canonical(&form).as_deref(), Ok(&*form), "the canonical form is its own");
        assert_eq!(canonical_eq(source, &form), Ok(true), "the canonical form is equal");
    }
}

/// Reads every value in every way.
fn look(node: Node<'_, '_>) {
    assert_eq!(node.raw().len(), node.end() - node.start());
    let _ = (node.str(), node.i64(), node.f64(), node.bool(), is_stable(node), compact(node));
    for (key, value) in node.members() {
        assert!(key.is_string());
        look(value);
    }
    if node.is_array() {
        node.children().for_each(look);
    }
}
