//! Appends as a queue: writers, cores that all share, and one at each node who commits together what
//! waits there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::costs::Appends;

/// How long is simulated, after a while to warm up.
const TIME: f64 = 2.0;
const WARM: f64 = 0.3;
/// Appends of one commit.
const GROUP: usize = 4096;
/// The longest wait for them.
const GATHER: f64 = 500e-6;

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
    /// The work of a node's commit before the disk.
    Commit(usize),
}

/// Something that happens at a time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done(Job),
    Synced(usize),
    /// A node has waited long enough for a commit's appends; which wait it was.
    Gathered(usize, u64),
}

/// Appends that wait for a commit of a node, and those that are in one.
#[derive(Debug, Clone, Default)]
struct Node {
    ready: Vec<usize>,
    committing: Vec<usize>,
    is_committing: bool,
    /// Appends of the last commit, when it began and how long it took.
    group: usize,
    began: f64,
    took: f64,
    /// Waits for appends, counted; and whether one is going on.
    waits: u64,
    is_waiting: bool,
}

struct Simulation<'c> {
    costs: &'c Appends,
    now: f64,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    free: usize,
    waiting: VecDeque<(Job, f64)>,
    nodes: Vec<Node>,
    asked: Vec<f64>,
    took: Vec<f64>,
}

/// Writers that send the next append when the last is acknowledged, spread over nodes.
pub(crate) fn closed(costs: &Appends, cores: usize, nodes: usize, writers: usize) -> Outcome {
    let mut own = Simulation {
        costs,
        now: 0.0,
        events: BinaryHeap::new(),
        free: cores,
        waiting: VecDeque::new(),
        nodes: vec![Node::default(); nodes],
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

    fn node(&mut self, writer: usize) -> usize {
        writer % self.nodes.len().max(1)
    }

    /// Gives work to a core; one that sleeps has to wake up.
    fn work(&mut self, job: Job) {
        let cpu = match job {
            Job::Ask(_) | Job::Answer(_) => (self.costs.cpu + self.costs.load) / 2.0,
            Job::Commit(node) => {
                let rows = self.nodes.get(node).map_or(0, |node| node.committing.len());
                self.costs.commit + self.costs.row * rows as f64
            }
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
                        let at = self.node(writer);
                        if let Some(node) = self.nodes.get_mut(at) {
                            node.ready.push(writer);
                        }
                        self.commit(at);
                    }
                    Job::Commit(node) => self.after(self.costs.sync, Event::Synced(node)),
                    Job::Answer(writer) => self.answered(writer),
                }
            }
            Event::Synced(at) => {
                let now = self.now;
                let Some(node) = self.nodes.get_mut(at) else { return };
                node.is_committing = false;
                node.took = now - node.began;
                for writer in std::mem::take(&mut node.committing) {
                    self.work(Job::Answer(writer));
                }
                self.commit(at);
            }
            Event::Gathered(at, wait) => {
                if let Some(node) = self.nodes.get_mut(at)
                    && node.is_waiting
                    && node.waits == wait
                {
                    node.group = 0;
                    self.commit(at);
                }
            }
        }
    }

    /// Commits what waits at a node, if nothing is being committed there and it is as much as the
    /// last time, or was waited for.
    fn commit(&mut self, at: usize) {
        let (now, gather) = (self.now, self.costs.gather);
        let Some(node) = self.nodes.get_mut(at) else { return };
        if node.is_committing || node.ready.is_empty() {
            return;
        }
        let wait = (node.took * gather).min(GATHER);
        if wait > 0.0 && node.ready.len() < node.group {
            if !node.is_waiting {
                node.is_waiting = true;
                node.waits += 1;
                let event = Event::Gathered(at, node.waits);
                self.after(wait, event);
            }
            return;
        }
        node.is_waiting = false;
        node.is_committing = true;
        node.group = node.ready.len();
        node.began = now;
        let rest = node.ready.split_off(node.ready.len().min(GROUP));
        node.committing = std::mem::replace(&mut node.ready, rest);
        self.work(Job::Commit(at));
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
