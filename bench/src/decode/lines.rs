//! Lines, and texts whose size the line before them gives, as NATS and Redis speak.

use anyhow::Result;

/// Cuts bytes as they arrive.
#[derive(Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// Bytes of a text that are left, and the end of its line.
    text: usize,
}

/// What bytes came to.
pub(super) enum Cut<'a> {
    /// A line, without its end.
    Line(&'a str),
    /// A text is over.
    Text,
}

impl Lines {
    /// Takes bytes in, and passes on what texts hold. `each` says of a line whether a text follows
    /// it, and of what size.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        body: &mut dyn FnMut(&[u8]),
        mut each: impl FnMut(Cut<'_>) -> Result<Option<usize>>,
    ) -> Result<()> {
        while !bytes.is_empty() {
            if self.text > 0 {
                let (own, after) = bytes.split_at(bytes.len().min(self.text));
                body(own.get(..own.len().min(self.text.saturating_sub(2))).unwrap_or(own));
                self.text -= own.len();
                bytes = after;
                if self.text == 0 {
                    each(Cut::Text)?;
                }
                continue;
            }
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (own, after) = bytes.split_at(end);
            self.line.extend_from_slice(own);
            bytes = after;
            if self.line.last() == Some(&b'\n') {
                let line = std::str::from_utf8(&self.line)?.trim_end();
                self.text = each(Cut::Line(line))?.map_or(0, |size| size + 2);
                self.line.clear();
            }
        }
        Ok(())
    }

    /// Whether nothing is begun.
    pub(super) fn is_between(&self) -> bool {
        self.text == 0 && self.line.is_empty()
    }
}
