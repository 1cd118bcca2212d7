//! Appends to threads that are known, in one round trip.
//!
//! Most appends ask for nothing but to be written. They go to a function of the database
//! (`migrations/0003_append.sql`), which locks their threads, looks whether all is as it must be,
//! and writes: one statement that is its own transaction.
//!
//! Invariant: the locked row of a thread decides. What a node remembers is which thread a name
//! means, and that is believed only while the row says the same. Where anything is not as it must
//! be nothing is written, and `stage.rs` judges the group as any other.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlx_postgres::PgArguments;

use super::Client;
use super::stage::{Own, Staged, end};
use super::text::stored;
use super::threads::add;
use crate::batch::write_lines;
use crate::db;
use crate::handle::Reply;
use crate::{Append, Appended, Batch, Create, Draft, Expect, ThreadKey, ThreadRef};

/// Threads whose names are remembered.
const REMEMBERED: usize = 65_536;
/// Bytes of rows that the statement takes.
const BYTES: usize = 32 << 20;

const APPEND: &str = "SELECT heads, moments, anew FROM append_known($1, $2, $3, $4, $5, $6, $7, \
     $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";

/// Appends that wait for an answer.
pub(super) type Waiting = Vec<(Box<Append>, Reply)>;

/// Which threads names meant when they were looked up.
#[derive(Default)]
pub(super) struct Known {
    threads: HashMap<ThreadKey, ThreadRef>,
}

/// What is asked of a thread, and what it gets.
struct Slot<'a> {
    thread: &'a ThreadRef,
    /// The head that it must have.
    wanted: Option<u64>,
    count: u64,
    keys: HashSet<&'a str>,
    ends: Vec<(String, &'static str)>,
}

impl Known {
    /// Remembers a thread by its name.
    pub(super) fn learn(&mut self, key: &ThreadKey, thread: &ThreadRef) {
        if self.threads.get(key) == Some(thread) {
            return;
        }
        if self.threads.len() >= REMEMBERED {
            self.threads.clear();
        }
        self.threads.insert(key.clone(), thread.clone());
    }

    /// Forgets which threads the names of appends meant.
    pub(super) fn forget(&mut self, group: &Waiting) {
        for (append, _) in group {
            self.threads.remove(&append.thread);
        }
    }

    /// Parts appends into those that can be written at once and those that must be looked at. What
    /// is for one thread stays together, in its order.
    pub(super) fn part(&self, group: Waiting) -> (Waiting, Waiting) {
        let mut slots = HashMap::new();
        let mut slow = HashSet::new();
        let mut bytes = 0;
        for (append, _) in &group {
            bytes += rows(append).flatten().map(Draft::size).sum::<usize>();
            if !slow.contains(&append.thread) && self.take(&mut slots, append).is_none() {
                slow.insert(append.thread.clone());
            }
        }
        if bytes > BYTES {
            return (Vec::new(), group);
        }
        group.into_iter().partition(|(append, _)| !slow.contains(&append.thread))
    }

    /// Counts an append in; none if it cannot be written without being looked at.
    fn take<'a>(
        &'a self,
        slots: &mut HashMap<&'a ThreadKey, Slot<'a>>,
        append: &'a Append,
    ) -> Option<()> {
        if append.guard.is_some() || !matches!(append.create, Create::Never | Create::IfMissing) {
            return None;
        }
        let thread = self.threads.get(&append.thread)?;
        let slot = slots.entry(&append.thread).or_insert_with(|| Slot::new(thread));
        slot.take(append)
    }

    /// Writes appends that can be; none if something is not as it must be.
    pub(super) fn write(
        &self,
        client: &Client,
        own: Own<'_>,
        appends: &[&Append],
    ) -> db::Result<Option<Vec<Staged>>> {
        let mut slots = HashMap::new();
        for append in appends {
            if self.take(&mut slots, append).is_none() {
                return Ok(None);
            }
        }
        let mut slots: Vec<Slot<'_>> = slots.into_values().collect();
        slots.sort_unstable_by_key(|slot| slot.thread.num);
        let (places, rows) = Rows::new(&slots, self, appends);
        let arguments = arguments(&slots, &places, rows, appends, own)?;
        let found = client.numbers(APPEND, arguments)?;
        let [Some(heads), Some(moments), Some(anew)] = &*found else { return Ok(None) };
        let mut staged = Vec::with_capacity(appends.len());
        for (append, place) in appends.iter().zip(&places) {
            let at = |list: &[i64]| list.get(place.slot).copied().ok_or(db::Error::NoRow);
            let slot = slots.get(place.slot).ok_or(db::Error::NoRow)?;
            let (head, at, rewrites) = (at(heads)? as u64, at(moments)?, at(anew)?);
            staged.push(place.staged(append, slot.thread, head, at, rewrites));
        }
        Ok(Some(staged))
    }
}

