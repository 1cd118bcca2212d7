//! Any sequence of appends, branches, promotions, deletions, readers and restarts against a model
//! of a few lines. `SELVEDGE_CASES` sets how many are tried.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use selvedge_protocol::journal::Cursor;
use selvedge_store::{
    Ahead, Append, AppendError, Create, End, Entry, Expect, Key, Promote, PromoteError, Store,
    Tail, TendError, ThreadRef,
};
use tokio::runtime::Runtime;

use super::append::{event, names, thread};
use super::home::Home;
use super::projection::cases;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    Anything,
    Head(u64),
    /// A place in this journal.
    At(u64),
    /// The right place in another.
    Elsewhere,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Append {
        thread: u8,
        expected: Expected,
        key: Option<u8>,
        events: u8,
        create: bool,
    },
    Branch {
        from: u8,
        to: u8,
        at: u64,
    },
    Promote {
        branch: u8,
        parent: u8,
        old: u8,
    },
    Delete {
        thread: u8,
    },
    /// A reader begins with a thread, wherever it was before.
    Open {
        reader: u8,
        thread: u8,
        seen: u64,
    },
    /// A reader takes some of what is ahead of it, coming again if it was away.
    Take {
        reader: u8,
        bytes: usize,
    },
    /// A reader goes away, and keeps in mind where it was.
    Leave {
        reader: u8,
    },
    Settle,
    Restart,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let expected = prop_oneof![
        4 => Just(Expected::Anything),
        2 => (0..6u64).prop_map(Expected::Head),
        2 => (0..6u64).prop_map(Expected::At),
        1 => Just(Expected::Elsewhere),
    ];
    let append = (0..4u8, expected, proptest::option::of(0..3u8), 1..4u8, any::<bool>()).prop_map(
        |(thread, expected, key, events, create)| Step::Append {
            thread,
            expected,
            key,
            events,
            create,
        },
    );
    prop_oneof![
        10 => append,
        3 => (0..4u8, 0..4u8, 0..6u64).prop_map(|(from, to, at)| Step::Branch { from, to, at }),
        2 => (0..4u8, 0..4u8, 0..6u8)
            .prop_map(|(branch, parent, old)| Step::Promote { branch, parent, old }),
        1 => (0..4u8).prop_map(|thread| Step::Delete { thread }),
        3 => (0..3u8, 0..4u8, 0..4u64)
            .prop_map(|(reader, thread, seen)| Step::Open { reader, thread, seen }),
        8 => (0..3u8, prop::sample::select(vec![1, 100, usize::MAX]))
            .prop_map(|(reader, bytes)| Step::Take { reader, bytes }),
        2 => (0..3u8).prop_map(|reader| Step::Leave { reader }),
        1 => Just(Step::Settle),
        1 => Just(Step::Restart),
    ]
}

/// A journal as the model has it.
#[derive(Default, Clone)]
struct Journal {
    names: Vec<String>,
    /// What was appended under a key: how many events, and where.
    keys: BTreeMap<u8, (u8, u64, u64)>,
    parent: Option<usize>,
}

#[derive(Default)]
struct Model {
    journals: Vec<Journal>,
    /// Which journal an id leads to.
    ids: BTreeMap<u8, usize>,
}

/// The answer that matters: where, and whether it was there.
type Answer = Result<(u64, u64, bool), &'static str>;

impl Model {
    fn add(&mut self, id: u8, journal: Journal) {
        self.ids.insert(id, self.journals.len());
        self.journals.push(journal);
    }

    fn append(&mut self, step: &Step, name: &str) -> Answer {
        let Step::Append { thread, expected, key, events, create } = step else {
            return Err("no append");
        };
        let at = self.ids.get(thread).copied();
        if at.is_none() && !create {
            return Err("not found");
        }
        let mut journal = at.map(|at| self.journals[at].clone()).unwrap_or_default();
        if let Some((digest, first, last)) = key.and_then(|key| journal.keys.get(&key)) {
            return if digest == events { Ok((*first, *last, true)) } else { Err("reused") };
        }
        let head = journal.names.len() as u64;
        match expected {
            Expected::Elsewhere => return Err("other journal"),
            Expected::Head(expected) | Expected::At(expected) if *expected != head => {
                return Err("conflict");
            }
            _ => {}
        }
        journal.names.extend((0..*events).map(|i| format!("{name}-{i}")));
        let (first, last) = (head + 1, head + u64::from(*events));
        if let Some(key) = key {
            journal.keys.insert(*key, (*events, first, last));
        }
        match at {
            Some(at) => self.journals[at] = journal,
            None => self.add(*thread, journal),
        }
        Ok((first, last, false))
    }

