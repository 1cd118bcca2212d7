//! From a checked configuration to agents at work.

mod models;

pub use models::ModelError;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::check::{called, prompt};
use super::file;
use super::plan::{self, Config, Kind, Use, Way, Work};
use super::secret::Secret;
use crate::agent::{Agent, Member, Mind, Saying, Worker};
use crate::model::{Failure, FailureKind, Http, Key, Request, Settings, Terms, Thought, ToolSpec};
use crate::remote::{self, Remote};
use crate::script::{Confidence, Line, Proposal, Rule, Script};
use crate::tool::http::HttpToolError;
use crate::tool::mcp::{self, Offer, Rerun, Server, Transport, Which};
use crate::tool::{Doer, SchemaError, Tool, artifact, builtin, http};

/// Why agents cannot be made of a configuration. One that was checked has few such reasons left.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum BuildError {
    #[error("model `{name}`: {cause}")]
    Model { name: String, cause: ModelError },
    #[error("tool `{name}`: {cause}")]
    Http { name: String, cause: HttpToolError },
    #[error("tool `{name}`: {cause}")]
    Tool { name: String, cause: SchemaError },
    #[error(transparent)]
    Server(#[from] mcp::BadName),
    #[error("`{0}` is no header that can be sent")]
    Header(String),
    #[error("agent `{name}`: {cause}")]
    Remote { name: String, cause: Failure },
    #[error("agent `{0}`: its key is no visible ASCII text")]
    Key(String),
}

/// Tools and servers by their names: agents share them.
struct Shared {
    tools: HashMap<String, Arc<Tool>>,
    servers: HashMap<String, Arc<Server>>,
    built_in: Vec<Arc<Tool>>,
}

impl Config {
    /// Everyone who can be given tasks.
    pub fn build(&self, http: &Http) -> Result<Vec<Member>, BuildError> {
        self.build_with(|model| match model.connect(http) {
            Ok(mind) => Ok(Arc::new(mind) as Arc<dyn Mind>),
            Err(cause) => Err(BuildError::Model { name: model.name.clone(), cause }),
        })
    }

    /// The same with models that are made elsewhere.
    pub fn build_with(
        &self,
        mind: impl Fn(&plan::Model) -> Result<Arc<dyn Mind>, BuildError>,
    ) -> Result<Vec<Member>, BuildError> {
        let shared = self.shared()?;
        let mut out = Vec::new();
        for agent in &self.agents {
            let (minds, system, work) = match &agent.kind {
                Kind::Model { models, system, work } => {
                    (self.minds(models, &mind)?, system.clone(), work)
                }
                Kind::Script { script, work } => {
                    let mind: Arc<dyn Mind> = Arc::new(script.clone());
                    (vec![mind], None, work)
                }
                Kind::Worker { lease } => {
                    out.push(Member::Worker(Worker { id: agent.id.clone(), lease: *lease }));
                    continue;
                }
                Kind::Remote { .. } => {
                    out.push(Member::from(remote(agent)?));
                    continue;
                }
            };
            let (tools, servers) = self.uses(work, &shared)?;
            out.push(Member::from(Agent {
                id: agent.id.clone(),
                minds,
                system,
                policy: work.policy,
                tools,
                servers,
                settings: Settings::default(),
                limits: work.limits.clone(),
                coordination: work.coordination.clone(),
                trace: work.trace,
                budget: file::Budget {
                    agent: agent.budget.clone().unwrap_or_else(|| self.budget.agent.clone()),
                    ..self.budget.clone()
                },
            }));
        }
        Ok(out)
    }

    fn shared(&self) -> Result<Shared, BuildError> {
        let mut tools = HashMap::new();
        for planned in &self.tools {
            tools.insert(planned.spec.name.clone(), Arc::new(tool(planned)?));
        }
        let mut servers = HashMap::new();
        for planned in &self.servers {
            servers.insert(planned.name.clone(), Server::new(server(planned)?)?);
        }
        let mut built_in = Vec::new();
        for (name, made) in [("artifacts", artifact::tools()), ("ask", builtin::tools())] {
            let made = made.map_err(|cause| BuildError::Tool { name: name.to_owned(), cause })?;
            built_in.extend(made.into_iter().map(Arc::new));
        }
        Ok(Shared { tools, servers, built_in })
    }

