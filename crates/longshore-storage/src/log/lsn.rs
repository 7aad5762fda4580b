//! Positions in the log.

use std::fmt;
use std::str::FromStr;

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

/// As it is shown: the upper and the lower 32 bits in hexadecimal digits, `0/1A2B3C`.
impl FromStr for Lsn {
    type Err = NoLsn;

    fn from_str(text: &str) -> Result<Lsn, NoLsn> {
        let part = |digits: &str| {
            let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|_| are_digits).map(u64::from)
        };
        let parts = text.split_once('/').and_then(|(upper, lower)| Some((part(upper)?, part(lower)?)));
        parts.map(|(upper, lower)| Lsn(upper << 32 | lower)).ok_or_else(|| NoLsn(text.to_owned()))
    }
}

/// A text that is no position of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoLsn(String);

impl fmt::Display for NoLsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a position of the log, which is like 0/1A2B3C", self.0)
    }
}

impl std::error::Error for NoLsn {}

/// As PostgreSQL writes it: the upper and the lower 32 bits in hexadecimal digits.
impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:08X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_shown() {
        for position in [0, 1, 0x1A2B, u64::from(u32::MAX), 1 << 32, (5 << 40) + 3] {
            assert_eq!(Lsn::new(position).to_string().parse(), Ok(Lsn::new(position)));
        }
        assert_eq!("0/ff".parse(), Ok(Lsn::new(255)));
        for text in ["", "0", "/", "0/", "/0", "0/-1", "0/+1", "x/0", "1/100000000", "0/0/0"] {
            assert!(text.parse::<Lsn>().is_err(), "{text}");
        }
    }
}
