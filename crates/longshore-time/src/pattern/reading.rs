//! `to_date` and `to_timestamp`: texts whose fields a pattern names.

use super::keywords::{Calendar, Key};
use super::nodes::{Field, Node, is_separator, parse};
use crate::calendar::{
    DAYS, EPOCH_JULIAN, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTHS, civil, date,
    days_of, days_of_month, is_leap, iso_year_start, timestamp,
};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::moment::to_utc;
use crate::settings::Settings;

/// Months in Roman numbers, so that none stands behind one that it begins with.
const ROMANS: [&str; 12] = ["xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"];
/// Hours of an offset, at most.
const ZONE_HOURS_MAX: i64 = 15;

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
    match fields.west {
        Some(west) => timestamp(local + i128::from(west) * i128::from(MICROS_PER_SECOND)),
        None => to_utc(&settings.zone, timestamp(local)?),
    }
}

fn read(text: &str, pattern: &str) -> Result<Fields> {
    let nodes = parse(pattern);
    let said =
        Reader { rest: text, skipped: 0, last_skipped: None, is_exact: false, said: Said::default() }.read(&nodes)?;
    fields(said, text)
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
        let width = keyword.len();
        macro_rules! int {
            ($field:ident, $width:expr) => {{
                let (value, length) = self.int($width, is_open, keyword)?;
                set(&mut self.said.$field, value, keyword)?;
                length
            }};
        }
        match key {
            Key::Exact => self.is_exact = true,
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
            Key::HalfHour => {
                int!(hour, 2);
                self.said.is_half_day = true;
            }
            Key::Hour => {
                int!(hour, 2);
            }
            Key::Minute => {
                int!(minute, width);
            }
            Key::Second => {
                int!(second, width);
            }
            Key::Milli => {
                let length = int!(millis, 3);
                self.said.millis *= 10_i64.pow(3_u32.saturating_sub(length as u32).min(2));
            }
            Key::Fraction(_) | Key::Micro => {
                let digits = if let Key::Fraction(digits) = key { digits.into() } else { 6 };
                let length = int!(micros, digits);
                self.said.micros *= 10_i64.pow(6_u32.saturating_sub(length as u32).min(5));
            }
            Key::SecondOfDay => {
                int!(second_of_day, width);
            }
            Key::Zone | Key::Offset => {
                return Err(TimeError::unsupported(format!(
                    "formatting field \"{keyword}\" is only supported in to_char"
                )));
            }
            Key::ZoneHour => {
                self.said.zone_sign = match self.rest.chars().next() {
                    Some(sign @ ('+' | '-' | ' ')) => {
                        self.skip_char();
                        if sign == '-' { -1 } else { 1 }
                    }
                    // The minus may have been taken for a separator.
                    _ if self.skipped > 0 && self.last_skipped == Some('-') => -1,
                    _ => 1,
                };
                int!(zone_hours, 2);
            }
            Key::ZoneMinute => {
                if self.said.zone_sign == 0 {
                    self.said.zone_sign = 1;
                }
                int!(zone_minutes, 2);
            }
            Key::MonthName | Key::MonthShort => {
                let names = MONTHS.map(|name| if key == Key::MonthName { name } else { &name[..3] });
                let value = self.word(&names, keyword)?;
                set(&mut self.said.month, value + 1, keyword)?;
            }
            Key::Month => {
                int!(month, width);
            }
            Key::DayName | Key::DayShort => {
                let names = DAYS.map(|name| if key == Key::DayName { name } else { &name[..3] });
                let value = self.word(&names, keyword)?;
                set(&mut self.said.day_of_week, value, keyword)?;
                self.said.day_of_week += 1;
            }
            Key::DayOfYear | Key::IsoDayOfYear => {
                int!(day_of_year, 3);
            }
            Key::Day => {
                int!(day, width);
            }
            Key::DayOfWeek => {
                int!(day_of_week, width);
            }
            Key::IsoDayOfWeek => {
                int!(day_of_week, 1);
                // Sunday is the first.
                self.said.day_of_week = if self.said.day_of_week >= 7 { 1 } else { self.said.day_of_week + 1 };
            }
            Key::Week | Key::IsoWeek => {
                int!(week, width);
            }
            Key::Quarter => {
                self.int(width, is_open, keyword)?;
            }
            Key::Century => {
                int!(century, width);
            }
            Key::YearInThousands => self.year_in_thousands(keyword)?,
            Key::Year(digits) | Key::IsoYear(digits) => {
                let length = int!(year, width);
                if digits < 4 && length < 4 {
                    self.said.year = near_2020(self.said.year);
                }
                self.said.year_digits = digits;
            }
            Key::Roman => {
                let value = self.word(&ROMANS, keyword)?;
                set(&mut self.said.month, 12 - value, keyword)?;
            }
            Key::WeekOfMonth => {
                int!(week_of_month, width);
            }
            Key::Julian => {
                int!(julian, width);
            }
        }
        if field.ordinal.is_some() && key.is_number() {
            // The ending has two letters.
            self.skip_char();
            self.skip_char();
        }
        Ok(())
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
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// The date and the time that the fields make.
fn fields(said: Said, text: &str) -> Result<Fields> {
    let out_of_range =
        || TimeError::new(TimeErrorKind::OutOfRange, format!("date/time field value out of range: \"{text}\""));
    let (hour, minute, second) = time(&said)?;
    let mut date = Date { year: 0, month: 1, day: 1, has_year: false, has_month: false, has_day: false };
    date.set_year(&said);
    date.set_day(&said)?;
    let is_month = (1..=12).contains(&date.month);
    let is_wrong = date.has_month && !is_month
        || date.has_day && !(1..=31).contains(&date.day)
        || date.has_year
            && date.has_month
            && date.has_day
            && is_month
            && date.day > days_of_month(date.year, date.month);
    let micros = said.millis * 1000 + said.micros;
    let is_time = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..MICROS_PER_SECOND).contains(&micros);
    if is_wrong || !is_time {
        return Err(out_of_range());
    }
    let west = if said.zone_sign == 0 {
        None
    } else {
        if !(0..=ZONE_HOURS_MAX).contains(&said.zone_hours) || !(0..60).contains(&said.zone_minutes) {
            return Err(TimeError::new(
                TimeErrorKind::ZoneDisplacement,
                format!("time zone displacement out of range: \"{text}\""),
            ));
        }
        Some(-said.zone_sign * (said.zone_hours * 3600 + said.zone_minutes * 60))
    };
    Ok(Fields { year: date.year, month: date.month, day: date.day, hour, minute, second, micros, west })
}

