//! Canonical JSON against the examples of RFC 8785, and digests of threads.

use selvedge_protocol::canonical::{ThreadDigest, canonical, canonical_eq, digest};
use selvedge_protocol::dialect::{self, DecodeOptions};
use selvedge_protocol::json::{SyntaxKind, canonical_number};
use sha2::{Digest as _, Sha256};

use crate::identity::convert;
use crate::recordings;

/// RFC 8785, 3.2.2: the sample object, and what 3.2.4 says its bytes are.
#[test]
fn the_rfcs_sample_gives_the_rfcs_bytes() {
    let source = r#"{
       "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
       "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
       "literals": [null, true, false]
     }"#;
    let bytes = "7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
        75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
        5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
        65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
        5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
        30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d";
    let expected: Vec<u8> =
        bytes.split_whitespace().map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect();
    assert_eq!(canonical(source).unwrap().into_bytes(), expected);
}

/// RFC 8785, 3.2.3: sorting by UTF-16 code units puts U+1F600 before U+FB33.
#[test]
fn members_are_sorted_by_utf16_code_units() {
    let source = r#"{
       "\u20ac": "Euro Sign",
       "\r": "Carriage Return",
       "\ufb33": "Hebrew Letter Dalet With Dagesh",
       "1": "One",
       "\ud83d\ude00": "Emoji: Grinning Face",
       "\u0080": "Control",
       "\u00f6": "Latin Small Letter O With Diaeresis"
     }"#;
    let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
        \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
        \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    assert_eq!(canonical(source).unwrap(), expected);
    assert_eq!(canonical(expected).unwrap(), expected);
}

