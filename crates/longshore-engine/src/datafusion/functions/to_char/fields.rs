//! What the keywords of `to_char` stand for.

use std::fmt::Write as _;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// The Julian day of 1 January 1970.
const EPOCH_JULIAN: i64 = 2_440_588;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ROMANS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// Characters of the longest name of a day and of a month, and of the longest Roman number of a month.
const NAME_WIDTH: usize = 9;
const ROMAN_WIDTH: usize = 4;

/// How the letters of a keyword are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Upper,
    Capital,
    Lower,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Without a date.
    Time,
    Timestamp,
    /// In UTC.
    TimestampTz,
}

/// A keyword's meaning. Of a year the last digits are written, as many as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Nothing,
    Era,
    Meridiem,
    /// A text of two, in the spelling of a keyword.
    Either {
        is_era: bool,
        first: &'static str,
        second: &'static str,
    },
    Century,
    DayName,
    DayShort,
    MonthName,
    MonthShort,
    Name {
        is_day: bool,
        is_short: bool,
        letters: Letters,
    },
    DayOfYear,
    Day,
    DayOfWeek,
    Fraction(u8),
    Hour,
    HalfHour,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    IsoYear(u8),
    Julian,
    Minute,
    Month,
    Offset,
    Quarter,
    Roman,
    LowerRoman,
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    Zone,
    LowerZone,
    Week,
    WeekOfMonth,
    YearInThousands,
    Year(u8),
}

/// A point in time.
#[derive(Debug)]
pub(super) struct Moment {
    /// Days since 1 January 1970.
    days: i64,
    /// Microseconds of the day.
    micros: i64,
    year: i64,
    month: i64,
    day: i64,
}

impl Moment {
    /// The start of a day.
    pub(super) fn of_day(days: i64) -> Self {
        let (year, month, day) = civil(days);
        Self { days, micros: 0, year, month, day }
    }

    /// So many microseconds after 1 January 1970.
    pub(super) fn of_micros(micros: i64) -> Self {
        Self { micros: micros.rem_euclid(MICROS_PER_DAY), ..Self::of_day(micros.div_euclid(MICROS_PER_DAY)) }
    }

    fn day_of_year(&self) -> i64 {
        self.days - days_of(self.year, 1, 1) + 1
    }

    /// From Sunday, 0.
    fn day_of_week(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    /// The year that its week belongs to, and the first day of that year's first week.
    fn iso_year(&self) -> (i64, i64) {
        let first = |year| {
            let fourth = days_of(year, 1, 4);
            fourth - (fourth + 3).rem_euclid(7)
        };
        let year = [self.year + 1, self.year, self.year - 1].into_iter().find(|year| first(*year) <= self.days);
        let year = year.unwrap_or(self.year);
        (year, first(year))
    }
}

/// Year, month and day of a day since 1 January 1970, after Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The reverse.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

/// A year as it is counted: there is none of the number 0.
fn counted(year: i64) -> i64 {
    if year <= 0 { 1 - year } else { year }
}

impl Field {
    /// The field as its keyword is written.
    pub(super) fn spelled(self, keyword: &'static str, letters: Letters) -> Self {
        let is_lower = letters == Letters::Lower;
        let has_points = keyword.contains('.');
        let name = |is_day, is_short| Self::Name { is_day, is_short, letters };
        match self {
            Self::Era | Self::Meridiem => {
                let is_era = self == Self::Era;
                let (first, second) = match (is_era, has_points, is_lower) {
                    (true, true, false) => ("A.D.", "B.C."),
                    (true, true, true) => ("a.d.", "b.c."),
                    (true, false, false) => ("AD", "BC"),
                    (true, false, true) => ("ad", "bc"),
                    (false, true, false) => ("A.M.", "P.M."),
                    (false, true, true) => ("a.m.", "p.m."),
                    (false, false, false) => ("AM", "PM"),
                    (false, false, true) => ("am", "pm"),
                };
                Self::Either { is_era, first, second }
            }
            Self::DayName => name(true, false),
            Self::DayShort => name(true, true),
            Self::MonthName => name(false, false),
            Self::MonthShort => name(false, true),
            Self::Roman if is_lower => Self::LowerRoman,
            Self::Zone if is_lower => Self::LowerZone,
            other => other,
        }
    }

    /// Whether a time has it.
    pub(super) fn is_of_time(self) -> bool {
        matches!(
            self,
            Self::Nothing
                | Self::Either { is_era: false, .. }
                | Self::Fraction(_)
                | Self::Hour
                | Self::HalfHour
                | Self::Minute
                | Self::SecondOfDay
                | Self::Second
        )
    }