fn time(said: &Said) -> Result<(i64, i64, i64)> {
    let of_day = said.second_of_day;
    let or = |value: i64, other: i64| if value == 0 { other } else { value };
    let mut hour = or(said.hour, of_day / 3600);
    if said.is_half_day {
        if !(1..=12).contains(&hour) {
            return Err(invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        hour = hour % 12 + 12 * said.is_afternoon;
    }
    Ok((hour, or(said.minute, of_day / 60 % 60), or(said.second, of_day % 60)))
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
    has_year: bool,
    has_month: bool,
    has_day: bool,
}

impl Date {
    fn set(&mut self, days: i64) {
        (self.year, self.month, self.day) = civil(days);
        (self.has_year, self.has_month, self.has_day) = (true, true, true);
    }

    fn set_year(&mut self, said: &Said) {
        let is_before_christ = said.is_before_christ != 0;
        let century = if is_before_christ { -said.century } else { said.century };
        if said.year != 0 && said.century != 0 && said.year_digits <= 2 {
            // The digits of the year within the century, of which the first has the year 1.
            let year = said.year % 100;
            self.year = match (year, century >= 0) {
                (0, true) => century * 100,
                (0, false) => century * 100 + 1,
                (year, true) => year + (century - 1) * 100,
                (year, false) => (century + 1) * 100 - year + 1,
            };
        } else if said.year != 0 {
            self.year = if is_before_christ { -said.year } else { said.year };
            // There is no year 0.
            if self.year < 0 {
                self.year += 1;
            }
        } else if said.century != 0 {
            self.year = if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 };
        } else {
            return;
        }
        self.has_year = true;
    }

    fn set_day(&mut self, said: &Said) -> Result<()> {
        let mut day_of_year = said.day_of_year;
        if said.julian != 0 {
            self.set(said.julian - EPOCH_JULIAN);
        }
        let is_iso = said.calendar == Some(Calendar::IsoWeek);
        if said.week != 0 {
            if is_iso {
                let monday = iso_year_start(self.year) + (said.week - 1) * 7;
                let day = match said.day_of_week {
                    0 => 0,
                    1 => 6,
                    day => day - 2,
                };
                self.set(monday + day);
            } else {
                day_of_year = (said.week - 1) * 7 + 1;
            }
        }
        let day = if said.week_of_month != 0 { (said.week_of_month - 1) * 7 + 1 } else { said.day };
        if day != 0 {
            (self.day, self.has_day) = (day, true);
        }
        if said.month != 0 {
            (self.month, self.has_month) = (said.month, true);
        }
        if day_of_year != 0 && (self.month <= 1 || self.day <= 1) {
            if self.year == 0 && said.is_before_christ == 0 {
                return Err(invalid("cannot calculate day of year without year information"));
            }
            if is_iso {
                self.set(iso_year_start(self.year) + day_of_year - 1);
                return Ok(());
            }
            let (_, month, day) = civil(days_of(self.year, 1, 1) + day_of_year - 1);
            let is_beyond = day_of_year > 365 + i64::from(is_leap(self.year));
            if self.month <= 1 {
                self.month = if is_beyond { 13 } else { month };
            }
            if self.day <= 1 {
                self.day = if is_beyond { 32 } else { day };
            }
            (self.has_month, self.has_day) = (true, true);
        }
        Ok(())
    }
}
