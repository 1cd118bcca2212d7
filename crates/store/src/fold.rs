//! Folding finished pieces of text into what they came to.
//!
//! Pieces of one text that stand next to each other become two: the first stays, since much begins
//! with it, and the others become one entry, in the place of the last. Whoever read some of them is
//! told (`Page::folded`); whoever read none or all sees the same text.
//!
//! Invariant: only what is finished is folded: the text's part, step or task has ended, or the call
//! was made. A record that came in another protocol is not touched: it is given back as it came.
//! Invariant: no entry moves past another.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use bytes::Bytes;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind, Piece};
use selvedge_protocol::json::{Doc, Node, from_utf8};

/// The longest text that is made, in bytes.
const TEXT: usize = 1 << 20;
/// Names by which a text is closed.
const PARTS: [&str; 4] = ["partId", "thoughtId", "toolCallId", "messageId"];

/// Pieces that became one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folded {
    /// The entries.
    pub(crate) entries: RangeInclusive<u64>,
    /// The event that stands for them.
    pub(crate) event: String,
}

impl Folded {
    /// The line of one of its entries.
    pub(crate) fn line(&self, seq: u64) -> Bytes {
        let (from, to) = (self.entries.start(), self.entries.end());
        let event = if seq == *to { self.event.as_str() } else { "" };
        Bytes::from(format!("{from}-{to}{event}"))
    }
}

/// Looks for pieces to fold in a thread's entries, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Entries after which another thread goes on: nothing is folded across them.
    cuts: BTreeSet<u64>,
    open: Option<Run>,
    waiting: Vec<Run>,
    done: Vec<Run>,
    /// Entries to come that belong to a record of another protocol.
    covered: u64,
}

/// Pieces of one text in a row.
#[derive(Debug)]
struct Run {
    first: u64,
    last: u64,
    rest: String,
    is_numbered: bool,
    task: Option<String>,
    parts: Vec<(&'static str, String)>,
    /// All but the first.
    more: Option<More>,
    /// The time of the last, where they have one.
    time: Option<String>,
}

#[derive(Debug)]
struct More {
    from: u64,
    before: String,
    text: String,
    after: String,
}

impl Run {
    fn new(seq: u64, piece: &Piece<'_>, event: &str) -> Self {
        let doc = Doc::parse(event).ok();
        let root = doc.as_ref().map(Doc::root);
        let text = |name: &'static str| {
            root.and_then(|root| root.get(name)).and_then(Node::str).map(|id| id.into_owned())
        };
        let parts = PARTS.iter().filter_map(|name| Some((*name, text(name)?))).collect();
        let (task, is_numbered) = (text("taskId"), piece.index.is_some());
        let rest = piece.rest().to_owned();
        Self { first: seq, last: seq, rest, is_numbered, task, parts, more: None, time: None }
    }

    /// Takes the next piece in, if it is one of this text.
    fn take(&mut self, seq: u64, piece: &Piece<'_>) -> bool {
        let is_next = seq == self.last + 1
            && self.rest == piece.rest()
            && self.is_numbered == piece.index.is_some();
        if !is_next {
            return false;
        }
        match &mut self.more {
            None => {
                let (before, after) = piece.around();
                let (before, after) = (before.to_owned(), after.to_owned());
                self.more = Some(More { from: seq, before, text: piece.text().to_owned(), after });
            }
            Some(more) if more.text.len() + piece.text().len() <= TEXT => {
                more.text.push_str(piece.text());
            }
            Some(_) => return false,
        }
        self.last = seq;
        self.time = piece.timestamp.map(str::to_owned);
        true
    }