    fn branch(&mut self, from: usize, to: u8, at: u64, name: &str) -> Result<u64, &'static str> {
        if self.ids.contains_key(&to) {
            return Err("exists");
        }
        let shared = self.journals[from].names.get(..at as usize).ok_or("bad branch")?;
        let names = shared.iter().cloned().chain([name.to_owned()]).collect();
        self.add(to, Journal { names, parent: Some(from), ..Journal::default() });
        Ok(at + 1)
    }

    /// Changes names; the journals whose tails end by it.
    fn promote(
        &mut self,
        branch: u8,
        parent: u8,
        old: u8,
        name: &str,
    ) -> Result<[usize; 2], &'static str> {
        let own = *self.ids.get(&branch).ok_or("not found")?;
        let of = self.ids.get(&parent).copied();
        let Some(of) = of.filter(|of| self.journals[own].parent == Some(*of)) else {
            return Err("no branch");
        };
        if self.ids.contains_key(&old) {
            return Err("exists");
        }
        self.ids.remove(&branch);
        self.ids.insert(parent, own);
        self.ids.insert(old, of);
        for journal in [own, of] {
            self.journals[journal].names.push(name.to_owned());
        }
        Ok([own, of])
    }
}

fn kind(error: &AppendError) -> &'static str {
    match error {
        AppendError::NotFound => "not found",
        AppendError::KeyReused => "reused",
        AppendError::Conflict { .. } => "conflict",
        AppendError::OtherJournal => "other journal",
        AppendError::Exists => "exists",
        AppendError::BadBranch { .. } => "bad branch",
        AppendError::OtherShard => "other shard",
        _ => "other",
    }
}

/// Someone who reads a journal, maybe with pauses.
struct Reader {
    journal: usize,
    thread: ThreadRef,
    /// None while it is away.
    tail: Option<Arc<Tail>>,
    seen: usize,
    /// Why its tail must have ended.
    ended: Option<End>,
}

/// The store and the model, side by side.
struct Both {
    runtime: Runtime,
    home: Home,
    /// None only while it is opened again.
    store: Option<Store>,
    model: Model,
    readers: BTreeMap<u8, Reader>,
}

