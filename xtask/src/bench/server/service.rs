//! A server in a folder and at a port of its own, stopped when it is dropped.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::peer::{Found, Peer, nchan_module};
use crate::process::succeeds;

/// How long a server may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Raises the limit of open files as far as it goes, and becomes the program.
const UNLIMITED: &str = "ulimit -n \"$(ulimit -Hn)\"; exec \"$0\" \"$@\"";

pub(super) struct Service {
    pub(super) peer: Peer,
    pub(super) address: SocketAddr,
    child: Child,
}

impl Service {
    /// Starts it and waits until it answers.
    pub(super) fn start(found: &Found, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        // Of those that are left free, any: it is free until something is bound to it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let command = match found.peer {
            Peer::Selvedge => selvedge(found, address, folder),
            Peer::Redis => redis(found, address, folder),
            Peer::DurableStreams => durable(found, address, folder),
            Peer::Postgres => postgres(found, address, folder)?,
            Peer::Nchan => nchan(found, address, folder)?,
            Peer::Nats => nats(found, address),
            Peer::Bare => bare(found, address),
            Peer::File => bail!("a file is no server"),
        };
        Self::run(found, address, command, folder)
    }

    /// Starts a node of ours over a database.
    pub(super) fn node(program: &Path, folder: &Path, store: &str) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = unlimited(program);
        command.args(["serve", "--rate", "0", "--max-connections", "65536", "--listen"]);
        command.arg(address.to_string()).args(["--store", store]).current_dir(folder);
        let (peer, program) = (Peer::Selvedge, program.to_owned());
        Self::run(&Found { peer, program, version: String::new() }, address, command, folder)
    }

    /// Runs a command, and waits until what it starts answers.
    fn run(
        found: &Found,
        address: SocketAddr,
        mut command: Command,
        folder: &Path,
    ) -> Result<Self> {
        let log = fs::File::create(folder.join("log.txt"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("could not be started")?;
        let mut service = Self { peer: found.peer, address, child };
        service.wait(found).with_context(|| {
            let log = fs::read_to_string(folder.join("log.txt")).unwrap_or_default();
            format!("{} does not begin: {}", found.peer.name(), log.trim())
        })?;
        Ok(service)
    }

    /// Its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    fn wait(&mut self, found: &Found) -> Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            ensure!(self.child.try_wait()?.is_none(), "it ended");
            let ready = match self.peer {
                Peer::Postgres => succeeds(
                    Command::new(found.program.with_file_name("pg_isready"))
                        .args(["-q", "-h", "127.0.0.1", "-p"])
                        .arg(self.address.port().to_string()),
                ),
                _ => TcpStream::connect(self.address).is_ok(),
            };
            if ready {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("it does not answer")
    }

    /// Stops it as one should, and waits.
    pub(super) fn stop(&mut self) {
        // PostgreSQL waits for its clients at TERM.
        let signal = if self.peer == Peer::Postgres { "-INT" } else { "-TERM" };
        succeeds(Command::new("kill").arg(signal).arg(self.child.id().to_string()));
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE / 4 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A program with as many files as it may have.
pub(super) fn unlimited(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", UNLIMITED]).arg(program);
    command
}

fn selvedge(found: &Found, address: SocketAddr, folder: &Path) -> Command {
    let mut command = unlimited(&found.program);
    command.args(["serve", "--rate", "0", "--max-connections", "65536", "--listen"]);
    command.arg(address.to_string()).arg("--db").arg(folder.join("journal.db"));
    command
}

fn redis(found: &Found, address: SocketAddr, folder: &Path) -> Command {
    let mut command = unlimited(&found.program);
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--dir"]);
    command.arg(folder);
    // Only 127.0.0.1 itself is not refused otherwise, and there are not ports enough on it.
    command.args(["--protected-mode", "no", "--maxclients", "60000"]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    // It would rewrite its file meanwhile, and hang up on readers who are behind.
    command.args(["--auto-aof-rewrite-percentage", "0"]);
    command.args(["--client-output-buffer-limit", "pubsub 0 0 0"]);
    command
}

fn durable(found: &Found, address: SocketAddr, folder: &Path) -> Command {
    let mut command = unlimited(&found.program);
    command.args(["--durability", "wal", "--port", &address.port().to_string(), "--data-dir"]);
    command.arg(folder.join("data"));
    command
}

fn nats(found: &Found, address: SocketAddr) -> Command {
    let mut command = unlimited(&found.program);
    command.args(["-a", "127.0.0.1", "-p", &address.port().to_string()]);
    command
}

fn bare(found: &Found, address: SocketAddr) -> Command {
    let mut command = unlimited(&found.program);
    command.args(["bare", "--listen", &address.to_string()]);
    command
}

fn nchan(found: &Found, address: SocketAddr, folder: &Path) -> Result<Command> {
    let module = nchan_module()?;
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths.map(|name| format!("  {name}_temp_path {name};\n")).concat();
    let text = format!(
        "load_module {};\nuser root;\ndaemon off;\nworker_processes auto;\nworker_rlimit_nofile 20000;\n\
         pid nginx.pid;\nerror_log stderr error;\nevents {{ worker_connections 19900; }}\n\
         http {{\n  access_log off;\n{paths}  keepalive_requests 1000000000;\n\
           nchan_shared_memory_size 2048M;\n  server {{\n    listen {address};\n\
             location ~ ^/pub/(.+)$ {{\n      nchan_publisher http;\n      nchan_channel_id $1;\n\
               nchan_message_buffer_length 1000000;\n      nchan_message_timeout 10m;\n    }}\n\
             location ~ ^/sub/(.+)$ {{\n      nchan_subscriber eventsource;\n      nchan_channel_id $1;\n\
               nchan_subscriber_first_message newest;\n    }}\n  }}\n}}\n",
        module.display()
    );
    fs::write(folder.join("nginx.conf"), text)?;
    let mut command = unlimited(&found.program);
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
    Ok(command)
}

/// PostgreSQL runs for nobody who may do everything.
fn postgres(found: &Found, address: SocketAddr, folder: &Path) -> Result<Command> {
    let data = folder.join("data");
    let owner = unprivileged()?;
    if let Some((user, group)) = owner {
        chown(folder, Some(user), Some(group))?;
    }
    let belongs = |command: &mut Command| {
        if let Some((user, group)) = owner {
            command.uid(user).gid(group);
        }
        command.current_dir("/");
    };
    let mut init = Command::new(found.program.with_file_name("initdb"));
    init.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]);
    init.args(["--locale=C", "--pgdata"]).arg(&data);
    belongs(&mut init);
    let output = init.output().context("could not start initdb")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = unlimited(&found.program);
    command.arg("-D").arg(&data).args(["-p", &address.port().to_string()]);
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=300",
        "synchronous_commit=on",
        "fsync=on",
        "max_wal_size=4GB",
    ] {
        command.args(["-c", setting]);
    }
    belongs(&mut command);
    Ok(command)
}

/// A user and a group to be instead of root; none if we are someone else already.
fn unprivileged() -> Result<Option<(u32, u32)>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let own = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    if own.and_then(|ids| ids.split_whitespace().next()) != Some("0") {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map_while(|field| field.parse().ok());
        Some((fields.next()?, fields.next()?))
    };
    let found = ids("postgres").or_else(|| ids("nobody"));
    Ok(Some(found.context("there is no user to run it as")?))
}
