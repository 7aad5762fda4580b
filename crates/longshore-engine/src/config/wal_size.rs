//! How long the log may become, as SQL and the command line write it.

use std::fmt;
use std::str::FromStr;

use super::Durability;

/// Units of sizes, the largest first, as PostgreSQL writes them: powers of 1024.
const UNITS: [(&str, u64); 4] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];

/// A length of the log: at least [`Durability::MAX_WAL_SIZE_MIN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalSize(u64);

impl WalSize {
    /// So many bytes, or the least that is allowed.
    #[must_use]
    pub fn new(bytes: u64) -> WalSize {
        WalSize(bytes.max(Durability::MAX_WAL_SIZE_MIN))
    }

    /// The length in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for WalSize {
    /// As [`WalSize::from_str`] reads it, in the largest unit of which it is a whole number; below a kilobyte it is cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, unit_bytes) =
            UNITS.into_iter().find(|(_, unit_bytes)| self.0.is_multiple_of(*unit_bytes)).unwrap_or(("kB", 1 << 10));
        write!(f, "{}{unit}", self.0 / unit_bytes)
    }
}

impl FromStr for WalSize {
    type Err = String;

    /// A whole number and a unit, `kB`, `MB`, `GB` or `TB`, each a power of 1024; without one it is megabytes.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, as a sentence for the user.
    fn from_str(text: &str) -> Result<WalSize, String> {
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let unit_bytes = match unit.trim() {
            "" => Some(1 << 20),
            unit => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, bytes)| *bytes),
        };
        let bytes = number.parse::<u64>().ok().zip(unit_bytes).and_then(|(number, unit)| number.checked_mul(unit));
        bytes.filter(|bytes| *bytes >= Durability::MAX_WAL_SIZE_MIN).map(WalSize).ok_or_else(|| {
            let least = WalSize(Durability::MAX_WAL_SIZE_MIN);
            format!("'{text}' is no size from {least} on; write one such as 256MB or 1GB")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_shown() {
        for (text, shown, bytes) in [
            ("2", "2MB", 2 << 20),
            (" 256 mb ", "256MB", 256 << 20),
            ("1024MB", "1GB", 1 << 30),
            ("2049kB", "2049kB", 2049 << 10),
            ("3TB", "3TB", 3 << 40),
        ] {
            let size: WalSize = text.parse().expect(text);
            assert_eq!((size.to_string().as_str(), size.bytes()), (shown, bytes), "{text}");
            assert_eq!(shown.parse(), Ok(size));
        }
        for bad in ["", "MB", "-1", "1.5GB", "1MB", "1 week", "0", "99999999999999999999", "999999999TB"] {
            assert!(bad.parse::<WalSize>().is_err(), "{bad}");
        }
        assert_eq!(WalSize::new(0).bytes(), Durability::MAX_WAL_SIZE_MIN);
    }
}
