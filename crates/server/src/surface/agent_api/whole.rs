//! A turn as one whole response.

use std::ops::Range;

use selvedge_protocol::dialect::Target;
use selvedge_protocol::dialect::{self, EncodeOptions, Encoding};
use selvedge_protocol::journal::Visibility;
use selvedge_store::{ReadError, Store, ThreadRef};

use crate::retell::Retelling;
use crate::view::{Filter, Sieve};

/// Bytes of the journal read at once.
const PAGE: usize = 1 << 20;

/// The response that some tasks come to, from one entry to another; the first, if there are more.
/// Blocks for the disk.
pub(super) fn told(
    store: &Store,
    thread: &ThreadRef,
    tasks: &[String],
    entries: Range<u64>,
) -> Result<Option<String>, ReadError> {
    let Range { start: mut seen, end: upto } = entries;
    let mut filter = Filter::all(Visibility::Participants);
    filter.tasks = tasks.to_vec();
    filter.after = seen;
    let mut sieve = Sieve::new(filter);
    let target = Target { package: "agent-api".to_owned(), version: "folded".to_owned() };
    let options = EncodeOptions { target: Some(target), ..EncodeOptions::default() };
    let mut encoding = Encoding::new(&dialect::agent_api::DIALECT, &options);
    let mut retelling = Retelling::new();
    let mut out = Vec::new();
    while seen < upto {
        let page = store.read(thread, seen, usize::MAX, PAGE)?;
        let before = seen;
        for entry in page.entries.iter().take_while(|entry| entry.seq <= upto) {
            seen = entry.seq;
            let visible = sieve.see(entry);
            let passes = visible.is_some();
            let told = visible.unwrap_or_else(|| sieve.stand_in(entry));
            retelling.entry(&told, passes, &mut |batch| encoding.batch(batch, &mut out));
        }
        if seen == before {
            break;
        }
    }
    encoding.finish(&mut out);
    let text = String::from_utf8_lossy(&out);
    Ok(text.lines().map(str::trim).find(|line| line.starts_with('{')).map(str::to_owned))
}
