//! Why a command could not do its work, and what to do about it.

use std::io;

use selvedge_protocol::json::SyntaxError;

use crate::args;

/// The exit code of a command that could not do its work.
pub(crate) const COULD_NOT_RUN: u8 = 2;

/// The exit code of a command that found something wrong.
pub(crate) const FOUND: u8 = 1;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {name}: {cause}")]
    Read { name: String, cause: io::Error },
    #[error("cannot write {name}: {cause}")]
    Write { name: String, cause: io::Error },
    #[error("{name} is empty")]
    Empty { name: String },
    #[error("cannot tell which dialect {name} is in")]
    Undetected { name: String, option: &'static str },
    #[error("{name} is not UTF-8: invalid byte at offset {at}")]
    NotUtf8 { name: String, at: u64 },
    #[error("{name} is not JSON: {cause}")]
    NotJson { name: String, cause: SyntaxError },
    #[error("`{asked}` is not a version that `{dialect}` can be written for")]
    UnknownTarget { asked: String, dialect: &'static str, known: Vec<String> },
    #[error("`{cursor}` is a cursor of one thread, and several are to be followed")]
    OneThread { cursor: String },
    #[error(transparent)]
    Store(#[from] selvedge_store::OpenError),
    #[error(transparent)]
    Copy(#[from] selvedge_store::CopyError),
    #[error(transparent)]
    Tend(#[from] selvedge_store::TendError),
    #[error(transparent)]
    Client(#[from] selvedge_client::Error),
    #[error("{0}")]
    NoThread(selvedge_client::Error),
    #[error(transparent)]
    Check(#[from] selvedge_store::CheckError),
    #[error(transparent)]
    Keys(#[from] selvedge_store::KeyError),
    #[error("cannot listen on {address}: {cause}")]
    Listen { address: String, cause: io::Error },
    #[error("{address} can be reached from other machines, and there are no keys")]
    Exposed { address: String, place: String },
    #[error(transparent)]
    Start(#[from] selvedge_server::StartError),
    #[error("{name} has mistakes, so the server does not start")]
    Configuration { name: String },
    #[error("the agents cannot be made: {cause}")]
    Agents { cause: String },
}

impl Error {
    /// Whether the reader of our output went away.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What to do about it.
    fn help(&self) -> Option<String> {
        match self {
            Self::Undetected { option, .. } => Some(format!(
                "name it with `{option} <DIALECT>`; `selvedge dialects` lists them all"
            )),
            Self::NotUtf8 { .. } => {
                Some("every dialect is UTF-8 text; is the file compressed, or UTF-16?".to_owned())
            }
            Self::NotJson { .. } => Some(
                "canonical JSON needs JSON; for the digest of a stream, add \
                 `--digest --from <DIALECT>`"
                    .to_owned(),
            ),
            Self::UnknownTarget { known, .. } if known.is_empty() => {
                Some("it has one form only: leave `--for` out".to_owned())
            }
            Self::UnknownTarget { known, .. } => Some(format!("use {}", known.join(" or "))),
            Self::Store(selvedge_store::OpenError::InUse { .. }) => {
                Some("stop the server that has it, or name another file with `--db`".to_owned())
            }
            Self::Store(selvedge_store::OpenError::Copying { .. }) => Some(COMPLETE.to_owned()),
            Self::Copy(error) => copy_help(error),
            Self::NoThread(_) => Some("make it with `--create`".to_owned()),
            Self::Client(error) if error.is_untrusted() => Some(
                "the server's certificate is not trusted; name its authority with `--ca <FILE>`"
                    .to_owned(),
            ),
            Self::Client(selvedge_client::Error::Connection { .. }) => Some(
                "is the server running? start it with `selvedge serve`, or name it with `--url`"
                    .to_owned(),
            ),
            Self::Client(selvedge_client::Error::Refused { code, pointer, .. }) => {
                let place = pointer.as_ref().map_or(String::new(), |at| format!(" at `{at}`"));
                Some(format!("the server's code is `{code}`{place}; see docs/errors.md"))
            }
            Self::Client(
                selvedge_client::Error::Answer(_) | selvedge_client::Error::Authorities(_),
            ) => None,
            Self::Exposed { place, .. } => Some(format!(
                "make a key first, with `selvedge keys add {place} --tenant <TENANT> \
                 --scope read,write --name <NAME>`, or listen on 127.0.0.1"
            )),
            Self::Keys(selvedge_store::KeyError::NotFound { .. }) => {
                Some("`selvedge keys list` shows the ids of all keys".to_owned())
            }
            Self::OneThread { .. } => {
                Some("follow each by itself, or use `--after tail`".to_owned())
            }
            Self::Configuration { .. } => {
                Some("docs/configuration.md explains every table".to_owned())
            }
            Self::Agents { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Empty { .. }
            | Self::Store(_)
            | Self::Tend(_)
            | Self::Check(_)
            | Self::Keys(_)
            | Self::Start(_)
            | Self::Listen { .. } => None,
        }
    }

    /// Says so on standard error.
    pub(crate) fn print(&self) {
        let (bad, good) = (args::ERROR, args::GOOD);
        anstream::eprintln!("{bad}error:{bad:#} {self}");
        if let Some(help) = self.help() {
            anstream::eprintln!("\n  {good}help:{good:#} {help}");
        }
    }
}

const COMPLETE: &str = "complete it: run the `selvedge copy` that was begun again";

/// What to do about a copy that could not be made.
fn copy_help(error: &selvedge_store::CopyError) -> Option<String> {
    use selvedge_store::{CopyError, OpenError};
    Some(match error {
        CopyError::Open(OpenError::InUse { .. } | OpenError::Lock { .. }) => {
            "a server or another copy has it; stop that, or name another file".to_owned()
        }
        CopyError::Open(OpenError::Copying { .. }) => COMPLETE.to_owned(),
        CopyError::Version { .. } => {
            "`selvedge migrate` brings its tables up to date; stop its servers first".to_owned()
        }
        CopyError::Occupied { .. } => {
            "copy to a file that is not there or to an empty database".to_owned()
        }
        CopyError::OtherSource { begun, .. } => {
            format!("complete that with `--from {begun}`, or drop what was copied with `--anew`")
        }
        CopyError::Busy { .. } => "wait until it is done, or stop it".to_owned(),
        CopyError::Served { .. } => "stop it: a copy goes to a place that nobody uses".to_owned(),
        CopyError::Different { .. } => {
            "is something else writing to either side? stop it and run the same command again"
                .to_owned()
        }
        _ => return None,
    })
}
