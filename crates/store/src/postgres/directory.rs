//! The directory of a store of several databases: which of them the threads of a name are in.
//!
//! It is a table of the first one. One thread with a connection of its own asks it for all who
//! wait, together; what it said is kept, for it never changes.
//!
//! Invariant: a name has one place for good, whatever becomes of the threads that have it. Whoever
//! makes a thread has its place on disk before.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use sqlx_postgres::PgArguments;
use tokio::sync::oneshot;

use super::Client;
use super::text::stored;
use super::threads::add;
use super::writer::Link;
use crate::db::{self, Connection, Optional as _, Row, params};
use crate::{TendError, ThreadKey};

/// Names that may wait, and how many are asked for together.
const QUEUE: usize = 16_384;
const GROUP: usize = 1024;
/// Places of one half of what is kept.
const KEPT: usize = 1 << 16;

/// A name to look up; with a place, to be put there if it has none.
struct Ask {
    key: ThreadKey,
    put: Option<usize>,
    reply: oneshot::Sender<Result<Option<usize>, TendError>>,
}

/// The way to the directory.
#[derive(Debug)]
pub(crate) struct Directory {
    kept: Arc<Mutex<Kept>>,
    /// Gone when the store closes.
    queue: Option<SyncSender<Ask>>,
    thread: Option<JoinHandle<()>>,
}

impl Directory {
    /// Connects to the first database, and starts to answer.
    pub(crate) fn start(url: &str) -> Result<Self, super::Trouble> {
        let link = Link::new(url, Connection::Postgres(Client::open(url)?));
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (queue, asked) = sync_channel(QUEUE);
        let own = kept.clone();
        let thread = std::thread::Builder::new()
            .name("directory".into())
            .spawn(move || run(link, &asked, &own))
            .map_err(super::Trouble::Thread)?;
        Ok(Self { kept, queue: Some(queue), thread: Some(thread) })
    }

    /// The database of a name, if it was looked up before.
    pub(crate) fn known(&self, key: &ThreadKey) -> Option<usize> {
        lock(&self.kept).get(key)
    }

    /// The same, looked up on a connection to the first database if it was not. Blocks.
    pub(crate) fn find_by(&self, conn: &Connection, key: &ThreadKey) -> db::Result<Option<usize>> {
        let mut find =
            conn.prepare_cached("SELECT shard FROM place WHERE tenant = ?1 AND id = ?2")?;
        let found = find.query_row(params![&*key.tenant, &*key.id], |row| row.get::<i64>(0));
        let found = found.optional()?.map(index);
        if let Some(shard) = found {
            lock(&self.kept).put(key.clone(), shard);
        }
        Ok(found)
    }

    /// The database of a name, if it has one.
    pub(crate) async fn find(&self, key: &ThreadKey) -> Result<Option<usize>, TendError> {
        match self.known(key) {
            Some(shard) => Ok(Some(shard)),
            None => self.ask(key, None).await,
        }
    }

    /// The database of a name; this one if it has none yet.
    pub(crate) async fn put(&self, key: &ThreadKey, shard: usize) -> Result<usize, TendError> {
        match self.known(key) {
            Some(shard) => Ok(shard),
            None => Ok(self.ask(key, Some(shard)).await?.unwrap_or(shard)),
        }
    }

