//! Positions in the log.

use std::fmt;

/// A position in the log: the number of bytes before it, over all segments, their headers left out.
///
/// It grows with every record, never stands for anything else, and survives crashes and the removal of old segments: what
/// follows the log keeps its place by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(u64);

impl Lsn {
    /// The position with so many bytes before it.
    #[must_use]
    pub const fn new(bytes: u64) -> Lsn {
        Lsn(bytes)
    }

    /// The number of bytes before it.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position so many bytes behind this one.
    #[must_use]
    pub(super) const fn behind(self, bytes: usize) -> Lsn {
        Lsn(self.0 + bytes as u64)
    }
}

/// As PostgreSQL writes it: the upper and the lower 32 bits in hexadecimal digits.
impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:08X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}
