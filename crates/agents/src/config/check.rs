//! From a file to a plan: every name is looked up, every file read, every key found, and every
//! mistake told, not only the first.

mod agents;
mod auth;
mod calls;
mod models;
mod router;
mod tools;
mod uses;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Variables;
use super::file::{self, Text};
use super::findings::{Examined, Findings, Page};
use super::plan::Config;
use super::secret::{Secret, read_bounded};
use super::shape::{Shape, did_you_mean, shown};
use super::source::join;

pub(super) use tools::prompt;
pub(super) use uses::called;

/// Bytes of a file that a configuration names.
const LONGEST_FILE: usize = 1 << 20;
/// Bytes of a name.
const LONGEST_NAME: usize = 256;

/// Checks a configuration: its name, its bytes, and the folder that its paths begin in.
pub(super) fn check(
    name: &str,
    bytes: &[u8],
    folder: &Path,
    variables: &Variables<'_>,
) -> Result<Config, Findings> {
    let page = Page::read(name, bytes, &Shape::new(file::schema()));
    let names = ["models", "agents", "mcp", "tools"].map(|section| {
        let table = page.source.value.get(section).and_then(Value::as_object);
        (section, table.into_iter().flatten().map(|(name, _)| name.clone()).collect())
    });
    let mut check = Check { page, names, others: Vec::new(), folder, variables };
    let config = check.config();
    let files: Vec<_> = check.page.examined().into_iter().chain(check.others).collect();
    if files.is_empty() { Ok(config) } else { Err(Findings { files }) }
}

/// A check under way.
struct Check<'a> {
    page: Page,
    /// The names in each section, also of what has mistakes.
    names: [(&'static str, Rc<[String]>); 4],
    /// Other files that have mistakes.
    others: Vec<Examined>,
    folder: &'a Path,
    variables: &'a Variables<'a>,
}

/// Where a key may be.
struct KeySource<'a> {
    env: Option<&'a str>,
    file: Option<&'a str>,
    /// The variable that is looked into if nothing is said.
    usual: Option<&'static str>,
}

