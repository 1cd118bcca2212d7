//! What waits for someone in a thread, with the events that ask.

use selvedge_protocol::journal::{Event, Visibility};
use selvedge_store::{InboxItem, ThreadRef};

use crate::auth::Principal;
use crate::state::event_at;
use crate::{App, Error};

/// A question or request for credentials that waits, and the event that asks.
pub(super) type Open = (InboxItem, Event<'static>);

/// What waits and someone may see, the oldest first.
pub(super) async fn open(
    app: &App,
    principal: &Principal,
    thread: &ThreadRef,
) -> Result<Vec<Open>, Error> {
    app.store().fresh(thread).await?;
    let (of, sees) = (thread.clone(), principal.sees);
    app.blocking(move |store| {
        let mut out = Vec::new();
        for item in store.pending(&of)? {
            let asked = event_at(store, &of, item.seq)?;
            if let Some(asked) = asked.filter(|asked| Visibility::of_event(asked) <= sees) {
                out.push((item, asked));
            }
        }
        Ok(out)
    })
    .await
}
