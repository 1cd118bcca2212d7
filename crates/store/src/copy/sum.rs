//! What a store holds, as digests: of each thread's journal, of each table, of all.
//!
//! A digest of rows is the sum of their hashes, so that it does not depend on the order in which a
//! database gives them.

use std::collections::{BTreeMap, HashSet};

use rusqlite::types::Value;

use super::CopyError;
use super::side::{Numbers, Side, events, number};
use super::table::{Table, WHOLE};
use crate::Progress;
use crate::chain::Digest;

/// The sum of the hashes of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sum([u64; 4]);

impl Sum {
    /// Takes a row in.
    pub(crate) fn add(&mut self, row: &[Value]) {
        let mut hasher = blake3::Hasher::new();
        for value in row {
            match value {
                Value::Null => hasher.update(b"0"),
                Value::Integer(number) => hasher.update(b"n").update(&number.to_le_bytes()),
                Value::Real(number) => hasher.update(b"f").update(&number.to_le_bytes()),
                Value::Text(text) => sized(&mut hasher, b"t", text.as_bytes()),
                Value::Blob(bytes) => sized(&mut hasher, b"b", bytes),
            };
        }
        let hash = hasher.finalize();
        let (lanes, _) = hash.as_bytes().as_chunks::<8>();
        for (lane, part) in self.0.iter_mut().zip(lanes) {
            *lane = lane.wrapping_add(u64::from_le_bytes(*part));
        }
    }
}

fn sized<'h>(hasher: &'h mut blake3::Hasher, tag: &[u8], bytes: &[u8]) -> &'h mut blake3::Hasher {
    hasher.update(tag).update(&(bytes.len() as u64).to_le_bytes()).update(bytes)
}

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    /// Of tables that are copied whole, in their order.
    tables: Vec<Sum>,
    /// Of each thread's rows in the journal, with their links.
    journals: BTreeMap<i64, Sum>,
    numbers: Numbers,
    /// Threads that are there.
    pub(crate) threads: u64,
    pub(crate) appends: u64,
    pub(crate) events: u64,
}

/// What is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Differences {
    /// Tables, by their places in the list.
    pub(crate) tables: Vec<usize>,
    /// Threads whose journals differ.
    pub(crate) threads: Vec<i64>,
    /// Whether the numbers that are given next do.
    pub(crate) numbers: bool,
}

impl Differences {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Sums {
    /// Reads all that a store holds.
    pub(crate) fn of(side: &Side, mut progress: impl FnMut(Progress)) -> Result<Self, CopyError> {
        const STEP: u64 = 1000;
        let mut sums = Self { numbers: side.numbers()?, ..Self::default() };
        for table in WHOLE {
            sums.tables.push(table_sum(side, table)?);
        }
        sums.threads = side.live_threads()?;
        let total = side.extent()?;
        side.journal(|row| {
            sums.journals.entry(number(&row, 1)).or_default().add(&row);
            sums.appends += 1;
            sums.events += events(&row);
            if sums.appends.is_multiple_of(STEP) {
                progress(Progress { done: sums.events.min(total), total });
            }
            Ok(())
        })?;
        Ok(sums)
    }

    /// What is not the same in another store.
    pub(crate) fn differences(&self, other: &Self) -> Differences {
        let tables = self.tables.iter().zip(&other.tables).enumerate();
        let tables = tables.filter(|(_, (one, other))| one != other).map(|(at, _)| at).collect();
        let mut threads: Vec<i64> = self
            .journals
            .iter()
            .filter(|(thread, sum)| other.journals.get(*thread) != Some(*sum))
            .map(|(thread, _)| *thread)
            .collect();
        threads.extend(other.journals.keys().filter(|own| !self.journals.contains_key(*own)));
        Differences { tables, threads, numbers: self.numbers != other.numbers }
    }

    /// Whether another store holds the same but for threads that are gone.
    pub(crate) fn is_kept_by(&self, other: &Self, gone: &HashSet<i64>) -> bool {
        let differences = self.differences(other);
        differences.is_empty()
            || !gone.is_empty()
                && self.threads == other.threads
                && differences.threads.iter().all(|thread| gone.contains(thread))
    }

    /// One digest of everything.
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("selvedge 2026-11 all that a store holds");
        let mut add = |sum: &Sum| {
            for lane in sum.0 {
                hasher.update(&lane.to_le_bytes());
            }
        };
        self.tables.iter().for_each(&mut add);
        let mut all = Sum::default();
        for (thread, sum) in &self.journals {
            let lanes = sum.0.map(|lane| Value::Integer(lane as i64));
            all.add(&[&[Value::Integer(*thread)], &lanes[..]].concat());
        }
        add(&all);
        for number in [self.numbers.threads, self.numbers.rows] {
            hasher.update(&number.to_le_bytes());
        }
        Digest(*hasher.finalize().as_bytes())
    }
}

/// The sum of a table's rows.
pub(crate) fn table_sum(side: &Side, table: &Table) -> Result<Sum, CopyError> {
    let mut sum = Sum::default();
    side.rows_of(table, |row| {
        sum.add(&row);
        Ok(())
    })?;
    Ok(sum)
}
