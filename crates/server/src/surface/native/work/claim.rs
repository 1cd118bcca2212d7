//! Claiming: finding a task that nobody holds, and taking it.

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::Desk;
use selvedge_protocol::journal::{Cursor, Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use selvedge_store::{
    Append, AppendError, Appended, Guard, KeyHash, NewLease, Prior, Queued, ThreadKey, lease_token,
};
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::asked::{Asked, asked};
use crate::app::Closing;
use crate::clock::now;
use crate::event::Stamp;
use crate::surface::native::threads::encode;
use crate::{App, Error};

/// Tasks that are looked at together.
const TOGETHER: usize = 16;
/// The longest time until the next look: another server may have written to the store.
const PERIOD: Duration = Duration::from_secs(2);
/// The shortest one, where others were faster.
const BREATH: Duration = Duration::from_millis(20);
/// Attempts at one task. One whose workers all vanish is not given out for ever.
const ATTEMPTS: u32 = 20;
/// Why an attempt is void whose worker was not heard of in time.
const EXPIRED: &str = "lease expired";

/// Someone who asks for work.
pub(super) struct Asker {
    pub(super) app: App,
    pub(super) desk: Desk,
    pub(super) tenant: Arc<str>,
    /// Whose tasks.
    pub(super) agent: String,
    /// What the journal calls whoever asks.
    pub(super) worker: String,
    /// How long the lease is to be.
    pub(super) time: Duration,
}

/// A task that was claimed.
pub(super) struct Claim {
    pub(super) thread: ThreadKey,
    pub(super) task: String,
    pub(super) attempt: u32,
    pub(super) token: KeyHash,
    text: String,
    agent: String,
    worker: String,
    parent: Option<String>,
    asked: Asked,
    time: Duration,
    appended: Appended,
}

impl Asker {
    /// Claims the oldest task that can be; waits for one until some moment.
    pub(super) async fn claim(&self, until: Instant) -> Result<Option<Claim>, Error> {
        let line = self.app.lines().of(&self.tenant, &self.agent);
        // While someone else is first there is nothing.
        let Ok(_first) = timeout_at(until, line.lock()).await else { return Ok(None) };
        let (mut news, mut closing) = (self.desk.news(), self.app.closing());
        loop {
            news.mark_unchanged();
            let wait = match self.look().await? {
                Looked::Claimed(claim) => return Ok(Some(*claim)),
                Looked::Nothing { next } => next.unwrap_or(PERIOD).clamp(BREATH, PERIOD),
            };
            if Instant::now() >= until || *closing.borrow_and_update() == Closing::Now {
                return Ok(None);
            }
            tokio::select! {
                () = sleep_until(until.min(Instant::now() + wait)) => {}
                _ = news.changed() => {}
                _ = closing.changed() => {}
            }
        }
    }

    async fn look(&self) -> Result<Looked, Error> {
        self.app.store().up_to_date().await?;
        let (tenant, agent) = (self.tenant.clone(), self.agent.clone());
        let queue = self
            .app
            .blocking(move |store| Ok(store.queue(&tenant, &agent, now(), TOGETHER)?))
            .await?;
        let is_contended = !queue.items.is_empty();
        for queued in queue.items {
            if let Some(claim) = self.take(queued).await? {
                return Ok(Looked::Claimed(Box::new(claim)));
            }
        }
        let left = |at: i64| Duration::from_millis(u64::try_from(at - now()).unwrap_or(0));
        let next = if is_contended { Some(BREATH) } else { queue.next.map(left) };
        Ok(Looked::Nothing { next })
    }

    /// Takes a task, unless someone was faster.
    async fn take(&self, queued: Queued) -> Result<Option<Claim>, Error> {
        let (text, token) = lease_token()?;
        let attempt = queued.attempts + 1;
        let lease = NewLease {
            task: queued.task.clone(),
            agent: self.agent.clone(),
            worker: self.worker.clone(),
            token,
            attempt,
            time: self.time,
        };
        let stamp = Stamp::new(&queued.thread.id, now()).of(&queued.task, &self.agent);
        let append = Append::new(queued.thread.clone(), stamp.own(&self.told(&queued))?)
            .guarded(Guard::Free(Box::new(lease)));
        let appended = match self.app.append(append).await {
            Ok(appended) => appended,
            // Someone else has it, or it is gone.
            Err(AppendError::Instead(_) | AppendError::NotFound) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if attempt > ATTEMPTS {
            return Ok(None);
        }
        let (of, task, began) = (appended.thread.clone(), queued.task.clone(), queued.began);
        let asked = self.app.blocking(move |store| Ok(asked(store, &of, &task, began)?)).await?;
        Ok(Some(Claim {
            thread: queued.thread,
            task: queued.task,
            attempt,
            token,
            text,
            agent: self.agent.clone(),
            worker: self.worker.clone(),
            parent: queued.parent,
            asked,
            time: self.time,
            appended,
        }))
    }

    /// What the journal says of it: what the last one streamed is void, and this one is at work.
    fn told(&self, queued: &Queued) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        if queued.prior == Prior::Expired {
            let which = format!("{{\"attempt\":{}}}", queued.attempts);
            events.push(
                Event::new(Kind::AttemptSuperseded)
                    .with_str("reason", EXPIRED)
                    .with("metadata", Raw::owned(which)),
            );
        }
        let status = Event::new(Kind::TaskStatus);
        events.push(if queued.attempts < ATTEMPTS {
            let attempt = queued.attempts + 1;
            let who = format!("{{\"workerId\":{},\"attempt\":{attempt}}}", quote(&self.worker));
            status.with("status", Raw::Ref("\"working\"")).with("metadata", Raw::owned(who))
        } else {
            status
                .with("status", Raw::Ref("\"failed\""))
                .with_str("code", "abandoned")
                .with_str("message", &format!("{ATTEMPTS} workers began and none finished"))
        });
        events
    }
}

/// What came of a look.
enum Looked {
    Claimed(Box<Claim>),
    /// There was nothing.
    Nothing {
        /// How long until there may be something.
        next: Option<Duration>,
    },
}

impl Claim {
    /// All that a worker needs to know.
    pub(super) fn json(&self) -> String {
        let cursor = Cursor { epoch: self.appended.thread.epoch, seq: self.appended.last };
        let path = format!("/api/threads/{}", encode(&self.thread.id));
        let agent = encode(&self.agent);
        json!({
            "threadId": &*self.thread.id,
            "taskId": self.task,
            "parentTaskId": self.parent,
            "agentId": self.agent,
            "workerId": self.worker,
            "attempt": self.attempt,
            "messageId": self.asked.message,
            "prompt": self.asked.prompt,
            "lease": self.text,
            "leaseMs": u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX),
            "expiresAt": super::lease::after(self.appended.at, self.time),
            "cursor": cursor.to_string(),
            "links": {
                "thread": path,
                "events": format!("{path}/events"),
                "stream": format!("{path}/stream?after={cursor}"),
                "history": format!("{path}/export?dialect=pydantic-ai&agent={agent}"),
                "lease": format!("{path}/tasks/{}/lease", encode(&self.task)),
            },
        })
        .to_string()
    }
}