    /// Whether an event says that the text is finished.
    fn is_closed_by(&self, event: &Event<'_>) -> bool {
        let same_task = event.str("taskId").as_deref() == self.task.as_deref();
        match event.kind() {
            Kind::TaskComplete | Kind::StepFinished | Kind::AttemptSuperseded => same_task,
            Kind::TaskStatus => {
                same_task && TaskState::after(event).is_some_and(TaskState::is_terminal)
            }
            Kind::ContentComplete => same_task,
            Kind::PartFinished
            | Kind::ToolCall
            | Kind::ToolStart
            | Kind::ToolComplete
            | Kind::Message => {
                let named = |name: &str| event.str(name).map(|id| id.into_owned());
                let part = named("partId");
                self.parts.iter().any(|(name, id)| {
                    named(name).as_ref() == Some(id)
                        || (*name == "thoughtId" && part.as_ref() == Some(id))
                })
            }
            _ => false,
        }
    }

    fn folded(self) -> Option<Folded> {
        let more = self.more.filter(|more| more.from < self.last)?;
        let mut event = [more.before, more.text, more.after].concat();
        // When it was all there: what a thread's time goes by.
        let place = Doc::parse(&event).ok().and_then(|doc| {
            let time = doc.root().get("timestamp")?;
            Some(time.start()..time.end())
        });
        if let (Some(place), Some(time)) = (place, self.time) {
            event.replace_range(place, &time);
        }
        Some(Folded { entries: more.from..=self.last, event })
    }
}

impl Folder {
    /// For a thread that others go on from after some entries.
    pub(crate) fn new(cuts: BTreeSet<u64>) -> Self {
        Self { cuts, ..Self::default() }
    }

    /// Takes a line of the journal in.
    pub(crate) fn take(&mut self, seq: u64, line: &[u8], source: Option<&[u8]>) {
        if let Some(source) = source {
            self.covered = 1.max(record_events(source));
        }
        let is_covered = self.covered > 0;
        self.covered = self.covered.saturating_sub(1);
        let event = from_utf8(line).unwrap_or_default();
        // What is no piece need not be parsed to be passed over.
        let kind = Kind::leading(line);
        let piece = match kind {
            Some(kind) if !kind.is_piece() => None,
            _ if is_covered => None,
            _ => Piece::of(event),
        };
        match piece {
            Some(piece) => {
                if !self.open.as_mut().is_some_and(|open| open.take(seq, &piece)) {
                    self.pause();
                    let run = Run::new(seq, &piece, event);
                    self.part(&run);
                    self.open = Some(run);
                }
            }
            None => {
                self.pause();
                self.close(kind, event);
            }
        }
        if self.cuts.contains(&seq) {
            self.pause();
        }
    }

    /// A run of pieces ends here.
    fn pause(&mut self) {
        self.waiting.extend(self.open.take());
    }

    /// Pieces with numbers are counted by who reads them: a text that goes on elsewhere is left as
    /// it is.
    fn part(&mut self, next: &Run) {
        if next.is_numbered {
            self.waiting.retain(|run| run.rest != next.rest);
        }
    }

    fn close(&mut self, kind: Option<Kind>, event: &str) {
        let may = kind.is_none_or(|kind| {
            matches!(
                kind,
                Kind::TaskComplete
                    | Kind::TaskStatus
                    | Kind::StepFinished
                    | Kind::AttemptSuperseded
                    | Kind::ContentComplete
                    | Kind::PartFinished
                    | Kind::ToolCall
                    | Kind::ToolStart
                    | Kind::ToolComplete
                    | Kind::Message
            )
        });
        if !may || self.waiting.is_empty() {
            return;
        }
        let Ok(doc) = Doc::parse(event) else { return };
        let Some(event) = Event::parse(doc.root()) else { return };
        self.done.extend(self.waiting.extract_if(.., |run| run.is_closed_by(&event)));
    }

    /// What is to be folded, in order, and the first entry that has to be looked at again when more
    /// has come.
    pub(crate) fn finish(mut self) -> (Vec<Folded>, Option<u64>) {
        self.pause();
        let next = self.waiting.iter().map(|run| run.first).min();
        let mut folded: Vec<Folded> = self.done.into_iter().filter_map(Run::folded).collect();
        folded.sort_by_key(|folded| *folded.entries.start());
        (folded, next)
    }
}

