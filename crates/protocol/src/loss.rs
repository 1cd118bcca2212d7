//! What a conversion from one dialect to another leaves behind.
//!
//! A value of the source is lost when no event holds it, or when nothing of it is in the output.
//! The second is found out by trying: the target's encoder gets the same events a second time,
//! with every value dyed, and a value whose dye comes out was kept. What cannot be dyed (a role,
//! a state, a flag) is judged by what the encoder says it tells.
//!
//! Nothing is lost on the way into a carrier (a journal, a ThreadProtocol document) or back into
//! the same dialect. Values that say nothing (`null`, empty strings, lists and objects) are not
//! reported.

mod batch;
mod dye;
mod find;
mod tree;

use std::collections::{HashMap, HashSet, VecDeque};

use crate::dialect::{Carrier, Dialect, EncodeOptions, Encoding, Id};
use crate::journal::Batch;
use crate::json::{push_escaped, quote};
use crate::record::{Framing, Role};
use crate::residue::Instance;
use batch::{Entry, Source, Texts};
use dye::{Dye, Dyes};
use find::Trace;

/// One value that was left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// JSON pointer into the source. The first token counts records where there are several.
    pub pointer: String,
    /// Why it was lost.
    pub reason: String,
}

impl Loss {
    /// The entry as JSON.
    pub fn to_json(&self) -> String {
        format!("{{\"pointer\":{},\"reason\":{}}}", quote(&self.pointer), quote(&self.reason))
    }
}

/// Finds what a conversion leaves behind, batch by batch.
pub struct Losses {
    target: &'static Dialect,
    /// Writes what is dyed.
    trial: Encoding,
    written: Vec<u8>,
    dyes: Dyes,
    texts: Texts,
    found: Found,
    /// Ids that tell other ids.
    derived: HashMap<Dye, Dye>,
    /// The last numbers of a sort, in case an output sums them.
    counts: HashMap<String, VecDeque<Dye>>,
    /// Values of batches that are not judged yet, in order.
    pending: VecDeque<Vec<Entry>>,
    count: usize,
    /// Pointer of the array that holds a document's items.
    items: String,
    record: usize,
}

/// So many values wait for their dye to come out of a stream. What a stream says, it says soon.
const WAITING: usize = 1 << 15;

/// So many numbers can be summed and known again.
const SUMMED: usize = 10;

impl Losses {
    /// Begins a conversion to a dialect.
    pub fn new(target: &'static Dialect, options: &EncodeOptions) -> Self {
        Self {
            target,
            trial: Encoding::new(target, &dyed_options(options)),
            written: Vec::new(),
            dyes: Dyes::default(),
            texts: Texts::default(),
            found: Found::default(),
            derived: HashMap::new(),
            counts: HashMap::new(),
            pending: VecDeque::new(),
            count: 0,
            items: String::new(),
            record: 0,
        }
    }

    /// Takes in a batch and passes on what is known to be left behind of it and of those before.
    pub fn batch(&mut self, batch: &Batch<'_>, each: &mut dyn FnMut(Loss)) {
        let pointer = self.pointer(batch);
        self.take(batch, &Source::Record(pointer), each);
    }

    /// The same for a batch of a journal, by the number of its first entry, which pointers begin
    /// with. What follows leads into the record that the batch came as, or into the event.
    pub fn entries(&mut self, first: u64, batch: &Batch<'_>, each: &mut dyn FnMut(Loss)) {
        let source = match &batch.frame {
            Some(frame) if frame.dialect != Id::Journal => Source::Record(format!("/{first}")),
            _ => Source::Events(first),
        };
        self.take(batch, &source, each);
    }

    fn take(&mut self, batch: &Batch<'_>, source: &Source, each: &mut dyn FnMut(Loss)) {
        if self.target.carrier == Carrier::Frames {
            return;
        }
        let own = batch.frame.as_ref().is_some_and(|frame| frame.dialect == self.target.id);
        if own {
            self.trial.batch(batch, &mut self.written);
        } else {
            let trial = batch::dye(batch, source, self.target, &mut self.dyes, &mut self.texts);
            bounded(&mut self.derived);
            bounded(&mut self.counts);
            self.derived.extend(trial.derived);
            for (what, dye) in trial.counts {
                let last = self.counts.entry(what).or_default();
                last.push_back(dye);
                if last.len() > SUMMED {
                    last.pop_front();
                }
            }
            self.trial.batch(&trial.batch, &mut self.written);
            self.count += trial.entries.len();
            self.pending.push_back(trial.entries);
        }
        self.look();
        // A document is written when all is known, and holds all until then anyway.
        let limit = match self.target.framing {
            Framing::Sse | Framing::Lines => WAITING,
            Framing::Array | Framing::Document => usize::MAX,
        };
        while let Some(entries) = self.pending.front()
            && (self.count > limit || entries.iter().all(|e| e.is_decided(&self.found)))
        {
            self.judge(each);
        }
    }

