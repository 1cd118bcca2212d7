//! What was used and what failed, summed up over several databases.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Range;

use selvedge_protocol::journal::fold::Tokens;

use super::Spread;
use crate::ReadError;
use crate::query::{
    DayUsage, Failures, Listed, Place, Spent, Timed, UsageBy, UsageOrder, UsageQuery,
};
use crate::rows::query::{self, page_of};

impl Spread {
    /// A page of sums.
    pub(crate) fn spent(
        &self,
        tenant: &str,
        asked: &UsageQuery,
    ) -> Result<Listed<Spent>, ReadError> {
        let [begin] = asked.after.as_ref().map_or(Ok([0]), Place::numbers)?;
        let begin = begin.max(0);
        let end = begin.saturating_add(page_of(asked.limit) as i64);
        // One more, to see whether there is a next page.
        let within = begin..end.saturating_add(1);
        let mut items = match self.asked(asked)? {
            Some(shard) => shard.with(|conn| query::spent(conn, tenant, asked, within.clone()))?,
            None => self.spent_in_all(tenant, asked, within)?,
        };
        let more = items.len() > page_of(asked.limit);
        items.truncate(page_of(asked.limit));
        Ok(Listed { items, next: more.then(|| Place::of([end])) })
    }

    fn spent_in_all(
        &self,
        tenant: &str,
        asked: &UsageQuery,
        within: Range<i64>,
    ) -> Result<Vec<Spent>, ReadError> {
        // What is among the first of all is among the first of each, unless its sum is what decides
        // and has parts elsewhere. A thread has none.
        let is_whole = asked.order == UsageOrder::Named || asked.by.contains(&UsageBy::Thread);
        let reach = if is_whole { within.end } else { i64::MAX };
        let mut sums: BTreeMap<_, Spent> = BTreeMap::new();
        for part in self.each(|conn| query::spent(conn, tenant, asked, 0..reach))? {
            for spent in part {
                let key = name(&spent);
                match sums.get_mut(&key) {
                    Some(sum) => {
                        add(&mut sum.tokens, &spent.tokens);
                        add_time(&mut sum.time, spent.time);
                    }
                    None => drop(sums.insert(key, spent)),
                }
            }
        }
        let mut all: Vec<Spent> = sums.into_values().collect();
        if asked.order == UsageOrder::Dearest {
            // Those of one price stay in the order of their names.
            all.sort_by(|a, b| dearest(&a.tokens, &b.tokens));
        }
        let count = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let (skip, take) = (count(within.start), count(within.end - within.start));
        Ok(all.into_iter().skip(skip).take(take).collect())
    }

    /// What failed, what failed most first.
    pub(crate) fn failures(
        &self,
        tenant: &str,
        asked: &UsageQuery,
    ) -> Result<Vec<Failures>, ReadError> {
        if let Some(shard) = self.asked(asked)? {
            return shard.with(|conn| query::failures(conn, tenant, asked, asked.limit));
        }
        let mut sums: BTreeMap<_, Failures> = BTreeMap::new();
        for part in self.each(|conn| query::failures(conn, tenant, asked, usize::MAX))? {
            for failed in part {
                let key = (failed.what.clone(), failed.code.clone(), failed.agent.clone());
                match sums.get_mut(&key) {
                    Some(sum) => {
                        sum.times = sum.times.saturating_add(failed.times);
                        sum.last = sum.last.max(failed.last);
                    }
                    None => drop(sums.insert(key, failed)),
                }
            }
        }
        let mut all: Vec<Failures> = sums.into_values().collect();
        all.sort_by_key(|failed| Reverse(failed.times));
        all.truncate(asked.limit);
        Ok(all)
    }

    /// Tokens used in all threads, by day, agent and model.
    pub(crate) fn usage_by_day(
        &self,
        tenant: &str,
        days: &Range<i64>,
    ) -> Result<Vec<DayUsage>, ReadError> {
        let mut parts = self.each(|conn| query::usage_by_day(conn, tenant, days.clone()))?;
        if parts.len() == 1 {
            return Ok(parts.pop().unwrap_or_default());
        }
        let mut sums: BTreeMap<_, DayUsage> = BTreeMap::new();
        for used in parts.into_iter().flatten() {
            let key = (used.day, used.agent.clone(), used.model.clone());
            match sums.get_mut(&key) {
                Some(sum) => add(&mut sum.tokens, &used.tokens),
                None => drop(sums.insert(key, used)),
            }
        }
        Ok(sums.into_values().collect())
    }

    /// The one database that is to be asked, if it is one.
    fn asked(&self, asked: &UsageQuery) -> Result<Option<&super::Shard>, ReadError> {
        match &asked.thread {
            Some(thread) => Ok(Some(self.of(thread.num)?)),
            None => Ok(self.only()),
        }
    }
}

type Name = (Option<i64>, Option<String>, Option<String>, Option<String>);

/// What a sum is of, in the order of names.
fn name(spent: &Spent) -> Name {
    (spent.day, spent.thread.clone(), spent.agent.clone(), spent.model.clone())
}

fn dearest(a: &Tokens, b: &Tokens) -> Ordering {
    let used = |tokens: &Tokens| tokens.input.saturating_add(tokens.output);
    b.cost.total_cmp(&a.cost).then_with(|| used(b).cmp(&used(a)))
}

fn add(sum: &mut Tokens, more: &Tokens) {
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cached = sum.cached.saturating_add(more.cached);
    sum.reasoning = sum.reasoning.saturating_add(more.reasoning);
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.cost += more.cost;
}

fn add_time(sum: &mut Timed, more: Timed) {
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.millis = sum.millis.saturating_add(more.millis);
    sum.slowest = sum.slowest.max(more.slowest);
}
