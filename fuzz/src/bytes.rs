//! Numbers that follow from an input, so that a finding can be had again from its bytes alone.

/// A source of numbers.
pub(crate) struct Numbers(u64);

impl Numbers {
    /// The numbers that belong to an input.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self(hash | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % end.max(1)
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// The bytes in pieces, some of them empty, as a network may bring them.
    pub(crate) fn pieces<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let longest = *self.pick(&[1, 7, 60, 900]);
        // So many that even a long input in single bytes takes no time to speak of.
        let longest = longest.max(bytes.len() / 256);
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(self.below(longest + 1).min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
