//! Cutting bytes into server-sent events as they arrive.
//!
//! Invariant: every byte is looked at once, and at most one unfinished event is held, of no more
//! bytes than the limit.

use super::fields;

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The id it carries, if it carries one.
    pub id: Option<String>,
    /// Its type; `message` where it does not say.
    pub event: String,
    /// Its data; empty for one that only moves the id.
    pub data: String,
}

impl Frame {
    /// The event that a text is; `None` for a comment or a blank line.
    pub fn read(text: &str) -> Option<Self> {
        let mut frame = Self { event: "message".into(), ..Self::default() };
        let (mut says, mut lines) = (false, 0);
        for field in fields(text) {
            match field.name {
                "id" if !field.value.contains('\0') => frame.id = Some(field.value.to_owned()),
                "event" => frame.event = field.value.to_owned(),
                "data" => {
                    // Also after a line that is empty.
                    if lines > 0 {
                        frame.data.push('\n');
                    }
                    lines += 1;
                    frame.data.push_str(field.value);
                }
                _ => continue,
            }
            says = true;
        }
        says.then_some(frame)
    }
}

/// An event has more bytes than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Cuts bytes into events.
#[derive(Debug)]
pub struct Cutter {
    bytes: Vec<u8>,
    /// Where the current line begins.
    line: usize,
    /// How far has been looked.
    at: usize,
    limit: usize,
}

impl Cutter {
    /// A cutter that holds any event that fits into memory.
    pub fn unlimited() -> Self {
        Self::limited(usize::MAX)
    }

    /// A cutter that holds at most so many bytes of an event.
    pub fn limited(limit: usize) -> Self {
        Self { bytes: Vec::new(), line: 0, at: 0, limit }
    }

    /// Takes in bytes and passes on the events that they complete, each with its blank line.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLong> {
        self.bytes.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(rest) = self.bytes.get(self.at..) {
            let Some(found) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.at = self.bytes.len();
                break;
            };
            let end = self.at + found;
            let next = match (self.bytes.get(end), self.bytes.get(end + 1)) {
                (Some(b'\r'), Some(b'\n')) => end + 2,
                // May be half of a CRLF that has not arrived.
                (Some(b'\r'), None) => {
                    self.at = end;
                    break;
                }
                _ => end + 1,
            };
            if end == self.line {
                each(self.bytes.get(from..next).unwrap_or(&[]));
                from = next;
            }
            self.line = next;
            self.at = next;
        }
        self.bytes.drain(..from);
        self.line -= from;
        self.at -= from;
        if self.bytes.len() > self.limit { Err(TooLong) } else { Ok(()) }
    }

    /// What came after the last whole event. The standard drops it.
    pub fn rest(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
        let mut cutter = Cutter::limited(64);
        let mut frames = Vec::new();
        for piece in pieces {
            cutter
                .push(piece, |event| frames.extend(Frame::read(&String::from_utf8_lossy(event))))
                .unwrap();
        }
        frames
    }

    #[test]
    fn events_are_the_same_however_the_bytes_arrive() {
        let text = ": hi\n\nid: 1.2\nevent: x\ndata: {\"a\":\"é\"}\n\nid: 1.3\r\n\r\ndata: a\rdata: b\r\r\n\
                    data: last\n\n"
            .as_bytes();
        let whole = frames(&[text]);
        assert_eq!(whole.len(), 4, "{whole:?}");
        assert_eq!(whole[0].id.as_deref(), Some("1.2"));
        assert_eq!((whole[0].event.as_str(), whole[0].data.as_str()), ("x", "{\"a\":\"é\"}"));
        assert_eq!((whole[1].id.as_deref(), whole[1].data.as_str()), (Some("1.3"), ""));
        assert_eq!(whole[2].data, "a\nb");
        for size in 1..text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(frames(&pieces), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn every_line_of_data_counts_empty_ones_too() {
        let data = |text: &str| Frame::read(text).map(|frame| frame.data);
        assert_eq!(data("data\ndata: x\ndata:\n\n").as_deref(), Some("\nx\n"));
        assert_eq!(data("data:\n\n").as_deref(), Some(""));
    }

    #[test]
    fn an_event_without_an_end_is_held_up_to_the_limit() {
        let mut cutter = Cutter::limited(10);
        assert_eq!(cutter.push(b"data: 1234", |_| panic!("no event is whole")), Ok(()));
        assert_eq!(cutter.rest(), b"data: 1234");
        assert_eq!(cutter.push(b"5", |_| panic!("no event is whole")), Err(TooLong));
        // Many short events are not a long one.
        let mut cutter = Cutter::limited(10);
        let mut events = 0;
        cutter.push("data: 1\n\n".repeat(1000).as_bytes(), |_| events += 1).unwrap();
        assert_eq!(events, 1000);
        assert_eq!(cutter.rest(), b"");
    }
}
