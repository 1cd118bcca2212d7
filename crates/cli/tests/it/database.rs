//! A PostgreSQL of the tests' own, for as long as they run.
//!
//! As for the tests of the store: in a folder of its own, as an unprivileged user, and gone when
//! this process is, however it ends. `SELVEDGE_TEST_POSTGRES` names another; without any, the tests
//! that need one are left out, unless `SELVEDGE_NEED_POSTGRES` says that none may be.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

const SCRIPT: &str = r#"
set -e
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
test -n "$bin" || bin=$(dirname "$(readlink -f "$(command -v initdb)")")
dir=$(mktemp -d)
cd "$dir"
pid=
trap 'test -z "$pid" || kill -QUIT "$pid"; wait; rm -rf "$dir"' EXIT
"$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
"$bin/postgres" -D data -k "$dir" -c listen_addresses= -c max_connections=200 -c fsync=off \
    -c full_page_writes=off -c shared_buffers=64MB >>log 2>&1 &
pid=$!
until "$bin/pg_isready" -q -h "$dir"; do kill -0 "$pid"; sleep 0.05; done
echo "$dir"
cat >/dev/null
"#;

/// A server: the URL of a database up to its name, and what comes behind.
struct Server {
    url: (String, String),
    /// Stops when its input closes.
    _child: Option<Child>,
}

static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
    let server = start();
    if server.is_none() {
        assert!(std::env::var_os("SELVEDGE_NEED_POSTGRES").is_none(), "there is no PostgreSQL");
        crate::skipped("the tests on PostgreSQL, which is not installed");
    }
    server
});

fn start() -> Option<Server> {
    if let Ok(url) = std::env::var("SELVEDGE_TEST_POSTGRES") {
        let (base, behind) = url.split_once('?').unwrap_or((&url, ""));
        let base = base.rsplit_once('/').expect("a URL that names a database").0;
        let behind = if behind.is_empty() { String::new() } else { format!("?{behind}") };
        return Some(Server { url: (format!("{base}/"), behind), _child: None });
    }
    // It refuses to run as root.
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let mut command = Command::new(if is_root { "runuser" } else { "sh" });
    if is_root {
        command.args(["-u", "postgres", "--", "sh"]);
    }
    command.args(["-c", SCRIPT]).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().ok()?;
    let mut folder = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut folder).ok()?;
    let folder = folder.trim();
    let url = ("postgres://postgres@localhost/".to_owned(), format!("?host={folder}"));
    (!folder.is_empty()).then_some(Server { url, _child: Some(child) })
}

/// The URL of an empty database; none where there is no server.
pub(crate) fn database() -> Option<String> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let (base, behind) = &SERVER.as_ref()?.url;
    let nth = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("selvedge_cli_{}_{nth}", std::process::id());
    sql(&format!("{base}postgres{behind}"), &format!("CREATE DATABASE {name}"));
    Some(format!("{base}{name}{behind}"))
}

/// Runs SQL; gives what it says.
pub(crate) fn sql(url: &str, sql: &str) -> String {
    let ran = Command::new("psql").args([url, "-XqtA", "-c", sql]).output().unwrap();
    assert!(ran.status.success(), "{sql}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}
