//! What was written is read again, whole or not at all.

use std::path::{Path, PathBuf};

use super::*;

const JOURNAL: u64 = 7;

fn item(row: i64, text: &str) -> Item {
    let lines = vec![(Bytes::from(format!("{{\"kind\":\"{text}\"}}")), None)];
    let batch = Arc::new(Batch::new(row as u64, 1000 + row, lines));
    Item { row, thread: 3, key: None, batch, made: None, is_written: false }
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("s.db")
}

/// Writes rows, a group each.
fn write(log: &mut Log, rows: impl IntoIterator<Item = i64>, durable: i64) {
    for row in rows {
        log.write(&[&item(row, "x")], durable).unwrap();
    }
}

fn rows(path: &Path, after: i64) -> Vec<i64> {
    let (_, items) = Log::open(path, JOURNAL, after).unwrap();
    items.iter().map(|item| item.row).collect()
}

#[test]
fn rows_come_back_as_they_were_and_only_those_that_the_tables_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut log, items) = Log::open(&path, JOURNAL, 0).unwrap();
    assert!(items.is_empty() && log.is_empty());
    let key = ThreadKey::new("tenant", "id");
    let thread = ThreadRef { num: 3, epoch: 9, created: 5, renamed: 0, branch: None };
    let mut first = item(1, "a");
    first.made = Some(Made { key: key.clone(), thread: thread.clone() });
    let mut second = item(2, "b");
    second.key = Some(Key { text: "k\u{e9}y".into(), digest: [4; 32] });
    let line = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let lines = vec![(line("{\"kind\":\"b\"}"), Some(line("s"))), (line("{\"kind\":\"c\"}"), None)];
    second.batch = Arc::new(Batch::new(2, 1002, lines));
    log.write(&[&first, &second], 0).unwrap();
    write(&mut log, [3], 0);
    drop(log);
    let (_, items) = Log::open(&path, JOURNAL, 0).unwrap();
    let [one, two, three] = &items[..] else { panic!("{items:?}") };
    let made = one.made.as_ref().unwrap();
    assert_eq!((&made.key, &made.thread), (&key, &thread));
    assert_eq!((one.row, one.thread, &one.batch), (1, 3, &first.batch));
    assert_eq!((&two.key, &two.batch), (&second.key, &second.batch));
    assert_eq!((three.row, three.key.is_none(), three.made.is_none()), (3, true, true));
    assert_eq!(rows(&path, 2), [3]);
    assert_eq!(rows(&path, 9), [0; 0]);
}

#[test]
fn a_group_that_was_cut_off_or_damaged_anywhere_ends_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut log, _) = Log::open(&path, JOURNAL, 0).unwrap();
    write(&mut log, [1], 0);
    let begin = log.files[0].at as usize;
    write(&mut log, [2], 0);
    let end = log.files[0].at as usize;
    let part = log.files[0].path.clone();
    drop(log);
    let whole = std::fs::read(&part).unwrap();
    for at in begin..end {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&part, &damaged).unwrap();
        assert_eq!(rows(&path, 0), [1], "byte {at} changed");
        std::fs::write(&part, &whole[..at]).unwrap();
        assert_eq!(rows(&path, 0), [1], "cut off at {at}");
    }
    std::fs::write(&part, &whole).unwrap();
    assert_eq!(rows(&path, 0), [1, 2]);
}

#[test]
fn files_are_written_in_turns_and_nothing_is_overwritten_that_the_tables_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut log, _) = Log::open(&path, JOURNAL, 0).unwrap();
    let large = "x".repeat(TURN as usize / 3);
    let mut put = |row, durable| {
        log.write(&[&item(row, &large)], durable).unwrap();
        (log.now, log.wanted())
    };
    let turns: Vec<_> = (1..=4).map(|row| put(row, 0).0).collect();
    assert_eq!(turns, [0, 0, 0, 1], "the second is free from the beginning");
    assert_eq!(put(5, 0), (1, 3));
    put(6, 0);
    assert_eq!(put(7, 2), (1, 3), "the first still has a row that the tables lack");
    assert_eq!(put(8, 3), (0, 7));
    drop(log);
    assert_eq!(rows(&path, 3), [4, 5, 6, 7, 8], "what the first had before is not read again");
    let gap = Log::open(&path, JOURNAL, 1).unwrap_err().to_string();
    assert!(gap.contains("go on at append 4") && gap.contains("ends before append 2"), "{gap}");
}

#[test]
fn what_was_refused_is_not_read_again_and_what_was_cleared_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let (mut log, _) = Log::open(&path, JOURNAL, 0).unwrap();
    write(&mut log, [1, 2], 0);
    // As if the disk had taken the last group and not said so.
    let second = log.files[0].at;
    write(&mut log, [3], 0);
    log.files[0].at = second;
    log.is_spoilt = true;
    log.mend().unwrap();
    assert_eq!(rows(&path, 0), [1, 2]);
    write(&mut log, [3, 4], 0);
    assert_eq!(rows(&path, 0), [1, 2, 3, 4]);
    log.clear().unwrap();
    assert_eq!(rows(&path, 0), [0; 0]);
    assert_eq!(std::fs::read(&log.files[0].path).unwrap(), b"");
    write(&mut log, [5], 4);
    assert_eq!(rows(&path, 4), [5]);
    assert_eq!(Log::open(&path, 8, 4).unwrap().1.len(), 0, "another journal's");
    log.clear().unwrap();
    log.remove();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
