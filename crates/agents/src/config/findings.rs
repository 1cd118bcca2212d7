//! What is wrong with a configuration: every finding, in the file where it is.
//!
//! Invariant: no text that may be a secret is in a finding, nor in the text it is shown in.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use selvedge_protocol::diagnostic::{MAX_DIAGNOSTICS, Report};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::secret;
use super::shape::Shape;
use super::source::Source;

/// What is wrong with a configuration.
#[derive(Debug, Default)]
pub struct Findings {
    /// The configuration, and files that it names.
    pub files: Vec<Examined>,
}

/// A file and what is wrong with it.
#[derive(Debug)]
pub struct Examined {
    /// Its name, as it was given.
    pub name: String,
    /// Its text, with stars for what may be a secret. Spans of the report are places in it.
    pub text: String,
    /// What was found.
    pub report: Report,
}

impl Findings {
    /// How many errors there are.
    pub fn count(&self) -> usize {
        let count = |file: &Examined| file.report.diagnostics().len() + file.report.dropped();
        self.files.iter().map(count).sum()
    }
}

/// One line for each finding, for a log.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            for found in file.report.diagnostics() {
                let at = found.span.as_ref().map_or(0, |span| span.start);
                let before = file.text.get(..at).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                writeln!(f, "{}:{line}:{column}: {}", file.name, found.message)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}

/// Removes a member, with the list it is in.
fn remove(value: &mut Value, tokens: &[&str]) {
    let [token, rest @ ..] = tokens else {
        *value = Value::Null;
        return;
    };
    let Some(members) = value.as_object_mut() else { return };
    let name = token.replace("~1", "/").replace("~0", "~");
    match members.get_mut(&name) {
        Some(member) if member.is_object() && !rest.is_empty() => remove(member, rest),
        _ => {
            members.remove(&name);
        }
    }
}

/// A file that is being examined.
#[derive(Debug)]
pub(super) struct Page {
    name: String,
    text: String,
    /// What it says.
    pub(super) source: Source,
    found: Vec<Found>,
    /// Findings that are counted only.
    more: usize,
    secrets: HashSet<String>,
}

#[derive(Debug)]
struct Found {
    code: &'static str,
    pointer: String,
    span: Option<Range<usize>>,
    message: String,
}

impl Page {
    /// Reads a file, and finds what its syntax, its schema, and the rule that it has no secrets
    /// can tell.
    pub(super) fn read(name: &str, bytes: &[u8], shape: &Shape) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (source, mistakes) = Source::read(&text);
        let mut page = Self {
            name: name.to_owned(),
            text,
            source,
            found: Vec::new(),
            more: 0,
            secrets: HashSet::new(),
        };
        if let Err(error) = std::str::from_utf8(bytes) {
            let message = format!("the file is not UTF-8: invalid byte at {}", error.valid_up_to());
            page.add("config-syntax", "", None, message);
        }
        for (span, message) in mistakes {
            page.add("config-syntax", "", span, message);
        }
        let secrets = secret::literals(&page.source);
        for secret in &secrets {
            page.error("config-secret", &secret.pointer, &secret.message);
            page.secrets.insert(secret.pointer.clone());
        }
        page.hide(secrets.iter().map(|secret| secret.pointer.as_str()));
        if page.found.iter().all(|found| found.code != "config-syntax") {
            shape.check(&mut page);
        }
        page
    }

    /// Whether more findings are counted only.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MAX_DIAGNOSTICS
    }

    /// Whether a value was left out: one that is there and is wrong was told already.
    pub(super) fn lacks(&self, pointer: &str) -> bool {
        self.source.value.pointer(pointer).is_none()
    }

    /// Whether a value is this word, or was left out because it usually is.
    pub(super) fn is_word(&self, pointer: &str, word: &str) -> bool {
        self.source.value.pointer(pointer).is_none_or(|value| value == word)
    }

    /// What a table says, without the members that are wrong. Nothing if it is not a table at all,
    /// or does without something that it needs.
    pub(super) fn table<T: DeserializeOwned>(&mut self, pointer: &str) -> Option<T> {
        let mut value = self.source.value.pointer(pointer)?.clone();
        let inside = |found: &Found| {
            let rest = found.pointer.strip_prefix(pointer)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
        let wrong: Vec<_> = self.found.iter().filter_map(inside).collect();
        for rest in &wrong {
            let tokens: Vec<_> = rest.split('/').skip(1).collect();
            remove(&mut value, &tokens);
        }
        match T::deserialize(value) {
            Ok(table) => Some(table),
            Err(_) if !wrong.is_empty() || self.more > 0 => None,
            Err(error) => {
                self.error_of_name("config-value", pointer, error.to_string());
                None
            }
        }
    }

    /// Something is wrong with the value at a pointer.
    pub(super) fn error(&mut self, code: &'static str, pointer: &str, message: impl Into<String>) {
        let span = self.source.value_at(pointer);
        self.add(code, pointer, span, message.into());
    }

    /// Something is wrong with what the name of a value says.
    pub(super) fn error_of_name(
        &mut self,
        code: &'static str,
        pointer: &str,
        message: impl Into<String>,
    ) {
        let span = self.source.key_at(pointer);
        self.add(code, pointer, span, message.into());
    }

    fn add(
        &mut self,
        code: &'static str,
        pointer: &str,
        span: Option<Range<usize>>,
        message: String,
    ) {
        // A secret is told as such, and nothing else of it.
        if self.secrets.contains(pointer) {
            return;
        }
        if self.is_full() {
            self.more += 1;
        } else {
            self.found.push(Found { code, pointer: pointer.to_owned(), span, message });
        }
    }

    /// Puts stars where secrets are, one for each byte, so that everything else stays in its place.
    fn hide<'a>(&mut self, pointers: impl Iterator<Item = &'a str>) {
        let spans = pointers.filter_map(|pointer| self.source.value_at(pointer));
        let spans: Vec<_> = spans.chain(secret::known(&self.text)).collect();
        for span in spans {
            if let Some(secret) = self.text.get(span.clone()) {
                let star = |byte| if byte == b'\n' { '\n' } else { '*' };
                let stars: String = secret.bytes().map(star).collect();
                self.text.replace_range(span, &stars);
            }
        }
    }

    /// What was found, in the order of the text; nothing if nothing was.
    pub(super) fn examined(mut self) -> Option<Examined> {
        self.found.sort_by_key(|found| found.span.as_ref().map_or(0, |span| span.start));
        let mut report = Report::new();
        for found in &self.found {
            report.error(found.code, &found.pointer, found.span.clone(), &found.message);
        }
        for _ in 0..self.more {
            // One more than is kept is counted.
            report.error("config-value", "", None, "");
        }
        let (name, text) = (self.name, self.text);
        (!report.is_valid()).then_some(Examined { name, text, report })
    }
}
