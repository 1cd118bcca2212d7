//! Who may use a server, and how much of it.

use std::path::PathBuf;
use std::time::Duration;

use selvedge_server::{
    A2aVersions, Coalesce, KeySet, Lag, Options, Secret, TlsFiles, TokenOptions,
};
use selvedge_store::{HashChain, Hints, Limits};

#[derive(clap::Args)]
pub(crate) struct Settings {
    #[command(flatten)]
    security: Security,
    #[command(flatten)]
    bounds: Bounds,
    /// Which versions of A2A to speak: all (1.0 and 0.3, with one card for both), or only 1.0
    #[arg(long, value_name = "VERSIONS", default_value = "all", value_parser = ["all", "1.0"])]
    a2a: String,
    /// Join pieces of one text that come in one append into one event; folds stay the same
    #[arg(long)]
    coalesce_deltas: bool,
    /// Fold finished pieces of text into what they came to once they are so old: 90s, 12h, 30d;
    /// never when left out
    #[arg(long, value_name = "AGE", value_parser = age)]
    retain_deltas: Option<Duration>,
    /// Chain appends by hashes, so that `selvedge verify` tells what was changed afterwards
    #[arg(long)]
    hash_chain: bool,
    /// How nodes that share a PostgreSQL database tell each other what is new: notify (by the
    /// database), poll (ask it often, for poolers such as PgBouncer in transaction mode),
    /// redis://host:port or nats://host:port; whatever is lost is found within a second
    #[arg(
        long,
        value_name = "HOW",
        env = "SELVEDGE_HINTS",
        hide_env_values = true,
        default_value = "notify"
    )]
    hints: Hints,
    /// Send traces of tasks, model calls and tools to this OpenTelemetry collector, over HTTP
    #[cfg(feature = "otel")]
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Security")]
struct Security {
    /// Encrypt with this certificate (PEM); it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Seal what users hand over to agents with the secret in this file; without it, one is made
    /// beside the journal
    #[arg(long, value_name = "FILE", env = "SELVEDGE_SECRET_FILE")]
    secret_file: Option<PathBuf>,
    /// Let pages of these sites ask, such as https://app.example; `*` is all
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',', num_args = 1.., value_parser = origin)]
    cors: Vec<String>,
    /// Take JWTs too, signed by a key of this JSON Web Key Set; changes are noticed
    #[arg(long, value_name = "FILE|URL", requires_all = ["jwt_issuer", "jwt_audience"])]
    jwt_jwks: Option<String>,
    /// Who JWTs must be from (`iss`)
    #[arg(long, value_name = "ISSUER", requires = "jwt_jwks")]
    jwt_issuer: Option<String>,
    /// Who JWTs must be for (`aud`)
    #[arg(long, value_name = "AUDIENCE", requires = "jwt_jwks")]
    jwt_audience: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Bounds")]
struct Bounds {
    /// Connections open at once
    #[arg(long, default_value_t = 16_384, value_name = "COUNT")]
    max_connections: usize,
    /// Requests a second for each key; 0 is no bound
    #[arg(long, default_value_t = 10_000, value_name = "COUNT")]
    rate: u32,
    /// The largest body, in MiB
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u16).range(1..))]
    max_body: u16,
    /// The largest event, in MiB
    #[arg(long, default_value_t = 16, value_name = "MIB", value_parser = clap::value_parser!(u16).range(1..))]
    max_event: u16,
    /// How long a request may take until its answer begins, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    request_timeout: u64,
    /// How many entries a stream's reader may fall behind before it is told to resume later
    #[arg(long, default_value_t = 100_000, value_name = "COUNT")]
    reader_lag: u64,
    /// How long a stream's reader may be behind what is kept in memory, in seconds
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    reader_late: u64,
    /// How long a peer may take nothing of what is sent to it, in seconds
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    stall: u64,
    /// How long open requests and streams may hold up the end, in seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    grace: u64,
}

impl Settings {
    /// Whether JWTs are taken, so that a server without keys is not open.
    pub(super) fn takes_tokens(&self) -> bool {
        self.security.jwt_jwks.is_some()
    }

    /// For the store.
    pub(super) fn store(&self) -> selvedge_store::Options {
        let known = Limits::default();
        let event_bytes = usize::from(self.bounds.max_event) << 20;
        let batch_bytes = known.batch_bytes.max(event_bytes);
        selvedge_store::Options {
            limits: Limits { event_bytes, batch_bytes, ..known },
            chain: if self.hash_chain { HashChain::On } else { HashChain::Off },
            hints: self.hints.clone(),
            ..selvedge_store::Options::default()
        }
    }

    /// For the server.
    pub(super) fn server(&self) -> Options {
        let Security { tls_cert, tls_key, secret_file, cors, jwt_jwks, jwt_issuer, jwt_audience } =
            &self.security;
        let tls = match (tls_cert.clone(), tls_key.clone()) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            _ => None,
        };
        let tokens = match (jwt_jwks.clone(), jwt_issuer.clone(), jwt_audience.clone()) {
            (Some(jwks), Some(issuer), Some(audience)) => {
                let is_url = jwks.starts_with("https://") || jwks.starts_with("http://");
                let jwks = if is_url { KeySet::Url(jwks) } else { KeySet::File(jwks.into()) };
                Some(TokenOptions { jwks, issuer, audience })
            }
            _ => None,
        };
        Options {
            body_bytes: usize::from(self.bounds.max_body) << 20,
            request_timeout: Duration::from_secs(self.bounds.request_timeout.max(1)),
            connections: self.bounds.max_connections.max(1),
            rate: Some(self.bounds.rate).filter(|rate| *rate > 0),
            grace: Duration::from_secs(self.bounds.grace),
            lag: Lag {
                entries: self.bounds.reader_lag,
                time: Duration::from_secs(self.bounds.reader_late),
            },
            stall: Duration::from_secs(self.bounds.stall),
            a2a: if self.a2a == "1.0" { A2aVersions::Newest } else { A2aVersions::All },
            cors: cors.clone(),
            coalesce: if self.coalesce_deltas { Coalesce::Deltas } else { Coalesce::Never },
            retain_deltas: self.retain_deltas,
            tokens,
            tls,
            secret: secret_file.clone().map_or(Secret::Beside, Secret::File),
            #[cfg(feature = "otel")]
            traces: self.otlp.clone().map(|endpoint| selvedge_server::TraceOptions { endpoint }),
            ..Options::default()
        }
    }
}

/// An age: a number and a unit.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number and a unit, such as 90s, 30m, 12h or 30d".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at_checked(at).ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// A site as browsers name it, without a path.
fn origin(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match bare {
        _ if text == "*" => Ok(text.to_owned()),
        Some(host) if !host.is_empty() && !host.contains(['/', ' ', '?', '#']) => {
            Ok(text.to_owned())
        }
        _ => Err("expected a site such as https://app.example, without a path".to_owned()),
    }
}
