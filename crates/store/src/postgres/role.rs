//! Which of a store's databases one is, written down in itself.
//!
//! Invariant: a database is the one of its number for good, and its threads' numbers begin with
//! it. One whose role is another is not opened.

use std::fmt::Write as _;

use super::migrate::{self, Trouble};
use crate::db::{self, Connection, Optional as _, params};
use crate::shard::{SHARDS, numbers_of};
use crate::{Address, OpenError, ShardError};

/// What nodes that give roles at the same time wait for each other by.
const LOCK: i64 = 0x7365_6c76_7368_6172;

/// What is in the directory before there is a second database, and what keeps it complete: also a
/// node that knows of one database only puts its threads there, and cannot make one whose name has
/// another place.
const FIRST: &str = r"
CREATE OR REPLACE FUNCTION keep_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO place (tenant, id, shard) VALUES (NEW.tenant, NEW.id, 0) ON CONFLICT DO NOTHING;
    IF (SELECT shard FROM place WHERE tenant = NEW.tenant AND id = NEW.id) <> 0 THEN
        RAISE EXCEPTION 'a thread of this id is in another database of the store';
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS thread_place ON thread;
CREATE TRIGGER thread_place AFTER INSERT OR UPDATE OF id ON thread
    FOR EACH ROW EXECUTE FUNCTION keep_place();
INSERT INTO place (tenant, id, shard) SELECT tenant, id, 0 FROM thread WHERE deleted IS NULL
    ON CONFLICT DO NOTHING;
";

/// A database's role, as it says itself.
struct Role {
    store: String,
    number: i64,
    count: i64,
}

/// Why a role is refused, or could not be read.
enum Refused {
    Role(ShardError),
    Failed(db::Error),
}

impl From<db::Error> for Refused {
    fn from(error: db::Error) -> Self {
        Self::Failed(error)
    }
}

impl Refused {
    fn at(self, address: &Address) -> OpenError {
        match self {
            Self::Role(cause) => OpenError::Shard { path: address.to_string(), cause },
            Self::Failed(cause) => OpenError::Storage { path: address.to_string(), cause },
        }
    }
}

/// Checks that databases, in this order, are a whole store, and gives a role to those that have
/// none. One alone needs none.
pub(crate) fn assign(addresses: &[&Address]) -> Result<(), OpenError> {
    if addresses.len() > SHARDS {
        return Err(OpenError::TooManyShards { limit: SHARDS });
    }
    let mut store = None;
    for (number, address) in addresses.iter().enumerate() {
        let conn = connect(address)?;
        let given = match (addresses.len(), number) {
            (1, _) => alone(&conn).map(|()| None),
            (count, 0) => conn.together(|conn| first(conn, count)).map(Some),
            _ => conn.together(|conn| other(conn, number, store.as_deref())).map(Some),
        };
        store = given.map_err(|refused| refused.at(address))?;
    }
    if let (Some(_), [address, _, ..]) = (store, addresses) {
        // Once all of them know that they are a part of it.
        let counted = connect(address)?.execute(
            "UPDATE shard SET count = ?1 WHERE count < ?1",
            params![addresses.len() as i64],
        );
        counted.map_err(|error| Refused::Failed(error).at(address))?;
    }
    Ok(())
}

/// Whether a database is one of several, and then its role is told as an error.
pub(crate) fn alone_or_first(conn: &Connection) -> Result<(), ShardError> {
    match role(conn) {
        Ok(Some(Role { number, .. })) if number != 0 => Err(ShardError::Part { number }),
        // What cannot be read is told by whoever reads it.
        _ => Ok(()),
    }
}

/// Whether a database is one of several.
pub(crate) fn is_part(conn: &Connection) -> db::Result<bool> {
    Ok(role(conn)?.is_some())
}

fn connect(address: &Address) -> Result<Connection, OpenError> {
    match address {
        Address::Postgres(url) => {
            migrate::open(url).map_err(|trouble: Trouble| trouble.at(address))
        }
        Address::File(_) => {
            Err(OpenError::Shard { path: address.to_string(), cause: ShardError::File })
        }
    }
}

fn alone(conn: &Connection) -> Result<(), Refused> {
    match role(conn)? {
        Some(Role { number, .. }) if number != 0 => Err(Refused::Role(ShardError::Part { number })),
        Some(Role { count, .. }) if count > 1 => {
            Err(Refused::Role(ShardError::Missing { count, given: 1 }))
        }
        _ => Ok(()),
    }
}

/// The first of several; the store's name.
fn first(conn: &Connection, given: usize) -> Result<String, Refused> {
    wait(conn)?;
    match role(conn)? {
        None => {
            let mut random = [0; 16];
            let failed = |error: getrandom::Error| {
                sqlx_core::Error::InvalidArgument(format!("no random numbers: {error}"))
            };
            getrandom::fill(&mut random).map_err(|error| db::Error::from(failed(error)))?;
            let store = random.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
            conn.at_leisure(|conn| conn.execute_batch(FIRST))?;
            give(conn, &store, 0, 1)?;
            Ok(store)
        }
        Some(Role { number, .. }) if number != 0 => Err(Refused::Role(ShardError::Part { number })),
        Some(Role { count, .. }) if count > given as i64 => {
            Err(Refused::Role(ShardError::Missing { count, given: given as i64 }))
        }
        Some(Role { store, .. }) => Ok(store),
    }
}

/// Another one, of the store of a name.
fn other(conn: &Connection, number: usize, store: Option<&str>) -> Result<String, Refused> {
    wait(conn)?;
    let store = store.unwrap_or_default();
    let asked = number as i64;
    match role(conn)? {
        None => {
            let mut any = conn.prepare_cached("SELECT 1 FROM thread LIMIT 1")?;
            if any.exists([])? {
                return Err(Refused::Role(ShardError::Occupied { asked }));
            }
            let begin = numbers_of(number) + 1;
            conn.execute_batch(&format!("ALTER TABLE thread ALTER num RESTART WITH {begin}"))?;
            give(conn, store, asked, 0)?;
        }
        Some(role) if role.store != store => return Err(Refused::Role(ShardError::OtherStore)),
        Some(Role { number, .. }) if number != asked => {
            return Err(Refused::Role(ShardError::Order { found: number, asked }));
        }
        Some(_) => {}
    }
    Ok(store.to_owned())
}

fn give(conn: &Connection, store: &str, number: i64, count: i64) -> db::Result<()> {
    conn.execute(
        "INSERT INTO shard (store, number, count) VALUES (?1, ?2, ?3)",
        params![store, number, count],
    )?;
    Ok(())
}

/// Waits for others who give roles, until the transaction ends.
fn wait(conn: &Connection) -> db::Result<()> {
    conn.query_row("SELECT pg_advisory_xact_lock(?1) IS NULL", params![LOCK], |_| Ok(()))
}

fn role(conn: &Connection) -> db::Result<Option<Role>> {
    let mut find = conn.prepare_cached("SELECT store, number, count FROM shard")?;
    let found = find.query_row([], |row| {
        Ok(Role { store: row.get(0)?, number: row.get(1)?, count: row.get(2)? })
    });
    found.optional()
}
