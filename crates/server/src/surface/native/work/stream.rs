//! Work as a stream of server-sent events: a task as soon as there is one and the worker has a
//! hand free, and what it must know of those that it has.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_store::{Instead, KeyHash, ThreadKey};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::claim::Asker;
use crate::app::Closing;
use crate::surface::native::stream::event_stream;
use crate::{App, Error};

/// How often something is sent, so that nobody takes the connection for dead.
const BEAT: Duration = Duration::from_secs(15);
/// How often tasks at work are looked at while there is a hand free for more.
const GLANCE: Duration = Duration::from_secs(1);

/// Gives out tasks, so many at once.
pub(super) fn open(asker: Asker, max: usize) -> Response {
    let news = asker.desk.news();
    let ready = VecDeque::from([Bytes::from_static(b"retry: 1000\n\n")]);
    let closing = asker.app.closing();
    let giving = Giving { asker, max, news, closing, at_work: Vec::new(), ready };
    let bytes = stream::unfold(giving, |mut giving| async move {
        let next = giving.next().await?;
        Some((next, giving))
    });
    event_stream(Body::from_stream(bytes))
}

struct Giving {
    asker: Asker,
    max: usize,
    news: watch::Receiver<u64>,
    closing: watch::Receiver<Closing>,
    at_work: Vec<AtWork>,
    /// Frames to be sent.
    ready: VecDeque<Bytes>,
}

/// A task that was given out on this stream.
#[derive(Clone)]
struct AtWork {
    thread: ThreadKey,
    task: String,
    attempt: u32,
    token: KeyHash,
}

impl Giving {
    async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        let beat = Instant::now() + BEAT;
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(Ok(frame));
            }
            if *self.closing.borrow() == Closing::Now {
                return None;
            }
            if Instant::now() >= beat {
                return Some(Ok(Bytes::from_static(b": still here\n\n")));
            }
            if let Err(error) = self.step(beat).await {
                return Some(Err(error));
            }
        }
    }

    /// Waits for something to say.
    async fn step(&mut self, beat: Instant) -> Result<(), Error> {
        self.news.mark_unchanged();
        self.glance().await?;
        if !self.ready.is_empty() {
            return Ok(());
        }
        if self.at_work.len() >= self.max {
            tokio::select! {
                () = tokio::time::sleep_until(beat) => {}
                _ = self.news.changed() => {}
                _ = self.closing.changed() => {}
            }
            return Ok(());
        }
        let until = if self.at_work.is_empty() { beat } else { Instant::now() + GLANCE };
        // To its end: a claim that is dropped half way would be nobody's until its lease ends.
        if let Some(claim) = self.asker.claim(until).await? {
            self.ready.push_back(frame("work", &claim.json()));
            let (thread, task) = (claim.thread.clone(), claim.task.clone());
            let (attempt, token) = (claim.attempt, claim.token);
            self.at_work.push(AtWork { thread, task, attempt, token });
        }
        Ok(())
    }

    /// Looks at the tasks at work: who lost one or need not go on is told.
    async fn glance(&mut self) -> Result<(), Error> {
        if self.at_work.is_empty() {
            return Ok(());
        }
        self.asker.app.store().up_to_date().await?;
        for at_work in std::mem::take(&mut self.at_work) {
            let told = match instead(&self.asker.app, &at_work).await? {
                None => {
                    self.at_work.push(at_work);
                    continue;
                }
                Some(Instead::Over { state: TaskState::Canceled }) => "canceled",
                Some(Instead::Lost { .. } | Instead::Unleased) => "lost",
                Some(_) => continue,
            };
            let AtWork { thread, task, attempt, .. } = at_work;
            let data = json!({"threadId": &*thread.id, "taskId": task, "attempt": attempt});
            self.ready.push_back(frame(told, &data.to_string()));
        }
        Ok(())
    }
}

/// What is so instead of a lease that counts.
async fn instead(app: &App, at_work: &AtWork) -> Result<Option<Instead>, Error> {
    let (key, token) = (at_work.thread.clone(), at_work.token);
    let look = app.blocking(move |store| match store.thread(&key)? {
        Some(thread) => Ok(store.not_held(&thread, &token)?),
        None => Ok(Some(Instead::Unleased)),
    });
    look.await
}

fn frame(event: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}
