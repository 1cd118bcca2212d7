//! The peers, one per thing a real package can be asked to load.

use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::install::{Venv, node};
use crate::workspace;

/// One version of one package, asked one question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    /// What its checks are filed under.
    pub(crate) name: &'static str,
    /// The process that answers for it.
    pub(crate) process: Process,
    /// The driver's operation.
    pub(crate) op: &'static str,
}

/// A driver process; several peers may share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Process {
    /// pydantic-ai 2.x.
    PydanticAi2,
    /// pydantic-ai 1.x.
    PydanticAi1,
    /// a2a-sdk 1.x.
    A2aV1,
    /// a2a-sdk 0.3.
    A2aV03,
    /// openai.
    OpenAiThreads,
    /// agentscope-runtime.
    AgentApi,
    /// ai 5, 6 and 7.
    AiSdk,
    /// @ag-ui/client.
    AgUi,
    /// Chromium.
    Browser,
    /// eventsource.
    EventSource,
}

impl Process {
    /// Every driver process.
    pub(crate) const ALL: [Self; 10] = [
        Self::PydanticAi2,
        Self::PydanticAi1,
        Self::A2aV1,
        Self::A2aV03,
        Self::OpenAiThreads,
        Self::AgentApi,
        Self::AiSdk,
        Self::AgUi,
        Self::Browser,
        Self::EventSource,
    ];

    /// The command that starts it.
    pub(crate) fn command(self) -> Result<Command> {
        match self {
            Self::PydanticAi2 => python(Venv::PydanticAi2, "peer_pydantic_ai"),
            Self::PydanticAi1 => python(Venv::PydanticAi1, "peer_pydantic_ai"),
            Self::A2aV1 => python(Venv::A2aV1, "peer_a2a_v1_0"),
            Self::A2aV03 => python(Venv::A2aV03, "peer_a2a_v0_3"),
            Self::OpenAiThreads => python(Venv::OpenAi, "peer_openai_threads"),
            Self::AgentApi => python(Venv::OpenAi, "peer_agent_api"),
            Self::AiSdk => javascript("peer_ai_sdk"),
            Self::AgUi => javascript("peer_ag_ui"),
            Self::Browser => live("peer_browser"),
            Self::EventSource => live("peer_eventsource"),
        }
    }
}

const fn peer(name: &'static str, process: Process, op: &'static str) -> Peer {
    Peer { name, process, op }
}

pub(crate) const PYDANTIC_AI_2: Peer = peer("pydantic-ai@2", Process::PydanticAi2, "load");
pub(crate) const PYDANTIC_AI_1: Peer = peer("pydantic-ai@1", Process::PydanticAi1, "load");
pub(crate) const A2A_V1: Peer = peer("a2a@1.0", Process::A2aV1, "load");
pub(crate) const A2A_V03: Peer = peer("a2a@0.3", Process::A2aV03, "load");
pub(crate) const OPENAI_THREADS: Peer = peer("openai-threads", Process::OpenAiThreads, "load");
pub(crate) const AGENT_API: Peer = peer("agent-api", Process::AgentApi, "load");
pub(crate) const AG_UI_EVENTS: Peer = peer("ag-ui", Process::AgUi, "events");
pub(crate) const AG_UI_MESSAGES: Peer = peer("ag-ui-messages", Process::AgUi, "messages");
pub(crate) const AG_UI_INPUT: Peer = peer("ag-ui-input", Process::AgUi, "input");

/// `readUIMessageStream` of ai 5, 6 and 7, with the version each is.
pub(crate) const AI_STREAM: [(u8, Peer); 3] = [
    (5, peer("ai@5-stream", Process::AiSdk, "ai5.stream")),
    (6, peer("ai@6-stream", Process::AiSdk, "ai6.stream")),
    (7, peer("ai@7-stream", Process::AiSdk, "ai7.stream")),
];

/// `validateUIMessages` of ai 5, 6 and 7, with the version each is.
pub(crate) const AI_MESSAGES: [(u8, Peer); 3] = [
    (5, peer("ai@5-messages", Process::AiSdk, "ai5.messages")),
    (6, peer("ai@6-messages", Process::AiSdk, "ai6.messages")),
    (7, peer("ai@7-messages", Process::AiSdk, "ai7.messages")),
];

fn python(venv: Venv, module: &str) -> Result<Command> {
    let folder = workspace::root()?.join("conformance/python");
    let mut command = venv.python()?;
    command.args(["-X", "utf8"]);
    // Bytecode would litter the source folder.
    command.env("PYTHONPYCACHEPREFIX", workspace::conformance()?.join("pycache"));
    command.arg(folder.join("serve.py")).arg(module);
    Ok(command)
}

fn javascript(module: &str) -> Result<Command> {
    let mut command = node()?;
    command.args(["serve.mjs", module]);
    Ok(command)
}

/// A driver that unpacks a browser and runs servers.
fn live(module: &str) -> Result<Command> {
    let folder = workspace::conformance()?.join("live");
    fs::create_dir_all(&folder)?;
    let mut command = javascript(module)?;
    command.env("TMPDIR", folder);
    Ok(command)
}
