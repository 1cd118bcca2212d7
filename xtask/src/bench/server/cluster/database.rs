//! The PostgreSQL that nodes share.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::super::peer::Found;
use super::super::service::Service;

/// Copies of the one thread that is there, as if each had been made by itself: in every table that
/// has something of it.
const COPIES: &str = "
DO $$ DECLARE one text; names text; copied text; BEGIN
FOREACH one IN ARRAY ARRAY['thread', 'journal', 'followed', 'summary'] LOOP
    SELECT string_agg(quote_ident(column_name), ', '),
        string_agg(CASE WHEN column_name IN ('num', 'thread') THEN format('s.%I + n', column_name)
            WHEN one = 'thread' AND column_name = 'id' THEN 's.id || n'
            ELSE format('s.%I', column_name) END, ', ')
        INTO names, copied FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name = one;
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM %I s, generate_series(1, {count}) n',
        one, names, copied, one);
END LOOP;
PERFORM setval(pg_get_serial_sequence('thread', 'num'), (SELECT max(num) FROM thread));
END $$;
";

pub(super) struct Database {
    service: Service,
    psql: PathBuf,
}

impl Database {
    pub(super) fn start(found: &Found, folder: &Path) -> Result<Self> {
        let psql = found.program.with_file_name("psql");
        Ok(Self { service: Service::start(found, folder)?, psql })
    }

    pub(super) fn process(&self) -> u32 {
        self.service.process()
    }

    pub(super) fn address(&self) -> String {
        self.service.address.to_string()
    }

    /// Where a database of it is.
    pub(super) fn url(&self, name: &str) -> String {
        format!("postgres://postgres@{}/{name}", self.service.address)
    }

    /// Makes a database.
    pub(super) fn make(&self, name: &str) -> Result<()> {
        self.run("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"))
    }

    pub(super) fn run(&self, name: &str, sql: &str) -> Result<()> {
        let mut psql = Command::new(&self.psql);
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &self.url(name), "-c", sql]);
        let ran = psql.output().context("could not start psql")?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr).trim());
        Ok(())
    }
}

/// Makes so many copies of the one thread that a database has.
pub(super) fn fill(database: &Database, name: &str, count: u64) -> Result<()> {
    database.run(name, &COPIES.replace("{count}", &count.to_string()))?;
    database.run(name, "VACUUM ANALYZE")
}
