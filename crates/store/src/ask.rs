//! Asking a store for more than journals. All of it is made behind the acknowledgement: it may be
//! some milliseconds late, and [`Store::settle`] waits for it. All of it blocks for the disk.

use std::cmp::Reverse;
use std::ops::Range;

use crate::query::{
    Artifact, Call, DayUsage, Failures, Found, Glance, InboxItem, InboxKind, InboxQuery, Kin,
    Listed, Overdue, Participant, Place, Placed, Spent, Summary, Task, TaskQuery, ThreadQuery,
    Unfinished, Usage, UsageQuery, Wanted, WhichVersion, Within,
};
use crate::rows::{lease, query};
use crate::spread::{Order, merged, sorted};
use crate::{Instead, KeyHash, Lease, Queue, ReadError, Store, ThreadRef};

impl Store {
    /// A page of threads, the one that was updated last first. A thread that is updated meanwhile
    /// moves to the front; all others come exactly once.
    pub fn threads(&self, asked: &ThreadQuery) -> Result<Listed<Summary>, ReadError> {
        Ok(merged(
            self.spread().each(|conn| query::threads(conn, asked))?,
            Order::Down,
            asked.limit,
        ))
    }

    /// A thread's line in that list.
    pub fn summary(&self, thread: &ThreadRef) -> Result<Option<Summary>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::summary(conn, thread.num))
    }

    /// The thread with all that it branched off from and all that branched off from those, at most
    /// so many, in the order they were made.
    pub fn family(&self, thread: &ThreadRef, limit: usize) -> Result<Vec<Kin>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::family(conn, thread, limit))
    }

    /// Who works in some threads (by their numbers), and what that has cost.
    pub fn glances(&self, threads: &[i64]) -> Result<Vec<Glance>, ReadError> {
        let glance = |num: &i64| self.spread().of(*num)?.with(|conn| query::glance(conn, *num));
        threads.iter().map(glance).collect()
    }

    /// Who takes part in a thread, in the order they came.
    pub fn participants(&self, thread: &ThreadRef) -> Result<Vec<Participant>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::participants(conn, thread))
    }

    /// A thread's tasks, in the order they began.
    pub fn tasks(&self, thread: &ThreadRef) -> Result<Vec<Task>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::tasks(conn, thread))
    }

    /// Tasks of a tenant with an id, the one that began last first. Ids are unique in a thread
    /// only.
    pub fn tasks_by_id(&self, tenant: &str, id: &str) -> Result<Vec<Placed>, ReadError> {
        let mut all = self.spread().each(|conn| query::tasks_by_id(conn, tenant, id))?;
        if all.len() == 1 {
            return Ok(all.pop().unwrap_or_default());
        }
        // Numbers of threads say only within a database which was made first.
        let mut all: Vec<Placed> = all.into_iter().flatten().collect();
        all.sort_by_key(|placed| Reverse(placed.task.began.1));
        all.truncate(query::SAME);
        Ok(all)
    }

    /// A page of tasks of a tenant, those whose state changed last first.
    pub fn tasks_of(&self, tenant: &str, asked: &TaskQuery) -> Result<Listed<Placed>, ReadError> {
        let lists = self.spread().each(|conn| query::tasks_of(conn, tenant, asked))?;
        Ok(merged(lists, Order::Down, asked.limit))
    }

    /// How many tasks there are on all pages.
    pub fn tasks_of_count(&self, tenant: &str, asked: &TaskQuery) -> Result<u64, ReadError> {
        let counts = self.spread().each(|conn| query::tasks_of_count(conn, tenant, asked))?;
        Ok(counts.into_iter().sum())
    }

    /// A page of tasks of all threads that someone here is to do and that are not over.
    pub fn wanted(&self, limit: usize, after: Option<&Place>) -> Result<Listed<Wanted>, ReadError> {
        let lists = self.spread().those_there(|conn| query::wanted(conn, limit, after))?;
        Ok(merged(lists, Order::Up, limit))
    }

    /// The same without those that a node is at, where nodes share a database.
    pub fn unclaimed(
        &self,
        limit: usize,
        after: Option<&Place>,
    ) -> Result<Listed<Wanted>, ReadError> {
        if !self.is_shared() {
            return self.wanted(limit, after);
        }
        let lists = self.spread().those_there(|conn| query::unclaimed(conn, limit, after))?;
        Ok(merged(lists, Order::Up, limit))
    }

    /// Tasks of an agent that can be claimed at a moment, the oldest first, and when the next one
    /// may be.
    pub fn queue(
        &self,
        tenant: &str,
        agent: &str,
        now: i64,
        limit: usize,
    ) -> Result<Queue, ReadError> {
        let queues =
            self.spread().those_there(|conn| lease::queue(conn, tenant, agent, now, limit))?;
        let (lists, nexts): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
        let items = sorted(lists, Order::Up).into_iter().map(|(queued, _)| queued);
        Ok(Queue { items: items.take(limit).collect(), next: nexts.into_iter().flatten().min() })
    }

    /// A lease of a thread, if there is one of that token, whether or not it still counts.
    pub fn lease(&self, thread: &ThreadRef, token: &KeyHash) -> Result<Option<Lease>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| Ok(lease::find(conn, thread.num, token)?))
    }

    /// What is so instead of a lease that counts, if it does not.
    pub fn not_held(
        &self,
        thread: &ThreadRef,
        token: &KeyHash,
    ) -> Result<Option<Instead>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| lease::not_held(conn, thread.num, token))
    }

    /// A page of tasks of all threads that the router made and that are over, but whose end it has
    /// not taken up.
    pub fn unanswered(
        &self,
        limit: usize,
        after: Option<&Place>,
    ) -> Result<Listed<Wanted>, ReadError> {
        let lists = self.spread().those_there(|conn| query::unanswered(conn, limit, after))?;
        Ok(merged(lists, Order::Up, limit))
    }

    /// Tasks of one thread that someone here is to do and that are not over, in the order they
    /// began.
    pub fn wanted_in(&self, thread: &ThreadRef) -> Result<Vec<Task>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::wanted_in(conn, thread))
    }

    /// What waits for someone in one thread, the oldest first.
    pub fn pending(&self, thread: &ThreadRef) -> Result<Vec<InboxItem>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::pending(conn, thread))
    }

    /// A page of what waits for someone in all threads of a tenant, the oldest first.
    pub fn inbox(&self, tenant: &str, asked: &InboxQuery) -> Result<Listed<InboxItem>, ReadError> {
        let lists = self.spread().each(|conn| query::inbox(conn, tenant, asked))?;
        Ok(merged(lists, Order::Up, asked.limit))
    }

    /// A question or request for credentials, answered or not.
    pub fn question(
        &self,
        thread: &ThreadRef,
        kind: InboxKind,
        id: &str,
    ) -> Result<Option<InboxItem>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::question(conn, thread, kind, id))
    }

    /// Questions whose time has passed at a moment, so many of each database, and when the time of
    /// the next one passes.
    pub fn due(&self, now: i64, limit: usize) -> Result<Overdue, ReadError> {
        let parts = self.spread().those_there(|conn| query::due(conn, now, limit))?;
        let next = parts.iter().filter_map(|part| part.next).min();
        Ok(Overdue { items: parts.into_iter().flat_map(|part| part.items).collect(), next })
    }

    /// Tasks and tool calls that have not ended.
    pub fn unfinished(&self, thread: &ThreadRef, within: &Within) -> Result<Unfinished, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::unfinished(conn, thread.num, within))
    }

    /// A task.
    pub fn task(&self, thread: &ThreadRef, id: &str) -> Result<Option<Task>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::task(conn, thread, id))
    }

    /// A tool call.
    pub fn call(&self, thread: &ThreadRef, id: &str) -> Result<Option<Call>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::call(conn, thread.num, id))
    }

    /// A thread's artifacts with all their versions, in the order they began.
    pub fn artifacts(&self, thread: &ThreadRef) -> Result<Vec<Artifact>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::artifacts(conn, thread, 0..usize::MAX))
    }

    /// Some of a thread's artifacts, counted from 0 in the order they began.
    pub fn artifacts_within(
        &self,
        thread: &ThreadRef,
        within: Range<usize>,
    ) -> Result<Vec<Artifact>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::artifacts(conn, thread, within))
    }

    /// An artifact with the versions asked for, if there are any.
    pub fn artifact(
        &self,
        thread: &ThreadRef,
        id: &str,
        which: WhichVersion,
    ) -> Result<Option<Artifact>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::artifact(conn, thread, id, which))
    }

    /// Tokens used in a thread, by agent and model.
    pub fn usage(&self, thread: &ThreadRef) -> Result<Vec<Usage>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| query::usage(conn, thread))
    }

    /// Tokens used in all threads of a tenant, by day (counted from 1970, UTC), agent and model.
    pub fn usage_by_day(&self, tenant: &str, days: Range<i64>) -> Result<Vec<DayUsage>, ReadError> {
        self.spread().usage_by_day(tenant, &days)
    }

    /// A page of sums of what was used in the threads of a tenant.
    pub fn spent(&self, tenant: &str, asked: &UsageQuery) -> Result<Listed<Spent>, ReadError> {
        self.spread().spent(tenant, asked)
    }

    /// What failed in the threads of a tenant, what failed most first; told apart by what failed,
    /// with which code, and whose it was.
    pub fn failures(&self, tenant: &str, asked: &UsageQuery) -> Result<Vec<Failures>, ReadError> {
        self.spread().failures(tenant, asked)
    }

    /// A page of events whose finished text has all these words, the newest first. Quoted words
    /// must stand together, and `*` behind a word stands for any ending. A shared past is found in
    /// the thread it was written to.
    pub fn search(
        &self,
        tenant: &str,
        words: &str,
        limit: usize,
        after: Option<&Place>,
    ) -> Result<Listed<Found>, ReadError> {
        self.spread()
            .found(limit, after, |conn, before| query::search(conn, tenant, words, limit, before))
    }
}
