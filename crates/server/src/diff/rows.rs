//! Two datasets: which rows came and which went. Where a row stands does not matter.

use std::collections::HashMap;

use selvedge_protocol::canonical;
use selvedge_protocol::json::Node;

/// Rows that are told at most, each way.
const ROWS: usize = 1000;

/// Rows of one way, as members of a JSON array, and how many there are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) list: String,
    pub(crate) count: usize,
}

impl Rows {
    fn add(&mut self, row: Node<'_, '_>) {
        if self.count < ROWS {
            let comma = if self.count > 0 { "," } else { "" };
            self.list.push_str(comma);
            self.list.push_str(row.raw());
        }
        self.count += 1;
    }
}

/// The rows that came, and those that went.
pub(crate) fn between(old: Node<'_, '_>, new: Node<'_, '_>) -> (Rows, Rows) {
    let name = |row: Node<'_, '_>| {
        let mut out = String::new();
        canonical::write(row, &mut out);
        out
    };
    let mut left: HashMap<String, usize> = HashMap::new();
    for row in new.children() {
        *left.entry(name(row)).or_default() += 1;
    }
    let mut gone = Rows::default();
    for row in old.children() {
        match left.get_mut(&name(row)).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => gone.add(row),
        }
    }
    let mut come = Rows::default();
    // From the end: of rows that are the same, those beyond the old ones came last.
    let rows: Vec<_> = new.children().collect();
    let mut fresh: Vec<_> = Vec::new();
    for row in rows.into_iter().rev() {
        if let Some(count) = left.get_mut(&name(row)).filter(|count| **count > 0) {
            *count -= 1;
            fresh.push(row);
        }
    }
    fresh.into_iter().rev().for_each(|row| come.add(row));
    (come, gone)
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::json::Doc;

    use super::*;

    #[test]
    fn rows_are_counted_wherever_they_stand() {
        let old = Doc::parse(r#"[{"a":1},{"a":2},{"a":2}]"#).unwrap();
        let new = Doc::parse(r#"[{"a":3},{"a":2},{"a":1.0},{"a":1}]"#).unwrap();
        let (come, gone) = between(old.root(), new.root());
        assert_eq!((come.list.as_str(), come.count), (r#"{"a":3},{"a":1}"#, 2));
        assert_eq!((gone.list.as_str(), gone.count), (r#"{"a":2}"#, 1));
    }
}
