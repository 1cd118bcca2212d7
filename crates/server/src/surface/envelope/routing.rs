//! The routing of a thread, from its journal.

use selvedge_agents::Desk;
use selvedge_agents::router::Routing;
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::{Entry, Store, ThreadRef};

use crate::{App, Error, ErrorCode};

/// Bytes read at once.
const PAGE: usize = 1 << 20;

/// The agents that envelopes can be given to.
pub(super) fn desk(app: &App) -> Result<&Desk, Error> {
    app.desk().ok_or_else(|| {
        let message = "this server runs no agents; configure some, or append events instead";
        Error::new(ErrorCode::NoAgents, message)
    })
}

/// The routing of a thread up to now, and how far that is.
pub(super) async fn routing(app: &App, thread: &ThreadRef) -> Result<(Routing, u64), Error> {
    let of = thread.clone();
    app.blocking(move |store| {
        let (mut routing, mut seen) = (Routing::new(), 0);
        loop {
            let more = on(store, &of, &mut routing, seen)?;
            if more == seen {
                return Ok((routing, seen));
            }
            seen = more;
        }
    })
    .await
}

/// Takes in what comes after an entry; the last that did.
pub(super) fn on(
    store: &Store,
    thread: &ThreadRef,
    routing: &mut Routing,
    seen: u64,
) -> Result<u64, Error> {
    let page = store.read(thread, seen, usize::MAX, PAGE)?;
    page.entries.iter().for_each(|entry| apply(routing, entry));
    Ok(page.entries.last().map_or(seen, |entry| entry.seq))
}

fn apply(routing: &mut Routing, entry: &Entry) {
    if let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or(""))
        && let Some(event) = Event::parse(doc.root())
    {
        routing.apply(&event);
    }
}
