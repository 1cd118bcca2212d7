//! Which tables a copy takes along, and which it leaves to be made anew.
//!
//! Invariant: a table of either database is in one of the two lists. A test reads both schemas.

/// What a column holds, in both databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Number,
    Text,
    Bytes,
}

use Holds::{Bytes, Number, Text};

/// A table whose rows are copied as they are.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Holds)],
}

impl Table {
    /// Its columns, quoted: some are words of SQL.
    pub(crate) fn list(&self) -> String {
        let names: Vec<String> =
            self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        names.join(", ")
    }
}

/// The threads. A branch's number is greater than that of the thread it came from.
pub(crate) const THREAD: Table = Table {
    name: "thread",
    columns: &[
        ("num", Number),
        ("tenant", Text),
        ("id", Text),
        ("epoch", Number),
        ("created", Number),
        ("parent", Number),
        ("fork", Number),
        ("deleted", Number),
        ("swept", Number),
        ("renamed", Number),
        ("was", Text),
        ("over", Number),
        ("past", Number),
    ],
};

/// The journal. Rows keep their numbers: the hash chain and search know them by these.
pub(crate) const JOURNAL: Table = Table {
    name: "journal",
    columns: &[
        ("row", Number),
        ("thread", Number),
        ("first", Number),
        ("last", Number),
        ("at", Number),
        ("key", Text),
        ("digest", Bytes),
        ("body", Text),
    ],
};

/// The hash chain, copied with the rows of the journal that it is of.
pub(crate) const CHAIN: Table = Table {
    name: "chain",
    columns: &[("row", Number), ("before", Bytes), ("bodies", Bytes), ("link", Bytes)],
};

/// Tables that are copied whole: threads, and what is beside the journal.
pub(crate) const WHOLE: &[&Table] = &[
    &THREAD,
    &Table { name: "instead", columns: &[("thread", Number), ("seq", Number), ("hash", Bytes)] },
    &Table { name: "unfolded", columns: &[("thread", Number), ("seq", Number)] },
    &Table {
        name: "erasure",
        columns: &[
            ("id", Number),
            ("tenant", Text),
            ("thread", Text),
            ("at", Number),
            ("by", Text),
            ("reason", Text),
            ("entries", Number),
            ("hash", Bytes),
            ("shared_with", Text),
        ],
    },
    &Table {
        name: "lease",
        columns: &[
            ("thread", Number),
            ("task", Text),
            ("attempt", Number),
            ("token", Bytes),
            ("agent", Text),
            ("worker", Text),
            ("time", Number),
            ("until", Number),
            ("released", Number),
        ],
    },
    &Table {
        name: "api_key",
        columns: &[
            ("rowid", Number),
            ("id", Text),
            ("hash", Bytes),
            ("name", Text),
            ("tenant", Text),
            ("scopes", Text),
            ("created", Number),
            ("expires", Number),
            ("revoked", Number),
            ("change", Number),
        ],
    },
    &Table {
        name: "share",
        columns: &[
            ("rowid", Number),
            ("id", Text),
            ("hash", Bytes),
            ("salt", Bytes),
            ("tenant", Text),
            ("thread", Number),
            ("upto", Number),
            ("title", Text),
            ("shows", Text),
            ("created", Number),
            ("expires", Number),
            ("revoked", Number),
        ],
    },
    &Table {
        name: "push",
        columns: &[
            ("thread", Number),
            ("task", Text),
            ("id", Text),
            ("tenant", Text),
            ("context", Text),
            ("sealed", Bytes),
            ("told", Text),
            ("over", Number),
        ],
    },
    &Table {
        name: "auth_key",
        columns: &[
            ("thread", Number),
            ("auth", Text),
            ("sealed", Bytes),
            ("expires", Number),
            ("tries", Number),
        ],
    },
    &Table {
        name: "credential",
        columns: &[
            ("id", Text),
            ("thread", Number),
            ("tool", Text),
            ("user", Text),
            ("sealed", Bytes),
            ("expires", Number),
        ],
    },
];
