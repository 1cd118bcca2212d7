//! The log in front of the tables: an append is on disk when its group is here.
//!
//! Writing a row of a table costs pages, and pages that were written for one append are written
//! again for the next. A log is written once, from front to back, so that a commit is one write and
//! one sync. Whoever follows puts the rows into the tables behind the acknowledgement; when the
//! tables are on disk, too, the log begins anew, in place: a file that grows is dearer to sync.
//!
//! There are two files, written in turns: while one is being freed, the other takes what comes.
//!
//! Invariant: a group is read again whole or not at all, and a row is here, or in the tables on
//! disk, or in both, from its acknowledgement on.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};

use super::follow::{Item, Made};
use crate::{Batch, Key, ThreadKey, ThreadRef};

/// Bytes of a file after which the other is written, if it is free.
const TURN: u64 = 16 << 20;
/// Bytes that a file grows by: not so many that whoever appends meanwhile would notice.
const GROW: u64 = 512 << 10;
/// Bytes that are kept to put a group together in.
const KEPT: usize = 1 << 20;
/// Bytes of a group before its rows: mark, length, generation, journal, hash.
const HEAD: usize = 4 + 8 + 8 + 8 + HASH;
const HASH: usize = 16;
const MARK: &[u8; 4] = b"SLG1";
/// Nothing, to make room with.
const ZEROES: &[u8] = &[0; 64 << 10];

/// The log.
#[derive(Debug)]
pub(super) struct Log {
    /// The number of the journal that it belongs to: another file's log is not read.
    journal: u64,
    /// Counts how often a file was begun. What an older count left in a file is not read.
    generation: u64,
    files: [Part; 2],
    /// The one that is written.
    now: usize,
    /// What a group is put together in.
    buffer: Vec<u8>,
    /// Whether a group that was refused may stand in the file.
    is_spoilt: bool,
}

/// The files of the log beside a file.
pub(super) fn paths(beside: &Path) -> [PathBuf; 2] {
    ["-log1", "-log2"].map(|name| {
        let mut path = beside.as_os_str().to_owned();
        path.push(name);
        path.into()
    })
}

/// One of the files.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    file: File,
    /// Where the next group goes.
    at: u64,
    /// Bytes that the file has.
    size: u64,
    /// The last row in it.
    last: i64,
}

impl Log {
    /// Opens the log beside a file, making it if it is not there, and gives the rows after one that
    /// were acknowledged and may not be in its tables.
    pub(super) fn open(beside: &Path, journal: u64, after: i64) -> io::Result<(Self, Vec<Item>)> {
        let [first, second] = paths(beside);
        let files = [Part::open(first)?, Part::open(second)?];
        // Their names are on disk before anything in them counts.
        let folder = beside.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        let mut log =
            Self { journal, generation: 0, files, now: 0, buffer: Vec::new(), is_spoilt: false };
        let mut groups = Vec::new();
        for part in &mut log.files {
            groups.extend(part.read(journal)?);
        }
        groups.sort_by_key(|group| (group.generation, group.nth));
        let mut items = Vec::new();
        let mut next = after + 1;
        for group in groups {
            log.generation = log.generation.max(group.generation);
            for item in group.items {
                if item.row < next {
                    continue;
                }
                if item.row > next {
                    let name = beside.display();
                    return Err(io::Error::other(format!(
                        "{name}-log1 and {name}-log2 go on at append {}, and {name} ends before \
                         append {next}: it is older than they are. Bring back the file that they \
                         belong to, or move them away to go on without what is in them",
                        item.row
                    )));
                }
                next += 1;
                items.push(item);
            }
        }
        // Nothing that is here is overwritten before the tables have it: see `clear`.
        Ok((log, items))
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.files.iter().all(|part| part.at == 0)
    }

    /// Writes rows; when it returns, they are on disk. `durable` is the last row that is in the
    /// tables on disk. If it fails, none of them is read again, unless the machine stops now.
    pub(super) fn write(&mut self, rows: &[&Item], durable: i64) -> io::Result<()> {
        let Some(last) = rows.last().map(|row| row.row) else { return Ok(()) };
        self.mend()?;
        self.turn(durable)?;
        let mut group = std::mem::take(&mut self.buffer);
        encode(rows, self.generation, self.journal, &mut group);
        let written = match &mut self.files {
            [first, _] if self.now == 0 => first.write(&group, last),
            [_, second] => second.write(&group, last),
        };
        group.clear();
        if group.capacity() <= KEPT {
            self.buffer = group;
        }
        if written.is_err() {
            self.is_spoilt = true;
            // What could not be written is told; if this fails, too, it is done before the next.
            let _ = self.mend();
        }
        written
    }

