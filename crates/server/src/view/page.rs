//! A stretch of what a view shows, as one answer instead of a stream.

use selvedge_protocol::json::from_utf8;
use selvedge_store::{ReadError, Store, ThreadRef};

use super::{Encoder, Kind, PIECE, Place};

/// What a view shows after a place.
pub(crate) struct Page {
    /// The data of each event, as JSON.
    pub(crate) events: Vec<String>,
    /// Where the next page begins, as a stream's ids say it.
    pub(crate) cursor: String,
}

/// What a view shows of a thread up to an entry: the data of each event, as JSON, with the place it
/// brings a reader to. Blocks for the disk.
pub(crate) fn records(
    store: &Store,
    thread: &ThreadRef,
    kind: &Kind,
    upto: u64,
) -> Result<Vec<(String, String)>, ReadError> {
    let mut encoder = Encoder::new(kind, thread.epoch);
    let mut seen = kind.filter.after;
    let mut records = Vec::new();
    while seen < upto {
        let chunk = encoder.page(store, thread, seen, PIECE)?;
        if chunk.last == seen {
            break;
        }
        seen = chunk.last;
        let end = chunk.ends.iter().rev().find(|(entry, _)| *entry <= upto).map_or(0, |end| end.1);
        let text = chunk.bytes.get(..end).unwrap_or_default();
        for frame in from_utf8(text).unwrap_or("").split_inclusive("\n\n") {
            let field = |name| frame.lines().find_map(|line| line.strip_prefix(name));
            if let (Some(id), Some(data)) = (field("id: "), field("data: ")) {
                records.push((id.to_owned(), data.to_owned()));
            }
        }
    }
    Ok(records)
}

/// Up to so many events after a place, each as the view's stream gives it. Blocks for the disk.
pub(crate) fn page(
    store: &Store,
    thread: &ThreadRef,
    kind: &Kind,
    place: Place,
    limit: usize,
) -> Result<Page, ReadError> {
    let mut encoder = Encoder::new(kind, thread.epoch);
    let mut seen = place.cursor.seq.max(kind.filter.after);
    let mut past = if encoder.needs_the_past() { kind.filter.after } else { seen };
    while past < seen {
        past = encoder.past(store, thread, past, seen, PIECE)?;
    }
    encoder.skip(place.records);
    let mut events = Vec::new();
    let mut cursor = match place.records {
        0 => format!("{}.{seen}", thread.epoch),
        records => format!("{}.{seen}.{records}", thread.epoch),
    };
    loop {
        let chunk = encoder.page(store, thread, seen, PIECE)?;
        if chunk.last == seen {
            return Ok(Page { events, cursor });
        }
        for frame in from_utf8(&chunk.bytes).unwrap_or("").split_inclusive("\n\n") {
            let field = |name| frame.lines().find_map(|line| line.strip_prefix(name));
            let (Some(id), Some(data)) = (field("id: "), field("data: ")) else { continue };
            // Some dialects end with a word that is no event.
            if data.starts_with(['{', '[']) && data != "[DONE]" {
                events.push(data.to_owned());
            }
            cursor = id.to_owned();
            if events.len() == limit {
                return Ok(Page { events, cursor });
            }
        }
        seen = chunk.last;
        cursor = format!("{}.{seen}", thread.epoch);
    }
}

/// Events of a view, each the data of one.
#[derive(Default)]
pub(crate) struct Whole {
    /// What it shows up to an entry.
    pub(crate) events: Vec<String>,
    /// What comes after, if nothing more happens.
    pub(crate) ending: Vec<String>,
}

/// All that a view in a dialect shows up to an entry, and how it ends there. Blocks for the disk.
pub(crate) fn whole(
    store: &Store,
    thread: &ThreadRef,
    kind: &Kind,
    upto: u64,
) -> Result<Whole, ReadError> {
    let mut encoder = Encoder::new(kind, thread.epoch);
    let mut whole = Whole::default();
    let mut seen = kind.filter.after;
    while seen < upto {
        let chunk = encoder.part(store, thread, seen, upto, PIECE)?;
        if chunk.last == seen {
            break;
        }
        seen = chunk.last;
        data(from_utf8(&chunk.bytes).unwrap_or(""), &mut whole.events);
    }
    data(&encoder.finish(), &mut whole.ending);
    Ok(whole)
}

fn data(frames: &str, out: &mut Vec<String>) {
    out.extend(frames.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned));
}
