//! What waits in a thread, for surfaces whose clients answer in messages of their own.

use std::collections::HashSet;

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind, Visibility};
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::{InboxItem, Store, Task, ThreadRef, Within};

use crate::state::event_at;
use crate::{App, Error};

/// Entries of an append in which its tasks are looked for.
const APPEND: usize = 512;

/// Something that waits for an answer, with the event that asked.
pub(crate) struct Asked {
    pub(crate) item: InboxItem,
    pub(crate) event: Event<'static>,
}

impl Asked {
    /// Whether it asks for a yes or a no.
    pub(crate) fn confirms(&self) -> bool {
        self.event.get("inputType").is_some_and(|ty| ty.is("confirmation"))
    }
}

/// What waits in a thread and may be seen.
pub(crate) async fn asked(
    app: &App,
    thread: &ThreadRef,
    sees: Visibility,
) -> Result<Vec<Asked>, Error> {
    let thread = thread.clone();
    let find = move |store: &Store| {
        let mut out = Vec::new();
        for item in store.pending(&thread)? {
            let event = event_at(store, &thread, item.seq)?;
            let event = event.filter(|event| Visibility::of_event(event) <= sees);
            out.extend(event.map(|event| Asked { item, event }));
        }
        Ok(out)
    };
    app.blocking(find).await
}

/// Whether a text begins with a yes or a no.
pub(crate) fn word(text: &str) -> Option<bool> {
    let first = text.trim().split(|c: char| !c.is_alphabetic()).next()?.to_lowercase();
    match first.as_str() {
        "yes" | "ok" | "approve" | "approved" | "true" => Some(true),
        "no" | "deny" | "denied" | "reject" | "rejected" | "false" => Some(false),
        _ => None,
    }
}

/// The turns of a thread that are not over, in the order they began.
pub(crate) async fn unfinished(app: &App, thread: &ThreadRef) -> Result<Vec<Task>, Error> {
    app.store().fresh(thread).await?;
    let thread = thread.clone();
    let find = move |store: &Store| {
        let found = store.unfinished(&thread, &Within::Thread)?.tasks;
        let tasks = found.iter().map(|id| store.task(&thread, id));
        let tasks = tasks.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        let mut turns: Vec<Task> = tasks.filter(|task| task.parent.is_none()).collect();
        turns.sort_by_key(|task| task.began);
        Ok(turns)
    };
    app.blocking(find).await
}

/// The turns that began with one append: those of all who answer a message. With their entries.
pub(crate) async fn beside(
    app: &App,
    thread: &ThreadRef,
    began: u64,
) -> Result<Vec<(String, u64)>, Error> {
    let thread = thread.clone();
    let find = move |store: &Store| {
        let own = store.read(&thread, began.saturating_sub(1), 1, usize::MAX)?;
        let append = own.entries.first().map_or(began, |entry| entry.append);
        let page = store.read(&thread, append.saturating_sub(1), APPEND, usize::MAX)?;
        let mut turns = Vec::new();
        for entry in page.entries.iter().filter(|entry| entry.append == append) {
            let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            let begins = event.kind() == Kind::TaskCreated && event.str("parentTaskId").is_none();
            if let Some(task) = event.str("taskId").filter(|_| begins) {
                turns.push((task.into_owned(), entry.seq));
            }
        }
        Ok(turns)
    };
    app.blocking(find).await
}

/// The turns that go on without anyone's doing: neither they nor what came of them waits for a user.
pub(crate) async fn running(app: &App, thread: &ThreadRef) -> Result<Vec<Task>, Error> {
    let turns = unfinished(app, thread).await?;
    let of = thread.clone();
    let pending = app.blocking(move |store| Ok(store.pending(&of)?)).await?;
    let mut waiting = HashSet::new();
    for task in pending.into_iter().filter_map(|item| item.task) {
        waiting.insert(root_of(app, thread, task).await?);
    }
    let at_work = |task: &Task| {
        let waits = matches!(task.state, TaskState::WaitingInput | TaskState::WaitingAuth);
        !waits && !waiting.contains(&task.id)
    };
    Ok(turns.into_iter().filter(at_work).collect())
}

/// The entry that began a task, if there is one of that id.
pub(crate) async fn began(app: &App, thread: &ThreadRef, task: &str) -> Result<Option<u64>, Error> {
    let (thread, task) = (thread.clone(), task.to_owned());
    let found = app.blocking(move |store| Ok(store.task(&thread, &task)?)).await?;
    Ok(found.map(|task| task.began.0))
}

/// The turn that a task belongs to.
pub(crate) async fn root_of(
    app: &App,
    thread: &ThreadRef,
    mut task: String,
) -> Result<String, Error> {
    let thread = thread.clone();
    let find = move |store: &Store| {
        for _ in 0..64 {
            match store.task(&thread, &task)?.and_then(|found| found.parent) {
                Some(parent) => task = parent,
                None => break,
            }
        }
        Ok(task)
    };
    app.blocking(find).await
}
