//! Calls that are open with a server, so that what the server says reaches the right one.
//!
//! Invariant: what a server asks reaches one call, the one it is about, or none: other calls may
//! belong to other people.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ProgressToken, RequestId};
use tokio::sync::watch;

use super::super::Invocation;

/// All calls that are open on one connection. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Calls {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    entries: Mutex<Entries>,
    /// Something was begun, named or ended.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Entries {
    next: u64,
    open: HashMap<u64, Entry>,
}

struct Entry {
    /// How the server names it; nothing while it is being sent.
    names: Option<(RequestId, ProgressToken)>,
    call: Arc<Call>,
}

/// A call that is open.
pub(super) struct Call {
    pub(super) invocation: Invocation,
    /// Questions so far.
    pub(super) questions: Arc<AtomicUsize>,
    /// The latest that the server told. Its reader is the call's: without it, the call is over.
    pub(super) news: watch::Sender<Option<News>>,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct News {
    pub(super) part: f64,
    pub(super) message: Option<String>,
}

/// Which call is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    Request(RequestId),
    Token(ProgressToken),
    /// The server does not tell: it is clear only if there is one.
    Only,
}

/// A call's place; it is given up when this is dropped.
pub(super) struct Place {
    calls: Calls,
    number: u64,
    pub(super) news: watch::Receiver<Option<News>>,
}

impl Calls {
    /// A call is about to be sent.
    pub(super) fn begin(&self, invocation: Invocation, questions: Arc<AtomicUsize>) -> Place {
        let (sender, news) = watch::channel(None);
        let call = Arc::new(Call { invocation, questions, news: sender });
        let mut entries = self.entries();
        let number = entries.next;
        entries.next += 1;
        entries.open.insert(number, Entry { names: None, call });
        drop(entries);
        Place { calls: self.clone(), number, news }
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.entries().open.is_empty()
    }

    /// The call that is meant. Waits for those that are being sent, which have no names yet.
    pub(super) async fn find(&self, which: &Which) -> Option<Arc<Call>> {
        let mut changed = self.shared.changed.subscribe();
        loop {
            {
                let entries = self.entries();
                let found = entries.open.values().find(|entry| match (which, &entry.names) {
                    (Which::Request(id), Some((own, _))) => id == own,
                    (Which::Token(token), Some((_, own))) => token == own,
                    (Which::Only, _) => entries.open.len() == 1,
                    _ => false,
                });
                if let Some(entry) = found {
                    return Some(entry.call.clone());
                }
                if entries.open.values().all(|entry| entry.names.is_some()) {
                    return None;
                }
            }
            changed.changed().await.ok()?;
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.shared.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// The number of the next question.
    pub(super) fn question(&self) -> usize {
        self.questions.fetch_add(1, Ordering::Relaxed)
    }
}

impl Place {
    /// The call was sent under these names.
    pub(super) fn named(&self, request: RequestId, token: ProgressToken) {
        if let Some(entry) = self.calls.entries().open.get_mut(&self.number) {
            entry.names = Some((request, token));
        }
        self.calls.shared.changed.send_replace(());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.calls.entries().open.remove(&self.number);
        self.calls.shared.changed.send_replace(());
    }
}
