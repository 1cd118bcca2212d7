//! Where a store is, as commands are told.

use std::path::PathBuf;

use selvedge_store::Address;

/// Where the journal is.
#[derive(clap::Args)]
pub(crate) struct Place {
    /// Keep the journal in this file; it is made if it is not there
    #[arg(long, default_value = "selvedge.db", value_name = "FILE", global = true)]
    db: PathBuf,
    /// Keep the journal in this PostgreSQL database instead: postgres://user@host/name
    ///
    /// Better in the environment than here if it has a password: whoever lists processes sees what
    /// commands are called with.
    #[arg(long, env = "SELVEDGE_STORE", hide_env_values = true, value_name = "URL",
          conflicts_with = "db", value_parser = database, global = true)]
    store: Option<Address>,
}

/// The other databases, where threads are in several.
#[derive(clap::Args)]
pub(crate) struct Shards {
    /// Keep threads in this database, too; once for each, always in the same order
    ///
    /// The first database, --store, has the list of which thread is where, and the keys. A new thread
    /// goes to one of all by its name and stays there; one that is added gets new threads only. In
    /// the environment they are separated by spaces.
    #[arg(long = "shard", env = "SELVEDGE_SHARDS", hide_env_values = true, value_name = "URL",
          value_delimiter = ' ', requires = "store", value_parser = database)]
    shards: Vec<Address>,
}

impl Shards {
    /// Their addresses.
    pub(crate) fn addresses(&self) -> &[Address] {
        &self.shards
    }
}

impl Place {
    /// The address.
    pub(crate) fn address(&self) -> Address {
        self.store.clone().unwrap_or_else(|| Address::from(&self.db))
    }

    /// The file, if it is one, and is missing.
    pub(crate) fn missing(&self) -> Option<&PathBuf> {
        Some(&self.db).filter(|db| self.store.is_none() && !db.exists())
    }

    /// How to name it to another command.
    pub(crate) fn option(&self) -> String {
        match &self.store {
            Some(_) => "--store <URL>".to_owned(),
            None => format!("--db {}", self.db.display()),
        }
    }
}

pub(crate) fn database(text: &str) -> Result<Address, String> {
    match Address::parse(text) {
        address @ Address::Postgres(_) => Ok(address),
        // What was given may be a password.
        Address::File(_) => Err("it must begin with postgres://".to_owned()),
    }
}
