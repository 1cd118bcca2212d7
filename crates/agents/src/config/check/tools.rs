//! `[mcp.NAME]` and `[tools.NAME]`.

use std::path::Path;

use selvedge_protocol::journal::Urgency;
use serde_json::{Value, json};

use super::{Check, did_you_mean, is_tool_name, shown};
use crate::config::file::{self, InterruptedName, Period, ToolKind, UrgencyName};
use crate::config::plan::{Doer, Reach, Server, Tool, Way};
use crate::config::source::join;
use crate::model::ToolSpec;
use crate::tool::schema::{Schema, SchemaError};
use crate::tool::{Consent, Interrupted, Manner};

/// Names that stand for something else where an agent's tools are listed.
const RESERVED: &[&str] = &["agents", "artifacts", "ask", "thoughts"];

impl Check<'_> {
    pub(super) fn servers(&mut self) -> Vec<Server> {
        let entries = self.entries::<file::Server>("mcp");
        entries.into_iter().filter_map(|(name, server)| self.server(name, server)).collect()
    }

    fn server(&mut self, name: String, server: file::Server) -> Option<Server> {
        let at = join("/mcp", &name);
        if !is_server_name(&name) {
            let message = "a server's name has letters, digits, `-` and single `_`, at most 32: \
                           models see its tools as `NAME__tool`";
            self.page.error_of_name("config-tool-name", &at, message);
        }
        if RESERVED.contains(&&*name) {
            let message = format!("`{name}/…` has a meaning already: take another name");
            self.page.error_of_name("config-name", &at, message);
        }
        let way = match (server.command, server.url) {
            (Some(program), None) => {
                self.refuse_fields(&at, "`command`", &["headers", "auth"]);
                if program.is_empty() {
                    self.page.error("config-value", &join(&at, "command"), "must not be empty");
                }
                let env = self.texts(&join(&at, "env"), &server.env);
                let folder = self.folder.join(server.folder.as_deref().unwrap_or_default());
                if !folder.as_os_str().is_empty() && !folder.is_dir() {
                    let message = format!("`{}` is no folder", folder.display());
                    self.page.error("config-file", &join(&at, "folder"), message);
                }
                Way::Command { program, args: server.args, env, folder }
            }
            (None, Some(url)) => {
                self.refuse_fields(&at, "`url`", &["args", "env", "folder"]);
                let headers = self.headers(&join(&at, "headers"), &server.headers);
                let url = self.url(&join(&at, "url"), &url)?;
                Way::Http { url, headers }
            }
            (Some(_), Some(_)) => {
                let message = "a server has `command` or `url`, not both";
                self.page.error_of_name("config-kind", &join(&at, "url"), message);
                return None;
            }
            (None, None) => {
                self.missing(&at, &["command", "url"]);
                return None;
            }
        };
        let auth = self.auth(&at, &name, server.auth);
        Some(Server {
            name,
            way,
            auth,
            start: server.start_timeout.map(|period| period.0),
            timeout: server.timeout.map(|period| period.0),
            consent: consent(server.consent),
            manner: manner(server.answer_within, server.urgency),
            interrupted: server.interrupted.map(interrupted),
        })
    }

    pub(super) fn tools(&mut self) -> Vec<Tool> {
        let entries = self.entries::<file::Tool>("tools");
        entries.into_iter().filter_map(|(name, tool)| self.tool(name, tool)).collect()
    }

    fn tool(&mut self, name: String, tool: file::Tool) -> Option<Tool> {
        let at = join("/tools", &name);
        self.tool_name(&at, &name);
        let schema = self.schema(&at, &tool);
        let http = ["url", "method", "headers", "allow_private", "auth"];
        let doer = match tool.kind {
            ToolKind::Http => {
                self.refuse_fields(&at, "kind `http`", &["agent"]);
                let headers = self.headers(&join(&at, "headers"), &tool.headers);
                let Some(url) = tool.url else {
                    self.missing(&at, &["url"]);
                    return None;
                };
                self.template(&join(&at, "url"), &url, schema.as_ref());
                let (method, reach) = (tool.method.unwrap_or_default(), reach(tool.allow_private));
                Doer::Http { method, url, headers, reach }
            }
            ToolKind::Client => {
                self.refuse_fields(&at, "kind `client`", &http);
                self.refuse_fields(&at, "kind `client`", &["agent"]);
                Doer::Client
            }
            ToolKind::Agent => {
                self.refuse_fields(&at, "kind `agent`", &http);
                let Some(agent) = tool.agent else {
                    self.missing(&at, &["agent"]);
                    return None;
                };
                let agents = self.names("agents");
                if !agents.contains(&agent) {
                    self.unknown(&join(&at, "agent"), "agent", &agent, &agents);
                }
                Doer::Agent(agent)
            }
        };
        let auth = self.auth(&at, &name, tool.auth);
        let spec = ToolSpec { name, description: tool.description, schema: schema? };
        let timeout = tool.timeout.map(|period| period.0);
        let (consent, interrupted) = (consent(tool.consent), interrupted(tool.interrupted));
        let manner = manner(tool.answer_within, tool.urgency);
        Some(Tool { spec, doer, consent, manner, interrupted, timeout, auth })
    }

    /// The schema of a tool's arguments, if it is one.
    fn schema(&mut self, at: &str, tool: &file::Tool) -> Option<Value> {
        let (at_table, at_file) = (join(at, "schema"), join(at, "schema_file"));
        let (schema, at, file) = match (&tool.schema, &tool.schema_file) {
            (Some(_), Some(_)) => {
                let message = "the schema is here or in a file, not in both";
                self.page.error_of_name("config-kind", &at_file, message);
                return None;
            }
            (Some(schema), None) => (Value::Object(schema.clone()), at_table, None),
            (None, Some(path)) => {
                let text = self.file(&at_file, path)?;
                let schema = match serde_json::from_str(&text) {
                    Ok(schema) => schema,
                    Err(error) => {
                        let message = format!("`{}` is not JSON: {error}", shown(path));
                        self.page.error("config-file", &at_file, message);
                        return None;
                    }
                };
                (schema, at_file, Some(Path::new(path)))
            }
            // It was told what is wrong with it.
            (None, None) if !self.page.lacks(&at_table) || !self.page.lacks(&at_file) => {
                return None;
            }
            (None, None) if tool.kind == ToolKind::Agent => return Some(prompt()),
            (None, None) => return Some(json!({"type": "object", "properties": {}})),
        };
        let Err((pointer, message)) = check_schema(&schema) else { return Some(schema) };
        // What is in another file is told by its pointer there.
        let (at, message) = match file {
            None => (format!("{at}{pointer}"), message),
            Some(path) => (at, format!("{}#{pointer}: {message}", path.display())),
        };
        self.page.error("config-tool-schema", &at, message);
        None
    }

    /// A URL with places for arguments, all of them behind the host.
    fn template(&mut self, at: &str, text: &str, schema: Option<&Value>) {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if scheme.contains('{') || host.contains('{') {
            self.page.error("config-url", at, "arguments stand behind the host of a URL");
            return;
        }
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            plain.push_str(before);
            plain.push('x');
            rest = after;
            let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
            let known = properties.is_none_or(|properties| properties.contains_key(name));
            if !known {
                let names = properties.into_iter().flatten().map(|(name, _)| name.as_str());
                let hint = did_you_mean(name, names);
                let message = format!("`{}` is no argument of the schema{hint}", shown(name));
                self.page.error("config-url", at, message);
            }
        }
        plain.push_str(rest);
        self.url(at, &plain);
    }
}

