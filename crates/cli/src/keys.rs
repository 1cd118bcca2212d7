//! `selvedge keys`: who may use a server.

use std::process::ExitCode;
use std::time::SystemTime;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use selvedge_protocol::time;
use selvedge_server::Scope;
use selvedge_store::{ApiKey, Keys, NewKey};

use crate::args;
use crate::error::Error;
use crate::place::Place;

/// Make, list and revoke the keys of a server
///
/// As soon as there is one key, every request needs one. A running server sees changes within a
/// second; streams that were opened with a revoked key end.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A key for a front end that shows threads:
      selvedge keys add --tenant acme --scope read --name web

  A key for a back end, for 90 days:
      selvedge keys add --tenant acme --scope read,write --name backend --expires 90d

  See them all, and end one:
      selvedge keys list
      selvedge keys revoke 3f9a1c0b77de

  Use one:
      curl -H \"Authorization: Bearer $KEY\" localhost:4180/api/threads/t1")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a key and print it, this once
    Add(Add),
    /// List all keys there ever were, without their texts
    List,
    /// End a key for good
    Revoke {
        /// The key's id, as `list` shows it
        id: String,
    },
}

#[derive(clap::Args)]
struct Add {
    /// Whose threads it opens
    #[arg(long, value_parser = label)]
    tenant: String,
    /// What it may do: `agent` includes `read` and `write`, `operator` includes everything
    #[arg(long = "scope", required = true, value_delimiter = ',', value_name = "SCOPE",
          value_parser = PossibleValuesParser::new(Scope::GRANTED.map(Scope::name)).map(|s| s.to_owned()))]
    scopes: Vec<String>,
    /// What you call it
    #[arg(long, value_parser = label)]
    name: String,
    /// When it ends by itself: `90d`, `12h`, `30m`, or a time such as 2027-01-31T00:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<i64>,
}

/// Does what was asked.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let keys = Keys::open(args.place.address())?;
    match &args.command {
        Command::Add(add) => {
            let mut scopes = add.scopes.clone();
            scopes.sort();
            scopes.dedup();
            let (name, tenant) = (add.name.clone(), add.tenant.clone());
            let new = NewKey { name, tenant, scopes, expires: add.expires };
            let (key, text) = keys.add(new, now())?;
            let dim = args::DIM;
            // The key alone on standard output, so that a script can take it.
            anstream::eprintln!("{dim}key {} is shown this once; keep it safe{dim:#}", key.id);
            anstream::println!("{text}");
        }
        Command::List => list(&keys.list()?),
        Command::Revoke { id } => {
            let key = keys.revoke(id, now())?;
            anstream::println!("revoked {} ({})", key.id, key.made.name);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(keys: &[ApiKey]) {
    let heading = args::HEADING;
    let now = now();
    anstream::println!(
        "{heading}{:<12}  {:<16}  {:<16}  {:<16}  {:<24}  STATE{heading:#}",
        "ID",
        "NAME",
        "TENANT",
        "SCOPES",
        "CREATED"
    );
    for key in keys {
        let day = |millis| time::from_millis(millis).unwrap_or_default();
        let state = match (key.revoked, key.made.expires) {
            (Some(at), _) => format!("revoked {}", day(at)),
            (None, Some(at)) if at <= now => format!("expired {}", day(at)),
            (None, Some(at)) => format!("until {}", day(at)),
            (None, None) => "valid".to_owned(),
        };
        let NewKey { name, tenant, scopes, .. } = &key.made;
        let (scopes, created) = (scopes.join(","), day(key.created));
        anstream::println!(
            "{:<12}  {name:<16}  {tenant:<16}  {scopes:<16}  {created:<24}  {state}",
            key.id
        );
    }
}

/// A name that is safe in a list and a log.
fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 128 || text.contains(|c: char| c.is_control()) {
        return Err("must have 1 to 128 bytes and no control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// A time to come, in milliseconds since 1970.
pub(crate) fn expiry(text: &str) -> Result<i64, String> {
    let wrong = || "expected `90d`, `12h`, `30m` or a time such as 2027-01-31T00:00:00Z".to_owned();
    let unit = match text.chars().last() {
        Some('d') => 86_400_000,
        Some('h') => 3_600_000,
        Some('m') => 60_000,
        _ => return time::to_millis(text).ok_or_else(wrong),
    };
    let count: i64 = text.get(..text.len() - 1).unwrap_or("").parse().map_err(|_| wrong())?;
    let after = count.checked_mul(unit).and_then(|after| now().checked_add(after));
    after.filter(|_| count > 0).ok_or_else(wrong)
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