impl<'a> Slot<'a> {
    fn new(thread: &'a ThreadRef) -> Self {
        Self { thread, wanted: None, count: 0, keys: HashSet::new(), ends: Vec::new() }
    }

    fn take(&mut self, append: &'a Append) -> Option<()> {
        let head = match append.expect {
            Expect::Anything => None,
            Expect::Head(head) => Some(head),
            Expect::At(cursor) if cursor.epoch == self.thread.epoch => Some(cursor.seq),
            Expect::At(_) => return None,
        };
        if let Some(head) = head {
            let wanted = head.checked_sub(self.count)?;
            if *self.wanted.get_or_insert(wanted) != wanted {
                return None;
            }
        }
        if append.key.as_ref().is_some_and(|key| !self.keys.insert(&key.text)) {
            return None;
        }
        if let Some(task) = &append.speaker
            && self.ends.iter().any(|(ended, _)| ended == task)
        {
            return None;
        }
        for events in rows(append) {
            self.count += events.len() as u64;
            for draft in events {
                self.ends.extend(end(&draft.event).map(|(task, state)| (task, state.name())));
            }
        }
        Some(())
    }
}

/// Where an append is among all: its thread, and entries of that before it.
struct Place {
    slot: usize,
    before: u64,
}

impl Place {
    /// What becomes of an append whose thread had this head.
    fn staged(
        &self,
        append: &Append,
        thread: &ThreadRef,
        head: u64,
        at: i64,
        rewrites: i64,
    ) -> Staged {
        let first = head + self.before + 1;
        let mut next = first;
        let batches = rows(append).map(|events| {
            let lines = events.iter().map(|draft| (draft.event.clone(), draft.source.clone()));
            let batch = Batch::new(next, at, lines.collect());
            next = batch.last() + 1;
            Arc::new(batch)
        });
        let batches = batches.collect();
        let (thread, last) = (thread.clone(), next - 1);
        Staged { answer: Appended { thread, first, last, duplicate: false, at }, batches, rewrites }
    }
}

/// Rows as they are to be written, entries counted from their thread's head.
#[derive(Default)]
struct Rows<'a> {
    /// From one, as the database counts.
    slots: Vec<i64>,
    firsts: Vec<i64>,
    lasts: Vec<i64>,
    keys: Vec<Option<&'a str>>,
    digests: Vec<Option<&'a [u8]>>,
    bodies: Vec<String>,
}

impl<'a> Rows<'a> {
    fn new(slots: &[Slot<'_>], known: &Known, appends: &[&'a Append]) -> (Vec<Place>, Self) {
        let (mut places, mut own) = (Vec::with_capacity(appends.len()), Self::default());
        let mut counts = vec![0u64; slots.len()];
        for append in appends {
            let num = known.threads.get(&append.thread).map_or(0, |thread| thread.num);
            let slot = slots.binary_search_by_key(&num, |slot| slot.thread.num).unwrap_or(0);
            let Some(count) = counts.get_mut(slot) else { continue };
            places.push(Place { slot, before: *count });
            let mut key = append.key.as_ref();
            for events in rows(append) {
                let first = *count + 1;
                *count += events.len() as u64;
                own.slots.push(slot as i64 + 1);
                own.firsts.push(first as i64);
                own.lasts.push(*count as i64);
                let key = key.take();
                own.keys.push(key.map(|key| &*key.text));
                own.digests.push(key.map(|key| &key.digest[..]));
                own.bodies.push(body(events));
            }
        }
        (places, own)
    }
}

