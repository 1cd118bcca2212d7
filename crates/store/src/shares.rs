//! Links that let whoever has them read one thread up to one point.
//!
//! Like keys, they are in a table of their own with a connection of their own, and like a key's, a
//! token's text is given out once and kept nowhere.
//!
//! Invariant: a share names a journal by its number, never by its id: neither a thread that takes
//! the id later nor a branch that is promoted comes into it.

use crate::address::Addresses;
use crate::db::{self, Optional as _, Row, params};
use crate::keys::secret;
use crate::link::Links;
use crate::{KeyError, KeyHash};

pub(crate) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS share (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    salt BLOB NOT NULL,
    tenant TEXT NOT NULL,
    thread INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    title TEXT,
    shows TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS share_by_thread ON share (thread);
";
const COLUMNS: &str =
    "id, hash, salt, tenant, thread, upto, title, shows, created, expires, revoked";
/// What the text of a token begins with, so that logs and scanners for leaked secrets know it.
pub const SHARE_PREFIX: &str = "sh_";
/// Shares of one thread that have not been revoked.
const MOST: i64 = 1000;

/// A share as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewShare {
    /// Whose thread it is.
    pub tenant: String,
    /// The thread's number in the store.
    pub thread: i64,
    /// The last entry that can be read.
    pub upto: u64,
    /// What people call it.
    pub title: Option<String>,
    /// Names of what is shown beyond the usual.
    pub shows: Vec<String>,
    /// When it ends by itself, in milliseconds since 1970.
    pub expires: Option<i64>,
}

/// A share as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// What it is revoked by. Says nothing of its token.
    pub id: String,
    /// What its token is recognised by.
    pub hash: KeyHash,
    /// What names are hidden with.
    pub salt: [u8; 32],
    /// What it was made with.
    pub made: NewShare,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// When it was revoked, if it was.
    pub revoked: Option<i64>,
}

/// The shares of a store.
#[derive(Debug)]
pub struct Shares {
    links: Links,
}

impl Shares {
    /// Opens the shares of a store. Blocks for the disk, as all else here.
    pub fn open(at: impl Into<Addresses>) -> Result<Self, KeyError> {
        Ok(Self { links: Links::open(&at.into(), TABLE)? })
    }

    /// Makes a share, unless the thread has too many. Its token is in the answer and nowhere else.
    pub fn add(&self, made: NewShare, now: i64) -> Result<Option<(Share, String)>, KeyError> {
        let (text, hash, id) = secret(SHARE_PREFIX)?;
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(|error| KeyError::Random(error.to_string()))?;
        let share = Share { id, hash, salt, made, created: now, revoked: None };
        // Alone: the others are counted.
        let added = self.links.of(share.made.thread)?.alone("share", |conn| {
            conn.execute(
                "INSERT INTO share (id, hash, salt, tenant, thread, upto, title, shows, created, \
                     expires) \
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, CAST(?7 AS TEXT), ?8, ?9, CAST(?10 AS BIGINT) \
                 WHERE (SELECT count(*) FROM share WHERE thread = ?5 AND revoked IS NULL) < ?11",
                params![
                    share.id,
                    hash.as_bytes(),
                    salt,
                    share.made.tenant,
                    share.made.thread,
                    share.made.upto as i64,
                    share.made.title,
                    share.made.shows.join(","),
                    now,
                    share.made.expires,
                    MOST
                ],
            )
        })?;
        Ok((added == 1).then_some((share, text)))
    }

    /// The share of a token, revoked and expired ones included.
    pub fn find(&self, token: &str) -> Result<Option<Share>, KeyError> {
        let hash = KeyHash::of(token);
        let sql = format!("SELECT {COLUMNS} FROM share WHERE hash = ?1");
        let found = self
            .links
            .find(|conn| conn.query_row(&sql, params![hash.as_bytes()], share).optional())?;
        // Found by its hash, which a caller cannot steer towards another's, and then compared in
        // constant time.
        Ok(found.filter(|share| share.hash == hash))
    }

    /// The shares of a thread, the oldest first.
    pub fn list(&self, thread: i64) -> Result<Vec<Share>, KeyError> {
        let sql = format!("SELECT {COLUMNS} FROM share WHERE thread = ?1 ORDER BY rowid");
        Ok(self
            .links
            .of(thread)?
            .with(|conn| conn.prepare_cached(&sql)?.query_map(params![thread], share)?.collect())?)
    }

    /// Those that were revoked at a moment or later, in milliseconds since 1970, by what their
    /// tokens are recognised by.
    pub fn revoked_since(&self, moment: i64) -> Result<Vec<KeyHash>, KeyError> {
        let found = self.links.each(|conn| {
            let mut find = conn.prepare_cached("SELECT hash FROM share WHERE revoked >= ?1")?;
            let found =
                find.query_map(params![moment], |row| Ok(KeyHash::from_bytes(row.get(0)?)))?;
            found.collect::<db::Result<Vec<_>>>()
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Ends a share of a thread for good, if there is one. One that has ended stays as it is.
    pub fn revoke(&self, thread: i64, id: &str, now: i64) -> Result<Option<Share>, KeyError> {
        let sql = format!("SELECT {COLUMNS} FROM share WHERE thread = ?1 AND id = ?2");
        Ok(self.links.of(thread)?.with(|conn| {
            conn.execute(
                "UPDATE share SET revoked = ?3 WHERE thread = ?1 AND id = ?2 AND revoked IS NULL",
                params![thread, id, now],
            )?;
            conn.query_row(&sql, params![thread, id], share).optional()
        })?)
    }
}

fn share(row: &Row<'_>) -> db::Result<Share> {
    let shows: String = row.get(7)?;
    let made = NewShare {
        tenant: row.get(3)?,
        thread: row.get(4)?,
        upto: row.get::<i64>(5)? as u64,
        title: row.get(6)?,
        shows: shows.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        expires: row.get(9)?,
    };
    Ok(Share {
        id: row.get(0)?,
        hash: KeyHash::from_bytes(row.get(1)?),
        salt: row.get(2)?,
        made,
        created: row.get(8)?,
        revoked: row.get(10)?,
    })
}
