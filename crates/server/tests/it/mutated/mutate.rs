//! Requests made from a good one: every member dropped, doubled or of another kind, and bytes that
//! are no request. The same every time.

use serde_json::Value;

/// Stands for a value that `serde_json` cannot hold.
const HOLE: &str = "\u{1}hole\u{1}";

/// A request that is not quite the good one.
pub(super) struct Mutant {
    /// What was done to it.
    pub(super) name: String,
    pub(super) body: Vec<u8>,
    pub(super) content_type: &'static str,
    pub(super) wanted: Wanted,
}

/// What is to become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Refused,
    /// It may be as good as the other.
    Either,
}

/// A good body, and all its mutants. `needed` are pointers to what must be there, and of its kind.
pub(super) fn mutants(good: &Value, needed: &[&str]) -> Vec<Mutant> {
    let mut out = vec![mutant("the good one".to_owned(), good.to_string(), Wanted::Either)];
    let values = values();
    let mut places = Vec::new();
    collect(good, String::new(), &mut places);
    for place in &places {
        let own = good.pointer(place).unwrap();
        let is_needed = needed.contains(&place.as_str());
        let wanted = |differs: bool| match is_needed && differs {
            true => Wanted::Refused,
            false => Wanted::Either,
        };
        for (name, raw) in &values {
            let differs = kind_of(raw) != kind_of(&own.to_string());
            let body = with(good, place, raw);
            out.push(mutant(format!("{place} is {name}"), body, wanted(differs)));
        }
        if let Some(body) = without(good, place) {
            out.push(mutant(format!("{place} is missing"), body, wanted(true)));
        }
        if let Some(key) = place.rsplit('/').next().filter(|key| key.parse::<usize>().is_err()) {
            let twice = format!("{own},\"{key}\":null");
            let body = with(good, place, &twice);
            out.push(mutant(format!("{place} is there twice"), body, Wanted::Either));
        }
    }
    let text = good.to_string();
    for (name, body) in [
        ("half a brace", "{".to_owned()),
        ("something after the end", format!("{text}x")),
        ("a word", "hello".to_owned()),
        ("a number", "3".to_owned()),
        ("a string", "\"x\"".to_owned()),
        ("nested too deep", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
    ] {
        out.push(mutant(name.to_owned(), body, Wanted::Refused));
    }
    for (name, body) in [
        ("nothing", String::new()),
        ("null", "null".to_owned()),
        ("an empty object", "{}".to_owned()),
        ("an empty list", "[]".to_owned()),
        ("a byte order mark first", format!("\u{feff}{text}")),
        ("a list of it", format!("[{text}]")),
        ("two of it", format!("{text}\n{text}")),
    ] {
        out.push(mutant(name.to_owned(), body, Wanted::Either));
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..12 {
        let end = 1 + random.below(text.len() - 1);
        out.push(mutant(format!("cut after {end} bytes"), &text[..end], Wanted::Refused));
        let (at, mut body) = (random.below(text.len()), text.clone().into_bytes());
        body[at] = 0xff;
        out.push(mutant(format!("no UTF-8 at {at}"), body, Wanted::Refused));
        let (at, mut body) = (random.below(text.len()), text.clone().into_bytes());
        body[at] = b" {}[]\",:\\0n"[random.below(11)];
        out.push(mutant(format!("another byte at {at}"), body, Wanted::Either));
    }
    for content_type in ["text/xml", "application/x-www-form-urlencoded", "nonsense", ""] {
        let mut one = mutant(format!("it is `{content_type}`"), text.clone(), Wanted::Either);
        one.content_type = content_type;
        out.push(one);
    }
    out
}

fn mutant(name: String, body: impl Into<Vec<u8>>, wanted: Wanted) -> Mutant {
    Mutant { name, body: body.into(), content_type: "application/json", wanted }
}

/// What takes the place of a value, as JSON.
fn values() -> Vec<(&'static str, String)> {
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(300), close.repeat(300));
    vec![
        ("null", "null".to_owned()),
        ("a number", "42".to_owned()),
        ("huge", "1e308".to_owned()),
        ("no number that fits", "123456789012345678901234567890".to_owned()),
        ("an empty string", "\"\"".to_owned()),
        ("another string", "\"nothing-of-the-kind\"".to_owned()),
        ("half a character", "\"\\ud800\"".to_owned()),
        ("a null character", "\"\\u0000\"".to_owned()),
        ("lines", "\"a\\r\\n\\ndata: x\\n\\n\"".to_owned()),
        ("long", format!("\"{}\"", "x".repeat(70_000))),
        ("an empty list", "[]".to_owned()),
        ("an empty object", "{}".to_owned()),
        ("an object without names", "{\"\":{\"\":\"\"}}".to_owned()),
        ("lists in lists", nested("[", "]")),
        ("objects in objects", nested("{\"a\":", "}")),
    ]
}

/// What begins a value of a kind.
fn kind_of(raw: &str) -> char {
    match raw.chars().next() {
        Some(first @ ('"' | '[' | '{' | 'n')) => first,
        Some('t' | 'f') => 't',
        _ => '0',
    }
}

/// Pointers to every value, from the outside in.
fn collect(value: &Value, place: String, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                assert!(!name.contains(['/', '~']), "no need to escape them");
                collect(value, format!("{place}/{name}"), out);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{place}/{index}"), out);
            }
        }
        _ => {}
    }
    if !place.is_empty() {
        out.push(place);
    }
}

fn with(good: &Value, place: &str, raw: &str) -> String {
    let mut body = good.clone();
    *body.pointer_mut(place).unwrap() = Value::String(HOLE.to_owned());
    body.to_string().replace(&Value::String(HOLE.to_owned()).to_string(), raw)
}

/// Without a value; none if that is not possible.
fn without(good: &Value, place: &str) -> Option<String> {
    let mut body = good.clone();
    let (parent, name) = place.rsplit_once('/')?;
    match body.pointer_mut(parent)? {
        Value::Object(members) => drop(members.remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().ok()?)),
        _ => return None,
    }
    Some(body.to_string())
}

/// Numbers that are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}
