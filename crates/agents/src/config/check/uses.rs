//! What agents may use: names and globs become tools.

use std::collections::{HashMap, HashSet};

use super::{Check, is_tool_name, shown};
use crate::config::glob::fits;
use crate::config::plan::{BuiltIn, Doer, Tool, Use};
use crate::config::source::join;
use crate::script::Script;
use crate::tool::builtin;
use crate::tool::schema::Schema;

/// What can be done with artifacts, and what a model calls the tool for it.
const ARTIFACTS: &[(&str, &str)] = &[
    ("create", "artifact_create"),
    ("append", "artifact_append"),
    ("update", "artifact_update"),
    ("list", "artifact_list"),
    ("read", "artifact_read"),
];

/// Built-in tools by what stands before their names.
const BUILT_IN: &[(&str, BuiltIn)] =
    &[("artifacts", BuiltIn::Artifacts), ("ask", BuiltIn::Ask), ("thoughts", BuiltIn::Thoughts)];

impl Check<'_> {
    /// What the entries of `tools` mean. Two may mean the same tool, as `files/*` and
    /// `files/read` do, but two tools may not have one name.
    pub(super) fn uses(&mut self, at: &str, id: &str, entries: &[String]) -> Vec<Use> {
        let (mut seen, mut names) = (HashSet::new(), HashMap::new());
        let mut out: Vec<Use> = Vec::new();
        for (i, entry) in entries.iter().enumerate() {
            let at = format!("{}/{i}", join(at, "tools"));
            if !seen.insert(entry) {
                let message = format!("`{}` is here twice", shown(entry));
                self.page.error("config-duplicate-tool", &at, message);
                continue;
            }
            for found in self.meant(&at, id, entry) {
                let Some(name) = called(&found).map(str::to_owned) else {
                    out.push(found);
                    continue;
                };
                match names.get(&name) {
                    None => {
                        names.insert(name, found.clone());
                        out.push(found);
                    }
                    Some(other) if *other == found => {}
                    Some(_) => {
                        let message = format!("the agent has another tool `{name}` already");
                        self.page.error("config-duplicate-tool", &at, message);
                    }
                }
            }
        }
        out
    }

    /// What one entry means.
    fn meant(&mut self, at: &str, id: &str, entry: &str) -> Vec<Use> {
        match entry.split_once('/') {
            None => {
                let known = self.names("tools");
                self.fitting(at, "tool", entry, &known, Use::Tool)
            }
            Some(("agents", glob)) => {
                let known = self.names("agents");
                let mut found = self.fitting(at, "agent", glob, &known, Use::Agent);
                if glob.contains('*') {
                    found.retain(|other| called(other) != Some(id));
                }
                for agent in found.iter().filter_map(called) {
                    if !is_tool_name(agent) {
                        let message = format!(
                            "no model takes a tool `{}`: give it another name as a tool of kind \
                             `agent`",
                            shown(agent)
                        );
                        self.page.error("config-tool-name", at, message);
                    }
                }
                found
            }
            Some((server, tools)) => {
                if let Some((what, own)) = BUILT_IN.iter().find(|(before, _)| *before == server) {
                    let known = named(*own).iter().map(|(name, _)| (*name).to_owned());
                    let known: Vec<_> = known.collect();
                    let what = format!("tool of `{what}`");
                    let make = |name| Use::BuiltIn(*own, name);
                    return self.fitting(at, &what, tools, &known, make);
                }
                let known = self.names("mcp");
                if !known.iter().any(|name| name == server) {
                    self.unknown(at, "MCP server", server, &known);
                    return Vec::new();
                }
                if tools.is_empty() {
                    let message = format!("which tools? `{server}/*` is all of them");
                    self.page.error("config-unknown-name", at, message);
                    return Vec::new();
                }
                vec![Use::Server { name: server.to_owned(), tools: tools.to_owned() }]
            }
        }
    }

    fn fitting(
        &mut self,
        at: &str,
        what: &str,
        glob: &str,
        known: &[String],
        make: impl Fn(String) -> Use,
    ) -> Vec<Use> {
        let found: Vec<_> = known.iter().filter(|name| fits(glob, name)).cloned().collect();
        if found.is_empty() {
            let elsewhere = (what == "tool").then(|| self.elsewhere(glob)).flatten();
            match elsewhere {
                Some(message) => self.page.error("config-unknown-name", at, message),
                None if glob.contains('*') => {
                    let message = format!("`{}` fits no {what}", shown(glob));
                    self.page.error("config-unknown-name", at, message);
                }
                None => self.unknown(at, what, glob, known),
            }
        }
        found.into_iter().map(make).collect()
    }

    /// What else has that name.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let has = |section: &str| self.names(section).iter().any(|known| known == name);
        if has("mcp") {
            Some(format!("`{name}` is an MCP server: `{name}/*` is all of its tools"))
        } else if has("agents") {
            Some(format!("`{name}` is an agent: write `agents/{name}`"))
        } else if BUILT_IN.iter().any(|(before, _)| *before == name) {
            Some(format!("`{name}/*` is all of those tools"))
        } else {
            None
        }
    }

    /// Whether a script calls what its agent has.
    pub(super) fn script_calls(&mut self, at: &str, script: &Script, uses: &[Use], tools: &[Tool]) {
        // Which tools a server has is not known before it runs.
        if uses.iter().any(|used| matches!(used, Use::Server { .. })) {
            return;
        }
        let has: Vec<_> = uses.iter().filter_map(called).map(str::to_owned).collect();
        let inline = !self.page.lacks(&join(at, "script"));
        for (i, rule) in script.rules.iter().enumerate() {
            for (j, line) in rule.lines.iter().enumerate() {
                for (k, (name, arguments)) in line.calls.iter().enumerate() {
                    let call = format!("{at}/script/rules/{i}/lines/{j}/calls/{k}");
                    let (at, args) = match inline {
                        true => (join(&call, "tool"), join(&call, "arguments")),
                        false => (join(at, "script_file"), join(at, "script_file")),
                    };
                    if !has.contains(name) {
                        self.unknown(&at, "tool of this agent", name, &has);
                    } else if let Some(message) = misfit(tools, name, arguments) {
                        self.page.error("config-script", &args, message);
                    }
                }
            }
        }
    }
}

/// What a model calls it; nothing for the tools of a server, which are not known yet.
pub(in crate::config) fn called(used: &Use) -> Option<&str> {
    match used {
        Use::Tool(name) | Use::Agent(name) => Some(name),
        Use::BuiltIn(what, name) => {
            named(*what).iter().find(|(done, _)| done == name).map(|(_, called)| *called)
        }
        Use::Server { .. } => None,
    }
}

/// What built-in tools do, and what a model calls each.
fn named(what: BuiltIn) -> &'static [(&'static str, &'static str)] {
    match what {
        BuiltIn::Artifacts => ARTIFACTS,
        BuiltIn::Ask => builtin::ASK,
        BuiltIn::Thoughts => builtin::THOUGHTS,
    }
}

/// Why a tool does not take arguments. What is filled in later is not judged.
fn misfit(tools: &[Tool], name: &str, arguments: &serde_json::Value) -> Option<String> {
    let tool = tools.iter().find(|tool| tool.spec.name == name)?;
    if matches!(tool.doer, Doer::Agent(_)) || arguments.to_string().contains("{input}") {
        return None;
    }
    let wrong = Schema::new(&tool.spec.schema).ok()?.check(arguments).err()?;
    Some(format!("`{name}` does not take these arguments: {wrong}"))
}
