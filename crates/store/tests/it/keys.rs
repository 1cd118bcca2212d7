//! Keys: recognised by their hash, revoked for good, seen by others at once.

use selvedge_store::{KeyError, KeyHash, Keys, NewKey};

use super::home::Home;

fn new(name: &str) -> NewKey {
    NewKey {
        name: name.to_owned(),
        tenant: "acme".to_owned(),
        scopes: vec!["read".to_owned(), "write".to_owned()],
        expires: Some(9),
    }
}

#[test]
fn a_key_is_recognised_until_it_is_revoked_and_its_text_is_not_kept() {
    let Some(home) = Home::new() else { return };
    let at = home.address();
    let (here, there) = (Keys::open(&at).unwrap(), Keys::open(&at).unwrap());
    assert_eq!((there.changes().unwrap(), there.list().unwrap()), (0, vec![]));
    let (first, text) = here.add(new("one"), 1).unwrap();
    let (second, other) = here.add(new("two"), 2).unwrap();
    assert!(text.starts_with("sk_") && text.len() == 67 && text != other, "{text}");
    assert_eq!(first.hash, KeyHash::of(&text));
    assert_ne!(first.hash, KeyHash::of(&other));
    assert_eq!(there.changes().unwrap(), 2);
    assert_eq!(there.list().unwrap(), [first.clone(), second.clone()]);

    let revoked = there.revoke(&first.id, 5).unwrap();
    assert_eq!(revoked.revoked, Some(5));
    assert_eq!(there.revoke(&first.id, 6).unwrap().revoked, Some(5), "the first time counts");
    assert_eq!(here.changes().unwrap(), 3);
    assert_eq!(here.list().unwrap(), [revoked, second]);
    assert!(matches!(here.revoke("none", 7), Err(KeyError::NotFound { .. })));

    drop((here, there));
    assert!(!home.holds(text.trim_start_matches("sk_")));
}

#[tokio::test]
async fn keys_and_journal_are_in_one_place_whichever_comes_first() {
    use selvedge_store::{Append, Create, Draft, ThreadKey};
    for keys_first in [true, false] {
        let Some(home) = Home::new() else { return };
        let at = home.address();
        let early = keys_first.then(|| Keys::open(&at).unwrap());
        let store = home.open();
        let keys = early.unwrap_or_else(|| Keys::open(&at).unwrap());
        keys.add(new("k"), 1).unwrap();
        let append = Append::new(ThreadKey::new("acme", "t"), vec![Draft::new("{\"kind\":\"x\"}")]);
        store.append(append.creating(Create::New)).await.unwrap();
        assert_eq!(keys.changes().unwrap(), 1);
    }
}