/// The rows of an append.
fn rows(append: &Append) -> impl Iterator<Item = &Vec<Draft>> {
    std::iter::once(&append.events).chain(&append.more)
}

/// A row's body as it is stored.
fn body(events: &[Draft]) -> String {
    let size: usize = events.iter().map(|draft| draft.size() + 2).sum();
    let mut out = Vec::with_capacity(size);
    write_lines(events.iter().map(|draft| (&draft.event, draft.source.as_ref())), &mut out);
    let body = String::from_utf8(out).unwrap_or_default();
    match stored(&body) {
        Cow::Borrowed(_) => body,
        Cow::Owned(other) => other,
    }
}

/// Pairs as two lists, or nothing if there are none.
fn apart<A, B>(pairs: impl Iterator<Item = (A, B)>) -> (Option<Vec<A>>, Option<Vec<B>>) {
    let (first, second): (Vec<A>, Vec<B>) = pairs.unzip();
    if first.is_empty() { (None, None) } else { (Some(first), Some(second)) }
}

/// What the function takes.
fn arguments(
    slots: &[Slot<'_>],
    places: &[Place],
    rows: Rows<'_>,
    appends: &[&Append],
    own: Own<'_>,
) -> db::Result<PgArguments> {
    let list = |pick: fn(&Slot<'_>) -> i64| -> Vec<i64> { slots.iter().map(pick).collect() };
    let number = |place: &Place| slots.get(place.slot).map_or(0, |slot| slot.thread.num);
    let asked = |pick: fn(&Append) -> Option<&String>| {
        apart(appends.iter().zip(places).filter_map(|(append, place)| {
            Some((number(place), stored(pick(append)?).into_owned()))
        }))
    };
    let (said_in, said_by) = asked(|append| append.speaker.as_ref());
    let (claimed_in, claimed) = asked(|append| append.claim.as_ref());
    let ends = || {
        let all = slots.iter();
        all.flat_map(|slot| slot.ends.iter().map(|(task, state)| (slot.thread.num, task, *state)))
    };
    let (ended_in, ended) = apart(ends().map(|(num, task, _)| (num, stored(task).into_owned())));
    let (_, states) = apart(ends().map(|(num, _, state)| (num, state)));
    let has_keys = rows.keys.iter().any(Option::is_some);
    let mut out = PgArguments::default();
    add(&mut out, list(|slot| slot.thread.num))?;
    add(&mut out, list(|slot| slot.thread.renamed))?;
    let wanted = slots.iter().map(|slot| slot.wanted.map(|head| head as i64));
    add(&mut out, wanted.collect::<Vec<Option<i64>>>())?;
    add(&mut out, list(|slot| slot.count as i64))?;
    add(&mut out, rows.slots)?;
    add(&mut out, rows.firsts)?;
    add(&mut out, rows.lasts)?;
    let keys = rows.keys.iter().map(|key| key.map(|key| stored(key).into_owned()));
    add(&mut out, has_keys.then(|| keys.collect::<Vec<Option<String>>>()))?;
    add(&mut out, has_keys.then_some(rows.digests))?;
    add(&mut out, rows.bodies)?;
    add(&mut out, said_in)?;
    add(&mut out, said_by)?;
    add(&mut out, claimed_in)?;
    add(&mut out, claimed)?;
    add(&mut out, ended_in)?;
    add(&mut out, ended)?;
    add(&mut out, states)?;
    add(&mut out, own.node.id)?;
    own.has_said.set(own.node.pace.is_to_say());
    add(&mut out, own.has_said.get())?;
    Ok(out)
}
