//! Positions in a journal: `<epoch>.<seq>`.

use std::fmt;
use std::str::FromStr;

/// Where a reader stands: everything up to and including `seq` of `epoch` has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cursor {
    /// Changes when a journal is replaced, so that an old cursor is never taken for a new one.
    pub epoch: u64,
    /// Sequence number of the last entry seen; 0 is before the first.
    pub seq: u64,
}

/// Text that is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: expected `<epoch>.<seq>`")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (epoch, seq) = text.split_once('.').ok_or(CursorError)?;
        let number = |s: &str| {
            if s.is_empty() || !s.bytes().all(|b| b.is_ascii_digit()) {
                return Err(CursorError);
            }
            s.parse().map_err(|_| CursorError)
        };
        Ok(Self { epoch: number(epoch)?, seq: number(seq)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses_other_text() {
        let cursor = Cursor { epoch: 3, seq: 0 };
        assert_eq!("3.0".parse(), Ok(cursor));
        assert_eq!(cursor.to_string(), "3.0");
        for bad in ["", "0", "1.", ".1", "1.2.3", "-1.2", "1.+2", "99999999999999999999.1"] {
            assert_eq!(bad.parse::<Cursor>(), Err(CursorError), "{bad}");
        }
    }
}
