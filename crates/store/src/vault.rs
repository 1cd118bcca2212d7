//! What is never in a journal: private keys of requests for credentials, and the credentials.
//!
//! Like keys, they are in tables of their own with a connection of their own. What is kept comes
//! sealed: this file knows no secret, only whose it is and when it ends.
//!
//! Invariant: a row is found by everything it is bound to, the journal's number among it, so no
//! event of another thread can name it.

use crate::KeyError;
use crate::address::Addresses;
use crate::db::{Connection, Optional as _, params};
use crate::link::Links;

pub(crate) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS auth_key (
    thread INTEGER NOT NULL,
    auth TEXT NOT NULL,
    sealed BLOB NOT NULL,
    expires INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread, auth)
) STRICT;
CREATE TABLE IF NOT EXISTS credential (
    id TEXT PRIMARY KEY,
    thread INTEGER NOT NULL,
    tool TEXT NOT NULL,
    user TEXT NOT NULL,
    sealed BLOB NOT NULL,
    expires INTEGER NOT NULL
) STRICT;
";

/// A private key that is waited with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedKey {
    /// The key, sealed.
    pub sealed: Vec<u8>,
    /// How often something wrong came for it.
    pub tries: u32,
}

/// What a credential is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The thread's number in the store.
    pub thread: i64,
    /// What it opens.
    pub tool: String,
    /// Whose it is; empty where nobody knows.
    pub user: String,
}

/// The sealed secrets of a store.
#[derive(Debug)]
pub struct Vault {
    links: Links,
}

impl Vault {
    /// Opens the secrets of a store. Blocks for the disk, as all else here.
    pub fn open(at: impl Into<Addresses>) -> Result<Self, KeyError> {
        Ok(Self { links: Links::open(&at.into(), TABLES)? })
    }

    /// Keeps the private key of a request, in place of any that was there.
    pub fn put_key(
        &self,
        thread: i64,
        auth: &str,
        sealed: &[u8],
        expires: i64,
    ) -> Result<(), KeyError> {
        self.links.of(thread)?.with(|conn| {
            conn.execute(
                "INSERT INTO auth_key (thread, auth, sealed, expires) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (thread, auth) DO UPDATE SET sealed = ?3, expires = ?4, tries = 0",
                params![thread, auth, sealed, expires],
            )
        })?;
        Ok(())
    }

    /// The private key of a request, if its time has not passed.
    pub fn key(&self, thread: i64, auth: &str, now: i64) -> Result<Option<SealedKey>, KeyError> {
        Ok(self.links.of(thread)?.with(|conn| {
            let mut find = conn.prepare_cached(
                "SELECT sealed, tries FROM auth_key \
                 WHERE thread = ?1 AND auth = ?2 AND expires > ?3",
            )?;
            let found = find.query_row(params![thread, auth, now], |row| {
                Ok(SealedKey { sealed: row.get(0)?, tries: row.get(1)? })
            });
            found.optional()
        })?)
    }

    /// Counts something wrong that came for a request.
    pub fn count_try(&self, thread: i64, auth: &str) -> Result<(), KeyError> {
        self.links.of(thread)?.with(|conn| {
            conn.execute(
                "UPDATE auth_key SET tries = tries + 1 WHERE thread = ?1 AND auth = ?2",
                params![thread, auth],
            )
        })?;
        Ok(())
    }

    /// Forgets the private key of a request.
    pub fn drop_key(&self, thread: i64, auth: &str) -> Result<(), KeyError> {
        self.links.of(thread)?.with(|conn| {
            conn.execute(
                "DELETE FROM auth_key WHERE thread = ?1 AND auth = ?2",
                params![thread, auth],
            )
        })?;
        Ok(())
    }

    /// Keeps a credential under an id of its own.
    pub fn put_credential(
        &self,
        id: &str,
        grant: &Grant,
        sealed: &[u8],
        expires: i64,
    ) -> Result<(), KeyError> {
        self.links.of(grant.thread)?.with(|conn| {
            conn.execute(
                "INSERT INTO credential (id, thread, tool, \"user\", sealed, expires) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![id, grant.thread, grant.tool, grant.user, sealed, expires],
            )
        })?;
        Ok(())
    }

    /// A credential, if it is for that and its time has not passed.
    pub fn credential(
        &self,
        id: &str,
        grant: &Grant,
        now: i64,
    ) -> Result<Option<Vec<u8>>, KeyError> {
        Ok(self.links.of(grant.thread)?.with(|conn| {
            // In quotes: PostgreSQL has another meaning for the word.
            let mut find = conn.prepare_cached(
                "SELECT sealed FROM credential \
                 WHERE id = ?1 AND thread = ?2 AND tool = ?3 AND \"user\" = ?4 AND expires > ?5",
            )?;
            let of = params![id, grant.thread, grant.tool, grant.user, now];
            find.query_row(of, |row| row.get(0)).optional()
        })?)
    }

    /// Forgets a credential.
    pub fn drop_credential(&self, id: &str) -> Result<(), KeyError> {
        self.links
            .each(|conn| conn.execute("DELETE FROM credential WHERE id = ?1", params![id]))?;
        Ok(())
    }

    /// Forgets what has ended, and what belongs to threads that are gone.
    pub fn sweep(&self, now: i64) -> Result<(), KeyError> {
        self.links.each(|conn| {
            let known = match conn {
                // The tables of a file know of a thread a moment after it was made.
                Connection::Sqlite(_) => {
                    " AND thread <= (SELECT max(coalesce((SELECT max(num) FROM thread), 0), \
                      coalesce((SELECT value FROM chore WHERE what = 'threads'), 0)))"
                }
                Connection::Postgres(_) => "",
            };
            for table in ["auth_key", "credential"] {
                conn.execute(
                    &format!(
                        "DELETE FROM {table} WHERE expires <= ?1 OR (thread NOT IN \
                         (SELECT num FROM thread WHERE deleted IS NULL){known})"
                    ),
                    params![now],
                )?;
            }
            Ok(())
        })?;
        Ok(())
    }
}
