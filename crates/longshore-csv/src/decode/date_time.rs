//! Decides how dates, times and timestamps of other formats than ISO 8601 are read.
//!
//! A format is a list of patterns in the language of `strptime` that are tried in order. The patterns are compiled once
//! ([`compile`]) and interpreted per field ([`read`]); those of fixed places are brought into the order of ISO 8601, so
//! that the fast paths of the default format read them ([`fixed`]). Names that stand for several patterns, and the
//! patterns that a sniffer should try, are in [`presets`]. Stricter than `strptime`: ranges are checked, a `%Y` has
//! four digits, digits that follow each other without a separator have their full width, and blanks mean themselves.

mod compile;
mod fixed;
mod item;
mod presets;
mod read;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::exact::{self, MICROSECONDS_PER_DAY};
use super::{Reason, ValueType};
use compile::Pattern;
use fixed::Fixed;

/// How the dates, times or timestamps of a column are spelled.
#[derive(Clone)]
pub struct DateTimeFormat {
    /// What the user gave.
    given: Arc<[Given]>,
}

/// A format as the user names it.
#[derive(Debug)]
struct Given {
    /// A pattern, or the name of a preset.
    text: String,
    /// Tried in order; none for ISO 8601.
    patterns: Vec<Pattern>,
}

/// A type, as far as patterns have to suit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Date,
    Time,
    Timestamp,
    TimestampTz,
}

impl Kind {
    fn of(value_type: ValueType) -> Option<Kind> {
        match value_type {
            ValueType::Date => Some(Kind::Date),
            ValueType::Time => Some(Kind::Time),
            ValueType::Timestamp => Some(Kind::Timestamp),
            ValueType::TimestampTz => Some(Kind::TimestampTz),
            _ => None,
        }
    }
}

impl DateTimeFormat {
    /// The format that reads what any of `formats` reads, the first that can deciding. Each is a pattern such as
    /// `%d.%m.%Y %H:%M`, or the name of a preset: `iso`, `us` (the month first), `eu` (the day first), `epoch`,
    /// `epoch_ms` or `epoch_us` (seconds, milliseconds, microseconds since 1970-01-01 00:00:00 UTC).
    ///
    /// # Errors
    ///
    /// If there is none, or one is neither.
    pub fn new<S: AsRef<str>>(formats: &[S]) -> Result<DateTimeFormat, DateTimeFormatError> {
        if formats.is_empty() {
            return Err(DateTimeFormatError::new(
                "",
                "the list of formats is empty; name one, or leave the option out",
            ));
        }
        let given: Result<Arc<[Given]>, _> = formats
            .iter()
            .map(|text| {
                let text = text.as_ref();
                let patterns = match presets::named(text) {
                    Some(patterns) => patterns,
                    None => vec![Pattern::new(text)?],
                };
                Ok(Given { text: text.to_owned(), patterns })
            })
            .collect();
        Ok(DateTimeFormat { given: given? })
    }

