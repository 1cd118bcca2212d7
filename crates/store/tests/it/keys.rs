//! Keys: recognised by their hash, revoked for good, seen by others at once.

use selvedge_store::{KeyError, KeyHash, Keys, NewKey};

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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let (here, there) = (Keys::open(&path).unwrap(), Keys::open(&path).unwrap());
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
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let secret = text.trim_start_matches("sk_").as_bytes();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
}

#[tokio::test]
async fn keys_and_journal_share_a_file_whichever_comes_first() {
    use selvedge_store::{Append, Create, Draft, Options, Store, ThreadKey};
    let folder = tempfile::tempdir().unwrap();
    for (name, keys_first) in [("a.db", true), ("b.db", false)] {
        let path = folder.path().join(name);
        let early = keys_first.then(|| Keys::open(&path).unwrap());
        let store = Store::open(&path, Options::default()).unwrap();
        let keys = early.unwrap_or_else(|| Keys::open(&path).unwrap());
        keys.add(new("k"), 1).unwrap();
        let append = Append::new(ThreadKey::new("acme", "t"), vec![Draft::new("{\"kind\":\"x\"}")]);
        store.append(append.creating(Create::New)).await.unwrap();
        assert_eq!(keys.changes().unwrap(), 1);
    }
}