/// The schema of an agent's arguments.
pub(in crate::config) fn prompt() -> Value {
    let prompt = json!({"type": "string", "description": "What the agent is to do."});
    json!({"type": "object", "properties": {"prompt": prompt}, "required": ["prompt"]})
}

/// Whether a value is a schema of arguments; else where it is not, and why.
fn check_schema(schema: &Value) -> Result<(), (String, String)> {
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(("/type".to_owned(), "`type` must be `object`, as arguments are".to_owned()));
    }
    match Schema::new(schema) {
        Ok(_) => Ok(()),
        Err(SchemaError::Broken { at, reason }) => {
            Err((at, format!("not a JSON Schema: {reason}")))
        }
        Err(error) => Err((String::new(), error.to_string())),
    }
}

pub(super) fn reach(allow_private: bool) -> Reach {
    if allow_private { Reach::Private } else { Reach::Public }
}

/// How people are asked.
fn manner(within: Option<Period>, urgency: Option<UrgencyName>) -> Manner {
    let urgency = urgency.map(|urgency| match urgency {
        UrgencyName::Low => Urgency::Low,
        UrgencyName::Medium => Urgency::Medium,
        UrgencyName::High => Urgency::High,
    });
    Manner { patience: within.map(|period| period.0), urgency }
}

fn consent(needed: bool) -> Consent {
    if needed { Consent::Needed } else { Consent::NotNeeded }
}

fn interrupted(name: InterruptedName) -> Interrupted {
    match name {
        InterruptedName::Again => Interrupted::Again,
        InterruptedName::Fail => Interrupted::Fail,
    }
}

/// Whether a name can stand before the names of tools, with `__` between them.
fn is_server_name(name: &str) -> bool {
    is_tool_name(name) && name.len() <= 32 && !name.contains("__") && !name.ends_with('_')
}
