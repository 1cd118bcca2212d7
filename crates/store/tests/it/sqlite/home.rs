//! Where a store of a test is: a file in a folder that goes with it.

use std::path::{Path, PathBuf};

use selvedge_store::{Address, Checked, Options, Store, check};
use tempfile::TempDir;

/// One of so many of the cases that are made up is tried.
pub(crate) const ONE_OF: u32 = 1;

/// A folder with a store.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    #[allow(clippy::unnecessary_wraps, reason = "elsewhere there may be none")]
    pub(crate) fn new() -> Option<Self> {
        Some(Self { folder: tempfile::tempdir().unwrap() })
    }

    /// The file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn address(&self) -> Address {
        Address::from(&self.path())
    }

    /// Which of several databases an id belongs to.
    #[allow(clippy::unused_self, reason = "elsewhere there are several")]
    pub(crate) fn place(&self, _id: &str) -> Option<String> {
        None
    }

    pub(crate) fn open(&self) -> Store {
        self.open_with(Options::default())
    }

    pub(crate) fn open_with(&self, options: Options) -> Store {
        Store::open(self.address(), options).unwrap()
    }

    /// Runs SQL beside the store.
    pub(crate) fn run(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// Rows of a table.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let conn = rusqlite::Connection::open(self.path()).unwrap();
        conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    /// Makes what follows look as if other code had made it.
    pub(crate) fn outdate(&self) {
        self.run("UPDATE followed SET version = 777 WHERE what IN ('projection', 'search')");
    }

    /// Whether something is anywhere in the files.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let mut files =
            std::fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path());
        files.any(|file| {
            let held = std::fs::read(file).unwrap();
            held.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// What is wrong with the file, and how much of it is chained.
    pub(crate) async fn checked(&self) -> Option<Checked> {
        let scratch = tempfile::tempdir().unwrap();
        Some(check(&self.path(), scratch.path(), |_, _| {}).await.unwrap())
    }

    /// Everything that was made from the journal, as text.
    pub(crate) fn dump(&self) -> Vec<String> {
        dump(&self.path())
    }
}

/// Everything a file holds that was made from its journal, as text.
pub(crate) fn dump(path: &Path) -> Vec<String> {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.execute_batch("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search, instance)")
        .unwrap();
    let own = ["position", "idempotency", "followed"];
    let mut out = Vec::new();
    for table in own.iter().chain(super::MADE).chain(&["temp.words"]) {
        let mut rows = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        let from = out.len();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..columns).map(|at| match row.get_ref(at).unwrap() {
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("{other:?}"),
            });
            out.push(format!("{table}: {}", values.collect::<Vec<_>>().join(" ")));
        }
        out[from..].sort();
    }
    out
}
