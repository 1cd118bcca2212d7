//! Tokens by agent, model and day.

use rusqlite::{Connection, params};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::journal::fold::{Tokens, model_of};

use super::thread::Thread;
use super::{ID_BYTES, Origin, Seen, task};

const DAY: i64 = 86_400_000;
/// More tokens than anyone will count, and still a whole number as a float.
const MOST: u64 = 1 << 53;
/// The same for money.
const MOST_COST: f64 = 1e15;

pub(super) fn apply(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
) -> rusqlite::Result<()> {
    let Some(tokens) = Tokens::told(seen.event) else { return Ok(()) };
    let tells = seen.event.kind() == Kind::StepFinished;
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
    add(conn, thread, seen, &tokens)
}

fn add(
    conn: &Connection,
    thread: &Thread,
    seen: &Seen<'_, '_>,
    tokens: &Tokens,
) -> rusqlite::Result<()> {
    // A sum beyond 64 bits would turn into a float and not fit its column.
    let mut add = conn.prepare_cached(
        "INSERT INTO usage (thread, shared, day, agent, model, tenant, \
             input, output, cached, reasoning, calls, cost) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
         ON CONFLICT DO UPDATE SET \
             input = min(input + excluded.input, 1 << 53), \
             output = min(output + excluded.output, 1 << 53), \
             cached = min(cached + excluded.cached, 1 << 53), \
             reasoning = min(reasoning + excluded.reasoning, 1 << 53), \
             calls = calls + excluded.calls, cost = cost + excluded.cost",
    )?;
    let model = model_of(seen.event).filter(|model| model.len() <= ID_BYTES);
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
        cost.clamp(-MOST_COST, MOST_COST)
    ])?;
    Ok(())
}
