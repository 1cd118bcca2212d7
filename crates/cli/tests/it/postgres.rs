//! A PostgreSQL of a test's own that may crash: a primary, and a standby if one is asked for.
//!
//! It runs as an unprivileged user in a folder of its own and listens on sockets in it. A shell
//! holds on to this process's pipe: when that closes, however the test ended, it stops what runs
//! and removes the folder.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Waits for the end of its input. The newest version that Debian has installed, or what is in
/// `PATH`.
const KEEPER: &str = r#"
set -e
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
test -n "$bin" || bin=$(dirname "$(readlink -f "$(command -v postgres)")")
dir=$(mktemp -d)
cd "$dir"
trap 'for pid in */postmaster.pid; do test ! -e "$pid" || kill -QUIT "$(head -n 1 "$pid")" || true; done
    sleep 0.5; rm -rf "$dir"' EXIT
echo "$dir $bin"
cat >/dev/null
"#;

/// What both are started with. What the disk does when the power fails is not tried here.
const SETTINGS: &str = "-c listen_addresses= -c shared_buffers=64MB -c fsync=off \
     -c full_page_writes=off -c wal_receiver_status_interval=1s";

/// The one that takes appends first, and the one that follows it.
pub(crate) const PRIMARY: &str = "primary";
pub(crate) const STANDBY: &str = "standby";

/// A PostgreSQL.
pub(crate) struct Postgres {
    folder: PathBuf,
    bin: PathBuf,
    /// How many may be there at once.
    connections: u32,
    /// Cleans up when its input closes.
    _keeper: Child,
}

impl Postgres {
    /// Makes the primary and starts it, with room for so many connections.
    pub(crate) fn start(connections: u32) -> Self {
        let mut keeper = as_postgres()
            .args(["-c", KEEPER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (folder, bin) = line.trim().split_once(' ').expect("PostgreSQL is installed");
        let (folder, bin_folder) = (folder.into(), bin.into());
        let own = Self { folder, bin: bin_folder, connections, _keeper: keeper };
        own.run(&format!(
            "{bin}/initdb -D {PRIMARY} -U postgres -A trust -E UTF8 --locale=C --no-sync",
        ));
        own.up(PRIMARY);
        own
    }

    /// Runs a script in its folder, as whom it runs.
    fn run(&self, script: &str) {
        let mut sh = as_postgres();
        let ran = sh
            .args(["-c", &format!("cd {} && {script}", self.folder.display())])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(ran.status.success(), "{script}: {}{}", told(&ran.stdout), told(&ran.stderr));
    }

    fn control(&self, name: &str, what: &str) {
        // What it starts must not hold on to the pipes that are read to their end here.
        self.run(&format!(
            "{}/pg_ctl -D {name} -w -t 60 {what} >>{name}.ctl 2>&1 || {{ cat {name}.ctl {name}.log; exit 1; }}",
            self.bin.display()
        ));
    }

    /// Starts one, which recovers what it has to.
    pub(crate) fn up(&self, name: &str) {
        self.run(&format!("mkdir -p {name}.at"));
        let at = self.folder.join(format!("{name}.at"));
        let (connections, at) = (self.connections, at.display());
        let options = format!("{SETTINGS} -c max_connections={connections} -k {at}");
        self.control(name, &format!("-l {name}.log -o '{options}' start"));
    }

    /// Ends one as a crash would.
    pub(crate) fn crash(&self, name: &str) {
        self.control(name, "-m immediate stop");
    }

    /// Makes a standby that has every commit before it is acknowledged.
    pub(crate) fn add_standby(&self) {
        let (bin, folder) = (self.bin.display(), self.folder.display());
        self.run(&format!(
            "{bin}/pg_basebackup -h {folder}/{PRIMARY}.at -U postgres -D {STANDBY} -R -X stream \
             -c fast --no-sync"
        ));
        self.up(STANDBY);
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let state = "SELECT coalesce(max(sync_state), '') FROM pg_stat_replication";
        for _ in 0..600 {
            if self.sql("postgres", state) == "sync" {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the standby never kept pace");
    }

    /// Makes the standby one that takes appends.
    pub(crate) fn promote(&self) {
        self.control(STANDBY, "promote");
    }

    /// Where one listens.
    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.at/.s.PGSQL.5432"))
    }

    /// Makes a database; where it is.
    pub(crate) fn make(&self, database: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {database} TEMPLATE template0"));
        let at = self.folder.join(format!("{PRIMARY}.at"));
        format!("postgres://postgres@localhost/{database}?host={}", at.display())
    }

    /// Asks the primary; gives what it says.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.arg("-h").arg(self.folder.join(format!("{PRIMARY}.at")));
        psql.args(["-U", "postgres", "-d", database, "-X", "-q", "-t", "-A", "-c", sql]);
        let ran = psql.stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{sql}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }
}

/// A shell of a user that PostgreSQL runs as: it refuses to run as root.
fn as_postgres() -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let mut command = Command::new(if is_root { "runuser" } else { "sh" });
    if is_root {
        command.args(["-u", "postgres", "--", "sh"]);
    }
    command.current_dir("/");
    command
}

/// A connection that does nothing, held until it is dropped.
pub(crate) struct Idler {
    _stream: UnixStream,
}

impl Idler {
    /// Takes one; none if there is none left.
    pub(crate) fn take(socket: &Path) -> Option<Self> {
        let mut stream = UnixStream::connect(socket).ok()?;
        let words = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        let length = (words.len() as u32 + 4).to_be_bytes();
        stream.write_all(&[&length[..], words].concat()).ok()?;
        let mut told = [0];
        stream.read_exact(&mut told).ok()?;
        // `R` is how it greets, `E` how it refuses.
        (told == *b"R").then_some(Self { _stream: stream })
    }
}
