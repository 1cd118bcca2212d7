//! Where a store is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::db::{self, Connection};
use crate::postgres::Client;
use crate::sqlite::open;

/// Where a store is: in a file, or in a PostgreSQL database.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// A SQLite file.
    File(PathBuf),
    /// The URL of a PostgreSQL database, with its password if it has one: never shown whole.
    Postgres(Arc<str>),
}

impl Address {
    /// A URL of PostgreSQL or of a file (`sqlite:…`), or else a path.
    pub fn parse(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Self::Postgres(text.into());
        }
        Self::File(text.strip_prefix("sqlite:").unwrap_or(text).into())
    }

    /// A connection that only reads.
    pub(crate) fn reader(&self) -> db::Result<Connection> {
        match self {
            Self::File(path) => open::reader(path),
            Self::Postgres(url) => Ok(Connection::Postgres(Client::open(url)?)),
        }
    }
}

/// Where all of a store is: in a file, or in databases, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    first: Address,
    others: Vec<Address>,
}

impl Addresses {
    pub(crate) fn new(first: Address, others: Vec<Address>) -> Self {
        Self { first, others }
    }

    /// The file, or the first database.
    pub fn first(&self) -> &Address {
        &self.first
    }

    /// The other databases.
    pub(crate) fn others(&self) -> &[Address] {
        &self.others
    }
}

impl<A: Into<Address>> From<A> for Addresses {
    fn from(address: A) -> Self {
        Self::new(address.into(), Vec::new())
    }
}

impl From<&Path> for Address {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<&PathBuf> for Address {
    fn from(path: &PathBuf) -> Self {
        Self::File(path.clone())
    }
}

impl From<&Address> for Address {
    fn from(address: &Address) -> Self {
        address.clone()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => f.write_str(&without_secrets(url)),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// A URL without who asks and with which password, wherever they stand.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // An `@` may stand in a password, too: the last one counts.
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, path) = match path.rsplit_once('@') {
        Some((_, after)) => after.split_once('/').unwrap_or((after, "")),
        None => (authority.rsplit_once('@').map_or(authority, |(_, host)| host), path),
    };
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("postgres://db/journal", "postgres://db/journal"),
            ("postgres://u:secret@db:5432/journal", "postgres://db:5432/journal"),
            ("postgresql://u:sec@ret@db/j?password=secret", "postgresql://db/j"),
            ("postgres://u:sec/ret@db/j", "postgres://db/j"),
            ("postgres:///j?host=/run/x&user=u&password=secret", "postgres:///j"),
        ] {
            let address = Address::parse(url);
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("secret"));
        }
        assert_eq!(Address::parse("sqlite:a/b.db"), Address::File("a/b.db".into()));
        assert_eq!(Address::parse("a/b.db"), Address::File("a/b.db".into()));
    }
}
