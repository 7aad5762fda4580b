//! What a pattern is made of: literal bytes, numbers, names, offsets.
//!
//! Not here: which letters stand for what (`compile`), and how a field is read by them (`read`, `fixed`).

use std::ops::RangeInclusive;

/// What is read at some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Literal(u8),
    /// A number of `min` to `max` digits; blanks may stand before a padded one.
    Digits {
        part: Part,
        min: usize,
        max: usize,
        padded: bool,
    },
    MonthName,
    WeekdayName,
    Meridiem,
    /// 1 to 9 digits behind the point.
    Fraction,
    Offset,
    Utc,
    /// A count of such units of a second since 1970, perhaps negative.
    Epoch {
        micros: i64,
    },
}

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    YearOfCentury,
    Month,
    Day,
    DayOfYear,
    Hour,
    HourOfTwelve,
    Minute,
    Second,
}

impl Item {
    /// How many bytes it takes.
    pub(super) fn lengths(&self) -> RangeInclusive<usize> {
        match *self {
            Item::Literal(_) => 1..=1,
            Item::Digits { min, padded: true, .. } => min..=usize::MAX,
            Item::Digits { min, max, .. } => min..=max,
            Item::MonthName | Item::WeekdayName => 3..=9,
            Item::Meridiem => 2..=2,
            Item::Fraction | Item::Offset => 1..=9,
            Item::Utc => 1..=3,
            Item::Epoch { .. } => 1..=usize::MAX,
        }
    }
}
