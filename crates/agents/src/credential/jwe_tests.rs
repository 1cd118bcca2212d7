use super::*;

const NOW: i64 = 1_800_000_000;
const CLAIMS: Claims<'static> = Claims { auth: "a1", context: "t1", agent: Some("ada") };

fn header() -> Value {
    json!({"authId": "a1", "contextId": "t1", "agentId": "ada", "iat": NOW - 5, "exp": NOW + 600})
}

fn made(pair: &Pair, change: impl FnOnce(&mut Value)) -> String {
    let mut header = header();
    change(&mut header);
    encrypt(b"secret", &pair.jwk(), header).unwrap()
}

#[test]
fn what_was_encrypted_for_a_request_is_read_with_its_key() {
    let pair = Pair::new().unwrap();
    let jwe = made(&pair, |_| {});
    assert_eq!(pair.open(&jwe, &CLAIMS, NOW), Ok(b"secret".to_vec()));
    let kept = Pair::read(&pair.bytes()).unwrap();
    assert_eq!(kept.open(&jwe, &CLAIMS, NOW), Ok(b"secret".to_vec()), "a key can be kept");
    let less = made(&pair, |header| {
        header.as_object_mut().unwrap().remove("agentId");
    });
    assert!(pair.open(&less, &CLAIMS, NOW).is_ok(), "`agentId` may be left out");
}

#[test]
fn every_claim_is_checked() {
    let pair = Pair::new().unwrap();
    for (name, value, error) in [
        ("alg", json!("ECDH-ES+A256KW"), Refused::Header("alg")),
        ("alg", json!("none"), Refused::Header("alg")),
        ("enc", json!("A128GCM"), Refused::Header("enc")),
        ("crit", json!(["exp"]), Refused::Header("crit")),
        ("zip", json!("DEF"), Refused::Header("zip")),
        ("authId", json!("a2"), Refused::Claim("authId")),
        ("authId", json!(null), Refused::Claim("authId")),
        ("contextId", json!("t2"), Refused::Claim("contextId")),
        ("contextId", json!(["t1"]), Refused::Claim("contextId")),
        ("agentId", json!("eve"), Refused::Claim("agentId")),
        ("kid", json!("other"), Refused::Claim("kid")),
        ("iat", json!(NOW + 61), Refused::Time),
        ("iat", json!("now"), Refused::Time),
        ("iat", json!(NOW - 400), Refused::Time),
        ("exp", json!(NOW), Refused::Time),
        ("exp", json!(i64::MAX), Refused::Time),
        ("exp", json!(NOW - 60), Refused::Time),
    ] {
        let jwe = made(&pair, |header| header[name] = value.clone());
        assert_eq!(pair.open(&jwe, &CLAIMS, NOW), Err(error), "{name} {value}");
    }
    for name in ["authId", "contextId", "iat", "exp"] {
        let jwe = made(&pair, |header| {
            header.as_object_mut().unwrap().remove(name);
        });
        assert!(pair.open(&jwe, &CLAIMS, NOW).is_err(), "without {name}");
    }
}

#[test]
fn what_is_bent_or_for_another_key_is_not_read() {
    let (pair, other) = (Pair::new().unwrap(), Pair::new().unwrap());
    let jwe = made(&other, |_| {});
    assert_eq!(pair.open(&jwe, &CLAIMS, NOW), Err(Refused::Undecryptable));
    let jwe = made(&pair, |_| {});
    let parts: Vec<&str> = jwe.split('.').collect();
    let with = |at: usize, text: &str| {
        let mut parts = parts.clone();
        parts[at] = text;
        parts.join(".")
    };
    let off = json!({"kty": "EC", "crv": "P-256", "x": encode(&[1; 32]), "y": encode(&[2; 32])});
    let bent = {
        let mut header: Value = serde_json::from_slice(&decode(parts[0]).unwrap()).unwrap();
        header["epk"] = off;
        encode(header.to_string().as_bytes())
    };
    for (jwe, error) in [
        (with(0, &bent), Refused::Header("epk")),
        (with(0, "e30"), Refused::Header("alg")),
        (with(0, "W10"), Refused::NotJwe),
        (with(1, "AAAA"), Refused::NotJwe),
        (with(2, "AAAA"), Refused::NotJwe),
        (with(3, "AAAA"), Refused::Undecryptable),
        (with(4, "AAAA"), Refused::NotJwe),
        (with(4, &encode(&[0; 16])), Refused::Undecryptable),
        (with(3, "a+b="), Refused::NotJwe),
        (String::new(), Refused::NotJwe),
        ("....".to_owned(), Refused::NotJwe),
        ("a.b.c".to_owned(), Refused::NotJwe),
        ("é..é.é.é".to_owned(), Refused::NotJwe),
        ("x".repeat(LONGEST + 1), Refused::TooLong),
    ] {
        assert_eq!(pair.open(&jwe, &CLAIMS, NOW), Err(error), "{jwe}");
    }
}

#[test]
fn the_derivation_is_that_of_the_standard() {
    // RFC 7518, appendix C, with `A128GCM`: here the same steps by hand, for `A256GCM`.
    let pair = Pair::new().unwrap();
    let jwk = pair.jwk();
    assert_eq!(
        (&jwk["kty"], &jwk["crv"], &jwk["alg"]),
        (&json!("EC"), &json!("P-256"), &json!("ECDH-ES"))
    );
    for name in ["x", "y"] {
        assert_eq!(decode(jwk[name].as_str().unwrap()).unwrap().len(), 32);
    }
    let mut by_hand = vec![0, 0, 0, 1];
    by_hand.extend([7; 32]);
    by_hand.extend([0, 0, 0, 7]);
    by_hand.extend(b"A256GCM");
    by_hand.extend([0, 0, 0, 5]);
    by_hand.extend(b"Alice");
    by_hand.extend([0, 0, 0, 3]);
    by_hand.extend(b"Bob");
    by_hand.extend([0, 0, 1, 0]);
    let wanted = digest(&SHA256, &by_hand);
    assert_eq!(derive(&[7; 32], b"Alice", b"Bob").as_ref(), wanted.as_ref());
}
