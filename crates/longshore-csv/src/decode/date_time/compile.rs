//! Decides which patterns there are, and what each asks for.

use std::ops::RangeInclusive;

use super::fixed::Fixed;
use super::item::{Item, Part};
use super::{DateTimeFormatError, Kind};

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) items: Vec<Item>,
    pub(super) fixed: Option<Fixed>,
    /// How long a field can be that it reads.
    pub(super) lengths: RangeInclusive<usize>,
    parts: Parts,
}

/// What a pattern holds, each at most once.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "it is a set")]
struct Parts {
    year: bool,
    month: bool,
    day: bool,
    day_of_year: bool,
    hour: bool,
    hour_of_twelve: bool,
    meridiem: bool,
    minute: bool,
    second: bool,
    fraction: bool,
    zone: bool,
    epoch: bool,
}

const UNKNOWN: &str = "a % stands before none of Y y m b B d e j H I p M S f z Z a A s Q F T D R and %; write %% for the \
                       sign itself";
const NO_PRESET: &str = "neither a pattern, such as %d.%m.%Y, nor one of iso, us, eu, epoch, epoch_ms and epoch_us";

impl Pattern {
    /// Compiles a pattern.
    pub(super) fn new(text: &str) -> Result<Pattern, DateTimeFormatError> {
        let problem = |problem| DateTimeFormatError::new(text, problem);
        let mut items = Vec::new();
        read_items(text.as_bytes(), &mut items).map_err(problem)?;
        if items.iter().all(|item| matches!(item, Item::Literal(_))) {
            return Err(problem(NO_PRESET));
        }
        Pattern::of(items).map_err(problem)
    }

    /// The pattern of these items.
    pub(super) fn of(mut items: Vec<Item>) -> Result<Pattern, &'static str> {
        let mut parts = Parts::default();
        for item in &items {
            parts.add(*item)?;
        }
        parts.check()?;
        widen(&mut items);
        let fixed = Fixed::new(&items);
        let (least, most) = items
            .iter()
            .map(Item::lengths)
            .fold((0_usize, 0_usize), |(least, most), item| (least + item.start(), most.saturating_add(*item.end())));
        Ok(Pattern { items, fixed, lengths: least..=most, parts })
    }

    /// Why the pattern does not suit the kind.
    pub(super) fn misfit(&self, kind: Kind) -> Option<&'static str> {
        let parts = &self.parts;
        let dated = parts.year || parts.epoch;
        match kind {
            Kind::Time if dated => Some("has a date, which a TIME does not hold; use a TIMESTAMP column"),
            Kind::Time if !parts.hour => Some("has no hour (%H, or %I with %p)"),
            Kind::Date | Kind::Timestamp | Kind::TimestampTz if !dated => Some("has no year (%Y or %y)"),
            Kind::Date | Kind::Time if parts.zone => {
                Some("has a zone (%z or %Z), which the type does not hold; use a TIMESTAMP WITH TIME ZONE column")
            }
            Kind::Timestamp if parts.zone => {
                Some("has a zone (%z or %Z), which a TIMESTAMP does not hold; use TIMESTAMP WITH TIME ZONE")
            }
            _ => None,
        }
    }
}

/// Takes a pattern apart.
fn read_items(mut text: &[u8], items: &mut Vec<Item>) -> Result<(), &'static str> {
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        if byte != b'%' {
            items.push(Item::Literal(byte));
            continue;
        }
        // Other dialects of `strptime` want a sign for numbers that are not padded; here they need not be.
        text = text.strip_prefix(b"-").unwrap_or(text);
        let Some((&directive, rest)) = text.split_first() else { return Err(UNKNOWN) };
        text = rest;
        let digits = |part, max| Item::Digits { part, min: 1, max, padded: false };
        items.push(match directive {
            b'Y' => Item::Digits { part: Part::Year, min: 4, max: 4, padded: false },
            b'y' => Item::Digits { part: Part::YearOfCentury, min: 2, max: 2, padded: false },
            b'm' => digits(Part::Month, 2),
            b'd' => digits(Part::Day, 2),
            b'e' => Item::Digits { part: Part::Day, min: 1, max: 2, padded: true },
            b'j' => digits(Part::DayOfYear, 3),
            b'H' => digits(Part::Hour, 2),
            b'I' => digits(Part::HourOfTwelve, 2),
            b'M' => digits(Part::Minute, 2),
            b'S' => digits(Part::Second, 2),
            b'b' | b'B' | b'h' => Item::MonthName,
            b'a' | b'A' => Item::WeekdayName,
            b'p' => Item::Meridiem,
            b'f' => Item::Fraction,
            b'z' => Item::Offset,
            b'Z' => Item::Utc,
            b's' => Item::Epoch { micros: 1_000_000 },
            b'Q' => Item::Epoch { micros: 1_000 },
            b'%' => Item::Literal(b'%'),
            other => {
                let whole: &[u8] = match other {
                    b'F' => b"%Y-%m-%d",
                    b'T' => b"%H:%M:%S",
                    b'D' => b"%m/%d/%y",
                    b'R' => b"%H:%M",
                    _ => return Err(UNKNOWN),
                };
                read_items(whole, items)?;
                continue;
            }
        });
    }
    Ok(())
}

