//! Threads over several databases: which one is asked, and how what many say is put together.
//!
//! A thread's number says which database it is in; of a name, the directory does. Where there is
//! one database, there is no directory, and nothing here asks anything.
//!
//! Invariant: an answer about one thread comes from one database. A list has every row of every
//! database once: their orders are one order, as thread numbers are different in all of them.

mod usage;

use crate::db::Connection;
use crate::postgres::directory::{Directory, choice};
use crate::postgres::role;
use crate::query::{Found, Listed, Place};
use crate::rows::query::{Ranked, page, page_of};
use crate::shard::{Shard, shard_of};
use crate::{
    Address, Append, AppendError, Create, OpenError, Options, ReadError, ShardError, TendError,
    ThreadKey,
};

/// The databases of a store.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(crate) first: Shard,
    others: Vec<Shard>,
    /// Where there are others.
    directory: Option<Directory>,
}

/// Which end of a list comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Up,
    Down,
}

impl Spread {
    /// Opens all databases, and gives each its role. Blocks.
    pub(crate) fn open(first: &Address, options: &Options) -> Result<Self, OpenError> {
        let all: Vec<&Address> = std::iter::once(first).chain(&options.shards).collect();
        let (databases, replicas) = (all.len(), options.replicas.len());
        if replicas > 0 && replicas != databases {
            return Err(OpenError::Replicas { databases, replicas });
        }
        if !options.shards.is_empty() || matches!(first, Address::Postgres(_)) {
            role::assign(&all)?;
        }
        let directory = match first {
            Address::Postgres(url) if !options.shards.is_empty() => {
                Some(Directory::start(url).map_err(|trouble| trouble.at(first))?)
            }
            _ => None,
        };
        let mut replicas = options.replicas.iter();
        let first = Shard::open(first, replicas.next(), options)?;
        let others = options.shards.iter();
        let others = others.map(|address| Shard::open(address, replicas.next(), options));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        if let Some(node) = &first.node {
            for other in others.iter().filter_map(|shard| shard.node.as_ref()) {
                other.stirs_too(node);
            }
        }
        Ok(Self { first, others, directory })
    }

    /// All databases.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Shard> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The one database, if there is one.
    pub(crate) fn only(&self) -> Option<&Shard> {
        self.others.is_empty().then_some(&self.first)
    }