    fn minds(
        &self,
        names: &[String],
        mind: impl Fn(&plan::Model) -> Result<Arc<dyn Mind>, BuildError>,
    ) -> Result<Vec<Arc<dyn Mind>>, BuildError> {
        let models = names.iter().filter_map(|name| self.models.iter().find(|m| m.name == *name));
        let tuned = |model: &plan::Model| {
            let mind = mind(model)?;
            let (settings, terms) = (model.settings(), model.terms());
            Ok(Arc::new(Tuned { mind, settings, terms }) as Arc<dyn Mind>)
        };
        models.map(tuned).collect()
    }

    /// What an agent may use: tools, and servers with more of them.
    fn uses(
        &self,
        work: &Work,
        shared: &Shared,
    ) -> Result<(Vec<Arc<Tool>>, Vec<Offer>), BuildError> {
        let (mut tools, mut servers): (Vec<Arc<Tool>>, Vec<Offer>) = Default::default();
        for used in &work.uses {
            match used {
                Use::Tool(name) => tools.extend(shared.tools.get(name).cloned()),
                Use::BuiltIn(..) => {
                    let named = shared.built_in.iter();
                    tools.extend(named.filter(|t| called(used) == Some(&t.spec.name)).cloned());
                }
                Use::Server { name, tools } => {
                    let offer = |server: &Arc<Server>| Offer {
                        server: server.clone(),
                        which: Which::Like(tools.clone()),
                    };
                    servers.extend(shared.servers.get(name).map(offer));
                }
                Use::Agent(id) => tools.push(self.agent_tool(id, used)?),
            }
        }
        Ok((tools, servers))
    }

    /// Another agent, as a tool.
    fn agent_tool(&self, id: &str, used: &Use) -> Result<Arc<Tool>, BuildError> {
        let about = self.agents.iter().find(|agent| agent.id == *id);
        let about = about.and_then(|agent| agent.description.clone());
        let description = about.unwrap_or_else(|| format!("Asks the agent `{id}`."));
        let name = called(used).unwrap_or(id).to_owned();
        let spec = ToolSpec { name: name.clone(), description, schema: prompt() };
        let tool = Tool::new(spec, Doer::Agent { id: id.to_owned() });
        Ok(Arc::new(tool.map_err(|cause| BuildError::Tool { name, cause })?))
    }
}

/// An agent elsewhere.
fn remote(agent: &plan::Agent) -> Result<Remote, BuildError> {
    let Kind::Remote { protocol, place, key, timeout, assistant } = &agent.kind else {
        let cause = Failure::nonsense("it is here");
        return Err(BuildError::Remote { name: agent.id.clone(), cause });
    };
    let protocol = match protocol {
        plan::Protocol::A2a => remote::Protocol::A2a,
        plan::Protocol::AgentApi => remote::Protocol::AgentApi,
        plan::Protocol::Aitp => remote::Protocol::Aitp,
    };
    let mut options = remote::Options::new(&agent.id, protocol, place.url.clone());
    options.headers = headers(&place.headers)?;
    let key = key.as_ref().map(|key| Key::new(key.reveal())).transpose();
    options.key = key.map_err(|_| BuildError::Key(agent.id.clone()))?;
    options.reach = reach(place.reach);
    options.silence = timeout.unwrap_or(options.silence);
    options.assistant.clone_from(assistant);
    Remote::new(options).map_err(|cause| BuildError::Remote { name: agent.id.clone(), cause })
}

fn reach(planned: plan::Reach) -> http::Reach {
    match planned {
        plan::Reach::Public => http::Reach::Public,
        plan::Reach::Private => http::Reach::Private,
    }
}

fn tool(planned: &plan::Tool) -> Result<Tool, BuildError> {
    let name = || planned.spec.name.clone();
    let own = |doer| {
        Tool::new(planned.spec.clone(), doer)
            .map_err(|cause| BuildError::Tool { name: name(), cause })
    };
    let mut tool = match &planned.doer {
        plan::Doer::Http { method, url, headers: sent, reach } => {
            let method = match method {
                file::Method::Get => Method::GET,
                file::Method::Post => Method::POST,
                file::Method::Put => Method::PUT,
                file::Method::Patch => Method::PATCH,
                file::Method::Delete => Method::DELETE,
            };
            let mut options = http::Options::new(planned.spec.clone(), method, url);
            options.headers = headers(sent)?;
            options.reach = self::reach(*reach);
            http::tool(options).map_err(|cause| BuildError::Http { name: name(), cause })?
        }
        plan::Doer::Client => own(Doer::Client)?,
        plan::Doer::Agent(id) => own(Doer::Agent { id: id.clone() })?,
    };
    tool.consent = planned.consent;
    tool.auth = planned.auth.clone();
    tool.interrupted = planned.interrupted;
    tool.timeout = planned.timeout.unwrap_or(tool.timeout);
    tool.patience = planned.manner.patience;
    tool.urgency = planned.manner.urgency;
    Ok(tool)
}