    /// Common formats other than ISO 8601, from the least ambiguous on, for finding out which one a column has. More
    /// than one may match a value, such as those with the month and with the day first: only the whole column tells.
    #[must_use]
    pub fn candidates() -> &'static [DateTimeFormat] {
        presets::candidates()
    }

    /// What it was made of: patterns, and names of presets.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.given.iter().map(|given| given.text.as_str())
    }

    /// Whether this is the default format.
    #[must_use]
    pub fn is_iso(&self) -> bool {
        matches!(&*self.given, [given] if given.patterns.is_empty())
    }

    /// Whether values of the type can be written in every part of the format.
    ///
    /// # Errors
    ///
    /// Names what a part lacks, or what it has and the type does not hold.
    pub fn check(&self, value_type: ValueType) -> Result<(), DateTimeFormatError> {
        let Some(kind) = Kind::of(value_type) else { return Ok(()) };
        for given in &*self.given {
            let misfits: Option<Vec<_>> = given.patterns.iter().map(|pattern| pattern.misfit(kind)).collect();
            if let Some(&misfit) = misfits.as_ref().and_then(|misfits| misfits.first()) {
                return Err(DateTimeFormatError::new(&given.text, misfit));
            }
        }
        Ok(())
    }

    /// Whether the field is a value of the type in this format.
    #[must_use]
    pub fn matches(&self, value_type: ValueType, bytes: &[u8]) -> bool {
        match Kind::of(value_type) {
            None => false,
            Some(Kind::Date) => self.fast_date(bytes).is_ok(),
            Some(Kind::Time) => self.fast_time(bytes).is_ok(),
            Some(Kind::Timestamp) => self.fast_timestamp(bytes).is_ok(),
            Some(Kind::TimestampTz) => self.fast_timestamptz(bytes).is_ok(),
        }
    }

    /// What `read` makes of the first pattern for the kind that matches; otherwise the reason of the one that came
    /// furthest. `fast` is tried before the slow reader.
    fn first<T>(
        &self,
        kind: Kind,
        bytes: &[u8],
        fast: impl Fn(&Fixed, &[u8]) -> Option<T>,
        iso: impl Fn(&[u8]) -> Result<T, Reason>,
        read: impl Fn(&read::DateTime) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let content = exact::trim(bytes);
        for given in &*self.given {
            if given.patterns.is_empty()
                && let Ok(value) = iso(content)
            {
                return Ok(value);
            }
            for pattern in &given.patterns {
                if !pattern.lengths.contains(&content.len()) || pattern.misfit(kind).is_some() {
                    continue;
                }
                if let Some(value) = pattern.fixed.as_ref().and_then(|fixed| fast(fixed, content)) {
                    return Ok(value);
                }
                if let Ok(value) =
                    pattern.read(content).map_err(|(reason, _)| reason).and_then(|date_time| read(&date_time))
                {
                    return Ok(value);
                }
            }
        }
        Err(self.furthest(kind, content, iso, read))
    }

    /// Why no pattern matches: the reason of the one that left fewest bytes.
    #[cold]
    fn furthest<T>(
        &self,
        kind: Kind,
        content: &[u8],
        iso: impl Fn(&[u8]) -> Result<T, Reason>,
        read: impl Fn(&read::DateTime) -> Result<T, Reason>,
    ) -> Reason {
        let mut best = (usize::MAX, Reason::Empty);
        if content.is_empty() {
            return best.1;
        }
        for given in &*self.given {
            if given.patterns.is_empty()
                && best.0 == usize::MAX
                && let Err(reason) = iso(content)
            {
                best = (content.len() + 1, reason);
            }
            for pattern in given.patterns.iter().filter(|pattern| pattern.misfit(kind).is_none()) {
                let failure = match pattern.read(content) {
                    Ok(date_time) => read(&date_time).err().map(|reason| (0, reason)),
                    Err((reason, left)) => Some((left + 1, reason)),
                };
                debug_assert!(failure.is_some(), "a pattern that was passed over reads {}", content.escape_ascii());
                if let Some(failure) = failure
                    && failure.0 < best.0
                {
                    best = failure;
                }
            }
        }
        best.1
    }

    fn read_date(&self, bytes: &[u8], fast: impl Fn(&Fixed, &[u8]) -> Option<i32>) -> Result<i32, Reason> {
        self.first(Kind::Date, bytes, fast, exact::date, |date_time| {
            let micros = exact::within_range(date_time.timestamp()?)?;
            if micros.rem_euclid(MICROSECONDS_PER_DAY) != 0 {
                return Err(Reason::TimeOfDay);
            }
            Ok(micros.div_euclid(MICROSECONDS_PER_DAY) as i32)
        })
    }

    fn read_time(&self, bytes: &[u8], fast: impl Fn(&Fixed, &[u8]) -> Option<i64>) -> Result<i64, Reason> {
        self.first(Kind::Time, bytes, fast, exact::time, |date_time| {
            let micros = date_time.time();
            if micros < MICROSECONDS_PER_DAY { Ok(micros) } else { Err(Reason::Time) }
        })
    }

    fn read_timestamp(&self, bytes: &[u8], fast: impl Fn(&Fixed, &[u8]) -> Option<i64>) -> Result<i64, Reason> {
        let read = |date_time: &read::DateTime| exact::within_range(date_time.timestamp()?);
        self.first(Kind::Timestamp, bytes, fast, exact::timestamp, read)
    }

    fn read_timestamptz(&self, bytes: &[u8], fast: impl Fn(&Fixed, &[u8]) -> Option<i64>) -> Result<i64, Reason> {
        let read = |date_time: &read::DateTime| exact::within_range(date_time.timestamp()?);
        self.first(Kind::TimestampTz, bytes, fast, exact::timestamptz, read)
    }

    /// A date in days since 1970-01-01; a time of day must be midnight.
    ///
    /// # Errors
    ///
    /// If no part of the format matches, or there is no such day in the years 1 to 9999.
    pub fn date(&self, bytes: &[u8]) -> Result<i32, Reason> {
        self.read_date(bytes, |_, _| None)
    }

    /// A time in microseconds since midnight; further digits are rounded.
    ///
    /// # Errors
    ///
    /// If no part of the format matches, or the time is (rounded) outside 00:00:00 to 23:59:59.999999.
    pub fn time(&self, bytes: &[u8]) -> Result<i64, Reason> {
        self.read_time(bytes, |_, _| None)
    }

    /// A timestamp in microseconds since 1970-01-01 00:00:00.
    ///
    /// # Errors
    ///
    /// If no part of the format matches, or the value lies outside the years 1 to 9999.
    pub fn timestamp(&self, bytes: &[u8]) -> Result<i64, Reason> {
        self.read_timestamp(bytes, |_, _| None)
    }

    /// A timestamp in microseconds since 1970-01-01 00:00:00 UTC; without an offset it is in UTC.
    ///
    /// # Errors
    ///
    /// If no part of the format matches, or the value lies in UTC outside the years 1 to 9999.
    pub fn timestamptz(&self, bytes: &[u8]) -> Result<i64, Reason> {
        self.read_timestamptz(bytes, |_, _| None)
    }

    /// What [`DateTimeFormat::date`] reads, faster.
    pub(super) fn fast_date(&self, bytes: &[u8]) -> Result<i32, Reason> {
        self.read_date(bytes, Fixed::date)
    }

    /// What [`DateTimeFormat::time`] reads, faster.
    pub(super) fn fast_time(&self, bytes: &[u8]) -> Result<i64, Reason> {
        self.read_time(bytes, Fixed::time)
    }

    /// What [`DateTimeFormat::timestamp`] reads, faster.
    pub(super) fn fast_timestamp(&self, bytes: &[u8]) -> Result<i64, Reason> {
        self.read_timestamp(bytes, Fixed::timestamp)
    }

    /// What [`DateTimeFormat::timestamptz`] reads, faster.
    pub(super) fn fast_timestamptz(&self, bytes: &[u8]) -> Result<i64, Reason> {
        self.read_timestamptz(bytes, Fixed::timestamp)
    }
}

impl fmt::Display for DateTimeFormat {
    /// The formats as SQL strings, with "or" between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, given) in self.given.iter().enumerate() {
            let or = if index > 0 { " or " } else { "" };
            write!(f, "{or}'{}'", given.text.replace('\'', "''"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for DateTimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DateTimeFormat({self})")
    }
}

impl PartialEq for DateTimeFormat {
    fn eq(&self, other: &DateTimeFormat) -> bool {
        self.given.iter().map(|given| &given.text).eq(other.given.iter().map(|given| &given.text))
    }
}

impl Eq for DateTimeFormat {}

/// Why a text is no format, or not one of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateTimeFormatError {
    format: String,
    problem: &'static str,
}

impl DateTimeFormatError {
    fn new(format: &str, problem: &'static str) -> DateTimeFormatError {
        DateTimeFormatError { format: format.to_owned(), problem }
    }
}

impl fmt::Display for DateTimeFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.format.is_empty() {
            f.write_str(self.problem)
        } else {
            write!(f, "'{}': {}", self.format, self.problem)
        }
    }
}

impl Error for DateTimeFormatError {}
