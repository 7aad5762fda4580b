//! Time zones in the form of POSIX: `EST5EDT,M3.2.0,M11.1.0`, with or without rules. Offsets there count west of UTC.

use crate::calendar::{civil, day_of_week, days_of, days_of_month};

const SECONDS_PER_DAY: i64 = 86_400;
/// When the clock is changed where the form does not say it.
const CHANGE: i64 = 2 * 3600;

/// Such a zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Posix {
    standard: String,
    east: i32,
    summer: Option<Summer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Summer {
    name: String,
    east: i32,
    start: Change,
    end: Change,
}

/// A day of the year and a time of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Change {
    day: Day,
    seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Day {
    /// From 1, and 29 February is not counted.
    WithoutLeap(i64),
    /// From 0.
    OfYear(i64),
    /// A day of the week in a week of a month; 5 is the last one.
    Weekday { month: i64, week: i64, weekday: i64 },
}

impl Posix {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !text.is_ascii() || text.is_empty() {
            return None;
        }
        let mut rest = text;
        let standard = name(&mut rest)?;
        let east = -(offset(&mut rest)?);
        if rest.is_empty() {
            return Some(Self { standard, east: east as i32, summer: None });
        }
        let summer_name = name(&mut rest).filter(|name| !name.is_empty())?;
        let summer_east = if rest.is_empty() || rest.starts_with(',') { east + 3600 } else { -(offset(&mut rest)?) };
        let (start, end) = if rest.is_empty() {
            // What PostgreSQL takes for usual, the rules of the United States.
            (Change::parse("M3.2.0")?, Change::parse("M11.1.0")?)
        } else {
            let (start, end) = rest.strip_prefix(',')?.split_once(',')?;
            (Change::parse(start)?, Change::parse(end)?)
        };
        let summer = Summer { name: summer_name, east: summer_east as i32, start, end };
        Some(Self { standard, east: east as i32, summer: Some(summer) })
    }

    pub(super) fn fixed_offset(&self) -> Option<i32> {
        self.summer.is_none().then_some(self.east)
    }

    pub(super) fn abbreviation(&self, is_dst: bool) -> &str {
        match &self.summer {
            Some(summer) if is_dst => &summer.name,
            _ => &self.standard,
        }
    }

    /// The offset, and whether it is daylight saving time.
    pub(super) fn at(&self, seconds: i64) -> (i32, bool) {
        let Some(summer) = &self.summer else { return (self.east, false) };
        let year = civil((seconds + i64::from(self.east)).div_euclid(SECONDS_PER_DAY)).0;
        let start = summer.start.of(year) - i64::from(self.east);
        let end = summer.end.of(year) - i64::from(summer.east);
        let is_dst = if start < end { (start..end).contains(&seconds) } else { !(end..start).contains(&seconds) };
        if is_dst { (summer.east, true) } else { (self.east, false) }
    }
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('/').map_or((text, None), |(day, time)| (day, Some(time)));
        let day = if let Some(rest) = day.strip_prefix('M') {
            let parts: Vec<i64> = rest.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
            let [month @ 1..=12, week @ 1..=5, weekday @ 0..=6] = parts[..] else { return None };
            Day::Weekday { month, week, weekday }
        } else if let Some(rest) = day.strip_prefix('J') {
            Day::WithoutLeap(rest.parse().ok().filter(|day| (1..=365).contains(day))?)
        } else {
            Day::OfYear(day.parse().ok().filter(|day| (0..=365).contains(day))?)
        };
        let seconds = match time {
            Some(mut time) => {
                let seconds = offset(&mut time)?;
                time.is_empty().then_some(seconds)?
            }
            None => CHANGE,
        };
        Some(Self { day, seconds })
    }

    /// Seconds of the clock since 1970-01-01 at which it happens in a year.
    fn of(self, year: i64) -> i64 {
        let day = match self.day {
            Day::OfYear(day) => days_of(year, 1, 1) + day,
            Day::WithoutLeap(day) => {
                let is_behind = day >= 60 && days_of_month(year, 2) == 29;
                days_of(year, 1, 1) + day - 1 + i64::from(is_behind)
            }
            Day::Weekday { month, week, weekday } => {
                let first = days_of(year, month, 1);
                let day = (weekday - day_of_week(first)).rem_euclid(7) + 7 * (week - 1);
                first + if day >= days_of_month(year, month) { day - 7 } else { day }
            }
        };
        day * SECONDS_PER_DAY + self.seconds
    }
}

/// Takes a name off the front: what stands in `<>`, or letters.
fn name(rest: &mut &str) -> Option<String> {
    if let Some(inner) = rest.strip_prefix('<') {
        let (name, behind) = inner.split_once('>')?;
        *rest = behind;
        return Some(name.to_owned());
    }
    let end = rest.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+')).unwrap_or(rest.len());
    let (name, behind) = rest.split_at(end);
    *rest = behind;
    Some(name.to_owned())
}

/// Takes an offset off the front, in seconds.
fn offset(rest: &mut &str) -> Option<i64> {
    let is_negative = rest.starts_with('-');
    *rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len());
    let (text, behind) = rest.split_at(end);
    *rest = behind;
    let parts: Vec<i64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match parts[..] {
        [hours] => (hours, 0, 0),
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    if hours > 167 || minutes > 59 || seconds > 60 {
        return None;
    }
    let total = hours * 3600 + minutes * 60 + seconds;
    Some(if is_negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        let zone = Posix::parse("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |month, day, hour: i64| zone.at(days_of(2024, month, day) * SECONDS_PER_DAY + hour * 3600);
        assert_eq!(at(3, 31, 0), (3600, false));
        assert_eq!(at(3, 31, 1), (7200, true));
        assert_eq!(at(10, 27, 0), (7200, true));
        assert_eq!(at(10, 27, 1), (3600, false));
        assert_eq!(Posix::parse("<+03>-3").unwrap().fixed_offset(), Some(3 * 3600));
        assert_eq!(Posix::parse("FOO+2").unwrap().abbreviation(false), "FOO");
        for text in ["", "FOO", "FOO200", "FOO1BAR,M1", "é1"] {
            assert_eq!(Posix::parse(text), None, "{text}");
        }
    }
}
