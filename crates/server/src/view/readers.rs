//! Who reads what just now, and how far behind they are.
//!
//! Invariant: what a reader does for this while it reads is to store three numbers; whoever wants to
//! know looks at them.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use http::HeaderValue;
use selvedge_store::Tail;

use super::{Format, lock};
use crate::auth::Principal;
use crate::clock::now;
use crate::metrics::Rung;

tokio::task_local! {
    // Readers are opened at the end of many ways, which have no other use for it.
    static CALLER: Caller;
}

/// Bytes of what a client calls itself that are shown.
const CLIENT_BYTES: usize = 120;

/// Who makes a request, and from where.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    tenant: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) peer: Option<IpAddr>,
    /// What their program calls itself.
    client: Option<HeaderValue>,
}

impl Caller {
    pub(crate) fn new(
        principal: &Principal,
        peer: Option<IpAddr>,
        client: Option<HeaderValue>,
    ) -> Self {
        Self { tenant: principal.tenant.clone(), name: principal.name.clone(), peer, client }
    }

    /// What their program calls itself, the beginning of it.
    pub(crate) fn client(&self) -> Option<&str> {
        let client = self.client.as_ref()?.to_str().ok()?;
        client.get(..CLIENT_BYTES).or(Some(client))
    }

    /// Answers their request; readers that are opened for it are theirs.
    pub(crate) async fn answered<T>(self, answer: impl Future<Output = T>) -> T {
        CALLER.scope(self, answer).await
    }
}

/// The readers there are.
#[derive(Default)]
pub(crate) struct Readers {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Reading>>>,
}

/// One of them.
pub(crate) struct Reading {
    pub(crate) id: u64,
    pub(crate) caller: Caller,
    /// The thread's id, unless it came by a share.
    pub(crate) thread: Option<String>,
    pub(crate) epoch: u64,
    pub(crate) format: Format,
    /// When it came, in milliseconds since 1970.
    pub(crate) since: i64,
    tail: Arc<Tail>,
    seen: AtomicU64,
    told: AtomicU64,
    /// Whether it reads the journal.
    behind: AtomicBool,
}

impl Reading {
    /// The last entry whose id it was told, how many entries it is behind, and its rung.
    pub(crate) fn standing(&self) -> (u64, u64, Rung) {
        let seen = self.seen.load(Ordering::Relaxed);
        let lag = self.tail.head().saturating_sub(seen);
        let rung = if self.behind.load(Ordering::Relaxed) { Rung::Journal } else { Rung::Live };
        (self.told.load(Ordering::Relaxed), lag, rung)
    }
}

impl Readers {
    /// The readers of a tenant, the oldest first.
    pub(crate) fn of(&self, tenant: &str) -> Vec<Arc<Reading>> {
        let open = lock(&self.open);
        open.values().filter(|reading| &*reading.caller.tenant == tenant).cloned().collect()
    }
}

/// A reader's place among the others, until it is gone.
pub(super) struct Seat {
    readers: Arc<Readers>,
    reading: Arc<Reading>,
}

impl Seat {
    /// A place for whoever makes the request that is answered now; none if nobody does.
    pub(super) fn take(
        readers: &Arc<Readers>,
        thread: Option<&str>,
        view: &super::View,
        (seen, told): (u64, u64),
    ) -> Option<Self> {
        let caller = CALLER.try_with(Caller::clone).ok()?;
        let reading = Arc::new(Reading {
            id: readers.next.fetch_add(1, Ordering::Relaxed),
            caller,
            thread: thread.map(str::to_owned),
            epoch: view.thread.epoch,
            format: view.kind.format,
            since: now(),
            tail: view.tail.clone(),
            seen: AtomicU64::new(seen),
            told: AtomicU64::new(told),
            behind: AtomicBool::new(false),
        });
        lock(&readers.open).insert(reading.id, reading.clone());
        Some(Self { readers: readers.clone(), reading })
    }

    /// Tells where the reader stands.
    pub(super) fn at(&self, seen: u64, told: u64) {
        self.reading.seen.store(seen, Ordering::Relaxed);
        self.reading.told.store(told, Ordering::Relaxed);
    }

    /// Tells from where it reads.
    pub(super) fn on(&self, rung: Rung) {
        self.reading.behind.store(rung == Rung::Journal, Ordering::Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.readers.open).remove(&self.reading.id);
    }
}
