//! Tools: how often they were called, how often they failed, how long they took.

use selvedge_protocol::journal::transcript::{Action, ActionKind, Transcript};
use selvedge_protocol::time;

/// One tool's calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) calls: usize,
    pub(super) failed: usize,
    /// Calls without a return.
    pub(super) open: usize,
    /// Milliseconds between calls and their returns, where both have a time.
    pub(super) millis: Option<i64>,
}

/// The tools of a thread, in the order of their first calls.
pub(super) fn tools(transcript: &Transcript) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    let actions = transcript.actions();
    for call in actions.iter().filter(|a| a.kind == ActionKind::ToolCall && !a.superseded) {
        let name = call.get("toolName").and_then(|name| name.str()).unwrap_or_default();
        let at = tools.iter().position(|tool| tool.name == name).unwrap_or_else(|| {
            tools.push(Tool { name: name.into_owned(), ..Tool::default() });
            tools.len() - 1
        });
        let Some(tool) = tools.get_mut(at) else { continue };
        tool.calls += 1;
        match call.counterpart.and_then(|at| actions.get(at)) {
            None => tool.open += 1,
            Some(back) => {
                tool.failed += usize::from(failed(back));
                if let (Some(from), Some(until)) = (millis(call), millis(back)) {
                    *tool.millis.get_or_insert(0) += (until - from).max(0);
                }
            }
        }
    }
    tools
}

fn failed(back: &Action) -> bool {
    let outcome = back.get("outcome").and_then(|outcome| outcome.str());
    match back.get("success").and_then(|success| success.bool()) {
        Some(success) => !success,
        None => outcome.is_some_and(|outcome| outcome != "success"),
    }
}

fn millis(action: &Action) -> Option<i64> {
    time::to_millis(&action.timestamp.as_ref()?.str()?)
}
