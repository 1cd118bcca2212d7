//! An agent: who does its tasks, who thinks, what it may use, and within which bounds.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use selvedge_protocol::perspective::{self, Policy};

use crate::config::file::Budget;
use crate::model::{Failure, Request, Said, Settings, Terms};
use crate::remote::Remote;
use crate::tool::{Tool, ToolError, mcp};

/// What a model says, piece by piece. Dropped, the model stops.
pub type Saying = BoxStream<'static, Result<Said, Failure>>;

/// Whoever answers requests: a model behind a provider, or a script.
pub trait Mind: Send + Sync {
    /// Its name, for the journal.
    fn name(&self) -> &str;

    /// The provider's name, which its signatures are bound to.
    fn provider(&self) -> &str;

    /// What it costs, and how much it takes at once.
    fn terms(&self) -> Terms {
        Terms::default()
    }

    /// A request as text, to be measured.
    fn written(&self, request: &Request<'_>) -> String {
        let mut text = perspective::openai(request.history, request.view, request.system);
        for tool in request.tools {
            text.push_str(&tool.description);
            text.push_str(&tool.schema.to_string());
        }
        text
    }

    /// Begins an answer. The request is read before this returns.
    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>>;
}

/// Someone who can be given tasks.
#[derive(Clone)]
pub enum Member {
    /// An agent that this process runs.
    Here(Arc<Agent>),
    /// Programs elsewhere that claim the tasks of one agent.
    Worker(Worker),
    /// An agent elsewhere that this process asks.
    Remote(Arc<Remote>),
}

impl Member {
    /// Names it in threads.
    pub fn id(&self) -> &str {
        match self {
            Self::Here(agent) => &agent.id,
            Self::Worker(worker) => &worker.id,
            Self::Remote(remote) => remote.id(),
        }
    }
}

impl From<Remote> for Member {
    fn from(remote: Remote) -> Self {
        Self::Remote(Arc::new(remote))
    }
}

impl From<Agent> for Member {
    fn from(agent: Agent) -> Self {
        Self::Here(Arc::new(agent))
    }
}

/// An agent whose tasks are claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Names it in threads.
    pub id: String,
    /// How long a claim lasts until whoever made it must say that they are still there.
    pub lease: Duration,
}

/// An agent that this process runs.
#[derive(Clone)]
pub struct Agent {
    /// Names it in threads.
    pub id: String,
    /// Who thinks: the first, and others that take over when it fails.
    pub minds: Vec<Arc<dyn Mind>>,
    /// Comes before everything in every request.
    pub system: Option<String>,
    /// How it sees the others.
    pub policy: Policy,
    /// What it may use.
    pub tools: Vec<Arc<Tool>>,
    /// Servers whose tools it may use too.
    pub servers: Vec<mcp::Offer>,
    /// How to answer.
    pub settings: Settings,
    /// What keeps it from going on for ever.
    pub limits: Limits,
    /// What may be spent before someone is asked: in a thread, by a task with all its subtasks,
    /// and by this agent in a thread.
    pub budget: Budget,
    /// Who answers first what it asks and a user need not.
    pub coordination: Coordination,
    /// Whether it is written down, for operators, why it does what.
    pub trace: Trace,
}

/// Who answers first what an agent asks and a user need not, and how long that may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coordination {
    /// Who.
    pub who: Coordinator,
    /// After so long the user is asked.
    pub patience: Duration,
}

/// Who answers first what a user need not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Coordinator {
    /// The agent that called it; nobody, if a user did.
    #[default]
    Caller,
    /// Nobody: the user is asked at once.
    User,
    /// This agent.
    Agent(String),
}

impl Default for Coordination {
    fn default() -> Self {
        Self { who: Coordinator::default(), patience: Duration::from_secs(120) }
    }
}

/// Whether it is written down, for operators, why an agent does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trace {
    /// No.
    #[default]
    Off,
    /// Yes: `internal:thought-process` around every model call and tool.
    On,
}

/// Bounds of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Model calls.
    pub iterations: u32,
    /// Times that one model is asked the same.
    pub tries: u32,
    /// The wait before the second time; it doubles each time.
    pub backoff: Duration,
    /// The longest wait before another time.
    pub backoff_max: Duration,
    /// Time at work; waiting for people and for other agents is not counted.
    pub timeout: Duration,
    /// Time of one model call.
    pub call_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterations: 50,
            tries: 4,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            timeout: Duration::from_secs(60 * 60),
            call_timeout: Duration::from_secs(15 * 60),
        }
    }
}

impl Agent {
    /// An agent that thinks with one mind and has no tools.
    pub fn new(id: impl Into<String>, mind: Arc<dyn Mind>) -> Self {
        Self {
            id: id.into(),
            minds: vec![mind],
            system: None,
            policy: Policy::default(),
            tools: Vec::new(),
            servers: Vec::new(),
            settings: Settings::default(),
            limits: Limits::default(),
            coordination: Coordination::default(),
            trace: Trace::default(),
            budget: Budget::default(),
        }
    }

    /// All tools that it may use now. A server that cannot be reached offers none.
    pub async fn all_tools(&self) -> Vec<Arc<Tool>> {
        let offered = self.servers.iter().map(async |offer| match offer.tools().await {
            Ok(tools) => tools,
            Err(error) => {
                let (agent, server) = (&*self.id, offer.server.name());
                tracing::warn!(agent, server, %error, "an agent has to do without its tools");
                Vec::new()
            }
        });
        let offered = futures_util::future::join_all(offered).await;
        self.tools.iter().cloned().chain(offered.into_iter().flatten()).collect()
    }

    /// The tool of that name.
    pub async fn tool(&self, name: &str) -> Result<Arc<Tool>, ToolError> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.spec.name == name) {
            return Ok(tool.clone());
        }
        for offer in &self.servers {
            if offer.may_have(name) {
                return offer.tool(name).await;
            }
        }
        Err(ToolError(format!("there is no tool `{name}`")))
    }
}
