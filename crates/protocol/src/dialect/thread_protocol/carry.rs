//! Other dialects' records inside a ThreadProtocol document.
//!
//! Records are kept in `system.<dialect>.record` actions, each before the core actions its records
//! made: `{"actions":"umtr","records":[…]}`. `actions` names the actions that follow by kind, so
//! that a reader finds them again after an edit; each record is a template whose holes are values
//! of those actions ([`crate::residue`]). Shapes and literals that repeat are in
//! `metadata.selvedge`.
//!
//! Invariant: a hole shows the action's value. Where the source spelled the value in a way that no
//! known style prints, the spelling is kept beside the hole and used only while the value is the
//! same.

mod action;
mod native;
mod records;
mod resolve;

pub(super) use action::{Written, kind_letter, node_letter, write};
pub(super) use native::{read_native, write_entry};
pub(super) use records::{repeated, write_records};
pub(super) use resolve::{Group, Pending, Resolver};

use crate::dialect::Id;

/// The key in `Thread.metadata`.
pub(super) const METADATA: &str = "selvedge";

/// The action type of a dialect's records.
pub(super) fn action_type(dialect: Id) -> String {
    format!("system.{}.record", dialect.name().replace('-', "_"))
}

/// The dialect whose records an action type holds.
pub(super) fn dialect_of(action_type: &str) -> Option<Id> {
    let slug = action_type.strip_prefix("system.")?.strip_suffix(".record")?;
    let name = slug.replace('_', "-");
    crate::dialect::named(&name).map(|d| d.id)
}
