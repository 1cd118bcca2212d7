//! From single values to what is said of them: one entry for a value that is lost as a whole.

use super::batch::Entry;
use super::{Found, Loss};

/// Passes on what is lost of a batch. Entries with the same root are leaves of one value.
pub(super) fn lost(entries: &[Entry], found: &Found, each: &mut dyn FnMut(Loss)) {
    for leaves in entries.chunk_by(|a, b| a.root() == b.root()) {
        if let Some(first) = leaves.first() {
            let leaves: Vec<_> = leaves.iter().map(|leaf| (leaf, leaf.is_lost(found))).collect();
            branch(&leaves, first.root, each);
        }
    }
}

/// Leaves below one place, by the length of its pointer.
fn branch(leaves: &[(&Entry, bool)], place: usize, each: &mut dyn FnMut(Loss)) {
    let Some((first, _)) = leaves.first() else { return };
    if leaves.iter().all(|(_, lost)| *lost) {
        let pointer = first.pointer.get(..place).unwrap_or(&first.pointer).to_owned();
        return each(Loss { pointer, reason: first.reason.clone() });
    }
    let next = |entry: &Entry| {
        let rest = entry.pointer.get(place + 1..).unwrap_or("");
        place + 1 + rest.find('/').unwrap_or(rest.len())
    };
    for below in
        leaves.chunk_by(|(a, _), (b, _)| a.pointer.get(..next(a)) == b.pointer.get(..next(b)))
    {
        match below {
            // Several dyes in one place: it is kept as long as one of them is.
            [(entry, _), ..] if entry.pointer.len() <= place => {}
            [(entry, _), ..] => branch(below, next(entry), each),
            [] => {}
        }
    }
}
