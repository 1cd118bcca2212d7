//! Where a store of a test is: a database of its own.

use selvedge_store::{Address, Checked, Options, Store, check};

use crate::server::{Database, server};

/// One of so many of the cases that are made up is tried: each takes longer here.
pub(crate) const ONE_OF: u32 = 4;

/// A database with a store.
pub(crate) struct Home {
    database: Database,
}

impl Home {
    pub(crate) fn new() -> Option<Self> {
        Some(Self { database: server()?.database() })
    }

    /// With a database without any table.
    pub(crate) fn bare() -> Option<Self> {
        Some(Self { database: server()?.new_database() })
    }

    /// Cuts everyone off who is in the database.
    pub(crate) fn cut_off(&self) {
        self.run(
            "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
    }

    pub(crate) fn address(&self) -> Address {
        Address::parse(self.database.url())
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
        self.database.run(sql);
    }

    /// The first column of a query's rows, as text.
    pub(crate) fn lines(&self, sql: &str) -> Vec<String> {
        self.database.lines(sql)
    }

    /// Rows of a table.
    pub(crate) fn count(&self, table: &str) -> i64 {
        self.database.lines(&format!("SELECT count(*)::text FROM {table}"))[0].parse().unwrap()
    }

    /// Makes what follows look as if other code had made it.
    pub(crate) fn outdate(&self) {
        self.run("UPDATE made SET version = 777");
    }

    /// Its tables, without the parts of the journal.
    pub(crate) fn tables(&self) -> Vec<String> {
        self.database.lines(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace \
             AND relkind IN ('r', 'p') AND NOT relispartition",
        )
    }

    /// Whether something is in any row.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let mut found = self.tables().into_iter().flat_map(|table| {
            self.database.lines(&format!(
                "SELECT '{table}' FROM {table} t WHERE t::text LIKE '%{text}%' LIMIT 1"
            ))
        });
        found.next().is_some()
    }

    /// What is wrong with the database, and how much of it is chained.
    pub(crate) async fn checked(&self) -> Option<Checked> {
        let scratch = tempfile::tempdir().unwrap();
        Some(check(self.address(), scratch.path(), |_, _| {}).await.unwrap())
    }

    /// Everything that was made from the journal, as text.
    pub(crate) fn dump(&self) -> Vec<String> {
        let own = ["position", "followed", "search"];
        let tables = own.iter().chain(super::MADE);
        let rows = tables.flat_map(|table| {
            let sql = format!("SELECT '{table}: ' || t::text FROM {table} t ORDER BY 1");
            self.database.lines(&sql)
        });
        rows.collect()
    }
}
