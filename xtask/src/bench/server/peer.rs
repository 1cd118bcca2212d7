//! The servers that are measured, and where they are found. None is installed by this, but for one
//! that is a crate.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{cargo, run_with_retries};
use crate::workspace;

/// Of Durable Streams, the crate and its version.
const DURABLE: (&str, &str) = ("durable-streams", "0.1.5");

/// A server that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Peer {
    Selvedge,
    Redis,
    DurableStreams,
    Postgres,
    Nchan,
    Nats,
    /// No server: a file that is written and synced.
    File,
    /// A server that does nothing but write to its readers.
    Bare,
}

/// A peer that is installed.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) peer: Peer,
    pub(super) program: PathBuf,
    pub(super) version: String,
}

impl Peer {
    /// All that are servers but ours.
    pub(super) const OTHERS: [Self; 5] =
        [Self::Redis, Self::DurableStreams, Self::Postgres, Self::Nchan, Self::Nats];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Selvedge => "selvedge",
            Self::Redis => "redis",
            Self::DurableStreams => "durable-streams",
            Self::Postgres => "postgres",
            Self::Nchan => "nchan",
            Self::Nats => "nats",
            Self::File => "file",
            Self::Bare => "bare",
        }
    }

    /// Whose protocol it speaks.
    pub(super) fn protocol(self) -> &'static str {
        match self {
            Self::Bare => Self::Nats.name(),
            own => own.name(),
        }
    }

    /// Where it is; what to do if it is not.
    pub(super) fn find(self) -> Result<Found> {
        let (program, version) = match self {
            Self::Redis => {
                let program = in_path("redis-server", "redis-server")?;
                let version = said(&program, &["--version"])?;
                let version = version.split_whitespace().find_map(|word| word.strip_prefix("v="));
                let version = format!("Redis {}", version.unwrap_or("?"));
                (program, version)
            }
            Self::DurableStreams => (durable()?, format!("{} {}", DURABLE.0, DURABLE.1)),
            Self::Postgres => {
                let program = postgres()?;
                let version = said(&program, &["--version"])?;
                (program, version.replace("postgres (PostgreSQL)", "PostgreSQL"))
            }
            Self::Nchan => {
                let program = in_path("nginx", "nginx libnginx-mod-nchan")?;
                nchan_module()?;
                let version = said(&program, &["-v"])?;
                let version = version.rsplit('/').next().unwrap_or("?").trim();
                (program, format!("nginx {version} with Nchan"))
            }
            Self::Nats => {
                let program = in_path("nats-server", "nats-server")?;
                let version = said(&program, &["--version"])?;
                (program, version.replace("nats-server: v", "NATS "))
            }
            Self::Selvedge | Self::File | Self::Bare => bail!("not a peer"),
        };
        Ok(Found { peer: self, program, version })
    }
}

/// The module of nginx.
pub(super) fn nchan_module() -> Result<PathBuf> {
    let folders =
        ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules"];
    let modules = folders.iter().map(|folder| Path::new(folder).join("ngx_nchan_module.so"));
    modules.into_iter().find(|path| path.exists()).context(missing("libnginx-mod-nchan"))
}

/// Built by its name and version from the registry, once.
fn durable() -> Result<PathBuf> {
    let root = workspace::target()?.join("peers");
    let program = root.join("bin/durable-streams-server");
    if !program.exists() {
        let (name, version) = DURABLE;
        run_with_retries(
            cargo()
                .args(["install", name, "--version", &format!("={version}"), "--locked", "--root"])
                .arg(&root)
                .arg("--target-dir")
                .arg(root.join("build")),
        )
        .context("not built")?;
    }
    ensure!(program.exists(), "not built");
    Ok(program)
}

/// The newest that Debian's packages put aside, or the one that is in the path.
fn postgres() -> Result<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let program = entry.path().join("bin/postgres");
        if let Some(number) = number.filter(|_| program.exists()) {
            versions.push((number, program));
        }
    }
    match versions.into_iter().max() {
        Some((_, program)) => Ok(program),
        None => in_path("postgres", "postgresql"),
    }
}

fn in_path(program: &str, package: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let mut places = folders.map(|folder| folder.join(program));
    places.find(|path| path.exists()).context(missing(package))
}

fn missing(package: &str) -> String {
    format!("not installed (apt-get install {package})")
}

/// What a program prints, on whichever side.
fn said(program: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}
