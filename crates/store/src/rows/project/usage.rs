//! Tokens and time by agent, model and day.

use crate::db::{self, Connection, params};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::journal::fold::{Tokens, model_of};

use super::thread::Thread;
use super::{Origin, Seen, fits, task};

const DAY: i64 = 86_400_000;
/// More tokens than anyone will count, and still a whole number as a float.
const MOST: u64 = 1 << 53;
/// The same for money.
const MOST_COST: f64 = 1e15;
/// A model call that took longer was not waited for.
const MOST_MILLIS: i64 = 86_400_000;

pub(super) fn apply(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    let tells = seen.event.kind() == Kind::StepFinished;
    let took = if tells { took(conn, thread, seen)? } else { None };
    let Some(tokens) = Tokens::told(seen.event) else { return Ok(()) };
    let told = match seen.id("taskId") {
        Some(id) => {
            let task = task::get(conn, thread, &id, seen)?;
            let told = task.told;
            task.told |= tells;
            task.is_changed |= task.told != told;
            told
        }
        None => {
            let told = thread.summary.told;
            thread.summary.told |= tells;
            told
        }
    };
    if told && seen.event.kind() == Kind::LlmUsage {
        return Ok(());
    }
    add(conn, thread, seen, &tokens, took)
}

/// How many milliseconds the model call took that ends here. What begins and ends in one append was
/// told afterwards: nobody knows.
fn took(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<Option<i64>> {
    let Some(id) = seen.id("taskId") else { return Ok(None) };
    let task = task::get(conn, thread, &id, seen)?;
    let began = task.step_at.take();
    task.is_changed |= began.is_some();
    Ok(began
        .map(|began| seen.at.saturating_sub(began))
        .filter(|took| (1..=MOST_MILLIS).contains(took)))
}

fn add(
    conn: &Connection,
    thread: &Thread,
    seen: &Seen<'_, '_>,
    tokens: &Tokens,
    took: Option<i64>,
) -> db::Result<()> {
    // A sum beyond 64 bits would turn into a float and not fit its column.
    let mut add = conn.prepare_cached(
        "INSERT INTO usage (thread, shared, day, agent, model, tenant, \
             input, output, cached, reasoning, calls, cost, timed, millis, slowest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14) \
         ON CONFLICT (thread, shared, day, agent, model) DO UPDATE SET \
             input = CASE WHEN usage.input + ?7 < ?15 THEN usage.input + ?7 ELSE ?15 END, \
             output = CASE WHEN usage.output + ?8 < ?15 THEN usage.output + ?8 ELSE ?15 END, \
             cached = CASE WHEN usage.cached + ?9 < ?15 THEN usage.cached + ?9 ELSE ?15 END, \
             reasoning = CASE WHEN usage.reasoning + ?10 < ?15 \
                 THEN usage.reasoning + ?10 ELSE ?15 END, \
             calls = CASE WHEN usage.calls + ?11 < ?15 THEN usage.calls + ?11 ELSE ?15 END, \
             cost = usage.cost + ?12, timed = usage.timed + ?13, millis = usage.millis + ?14, \
             slowest = CASE WHEN usage.slowest > ?14 THEN usage.slowest ELSE ?14 END",
    )?;
    let model = model_of(seen.event).filter(|model| fits(model));
    let count = |tokens: u64| tokens.min(MOST) as i64;
    let cost = if tokens.cost.is_nan() { 0.0 } else { tokens.cost };
    add.execute(params![
        thread.num,
        seen.origin != Origin::Own,
        seen.at.div_euclid(DAY),
        seen.id("agentId").unwrap_or_default(),
        model.unwrap_or_default(),
        thread.tenant,
        count(tokens.input),
        count(tokens.output),
        count(tokens.cached),
        count(tokens.reasoning),
        count(tokens.calls),
        cost.clamp(-MOST_COST, MOST_COST),
        took.is_some(),
        took.unwrap_or(0),
        MOST as i64
    ])?;
    Ok(())
}
