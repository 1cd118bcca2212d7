//! RESP2, as Redis speaks it: how many values are still to come is all there is to know.

use anyhow::{Result, bail};

use super::Progress;

#[derive(Default)]
pub(crate) struct Decoder {
    /// Values that are still to come.
    left: usize,
    /// The line that says what follows.
    line: Vec<u8>,
    /// Bytes of a string that are left, and the end of its line.
    string: usize,
}

impl Decoder {
    pub(super) fn expect(&mut self, answers: usize) {
        self.left += answers;
    }

    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<Progress> {
        while !bytes.is_empty() {
            if self.string > 0 {
                let (own, after) = bytes.split_at(bytes.len().min(self.string));
                body(own.get(..own.len().min(self.string.saturating_sub(2))).unwrap_or(own));
                self.string -= own.len();
                bytes = after;
                if self.string == 0 {
                    self.left = self.left.saturating_sub(1);
                }
                continue;
            }
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (own, after) = bytes.split_at(end);
            self.line.extend_from_slice(own);
            bytes = after;
            if self.line.last() == Some(&b'\n') {
                self.take_line()?;
                self.line.clear();
            }
        }
        let idle = self.left == 0 && self.string == 0 && self.line.is_empty();
        Ok(if idle { Progress::Whole } else { Progress::More })
    }

    fn take_line(&mut self) -> Result<()> {
        let text = std::str::from_utf8(&self.line)?.trim_end();
        let number = || text.get(1..).and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
        match self.line.first() {
            Some(b'$') if number() >= 0 => self.string = number() as usize + 2,
            // What a channel says was not asked for one by one.
            Some(b'*') => self.left = self.left.max(1) + number().max(0) as usize - 1,
            Some(b'-') => bail!("refused: {text}"),
            _ => self.left = self.left.saturating_sub(1),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Progress;
    use super::Decoder;

    #[test]
    fn arrays_in_arrays_end_where_they_end() {
        let text = "*2\r\n*2\r\n$3\r\n0-1\r\n*2\r\n$1\r\nd\r\n$5\r\nhello\r\n*2\r\n$3\r\n0-2\r\n\
                    *2\r\n$1\r\nd\r\n$2\r\nyo\r\n";
        for cut in 0..text.len() {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            decoder.expect(1);
            let mut sink = |bytes: &[u8]| out.extend_from_slice(bytes);
            let first = decoder.feed(&text.as_bytes()[..cut], &mut sink).unwrap();
            assert_eq!(first, Progress::More, "cut at {cut}");
            let last = decoder.feed(&text.as_bytes()[cut..], &mut sink).unwrap();
            assert_eq!((last, out.as_slice()), (Progress::Whole, b"0-1dhello0-2dyo".as_slice()));
        }
    }

    #[test]
    fn many_answers_are_awaited_and_errors_told() {
        let mut decoder = Decoder::default();
        decoder.expect(2);
        assert_eq!(decoder.feed(b"+OK\r\n", &mut |_| {}).unwrap(), Progress::More);
        assert_eq!(decoder.feed(b":1\r\n", &mut |_| {}).unwrap(), Progress::Whole);
        decoder.expect(1);
        assert!(decoder.feed(b"-ERR no\r\n", &mut |_| {}).is_err());
    }
}
