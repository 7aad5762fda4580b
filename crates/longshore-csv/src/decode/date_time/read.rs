//! The slow and obvious reader: a field against a pattern, item by item.

use longshore_value::digits::rounded;

use super::super::exact::{MICROSECONDS_PER_DAY, Reader, days_from_civil, days_of_month, zone_offset};
use super::super::{Expected, Reason};
use super::compile::Pattern;
use super::item::{Item, Part};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// What a field says.
#[derive(Debug, Default)]
pub(super) struct DateTime {
    year: u32,
    month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<u32>,
    /// From Monday, 0.
    weekday: Option<i32>,
    hour: u32,
    is_afternoon: Option<bool>,
    minute: u32,
    second: u32,
    micros: i64,
    /// Seconds east of UTC.
    offset: i64,
    /// Microseconds since 1970.
    epoch: Option<i64>,
    is_negative: bool,
}

impl Pattern {
    /// What the field, without white space around it, says by this pattern; otherwise the reason, and how many bytes
    /// were left.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<DateTime, (Reason, usize)> {
        let mut reader = Reader { rest: bytes };
        let mut date_time = DateTime::default();
        for item in &self.items {
            date_time.read(*item, &mut reader).map_err(|reason| (reason, reader.rest.len()))?;
        }
        reader.end().map_err(|reason| (reason, reader.rest.len()))?;
        Ok(date_time)
    }
}

impl DateTime {
    fn read(&mut self, item: Item, reader: &mut Reader<'_>) -> Result<(), Reason> {
        match item {
            Item::Literal(byte) => reader.byte(byte)?,
            Item::Digits { part, min, max, padded } => {
                while padded && reader.take(|byte| byte == b' ').is_some() {}
                let number = reader.number(min, max)?;
                match part {
                    Part::Year => self.year = number,
                    // As POSIX has it.
                    Part::YearOfCentury => self.year = number + if number < 69 { 2000 } else { 1900 },
                    Part::Month => self.month = Some(number),
                    Part::Day => self.day = Some(number),
                    Part::DayOfYear => self.day_of_year = Some(number),
                    Part::Hour if number > 23 => return Err(Reason::Time),
                    Part::HourOfTwelve if !(1..=12).contains(&number) => return Err(Reason::HourOfTwelve),
                    Part::Hour | Part::HourOfTwelve => self.hour = number,
                    Part::Minute | Part::Second if number > 59 => return Err(Reason::Time),
                    Part::Minute => self.minute = number,
                    Part::Second => self.second = number,
                }
            }
            Item::MonthName => self.month = Some(name(reader, &MONTHS, Expected::MonthName)? as u32 + 1),
            Item::WeekdayName => self.weekday = Some(name(reader, &WEEKDAYS, Expected::WeekdayName)? as i32),
            Item::Meridiem => {
                let half = reader.take(|byte| matches!(byte, b'a' | b'A' | b'p' | b'P'));
                let half = half.ok_or_else(|| reader.missing(Expected::Meridiem))?;
                reader.take(|byte| matches!(byte, b'm' | b'M')).ok_or_else(|| reader.missing(Expected::Meridiem))?;
                self.is_afternoon = Some(matches!(half, b'p' | b'P'));
            }
            Item::Fraction => {
                let digits = reader.digits();
                if digits.is_empty() || digits.len() > 9 {
                    return Err(if digits.is_empty() { reader.missing(Expected::Digit) } else { Reason::Fraction });
                }
                self.micros = rounded(digits.iter().copied(), 6) as i64;
            }
            Item::Offset => self.offset = zone_offset(reader, 2)?,
            Item::Utc => utc(reader)?,
            Item::Epoch { micros } => {
                self.is_negative = reader.take(|byte| byte == b'-').is_some();
                let digits = reader.digits();
                if digits.is_empty() {
                    return Err(reader.missing(Expected::Digit));
                }
                let number = digits
                    .iter()
                    .try_fold(0_i64, |number, digit| number.checked_mul(10)?.checked_add(i64::from(digit - b'0')));
                let number = number.and_then(|number| number.checked_mul(micros)).ok_or(Reason::Year)?;
                self.epoch = Some(if self.is_negative { -number } else { number });
            }
        }
        Ok(())
    }

    /// Days since 1970-01-01.
    fn days(&self) -> Result<i32, Reason> {
        if self.year == 0 {
            return Err(Reason::Year);
        }
        let month = self.month.unwrap_or(1);
        if !(1..=12).contains(&month) {
            return Err(Reason::Month);
        }
        let day = self.day.unwrap_or(1);
        if !(1..=days_of_month(self.year, month)).contains(&day) {
            return Err(Reason::Day);
        }
        let mut days = days_from_civil(self.year as i32, month, day);
        if let Some(day_of_year) = self.day_of_year {
            if !(1..=337 + days_of_month(self.year, 2)).contains(&day_of_year) {
                return Err(Reason::DayOfYear);
            }
            days += day_of_year as i32 - 1;
        }
        // 1970-01-01 was a Thursday.
        if self.weekday.is_some_and(|weekday| weekday != (days + 3).rem_euclid(7)) {
            return Err(Reason::Weekday);
        }
        Ok(days)
    }

    /// Microseconds since midnight, perhaps rounded up to those of a day.
    pub(super) fn time(&self) -> i64 {
        let hour = match self.is_afternoon {
            None => self.hour,
            Some(is_afternoon) => self.hour % 12 + if is_afternoon { 12 } else { 0 },
        };
        i64::from(hour * 3600 + self.minute * 60 + self.second) * 1_000_000 + self.micros
    }

    /// Microseconds since 1970-01-01 00:00:00, in UTC if there was an offset; perhaps out of range.
    pub(super) fn timestamp(&self) -> Result<i64, Reason> {
        match self.epoch {
            Some(epoch) if self.is_negative => epoch.checked_sub(self.micros).ok_or(Reason::Year),
            Some(epoch) => epoch.checked_add(self.micros).ok_or(Reason::Year),
            None => Ok(i64::from(self.days()?) * MICROSECONDS_PER_DAY + self.time() - self.offset * 1_000_000),
        }
    }
}

/// Takes one of the names, or its first three letters, in any case; returns which.
fn name(reader: &mut Reader<'_>, names: &[&str], expected: Expected) -> Result<usize, Reason> {
    // Makes letters small; no other byte becomes a letter by it.
    let start = reader.rest.first_chunk::<3>().map(|start| start.map(|byte| byte | 0x20));
    let found = start.and_then(|start| names.iter().position(|name| name.as_bytes().first_chunk() == Some(&start)));
    let index = found.ok_or_else(|| reader.missing(expected))?;
    let whole = names[index];
    let is_whole = reader.rest.get(..whole.len()).is_some_and(|found| found.eq_ignore_ascii_case(whole.as_bytes()));
    reader.rest = &reader.rest[if is_whole { whole.len() } else { 3 }..];
    Ok(index)
}

/// Takes a name of UTC.
fn utc(reader: &mut Reader<'_>) -> Result<(), Reason> {
    for name in ["UTC", "GMT", "Z"] {
        if reader.rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes())) {
            reader.rest = &reader.rest[name.len()..];
            return Ok(());
        }
    }
    Err(reader.missing(Expected::Utc))
}
