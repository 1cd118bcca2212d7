//! Keys of callers: who they are for and what they may do, never the keys themselves.
//!
//! They are in a table of their own in the journal's file, with a connection of their own: a
//! command can add and revoke them while a server runs, and the server sees a counter change.
//!
//! Invariant: a key's text is given out once and kept nowhere. It has 256 random bits, so a plain
//! hash is enough: there is nothing to guess.

use crate::ShardError;
use crate::address::Address;
use crate::db::{self, Optional as _, Row, params};
use crate::link::Link;
use std::fmt::Write as _;

pub(crate) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS api_key (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    change INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS api_key_by_change ON api_key (change);
";
const COLUMNS: &str = "id, hash, name, tenant, scopes, created, expires, revoked";
/// What the text of a key begins with, so that scanners for leaked secrets know it.
const PREFIX: &str = "sk_";

/// Why keys could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum KeyError {
    #[error("could not open the keys in {path}: {cause}")]
    Open { path: String, cause: db::Error },
    #[error("could not read or write keys: {0}")]
    Storage(#[from] db::Error),
    #[error("could not read or write: the store {0}")]
    Shard(#[from] ShardError),
    #[error("the system gives no random numbers: {0}")]
    Random(String),
    #[error("key `{id}` not found")]
    NotFound { id: String },
}

/// What is kept of a key's text. Comparing two takes the same time whatever they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(blake3::Hash);

impl KeyHash {
    /// Of the text that a caller sends.
    pub fn of(text: &str) -> Self {
        Self(blake3::hash(text.as_bytes()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }
}

/// A new secret, its hash, and an id that says nothing of it.
pub(crate) fn secret(prefix: &str) -> Result<(String, KeyHash, String), KeyError> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| KeyError::Random(error.to_string()))?;
    let text = random.iter().fold(prefix.to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let hash = KeyHash::of(&text);
    let id = hash.0.to_hex().chars().take(12).collect();
    Ok((text, hash, id))
}

/// A key as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// What people call it.
    pub name: String,
    /// Whose threads it opens.
    pub tenant: String,
    /// Names of what it may do.
    pub scopes: Vec<String>,
    /// When it ends by itself, in milliseconds since 1970.
    pub expires: Option<i64>,
}

/// A key as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// What it is revoked by. Says nothing of its text.
    pub id: String,
    /// What its text is recognised by.
    pub hash: KeyHash,
    /// What it was made with.
    pub made: NewKey,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// When it was revoked, if it was.
    pub revoked: Option<i64>,
}

/// The keys of a store.
#[derive(Debug)]
pub struct Keys {
    link: Link,
}

impl Keys {
    /// Opens the keys of a store, making its file if it is not there. Blocks for the disk, as all
    /// else here.
    pub fn open(at: impl Into<Address>) -> Result<Self, KeyError> {
        Ok(Self { link: Link::open(at.into(), TABLE)? })
    }

    /// Makes a key. Its text is in the answer and nowhere else.
    pub fn add(&self, made: NewKey, now: i64) -> Result<(ApiKey, String), KeyError> {
        let (text, hash, id) = secret(PREFIX)?;
        let key = ApiKey { id, hash, made, created: now, revoked: None };
        self.link.alone("api_key", |conn| {
            conn.execute(
                "INSERT INTO api_key (id, hash, name, tenant, scopes, created, expires, change) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, \
                     (SELECT coalesce(max(change), 0) + 1 FROM api_key))",
                params![
                    key.id,
                    hash.as_bytes(),
                    key.made.name,
                    key.made.tenant,
                    key.made.scopes.join(","),
                    now,
                    key.made.expires
                ],
            )
        })?;
        Ok((key, text))
    }

    /// All keys that ever were, the oldest first.
    pub fn list(&self) -> Result<Vec<ApiKey>, KeyError> {
        let sql = format!("SELECT {COLUMNS} FROM api_key ORDER BY rowid");
        Ok(self.link.with(|conn| conn.prepare_cached(&sql)?.query_map([], key)?.collect())?)
    }

    /// Ends a key for good. One that has ended before stays as it is.
    pub fn revoke(&self, id: &str, now: i64) -> Result<ApiKey, KeyError> {
        self.link.alone("api_key", |conn| {
            conn.execute(
                "UPDATE api_key SET revoked = ?2, change = (SELECT max(change) + 1 FROM api_key) \
                 WHERE id = ?1 AND revoked IS NULL",
                params![id, now],
            )
        })?;
        let sql = format!("SELECT {COLUMNS} FROM api_key WHERE id = ?1");
        let found = self.link.with(|conn| conn.query_row(&sql, params![id], key).optional())?;
        found.ok_or_else(|| KeyError::NotFound { id: id.to_owned() })
    }

    /// Counts the changes there were; cheap enough to ask often.
    pub fn changes(&self) -> Result<i64, KeyError> {
        let sql = "SELECT coalesce(max(change), 0) FROM api_key";
        Ok(self.link.with(|conn| conn.query_row(sql, [], |row| row.get(0)))?)
    }
}

fn key(row: &Row<'_>) -> db::Result<ApiKey> {
    let scopes: String = row.get(4)?;
    let made = NewKey {
        name: row.get(2)?,
        tenant: row.get(3)?,
        scopes: scopes.split(',').map(str::to_owned).collect(),
        expires: row.get(6)?,
    };
    Ok(ApiKey {
        id: row.get(0)?,
        hash: KeyHash::from_bytes(row.get(1)?),
        made,
        created: row.get(5)?,
        revoked: row.get(7)?,
    })
}
