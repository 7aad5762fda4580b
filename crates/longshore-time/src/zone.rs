//! Time zones: IANA names with their daylight saving, fixed offsets, and POSIX forms. Offsets count seconds east of UTC.
//!
//! The tables of `chrono-tz` end with the year 2100. For later years the rules go on as PostgreSQL lets them: a year
//! follows the rules of an earlier one that begins with the same day and is as long.
//! Not here: names of offsets, as `EST` (`abbreviations`), and forms as `EST5EDT,M3.2.0,M11.1.0` (`posix`).

pub mod abbreviations;
mod posix;

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz, TzOffset};

use crate::calendar::{civil, day_of_week, days_of, is_leap};
use posix::Posix;

const SECONDS_PER_DAY: i64 = 86_400;
/// From this year on, another one stands for a year.
const LATE_YEAR: i64 = 2093;
/// The years that stand for later ones: 28, so that each kind of year is among them.
const SAME_YEARS: std::ops::Range<i64> = 2065..2093;
/// The largest offset, a week.
const OFFSET_MAX: i64 = 167 * 3600;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Zone {
    name: Arc<str>,
    rules: Rules,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Rules {
    Fixed(i32),
    Named(Tz),
    Posix(Box<Posix>),
}

/// How a zone counts at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// Seconds east of UTC.
    pub east: i32,
    /// Whether it is daylight saving time.
    pub is_dst: bool,
    /// What it is called, as `CEST`, or `+03` where it has no name.
    pub abbreviation: String,
}

impl Default for Zone {
    fn default() -> Self {
        Self { name: "UTC".into(), rules: Rules::Fixed(0) }
    }
}

impl Zone {
    /// All zones that have names.
    pub fn all() -> impl Iterator<Item = Self> {
        TZ_VARIANTS.iter().map(|zone| Self { name: zone.name().into(), rules: Rules::Named(*zone) })
    }