/// How many events a record has.
pub(crate) fn record_events(source: &[u8]) -> u64 {
    let doc = Doc::parse_bytes(source).ok();
    let events = doc.and_then(|doc| doc.root().get("events").and_then(Node::i64));
    events.and_then(|events| u64::try_from(events).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folds(lines: &[&str], cuts: &[u64]) -> (Vec<(RangeInclusive<u64>, String)>, Option<u64>) {
        let mut folder = Folder::new(cuts.iter().copied().collect());
        for (i, line) in lines.iter().enumerate() {
            folder.take(i as u64 + 1, line.as_bytes(), None);
        }
        let (folded, next) = folder.finish();
        (folded.into_iter().map(|folded| (folded.entries, folded.event)).collect(), next)
    }

    fn delta(text: &str, at: u8) -> String {
        format!(
            r#"{{"kind":"content-delta","delta":"{text}","taskId":"k","timestamp":"2026-01-01T00:00:0{at}Z"}}"#
        )
    }

    const END: &str = r#"{"kind":"task-complete","taskId":"k"}"#;

    #[test]
    fn finished_pieces_become_the_first_and_one_in_the_place_of_the_last() {
        let lines = [delta("a", 1), delta("b\\ud83d", 2), delta("\\ude00c", 3)];
        let lines: Vec<&str> = lines.iter().map(String::as_str).chain([END]).collect();
        let (folded, next) = folds(&lines, &[]);
        assert_eq!(folded, [(2..=3, delta("b\\ud83d\\ude00c", 3))]);
        assert_eq!(next, None);
        let folded = Folded { entries: 2..=3, event: "{}".into() };
        assert_eq!((&folded.line(2)[..], &folded.line(3)[..]), (&b"2-3"[..], &b"2-3{}"[..]));
    }

    #[test]
    fn what_is_not_finished_waits() {
        let lines = [delta("a", 1), delta("b", 2), delta("c", 3)];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let other = [r#"{"kind":"task-complete","taskId":"other"}"#];
        assert_eq!(folds(&[&lines[..], &other].concat(), &[]), (vec![], Some(1)));
        assert_eq!(folds(&lines, &[]), (vec![], Some(1)));
    }

    #[test]
    fn nothing_is_folded_across_a_branch_or_another_event() {
        let lines = [delta("a", 1), delta("b", 2), delta("c", 3), delta("d", 4), delta("e", 5)];
        let lines: Vec<&str> = lines.iter().map(String::as_str).chain([END]).collect();
        let (folded, _) = folds(&lines, &[2]);
        assert_eq!(folded, [(4..=5, delta("de", 5))]);
        let note = r#"{"kind":"tool-progress","taskId":"k"}"#;
        let apart = [&lines[..2], &[note], &lines[2..]].concat();
        assert_eq!(folds(&apart, &[]).0, [(5..=6, delta("de", 5))]);
    }

    #[test]
    fn numbered_pieces_that_go_on_elsewhere_stay() {
        let piece =
            |n: u8| format!(r#"{{"kind":"content-delta","delta":"x","index":{n},"taskId":"k"}}"#);
        let pieces: Vec<String> = (0..6).map(piece).collect();
        let mut lines: Vec<&str> = pieces.iter().map(String::as_str).collect();
        lines.push(END);
        let whole = r#"{"kind":"content-delta","delta":"xxxxx","index":1,"taskId":"k"}"#;
        assert_eq!(folds(&lines, &[]).0, [(2..=6, whole.to_owned())]);
        lines.insert(3, r#"{"kind":"tool-progress","taskId":"k"}"#);
        let (folded, _) = folds(&lines, &[]);
        // The later half may be folded, as nothing comes after it.
        assert_eq!(folded.len(), 1);
        assert_eq!(folded[0].0, 6..=7);
    }

    #[test]
    fn records_of_other_protocols_are_left_alone() {
        let mut folder = Folder::default();
        for seq in 1..5 {
            let source = (seq == 1).then_some(&br#"{"dialect":"looopy","events":4}"#[..]);
            folder.take(seq, delta("a", 1).as_bytes(), source);
        }
        folder.take(5, END.as_bytes(), None);
        assert_eq!(folder.finish(), (vec![], None));
    }
}
