//! `to_date` and `to_timestamp`: texts whose fields a pattern names. What the fields make together, `dates` says.

mod dates;

use longshore_value::times;

use super::keywords::{Calendar, Key};
use super::nodes::{Field, Node, is_separator, parse};
use crate::calendar::{
    DAYS, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTHS, date, days_of, timestamp,
};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::moment::to_utc;
use crate::settings::Settings;

/// Months in Roman numbers, so that none stands behind one that it begins with.
const ROMANS: [&str; 12] = ["xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"];

fn invalid(message: impl Into<String>) -> TimeError {
    TimeError::new(TimeErrorKind::InvalidFormat, message)
}

/// What the fields of a text say; 0 where they say nothing.
#[derive(Debug, Default)]
struct Said {
    calendar: Option<Calendar>,
    hour: i64,
    is_half_day: bool,
    is_afternoon: i64,
    minute: i64,
    second: i64,
    second_of_day: i64,
    day_of_week: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    millis: i64,
    year: i64,
    /// Digits that its keyword has.
    year_digits: u8,
    is_before_christ: i64,
    week: i64,
    week_of_month: i64,
    century: i64,
    julian: i64,
    micros: i64,
    /// Digits of fractions of a second that the text is rounded to.
    digits: Option<u8>,
    zone_sign: i64,
    zone_hours: i64,
    zone_minutes: i64,
}

/// A date and a time as fields.
#[derive(Debug)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Digits of fractions of a second that are kept.
    digits: u8,
    /// Seconds west of UTC.
    west: Option<i64>,
}

/// `to_date(text, pattern)`.
///
/// # Errors
///
/// Texts that do not fit the pattern, and dates that do not exist.
pub fn to_date(text: &str, pattern: &str) -> Result<i32> {
    let fields = read(text, pattern)?;
    let out_of_range = |error: TimeError| error.about(format!("date out of range: \"{text}\""));
    date(days_of(fields.year, fields.month, fields.day)).map_err(out_of_range)
}

/// `to_timestamp(text, pattern)`, which is in the session's zone unless the text has one.
///
/// # Errors
///
/// Texts that do not fit the pattern, and timestamps that do not exist.
pub fn to_timestamp(text: &str, pattern: &str, settings: &Settings) -> Result<i64> {
    let fields = read(text, pattern)?;
    let time = fields.hour * MICROS_PER_HOUR
        + fields.minute * MICROS_PER_MINUTE
        + fields.second * MICROS_PER_SECOND
        + fields.micros;
    let days = days_of(fields.year, fields.month, fields.day);
    let local = i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(time);
    let moment = match fields.west {
        Some(west) => timestamp(local + i128::from(west) * i128::from(MICROS_PER_SECOND))?,
        None => to_utc(&settings.zone, timestamp(local)?)?,
    };
    times::rounded_timestamp(moment, fields.digits).ok_or_else(|| TimeError::out_of_range("timestamp"))
}

fn read(text: &str, pattern: &str) -> Result<Fields> {
    let nodes = parse(pattern);
    let said =
        Reader { rest: text, skipped: 0, last_skipped: None, is_exact: false, said: Said::default() }.read(&nodes)?;
    dates::fields(&said, text)
}

struct Reader<'a> {
    rest: &'a str,
    /// Characters that were skipped beyond those of the pattern.
    skipped: i64,
    /// The character in front of the rest, where it was skipped.
    last_skipped: Option<char>,
    /// Whether every character counts.
    is_exact: bool,
    said: Said,
}