fn server(planned: &plan::Server) -> Result<mcp::Options, BuildError> {
    let transport = match &planned.way {
        Way::Command { program, args, env, folder } => Transport::Process {
            command: program.into(),
            args: args.clone(),
            env: env
                .iter()
                .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
                .collect(),
            folder: Some(folder.clone()).filter(|folder| !folder.as_os_str().is_empty()),
        },
        Way::Http { url, headers: sent } => {
            Transport::Http { url: url.to_string(), headers: headers(sent)? }
        }
    };
    let mut options = mcp::Options::new(&planned.name, transport);
    options.timeout = planned.timeout.unwrap_or(options.timeout);
    options.start = planned.start.unwrap_or(options.start);
    options.consent = planned.consent;
    options.auth = planned.auth.clone();
    options.manner = planned.manner;
    options.interrupted = planned.interrupted.map_or(Rerun::IfHarmless, Rerun::All);
    Ok(options)
}

fn headers(sent: &[(String, Secret)]) -> Result<Vec<(HeaderName, HeaderValue)>, BuildError> {
    let header = |(name, value): &(String, Secret)| {
        let bad = || BuildError::Header(name.clone());
        let value = HeaderValue::from_str(value.reveal()).map_err(|_| bad())?;
        Ok((name.parse().map_err(|_| bad())?, value))
    };
    sent.iter().map(header).collect()
}

/// A mind that is asked with settings of its own: those of another vendor's would not do when it
/// takes over.
struct Tuned {
    mind: Arc<dyn Mind>,
    settings: Settings,
    terms: Terms,
}

impl Mind for Tuned {
    fn name(&self) -> &str {
        self.mind.name()
    }

    fn provider(&self) -> &str {
        self.mind.provider()
    }

    fn terms(&self) -> Terms {
        self.terms
    }

    fn written(&self, request: &Request<'_>) -> String {
        self.mind.written(&Request { settings: &self.settings, ..*request })
    }

    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>> {
        self.mind.ask(&Request { settings: &self.settings, ..*request })
    }
}

fn thought(written: &file::Thought) -> Thought {
    Thought {
        ty: written.ty,
        verbosity: written.verbosity,
        text: written.text.clone(),
        confidence: written.confidence,
        alternatives: written.alternatives.clone(),
        related_to: written.related_to.clone(),
    }
}

fn proposal(next: &file::Proposal) -> Proposal {
    let args = (!next.args.is_empty()).then(|| Value::Object(next.args.clone()));
    Proposal { intent: next.intent.name().to_owned(), task: next.task.clone(), args }
}

/// A script from what is written.
pub(super) fn script(name: &str, script: &file::Script) -> Script {
    let line = |line: &file::Line| Line {
        think: line.think.clone(),
        thoughts: line.thoughts.iter().map(thought).collect(),
        say: line.say.clone(),
        calls: line
            .calls
            .iter()
            .map(|call| (call.tool.clone(), Value::Object(call.arguments.clone())))
            .collect(),
        fail: line.fail.map(|fail| match fail {
            file::Fail::Busy => FailureKind::Busy,
            file::Fail::Connection => FailureKind::Connection,
            file::Fail::Provider => FailureKind::Provider,
            file::Fail::Unauthorized => FailureKind::Unauthorized,
            file::Fail::TooLong => FailureKind::TooLong,
            file::Fail::Refused => FailureKind::Refused,
            file::Fail::Rejected => FailureKind::Rejected,
        }),
        intent: line.intent.map(|intent| intent.name().to_owned()),
        confidence: line
            .confidence
            .map(|score| Confidence { score, rationale: line.rationale.clone() }),
        next: line.next.iter().map(proposal).collect(),
        reply: line.reply,
        pause: line.pause.map_or(std::time::Duration::ZERO, |period| period.0),
    };
    let rule = |rule: &file::Rule| Rule {
        when: rule.when.clone(),
        when_id: rule.when_id.clone(),
        lines: rule.lines.iter().map(line).collect(),
    };
    Script {
        name: name.to_owned(),
        rules: script.rules.iter().map(rule).collect(),
        pace: script.pace.map_or(std::time::Duration::ZERO, |period| period.0),
        price: script.price,
    }
}
