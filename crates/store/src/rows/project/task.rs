//! Tasks and their tree.

use std::collections::hash_map::Entry;

use crate::db::{self, Connection, Optional as _, Row, params};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::json::Raw;

use super::thread::Thread;
use super::{Origin, Seen, call, failure, fits, inbox};

/// A task's row.
#[derive(Debug, PartialEq)]
pub(super) struct Task {
    nth: i64,
    parent: Option<String>,
    pub(super) agent: Option<String>,
    initiator: Option<String>,
    model: Option<String>,
    state: TaskState,
    /// Whether someone said that it was made; other events may just mention it.
    announced: bool,
    /// Whether someone here is to do it.
    wanted: bool,
    /// Whether the router made it, and whether it has taken up its end.
    routed: bool,
    answered: bool,
    /// Whether its model calls told their usage.
    pub(super) told: bool,
    /// When the model call that it makes began.
    pub(super) step_at: Option<i64>,
    began: i64,
    began_at: i64,
    ended: Option<(i64, i64)>,
    /// When its state changed last.
    changed_at: i64,
    pub(super) is_changed: bool,
}

/// How a task bears on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bearing {
    Works,
    Waits,
    Rests,
}

impl Task {
    fn new(nth: i64, seen: &Seen<'_, '_>) -> Self {
        Self {
            nth,
            parent: None,
            agent: None,
            initiator: None,
            model: None,
            state: TaskState::Created,
            announced: false,
            wanted: false,
            routed: false,
            answered: false,
            told: false,
            step_at: None,
            began: seen.seq as i64,
            began_at: seen.at,
            ended: None,
            changed_at: seen.at,
            is_changed: true,
        }
    }

    fn bearing(&self) -> Bearing {
        match self.state {
            TaskState::Working | TaskState::WaitingSubtask => Bearing::Works,
            TaskState::Created if self.announced => Bearing::Works,
            TaskState::WaitingInput | TaskState::WaitingAuth => Bearing::Waits,
            _ => Bearing::Rests,
        }
    }
}

/// Takes in what an event says of its task.
pub(super) fn apply(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    if seen.event.kind() == Kind::Message
        && let Some(id) = seen.id("answers")
    {
        let task = get(conn, thread, &id, seen)?;
        task.is_changed |= !task.answered;
        task.answered = true;
    }
    let Some(id) = seen.id("taskId") else { return Ok(()) };
    let agent = seen.id("agentId").or_else(|| {
        let agent = seen.event.at("metadata", "/agentId")?;
        agent.str().map(|agent| agent.into_owned()).filter(|agent| fits(agent))
    });
    let kind = seen.event.kind();
    let dispatched =
        kind == Kind::TaskCreated && seen.event.get("dispatched").and_then(Raw::bool) == Some(true);
    let is_of_here = (dispatched || kind == Kind::RouteDecided) && is_of_here(conn, thread, seen)?;
    let task = get(conn, thread, &id, seen)?;
    let was = task.bearing();
    fill(&mut task.agent, agent, &mut task.is_changed);
    fill(&mut task.initiator, seen.id("initiator"), &mut task.is_changed);
    if let Some(model) = seen.id("model")
        && matches!(kind, Kind::StepStarted | Kind::StepFinished | Kind::LlmUsage)
        && task.model.as_ref() != Some(&model)
    {
        task.model = Some(model);
        task.is_changed = true;
    }
    if kind == Kind::StepStarted {
        task.step_at = Some(seen.at);
        task.is_changed = true;
    }
    if kind == Kind::TaskCreated && !task.announced {
        task.announced = true;
        task.is_changed = true;
    }
    if dispatched && !task.wanted && is_of_here {
        task.wanted = true;
        task.is_changed = true;
    }
    if kind == Kind::RouteDecided && !task.routed && is_of_here {
        task.routed = true;
        task.is_changed = true;
    }
    let now = task.bearing();
    thread.summary.shift(was, now);
    if let Some(parent) = seen.id("parentTaskId") {
        adopt(conn, thread, seen, &parent, &id)?;
    }
    if kind == Kind::SubtaskCreated
        && let Some(child) = seen.id("subtaskId")
    {
        called(conn, thread, seen, &id, &child)?;
    }
    match TaskState::after(seen.event) {
        Some(state) => enter(conn, thread, seen, &id, state),
        None => Ok(()),
    }
}

