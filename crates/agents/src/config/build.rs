//! From a checked configuration to agents at work.
//!
//! What needs a connection (models, MCP servers, HTTP tools) is made by whoever calls, one
//! function each of [`Parts`]; the rest is made here.

mod models;

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

pub use self::models::ModelError;
use super::check::{ARTIFACTS, called, prompt};
use super::file;
use super::glob::fits;
use super::plan::{self, Config, Kind, Use, Work};
use crate::agent::{Agent, Mind, Saying};
use crate::model::{Failure, FailureKind, Request, Settings, ToolSpec};
use crate::script::{Line, Rule, Script};
use crate::tool::{Doer, Run, Tool};

/// What is made elsewhere, from plain data.
pub trait Parts {
    /// Why something could not be made.
    type Error;

    /// A model; [`plan::Model::connect`] makes the real one.
    fn mind(&self, model: &plan::Model) -> Result<Arc<dyn Mind>, Self::Error>;

    /// What an HTTP tool does.
    fn http(&self, tool: &plan::Tool) -> Result<Arc<dyn Run>, Self::Error>;

    /// All tools of an MCP server, named `SERVER__tool`.
    fn server(
        &self,
        server: &plan::Server,
    ) -> impl Future<Output = Result<Vec<Arc<Tool>>, Self::Error>> + Send;

    /// A built-in tool, by what it does (`create`) and what models call it (`create_artifact`).
    fn artifact(&self, does: &str, called: &str) -> Result<Arc<Tool>, Self::Error>;
}

impl Config {
    /// The agents that this process runs itself: those with a model, and scripts.
    pub async fn build<P: Parts>(&self, parts: &P) -> Result<Vec<Agent>, P::Error> {
        let mut out = Vec::new();
        for agent in &self.agents {
            let (minds, system, work) = match &agent.kind {
                Kind::Model { models, system, work } => {
                    (self.minds(models, parts)?, system.clone(), work)
                }
                Kind::Script { script, work } => {
                    let mind: Arc<dyn Mind> = Arc::new(script.clone());
                    (vec![mind], None, work)
                }
                Kind::Worker { .. } | Kind::Remote { .. } => continue,
            };
            out.push(Agent {
                id: agent.id.clone(),
                minds,
                system,
                policy: work.policy,
                tools: self.tools(work, parts).await?,
                settings: Settings::default(),
                limits: work.limits.clone(),
            });
        }
        Ok(out)
    }

    fn minds<P: Parts>(&self, names: &[String], parts: &P) -> Result<Vec<Arc<dyn Mind>>, P::Error> {
        let models = names.iter().filter_map(|name| self.models.iter().find(|m| m.name == *name));
        let tuned = |model: &plan::Model| {
            let mind = parts.mind(model)?;
            Ok(Arc::new(Tuned { mind, settings: model.settings() }) as Arc<dyn Mind>)
        };
        models.map(tuned).collect()
    }

    async fn tools<P: Parts>(&self, work: &Work, parts: &P) -> Result<Vec<Arc<Tool>>, P::Error> {
        let mut out: Vec<Arc<Tool>> = Vec::new();
        for used in &work.uses {
            match used {
                Use::Tool(name) => {
                    let tool = self.tools.iter().find(|tool| tool.spec.name == *name);
                    out.extend(tool.map(|tool| self::tool(tool, parts)).transpose()?);
                }
                Use::Artifact(name) => {
                    let called = ARTIFACTS.iter().find(|(does, _)| does == name);
                    let made = called.map(|(does, called)| parts.artifact(does, called));
                    out.extend(made.transpose()?);
                }
                Use::Server { name, tools } => {
                    let server = self.servers.iter().find(|server| server.name == *name);
                    let Some(server) = server else { continue };
                    for tool in parts.server(server).await? {
                        let own = tool.spec.name.strip_prefix(&format!("{name}__"));
                        let meant = own.is_some_and(|own| fits(tools, own));
                        if meant && out.iter().all(|other| other.spec.name != tool.spec.name) {
                            out.push(tool);
                        }
                    }
                }
                Use::Agent(id) => {
                    let about = self.agents.iter().find(|agent| agent.id == *id);
                    let about = about.and_then(|agent| agent.description.clone());
                    let description = about.unwrap_or_else(|| format!("Asks the agent `{id}`."));
                    let name = called(used).unwrap_or(id).to_owned();
                    let spec = ToolSpec { name, description, schema: prompt() };
                    out.push(Arc::new(Tool::new(spec, Doer::Agent { id: id.clone() })));
                }
            }
        }
        Ok(out)
    }
}

fn tool<P: Parts>(planned: &plan::Tool, parts: &P) -> Result<Arc<Tool>, P::Error> {
    let doer = match &planned.doer {
        plan::Doer::Http { .. } => Doer::Here(parts.http(planned)?),
        plan::Doer::Client => Doer::Client,
        plan::Doer::Agent(id) => Doer::Agent { id: id.clone() },
    };
    let mut tool = Tool::new(planned.spec.clone(), doer);
    tool.consent = planned.consent;
    tool.interrupted = planned.interrupted;
    tool.timeout = planned.timeout.unwrap_or(tool.timeout);
    Ok(Arc::new(tool))
}

/// A mind that is asked with settings of its own: those of another vendor's would not do when it
/// takes over.
struct Tuned {
    mind: Arc<dyn Mind>,
    settings: Settings,
}

impl Mind for Tuned {
    fn name(&self) -> &str {
        self.mind.name()
    }

    fn provider(&self) -> &str {
        self.mind.provider()
    }

    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>> {
        self.mind.ask(&Request { settings: &self.settings, ..*request })
    }
}

/// A script from what is written.
pub(super) fn script(name: &str, script: &file::Script) -> Script {
    let line = |line: &file::Line| Line {
        think: line.think.clone(),
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
        }),
    };
    let rule = |rule: &file::Rule| Rule {
        when: rule.when.clone(),
        lines: rule.lines.iter().map(line).collect(),
    };
    Script {
        name: name.to_owned(),
        rules: script.rules.iter().map(rule).collect(),
        pace: script.pace.map_or(std::time::Duration::ZERO, |period| period.0),
    }
}
