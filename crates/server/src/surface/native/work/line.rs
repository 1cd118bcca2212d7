//! Those who wait for the work of an agent stand in line.
//!
//! Only the first of a line looks for tasks: the others cost nothing, and whoever came first is
//! served first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Held by whoever is first.
type Line = tokio::sync::Mutex<()>;
/// Whose tasks: a tenant and an agent.
type Of = (Arc<str>, String);

/// The lines, by tenant and agent.
#[derive(Default)]
pub(crate) struct Lines {
    lines: Mutex<HashMap<Of, Weak<Line>>>,
}

impl Lines {
    /// The line for the tasks of an agent.
    pub(super) fn of(&self, tenant: &Arc<str>, agent: &str) -> Arc<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), agent.to_owned());
        if let Some(line) = lines.get(&key).and_then(Weak::upgrade) {
            return line;
        }
        // Nobody stands in them any more.
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::default();
        lines.insert(key, Arc::downgrade(&line));
        line
    }
}
