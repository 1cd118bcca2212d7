//! HTTP/1.1: one answer after another, with a length, in chunks, or on and on.

use anyhow::{Result, bail};

use super::Progress;

/// The longest head that is taken.
const HEAD: usize = 16 << 10;

#[derive(Default)]
pub(crate) struct Decoder {
    state: State,
    head: Vec<u8>,
}

#[derive(Default, Clone, Copy)]
enum State {
    #[default]
    Head,
    /// So many bytes are left.
    Rest(usize),
    /// In the line that gives a chunk's size.
    Size(Option<usize>),
    /// So many bytes of a chunk are left, and the end of its line.
    Chunk(usize),
    /// Until the connection ends.
    Endless,
    /// What follows the last chunk.
    Trailer,
    Whole,
}

impl Decoder {
    pub(super) fn expect(&mut self) {
        self.state = State::Head;
        self.head.clear();
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.head).ok()?;
        head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<Progress> {
        loop {
            match self.state {
                State::Head => {
                    let Some(after) = self.take_head(bytes)? else { return Ok(Progress::More) };
                    bytes = after;
                }
                State::Rest(0) => self.state = State::Whole,
                State::Whole if bytes.is_empty() => return Ok(Progress::Whole),
                State::Whole => bail!("more than was asked for"),
                _ if bytes.is_empty() => return Ok(Progress::More),
                State::Rest(left) => {
                    let (own, after) = bytes.split_at(bytes.len().min(left));
                    body(own);
                    self.state = State::Rest(left - own.len());
                    bytes = after;
                }
                State::Size(_) => bytes = self.take_size(bytes)?,
                State::Chunk(left) => {
                    // The last two bytes end the line.
                    let (own, after) = bytes.split_at(bytes.len().min(left));
                    body(own.get(..own.len().min(left.saturating_sub(2))).unwrap_or(own));
                    bytes = after;
                    self.state = match left - own.len() {
                        0 => State::Size(None),
                        left => State::Chunk(left),
                    };
                }
                State::Endless => {
                    body(bytes);
                    return Ok(Progress::More);
                }
                State::Trailer => {
                    let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
                    if end > 0 && bytes.get(end - 1) == Some(&b'\n') {
                        self.state = State::Whole;
                    }
                    bytes = bytes.get(end..).unwrap_or_default();
                }
            }
        }
    }

    /// What follows the head, once it is there.
    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<&'a [u8]>> {
        let before = self.head.len();
        self.head.extend_from_slice(bytes.get(..bytes.len().min(HEAD)).unwrap_or(bytes));
        let from = before.saturating_sub(3);
        let Some(at) = memchr::memmem::find(self.head.get(from..).unwrap_or_default(), b"\r\n\r\n")
        else {
            if self.head.len() > HEAD {
                bail!("a head without end");
            }
            return Ok(None);
        };
        let end = from + at + 4;
        self.head.truncate(end);
        let status = self.head.get(9..12).and_then(|s| std::str::from_utf8(s).ok());
        let status = status.and_then(|s| s.parse::<u16>().ok()).unwrap_or(0);
        if !(200..300).contains(&status) {
            let after = bytes.get(end - before..).unwrap_or_default();
            bail!(
                "refused: {} {}",
                String::from_utf8_lossy(&self.head).lines().next().unwrap_or_default(),
                String::from_utf8_lossy(after.get(..after.len().min(300)).unwrap_or(after))
            );
        }
        let length = self.field("content-length").and_then(|length| length.parse().ok());
        self.state = match length {
            Some(length) => State::Rest(length),
            None if self.field("transfer-encoding").is_some() => State::Size(None),
            None if status == 204 => State::Rest(0),
            None => State::Endless,
        };
        Ok(bytes.get(end - before..))
    }

    fn take_size<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let State::Size(mut size) = self.state else { return Ok(bytes) };
        for (at, byte) in bytes.iter().enumerate() {
            match (byte, size) {
                (b'\n', Some(0)) => {
                    self.state = State::Trailer;
                    return Ok(bytes.get(at + 1..).unwrap_or_default());
                }
                (b'\n', Some(size)) => {
                    self.state = State::Chunk(size + 2);
                    return Ok(bytes.get(at + 1..).unwrap_or_default());
                }
                (b'\r', _) => {}
                _ => {
                    let Some(digit) = char::from(*byte).to_digit(16) else {
                        bail!("a chunk without a size");
                    };
                    size = Some(size.unwrap_or(0) * 16 + digit as usize);
                }
            }
        }
        self.state = State::Size(size);
        Ok(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Progress;
    use super::Decoder;

    /// What comes out, and whether it is whole, however the bytes are cut.
    fn decoded(text: &str) -> (String, Progress) {
        let mut results = Vec::new();
        for cut in 0..text.len() {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            let mut sink = |bytes: &[u8]| out.extend_from_slice(bytes);
            decoder.feed(&text.as_bytes()[..cut], &mut sink).unwrap();
            let progress = decoder.feed(&text.as_bytes()[cut..], &mut sink).unwrap();
            results.push((String::from_utf8(out).unwrap(), progress));
        }
        results.dedup();
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    #[test]
    fn an_answer_with_a_length_ends() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(decoded(text), ("hello".to_owned(), Progress::Whole));
        let text = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(decoded(text), (String::new(), Progress::Whole));
    }

    #[test]
    fn chunks_are_joined_until_the_last() {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let open = format!("{head}3\r\nhel\r\n2\r\nlo\r\n");
        assert_eq!(decoded(&open), ("hello".to_owned(), Progress::More));
        let whole = format!("{open}0\r\n\r\n");
        assert_eq!(decoded(&whole), ("hello".to_owned(), Progress::Whole));
    }

    #[test]
    fn a_refusal_is_told() {
        let text = b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\ngone";
        let error = Decoder::default().feed(text, &mut |_| {}).unwrap_err().to_string();
        assert_eq!(error, "refused: HTTP/1.1 404 Not Found gone");
    }
}