    async fn ask(&self, key: &ThreadKey, put: Option<usize>) -> Result<Option<usize>, TendError> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(TendError::Closed)?;
        queue.try_send(Ask { key: key.clone(), put, reply }).map_err(|error| match error {
            TrySendError::Full(_) => TendError::Busy,
            TrySendError::Disconnected(_) => TendError::Closed,
        })?;
        answer.await.unwrap_or(Err(TendError::Closed))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where a name goes that has no place yet, of so many databases: the same on every node, and as
/// many here as there. More databases leave most names where they would have gone.
pub(crate) fn choice(key: &ThreadKey, shards: usize) -> usize {
    let score = |shard: &usize| {
        let mut hash = blake3::Hasher::new();
        // The length keeps a tenant and an id apart.
        hash.update(&(key.tenant.len() as u64).to_le_bytes());
        hash.update(key.tenant.as_bytes()).update(key.id.as_bytes());
        hash.update(&(*shard as u64).to_le_bytes());
        *hash.finalize().as_bytes()
    };
    (0..shards).max_by_key(score).unwrap_or(0)
}

fn run(mut link: Link, asked: &Receiver<Ask>, kept: &Mutex<Kept>) {
    while let Ok(first) = asked.recv() {
        let mut group = vec![first];
        while group.len() < GROUP
            && let Ok(next) = asked.try_recv()
        {
            group.push(next);
        }
        let answers = link.get().and_then(|(_, client)| look(client, &group));
        match answers {
            Ok(places) => {
                let mut kept = lock(kept);
                for ask in &group {
                    if let Some(shard) = places.get(&ask.key) {
                        kept.put(ask.key.clone(), *shard);
                    }
                }
                drop(kept);
                for ask in group {
                    let _ = ask.reply.send(Ok(places.get(&ask.key).copied()));
                }
            }
            Err(error) => {
                let error = TendError::Storage(error.to_string());
                for ask in group {
                    let _ = ask.reply.send(Err(error.clone()));
                }
            }
        }
    }
}

/// Finds the places of names, and gives one to those that have none and are to have one.
fn look(client: &Client, group: &[Ask]) -> db::Result<HashMap<ThreadKey, usize>> {
    let all: Vec<(&ThreadKey, i64)> = group.iter().map(|ask| (&ask.key, 0)).collect();
    let mut places = HashMap::with_capacity(group.len());
    take(&mut places, client.rows(FIND, arguments(&all)?)?)?;
    let is_new = |ask: &&Ask| !places.contains_key(&ask.key);
    let new: Vec<(&ThreadKey, i64)> = group
        .iter()
        .filter(is_new)
        .filter_map(|ask| Some((&ask.key, i64::try_from(ask.put?).ok()?)))
        .collect();
    if !new.is_empty() {
        client.run(PUT, arguments(&new)?)?;
        // As they are now: another node may have put them elsewhere.
        take(&mut places, client.rows(FIND, arguments(&new)?)?)?;
    }
    Ok(places)
}

const FIND: &str = "SELECT p.shard, p.tenant, p.id \
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k (tenant, id, shard) \
     JOIN place p ON p.tenant = k.tenant AND p.id = k.id";
/// In the order of names, in which other nodes put theirs.
const PUT: &str = "INSERT INTO place (tenant, id, shard) SELECT k.tenant, k.id, k.shard \
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k (tenant, id, shard) \
     ORDER BY k.tenant COLLATE \"C\", k.id COLLATE \"C\" ON CONFLICT DO NOTHING";

fn arguments(names: &[(&ThreadKey, i64)]) -> db::Result<PgArguments> {
    let text = |pick: fn(&ThreadKey) -> &str| -> Vec<String> {
        names.iter().map(|(key, _)| stored(pick(key)).into_owned()).collect()
    };
    let mut arguments = PgArguments::default();
    add(&mut arguments, text(|key| &key.tenant))?;
    add(&mut arguments, text(|key| &key.id))?;
    add(&mut arguments, names.iter().map(|(_, shard)| *shard).collect::<Vec<_>>())?;
    Ok(arguments)
}

fn take(
    places: &mut HashMap<ThreadKey, usize>,
    rows: Vec<Vec<rusqlite::types::Value>>,
) -> db::Result<()> {
    for row in rows.into_iter().map(Row::Postgres) {
        let key = ThreadKey::new(row.get::<String>(1)?, row.get::<String>(2)?);
        places.insert(key, index(row.get(0)?));
    }
    Ok(())
}

fn index(shard: i64) -> usize {
    usize::try_from(shard).unwrap_or(usize::MAX)
}

/// Places that were looked up, in two halves: the older one goes when the other is full.
#[derive(Debug, Default)]
struct Kept {
    new: HashMap<ThreadKey, usize>,
    old: HashMap<ThreadKey, usize>,
}

impl Kept {
    fn get(&mut self, key: &ThreadKey) -> Option<usize> {
        if let Some(shard) = self.new.get(key) {
            return Some(*shard);
        }
        let (key, shard) = self.old.remove_entry(key)?;
        self.put(key, shard);
        Some(shard)
    }

    fn put(&mut self, key: ThreadKey, shard: usize) {
        if self.new.len() >= KEPT {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(key, shard);
    }
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Kept, choice};
    use crate::ThreadKey;

    fn key(n: usize) -> ThreadKey {
        ThreadKey::new("acme", format!("t{n}"))
    }

    #[test]
    fn names_are_spread_evenly_and_mostly_stay_when_there_are_more_databases() {
        let mut counts = [0; 3];
        let mut moved = 0;
        for n in 0..3000 {
            let at = choice(&key(n), 3);
            counts[at] += 1;
            match choice(&key(n), 4) {
                3 => moved += 1,
                other => assert_eq!(other, at),
            }
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        assert!((650..850).contains(&moved), "{moved}");
        assert_ne!(ThreadKey::new("a", "bc"), ThreadKey::new("ab", "c"));
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let mut kept = Kept::default();
        for n in 0..5 * KEPT {
            kept.put(key(n), n);
            assert_eq!(kept.get(&key(0)), Some(0));
        }
        assert!(kept.new.len() + kept.old.len() <= 2 * KEPT);
        assert_eq!(kept.get(&key(1)), None);
    }
}
