//! `to_char` of dates, times, timestamps and intervals.

use std::fmt::Write as _;

use super::keywords::{Key, Letters};
use super::nodes::{Field, Node, ending};
use crate::calendar::{
    DAYS, EPOCH_JULIAN, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTHS, civil, day_of_week, day_of_year,
    days_of, iso_week, iso_year_start, split,
};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::interval::Interval;
use crate::zone::LocalTime;

const ROMANS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// Characters of the longest name of a day and of a month, and of the longest Roman number of a month.
const NAME_WIDTH: usize = 9;
const ROMAN_WIDTH: usize = 4;

/// What is written: the fields of a timestamp, or of an interval.
#[derive(Debug)]
pub(super) struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    day_of_year: i64,
    is_interval: bool,
    zone: Option<LocalTime>,
}

impl Moment {
    pub(super) fn of_timestamp(micros: i64) -> Self {
        let (days, of_day) = split(micros);
        let (year, month, day) = civil(days);
        Self {
            year,
            month,
            day,
            hour: of_day / MICROS_PER_HOUR,
            minute: of_day / MICROS_PER_MINUTE % 60,
            second: of_day / MICROS_PER_SECOND % 60,
            micros: of_day % MICROS_PER_SECOND,
            day_of_year: day_of_year(days),
            is_interval: false,
            zone: None,
        }
    }

    pub(super) fn in_zone(self, zone: LocalTime) -> Self {
        Self { zone: Some(zone), ..self }
    }

    pub(super) fn of_interval(interval: Interval) -> Self {
        let parts = interval.parts();
        Self {
            year: parts.years,
            month: parts.months,
            day: parts.days,
            hour: parts.hours,
            minute: parts.minutes,
            second: parts.seconds,
            micros: parts.micros,
            // As if a month had 30 days.
            day_of_year: (parts.years * 12 + parts.months) * 30 + parts.days,
            is_interval: true,
            zone: None,
        }
    }

    fn days(&self) -> i64 {
        days_of(self.year, self.month, self.day)
    }

    /// A year as it is counted: there is none of the number 0, but in intervals.
    fn counted(&self, year: i64) -> i64 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }
}

/// Writes the parts of a pattern.
pub(super) fn write(nodes: &[Node], moment: &Moment, text: &mut String) -> Result<()> {
    for node in nodes {
        let field = match node {
            Node::Space(char) | Node::Separator(char) | Node::Text(char) => {
                text.push(*char);
                continue;
            }
            Node::Field(field) => field,
        };
        let is_of_date_only = matches!(
            field.key,
            Key::Era
                | Key::DayName
                | Key::DayShort
                | Key::MonthName
                | Key::MonthShort
                | Key::DayOfWeek
                | Key::IsoDayOfWeek
                | Key::Zone
                | Key::ZoneHour
                | Key::ZoneMinute
                | Key::Offset
        );
        if moment.is_interval && is_of_date_only {
            return Err(TimeError::new(
                TimeErrorKind::InvalidFormat,
                "invalid format specification for an interval value",
            )
            .with_hint("Intervals are not tied to specific calendar dates."));
        }
        let start = text.len();
        if let Some((number, width)) = number(field.key, moment) {
            let width = match field {
                // What is behind the point keeps its zeros.
                Field { key: Key::Fraction(_) | Key::Milli | Key::Micro, .. } => width,
                Field { is_bare: true, .. } => 0,
                _ => width + usize::from(number < 0 && width > 1),
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "{number:0width$}");
        } else {
            word(field, moment, text);
        }
        if let Some(ordinal) = field.ordinal.filter(|_| field.key.is_number() && text.len() > start) {
            let number = &text[start..];
            let not_a_number = || TimeError::new(TimeErrorKind::InvalidText, format!("\"{number}\" is not a number"));
            let ending = ending(number, ordinal).ok_or_else(not_a_number)?;
            text.push_str(ending);
        }
    }
    Ok(())
}

