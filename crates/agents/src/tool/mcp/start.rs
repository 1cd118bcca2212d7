//! Starting a server, or connecting to one.

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{ClientRequest, PingRequest, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Transport;
use super::calls::Calls;
use super::connection::{Connection, Open};
use super::handler::{Handler, listen};
use crate::net;

/// Variables that every process gets.
const INHERITED: [&str; 2] = ["PATH", "HOME"];
/// Without it no program starts there.
#[cfg(windows)]
const SYSTEM: Option<&str> = Some("SYSTEMROOT");
#[cfg(not(windows))]
const SYSTEM: Option<&str> = None;
/// Bytes of one line that a server writes to its log.
const LINE: u64 = 4 << 10;
/// The shortest value that is struck from a server's log: shorter ones are in every word.
const SECRET: usize = 6;

/// How long a server may take to say that it is there.
const PING: Duration = Duration::from_secs(5);

/// A connection that was made.
pub(super) struct Live {
    service: RunningService<RoleClient, Handler>,
    calls: Calls,
    pub(super) began: Instant,
    pub(super) process: Option<u32>,
    /// What goes on beside it, and ends with it.
    _beside: JoinSet<()>,
}

impl Live {
    pub(super) fn is_broken(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Whether it is there: it answers, be it with an error, or is busy with calls.
    pub(super) async fn answers(&self) -> bool {
        if !self.calls.is_empty() {
            return true;
        }
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answer = tokio::time::timeout(PING, self.service.peer().send_request(ping)).await;
        matches!(answer, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    pub(super) fn open(&self) -> Open {
        Open { peer: self.service.peer().clone(), calls: self.calls.clone() }
    }
}

/// Why a server did not start. Has no secrets.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub(super) enum StartError {
    #[error("{0}")]
    Process(#[from] std::io::Error),
    #[error("{0}")]
    Client(String),
    #[error("{0}")]
    Handshake(#[from] Box<ClientInitializeError>),
}

impl StartError {
    /// What went wrong below the protocol.
    pub(super) fn transport(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Self::Handshake(error) = self else { return None };
        let mut error = &**error;
        loop {
            match error {
                ClientInitializeError::TransportError { error, .. } => {
                    return Some(error.error.as_ref());
                }
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => error = fallback,
                _ => return None,
            }
        }
    }
}

/// Starts a server, speaks the newest protocol that it knows, and listens to it.
pub(super) async fn start(connection: &Connection) -> Result<Live, StartError> {
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    match attempt(connection, newest).await {
        // Some servers break off at a request that they do not know.
        Err(StartError::Handshake(error)) => {
            tracing::debug!(server = connection.options.name, %error, "asking the old way");
            attempt(connection, ClientLifecycleMode::Initialize).await
        }
        other => other,
    }
}

async fn attempt(connection: &Connection, how: ClientLifecycleMode) -> Result<Live, StartError> {
    let calls = Calls::default();
    let name = connection.options.name.clone();
    let handler = Handler::new(name.clone(), calls.clone(), connection.age.clone());
    let mut beside = JoinSet::new();
    let (service, process) = match &connection.options.transport {
        Transport::Process { command, args, env, folder } => {
            let mut process = Command::new(command);
            process.args(args).env_clear().kill_on_drop(true);
            let inherited = INHERITED.into_iter().chain(SYSTEM);
            process.envs(inherited.filter_map(|name| Some((name, std::env::var_os(name)?))));
            process.envs(env.iter().map(|(name, value)| (name, value)));
            if let Some(folder) = folder {
                process.current_dir(folder);
            }
            let child = TokioChildProcess::builder(process).stderr(Stdio::piped()).spawn()?;
            let (transport, log) = child;
            if let Some(log) = log {
                let secrets = env.iter().map(|(_, value)| value.clone()).collect();
                beside.spawn(log_lines(name, log, secrets));
            }
            let id = transport.id();
            (handler.serve_with_lifecycle(transport, how).await, id)
        }
        Transport::Http { url, headers } => {
            let client = net::client(net::CONNECT)
                .map_err(|error| StartError::Client(error.to_string()))?
                .build()
                .map_err(|error| StartError::Client(error.without_url().to_string()))?;
            let secret = headers.iter().map(|(name, value)| {
                let mut value = value.clone();
                value.set_sensitive(true);
                (name.clone(), value)
            });
            let config = StreamableHttpClientTransportConfig::with_uri(url.clone())
                .custom_headers(secret.collect());
            let transport = StreamableHttpClientTransport::with_client(client, config);
            (handler.serve_with_lifecycle(transport, how).await, None)
        }
    };
    let service = service.map_err(Box::new)?;
    if let Some(listening) = listen(service.peer(), &connection.age) {
        beside.spawn(listening);
    }
    Ok(Live { service, calls, began: Instant::now(), process, _beside: beside })
}

/// Passes on what a server writes to its log, without the secrets that it was given.
async fn log_lines(server: String, log: ChildStderr, secrets: Vec<String>) {
    let mut log = BufReader::new(log);
    while let Some(mut line) = next_line(&mut log).await {
        for secret in secrets.iter().filter(|secret| secret.len() >= SECRET) {
            line = line.replace(secret.as_str(), "…");
        }
        tracing::debug!(server, line, "an MCP server says");
    }
}

/// The next line, or the next piece of a very long one.
async fn next_line(log: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    match log.take(LINE).read_until(b'\n', &mut line).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
    }
}