/// Whether an event happened in this thread: not in one that it branched off from, nor before it
/// was imported.
fn is_of_here(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<bool> {
    Ok(seen.origin == Origin::Own && seen.seq as i64 > thread.past(conn)?)
}

/// A task called another.
fn called(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
    id: &str,
    child: &str,
) -> db::Result<()> {
    adopt(conn, thread, seen, id, child)?;
    let agent = seen.id("agentId");
    if id == child && agent.is_none() {
        return Ok(());
    }
    let child = get(conn, thread, child, seen)?;
    let was = child.bearing();
    child.announced = true;
    child.agent = agent.or(child.agent.take());
    child.is_changed = true;
    let now = child.bearing();
    thread.summary.shift(was, now);
    Ok(())
}

/// Brings a task to a state, unless it is over.
fn enter(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
    id: &str,
    state: TaskState,
) -> db::Result<()> {
    let task = get(conn, thread, id, seen)?;
    if !task.state.is_terminal() && task.state != state {
        let was = task.bearing();
        task.state = state;
        task.changed_at = seen.at;
        task.is_changed = true;
        let is_root = task.parent.is_none();
        if state.is_terminal() {
            task.ended = Some((seen.seq as i64, seen.at));
        }
        let now = task.bearing();
        thread.summary.shift(was, now);
        if state.is_terminal() && is_root {
            thread.summary.failed = state == TaskState::Failed;
        }
        if state == TaskState::Failed {
            let agent = thread.tasks.get(id).and_then(|task| task.agent.as_deref());
            failure::count(conn, thread, seen, failure::TASK, agent)?;
        }
    }
    if state.is_terminal() {
        inbox::over(conn, thread, id, seen.seq)?;
        call::over(conn, thread, id, seen.seq)?;
    }
    Ok(())
}

fn adopt(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
    parent: &str,
    child: &str,
) -> db::Result<()> {
    if parent == child {
        return Ok(());
    }
    let own = get(conn, thread, child, seen)?;
    if own.parent.is_none() {
        own.parent = Some(parent.to_owned());
        own.is_changed = true;
        get(conn, thread, parent, seen)?;
    }
    Ok(())
}

fn fill(field: &mut Option<String>, value: Option<String>, is_changed: &mut bool) {
    if field.is_none() && value.is_some() {
        *field = value;
        *is_changed = true;
    }
}

/// The task of that id, made if it is not there.
pub(super) fn get<'t>(
    conn: &Connection,
    thread: &'t mut Thread,
    id: &str,
    seen: &Seen<'_, '_>,
) -> db::Result<&'t mut Task> {
    let is_whole = thread.is_whole();
    match thread.tasks.entry(id.to_owned()) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(unknown) => {
            let found = if is_whole { None } else { find(conn, thread.num, id)? };
            let task = found.unwrap_or_else(|| {
                thread.summary.tasks += 1;
                Task::new(thread.summary.tasks - 1, seen)
            });
            Ok(unknown.insert(task))
        }
    }
}

fn find(conn: &Connection, thread: i64, id: &str) -> db::Result<Option<Task>> {
    let mut find = conn.prepare_cached(
        "SELECT nth, parent, agent, initiator, model, state, announced, told, began, \
             began_at, ended, ended_at, wanted, routed, answered, changed_at, step_at \
         FROM task WHERE thread = ?1 AND id = ?2",
    )?;
    find.query_row(params![thread, id], read).optional()
}

fn read(row: &Row<'_>) -> db::Result<Task> {
    let state: String = row.get(5)?;
    let (ended, ended_at): (Option<i64>, Option<i64>) = (row.get(10)?, row.get(11)?);
    Ok(Task {
        nth: row.get(0)?,
        parent: row.get(1)?,
        agent: row.get(2)?,
        initiator: row.get(3)?,
        model: row.get(4)?,
        state: TaskState::named(&state).unwrap_or(TaskState::Created),
        announced: row.get(6)?,
        wanted: row.get(12)?,
        routed: row.get(13)?,
        answered: row.get(14)?,
        told: row.get(7)?,
        step_at: row.get(16)?,
        began: row.get(8)?,
        began_at: row.get(9)?,
        ended: ended.zip(ended_at),
        changed_at: row.get(15)?,
        is_changed: false,
    })
}

/// Writes a task down.
pub(super) fn write(
    conn: &Connection,
    (thread, tenant): (i64, &str),
    id: &str,
    task: &mut Task,
) -> db::Result<()> {
    let mut write = conn.prepare_cached(
        "INSERT INTO task (thread, id, nth, parent, agent, initiator, model, state, announced, \
             told, began, began_at, ended, ended_at, wanted, routed, answered, tenant, changed_at, \
             step_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
             ?19, ?20) \
         ON CONFLICT (thread, id) DO UPDATE SET parent = ?4, agent = ?5, initiator = ?6, model = ?7, \
             state = ?8, announced = ?9, told = ?10, ended = ?13, ended_at = ?14, wanted = ?15, \
             routed = ?16, answered = ?17, changed_at = ?19, step_at = ?20",
    )?;
    write.execute(params![
        thread,
        id,
        task.nth,
        task.parent,
        task.agent,
        task.initiator,
        task.model,
        task.state.name(),
        task.announced,
        task.told,
        task.began,
        task.began_at,
        task.ended.map(|(seq, _)| seq),
        task.ended.map(|(_, at)| at),
        task.wanted,
        task.routed,
        task.answered,
        tenant,
        task.changed_at,
        task.step_at
    ])?;
    task.is_changed = false;
    Ok(())
}
