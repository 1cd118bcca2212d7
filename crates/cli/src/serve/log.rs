//! The server's log, on standard error. No keys, no tokens, no queries are in it.

use std::io;

use tracing::Level;

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
        let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
        // It fails only where someone logs already.
        let _ = match self.log {
            Format::Text => lines.try_init(),
            Format::Json => lines.json().flatten_event(true).try_init(),
        };
    }
}