impl Both {
    fn new() -> Option<Self> {
        let home = Home::new()?;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (model, readers) = (Model::default(), BTreeMap::new());
        let mut both = Self { runtime, home, store: None, model, readers };
        both.restart();
        Some(both)
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn find(&self, id: u8) -> Option<ThreadRef> {
        let found = self.store().thread(&thread(&id.to_string())).unwrap();
        assert_eq!(found.is_some(), self.model.ids.contains_key(&id), "thread {id}");
        found
    }

    /// Whether an id belongs to another database than another id's thread.
    fn is_elsewhere(&self, id: u8, than: u8) -> bool {
        let [id, than] = [id, than].map(|id| self.home.place(&id.to_string()));
        id.is_some() && id != than
    }

    fn restart(&mut self) {
        // Tails that someone still holds do not keep a store open.
        self.store = None;
        self.store = Some(self.home.open());
        for reader in self.readers.values_mut() {
            (reader.tail, reader.ended) = (None, None);
        }
    }

    fn step(&mut self, step: &Step, name: &str) {
        match step {
            Step::Append { thread: id, expected, key, events, create } => {
                let drafts = (0..*events).map(|j| event(&format!("{name}-{j}"))).collect();
                let mut append = Append::new(thread(&id.to_string()), drafts);
                if *create {
                    append = append.creating(Create::IfMissing);
                }
                let there = self.find(*id).map(|found| found.epoch);
                let head =
                    self.model.ids.get(id).map_or(0, |at| self.model.journals[*at].names.len());
                append.expect = match (*expected, there) {
                    (Expected::Anything, _) => Expect::Anything,
                    (Expected::Head(seq), _) => Expect::Head(seq),
                    (Expected::At(seq), Some(epoch)) => Expect::At(Cursor { epoch, seq }),
                    // There is no journal yet that a cursor could be of.
                    (Expected::At(seq), None) => Expect::Head(seq),
                    (Expected::Elsewhere, there) => {
                        let epoch = there.unwrap_or(0) + 1;
                        Expect::At(Cursor { epoch, seq: head as u64 })
                    }
                };
                if let Some(key) = key {
                    append = append.keyed(Key { text: key.to_string(), digest: [*events; 32] });
                }
                let answer = self.runtime.block_on(self.store().append(append));
                let answer = answer.map(|a| (a.first, a.last, a.duplicate)).map_err(|e| kind(&e));
                assert_eq!(answer, self.model.append(step, name));
            }
            Step::Branch { from, to, at } => {
                let Some(parent) = self.find(*from) else { return };
                let create = Create::Branch { from: parent, at: *at };
                let branch = Append::new(thread(&to.to_string()), vec![event(name)]);
                let answer = self.runtime.block_on(self.store().append(branch.creating(create)));
                let answer = answer.map(|a| a.first).map_err(|e| kind(&e));
                if answer == Err("other shard") {
                    assert!(self.is_elsewhere(*to, *from), "thread {to} can be where {from} is");
                    return;
                }
                let from = self.model.ids[from];
                let expected = self.model.branch(from, *to, *at, name);
                assert_eq!(answer, expected);
            }
            Step::Promote { branch, parent, old } => {
                let [branch_id, parent_id, old_id] =
                    [branch, parent, old].map(|id| thread(&id.to_string()));
                let (told, told_old) = (event(name), event(name));
                let asked =
                    Promote { branch: branch_id, parent: parent_id, old: old_id, told, told_old };
                let answer = self.runtime.block_on(self.store().promote(asked));
                let answer = answer.map(|_| ()).map_err(|error| match error {
                    PromoteError::Tend(TendError::NotFound) => "not found",
                    PromoteError::NoBranch { .. } => "no branch",
                    PromoteError::Exists { .. } => "exists",
                    PromoteError::Tend(_) => "other",
                });
                if answer == Err("exists") && self.is_elsewhere(*old, *branch) {
                    return;
                }
                let expected = self.model.promote(*branch, *parent, *old, name);
                assert_eq!(answer, expected.map(|_| ()));
                for journal in expected.into_iter().flatten() {
                    self.end(journal, End::Renamed);
                }
            }
            Step::Delete { thread: id } => {
                let answer = self.runtime.block_on(self.store().delete(thread(&id.to_string())));
                let gone = self.model.ids.remove(id);
                assert_eq!(answer, gone.map(|_| ()).ok_or(TendError::NotFound));
                if let Some(journal) = gone {
                    self.end(journal, End::Deleted);
                }
            }
            Step::Open { reader, thread, seen } => {
                let Some(thread_ref) = self.find(*thread) else { return };
                let journal = self.model.ids[thread];
                let tail = Some(self.store().tail(&thread_ref).unwrap());
                let seen = (*seen as usize).min(self.model.journals[journal].names.len());
                let own = Reader { journal, thread: thread_ref, tail, seen, ended: None };
                self.readers.insert(*reader, own);
            }
            Step::Take { reader, bytes } => self.take(*reader, *bytes),
            Step::Leave { reader } => {
                if let Some(reader) = self.readers.get_mut(reader) {
                    (reader.tail, reader.ended) = (None, None);
                }
            }
            Step::Settle => self.runtime.block_on(self.store().settle()).unwrap(),
            Step::Restart => self.restart(),
        }
    }

    /// Tails of a journal end.
    fn end(&mut self, journal: usize, end: End) {
        for reader in self.readers.values_mut() {
            if reader.journal == journal && reader.tail.is_some() {
                reader.ended.get_or_insert(end);
            }
        }
    }

    fn take(&mut self, id: u8, bytes: usize) {
        let Some(mut reader) = self.readers.remove(&id) else { return };
        let is_there = self.model.ids.values().any(|journal| *journal == reader.journal);
        if let Some(tail) = &reader.tail {
            assert_eq!(tail.ended(), reader.ended, "a tail ends when it must, and only then");
        }
        if reader.ended.is_some() || reader.tail.is_none() {
            // It comes again with where it was.
            let found = self.store().numbered(reader.thread.num).unwrap();
            assert_eq!(found.is_some(), is_there);
            let Some(found) = found else { return };
            let tail = self.store().tail(&found).unwrap();
            assert_eq!(tail.ended(), None);
            (reader.thread, reader.tail, reader.ended) = (found, Some(tail), None);
        }
        let names = &self.model.journals[reader.journal].names;
        let tail = reader.tail.as_ref().unwrap();
        assert_eq!(tail.head(), names.len() as u64, "a tail knows the head");
        let entries: Vec<Entry> = match tail.ahead(reader.seen as u64, bytes) {
            Ahead::Nothing => Vec::new(),
            Ahead::Batches(batches) => {
                batches.iter().flat_map(|batch| batch.after(reader.seen as u64)).collect()
            }
            Ahead::Journal => {
                let page = self.store().read(&reader.thread, reader.seen as u64, 3, usize::MAX);
                page.unwrap().entries
            }
        };
        assert_eq!(entries.is_empty(), reader.seen == names.len(), "something is there to be read");
        for entry in entries {
            let text = std::str::from_utf8(&entry.event).unwrap();
            let expected = (reader.seen as u64 + 1, names.get(reader.seen).map(String::as_str));
            assert_eq!((entry.seq, text.split('"').nth(7)), expected, "reader {id}");
            reader.seen += 1;
        }
        self.readers.insert(id, reader);
    }

    /// Every journal is as the model has it.
    fn check(&self) {
        for (id, journal) in &self.model.ids {
            let found = self.find(*id).unwrap();
            assert_eq!(names(self.store(), &found), self.model.journals[*journal].names);
        }
    }
}

/// A store after some steps, closed.
#[allow(dead_code, reason = "one database is enough to copy from")]
pub(crate) fn after(steps: &[Step]) -> Option<Home> {
    let mut both = Both::new()?;
    for (i, step) in steps.iter().enumerate() {
        both.step(step, &format!("e{i}"));
    }
    Some(both.home)
}

fn run(steps: &[Step]) {
    let Some(mut both) = Both::new() else { return };
    for (i, step) in steps.iter().enumerate() {
        both.step(step, &format!("e{i}"));
    }
    both.check();
    // Everyone who reads comes to the end.
    for reader in 0..3 {
        for _ in 0..200 {
            both.take(reader, usize::MAX);
        }
    }
    both.restart();
    both.check();
}

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn any_sequence_of_operations_does_what_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps);
    }
}