    /// The database of a number.
    fn shard(&self, number: usize) -> Result<&Shard, ShardError> {
        let shard = match number.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other),
        };
        shard.ok_or(ShardError::Unknown { number })
    }

    /// The database of a thread.
    pub(crate) fn of(&self, thread: i64) -> Result<&Shard, ShardError> {
        match &self.directory {
            None => Ok(&self.first),
            Some(_) => self.shard(shard_of(thread)),
        }
    }

    /// The database of a name, if it was ever used. Blocks.
    pub(crate) fn named(&self, key: &ThreadKey) -> Result<Option<&Shard>, ReadError> {
        let Some(directory) = &self.directory else { return Ok(Some(&self.first)) };
        let found = match directory.known(key) {
            Some(shard) => Some(shard),
            None => self.first.with(|conn| Ok(directory.find_by(conn, key)?))?,
        };
        Ok(found.map(|shard| self.shard(shard)).transpose()?)
    }

    /// The same without blocking.
    pub(crate) async fn find(&self, key: &ThreadKey) -> Result<&Shard, TendError> {
        let Some(directory) = &self.directory else { return Ok(&self.first) };
        let found = directory.find(key).await?.ok_or(TendError::NotFound)?;
        Ok(self.shard(found)?)
    }

    /// Where an append goes. A thread that is yet to be made gets its place here: a branch that of
    /// the thread it comes from, any other one that follows from its name.
    pub(crate) async fn place(&self, append: &Append) -> Result<&Shard, AppendError> {
        let Some(directory) = &self.directory else { return Ok(&self.first) };
        let placed = match &append.create {
            Create::Never => return Ok(self.find(&append.thread).await?),
            Create::Branch { from, .. } => {
                let own = shard_of(from.num);
                match directory.put(&append.thread, own).await? {
                    shard if shard != own => return Err(AppendError::OtherShard),
                    shard => shard,
                }
            }
            Create::IfMissing | Create::New | Create::Past => {
                let choice = choice(&append.thread, 1 + self.others.len());
                directory.put(&append.thread, choice).await?
            }
        };
        Ok(self.shard(placed).map_err(TendError::from)?)
    }

    /// Puts a name where another is, if it has no place yet; whether it is there now.
    pub(crate) async fn put_beside(
        &self,
        key: &ThreadKey,
        other: &ThreadKey,
    ) -> Result<bool, TendError> {
        let Some(directory) = &self.directory else { return Ok(true) };
        let beside = directory.find(other).await?.ok_or(TendError::NotFound)?;
        Ok(directory.put(key, beside).await? == beside)
    }

    /// Asks every database at the same time; their answers in order.
    fn ask_all<T: Send>(
        &self,
        ask: impl Fn(usize, &Shard) -> Result<T, ReadError> + Sync,
    ) -> Vec<Result<T, ReadError>> {
        if self.others.is_empty() {
            return vec![ask(0, &self.first)];
        }
        let ask = &ask;
        std::thread::scope(|scope| {
            let others = self.others.iter().enumerate();
            let asked: Vec<_> =
                others.map(|(other, shard)| scope.spawn(move || ask(other + 1, shard))).collect();
            let first = ask(0, &self.first);
            let others = asked.into_iter().map(|asked| match asked.join() {
                Ok(answer) => answer,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(first).chain(others).collect()
        })
    }

    /// Asks every database.
    pub(crate) fn each<T: Send>(
        &self,
        ask: impl Fn(&Connection) -> Result<T, ReadError> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        self.ask_all(|_, shard| shard.with(&ask)).into_iter().collect()
    }

    /// Asks every database, and passes over those that do not answer while another does: for who
    /// looks for work, some is better than none.
    pub(crate) fn those_there<T: Send>(
        &self,
        ask: impl Fn(&Connection) -> Result<T, ReadError> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let mut answers = Vec::with_capacity(1 + self.others.len());
        let mut trouble = None;
        for answer in self.ask_all(|_, shard| shard.with(&ask)) {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(ReadError::Storage(error)) => trouble = Some(error),
                Err(error) => return Err(error),
            }
        }
        match trouble {
            Some(error) if answers.is_empty() => Err(error.into()),
            _ => Ok(answers),
        }
    }

    /// A page of found events, the newest first. What is found in one database is in the order of
    /// its rows, which mean nothing in another: a place has one number for each.
    pub(crate) fn found(
        &self,
        limit: usize,
        after: Option<&Place>,
        ask: impl Fn(&Connection, i64) -> Result<Ranked<Found, 1>, ReadError> + Sync,
    ) -> Result<Listed<Found>, ReadError> {
        let mut places = after.map_or(Ok(Vec::new()), Place::list)?;
        let shards = 1 + self.others.len();
        if let Some(place) = after.filter(|_| places.len() > shards) {
            return Err(place.bad());
        }
        // One that was added since comes from its beginning.
        places.resize(shards, i64::MAX);
        let asked = self.ask_all(|nth, shard| {
            let before = places.get(nth).copied().unwrap_or(i64::MAX);
            shard.with(|conn| ask(conn, before))
        });
        let lists = asked.into_iter().map(|list| Ok(list?.into_iter().peekable()));
        let mut lists = lists.collect::<Result<Vec<_>, ReadError>>()?;
        let mut items = Vec::new();
        let limit = page_of(limit);
        loop {
            let heads = lists.iter_mut().enumerate();
            let heads = heads.filter_map(|(nth, list)| Some((list.peek()?.0.at, nth)));
            // Of those of one moment the first database's.
            let newest = heads.max_by_key(|(at, nth)| (*at, std::cmp::Reverse(*nth)));
            let Some((_, nth)) = newest else { return Ok(Listed { items, next: None }) };
            if items.len() == limit {
                return Ok(Listed { items, next: Some(Place::of_list(&places)) });
            }
            let next = lists.get_mut(nth).and_then(Iterator::next);
            if let (Some((item, [number])), Some(place)) = (next, places.get_mut(nth)) {
                *place = number;
                items.push(item);
            }
        }
    }
}

/// A page of what several databases have, each in that order.
pub(crate) fn merged<T, const N: usize>(
    lists: Vec<Ranked<T, N>>,
    order: Order,
    limit: usize,
) -> Listed<T> {
    page(sorted(lists, order), limit)
}

/// Rows of several databases in one order.
pub(crate) fn sorted<T, const N: usize>(
    mut lists: Vec<Ranked<T, N>>,
    order: Order,
) -> Ranked<T, N> {
    if lists.len() == 1 {
        return lists.pop().unwrap_or_default();
    }
    let mut all: Ranked<T, N> = lists.into_iter().flatten().collect();
    all.sort_by(|(_, a), (_, b)| match order {
        Order::Up => a.cmp(b),
        Order::Down => b.cmp(a),
    });
    all
}

impl From<ShardError> for TendError {
    fn from(error: ShardError) -> Self {
        Self::Storage(format!("the store {error}"))
    }
}

impl From<TendError> for AppendError {
    fn from(error: TendError) -> Self {
        match error {
            TendError::NotFound => Self::NotFound,
            TendError::Behind => Self::Behind,
            TendError::Busy => Self::Busy,
            TendError::Closed => Self::Closed,
            TendError::Storage(error) => Self::Storage(error),
        }
    }
}
