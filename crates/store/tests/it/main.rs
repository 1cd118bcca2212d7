//! What the store promises, on both databases: each file of tests is compiled for either, with
//! another `home` for its stores; and where it matters, for a store of three databases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::duplicate_mod, reason = "the same tests on both databases")]

#[path = "../../../cli/tests/it/postgres.rs"]
#[allow(dead_code, reason = "not all that a cluster is put through is done here")]
mod cluster;
mod copy;
mod server;

/// Tables that are made from events.
const MADE: &[&str] = &[
    "summary",
    "participant",
    "label",
    "task",
    "inbox",
    "call",
    "artifact",
    "artifact_version",
    "artifact_early",
    "usage",
    "failure",
];

mod sqlite {
    #[path = "../append.rs"]
    pub(crate) mod append;
    mod check;
    mod crash;
    #[path = "../delete.rs"]
    mod delete;
    #[path = "../events.rs"]
    pub(crate) mod events;
    mod files;
    #[path = "../guard.rs"]
    pub(crate) mod guard;
    pub(crate) mod home;
    #[path = "../keys.rs"]
    mod keys;
    #[path = "../lease.rs"]
    mod lease;
    #[path = "../listing.rs"]
    mod listing;
    #[path = "../load.rs"]
    mod load;
    #[path = "../model.rs"]
    pub(crate) mod model;
    #[path = "../projection.rs"]
    mod projection;
    #[path = "../promote.rs"]
    mod promote;
    #[path = "../rebuild.rs"]
    mod rebuild;
    #[path = "../retain.rs"]
    pub(crate) mod retain;
    #[path = "../search.rs"]
    mod search;
    #[path = "../tail.rs"]
    mod tail;

    use super::MADE;
}

mod postgres {
    #[path = "../append.rs"]
    mod append;
    mod check;
    mod claims;
    #[path = "../delete.rs"]
    mod delete;
    #[path = "../events.rs"]
    mod events;
    #[path = "../guard.rs"]
    mod guard;
    mod hints;
    pub(crate) mod home;
    #[path = "../keys.rs"]
    mod keys;
    #[path = "../lease.rs"]
    mod lease;
    #[path = "../listing.rs"]
    mod listing;
    #[path = "../load.rs"]
    mod load;
    #[path = "../model.rs"]
    mod model;
    mod nodes;
    #[path = "../projection.rs"]
    mod projection;
    #[path = "../promote.rs"]
    mod promote;
    mod quick;
    #[path = "../rebuild.rs"]
    mod rebuild;
    mod replica;
    #[path = "../retain.rs"]
    mod retain;
    #[path = "../search.rs"]
    mod search;
    #[path = "../tail.rs"]
    mod tail;
    mod upgrade;

    use super::MADE;
}

mod spread {
    #[path = "../append.rs"]
    mod append;
    #[path = "../delete.rs"]
    mod delete;
    #[path = "../events.rs"]
    mod events;
    pub(crate) mod home;
    #[path = "../lease.rs"]
    mod lease;
    #[path = "../listing.rs"]
    mod listing;
    #[path = "../model.rs"]
    mod model;
    #[path = "../projection.rs"]
    mod projection;
    #[path = "../promote.rs"]
    mod promote;
    #[path = "../retain.rs"]
    mod retain;
    #[path = "../search.rs"]
    mod search;
    mod shards;
    #[path = "../tail.rs"]
    mod tail;

    use super::MADE;
}