/// Numbers before digits have all their digits, or nobody knows where they end.
fn widen(items: &mut [Item]) {
    let starts_with_digit = |item: &Item| match item {
        Item::Literal(byte) => byte.is_ascii_digit(),
        Item::Digits { padded, .. } => !padded,
        Item::Fraction | Item::Epoch { .. } => true,
        _ => false,
    };
    for at in 1..items.len() {
        if starts_with_digit(&items[at])
            && let Item::Digits { min, max, .. } = &mut items[at - 1]
        {
            *min = *max;
        }
    }
}

impl Parts {
    fn add(&mut self, item: Item) -> Result<(), &'static str> {
        let (part, twice) = match item {
            Item::Literal(_) | Item::WeekdayName => return Ok(()),
            Item::Digits { part: Part::Year | Part::YearOfCentury, .. } => (&mut self.year, "has the year twice"),
            Item::MonthName | Item::Digits { part: Part::Month, .. } => (&mut self.month, "has the month twice"),
            Item::Digits { part: Part::Day, .. } => (&mut self.day, "has the day twice"),
            Item::Digits { part: Part::DayOfYear, .. } => (&mut self.day_of_year, "has the day of the year twice"),
            Item::Digits { part: Part::Hour | Part::HourOfTwelve, .. } => (&mut self.hour, "has the hour twice"),
            Item::Digits { part: Part::Minute, .. } => (&mut self.minute, "has the minute twice"),
            Item::Digits { part: Part::Second, .. } => (&mut self.second, "has the second twice"),
            Item::Meridiem => (&mut self.meridiem, "has AM or PM twice"),
            Item::Fraction => (&mut self.fraction, "has the fraction of a second twice"),
            Item::Offset | Item::Utc => (&mut self.zone, "has the zone twice"),
            Item::Epoch { .. } => (&mut self.epoch, "has the time since 1970 twice"),
        };
        if std::mem::replace(part, true) {
            return Err(twice);
        }
        self.hour_of_twelve |= matches!(item, Item::Digits { part: Part::HourOfTwelve, .. });
        Ok(())
    }

    /// Refuses what cannot be told, or would be told twice.
    fn check(self) -> Result<(), &'static str> {
        let date = self.year || self.month || self.day || self.day_of_year;
        let clock = self.hour || self.minute || self.second || self.meridiem;
        let rules = [
            (self.epoch && (date || clock || self.zone), "has more than the time since 1970, which says all"),
            (self.day_of_year && (self.month || self.day), "has the day of the year and the month or its day"),
            ((self.month || self.day || self.day_of_year) && !self.year, "has no year (%Y or %y)"),
            (self.day && !self.month, "has a day without a month"),
            (
                self.hour_of_twelve && !self.meridiem,
                "has hours up to 12 (%I) without AM or PM (%p); %H counts up to 23",
            ),
            (self.meridiem && !self.hour_of_twelve, "has AM or PM (%p) without hours up to 12 (%I)"),
            (self.minute && !self.hour, "has minutes without hours (%H, or %I with %p)"),
            (self.second && !self.minute, "has seconds without minutes (%M)"),
            (self.fraction && !(self.second || self.epoch), "has a fraction (%f) without seconds (%S or %s)"),
            (self.zone && !self.hour, "has a zone without hours (%H, or %I with %p)"),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, problem)| Err(problem))
    }
}
