//! The way to the writer: what it can be asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::desk::Desk;
use super::fold::Folding;
use crate::{
    Append, AppendError, Appended, Erase, Erasure, KeyHash, Lease, Progress, Promote, PromoteError,
    Promoted, Redact, RedactError, Redacted, TendError, Then, ThreadKey,
};

pub(super) type Reply = oneshot::Sender<Result<Appended, AppendError>>;

/// What the writer can be asked to do.
pub(super) enum Command {
    Append(Box<Append>, Reply),
    /// Deletes a thread.
    Delete(ThreadKey, oneshot::Sender<Result<(), TendError>>),
    /// Takes the content out of events.
    Redact(Box<Redact>, oneshot::Sender<Result<Redacted, RedactError>>),
    /// Erases a thread.
    Erase(Box<Erase>, oneshot::Sender<Result<Vec<Erasure>, TendError>>),
    /// Folds some of what was committed before a moment.
    Fold(i64, oneshot::Sender<Result<Folding, TendError>>),
    /// Lets a branch take the place of the thread it came from.
    Promote(Box<Promote>, oneshot::Sender<Result<Promoted, PromoteError>>),
    /// Renews a lease or lets it go, without a word in the journal.
    Lease(ThreadKey, KeyHash, Then, oneshot::Sender<Result<Lease, AppendError>>),
    /// Drops what follows the journal.
    Rebuild(oneshot::Sender<Result<Progress, TendError>>),
    /// Brings what is known of threads up to date.
    Fresh(oneshot::Sender<Result<(), TendError>>),
    /// Catches up a little.
    CatchUp(oneshot::Sender<Result<Progress, TendError>>),
}

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct WriterHandle {
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl WriterHandle {
    pub(super) fn new(desk: Arc<Desk>, thread: JoinHandle<()>) -> Self {
        Self { desk, thread: Mutex::new(Some(thread)) }
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Append(Box::new(append), reply)).map_err(unsent)?;
        answer.await.unwrap_or(Err(AppendError::Closed))
    }

    pub(crate) async fn lease(
        &self,
        thread: ThreadKey,
        token: KeyHash,
        then: Then,
    ) -> Result<Lease, AppendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Lease(thread, token, then, reply)).map_err(unsent)?;
        answer.await.unwrap_or(Err(AppendError::Closed))
    }

    pub(crate) async fn delete(&self, key: ThreadKey) -> Result<(), TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Delete(key, reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    pub(crate) async fn redact(&self, redact: Redact) -> Result<Redacted, RedactError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Redact(Box::new(redact), reply))?;
        answer.await.unwrap_or(Err(RedactError::Tend(TendError::Closed)))
    }

    pub(crate) async fn erase(&self, erase: Erase) -> Result<Vec<Erasure>, TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Erase(Box::new(erase), reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    pub(crate) async fn fold(&self, before: i64) -> Result<Folding, TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Fold(before, reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    pub(crate) async fn promote(&self, promote: Promote) -> Result<Promoted, PromoteError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Promote(Box::new(promote), reply))?;
        answer.await.unwrap_or(Err(PromoteError::Tend(TendError::Closed)))
    }

    pub(crate) async fn rebuild(&self) -> Result<Progress, TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Rebuild(reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    pub(crate) async fn fresh(&self) -> Result<(), TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Fresh(reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    pub(crate) async fn catch_up(&self) -> Result<Progress, TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::CatchUp(reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    fn send(&self, command: Command) -> Result<(), TendError> {
        self.desk.push(command)
    }
}

fn unsent(error: TendError) -> AppendError {
    match error {
        TendError::Busy => AppendError::Busy,
        _ => AppendError::Closed,
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.desk.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // What was taken is committed before the store is gone.
            let _ = thread.join();
        }
    }
}
