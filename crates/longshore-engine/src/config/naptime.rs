//! How long the thread that packs tables waits between two looks, as SQL and the command line write it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The longest one of PostgreSQL, in seconds; a month is less.
const SECONDS_MAX: u64 = i32::MAX as u64 / 1000;

/// What users may write, the longest first, in milliseconds. PostgreSQL's settings have the same.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

/// How often chunks are looked at that may be packed again: at least once a millisecond, at most every 24 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naptime(Duration);

impl Naptime {
    /// As often as PostgreSQL looks through its tables.
    pub const DEFAULT: Naptime = Naptime(Duration::from_mins(1));

    /// The time, or the one nearest to it that is allowed.
    #[must_use]
    pub fn new(time: Duration) -> Naptime {
        Naptime(time.clamp(Duration::from_millis(1), Duration::from_secs(SECONDS_MAX)))
    }

    /// The time.
    #[must_use]
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl fmt::Display for Naptime {
    /// As [`Naptime::from_str`] reads it, in the largest unit of which it is a whole number; below a millisecond it is cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time_ms = self.0.as_millis() as u64;
        let (unit, unit_ms) =
            UNITS.into_iter().find(|(_, unit_ms)| time_ms.is_multiple_of(*unit_ms)).unwrap_or(("ms", 1));
        write!(f, "{}{unit}", time_ms / unit_ms)
    }
}

impl FromStr for Naptime {
    type Err = String;

    /// A whole number and a unit, `ms`, `s`, `min`, `h` or `d`; without one it is seconds.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, as a sentence for the user.
    fn from_str(text: &str) -> Result<Naptime, String> {
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let (number, unit) = (number.parse::<u64>(), unit.trim());
        let unit = if unit.is_empty() { "s" } else { unit };
        let unit_ms = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, unit_ms)| unit_ms);
        let time_ms = number.ok().zip(unit_ms).and_then(|(number, unit_ms)| number.checked_mul(*unit_ms));
        match time_ms {
            Some(time_ms @ 1..) if time_ms <= 1000 * SECONDS_MAX => Ok(Naptime(Duration::from_millis(time_ms))),
            Some(_) => Err(format!("'{text}' is out of range; write a time from 1ms to {SECONDS_MAX}s")),
            None => Err(format!("'{text}' is not a time; write one such as 500ms, 30s, 5min, 1h or 1d")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_shown() {
        for (text, shown, time_ms) in [
            ("1", "1s", 1000),
            (" 90 s ", "90s", 90_000),
            ("60s", "1min", 60_000),
            ("1MIN", "1min", 60_000),
            ("1500ms", "1500ms", 1500),
            ("48h", "2d", 172_800_000),
            ("2147483s", "2147483s", 2_147_483_000),
        ] {
            let time: Naptime = text.parse().expect(text);
            assert_eq!((time.to_string().as_str(), time.duration()), (shown, Duration::from_millis(time_ms)), "{text}");
            assert_eq!(shown.parse(), Ok(time));
        }
        for bad in ["", "s", "-1", "1.5s", "1 week", "0", "0ms", "2147484", "99999999999999999999", "9999999999999999d"]
        {
            assert!(bad.parse::<Naptime>().is_err(), "{bad}");
        }
        assert_eq!(Naptime::new(Duration::ZERO).to_string(), "1ms");
        assert_eq!(Naptime::new(Duration::MAX).duration(), Duration::from_secs(SECONDS_MAX));
    }
}
