//! The way to the writer: what it can be asked.

use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::rows::fold::Folding;
use crate::sqlite::Desk;
use crate::{
    Append, AppendError, Appended, Erase, Erasure, KeyHash, Lease, Progress, Promote, PromoteError,
    Promoted, Redact, RedactError, Redacted, TendError, Then, ThreadKey,
};

pub(crate) type Reply = oneshot::Sender<Result<Appended, AppendError>>;

/// What the writer can be asked to do.
pub(crate) enum Command {
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
    /// Brings what is known of a thread, or of all, up to date.
    Fresh(Option<i64>, oneshot::Sender<Result<(), TendError>>),
    /// Catches up a little.
    CatchUp(oneshot::Sender<Result<Progress, TendError>>),
}

impl Command {
    /// Answers that it is not done.
    pub(crate) fn refuse(self, why: &TendError) {
        // Whoever asked may have gone.
        match self {
            Self::Append(_, reply) => drop(reply.send(Err(unsent(why.clone())))),
            Self::Delete(_, reply) => drop(reply.send(Err(why.clone()))),
            Self::Redact(_, reply) => drop(reply.send(Err(why.clone().into()))),
            Self::Erase(_, reply) => drop(reply.send(Err(why.clone()))),
            Self::Fold(_, reply) => drop(reply.send(Err(why.clone()))),
            Self::Promote(_, reply) => drop(reply.send(Err(why.clone().into()))),
            Self::Lease(_, _, _, reply) => drop(reply.send(Err(unsent(why.clone())))),
            Self::Rebuild(reply) | Self::CatchUp(reply) => drop(reply.send(Err(why.clone()))),
            Self::Fresh(_, reply) => drop(reply.send(Err(why.clone()))),
        }
    }
}

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct WriterHandle {
    way: Way,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Where commands wait.
#[derive(Debug)]
enum Way {
    /// With a writer that whoever appends may use.
    Desk(Arc<Desk>),
    /// For a thread; gone when the store closes.
    Queue(Option<SyncSender<Command>>),
}

impl WriterHandle {
    /// The way to one who takes commands from a desk.
    pub(crate) fn at_desk(desk: Arc<Desk>, thread: JoinHandle<()>) -> Self {
        Self { way: Way::Desk(desk), thread: Mutex::new(Some(thread)) }
    }

    /// The way to one who takes commands from a queue.
    pub(crate) fn by_queue(queue: SyncSender<Command>, thread: JoinHandle<()>) -> Self {
        Self { way: Way::Queue(Some(queue)), thread: Mutex::new(Some(thread)) }
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

    pub(crate) async fn fresh(&self, thread: Option<i64>) -> Result<(), TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Fresh(thread, reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    pub(crate) async fn catch_up(&self) -> Result<Progress, TendError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::CatchUp(reply))?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }

    fn send(&self, command: Command) -> Result<(), TendError> {
        match &self.way {
            Way::Desk(desk) => desk.push(command),
            Way::Queue(None) => Err(TendError::Closed),
            Way::Queue(Some(queue)) => queue.try_send(command).map_err(|error| match error {
                TrySendError::Full(_) => TendError::Busy,
                TrySendError::Disconnected(_) => TendError::Closed,
            }),
        }
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
        match &mut self.way {
            Way::Desk(desk) => desk.close(),
            Way::Queue(queue) => *queue = None,
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // What was taken is committed before the store is gone.
            let _ = thread.join();
        }
    }
}
