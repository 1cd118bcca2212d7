//! The text protocol of NATS: lines, and messages whose line gives their size.

use anyhow::{Result, bail};

use super::Progress;

#[derive(Default)]
pub(crate) struct Decoder {
    /// Answers that are still to come.
    left: usize,
    line: Vec<u8>,
    /// Bytes of a message that are left, and the end of its line.
    message: usize,
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
            if self.message > 0 {
                let (own, after) = bytes.split_at(bytes.len().min(self.message));
                body(own.get(..own.len().min(self.message.saturating_sub(2))).unwrap_or(own));
                self.message -= own.len();
                bytes = after;
                if self.message == 0 {
                    self.left = self.left.saturating_sub(1);
                }
                continue;
            }
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (own, after) = bytes.split_at(end);
            self.line.extend_from_slice(own);
            bytes = after;
            if self.line.last() == Some(&b'\n') {
                let text = std::str::from_utf8(&self.line)?.trim_end();
                if text.starts_with("MSG ") {
                    let size = text.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
                    self.message = size.unwrap_or(0) + 2;
                } else if text.starts_with("-ERR") {
                    bail!("refused: {text}");
                } else if text == "PONG" {
                    self.left = self.left.saturating_sub(1);
                }
                self.line.clear();
            }
        }
        let idle = self.left == 0 && self.message == 0 && self.line.is_empty();
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