impl Check<'_> {
    fn config(&mut self) -> Config {
        let models = self.models();
        let servers = self.servers();
        let tools = self.tools();
        let agents = self.agents(&tools);
        self.cycles(&agents, &tools);
        let router = self.router(&agents, &models);
        let budget = self.budget(&agents, &models);
        Config { models, servers, tools, agents, router, budget }
    }

    /// The names in a section.
    fn names(&self, section: &str) -> Rc<[String]> {
        let found = self.names.iter().find(|(name, _)| *name == section);
        found.map(|(_, names)| names.clone()).unwrap_or_default()
    }

    /// What a section has, without what the schema does not allow.
    fn entries<T: DeserializeOwned>(&mut self, section: &str) -> BTreeMap<String, T> {
        let mut out = BTreeMap::new();
        let names = self.names(section);
        // The schema has refused it, and everything could mean everything.
        let most = if names.len() > file::MOST { 0 } else { names.len() };
        for name in names.iter().take(most) {
            let at = join(&format!("/{section}"), name);
            if let Some(entry) = self.page.table(&at) {
                out.insert(name.clone(), entry);
            }
        }
        out
    }

    /// A field that is needed is not there.
    fn missing(&mut self, at: &str, fields: &[&str]) {
        if fields.iter().all(|field| self.page.lacks(&join(at, field))) {
            let fields: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
            let message = format!("{} is missing", fields.join(" or "));
            self.page.error_of_name("config-missing-field", at, message);
        }
    }

    /// Refuses fields that mean nothing for this kind of thing.
    fn refuse_fields(&mut self, at: &str, kind: &str, fields: &[&str]) {
        for field in fields {
            let at = join(at, field);
            if !self.page.lacks(&at) {
                let message = format!("`{field}` means nothing with {kind}");
                self.page.error_of_name("config-kind", &at, message);
            }
        }
    }

    /// A name that a model takes for a tool's.
    fn tool_name(&mut self, at: &str, name: &str) {
        if !is_tool_name(name) {
            let name = shown(name);
            let message = format!(
                "no model takes a tool `{name}`: names have letters, digits, `_` and `-`, at most 64"
            );
            self.page.error_of_name("config-tool-name", at, message);
        }
    }

    /// A name that can be written where things are named.
    fn name(&mut self, at: &str, name: &str) {
        let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '*');
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(bad) {
            let message =
                format!("a name has no white space, `/` or `*`, and 1 to {LONGEST_NAME} bytes");
            self.page.error_of_name("config-name", at, message);
        }
    }

    /// A name of something that is not there.
    fn unknown(&mut self, at: &str, what: &str, name: &str, known: &[String]) {
        // Looking for a near name costs time, and nobody would see it.
        let known = if self.page.is_full() { &[] } else { known };
        let hint = did_you_mean(name, known.iter().map(String::as_str));
        let message = format!("there is no {what} `{}`{hint}", shown(name));
        self.page.error("config-unknown-name", at, message);
    }

    /// The text of a file.
    fn file(&mut self, at: &str, path: &str) -> Option<String> {
        let bytes = read_bounded(&self.folder.join(path), LONGEST_FILE);
        let text = bytes.and_then(|bytes| {
            let text = String::from_utf8(bytes);
            text.map_err(|_| {
                std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8")
            })
        });
        match text {
            Ok(text) => Some(text),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", shown(path));
                self.page.error("config-file", at, message);
                None
            }
        }
    }

    /// A URL of http or https.
    fn url(&mut self, at: &str, text: &str) -> Option<Url> {
        let url = Url::parse(text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            let message = format!("`{}` is not a URL of http or https", shown(text));
            self.page.error("config-url", at, message);
        }
        url
    }

    /// A key, from a variable or a file.
    fn key(&mut self, at: &str, source: &KeySource<'_>) -> Option<Secret> {
        let (at_env, at_file) = (join(at, "key_env"), join(at, "key_file"));
        let key = match (source.env, source.file) {
            (Some(_), Some(_)) => {
                let message = "the key is in a variable or in a file, not in both";
                self.page.error_of_name("config-key", &at_file, message);
                return None;
            }
            (Some(name), None) => (self.variable(&at_env, name)?, at_env),
            (None, Some(path)) => (self.file(&at_file, path)?, at_file),
            (None, None) => {
                let said = !self.page.lacks(&at_env) || !self.page.lacks(&at_file);
                let name = source.usual.filter(|_| !said)?;
                let Some(key) = (self.variables)(name) else {
                    let message = format!(
                        "the variable `{name}` is not set; name another with `key_env`, or a \
                         file with `key_file`"
                    );
                    self.page.error_of_name("config-key", at, message);
                    return None;
                };
                (key, at.to_owned())
            }
        };
        let (text, at) = key;
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.page.error(
                "config-key",
                &at,
                "what is there is no key: a key is visible ASCII text",
            );
            return None;
        }
        Some(Secret::new(text.to_owned()))
    }

    fn variable(&mut self, at: &str, name: &str) -> Option<String> {
        let value = (self.variables)(name);
        if value.is_none() {
            let message = format!("the variable `{}` is not set", shown(name));
            self.page.error("config-key", at, message);
        }
        value
    }

    /// Texts that are sent along, each with its name.
    fn texts(&mut self, at: &str, texts: &BTreeMap<String, Text>) -> Vec<(String, Secret)> {
        let mut out = Vec::new();
        for (name, text) in texts {
            let at = join(at, name);
            out.extend(self.text(&at, text).map(|text| (name.clone(), text)));
        }
        out
    }

    fn text(&mut self, at: &str, text: &Text) -> Option<Secret> {
        let (prefix, text) = match text {
            Text::Plain(text) => ("", text.clone()),
            Text::Hidden(hidden) => match (&hidden.env, &hidden.file) {
                (Some(name), None) => (&*hidden.prefix, self.variable(&join(at, "env"), name)?),
                (None, Some(path)) => (&*hidden.prefix, self.file(&join(at, "file"), path)?),
                _ => {
                    self.page.error("config-key", at, "needs `env` or `file`, and not both");
                    return None;
                }
            },
        };
        Some(Secret::new(format!("{prefix}{}", text.trim())))
    }

    /// Headers of requests.
    fn headers(&mut self, at: &str, texts: &BTreeMap<String, Text>) -> Vec<(String, Secret)> {
        let headers = self.texts(at, texts);
        for (name, value) in &headers {
            let at = join(at, name);
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                self.page.error_of_name("config-value", &at, "this cannot be the name of a header");
            } else if HeaderValue::from_str(value.reveal()).is_err() {
                self.page.error("config-value", &at, "what is there cannot be sent in a header");
            }
        }
        headers
    }
}

/// Whether models take the name for a tool's.
fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
