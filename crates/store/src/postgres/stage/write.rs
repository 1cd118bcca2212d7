//! Writing what was accepted, each kind of it in one statement.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use sqlx_postgres::PgArguments;

use super::{Group, Slot, Stop};
use crate::db::{self, Row, params};
use crate::postgres::text::stored;
use crate::postgres::threads::add;
use crate::rows::chain::Links;
use crate::{Batch, HashChain, ThreadKey, ThreadRef};

/// Bytes of rows that one statement writes; what one append may have is more than it can take.
const STATEMENT_BYTES: usize = 32 << 20;

impl Group<'_> {
    /// Makes the threads that were not there.
    pub(super) fn create(&mut self) -> Result<(), Stop> {
        let new: Vec<&mut Slot> = self.slots.iter_mut().filter(|slot| slot.is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        let list = |pick: fn(&Slot, &ThreadRef) -> i64| -> Vec<i64> {
            new.iter().filter_map(|slot| Some(pick(slot, slot.thread.as_ref()?))).collect()
        };
        let text = |pick: fn(&ThreadKey) -> &str| -> Vec<String> {
            new.iter().map(|slot| stored(pick(&slot.key)).into_owned()).collect()
        };
        let parents: Vec<Option<i64>> = new
            .iter()
            .map(|slot| Some(slot.thread.as_ref()?.branch.as_ref()?.parent.num))
            .collect();
        let mut arguments = PgArguments::default();
        add(&mut arguments, text(|key| &key.tenant))?;
        add(&mut arguments, text(|key| &key.id))?;
        add(&mut arguments, list(|_, thread| thread.epoch as i64))?;
        add(&mut arguments, list(|_, thread| thread.created))?;
        add(&mut arguments, parents)?;
        add(&mut arguments, list(|_, thread| thread.base() as i64))?;
        add(&mut arguments, list(|slot, _| slot.past as i64))?;
        // In the order of names, in which other nodes make theirs.
        let made = self.client.rows(
            "WITH made AS (INSERT INTO thread (tenant, id, epoch, created, parent, fork, past) \
                 SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], \
                     $5::bigint[], $6::bigint[], $7::bigint[]) AS n (tenant, id, a, b, c, d, e) \
                 ORDER BY n.tenant, n.id \
                 ON CONFLICT (tenant, id) WHERE deleted IS NULL DO NOTHING \
                 RETURNING num, tenant, id), \
             kept AS (INSERT INTO followed (thread) SELECT num FROM made) \
             SELECT num, tenant, id FROM made",
            arguments,
        )?;
        let mut numbers = HashMap::with_capacity(made.len());
        for row in made.into_iter().map(Row::Postgres) {
            let key = ThreadKey::new(row.get::<String>(1)?, row.get::<String>(2)?);
            numbers.insert(key, row.get::<i64>(0)?);
        }
        for slot in new {
            let number = numbers.get(&slot.key);
            match (&mut slot.thread, number) {
                (Some(thread), Some(number)) => thread.num = *number,
                // Another node has just made it: the group begins anew and finds it there.
                _ => return Err(Stop::Look),
            }
        }
        Ok(())
    }

    /// Writes all rows, the heads of their threads, and the ends of tasks that they tell of.
    pub(super) fn write(&self, chain: HashChain) -> db::Result<()> {
        let mut begin = 0;
        while begin < self.rows.len() {
            let mut bytes = 0;
            let rest = self.rows.iter().skip(begin);
            let count = rest
                .take_while(|row| {
                    let is_first = bytes == 0;
                    bytes += row.batch.size() + 1;
                    is_first || bytes <= STATEMENT_BYTES
                })
                .count();
            self.write_rows(begin..begin + count)?;
            begin += count;
        }
        self.write_heads()?;
        self.write_ends()?;
        if chain == HashChain::On {
            self.write_links()?;
        }
        Ok(())
    }

    fn write_rows(&self, range: Range<usize>) -> db::Result<()> {
        let rows = self.rows.get(range).unwrap_or_default();
        let list = |pick: fn(&Batch) -> i64| -> Vec<i64> {
            rows.iter().map(|row| pick(&row.batch)).collect()
        };
        let threads: Vec<i64> = rows.iter().map(|row| self.number(row.slot)).collect();
        let keys: Vec<Option<String>> =
            rows.iter().map(|row| Some(stored(&row.key?.text).into_owned())).collect();
        let digests: Vec<Option<Vec<u8>>> =
            rows.iter().map(|row| Some(row.key?.digest.to_vec())).collect();
        let bodies: Vec<String> = rows.iter().map(|row| body(&row.batch)).collect();
        let mut arguments = PgArguments::default();
        add(&mut arguments, threads)?;
        add(&mut arguments, list(|batch| batch.first as i64))?;
        add(&mut arguments, list(|batch| batch.last() as i64))?;
        add(&mut arguments, list(|batch| batch.at))?;
        add(&mut arguments, keys)?;
        add(&mut arguments, digests)?;
        add(&mut arguments, bodies)?;
        self.client.run(
            "INSERT INTO journal (row, thread, first, last, at, key, digest, body) \
             SELECT nextval('journal_row'), n.* FROM unnest($1::bigint[], $2::bigint[], \
                 $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::text[]) AS n",
            arguments,
        )?;
        Ok(())
    }

    fn write_heads(&self) -> db::Result<()> {
        let mut changed: Vec<usize> = self.rows.iter().map(|row| row.slot).collect();
        changed.sort_unstable();
        changed.dedup();
        if changed.is_empty() {
            return Ok(());
        }
        let list = |pick: fn(&Slot) -> i64| -> Vec<i64> {
            changed.iter().filter_map(|slot| self.slots.get(*slot)).map(pick).collect()
        };
        let numbers: Vec<i64> = changed.iter().map(|slot| self.number(*slot)).collect();
        let mut arguments = PgArguments::default();
        add(&mut arguments, numbers)?;
        add(&mut arguments, list(|slot| slot.head as i64))?;
        add(&mut arguments, list(|slot| slot.at))?;
        self.client.run(
            "UPDATE thread t SET head = n.head, at = n.at \
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (num, head, at) \
             WHERE t.num = n.num",
            arguments,
        )?;
        Ok(())
    }

    fn write_ends(&self) -> db::Result<()> {
        let (mut threads, mut tasks, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for slot in &self.slots {
            for (task, state) in &slot.ends {
                threads.push(slot.thread.as_ref().map_or(0, |thread| thread.num));
                tasks.push(stored(task).into_owned());
                states.push(state.name().to_owned());
            }
        }
        if threads.is_empty() {
            return Ok(());
        }
        let mut arguments = PgArguments::default();
        add(&mut arguments, threads)?;
        add(&mut arguments, tasks)?;
        add(&mut arguments, states)?;
        self.client.run(
            "INSERT INTO task_over (thread, task, state) \
             SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING",
            arguments,
        )?;
        Ok(())
    }

    fn write_links(&self) -> db::Result<()> {
        // Of this commit only: another node may write the next one.
        let mut links = Links::default();
        for row in &self.rows {
            let Some(thread) = self.slots.get(row.slot).and_then(|slot| slot.thread.as_ref())
            else {
                continue;
            };
            let number: i64 = self.conn.query_row(
                "SELECT row FROM position WHERE thread = ?1 AND last = ?2",
                params![thread.num, row.batch.last() as i64],
                |row| row.get(0),
            )?;
            links.add(self.conn, thread.num, || Ok(thread.epoch), number, &row.batch)?;
        }
        Ok(())
    }
}

/// A row's body as it is stored.
fn body(batch: &Batch) -> String {
    let body = batch.body();
    match stored(&body) {
        Cow::Borrowed(_) => body,
        Cow::Owned(other) => other,
    }
}
