//! PostgreSQL's protocol 3.0: messages with a kind and a length; an answer ends when the server is
//! ready for the next query.

use anyhow::{Result, bail};

use super::Progress;

#[derive(Default)]
pub(crate) struct Decoder {
    head: [u8; 5],
    have: usize,
    /// Bytes of the message that are left.
    left: usize,
    /// What the server says is wrong.
    error: Vec<u8>,
}

impl Decoder {
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<Progress> {
        let mut progress = Progress::More;
        while !bytes.is_empty() {
            if self.have < 5 {
                let (own, after) = bytes.split_at(bytes.len().min(5 - self.have));
                self.head[self.have..self.have + own.len()].copy_from_slice(own);
                self.have += own.len();
                bytes = after;
                if self.have < 5 {
                    break;
                }
                let [_, length @ ..] = self.head;
                self.left = (u32::from_be_bytes(length) as usize).saturating_sub(4);
            }
            let (own, after) = bytes.split_at(bytes.len().min(self.left));
            match self.head[0] {
                b'D' => body(own),
                b'E' => self.error.extend_from_slice(own),
                _ => {}
            }
            self.left -= own.len();
            bytes = after;
            if self.left > 0 {
                break;
            }
            self.have = 0;
            match self.head[0] {
                b'E' => bail!("refused: {}", String::from_utf8_lossy(&self.error)),
                b'Z' => progress = Progress::Whole,
                _ => {}
            }
        }
        Ok(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Progress;
    use super::Decoder;

    #[test]
    fn rows_come_out_and_the_end_is_seen_wherever_it_is_cut() {
        let bytes = b"2\0\0\0\x04D\0\0\0\x09helloC\0\0\0\x06x\0Z\0\0\0\x05I";
        for cut in 0..bytes.len() {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            let mut sink = |bytes: &[u8]| out.extend_from_slice(bytes);
            assert_eq!(decoder.feed(&bytes[..cut], &mut sink).unwrap(), Progress::More);
            assert_eq!(decoder.feed(&bytes[cut..], &mut sink).unwrap(), Progress::Whole);
            assert_eq!(out, b"hello");
        }
    }
}
