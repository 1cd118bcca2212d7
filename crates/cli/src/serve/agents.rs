//! The agents of a server, from its configuration.

use std::path::Path;
use std::time::Duration;

use selvedge_agents::Desk;
use selvedge_agents::config::{self, Config};
use selvedge_agents::model::Http;
use selvedge_client::Client;
use serde_json::json;

use crate::config::{load, render};
use crate::error::Error;

/// The conversation that comes with this program.
const DEMO: &str = include_str!("demo.toml");
/// Who answers there.
pub(super) const FIRST: &str = "planner";
/// Its thread, and what the visitor is taken to have said first.
pub(super) const THREAD: &str = "demo";
const PROMPT: &str = "Plan me a weekend in Lisbon.";
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
    let client = Client::new(&url);
    let begun = async {
        let made = json!({ "id": THREAD, "title": "A weekend in Lisbon", "agents": [FIRST] });
        // It may be there from before.
        if client.create(&made).await.is_ok() {
            let said = json!({
                "protocol": "multiagent-1.0",
                "role": "user",
                "timestamp": selvedge_agents::journal::now(),
                "intent": "plan",
                "task": PROMPT,
                "content": { "type": "text", "text": PROMPT },
                "trace": { "id": "visitor-1" },
            });
            let path = format!("/envelopes?thread={THREAD}");
            client.post(&path, said.to_string()).await?;
        }
        Ok::<_, selvedge_client::Error>(())
    };
    if let Err(error) = begun.await {
        tracing::warn!(%error, "the demonstration could not begin");
    }
}
