//! What failed, by agent, code and day.

use crate::db::{self, Connection, params};

use super::thread::Thread;
use super::{Origin, Seen, fits};

/// What can fail.
pub(super) const TASK: &str = "task";
pub(super) const TOOL: &str = "tool";
pub(super) const ERROR: &str = "error";

const DAY: i64 = 86_400_000;
/// Bytes of a code; what is longer is no code.
const CODE_BYTES: usize = 100;

/// Counts something that failed with the code that the event tells, of whoever it names, or else of
/// the agent whose task it is.
pub(super) fn count(
    conn: &Connection,
    thread: &Thread,
    seen: &Seen<'_, '_>,
    what: &str,
    agent: Option<&str>,
) -> db::Result<()> {
    let (name, usual) = if what == TOOL { ("outcome", "failed") } else { ("code", "unknown") };
    let code = seen.event.str(name).filter(|code| !code.is_empty() && code.len() <= CODE_BYTES);
    let own = seen.event.str("agentId").filter(|agent| fits(agent));
    let mut add = conn.prepare_cached(
        "INSERT INTO failure (thread, shared, day, agent, what, code, tenant, times) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1) \
         ON CONFLICT (thread, shared, day, agent, what, code) \
             DO UPDATE SET times = failure.times + 1",
    )?;
    add.execute(params![
        thread.num,
        seen.origin != Origin::Own,
        seen.at.div_euclid(DAY),
        own.as_deref().or(agent).unwrap_or_default(),
        what,
        code.as_deref().unwrap_or(usual),
        thread.tenant,
    ])?;
    Ok(())
}