/// The number of a field, and the digits that it has at least; `None` for what is no number.
fn number(key: Key, moment: &Moment) -> Option<(i64, usize)> {
    let year = moment.year;
    Some(match key {
        Key::Century => {
            let century = match year {
                year if moment.is_interval => year / 100,
                year if year > 0 => (year - 1) / 100 + 1,
                year => year / 100 - 1,
            };
            (century, if century.abs() <= 99 { 2 } else { 1 })
        }
        Key::DayOfYear => (moment.day_of_year, 3),
        Key::Day => (moment.day, 2),
        Key::DayOfWeek => (day_of_week(moment.days()) + 1, 1),
        Key::Fraction(digits) => (moment.micros / 10_i64.pow(6 - u32::from(digits)), digits.into()),
        Key::Milli => (moment.micros / 1000, 3),
        Key::Micro => (moment.micros, 6),
        Key::Hour => (moment.hour, 2),
        Key::HalfHour => (if moment.hour % 12 == 0 { 12 } else { moment.hour % 12 }, 2),
        Key::Minute => (moment.minute, 2),
        Key::Second => (moment.second, 2),
        Key::SecondOfDay => (moment.hour * 3600 + moment.minute * 60 + moment.second, 1),
        Key::IsoDayOfYear => (moment.days() - iso_year_start(iso_week(moment.days()).0) + 1, 3),
        Key::IsoDayOfWeek => ((day_of_week(moment.days()) + 6) % 7 + 1, 1),
        Key::IsoWeek => (iso_week(moment.days()).1, 2),
        Key::IsoYear(digits) => (last(moment.counted(iso_week(moment.days()).0), digits), digits.into()),
        Key::Year(digits) => (last(moment.counted(year), digits), digits.into()),
        Key::Julian => (moment.days() + EPOCH_JULIAN, 1),
        Key::Month => (moment.month, 2),
        Key::Quarter if moment.month != 0 => ((moment.month - 1) / 3 + 1, 1),
        Key::Week => ((moment.day_of_year - 1) / 7 + 1, 2),
        Key::WeekOfMonth => ((moment.day - 1) / 7 + 1, 1),
        _ => return None,
    })
}

/// The last digits of a year; all of them if four are wanted.
fn last(year: i64, digits: u8) -> i64 {
    if digits == 4 { year } else { year % 10_i64.pow(digits.into()) }
}

fn cased(word: &str, letters: Letters) -> String {
    match letters {
        Letters::Upper => word.to_uppercase(),
        Letters::Capital => word.to_owned(),
        Letters::Lower => word.to_lowercase(),
    }
}

/// Writes a field that is no number.
fn word(field: &Field, moment: &Moment, text: &mut String) {
    let Field { keyword, key, letters, is_bare, .. } = *field;
    let either = |is_first: bool, first: &str, second: &str| {
        let word = if is_first { first } else { second };
        let word: String =
            if keyword.contains('.') { word.chars().flat_map(|c| [c, '.']).collect() } else { word.to_owned() };
        cased(&word, letters)
    };
    let (word, width) = match key {
        Key::Era => (either(moment.year > 0, "AD", "BC"), 0),
        Key::Meridiem => (either(moment.hour.rem_euclid(24) < 12, "AM", "PM"), 0),
        Key::DayName | Key::DayShort => {
            let name = DAYS[day_of_week(moment.days()) as usize];
            if key == Key::DayName { (cased(name, letters), NAME_WIDTH) } else { (cased(&name[..3], letters), 0) }
        }
        Key::MonthName | Key::MonthShort => {
            let name = MONTHS[(moment.month - 1).rem_euclid(12) as usize];
            if key == Key::MonthName { (cased(name, letters), NAME_WIDTH) } else { (cased(&name[..3], letters), 0) }
        }
        Key::Roman => match roman(moment) {
            Some(month) => (cased(month, letters), ROMAN_WIDTH),
            None => return,
        },
        Key::YearInThousands => {
            let year = moment.counted(moment.year);
            (format!("{},{:03}", year / 1000, year % 1000), 0)
        }
        Key::Offset | Key::ZoneHour | Key::ZoneMinute => {
            let east = moment.zone.as_ref().map_or(0, |zone| zone.east);
            let sign = if east >= 0 { '+' } else { '-' };
            let (hours, minutes) = (east.abs() / 3600, east.abs() % 3600 / 60);
            let width = if is_bare && key == Key::Offset { 0 } else { 2 };
            match key {
                Key::ZoneMinute => (format!("{minutes:02}"), 0),
                Key::Offset if east % 3600 != 0 => (format!("{sign}{hours:0width$}:{minutes:02}"), 0),
                _ => (format!("{sign}{hours:0width$}"), 0),
            }
        }
        Key::Zone => match &moment.zone {
            Some(zone) => (cased(&zone.abbreviation, letters), 0),
            None => return,
        },
        _ => return,
    };
    let width = if is_bare { 0 } else { width };
    // Writing to a string cannot fail.
    let _ = write!(text, "{word:width$}");
}

/// The month in Roman numbers; of intervals -1 is December.
fn roman(moment: &Moment) -> Option<&'static str> {
    let month = match moment.month {
        0 if moment.year == 0 => return None,
        0 if moment.year > 0 => 12,
        0 => 1,
        month if month < 0 => 13 + month,
        month => month,
    };
    ROMANS.get(month as usize - 1).copied()
}
