//! Events that can be found again in any protocol's bytes, and who wrote them, which and when.
//!
//! A mark is `~wwwsssssssssttttttttttttt~`: the writer, the number of its event and the time in
//! microseconds. Nothing else in any of the protocols has a `~`.

use std::time::Instant;

/// What a mark begins and ends with.
const SIGN: u8 = b'~';
const WRITER: usize = 3;
const NUMBER: usize = 9;
const TIME: usize = 13;
/// Bytes of a mark.
const LENGTH: usize = 2 + WRITER + NUMBER + TIME;
/// Stands for an event's number, from one, in a protocol that numbers them itself.
pub(crate) const SLOT: &str = "@@@@@@@@@";

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) writer: usize,
    pub(crate) number: u64,
    /// Microseconds since the clock began.
    pub(crate) at: u64,
}

/// An event of so many bytes, as JSON that all servers take.
pub(crate) fn event(size: usize) -> Vec<u8> {
    let head = "{\"kind\":\"content-delta\",\"taskId\":\"k\",\"delta\":\"";
    let fill = size.saturating_sub(head.len() + LENGTH + 2);
    let mark = "~".repeat(LENGTH);
    format!("{head}{mark}{}\"}}", "x".repeat(fill)).into_bytes()
}

/// A request whose events are numbered and timed before each use.
pub(crate) struct Request {
    bytes: Vec<u8>,
    marks: Vec<usize>,
    slots: Vec<usize>,
}

impl Request {
    /// Takes bytes that hold events as `event` makes them.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let blank = [SIGN; LENGTH];
        let marks = memchr::memmem::find_iter(&bytes, &blank).collect();
        let slots = memchr::memmem::find_iter(&bytes, SLOT).collect();
        Self { bytes, marks, slots }
    }

    /// Writes down who sends it, its first event's number, and when.
    pub(crate) fn stamp(&mut self, writer: usize, first: u64, clock: Instant) -> &[u8] {
        let at = micros(clock);
        for (number, &place) in (first..).zip(&self.marks) {
            let Some(mark) = self.bytes.get_mut(place..place + LENGTH) else { continue };
            mark.fill(SIGN);
            let mut rest = &mut mark[1..];
            for (value, width) in [(writer as u64, WRITER), (number, NUMBER), (at, TIME)] {
                let (field, after) = rest.split_at_mut(width);
                digits(field, value);
                rest = after;
            }
        }
        for (number, &place) in (first + 1..).zip(&self.slots) {
            if let Some(slot) = self.bytes.get_mut(place..place + SLOT.len()) {
                digits(slot, number);
            }
        }
        &self.bytes
    }

    /// How many events it holds.
    pub(crate) fn events(&self) -> usize {
        self.marks.len()
    }

    /// What was stamped last.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Microseconds since the clock began.
pub(crate) fn micros(clock: Instant) -> u64 {
    clock.elapsed().as_micros() as u64
}

/// A number with leading zeros.
fn digits(field: &mut [u8], mut value: u64) {
    for digit in field.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// Finds marks in bytes that come in pieces, cut anywhere.
#[derive(Default)]
pub(crate) struct Scanner {
    /// The beginning of a mark whose end is not there yet.
    part: [u8; LENGTH],
    have: usize,
}

impl Scanner {
    /// Tells every mark that is whole now.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Mark)) {
        if self.have > 0 {
            let (more, after) = bytes.split_at(bytes.len().min(LENGTH - self.have));
            self.part[self.have..self.have + more.len()].copy_from_slice(more);
            self.have += more.len();
            if self.have < LENGTH {
                return;
            }
            self.have = 0;
            if let Some(mark) = parse(&self.part) {
                each(mark);
            }
            bytes = after;
        }
        while let Some(at) = memchr::memchr(SIGN, bytes) {
            let rest = &bytes[at..];
            let Some(own) = rest.get(..LENGTH) else {
                self.part[..rest.len()].copy_from_slice(rest);
                self.have = rest.len();
                return;
            };
            match parse(own) {
                Some(mark) => {
                    each(mark);
                    bytes = &rest[LENGTH..];
                }
                None => bytes = &rest[1..],
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Mark> {
    let inner = bytes.strip_prefix(&[SIGN])?.strip_suffix(&[SIGN])?;
    let number = |from: usize, width: usize| {
        inner.get(from..from + width)?.iter().try_fold(0u64, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0'))
        })
    };
    Some(Mark {
        writer: number(0, WRITER)? as usize,
        number: number(WRITER, NUMBER)?,
        at: number(WRITER + NUMBER, TIME)?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Request, Scanner, event};

    #[test]
    fn an_event_has_the_size_that_was_asked_for() {
        assert_eq!(event(300).len(), 300);
    }

    #[test]
    fn marks_are_found_wherever_bytes_are_cut() {
        let body = [event(300), b"0-@@@@@@@@@".to_vec(), event(120)].concat();
        let mut request = Request::new(body);
        assert_eq!(request.events(), 2);
        let bytes = request.stamp(7, 41, Instant::now()).to_vec();
        assert!(memchr::memmem::find(&bytes, b"0-000000042").is_some());
        for cut in 0..bytes.len() {
            let (mut scanner, mut found) = (Scanner::default(), Vec::new());
            scanner.feed(&bytes[..cut], |mark| found.push((mark.writer, mark.number)));
            scanner.feed(&bytes[cut..], |mark| found.push((mark.writer, mark.number)));
            assert_eq!(found, [(7, 41), (7, 42)], "cut at {cut}");
        }
    }
}
