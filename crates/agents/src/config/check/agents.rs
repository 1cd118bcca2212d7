//! `[agents.NAME]`.

use std::time::Duration;

use selvedge_protocol::perspective::{Attribution, OthersTools, Policy};

use super::tools::reach;
use super::{Check, KeySource};
use crate::agent::{Coordination, Coordinator, Limits, Trace};
use crate::config::file::{self, AgentKind, AttributionName, OthersToolsName};
use crate::config::findings::Page;
use crate::config::plan::{Agent, Kind, Place, Protocol, Tool, Work};
use crate::config::shape::Shape;
use crate::config::source::{LONGEST, join};
use crate::config::{build, secret};
use crate::script::Script;

/// How long a task is a worker's, if nothing is said.
const LEASE: Duration = Duration::from_secs(60);

/// Fields that only some kinds of agents have.
const FIELDS: &[(&str, &[AgentKind])] = &[
    ("model", &[AgentKind::Model]),
    ("system", &[AgentKind::Model]),
    ("system_file", &[AgentKind::Model]),
    ("tools", OURS),
    ("limits", OURS),
    ("attribution", OURS),
    ("others_tools", OURS),
    ("coordinator", OURS),
    ("coordinator_timeout", OURS),
    ("trace", OURS),
    ("script", &[AgentKind::Script]),
    ("script_file", &[AgentKind::Script]),
    ("lease", &[AgentKind::Worker]),
    ("url", REMOTE),
    ("key_env", REMOTE),
    ("key_file", REMOTE),
    ("headers", REMOTE),
    ("timeout", REMOTE),
    ("allow_private", REMOTE),
    ("assistant", &[AgentKind::Aitp]),
];
const OURS: &[AgentKind] = &[AgentKind::Model, AgentKind::Script];
const REMOTE: &[AgentKind] = &[AgentKind::A2a, AgentKind::AgentApi, AgentKind::Aitp];

