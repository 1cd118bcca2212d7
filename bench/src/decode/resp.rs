//! RESP2, as Redis speaks it: how many values are still to come is all there is to know.

use anyhow::{Result, bail};

use super::Progress;
use super::lines::{Cut, Lines};

#[derive(Default)]
pub(crate) struct Decoder {
    /// Values that are still to come.
    left: usize,
    lines: Lines,
}

impl Decoder {
    pub(super) fn expect(&mut self, answers: usize) {
        self.left += answers;
    }

    pub(super) fn feed(&mut self, bytes: &[u8], body: &mut dyn FnMut(&[u8])) -> Result<Progress> {
        let left = &mut self.left;
        self.lines.feed(bytes, body, |cut| {
            let Cut::Line(text) = cut else {
                *left = left.saturating_sub(1);
                return Ok(None);
            };
            let number = || text.get(1..).and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
            match text.as_bytes().first() {
                Some(b'$') if number() >= 0 => return Ok(Some(number() as usize)),
                // What a channel says was not asked for one by one.
                Some(b'*') => *left = (*left).max(1) + number().max(0) as usize - 1,
                Some(b'-') => bail!("refused: {text}"),
                _ => *left = left.saturating_sub(1),
            }
            Ok(None)
        })?;
        let idle = self.left == 0 && self.lines.is_between();
        Ok(if idle { Progress::Whole } else { Progress::More })
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