impl Reader<'_> {
    fn skip_char(&mut self) {
        let mut chars = self.rest.chars();
        self.last_skipped = chars.next();
        self.rest = chars.as_str();
    }

    fn skip_spaces(&mut self) {
        while self.rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.skip_char();
            self.skipped += 1;
        }
    }

    fn read(mut self, nodes: &[Node]) -> Result<Said> {
        for (at, node) in nodes.iter().enumerate() {
            if self.rest.is_empty() {
                break;
            }
            let is_field = matches!(node, Node::Field(_));
            let is_exact_key = matches!(node, Node::Field(Field { key: Key::Exact, .. }));
            if !self.is_exact && !is_exact_key && (is_field || at == 0) {
                self.skip_spaces();
            }
            match node {
                Node::Space(_) | Node::Separator(_) if !self.is_exact => {
                    self.skipped -= 1;
                    if self.rest.starts_with(|c: char| c.is_ascii_whitespace() || is_separator(c)) {
                        self.skip_char();
                        self.skipped += 1;
                    }
                }
                Node::Text(_) if !self.is_exact && self.skipped > 0 => self.skipped -= 1,
                Node::Space(_) | Node::Separator(_) | Node::Text(_) => self.skip_char(),
                Node::Field(field) => {
                    let next = nodes.get(at + 1);
                    // What follows tells where the digits end.
                    let is_open = field.is_bare
                        || field.ordinal.is_some()
                        || match next {
                            None => true,
                            Some(Node::Field(next)) => !next.key.is_digits(),
                            Some(Node::Space(c) | Node::Separator(c) | Node::Text(c)) => !c.is_ascii_digit(),
                        };
                    self.field(field, is_open)?;
                    if !self.is_exact {
                        self.skipped = 0;
                        self.skip_spaces();
                    }
                }
            }
        }
        Ok(self.said)
    }

    fn field(&mut self, field: &Field, is_open: bool) -> Result<()> {
        let Field { keyword, key, .. } = *field;
        if let Some(calendar) = key.calendar() {
            if self.said.calendar.is_some_and(|other| other != calendar) {
                return Err(invalid("invalid combination of date conventions")
                    .with_hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
            }
            self.said.calendar = Some(calendar);
        }
        match key {
            Key::Exact => self.is_exact = true,
            Key::Zone | Key::Offset => {
                return Err(TimeError::unsupported(format!(
                    "formatting field \"{keyword}\" is only supported in to_char"
                )));
            }
            Key::Meridiem | Key::Era | Key::MonthName | Key::MonthShort | Key::Roman | Key::DayName | Key::DayShort => {
                self.name(key, keyword)?;
            }
            Key::YearInThousands => self.year_in_thousands(keyword)?,
            _ => self.number(key, keyword, is_open)?,
        }
        if field.ordinal.is_some() && key.is_number() {
            // The ending has two letters.
            self.skip_char();
            self.skip_char();
        }
        Ok(())
    }

    /// Reads a field that is one of some words.
    fn name(&mut self, key: Key, keyword: &str) -> Result<()> {
        match key {
            Key::Meridiem => {
                let words = if keyword.contains('.') { ["a.m.", "p.m."] } else { ["am", "pm"] };
                let value = self.word(&words, keyword)?;
                set(&mut self.said.is_afternoon, value, keyword)?;
                self.said.is_half_day = true;
            }
            Key::Era => {
                let words = if keyword.contains('.') { ["a.d.", "b.c."] } else { ["ad", "bc"] };
                let value = self.word(&words, keyword)?;
                set(&mut self.said.is_before_christ, value, keyword)?;
            }
            Key::MonthName | Key::MonthShort => {
                let names = MONTHS.map(|name| if key == Key::MonthName { name } else { &name[..3] });
                let value = self.word(&names, keyword)?;
                set(&mut self.said.month, value + 1, keyword)?;
            }
            Key::Roman => {
                let value = self.word(&ROMANS, keyword)?;
                set(&mut self.said.month, 12 - value, keyword)?;
            }
            Key::DayName | Key::DayShort => {
                let names = DAYS.map(|name| if key == Key::DayName { name } else { &name[..3] });
                let value = self.word(&names, keyword)?;
                set(&mut self.said.day_of_week, value, keyword)?;
                self.said.day_of_week += 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a field that is a number.
    fn number(&mut self, key: Key, keyword: &str, is_open: bool) -> Result<()> {
        match key {
            Key::ZoneHour => self.said.zone_sign = self.zone_sign(),
            Key::ZoneMinute if self.said.zone_sign == 0 => self.said.zone_sign = 1,
            _ => {}
        }
        let (value, length) = self.int(width(key, keyword), is_open, keyword)?;
        let length = length as u32;
        let said = &mut self.said;
        let set = |place: &mut i64| set(place, value, keyword);
        match key {
            Key::HalfHour => {
                set(&mut said.hour)?;
                said.is_half_day = true;
            }
            Key::Hour => set(&mut said.hour)?,
            Key::Minute => set(&mut said.minute)?,
            Key::Second => set(&mut said.second)?,
            Key::Milli => {
                set(&mut said.millis)?;
                said.millis *= 10_i64.pow(3_u32.saturating_sub(length).min(2));
            }
            Key::Fraction(_) | Key::Micro => {
                if let Key::Fraction(digits) = key {
                    said.digits = Some(digits);
                }
                set(&mut said.micros)?;
                said.micros *= 10_i64.pow(6_u32.saturating_sub(length).min(5));
            }
            Key::SecondOfDay => set(&mut said.second_of_day)?,
            Key::ZoneHour => set(&mut said.zone_hours)?,
            Key::ZoneMinute => set(&mut said.zone_minutes)?,
            Key::Month => set(&mut said.month)?,
            Key::DayOfYear | Key::IsoDayOfYear => set(&mut said.day_of_year)?,
            Key::Day => set(&mut said.day)?,
            Key::DayOfWeek => set(&mut said.day_of_week)?,
            Key::IsoDayOfWeek => {
                set(&mut said.day_of_week)?;
                // Sunday is the first.
                said.day_of_week = if said.day_of_week >= 7 { 1 } else { said.day_of_week + 1 };
            }
            Key::Week | Key::IsoWeek => set(&mut said.week)?,
            Key::WeekOfMonth => set(&mut said.week_of_month)?,
            Key::Century => set(&mut said.century)?,
            Key::Year(digits) | Key::IsoYear(digits) => {
                set(&mut said.year)?;
                if digits < 4 && length < 4 {
                    said.year = near_2020(said.year);
                }
                said.year_digits = digits;
            }
            Key::Julian => set(&mut said.julian)?,
            // A quarter says nothing.
            _ => {}
        }
        Ok(())
    }

    /// The sign of an offset, which it may do without.
    fn zone_sign(&mut self) -> i64 {
        match self.rest.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.skip_char();
                if sign == '-' { -1 } else { 1 }
            }
            // The minus may have been taken for a separator.
            _ if self.skipped > 0 && self.last_skipped == Some('-') => -1,
            _ => 1,
        }
    }

    /// Reads a number of `width` characters, or of as many digits as there are; returns how many characters it had.
    fn int(&mut self, width: usize, is_open: bool, keyword: &str) -> Result<(i64, usize)> {
        let before = self.rest.len();
        let trimmed = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let copy: String = trimmed.chars().take(width).collect();
        let number = |text: &str| {
            let sign = usize::from(text.starts_with(['-', '+']));
            let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 { 0 } else { sign + digits }
        };
        let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let used = if is_open {
            number(trimmed)
        } else {
            if copy.chars().count() < width {
                return Err(
                    invalid(format!("source string too short for \"{keyword}\" formatting field")).with_hint(hint)
                );
            }
            let used = number(&copy);
            if used > 0 && used < width {
                return Err(invalid(format!("invalid value \"{copy}\" for \"{keyword}\"")).with_hint(hint));
            }
            used
        };
        if used == 0 {
            return Err(invalid(format!("invalid value \"{copy}\" for \"{keyword}\"")));
        }
        let value: Option<i32> = trimmed[..used].parse().ok();
        let value = value.ok_or_else(|| {
            TimeError::new(
                TimeErrorKind::OutOfRange,
                format!("value for \"{keyword}\" in source string is out of range"),
            )
        })?;
        self.rest = &trimmed[used..];
        Ok((value.into(), before - self.rest.len()))
    }

    /// Reads one of `words` in any case, and returns its number.
    fn word(&mut self, words: &[&str], keyword: &str) -> Result<i64> {
        let found = words
            .iter()
            .position(|word| self.rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        let Some(found) = found else {
            let shown = self.rest.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{keyword}\"")));
        };
        self.rest = &self.rest[words[found].len()..];
        Ok(found as i64)
    }

    fn year_in_thousands(&mut self, keyword: &str) -> Result<()> {
        let wrong = || invalid("invalid input string for \"Y,YYY\"");
        let text = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let (thousands, rest) = text.split_once(',').ok_or_else(wrong)?;
        let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let thousands: i32 = thousands.parse().map_err(|_| wrong())?;
        let years: i32 = rest[..digits].parse().map_err(|_| wrong())?;
        self.rest = &rest[digits..];
        set(&mut self.said.year, i64::from(years) + i64::from(thousands) * 1000, keyword)?;
        self.said.year_digits = 4;
        Ok(())
    }
}

/// Characters that a number has if nothing else tells where it ends.
fn width(key: Key, keyword: &str) -> usize {
    match key {
        Key::IsoDayOfWeek => 1,
        Key::HalfHour | Key::Hour | Key::ZoneHour | Key::ZoneMinute => 2,
        Key::Milli | Key::DayOfYear | Key::IsoDayOfYear => 3,
        Key::Fraction(digits) => digits.into(),
        Key::Micro => 6,
        _ => keyword.len(),
    }
}

/// Takes a field's value, which must not contradict an earlier one.
fn set(field: &mut i64, value: i64, keyword: &str) -> Result<()> {
    if *field != 0 && *field != value {
        return Err(invalid(format!("conflicting values for \"{keyword}\" field in formatting string")));
    }
    *field = value;
    Ok(())
}

/// A year of fewer than four digits is one near 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 | 100..520 => year + 2000,
        70..100 => year + 1900,
        520..1000 => year + 1000,
        _ => year,
    }
}