impl Check<'_> {
    /// The agents, in the order of the file.
    pub(super) fn agents(&mut self, tools: &[Tool]) -> Vec<Agent> {
        let mut entries: Vec<_> = self.entries::<file::Agent>("agents").into_iter().collect();
        entries.sort_by_key(|(id, _)| {
            self.page.source.key_at(&join("/agents", id)).map(|span| span.start)
        });
        entries.into_iter().filter_map(|(id, agent)| self.agent(id, agent, tools)).collect()
    }

    fn agent(&mut self, id: String, agent: file::Agent, tools: &[Tool]) -> Option<Agent> {
        let at = join("/agents", &id);
        self.name(&at, &id);
        if agent.kind == AgentKind::default() && !self.page.is_word(&join(&at, "kind"), "model") {
            return None;
        }
        let others = FIELDS.iter().filter(|(_, kinds)| !kinds.contains(&agent.kind));
        let others: Vec<_> = others.map(|(field, _)| *field).collect();
        self.refuse_fields(&at, &format!("kind `{}`", agent.kind.name()), &others);
        let kind = match agent.kind {
            AgentKind::Model => self.model_agent(&at, &id, &agent),
            AgentKind::Script => self.scripted(&at, &id, &agent, tools),
            AgentKind::Worker => {
                Some(Kind::Worker { lease: agent.lease.map_or(LEASE, |period| period.0) })
            }
            AgentKind::A2a => self.remote(&at, Protocol::A2a, &agent),
            AgentKind::AgentApi => self.remote(&at, Protocol::AgentApi, &agent),
            AgentKind::Aitp => self.remote(&at, Protocol::Aitp, &agent),
        }?;
        let (budget, while_waiting) = (agent.budget, agent.while_waiting);
        Some(Agent { id, description: agent.description, kind, budget, while_waiting })
    }

    fn model_agent(&mut self, at: &str, id: &str, agent: &file::Agent) -> Option<Kind> {
        let system = self.either(at, ("system", "system_file"), agent.system.clone(), |check| {
            check.file(&join(at, "system_file"), agent.system_file.as_ref()?)
        });
        let work = self.work(at, id, agent);
        let Some(names) = &agent.model else {
            self.missing(at, &["model"]);
            return None;
        };
        let known = self.names("models");
        for (i, name) in names.all().iter().enumerate() {
            let at = join(at, "model");
            let at = match names {
                file::Names::One(_) => at,
                file::Names::Several(_) => format!("{at}/{i}"),
            };
            if !known.contains(name) {
                self.unknown(&at, "model", name, &known);
            }
        }
        Some(Kind::Model { models: names.all().to_vec(), system, work })
    }

    fn scripted(
        &mut self,
        at: &str,
        id: &str,
        agent: &file::Agent,
        tools: &[Tool],
    ) -> Option<Kind> {
        let work = self.work(at, id, agent);
        self.missing(at, &["script", "script_file"]);
        let inline = agent.script.as_ref().map(|script| build::script(id, script));
        let script = self.either(at, ("script", "script_file"), inline, |check| {
            check.script_file(at, id, agent.script_file.as_ref()?)
        })?;
        self.script_calls(at, &script, &work.uses, tools);
        Some(Kind::Script { script, work })
    }

    /// A script in a file of its own, where its mistakes are told.
    fn script_file(&mut self, at: &str, id: &str, path: &str) -> Option<Script> {
        let at = join(at, "script_file");
        let full = self.folder.join(path);
        let bytes = match secret::read_bounded(&full, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", super::shown(path));
                self.page.error("config-file", &at, message);
                return None;
            }
        };
        let mut page =
            Page::read(&full.display().to_string(), &bytes, &Shape::new(file::script_schema()));
        let script: Option<file::Script> = page.table("");
        let script = script.map(|script| build::script(id, &script));
        if let Some(examined) = page.examined() {
            // Several agents may share a script; it is told once.
            if !self.others.iter().any(|other| other.name == examined.name) {
                self.others.push(examined);
            }
        } else if script.is_none() {
            self.page.error("config-file", &at, "the file has no script");
        }
        script
    }

    /// One of two fields that say the same.
    fn either<T>(
        &mut self,
        at: &str,
        (here, there): (&str, &str),
        value: Option<T>,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let (at_here, at_there) = (join(at, here), join(at, there));
        if !self.page.lacks(&at_here) && !self.page.lacks(&at_there) {
            let message = format!("there is `{here}` already");
            self.page.error_of_name("config-kind", &at_there, message);
            return value;
        }
        value.or_else(|| read(self))
    }

    fn remote(&mut self, at: &str, protocol: Protocol, agent: &file::Agent) -> Option<Kind> {
        let (env, file) = (agent.key_env.as_deref(), agent.key_file.as_deref());
        let key = self.key(at, &KeySource { env, file, usual: None });
        let headers = self.headers(&join(at, "headers"), &agent.headers);
        let Some(url) = &agent.url else {
            self.missing(at, &["url"]);
            return None;
        };
        let url = self.url(&join(at, "url"), url)?;
        let place = Place { url, headers, reach: reach(agent.allow_private) };
        let timeout = agent.timeout.map(|period| period.0);
        let assistant = agent.assistant.clone();
        Some(Kind::Remote { protocol, place, key, timeout, assistant })
    }

    fn work(&mut self, at: &str, id: &str, agent: &file::Agent) -> Work {
        let uses = self.uses(at, id, &agent.tools);
        let attribution = match agent.attribution {
            AttributionName::Prefix => Attribution::Prefix,
            AttributionName::Quote => Attribution::Quote,
            AttributionName::Xml => Attribution::Xml,
            AttributionName::None => Attribution::None,
        };
        let tools = match agent.others_tools {
            OthersToolsName::Hide => OthersTools::Hide,
            OthersToolsName::Summarise => OthersTools::Summarise,
            OthersToolsName::Show => OthersTools::Show,
        };
        let usual = Limits::default();
        let said = &agent.limits;
        let limits = Limits {
            iterations: said.iterations.unwrap_or(usual.iterations),
            tries: said.tries.unwrap_or(usual.tries),
            backoff: said.backoff.map_or(usual.backoff, |period| period.0),
            backoff_max: said.backoff_max.map_or(usual.backoff_max, |period| period.0),
            timeout: said.timeout.map_or(usual.timeout, |period| period.0),
            call_timeout: said.call_timeout.map_or(usual.call_timeout, |period| period.0),
        };
        let coordination = self.coordination(at, id, agent);
        let trace = if agent.trace { Trace::On } else { Trace::Off };
        Work { uses, policy: Policy { attribution, tools }, limits, coordination, trace }
    }

    /// Who answers first what a user need not.
    fn coordination(&mut self, at: &str, id: &str, agent: &file::Agent) -> Coordination {
        let at = join(at, "coordinator");
        let known = self.names("agents");
        let who = match agent.coordinator.as_deref() {
            None => Coordinator::Caller,
            Some(name) if name == id => {
                self.page.error("config-value", &at, "an agent cannot answer its own questions");
                Coordinator::User
            }
            Some(name) if known.iter().any(|known| known == name) => {
                Coordinator::Agent(name.to_owned())
            }
            Some("user") => Coordinator::User,
            Some(name) => {
                self.unknown(&at, "agent", name, &known);
                Coordinator::User
            }
        };
        let usual = Coordination::default().patience;
        let patience = agent.coordinator_timeout.map_or(usual, |period| period.0);
        Coordination { who, patience }
    }
}
