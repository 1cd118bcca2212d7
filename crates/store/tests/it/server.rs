//! A PostgreSQL of the tests' own, for as long as they run.
//!
//! It is in a folder of its own and listens on a socket in it. A shell holds on to this process's
//! pipe: when that closes, however the tests ended, it stops the server and removes the folder.
//! `SELVEDGE_TEST_POSTGRES` names another server, where databases may be made, instead. Without any,
//! the tests that need one are left out, unless `SELVEDGE_NEED_POSTGRES` says that none may be.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, Once};

use sqlx_core::connection::Connection as _;
use sqlx_core::raw_sql::raw_sql;
use sqlx_core::row::Row as _;
use sqlx_postgres::PgConnection;

/// Starts a server and waits for its end. Durability is the server's business, not these tests'.
const SCRIPT: &str = r#"
set -e
dir=$(mktemp -d)
cd "$dir"
pid=
trap 'test -z "$pid" || kill -QUIT "$pid"; wait; rm -rf "$dir"' EXIT
"$1/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
"$1/postgres" -D data -k "$dir" -c listen_addresses= -c max_connections=400 -c fsync=off \
    -c full_page_writes=off -c shared_buffers=64MB -c autovacuum=off >>log 2>&1 &
pid=$!
until "$1/pg_isready" -q -h "$dir"; do kill -0 "$pid"; sleep 0.05; done
echo "$dir"
cat >/dev/null
"#;

/// Empties a database, whoever is still in it.
const EMPTY: &str = r"
SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p')
        AND c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
        AND c.relname NOT IN ('migration', 'made')
    LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
    PERFORM setval(c.oid, 1, false) FROM pg_class c WHERE c.relkind = 'S';
    IF to_regclass('thread') IS NOT NULL THEN DROP TRIGGER IF EXISTS thread_place ON thread; END IF;
END $$;
";

/// A server.
pub(crate) struct Server {
    /// The URL of a database, up to its name, and what comes behind.
    url: (String, String),
    made: AtomicU32,
    /// Databases that were used before, and are empty again.
    free: Mutex<Vec<String>>,
    /// Stops when its input closes.
    _child: Option<Child>,
}

static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(start);

/// The server; none, and that told once, where there is none.
pub(crate) fn server() -> Option<&'static Server> {
    static TOLD: Once = Once::new();
    if let Err(why) = &*SERVER {
        assert!(std::env::var_os("SELVEDGE_NEED_POSTGRES").is_none(), "no PostgreSQL: {why}");
        // Not `eprintln!`: what tests print is kept from those who run them.
        TOLD.call_once(|| {
            let _ = writeln!(std::io::stderr(), "\nskipped: the tests on PostgreSQL, as {why}");
        });
    }
    SERVER.as_ref().ok()
}

fn start() -> Result<Server, String> {
    if let Ok(url) = std::env::var("SELVEDGE_TEST_POSTGRES") {
        let (base, behind) = url.split_once('?').unwrap_or((&url, ""));
        let base = base.rsplit_once('/').ok_or("SELVEDGE_TEST_POSTGRES names no database")?.0;
        let behind = if behind.is_empty() { String::new() } else { format!("?{behind}") };
        let url = (format!("{base}/"), behind);
        return Ok(Server { url, made: AtomicU32::new(0), free: Mutex::default(), _child: None });
    }
    let bin = binaries().ok_or("it is not installed (apt-get install postgresql)")?;
    // It refuses to run as root.
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let mut command = if is_root {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command.args(["-c", SCRIPT, "sh"]).arg(&bin).current_dir("/");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("it could not be started: {error}"))?;
    let mut folder = String::new();
    let output = child.stdout.take().ok_or("it says nothing")?;
    BufReader::new(output).read_line(&mut folder).map_err(|error| error.to_string())?;
    let folder = folder.trim();
    if folder.is_empty() {
        return Err("it could not be started".to_owned());
    }
    let url = ("postgres://postgres@localhost/".to_owned(), format!("?host={folder}"));
    Ok(Server { url, made: AtomicU32::new(0), free: Mutex::default(), _child: Some(child) })
}

/// Where PostgreSQL's programs are: of the newest version that Debian has installed, or in `PATH`.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = versions.into_iter().rev().map(|(_, bin)| bin).chain(std::env::split_paths(&paths));
    found.into_iter().find(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
}

impl Server {
    fn url(&self, name: &str) -> String {
        format!("{}{name}{}", self.url.0, self.url.1)
    }

    /// An empty database.
    pub(crate) fn database(&'static self) -> Database {
        let free = self.free.lock().unwrap().pop();
        if let Some(name) = free {
            return Database { server: self, url: self.url(&name), name, is_kept: true };
        }
        let mut new = self.new_database();
        new.is_kept = self._child.is_some();
        new
    }

    /// A database that nobody has used before.
    pub(crate) fn new_database(&'static self) -> Database {
        let nth = self.made.fetch_add(1, Ordering::Relaxed);
        let name = format!("selvedge_test_{}_{nth}", std::process::id());
        run(&self.url("postgres"), &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Database { server: self, url: self.url(&name), name, is_kept: false }
    }
}

/// A database, dropped at the end.
pub(crate) struct Database {
    server: &'static Server,
    url: String,
    name: String,
    /// Whether it is emptied for the next one rather than dropped.
    is_kept: bool,
}

impl Database {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Runs SQL.
    pub(crate) fn run(&self, sql: &str) {
        run(&self.url, sql);
    }

    /// The first column of a query's rows, as text.
    #[allow(dead_code, reason = "not everyone who starts one looks at its rows")]
    pub(crate) fn lines(&self, sql: &str) -> Vec<String> {
        lines(&self.url, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.is_kept {
            let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            return run(&self.server.url("postgres"), &drop);
        }
        // To make the tables takes longer than most tests do.
        run(&self.url, EMPTY);
        self.server.free.lock().unwrap().push(self.name.clone());
    }
}

fn run(url: &str, sql: &str) {
    lines(url, sql);
}

/// The first column of what a database says, as text. On a thread of its own: tests run inside a
/// runtime.
pub(crate) fn lines(url: &str, sql: &str) -> Vec<String> {
    let ask = async || {
        let mut conn = PgConnection::connect(url).await.unwrap();
        let rows = raw_sql(sql).fetch_all(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        rows.iter().map(|row| row.get::<String, _>(0)).collect()
    };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(ask())
        });
        asked.join().unwrap()
    })
}