    /// Makes sure that nothing is read again that was refused.
    pub(super) fn mend(&mut self) -> io::Result<()> {
        if self.is_spoilt {
            for part in &mut self.files {
                part.end_here()?;
            }
            self.is_spoilt = false;
        }
        Ok(())
    }

    /// The last row of the file that is not written now, while the tables are to have all of it.
    pub(super) fn wanted(&self) -> i64 {
        let [first, second] = &self.files;
        if self.now == 0 { second.last } else { first.last }
    }

    /// Goes on in the other file if this one is long and that one free.
    fn turn(&mut self, durable: i64) -> io::Result<()> {
        let [first, second] = &mut self.files;
        let (now, other) = if self.now == 0 { (first, second) } else { (second, first) };
        if now.at == 0 {
            self.generation += 1;
        } else if now.at >= TURN && other.last <= durable {
            other.begin()?;
            self.now = 1 - self.now;
            self.generation += 1;
        }
        Ok(())
    }

    /// Forgets everything: the tables have it, on disk. Nothing of it is left in the files.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        for part in &mut self.files {
            part.begin()?;
            part.file.set_len(0)?;
            part.file.sync_all()?;
            (part.size, part.last) = (0, 0);
        }
        self.is_spoilt = false;
        Ok(())
    }

    /// Removes its files, which hold nothing any more: the store closes.
    pub(super) fn remove(&self) {
        for part in &self.files {
            // One that stays is read again, and found empty.
            let _ = fs::remove_file(&part.path);
        }
    }
}

impl Part {
    fn open(path: PathBuf) -> io::Result<Self> {
        let file =
            File::options().create(true).truncate(false).read(true).write(true).open(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, at: 0, size, last: 0 })
    }

    fn begin(&mut self) -> io::Result<()> {
        self.at = 0;
        self.file.seek(SeekFrom::Start(0)).map(drop)
    }

    fn write(&mut self, group: &[u8], last: i64) -> io::Result<()> {
        let end = self.at + group.len() as u64;
        self.grow(end)?;
        self.file.write_all(group)?;
        self.file.sync_data()?;
        (self.at, self.last) = (end, last);
        Ok(())
    }

    /// Lets nothing be read behind what was written last. What comes next goes there.
    fn end_here(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.at))?;
        let head = self.size.saturating_sub(self.at).min(HEAD as u64) as usize;
        self.file.write_all(ZEROES.get(..head).unwrap_or_default())?;
        self.file.sync_data()?;
        self.file.seek(SeekFrom::Start(self.at)).map(drop)
    }

    /// Makes room up to an end, and more than that: what is written in place is synced faster.
    fn grow(&mut self, end: u64) -> io::Result<()> {
        if end <= self.size {
            return Ok(());
        }
        let size = end.max(self.size + GROW);
        self.file.seek(SeekFrom::Start(self.size))?;
        let mut left = size - self.size;
        while left > 0 {
            let piece = left.min(ZEROES.len() as u64) as usize;
            self.file.write_all(ZEROES.get(..piece).unwrap_or_default())?;
            left -= piece as u64;
        }
        self.file.sync_all()?;
        self.size = size;
        self.file.seek(SeekFrom::Start(self.at)).map(drop)
    }

    /// The groups in it, up to one that was not written to its end.
    fn read(&mut self, journal: u64) -> io::Result<Vec<Group>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        self.file.seek(SeekFrom::Start(0))?;
        let mut rest = Bytes::from(bytes);
        let all = rest.len();
        let mut groups: Vec<Group> = Vec::new();
        while let Some(group) = decode(&mut rest, journal, groups.len())
            && groups.first().is_none_or(|first| first.generation == group.generation)
        {
            self.last = group.items.last().map_or(self.last, |item| item.row);
            self.at = (all - rest.len()) as u64;
            groups.push(group);
        }
        Ok(groups)
    }
}

/// Rows that were written together.
struct Group {
    generation: u64,
    /// Its place in its file.
    nth: usize,
    items: Vec<Item>,
}

