//! The units of time that intervals, `extract` and `date_trunc` name, in PostgreSQL's spellings.

use crate::error::TimeError;

/// A unit, or a field that `extract` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Microseconds.
    Microsecond,
    /// Milliseconds.
    Millisecond,
    /// Seconds.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days.
    Day,
    /// Weeks.
    Week,
    /// Months.
    Month,
    /// Quarters.
    Quarter,
    /// Years.
    Year,
    /// Decades.
    Decade,
    /// Centuries.
    Century,
    /// Millennia.
    Millennium,
    /// The offset of a zone in seconds.
    Zone,
    /// Its hours.
    ZoneHour,
    /// Its minutes.
    ZoneMinute,
    /// The day of the week, 0 for Sunday.
    DayOfWeek,
    /// The day of the year.
    DayOfYear,
    /// The day of the week, 7 for Sunday.
    IsoDayOfWeek,
    /// The year that the ISO week belongs to.
    IsoYear,
    /// The Julian day.
    Julian,
    /// Seconds since 1970-01-01 UTC.
    Epoch,
    /// The last microsecond of all.
    Infinity,
    /// The first one.
    NegativeInfinity,
    /// A word of dates that is a moment, as `now`.
    Reserved,
}

/// Letters of a word that count.
const TOKEN_BYTES_MAX: usize = 10;

/// Words of units, which intervals take.
const UNITS: [(&str, Unit); 57] = [
    ("c", Unit::Century),
    ("cent", Unit::Century),
    ("centuries", Unit::Century),
    ("century", Unit::Century),
    ("d", Unit::Day),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("dec", Unit::Decade),
    ("decade", Unit::Decade),
    ("decades", Unit::Decade),
    ("decs", Unit::Decade),
    ("h", Unit::Hour),
    ("hour", Unit::Hour),
    ("hours", Unit::Hour),
    ("hr", Unit::Hour),
    ("hrs", Unit::Hour),
    ("m", Unit::Minute),
    ("microsecon", Unit::Microsecond),
    ("mil", Unit::Millennium),
    ("millennia", Unit::Millennium),
    ("millennium", Unit::Millennium),
    ("millisecon", Unit::Millisecond),
    ("mils", Unit::Millennium),
    ("min", Unit::Minute),
    ("mins", Unit::Minute),
    ("minute", Unit::Minute),
    ("minutes", Unit::Minute),
    ("mon", Unit::Month),
    ("mons", Unit::Month),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("ms", Unit::Millisecond),
    ("msec", Unit::Millisecond),
    ("mseconds", Unit::Millisecond),
    ("msecs", Unit::Millisecond),
    ("qtr", Unit::Quarter),
    ("quarter", Unit::Quarter),
    ("s", Unit::Second),
    ("sec", Unit::Second),
    ("second", Unit::Second),
    ("seconds", Unit::Second),
    ("secs", Unit::Second),
    ("timezone", Unit::Zone),
    ("timezone_h", Unit::ZoneHour),
    ("timezone_m", Unit::ZoneMinute),
    ("us", Unit::Microsecond),
    ("usec", Unit::Microsecond),
    ("useconds", Unit::Microsecond),
    ("usecs", Unit::Microsecond),
    ("w", Unit::Week),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("y", Unit::Year),
    ("year", Unit::Year),
    ("years", Unit::Year),
    ("yr", Unit::Year),
    ("yrs", Unit::Year),
];

/// Words that only `extract` takes.
const FIELDS: [(&str, Unit); 15] = [
    ("dow", Unit::DayOfWeek),
    ("doy", Unit::DayOfYear),
    ("isodow", Unit::IsoDayOfWeek),
    ("isoyear", Unit::IsoYear),
    ("j", Unit::Julian),
    ("jd", Unit::Julian),
    ("julian", Unit::Julian),
    ("epoch", Unit::Epoch),
    ("infinity", Unit::Infinity),
    ("-infinity", Unit::NegativeInfinity),
    ("now", Unit::Reserved),
    ("today", Unit::Reserved),
    ("tomorrow", Unit::Reserved),
    ("yesterday", Unit::Reserved),
    ("allballs", Unit::Reserved),
];

fn find(words: &[(&str, Unit)], word: &str) -> Option<Unit> {
    let word = cut(word);
    words.iter().find(|(known, _)| cut(known) == word).map(|(_, unit)| *unit)
}

/// The letters of a word in lower case that count.
pub(crate) fn cut(word: &str) -> &str {
    word.char_indices().nth(TOKEN_BYTES_MAX).map_or(word, |(at, _)| &word[..at])
}

impl Unit {
    /// The unit of an interval that a word in lower case names.
    #[must_use]
    pub fn of_interval(word: &str) -> Option<Self> {
        find(&UNITS, word)
    }

    /// The unit or field that a word names, in any case.
    #[must_use]
    pub fn of_field(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        Self::of_interval(&word).or_else(|| find(&FIELDS, &word))
    }
}

/// A unit that a type has not.
pub(crate) fn not_supported(word: &str, type_name: &str) -> TimeError {
    let word = word.to_ascii_lowercase();
    TimeError::unsupported(format!("unit \"{word}\" not supported for type {type_name}"))
}

/// A word that is no unit.
pub(crate) fn not_recognized(word: &str, type_name: &str) -> TimeError {
    let word = word.to_ascii_lowercase();
    TimeError::parameter(format!("unit \"{word}\" not recognized for type {type_name}"))
}
