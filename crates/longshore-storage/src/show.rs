//! Single values as SQL spells them, for messages. Not here: values of results, which the crates above write.

use std::fmt;

const DAY_MICROS: i64 = 86_400_000_000;

/// A DECIMAL: its digits without the point, and how many of them stand behind it.
pub(crate) struct Decimal(pub(crate) i128, pub(crate) u8);

/// A day since 1970-01-01 in the proleptic Gregorian calendar.
pub(crate) struct Date(pub(crate) i64);

/// Microseconds since midnight.
pub(crate) struct Time(pub(crate) i64);

/// Microseconds since 1970-01-01T00:00:00.
pub(crate) struct Timestamp(pub(crate) i64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, scale) = (if self.0 < 0 { "-" } else { "" }, usize::from(self.1));
        let digits = format!("{:0width$}", self.0.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let point = if scale > 0 { "." } else { "" };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

impl fmt::Display for Date {
    /// Hinnant, *chrono-compatible low-level date algorithms*, `civil_from_days`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000;
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        match self.0 % 1_000_000 {
            0 => Ok(()),
            fraction => write!(f, ".{fraction:06}"),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Date(self.0.div_euclid(DAY_MICROS)), Time(self.0.rem_euclid(DAY_MICROS)))
    }
}
