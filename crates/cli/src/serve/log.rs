//! The server's log, on standard error. No keys, no tokens, no queries are in it.

use std::io;

use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

#[derive(clap::Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct Lines {
    /// How lines of the log are written
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log: Format,
    /// What is logged: `info` has a line for every request
    #[arg(long, default_value = "warn", value_name = "LEVEL")]
    log_level: Severity,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Severity {
    Error,
    Warn,
    Info,
    Debug,
}

impl Lines {
    /// Begins to log.
    pub(super) fn start(&self) {
        let level = match self.log_level {
            Severity::Error => Level::ERROR,
            Severity::Warn => Level::WARN,
            Severity::Info => Level::INFO,
            Severity::Debug => Level::DEBUG,
        };
        let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
        // The MCP library would write what is said to the log.
        let library = level.min(Level::WARN);
        let which = Targets::new().with_default(level).with_target("rmcp", library);
        let log = tracing_subscriber::registry();
        // It fails only where someone logs already.
        let _ = match self.log {
            Format::Text => log.with(lines.with_filter(which)).try_init(),
            Format::Json => {
                log.with(lines.json().flatten_event(true).with_filter(which)).try_init()
            }
        };
    }
}