    /// Whether it can be an ordinal.
    pub(super) fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Nothing
                | Self::Either { .. }
                | Self::Name { .. }
                | Self::Offset
                | Self::Roman
                | Self::LowerRoman
                | Self::Zone
                | Self::LowerZone
                | Self::ZoneHour
                | Self::ZoneMinute
        )
    }

    /// Adds the field of `moment` to `text`.
    pub(super) fn write(self, moment: &Moment, kind: Kind, is_bare: bool, text: &mut String) {
        let Moment { days, micros, year, month, day } = *moment;
        let hour = micros / (3600 * MICROS_PER_SECOND);
        let half = |hour: i64| if hour % 12 == 0 { 12 } else { hour % 12 };
        let (number, width) = match self {
            Self::Century => {
                let century = if year > 0 { (year - 1) / 100 + 1 } else { year / 100 - 1 };
                let width = if century < 0 { 3 } else { 2 };
                (century, width)
            }
            Self::DayOfYear => (moment.day_of_year(), 3),
            Self::Day => (day, 2),
            Self::DayOfWeek => (moment.day_of_week() + 1, 1),
            Self::Fraction(digits) => {
                let fraction = micros % MICROS_PER_SECOND / 10_i64.pow(6 - u32::from(digits));
                // What is behind the point keeps its zeros.
                let _ = write!(text, "{fraction:0width$}", width = usize::from(digits));
                return;
            }
            Self::Hour => (hour, 2),
            Self::HalfHour => (half(hour), 2),
            Self::Minute => (micros / (60 * MICROS_PER_SECOND) % 60, 2),
            Self::Second => (micros / MICROS_PER_SECOND % 60, 2),
            Self::SecondOfDay => (micros / MICROS_PER_SECOND, 1),
            Self::IsoDayOfYear => (days - moment.iso_year().1 + 1, 3),
            Self::IsoDayOfWeek => ((moment.day_of_week() + 6) % 7 + 1, 1),
            Self::IsoWeek => ((days - moment.iso_year().1) / 7 + 1, 2),
            Self::IsoYear(digits) => (last(counted(moment.iso_year().0), digits), digits.into()),
            Self::Year(digits) => (last(counted(year), digits), digits.into()),
            Self::Julian => (days + EPOCH_JULIAN, 1),
            Self::Month => (month, 2),
            Self::Quarter => ((month - 1) / 3 + 1, 1),
            Self::Week => ((moment.day_of_year() - 1) / 7 + 1, 2),
            Self::WeekOfMonth => ((day - 1) / 7 + 1, 1),
            other => return other.write_text(moment, kind, is_bare, text),
        };
        let width = if is_bare { 0 } else { width };
        // Writing to a string cannot fail.
        let _ = write!(text, "{number:0width$}");
    }

    fn write_text(self, moment: &Moment, kind: Kind, is_bare: bool, text: &mut String) {
        let at = |names: &[&'static str], number: i64| names[number as usize];
        let (word, width) = match self {
            Self::Either { is_era, first, second } => {
                let is_first = if is_era { moment.year > 0 } else { moment.micros < MICROS_PER_DAY / 2 };
                (if is_first { first } else { second }.to_owned(), 0)
            }
            Self::Name { is_day, is_short, letters } => {
                let name = if is_day { at(&DAYS, moment.day_of_week()) } else { at(&MONTHS, moment.month - 1) };
                let name = if is_short { &name[..3] } else { name };
                let name = match letters {
                    Letters::Upper => name.to_uppercase(),
                    Letters::Capital => name.to_owned(),
                    Letters::Lower => name.to_lowercase(),
                };
                (name, if is_short { 0 } else { NAME_WIDTH })
            }
            Self::Roman => (at(&ROMANS, moment.month - 1).to_owned(), ROMAN_WIDTH),
            Self::LowerRoman => (at(&ROMANS, moment.month - 1).to_lowercase(), ROMAN_WIDTH),
            Self::Offset | Self::ZoneHour => ("+00".to_owned(), 0),
            Self::ZoneMinute => ("00".to_owned(), 0),
            Self::Zone if kind == Kind::TimestampTz => ("UTC".to_owned(), 0),
            Self::LowerZone if kind == Kind::TimestampTz => ("utc".to_owned(), 0),
            Self::YearInThousands => {
                let year = counted(moment.year);
                (format!("{},{:03}", year / 1000, year % 1000), 0)
            }
            _ => return,
        };
        let width = if is_bare { 0 } else { width };
        // Writing to a string cannot fail.
        let _ = write!(text, "{word:width$}");
    }
}

/// The last digits of a year; all of them if four are wanted.
fn last(year: i64, digits: u8) -> i64 {
    if digits == 4 { year } else { year % 10_i64.pow(digits.into()) }
}