/// RFC 8785, appendix B, by IEEE 754 bits; the digits are the shortest that read back.
#[test]
fn numbers_are_spelled_as_in_appendix_b() {
    for (bits, expected) in [
        (0x0000000000000000_u64, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7fefffffffffffff, "1.7976931348623157e+308"),
        (0xffefffffffffffff, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xc340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44b52d02c7e14af5, "9.999999999999997e+22"),
        (0x44b52d02c7e14af6, "1e+23"),
        (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
        (0x444b1ae4d6e2ef4e, "999999999999999700000"),
        (0x444b1ae4d6e2ef4f, "999999999999999900000"),
        (0x444b1ae4d6e2ef50, "1e+21"),
        (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
        (0x3eb0c6f7a0b5ed8d, "0.000001"),
        (0x41b3de4355555553, "333333333.3333332"),
        (0x41b3de4355555554, "333333333.33333325"),
        (0x41b3de4355555555, "333333333.3333333"),
        (0x41b3de4355555556, "333333333.3333334"),
        (0x41b3de4355555557, "333333333.33333343"),
        (0xbecbf647612f3696, "-0.0000033333333333333333"),
        (0x43143ff3c1cb0959, "1424953923781206.2"),
    ] {
        // All digits of the double, as a token another writer might send.
        let token = format!("{:e}", f64::from_bits(bits));
        assert_eq!(canonical_number(&token), expected, "{bits:016x}");
        assert_eq!(canonical(&token).unwrap(), expected, "{bits:016x}");
    }
}

#[test]
fn what_the_rfc_refuses_still_has_one_form() {
    for (source, expected) in [
        // The last of equal names counts, however they are spelled.
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        (r#"{"a":1,"\u0061":{"z":1,"y":2}}"#, r#"{"a":{"y":2,"z":1}}"#),
        // Lone surrogates stay escapes; halves that meet are one character.
        (r#"["\uD83D","\uDE00x","\uD83D\uDE00"]"#, "[\"\\ud83d\",\"\\ude00x\",\"😀\"]"),
        (r#"{"\uFFFF":1,"\uD83D":2,"a":3}"#, "{\"a\":3,\"\\ud83d\":2,\"\u{ffff}\":1}"),
        // A double cannot hold it.
        ("[1e400,-0.0,949.0,1e100]", "[1e400,0,949,1e+100]"),
        ("9223372036854775808", "9223372036854776000"),
        (" [ ] ", "[]"),
        ("{\"\":{}}", "{\"\":{}}"),
        ("\"\\u007f\\/\\b\"", "\"\u{7f}/\\b\""),
    ] {
        assert_eq!(canonical(source).unwrap(), expected, "{source}");
        assert_eq!(canonical(expected).unwrap(), expected, "{source}");
    }
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let deep = "[".repeat(10_000);
    for (source, kind, at) in [
        ("{\"a\":}", SyntaxKind::UnexpectedByte, 5),
        ("", SyntaxKind::UnexpectedEnd, 0),
        ("1 2", SyntaxKind::TrailingText, 2),
        (deep.as_str(), SyntaxKind::TooDeep, 256),
    ] {
        let error = canonical(source).unwrap_err();
        assert_eq!((error.kind, error.at), (kind, at));
        assert_eq!(digest(source).unwrap_err().kind, kind);
    }
}

#[test]
fn texts_that_say_the_same_are_equal_and_have_one_digest() {
    let (a, b) = ("{\"x\":[1.0,\"\\u00e9\"],\"a\":null}", "{ \"a\": null, \"x\": [1e0, \"é\"] }\n");
    assert!(canonical_eq(a, b).unwrap());
    assert!(!canonical_eq(a, "{}").unwrap());
    assert_eq!(digest(a).unwrap(), digest(b).unwrap());
    assert_eq!(
        digest(" {} ").unwrap(),
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    );
}

fn thread_digest(dialect: &str, source: &str) -> String {
    let mut digest = ThreadDigest::new();
    let dialect = dialect::named(dialect).unwrap();
    dialect::decode(dialect, &DecodeOptions::default(), source, |batch| digest.batch(&batch));
    digest.finish()
}

/// Every recording whose dialect is there: its name, its dialect, its text and its journal.
fn journals() -> impl Iterator<Item = (String, &'static str, String, String)> {
    let journal = dialect::named("journal").unwrap();
    recordings::all().into_iter().filter_map(move |recording| {
        let carried = convert(dialect::named(recording.dialect)?, journal, &recording.text);
        Some((recording.name, recording.dialect, recording.text, carried))
    })
}

#[test]
fn a_thread_and_its_journal_have_one_digest() {
    for (path, dialect, source, journal) in journals() {
        assert_eq!(thread_digest(dialect, &source), thread_digest("journal", &journal), "{path}");
    }
}

#[test]
fn the_digest_can_be_computed_from_journal_text_alone() {
    for (path, _, _, journal) in journals() {
        let mut lines = String::new();
        for entry in journal.lines() {
            let doc = selvedge_protocol::json::Doc::parse(entry).unwrap();
            let event = doc.root().get("event").unwrap();
            if !event.get("kind").unwrap().is("opaque") {
                lines.push_str(&canonical(event.raw()).unwrap());
                lines.push('\n');
            }
        }
        let hex: String = Sha256::digest(&lines).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(thread_digest("journal", &journal), format!("sha256:{hex}"), "{path}");
    }
}

#[test]
fn numbering_and_residue_do_not_count_but_what_was_said_does() {
    let entry = |rest: &str, event: &str| format!("{{\"seq\":1,\"event\":{event}{rest}}}\n");
    let event = "{\"kind\":\"message\",\"contextId\":\"c\",\"role\":\"user\",\"content\":\"hi\"}";
    let spelled =
        "{\"kind\":\"message\",\"content\":\"\\u0068i\",\"contextId\":\"c\",\"role\":\"user\"}";
    let other = event.replace("hi", "ho");
    let plain = thread_digest("journal", &entry("", event));
    assert_eq!(thread_digest("journal", &entry(",\"at\":\"2026-01-01T00:00:00Z\"", event)), plain);
    assert_eq!(thread_digest("journal", &entry("", spelled)), plain);
    assert_ne!(thread_digest("journal", &entry("", &other)), plain);
}