    /// The zone of a name in any case, or of a POSIX form.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("UTC") {
            return Some(Self::default());
        }
        if let Some(zone) = TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)) {
            return Some(Self { name: zone.name().into(), rules: Rules::Named(*zone) });
        }
        let rules = Posix::parse(name)?;
        Some(Self { name: name.into(), rules: Rules::Posix(Box::new(rules)) })
    }

    /// The zone that `SET TimeZone` names: as [`Zone::named`], or hours east of UTC.
    #[must_use]
    pub fn of_setting(text: &str) -> Option<Self> {
        match text.trim().parse::<f64>() {
            Ok(hours) if hours.is_finite() && hours.abs() <= 168.0 => Self::fixed((hours * 3600.0) as i64),
            Ok(_) => None,
            Err(_) => Self::named(text),
        }
    }

    /// The zone so many seconds east of UTC, with the name that PostgreSQL gives it: `<-08>+08`.
    #[must_use]
    pub fn fixed(east: i64) -> Option<Self> {
        if east.abs() > OFFSET_MAX {
            return None;
        }
        let text = |sign: char| {
            let seconds = east.abs();
            let mut text = format!("{sign}{:02}", seconds / 3600);
            if seconds % 3600 != 0 {
                let _ = write!(text, ":{:02}", seconds / 60 % 60);
                if seconds % 60 != 0 {
                    let _ = write!(text, ":{:02}", seconds % 60);
                }
            }
            text
        };
        let (sign, reverse) = if east >= 0 { ('+', '-') } else { ('-', '+') };
        let name = format!("<{}>{}", text(sign), text(reverse));
        Some(Self { name: name.into(), rules: Rules::Fixed(east as i32) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offset that it always has, if it has one.
    #[must_use]
    pub fn fixed_offset(&self) -> Option<i32> {
        match &self.rules {
            Rules::Fixed(east) => Some(*east),
            Rules::Named(Tz::UTC | Tz::Etc__UTC | Tz::GMT | Tz::Etc__GMT | Tz::Zulu | Tz::Etc__Zulu) => Some(0),
            // What does not change between winter and summer, and has not since 1970.
            Rules::Named(tz) => {
                let first = at(*tz, 0).east;
                (0..90 * 2).all(|half| at(*tz, half * 182 * SECONDS_PER_DAY).east == first).then_some(first)
            }
            Rules::Posix(rules) => rules.fixed_offset(),
        }
    }

    /// The offset at so many seconds since 1970-01-01 UTC.
    #[must_use]
    pub fn offset(&self, seconds: i64) -> i32 {
        match &self.rules {
            Rules::Fixed(east) => *east,
            Rules::Named(tz) => at(*tz, seconds).east,
            Rules::Posix(rules) => rules.at(seconds).0,
        }
    }

    /// How it counts at so many seconds since 1970-01-01 UTC.
    #[must_use]
    pub fn local(&self, seconds: i64) -> LocalTime {
        match &self.rules {
            Rules::Fixed(east) => {
                let own = self.name.strip_prefix('<').and_then(|name| name.split('>').next());
                LocalTime { east: *east, is_dst: false, abbreviation: own.unwrap_or(&self.name).to_owned() }
            }
            Rules::Named(tz) => {
                let found = at(*tz, seconds);
                LocalTime { east: found.east, is_dst: found.is_dst, abbreviation: found.abbreviation() }
            }
            Rules::Posix(rules) => {
                let (east, is_dst) = rules.at(seconds);
                LocalTime { east, is_dst, abbreviation: rules.abbreviation(is_dst).to_owned() }
            }
        }
    }

    /// The offset at so many seconds since 1970-01-01 of its own clock. A time that does not exist is read as before the
    /// clock was put forward; one that exists twice as after it was put back.
    #[must_use]
    pub fn offset_of_local(&self, seconds: i64) -> i32 {
        if let Rules::Fixed(east) = self.rules {
            return east;
        }
        let before = self.offset(seconds - SECONDS_PER_DAY);
        let after = self.offset(seconds + SECONDS_PER_DAY);
        if before == after {
            return before;
        }
        let is_at = |east: i32| self.offset(seconds - i64::from(east)) == east;
        if is_at(after) { after } else { before }
    }

    /// The offset that `abbreviation` means in this zone around some moment of its own clock: the nearest one before it, or
    /// else after it, that has this name.
    fn offset_of_abbreviation(&self, abbreviation: &str, local_seconds: i64) -> i32 {
        let moment = local_seconds - i64::from(self.offset_of_local(local_seconds));
        let has = |seconds: i64| {
            let found = self.local(seconds);
            found.abbreviation.eq_ignore_ascii_case(abbreviation).then_some(found.east)
        };
        let step = 30 * SECONDS_PER_DAY;
        has(moment)
            .or_else(|| (1..1800).find_map(|back| has(moment - back * step)))
            .or_else(|| (1..1800).find_map(|on| has(moment + on * step)))
            .unwrap_or_else(|| self.offset_of_local(local_seconds))
    }
}

/// Spans of years: the first and the last of each.
type Years = &'static [(i64, i64)];

/// Zones that are rules and no places: their standard offset, its name, and the spans of years in which they have rules.
/// The database of 2024 made names of places of them; PostgreSQL's still has the rules.
const WITHOUT_PLACE: [(Tz, i32, &str, Years); 11] = [
    (Tz::EST, -5, "EST", &[]),
    (Tz::MST, -7, "MST", &[]),
    (Tz::HST, -10, "HST", &[]),
    (Tz::EST5EDT, -5, "EST", &AMERICAN),
    (Tz::CST6CDT, -6, "CST", &AMERICAN),
    (Tz::MST7MDT, -7, "MST", &AMERICAN),
    (Tz::PST8PDT, -8, "PST", &AMERICAN),
    (Tz::WET, 0, "WET", &[(1977, i64::MAX)]),
    (Tz::EET, 2, "EET", &[(1977, i64::MAX)]),
    (Tz::CET, 1, "CET", &EUROPEAN),
    (Tz::MET, 1, "MET", &EUROPEAN),
];
const AMERICAN: [(i64, i64); 3] = [(1918, 1919), (1942, 1945), (1967, i64::MAX)];
const EUROPEAN: [(i64, i64); 3] = [(1916, 1918), (1940, 1945), (1977, i64::MAX)];

/// How a zone of the database counts.
fn at(tz: Tz, seconds: i64) -> Span {
    let year = civil(seconds.div_euclid(SECONDS_PER_DAY)).0;
    if let Some((_, hours, name, years)) = WITHOUT_PLACE.iter().find(|(other, ..)| *other == tz)
        && !years.iter().any(|(first, last)| (*first..=*last).contains(&year))
    {
        return Span { east: hours * 3600, is_dst: false, name: Name::Known(name) };
    }
    let seconds = if year < LATE_YEAR {
        seconds
    } else {
        let start = |year| days_of(year, 1, 1);
        let is_alike =
            |other: &i64| is_leap(*other) == is_leap(year) && day_of_week(start(*other)) == day_of_week(start(year));
        let other = SAME_YEARS.clone().find(is_alike).unwrap_or(SAME_YEARS.start);
        seconds - (start(year) - start(other)) * SECONDS_PER_DAY
    };
    let moment = DateTime::from_timestamp(seconds, 0).unwrap_or_default().naive_utc();
    let found = tz.offset_from_utc_datetime(&moment);
    Span { east: found.fix().local_minus_utc(), is_dst: !found.dst_offset().is_zero(), name: Name::Of(found) }
}

/// How a zone of the database counts at some moment.
struct Span {
    east: i32,
    is_dst: bool,
    name: Name,
}

enum Name {
    Known(&'static str),
    Of(TzOffset),
}

impl Span {
    fn abbreviation(&self) -> String {
        match &self.name {
            Name::Known(name) => (*name).to_owned(),
            Name::Of(offset) => offset.abbreviation().map_or_else(|| offset.to_string(), str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_offsets_for_ever() {
        let york = Zone::named("america/new_york").unwrap();
        assert_eq!(york.name(), "America/New_York");
        let at = |year, month| days_of(year, month, 1) * SECONDS_PER_DAY;
        for year in [1990, 2024, 2099, 2100, 3000, 290_000] {
            assert_eq!(york.offset(at(year, 7)), -4 * 3600, "{year}");
            assert_eq!(york.offset(at(year, 1)), -5 * 3600, "{year}");
        }
        // Before there were zones, mean time.
        assert_eq!(york.offset(at(1000, 1)), -(4 * 3600 + 56 * 60 + 2));
        assert_eq!(york.local(at(2024, 7)).abbreviation, "EDT");
    }

    #[test]
    fn times_around_a_change_are_read_as_in_postgresql() {
        let york = Zone::named("America/New_York").unwrap();
        let local = |month, day, hour: i64| days_of(2024, month, day) * SECONDS_PER_DAY + hour * 3600 + 1800;
        assert_eq!(york.offset_of_local(local(3, 10, 1)), -5 * 3600);
        assert_eq!(york.offset_of_local(local(3, 10, 2)), -5 * 3600);
        assert_eq!(york.offset_of_local(local(3, 10, 3)), -4 * 3600);
        assert_eq!(york.offset_of_local(local(11, 3, 0)), -4 * 3600);
        assert_eq!(york.offset_of_local(local(11, 3, 1)), -5 * 3600);
    }

    #[test]
    fn settings_name_zones() {
        for (text, name) in [
            ("-8", "<-08>+08"),
            ("5.5", "<+05:30>-05:30"),
            ("utc", "UTC"),
            ("FOO+2BAR", "FOO+2BAR"),
            ("+02", "<+02>-02"),
        ] {
            assert_eq!(Zone::of_setting(text).map(|zone| zone.name().to_owned()).as_deref(), Some(name));
        }
        for text in ["", "nonsense", "BST", "999"] {
            assert_eq!(Zone::of_setting(text), None, "{text}");
        }
        assert_eq!(Zone::named("+02").unwrap().fixed_offset(), Some(-7200));
    }
}
