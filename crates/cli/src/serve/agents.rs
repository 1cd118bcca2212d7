//! The agents of a server, from its configuration.

use std::path::Path;
use std::time::Duration;

use selvedge_agents::Desk;
use selvedge_agents::config::{self, Config};
use selvedge_agents::model::Http;
use selvedge_client::Client;
use selvedge_server::Demo;

use crate::config::{load, render};
use crate::error::Error;

/// The conversation that comes with this program.
const DEMO: &str = include_str!("demo.toml");
/// Who answers there.
pub(super) const FIRST: &str = "planner";
/// Its thread.
pub(super) const THREAD: &str = "demo";
/// The conversation, for whoever wants to see it.
pub(super) const SHOWN: Demo = Demo {
    agents: || demo().map_err(|error| error.to_string()),
    agent: FIRST,
    thread: THREAD,
    title: "A weekend in Lisbon",
    prompt: "Plan me a weekend in Lisbon.",
};
/// How long a connection to a provider may take.
const CONNECT: Duration = Duration::from_secs(10);

/// The agents of a configuration.
pub(super) fn configured(file: &Path) -> Result<Desk, Error> {
    match load(file)? {
        Ok(config) => desk(&config),
        Err(found) => {
            anstream::eprint!("{}", render(file, &found));
            Err(Error::Configuration { name: file.display().to_string() })
        }
    }
}

/// The agents of the demonstration.
pub(super) fn demo() -> Result<Desk, Error> {
    let failed = |cause: String| Error::Agents { cause };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let program = program.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let text = DEMO.replace("{selvedge}", &program);
    let config = config::check("demo.toml", text.as_bytes(), Path::new(""), &config::variable);
    desk(&config.map_err(|found| failed(found.to_string()))?)
}

fn desk(config: &Config) -> Result<Desk, Error> {
    let failed = |cause: String| Error::Agents { cause };
    let http = Http::new(CONNECT).map_err(|error| failed(error.to_string()))?;
    let agents = config.build(&http).map_err(|error| failed(error.to_string()))?;
    let waiting = config.agents.iter().map(|agent| (agent.id.clone(), agent.while_waiting));
    Ok(Desk::configured(agents, config.router.clone(), waiting))
}

/// Begins the demonstration, the first time.
pub(super) async fn begin(url: String) {
    if let Err(error) = Client::new(&url).post("/api/demo", String::new()).await {
        tracing::warn!(%error, "the demonstration could not begin");
    }
}
