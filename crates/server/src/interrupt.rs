//! The end of a tool call that nobody waits for any more.

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_store::{Call, ReadError, Store, ThreadRef};

use crate::state::event_at;

/// That a call was interrupted, and why; whoever sees its beginning sees it. Blocks for the disk.
pub(crate) fn interrupted(
    store: &Store,
    thread: &ThreadRef,
    call: &Call,
    why: &str,
) -> Result<Event<'static>, ReadError> {
    let began = event_at(store, thread, call.began)?;
    let seen = began.as_ref().and_then(|began| began.get("visibility"));
    Ok(Event::new(Kind::ToolComplete)
        .with_some("taskId", call.task.as_deref().map(Raw::string))
        .with_str("toolCallId", &call.id)
        .with_str("toolName", call.tool.as_deref().unwrap_or("unknown"))
        .with("success", Raw::Ref("false"))
        .with_str("outcome", "interrupted")
        .with_str("error", why)
        .with_some("visibility", seen.map(Raw::to_owned)))
}
