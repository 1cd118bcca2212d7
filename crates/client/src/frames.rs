//! Server-sent events as they arrive.

use selvedge_protocol::sse;

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

/// Cuts bytes into events. What a broken connection leaves unfinished is dropped, as the standard
/// says: the event comes again after the resume.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    /// Takes in bytes and passes on the events that they complete.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Frame)) {
        self.bytes.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(end) = blank_line(&self.bytes, from) {
            let text = String::from_utf8_lossy(self.bytes.get(from..end).unwrap_or(&[]));
            from = end;
            let mut frame = Frame { event: "message".into(), ..Frame::default() };
            let mut says = false;
            for field in sse::fields(&text) {
                match field.name {
                    "id" if !field.value.contains('\0') => frame.id = Some(field.value.to_owned()),
                    "event" => frame.event = field.value.to_owned(),
                    "data" => {
                        if !frame.data.is_empty() {
                            frame.data.push('\n');
                        }
                        frame.data.push_str(field.value);
                    }
                    _ => continue,
                }
                says = true;
            }
            if says {
                each(frame);
            }
        }
        self.bytes.drain(..from);
    }
}

/// Where the event that begins at `from` ends, with its blank line.
fn blank_line(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let mut line = 0;
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\n' | b'\r' => {
                let crlf = *byte == b'\r' && rest.get(at + 1) == Some(&b'\n');
                // A CR at the end may be half of a CRLF that has not arrived.
                if *byte == b'\r' && at + 1 == rest.len() {
                    return None;
                }
                let next = at + 1 + usize::from(crlf);
                if at == line {
                    return Some(from + next);
                }
                line = next;
                at = next;
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_arrive() {
        let text = ": hi\n\nid: 1.2\nevent: x\ndata: {\"a\":\"é\"}\n\nid: 1.3\r\n\r\ndata: a\rdata: b\r\r\n\
                    data: last\n\n";
        let mut whole = Vec::new();
        Frames::default().push(text.as_bytes(), |frame| whole.push(frame));
        assert_eq!(whole.len(), 4, "{whole:?}");
        assert_eq!(whole[0].id.as_deref(), Some("1.2"));
        assert_eq!((whole[0].event.as_str(), whole[0].data.as_str()), ("x", "{\"a\":\"é\"}"));
        assert_eq!((whole[1].id.as_deref(), whole[1].data.as_str()), (Some("1.3"), ""));
        assert_eq!(whole[2].data, "a\nb");
        for size in 1..text.len() {
            let mut frames = Frames::default();
            let mut pieces = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                frames.push(piece, |frame| pieces.push(frame));
            }
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
    }
}