fn encode(rows: &[&Item], generation: u64, journal: u64, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; HEAD]);
    for item in rows {
        encode_row(item, out);
    }
    let length = (out.len() - HEAD) as u64;
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(MARK);
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(&generation.to_le_bytes());
    head.extend_from_slice(&journal.to_le_bytes());
    let hash = hash(&head, out.get(HEAD..).unwrap_or_default());
    head.extend_from_slice(&hash);
    if let Some(place) = out.get_mut(..HEAD) {
        place.copy_from_slice(&head);
    }
}

fn encode_row(item: &Item, out: &mut Vec<u8>) {
    out.extend_from_slice(&item.row.to_le_bytes());
    out.extend_from_slice(&item.thread.to_le_bytes());
    out.extend_from_slice(&item.batch.first.to_le_bytes());
    out.extend_from_slice(&item.batch.at.to_le_bytes());
    out.push(u8::from(item.key.is_some()) | u8::from(item.made.is_some()) << 1);
    if let Some(key) = &item.key {
        put(key.text.as_bytes(), out);
        out.extend_from_slice(&key.digest);
    }
    if let Some(made) = &item.made {
        put(made.key.tenant.as_bytes(), out);
        put(made.key.id.as_bytes(), out);
        out.extend_from_slice(&made.thread.epoch.to_le_bytes());
        out.extend_from_slice(&made.thread.created.to_le_bytes());
    }
    let place = out.len();
    out.extend_from_slice(&[0; 8]);
    item.batch.write(out);
    let length = (out.len() - place - 8) as u64;
    if let Some(field) = out.get_mut(place..place + 8) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}

fn put(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text);
}

fn hash(head: &[u8], rows: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head);
    hasher.update(rows);
    let mut hash = [0; HASH];
    hasher.finalize_xof().fill(&mut hash);
    hash
}

/// The next group of a journal, if all of it is there.
fn decode(rest: &mut Bytes, journal: u64, nth: usize) -> Option<Group> {
    let mut bytes = rest.clone();
    let said = bytes.get(..HEAD - HASH)?.to_vec();
    if bytes.get(..4)? != MARK {
        return None;
    }
    bytes.advance(4);
    let length = usize::try_from(bytes.try_get_u64_le().ok()?).ok()?;
    let generation = bytes.try_get_u64_le().ok()?;
    let of = bytes.try_get_u64_le().ok()?;
    let known = bytes.get(..HASH)?.to_vec();
    bytes.advance(HASH);
    let mut rows = bytes.get(..length).map(|rows| bytes.slice_ref(rows))?;
    if of != journal || hash(&said, &rows) != *known {
        return None;
    }
    bytes.advance(length);
    let mut items = Vec::new();
    while !rows.is_empty() {
        items.push(decode_row(&mut rows)?);
    }
    *rest = bytes;
    Some(Group { generation, nth, items })
}

fn decode_row(rows: &mut Bytes) -> Option<Item> {
    let row = rows.try_get_i64_le().ok()?;
    let thread = rows.try_get_i64_le().ok()?;
    let first = rows.try_get_u64_le().ok()?;
    let at = rows.try_get_i64_le().ok()?;
    let has = rows.try_get_u8().ok()?;
    let key = if has & 1 != 0 {
        let text = text(rows)?;
        let digest = rows.get(..32)?.try_into().ok()?;
        rows.advance(32);
        Some(Key { text, digest })
    } else {
        None
    };
    let made = if has & 2 != 0 {
        let key = ThreadKey::new(text(rows)?, text(rows)?);
        let epoch = rows.try_get_u64_le().ok()?;
        let created = rows.try_get_i64_le().ok()?;
        let thread = ThreadRef { num: thread, epoch, created, renamed: 0, branch: None };
        Some(Made { key, thread })
    } else {
        None
    };
    let body = take(rows)?;
    let batch = Arc::new(Batch::parse(first, at, &body));
    Some(Item { row, thread, key, batch, made, is_written: false })
}

fn take(rows: &mut Bytes) -> Option<Bytes> {
    let length = usize::try_from(rows.try_get_u64_le().ok()?).ok()?;
    (length <= rows.len()).then(|| rows.split_to(length))
}

fn text(rows: &mut Bytes) -> Option<String> {
    String::from_utf8(take(rows)?.to_vec()).ok()
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
