//! Agents elsewhere: our server asks real servers of A2A and of the Agent API.

use anyhow::{Context, Result};

use crate::install::Venv;
use crate::peer::Peer;
use crate::process::{cargo, run as run_command, step};
use crate::workspace;

/// The peers: their packages, their program, and the variable that tells the tests where each is.
const PEERS: [(Venv, &str, &str); 4] = [
    (Venv::RemoteA2aV1, "remote_a2a_v1_0", "SELVEDGE_PEER_A2A_1_0"),
    (Venv::RemoteA2aV03, "remote_a2a_v0_3", "SELVEDGE_PEER_A2A_0_3"),
    (Venv::RemoteAgentApi, "remote_agent_api", "SELVEDGE_PEER_AGENT_API"),
    (Venv::RemotePydanticAi, "remote_pydantic_ai", "SELVEDGE_PEER_PYDANTIC_AI"),
];

/// Starts the peers and runs the tests that need them.
pub(crate) fn run() -> Result<()> {
    let folder = workspace::root()?.join("conformance/python");
    let mut tests = cargo();
    let mut peers = Vec::new();
    for (venv, name, variable) in PEERS {
        venv.install().with_context(|| format!("could not install what {name} needs"))?;
        let mut program = venv.python()?;
        program.current_dir(&folder).arg(format!("{name}.py"));
        let peer =
            Peer::start(&mut program, name).with_context(|| format!("could not start {name}"))?;
        step(&format!("{name} at {}", peer.url));
        tests.env(variable, &peer.url);
        peers.push(peer);
    }
    run_command(
        tests
            .current_dir(workspace::root()?)
            // Of all crates, as the tests before: of one alone they would be built anew.
            .args(["test", "--workspace", "--locked", "--test", "it"])
            .args(["--", "peers::", "--ignored"]),
    )
}
