//! The text protocol of NATS: lines, and messages whose line gives their size.

use anyhow::{Result, bail};

use super::Progress;
use super::lines::{Cut, Lines};

#[derive(Default)]
pub(crate) struct Decoder {
    /// Answers that are still to come.
    left: usize,
    lines: Lines,
}

impl Decoder {
    pub(super) fn expect(&mut self, answers: usize) {
        self.left += answers;
    }

    pub(super) fn feed(&mut self, bytes: &[u8], body: &mut dyn FnMut(&[u8])) -> Result<Progress> {
        let left = &mut self.left;
        self.lines.feed(bytes, body, |cut| match cut {
            Cut::Line(text) if text.starts_with("MSG ") => {
                let size = text.rsplit(' ').next().and_then(|size| size.parse().ok());
                Ok(Some(size.unwrap_or(0)))
            }
            Cut::Line(text) if text.starts_with("-ERR") => bail!("refused: {text}"),
            Cut::Text | Cut::Line("PONG") => {
                *left = left.saturating_sub(1);
                Ok(None)
            }
            Cut::Line(_) => Ok(None),
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
    fn messages_come_out_wherever_they_are_cut() {
        let bytes = b"INFO {}\r\nMSG a 1 5\r\nhello\r\nPONG\r\n";
        for cut in 0..bytes.len() {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            decoder.expect(2);
            let mut sink = |bytes: &[u8]| out.extend_from_slice(bytes);
            assert_eq!(decoder.feed(&bytes[..cut], &mut sink).unwrap(), Progress::More);
            assert_eq!(decoder.feed(&bytes[cut..], &mut sink).unwrap(), Progress::Whole);
            assert_eq!(out, b"hello");
        }
    }
}
