//! Where commands wait for the writer, and who has it.
//!
//! Whoever appends while nobody has the writer, and nobody else has lately, commits by themselves:
//! a word to another thread and back costs as much as the disk does. The journal's own thread has
//! the rest: what many append together, what takes long, and everything where the disk is slow.
//!
//! Invariant: one has the writer at a time, and whoever lets it go while something waits passes it
//! on to the thread. Nobody has it while they wait for something else.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::writer::Writer;
use crate::TendError;
use crate::handle::Command;

/// Commands that may wait.
const QUEUE: usize = 16_384;
/// The longest wait for the appends of one commit.
const GATHER: Duration = Duration::from_micros(500);
/// A commit that takes longer is not made by who appends: threads that serve others would wait.
const QUICK: Duration = Duration::from_millis(3);

/// Where commands wait.
pub(crate) struct Desk {
    state: Mutex<State>,
    /// Calls the thread.
    call: Condvar,
    writer: Mutex<Writer>,
}

struct State {
    commands: VecDeque<Command>,
    owner: Owner,
    /// How many appends the last commit had, and how long it took.
    group: usize,
    took: Duration,
    /// How many commands the thread waits for, if it does.
    wanted: usize,
    is_closed: bool,
}

/// Who has the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    Caller,
    Thread,
}

impl Desk {
    pub(super) fn new(writer: Writer) -> Self {
        let state = State {
            commands: VecDeque::new(),
            owner: Owner::Nobody,
            group: 1,
            took: Duration::ZERO,
            wanted: 0,
            is_closed: false,
        };
        Self { state: Mutex::new(state), call: Condvar::new(), writer: Mutex::new(writer) }
    }

    /// Takes a command: it is done when this returns, or waits.
    pub(crate) fn push(&self, command: Command) -> Result<(), TendError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(TendError::Closed);
        }
        if state.commands.len() >= QUEUE {
            return Err(TendError::Busy);
        }
        let is_append = matches!(command, Command::Append(..));
        state.commands.push_back(command);
        match state.owner {
            Owner::Nobody if is_append && state.group < 2 && state.took < QUICK => {
                state.owner = Owner::Caller;
                drop(state);
                Turn { desk: self }.take();
            }
            Owner::Nobody => {
                state.owner = Owner::Thread;
                self.call.notify_one();
            }
            Owner::Thread if state.commands.len() == state.wanted => self.call.notify_one(),
            Owner::Caller | Owner::Thread => {}
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.call.notify_one();
    }

    /// What the journal's thread does, until the store is closed. `behind` is the thread that
    /// follows.
    pub(super) fn run(&self, behind: JoinHandle<()>) {
        while self.wait() {
            let mut writer = self.writer();
            loop {
                let mut waiting = self.gathered();
                if waiting.is_empty() {
                    break;
                }
                self.commit(&mut writer, &mut waiting);
                // In the order asked: after the appends before it.
                if let Some(other) = waiting.pop_front() {
                    writer.tend(other);
                }
                self.put_back(waiting);
            }
            self.release(writer);
        }
        self.writer().finish(behind);
    }

    /// Waits until the thread has the writer, and something to do; `false` when the store closes.
    fn wait(&self) -> bool {
        let mut state = self.state();
        loop {
            match state.owner {
                Owner::Thread => return true,
                Owner::Nobody if !state.commands.is_empty() => break,
                Owner::Nobody if state.is_closed => return false,
                // Whoever lets the writer go while something waits calls.
                _ => state = self.call.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
        state.owner = Owner::Thread;
        true
    }

    /// What waits, with those who are about to come again: who was answered last. A commit costs
    /// more than the wait.
    fn gathered(&self) -> VecDeque<Command> {
        let mut state = self.state();
        if state.commands.is_empty() {
            return VecDeque::new();
        }
        let patience = Instant::now() + GATHER.min(state.took / 4);
        while state.commands.len() < state.group
            && let Some(left) = patience.checked_duration_since(Instant::now())
        {
            state.wanted = state.group;
            let waited = self.call.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wanted = 0;
        std::mem::take(&mut state.commands)
    }

    /// Commits the appends that wait, up to one that is to be looked at first.
    fn commit(&self, writer: &mut Writer, waiting: &mut VecDeque<Command>) {
        let group = writer.group(waiting);
        if group.is_empty() {
            return;
        }
        let (begin, count) = (Instant::now(), group.len());
        writer.commit(group);
        let mut state = self.state();
        (state.group, state.took) = (count, begin.elapsed());
    }

    /// What was taken and not done is still the first.
    fn put_back(&self, mut waiting: VecDeque<Command>) {
        if !waiting.is_empty() {
            let mut state = self.state();
            waiting.append(&mut state.commands);
            state.commands = waiting;
        }
    }

    /// Lets the writer go, to the thread if there is something to do.
    fn release(&self, writer: MutexGuard<'_, Writer>) {
        drop(writer);
        let mut state = self.state();
        let for_thread = !state.commands.is_empty();
        state.owner = if for_thread { Owner::Thread } else { Owner::Nobody };
        if for_thread || state.is_closed {
            self.call.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("waiting", &self.state().commands.len()).finish()
    }
}

/// A caller's turn with the writer. If it ends before its time, the thread goes on.
struct Turn<'d> {
    desk: &'d Desk,
}

impl Turn<'_> {
    /// Commits what waits.
    fn take(self) {
        let desk = self.desk;
        let mut waiting = std::mem::take(&mut desk.state().commands);
        let mut writer = desk.writer();
        desk.commit(&mut writer, &mut waiting);
        desk.put_back(waiting);
        desk.release(writer);
        std::mem::forget(self);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.desk.state().owner = Owner::Thread;
        self.desk.call.notify_one();
    }
}