    /// The source has ended: passes on what else is left behind.
    pub fn finish(mut self, each: &mut dyn FnMut(Loss)) {
        let target = self.target;
        let trial = Encoding::new(target, &EncodeOptions::default());
        std::mem::replace(&mut self.trial, trial).finish(&mut self.written);
        self.look();
        while !self.pending.is_empty() {
            self.judge(each);
        }
    }

    /// Looks for dyes in what was written.
    fn look(&mut self) {
        let Self { found, derived, counts, written, .. } = self;
        if let Ok(text) = std::str::from_utf8(written) {
            find::find(text, &mut |trace| match trace {
                Trace::Dye(dye) => {
                    found.add(dye);
                    derived.get(&dye).into_iter().for_each(|dye| found.add(*dye));
                }
                Trace::Sum(many, sum) => {
                    for last in counts.values() {
                        let Some(skip) = last.len().checked_sub(many as usize) else { continue };
                        let last = || last.iter().skip(skip);
                        if last().map(|dye| dye::scattered(*dye)).sum::<u64>() == sum {
                            last().for_each(|dye| found.add(*dye));
                        }
                    }
                }
            });
        }
        written.clear();
    }

    /// Judges the oldest batch that is not judged yet.
    fn judge(&mut self, each: &mut dyn FnMut(Loss)) {
        let Some(entries) = self.pending.pop_front() else { return };
        self.count -= entries.len();
        tree::lost(&entries, &self.found, each);
    }

    /// Where a batch's record stands in the source.
    fn pointer(&mut self, batch: &Batch<'_>) -> String {
        let Some(frame) = &batch.frame else { return String::new() };
        let framing = crate::dialect::get(frame.dialect).map(|source| source.framing);
        let pointer = match (framing, frame.role) {
            (Some(Framing::Document), Role::Item) => format!("{}/{}", self.items, self.record),
            (Some(Framing::Document), _) => String::new(),
            _ => format!("/{}", self.record),
        };
        match frame.role {
            Role::Head => self.items = items_pointer(&frame.root),
            Role::Item => self.record += 1,
            Role::Tail => {}
        }
        pointer
    }
}

/// The dyes that came out. The last [`REMEMBERED`] at least are known, however long the source is.
#[derive(Debug, Default)]
struct Found {
    new: HashSet<Dye>,
    old: HashSet<Dye>,
}

/// So many things that may come up again are remembered.
const REMEMBERED: usize = 1 << 19;

impl Found {
    fn add(&mut self, dye: Dye) {
        if self.new.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(dye);
    }

    fn contains(&self, dye: Dye) -> bool {
        self.new.contains(&dye) || self.old.contains(&dye)
    }
}

/// Forgets all when it is too much.
fn bounded<V>(known: &mut HashMap<impl Eq + std::hash::Hash, V>) {
    if known.len() >= REMEMBERED {
        known.clear();
    }
}

impl std::fmt::Debug for Losses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Losses").field("target", &self.target).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.name())
    }
}

/// Options for events whose ids are dyed.
fn dyed_options(options: &EncodeOptions) -> EncodeOptions {
    EncodeOptions {
        thread_id: options.thread_id.as_deref().map(dye::id),
        agent: options.agent.as_deref().map(dye::id),
        target: options.target.clone(),
    }
}

/// Where a document's items are: the key that its head ends with.
fn items_pointer(head: &Instance<'_>) -> String {
    let end = head.shape.chunks.last().map_or("", AsRef::as_ref);
    let key = end
        .trim_end()
        .strip_suffix('[')
        .and_then(|rest| rest.trim_end().strip_suffix(':'))
        .and_then(|rest| rest.trim_end().strip_suffix('"'))
        .and_then(|rest| rest.rsplit('"').next());
    let mut out = String::new();
    if let Some(key) = key {
        out.push('/');
        push_escaped(key, &mut out);
    }
    out
}
