//! Appends as a queue: writers, cores that all share, and one who commits what waits together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::costs::Appends;

/// How long is simulated, after a while to warm up.
const TIME: f64 = 2.0;
const WARM: f64 = 0.3;
/// Appends of one commit.
const GROUP: usize = 4096;

/// What a simulation came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// Appends acknowledged a second.
    pub(crate) rate: f64,
    /// Seconds that half and 99 of 100 waited.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// A piece of work on a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    /// A writer's request, on its way in.
    Ask(usize),
    /// Its answer, on its way out.
    Answer(usize),
    /// A commit's work before the disk.
    Commit,
}

/// Something that happens at a time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done(Job),
    Synced,
}

struct Simulation<'c> {
    costs: &'c Appends,
    now: f64,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    free: usize,
    waiting: VecDeque<(Job, f64)>,
    /// Appends that wait for a commit, and those that are in one.
    ready: Vec<usize>,
    committing: Vec<usize>,
    is_committing: bool,
    asked: Vec<f64>,
    took: Vec<f64>,
}

/// Writers that send the next append when the last is acknowledged.
pub(crate) fn closed(costs: &Appends, cores: usize, writers: usize) -> Outcome {
    let mut own = Simulation {
        costs,
        now: 0.0,
        events: BinaryHeap::new(),
        free: cores,
        waiting: VecDeque::new(),
        ready: Vec::new(),
        committing: Vec::new(),
        is_committing: false,
        asked: vec![0.0; writers],
        took: Vec::new(),
    };
    for writer in 0..writers {
        own.work(Job::Ask(writer));
    }
    while own.now < WARM + TIME
        && let Some(Reverse((at, event))) = own.events.pop()
    {
        own.now = at as f64 / 1e9;
        own.happen(event);
    }
    own.took.sort_by(f64::total_cmp);
    let at = |share: f64| own.took.get((own.took.len() as f64 * share) as usize).copied();
    Outcome {
        rate: own.took.len() as f64 / TIME,
        p50: at(0.5).unwrap_or(0.0),
        p99: at(0.99).unwrap_or(0.0),
    }
}

impl Simulation<'_> {
    fn after(&mut self, time: f64, event: Event) {
        self.events.push(Reverse((((self.now + time) * 1e9) as u64, event)));
    }

    /// Gives work to a core; one that sleeps has to wake up.
    fn work(&mut self, job: Job) {
        let cpu = match job {
            Job::Ask(_) | Job::Answer(_) => (self.costs.cpu + self.costs.load) / 2.0,
            Job::Commit => self.costs.commit + self.costs.row * self.committing.len() as f64,
        };
        if self.free > 0 {
            self.free -= 1;
            self.after(self.costs.wake + cpu, Event::Done(job));
        } else {
            self.waiting.push_back((job, cpu));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Done(job) => {
                match self.waiting.pop_front() {
                    Some((next, cpu)) => self.after(cpu, Event::Done(next)),
                    None => self.free += 1,
                }
                match job {
                    Job::Ask(writer) => {
                        self.ready.push(writer);
                        self.commit();
                    }
                    Job::Commit => self.after(self.costs.sync, Event::Synced),
                    Job::Answer(writer) => self.answered(writer),
                }
            }
            Event::Synced => {
                self.is_committing = false;
                for writer in std::mem::take(&mut self.committing) {
                    self.work(Job::Answer(writer));
                }
                self.commit();
            }
        }
    }

    /// Commits what waits, if nothing is being committed.
    fn commit(&mut self) {
        if self.is_committing || self.ready.is_empty() {
            return;
        }
        self.is_committing = true;
        let rest = self.ready.split_off(self.ready.len().min(GROUP));
        self.committing = std::mem::replace(&mut self.ready, rest);
        self.work(Job::Commit);
    }

    fn answered(&mut self, writer: usize) {
        if let Some(asked) = self.asked.get_mut(writer) {
            if self.now >= WARM {
                self.took.push(self.now - *asked);
            }
            *asked = self.now;
        }
        self.work(Job::Ask(writer));
    }
}
