//! Questions that nobody answers in time.
//!
//! Owned by whoever serves, and ends with it. What passed while nobody served is told at the start.
//!
//! Invariant: that a question's time has passed is told exactly once, and only while it is open:
//! the store's writer looks again before it commits.

use std::time::Duration;

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_store::{
    Append, AppendError, Due, Guard, InboxKind, ReadError, Store, ThreadKey, ThreadRef,
};

use crate::clock::now;
use crate::event::Stamp;
use crate::interrupt::interrupted;
use crate::state::event_at;
use crate::{App, Error};

/// Questions that are looked at together.
const TOGETHER: usize = 256;
/// The longest sleep: a question may come whose time is shorter, and clocks may be set.
const PERIOD: Duration = Duration::from_secs(1);
/// The shortest one: what could not be told is not tried again at once.
const BREATH: Duration = Duration::from_millis(20);
/// What became of a task.
const NOBODY: &str = "nobody answered in time";

/// Closes questions as their time passes.
pub(crate) async fn keep(app: App) {
    loop {
        let at = now();
        let overdue = app.blocking(move |store| Ok(store.due(at, TOGETHER)?)).await;
        let next = match overdue {
            Ok(overdue) => {
                for (thread, due) in overdue.items {
                    if let Err(error) = expire(&app, thread, due).await {
                        tracing::warn!(%error, "a question could not be closed");
                    }
                }
                overdue.next
            }
            Err(error) => {
                tracing::warn!(%error, "could not look for questions whose time has passed");
                None
            }
        };
        let left = next.map(|next| u64::try_from(next - now()).unwrap_or(0));
        let sleep = left.map_or(PERIOD, Duration::from_millis).clamp(BREATH, PERIOD);
        tokio::time::sleep(sleep).await;
    }
}

/// Tells that nobody answered. A task that waited for nothing else has failed, and what it called
/// is interrupted.
async fn expire(app: &App, thread: ThreadKey, due: Due) -> Result<(), Error> {
    let (key, own) = (thread.clone(), due.clone());
    let told = app.blocking(move |store| match store.thread(&key)? {
        Some(there) => Ok(events(store, &there, &own)?),
        None => Ok(Vec::new()),
    });
    let told = told.await?;
    if told.is_empty() {
        return Ok(());
    }
    let drafts = Stamp::new(&thread.id, now()).own(&told)?;
    let append = Append::new(thread, drafts).guarded(Guard::Due(due));
    match app.append(append).await {
        // Deleted, answered, or something else came of it meanwhile: the next look shows.
        Ok(_) | Err(AppendError::NotFound | AppendError::Instead(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn events(store: &Store, thread: &ThreadRef, due: &Due) -> Result<Vec<Event<'static>>, ReadError> {
    let asked = event_at(store, thread, due.seq)?;
    let seen = asked.as_ref().and_then(|asked| asked.get("visibility"));
    let name = match due.kind {
        InboxKind::Input => "inputId",
        InboxKind::Auth => "authId",
    };
    let task = due.task.as_deref().map(Raw::string);
    let mut events = vec![
        Event::new(Kind::InputExpired)
            .with_str(name, &due.id)
            .with_some("taskId", task.clone())
            .with_some("visibility", seen.map(Raw::to_owned)),
    ];
    if due.stalls {
        for call in &due.calls {
            events.push(interrupted(store, thread, call, NOBODY)?);
        }
        events.push(
            Event::new(Kind::TaskStatus)
                .with_some("taskId", task)
                .with_str("status", "failed")
                .with_str("code", "timeout")
                .with_str("message", NOBODY),
        );
    }
    Ok(events)
}
