//! Taking up the ends of tasks that the router made.
//!
//! Invariant: the end of a task is taken up once, also after a restart and by two who try at the
//! same time: everything that comes of it is one append, under a key that the task names.

use selvedge_protocol::journal::Event;
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::ThreadKey;

use super::{Routing, Team};
use crate::journal::{Journal, JournalError, now};

/// Makes an envelope of what a task came to, and decides about it.
pub(crate) async fn settle(
    journal: &Journal,
    key: &ThreadKey,
    task: &str,
    team: &dyn Team,
) -> Result<(), JournalError> {
    let mut thread = journal.thread(key).await?;
    let mut routing = Routing::new();
    loop {
        let entries = thread.read().await?;
        if entries.is_empty() {
            break;
        }
        for entry in &entries {
            if let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or(""))
                && let Some(event) = Event::parse(doc.root())
            {
                routing.apply(&event);
            }
        }
    }
    if !routing.owes(task) {
        return Ok(());
    }
    let Some(answer) = routing.answer(task, team, (&key.id, &now())) else { return Ok(()) };
    let Some(id) = answer.str("messageId").map(|id| id.into_owned()) else { return Ok(()) };
    let lineage = routing.lineage(task);
    routing.apply(&answer);
    let decided = routing.decide(&id, team, lineage, None);
    let mut events = vec![answer];
    events.extend(decided.events);
    thread.append_once(&format!("route/{task}"), &events).await
}
