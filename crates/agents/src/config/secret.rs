//! Secrets: where they come from, and that none is written down here.
//!
//! Invariant: a secret never prints itself, and no literal secret is accepted.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use super::source::Source;

/// Words that a name of a secret ends with.
const WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "key",
    "passwd",
    "password",
    "secret",
    "token",
];
/// How keys that vendors give out begin.
const PREFIXES: &[&str] = &[
    "sk-",
    "AIza",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "hf_",
    "gsk_",
];
/// Keys are not shorter than this.
const SHORTEST: usize = 20;

/// A text that never prints itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for whoever sends it on.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A secret that is written down where it does not belong.
pub(super) struct Literal {
    /// Where.
    pub(super) pointer: String,
    /// What to do instead.
    pub(super) message: String,
}

/// The secrets in a configuration.
pub(super) fn literals(source: &Source) -> Vec<Literal> {
    let mut out: Vec<_> = source.texts().filter_map(|(at, text)| literal(at, text)).collect();
    out.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    out
}

fn literal(pointer: &str, text: &str) -> Option<Literal> {
    let (parent, name) = pointer.rsplit_once('/')?;
    if has_password(text) {
        let message = "a secret does not belong in this file: a URL here has no name and password";
        return Some(Literal { pointer: pointer.to_owned(), message: message.to_owned() });
    }
    // What a tool takes and what a script says has names of its own, below those of this file.
    let inner = pointer.split('/').skip(3);
    let foreign = inner.into_iter().any(|token| matches!(token, "schema" | "arguments"));
    let variable = matches!(name, "env" | "key_env") && !is_variable(text);
    let named = !foreign && is_secret_name(name) && !text.is_empty();
    if !variable && !named && known(text).next().is_none() {
        return None;
    }
    let table = parent.rsplit_once('/').map_or("", |(_, table)| table);
    let instead = if parent.ends_with("/args") {
        "hand it to the program in `env`".to_owned()
    } else if matches!(table, "headers" | "env") {
        format!("write `{name} = {{ env = \"VARIABLE\" }}` or `{{ file = \"PATH\" }}`")
    } else {
        "name a variable with `key_env`, or a file with `key_file`".to_owned()
    };
    let message = if variable && !named && known(text).next().is_none() {
        "this is not the name of a variable, and a secret does not belong in this file".to_owned()
    } else {
        format!("a secret does not belong in this file: {instead}")
    };
    Some(Literal { pointer: pointer.to_owned(), message })
}

fn is_secret_name(name: &str) -> bool {
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or_default();
    WORDS.iter().any(|word| last.eq_ignore_ascii_case(word))
}

fn has_password(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    scheme.len() < 10 && !scheme.contains(char::is_whitespace) && host.contains('@')
}

/// Whether a text can name a variable.
pub(super) fn is_variable(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Where a text has keys that are known by how they begin.
pub(super) fn known(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.split(move |c| !inner(c)).filter_map(move |word| {
        let start = at;
        // What parts words is not always one byte long, but ends where the next word begins.
        at += word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let key = word.len() >= SHORTEST && PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        key.then_some(start..start + word.len())
    })
}

/// Bytes of a file, if they are not more than allowed.
pub(super) fn read_bounded(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let message = format!("it is longer than {} KiB", most >> 10);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
