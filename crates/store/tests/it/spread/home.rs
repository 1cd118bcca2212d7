//! Where a store of a test is: three databases.

use selvedge_store::{Address, Checked, Options, Store, check, check_places};

use crate::server::{Database, server};

/// One of so many of the cases that are made up is tried: each takes longer here.
pub(crate) const ONE_OF: u32 = 8;

/// How many databases there are.
const DATABASES: usize = 3;

/// Databases with one store.
pub(crate) struct Home {
    databases: Vec<Database>,
}

impl Home {
    pub(crate) fn new() -> Option<Self> {
        Self::of(DATABASES)
    }

    /// With so many.
    pub(crate) fn of(databases: usize) -> Option<Self> {
        let server = server()?;
        Some(Self { databases: (0..databases).map(|_| server.database()).collect() })
    }

    pub(crate) fn database(&self, nth: usize) -> &Database {
        &self.databases[nth]
    }

    pub(crate) fn address_of(&self, nth: usize) -> Address {
        Address::parse(self.databases[nth].url())
    }

    /// Which of the databases an id belongs to, if it was ever used.
    pub(crate) fn place(&self, id: &str) -> Option<String> {
        let sql = format!("SELECT shard::text FROM place WHERE tenant = 'default' AND id = '{id}'");
        self.databases[0].lines(&sql).pop()
    }

    pub(crate) fn open(&self) -> Store {
        self.open_with(Options::default())
    }

    pub(crate) fn open_with(&self, options: Options) -> Store {
        Store::open(self.address_of(0), self.options(options)).unwrap()
    }

    /// The same options, with the other databases.
    pub(crate) fn options(&self, options: Options) -> Options {
        let shards = (1..self.databases.len()).map(|nth| self.address_of(nth)).collect();
        Options { shards, ..options }
    }

    /// Rows of a table, in all.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let count = |database: &Database| -> i64 {
            database.lines(&format!("SELECT count(*)::text FROM {table}"))[0].parse().unwrap()
        };
        self.databases.iter().map(count).sum()
    }

    /// Whether something is in any row.
    pub(crate) fn holds(&self, text: &str) -> bool {
        self.databases.iter().any(|database| {
            let tables = database.lines(
                "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace \
                 AND relkind IN ('r', 'p') AND NOT relispartition",
            );
            let mut found = tables.into_iter().flat_map(|table| {
                database.lines(&format!(
                    "SELECT '{table}' FROM {table} t WHERE t::text LIKE '%{text}%' LIMIT 1"
                ))
            });
            found.next().is_some()
        })
    }

    /// What is wrong with the databases, and how much of them is chained.
    pub(crate) async fn checked(&self) -> Option<Checked> {
        let mut sum = Checked::default();
        for nth in 0..self.databases.len() {
            let scratch = tempfile::tempdir().unwrap();
            let one = check(self.address_of(nth), scratch.path(), |_, _| {}).await.unwrap();
            sum.threads += one.threads;
            sum.appends += one.appends;
            sum.events += one.events;
            sum.chained += one.chained;
            sum.behind += one.behind;
            sum.findings.extend(one.findings);
        }
        let all: Vec<Address> = (0..self.databases.len()).map(|nth| self.address_of(nth)).collect();
        sum.findings.extend(check_places(&all).unwrap().findings);
        Some(sum)
    }

    /// Everything that was made from the journals, as text.
    pub(crate) fn dump(&self) -> Vec<String> {
        let own = ["position", "followed", "search"];
        let tables = || own.iter().chain(super::MADE);
        let rows = self.databases.iter().enumerate().flat_map(|(nth, database)| {
            tables().flat_map(move |table| {
                // Each with its database: rows of the journal are counted in each.
                let sql = format!("SELECT '{table} {nth}: ' || t::text FROM {table} t ORDER BY 1");
                database.lines(&sql)
            })
        });
        rows.collect()
    }
}
