//! The fields of a date, a timestamp or a time, and what they mean.
//!
//! What a number is depends on its length, on what has been read already, and on `DateStyle`. The rules are those of
//! PostgreSQL's `DecodeDateTime` and `DecodeTimeOnly`, which are one here: a text of a time takes a date only where it
//! helps to find the offset of its zone.

mod moment;
mod numbers;

use super::Fault;
use super::clock::{clock, numeric_zone, whole};
use super::fields::{Field, Kind, fields};
use super::words::{Prefix, Word};
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, days_of, days_of_month, split};
use crate::settings::{Context, DateOrder, to_local};
use crate::zone::Zone;
use crate::zone::abbreviations::Abbreviation;

pub(super) use moment::{Fields, Moment};

/// What a text shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    DateTime,
    Time,
}

/// Which fields have been read.
mod mask {
    pub(super) const YEAR: u32 = 1;
    pub(super) const MONTH: u32 = 1 << 1;
    pub(super) const DAY: u32 = 1 << 2;
    pub(super) const HOUR: u32 = 1 << 3;
    pub(super) const MINUTE: u32 = 1 << 4;
    pub(super) const SECOND: u32 = 1 << 5;
    pub(super) const FRACTION: u32 = 1 << 6;
    pub(super) const ZONE: u32 = 1 << 7;
    pub(super) const SUMMER: u32 = 1 << 8;
    pub(super) const DAY_OF_YEAR: u32 = 1 << 9;
    pub(super) const MERIDIEM: u32 = 1 << 10;
    pub(super) const ERA: u32 = 1 << 11;
    pub(super) const DAY_OF_WEEK: u32 = 1 << 12;
    pub(super) const RESERVED: u32 = 1 << 13;
    /// A modifier of daylight saving time, which makes no sense beside some zones.
    pub(super) const SUMMER_WORD: u32 = 1 << 14;
    pub(super) const DATE: u32 = YEAR | MONTH | DAY;
    pub(super) const ALL_SECONDS: u32 = SECOND | FRACTION;
    pub(super) const TIME: u32 = HOUR | MINUTE | ALL_SECONDS;
}

/// A zone whose offset depends on the date.
enum NamedZone {
    Zone(Zone),
    Abbreviation(Abbreviation, String),
}

#[expect(clippy::struct_excessive_bools, reason = "each says something else of what has been read")]
struct Decoder<'a> {
    wanted: Wanted,
    order: DateOrder,
    context: &'a Context<'a>,
    read: Fields,
    day_of_year: i64,
    /// What has been read.
    done: u32,
    has_text_month: bool,
    is_short_year: bool,
    is_julian: bool,
    is_before_christ: bool,
    is_afternoon: Option<bool>,
    prefix: Option<Prefix>,
    zone: Option<NamedZone>,
    special: Option<Moment>,
}

/// Reads a text.
pub(super) fn decode(text: &str, wanted: Wanted, context: &Context<'_>) -> Result<Moment, Fault> {
    let fields = fields(text)?;
    let mut decoder = Decoder {
        wanted,
        order: context.settings.order,
        context,
        read: Fields::default(),
        day_of_year: 0,
        done: 0,
        has_text_month: false,
        is_short_year: false,
        is_julian: false,
        is_before_christ: false,
        is_afternoon: None,
        prefix: None,
        zone: None,
        special: None,
    };
    for index in 0..fields.len() {
        let Some(new) = decoder.field(&fields, index)? else { continue };
        if decoder.done & new != 0 {
            return Err(Fault::Format);
        }
        decoder.done |= new;
    }
    decoder.finish()
}

impl Decoder<'_> {
    fn has(&self, fields: u32) -> bool {
        self.done & fields == fields
    }

    fn is_time(&self) -> bool {
        self.wanted == Wanted::Time
    }

    /// What has been read, and for a time a date, which it needs none of.
    fn done_with_date(&self) -> u32 {
        if self.is_time() { self.done | mask::DATE } else { self.done }
    }

    /// Reads a field and returns what it is; `None` if it says nothing.
    fn field(&mut self, fields: &[Field], index: usize) -> Result<Option<u32>, Fault> {
        let field = &fields[index];
        let text = field.text.as_str();
        Ok(Some(match field.kind {
            Kind::Date => self.date_field(fields, index)?,
            Kind::Time => {
                match self.prefix.take() {
                    None | Some(Prefix::Time) => {}
                    // A text of a time forgets the prefix.
                    Some(_) if self.is_time() => {}
                    Some(_) => return Err(Fault::Format),
                }
                let time = clock(text, false)?;
                self.read.set_clock(&time)?;
                if !self.is_time() {
                    self.check_time()?;
                }
                mask::TIME
            }
            Kind::Zone => {
                self.read.west = numeric_zone(text)?;
                mask::ZONE
            }
            Kind::Number => match self.prefix.take() {
                Some(prefix) => self.labelled(prefix, text)?,
                None => self.number_field(fields, index)?,
            },
            Kind::Word | Kind::SignedWord => return self.word(fields, index),
        }))
    }

    fn date_field(&mut self, fields: &[Field], index: usize) -> Result<u32, Fault> {
        let text = fields[index].text.as_str();
        if self.is_time() {
            let last = &fields[fields.len() - 1];
            if index == 0 && fields.len() >= 2 && (last.kind == Kind::Date || fields[1].kind == Kind::Time) {
                return self.date(text);
            }
            return if text.starts_with(|c: char| c.is_ascii_digit()) {
                self.time_with_zone(text)
            } else {
                self.named_zone(text)
            };
        }
        if self.prefix == Some(Prefix::Julian) {
            // A Julian day with a zone behind it.
            self.prefix = None;
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            self.julian(whole(&text[..end])?)?;
            self.read.west = numeric_zone(&text[end..])?;
            return Ok(mask::DATE | mask::TIME | mask::ZONE);
        }
        if let Some(prefix) = self.prefix.take() {
            return if prefix == Prefix::Time { self.time_with_zone(text) } else { Err(Fault::Format) };
        }
        if self.has(mask::MONTH | mask::DAY) {
            // A name of a zone, or a time with a zone.
            return if text.starts_with(|c: char| c.is_ascii_digit()) {
                self.time_with_zone(text)
            } else {
                self.named_zone(text)
            };
        }
        self.date(text)
    }

    /// `hhmmss-zz`
    fn time_with_zone(&mut self, text: &str) -> Result<u32, Fault> {
        if self.has(mask::TIME) {
            return Err(Fault::Format);
        }
        let (time, _) = text.split_once('-').ok_or(Fault::Format)?;
        self.read.west = numeric_zone(&text[time.len()..])?;
        Ok(self.concatenated(time, self.done_with_date())? | mask::ZONE)
    }

    fn named_zone(&mut self, name: &str) -> Result<u32, Fault> {
        let zone = Zone::named(name).ok_or_else(|| Fault::UnknownZone(name.to_owned()))?;
        self.zone = Some(NamedZone::Zone(zone));
        Ok(mask::ZONE)
    }

    /// A date with delimiters.
    fn date(&mut self, text: &str) -> Result<u32, Fault> {
        let mut parts: Vec<&str> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let Some(first) = rest.chars().next() else { return Err(Fault::Format) };
            let is_digit = first.is_ascii_digit();
            let is_same = |c: char| if is_digit { c.is_ascii_digit() } else { c.is_ascii_alphabetic() };
            let end = rest.find(|c| !is_same(c)).unwrap_or(rest.len());
            parts.push(&rest[..end]);
            // One character behind a part is dropped, whatever it is.
            rest = rest[end..].chars().next().map_or("", |next| &rest[end + next.len_utf8()..]);
        }
        let before = self.done;
        let mut has_text_month = false;
        let mut found = 0;
        // The name of a month tells what the numbers are.
        for part in parts.iter().filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic())) {
            match Word::find(part) {
                Some(Word::Filler) => continue,
                Some(Word::Month(month)) => {
                    self.read.month = month;
                    has_text_month = true;
                }
                _ => return Err(Fault::Format),
            }
            if (before | found) & mask::MONTH != 0 {
                return Err(Fault::Format);
            }
            found |= mask::MONTH;
        }
        for part in parts.iter().filter(|part| part.starts_with(|c: char| c.is_ascii_digit())) {
            let new = self.number(part, has_text_month, before | found)?;
            if (before | found) & new != 0 {
                return Err(Fault::Format);
            }
            found |= new;
        }
        if (before | found) & !(mask::DAY_OF_YEAR | mask::ZONE) != mask::DATE {
            return Err(Fault::Format);
        }
        Ok(found)
    }

    fn word(&mut self, fields: &[Field], index: usize) -> Result<Option<u32>, Fault> {
        let text = fields[index].text.as_str();
        // Names of offsets come before words.
        match Abbreviation::named(text) {
            Some(Abbreviation::Fixed { east, is_dst }) => {
                self.read.west = -east;
                return Ok(Some(if is_dst { mask::ZONE | mask::SUMMER } else { mask::ZONE }));
            }
            Some(zone) => {
                self.zone = Some(NamedZone::Abbreviation(zone, text.to_owned()));
                return Ok(Some(mask::ZONE));
            }
            None => {}
        }
        let Some(word) = Word::find(text) else {
            let zone = Zone::named(text).ok_or(Fault::Format)?;
            self.zone = Some(NamedZone::Zone(zone));
            return Ok(Some(mask::ZONE));
        };
        Ok(Some(match word {
            Word::Filler => return Ok(None),
            Word::Now | Word::Midnight if self.is_time() => {
                let now = to_local(&self.context.settings.zone, self.context.now);
                self.read.set_time(if word == Word::Now { split(now).1 } else { 0 });
                if word == Word::Now { mask::TIME } else { mask::TIME | mask::ZONE }
            }
            Word::Now => {
                self.set_now();
                mask::DATE | mask::TIME | mask::ZONE
            }
            Word::Midnight => {
                self.read.set_time(0);
                self.read.west = 0;
                mask::TIME | mask::ZONE
            }
            Word::Today | Word::Tomorrow | Word::Yesterday if !self.is_time() => {
                let today = split(to_local(&self.context.settings.zone, self.context.now)).0;
                let shift = match word {
                    Word::Tomorrow => 1,
                    Word::Yesterday => -1,
                    _ => 0,
                };
                self.read.set_date(today + shift);
                mask::DATE
            }
            Word::Infinity | Word::NegativeInfinity | Word::Epoch if !self.is_time() => {
                self.special = Some(match word {
                    Word::Infinity => Moment::Infinity,
                    Word::NegativeInfinity => Moment::NegativeInfinity,
                    _ => Moment::Epoch,
                });
                mask::RESERVED
            }
            Word::Month(month) if !self.is_time() => {
                // A number that was taken for the month is the day then.
                let is_day = self.has(mask::MONTH)
                    && !self.has_text_month
                    && self.done & mask::DAY == 0
                    && (1..=31).contains(&self.read.month);
                self.has_text_month = true;
                let found = if is_day {
                    self.read.day = self.read.month;
                    mask::DAY
                } else {
                    mask::MONTH
                };
                self.read.month = month;
                found
            }
            Word::Summer => {
                self.read.west -= 3600;
                mask::SUMMER | mask::SUMMER_WORD
            }
            Word::Meridiem { is_afternoon } => {
                self.is_afternoon = Some(is_afternoon);
                mask::MERIDIEM
            }
            Word::Era { is_before } => {
                self.is_before_christ = is_before;
                mask::ERA
            }
            Word::DayOfWeek if !self.is_time() => mask::DAY_OF_WEEK,
            Word::Prefix(prefix) => {
                self.prefix = Some(prefix);
                return Ok(None);
            }
            Word::IsoTime => {
                let follows = fields.get(index + 1).map(|field| field.kind);
                let is_time = matches!(follows, Some(Kind::Number | Kind::Time | Kind::Date));
                if !is_time || !self.is_time() && !self.has(mask::DATE) {
                    return Err(Fault::Format);
                }
                self.prefix = Some(Prefix::Time);
                return Ok(None);
            }
            _ => return Err(Fault::Format),
        }))
    }

    fn set_now(&mut self) {
        let zone = &self.context.settings.zone;
        let east = zone.offset(self.context.now.div_euclid(MICROS_PER_SECOND));
        let (days, time) = split(to_local(zone, self.context.now));
        self.read.set_date(days);
        self.read.set_time(time);
        self.read.west = -east;
    }

    fn check_time(&self) -> Result<(), Fault> {
        let Fields { hour, minute, second, micros, .. } = self.read;
        let is_in_range = (0..=24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second)
            && (0..=MICROS_PER_SECOND).contains(&micros)
            && self.read.time() <= MICROS_PER_DAY;
        if is_in_range { Ok(()) } else { Err(Fault::Field) }
    }

    fn finish(mut self) -> Result<Moment, Fault> {
        self.check_date()?;
        if let Some(is_afternoon) = self.is_afternoon {
            if self.read.hour > 12 {
                return Err(Fault::Field);
            }
            self.read.hour = self.read.hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        if self.is_time() {
            self.check_time()?;
            if !self.has(mask::TIME) {
                return Err(Fault::Format);
            }
        } else if let Some(special) = self.special {
            return Ok(special);
        } else if !self.has(mask::DATE) {
            return Err(Fault::Format);
        } else {
            self.check_time()?;
        }
        self.find_offset()?;
        Ok(Moment::Fields(self.read))
    }

    fn check_date(&mut self) -> Result<(), Fault> {
        if self.has(mask::YEAR) && !self.is_julian {
            if self.is_before_christ {
                if self.read.year <= 0 {
                    return Err(Fault::Field);
                }
                self.read.year = 1 - self.read.year;
            } else if self.is_short_year {
                // Two digits are a year from 1970 to 2069.
                self.read.year += if self.read.year < 70 { 2000 } else { 1900 };
            } else if self.read.year <= 0 {
                return Err(Fault::Field);
            }
        }
        if self.has(mask::DAY_OF_YEAR) {
            self.read.set_date(days_of(self.read.year, 1, 1) + self.day_of_year - 1);
        }
        let is_wrong = |field: u32, value: i64, last: i64| self.has(field) && !(1..=last).contains(&value);
        if is_wrong(mask::MONTH, self.read.month, 12) || is_wrong(mask::DAY, self.read.day, 31) {
            return Err(Fault::MonthOrDay);
        }
        if self.has(mask::DATE) && self.read.day > days_of_month(self.read.year, self.read.month) {
            return Err(Fault::Field);
        }
        Ok(())
    }

    /// Finds the offset where it depends on the date, or is that of the session.
    fn find_offset(&mut self) -> Result<(), Fault> {
        if self.zone.is_some() && self.has(mask::SUMMER_WORD) {
            return Err(Fault::Format);
        }
        if self.zone.is_none() && self.has(mask::ZONE) {
            return Ok(());
        }
        if self.zone.is_none() && self.has(mask::SUMMER_WORD) {
            return Err(Fault::Format);
        }
        let has_date = self.has(mask::DATE);
        if self.is_time() && !has_date {
            if let Some(NamedZone::Zone(zone)) = &self.zone {
                self.read.west = -zone.fixed_offset().ok_or(Fault::Format)?;
                return Ok(());
            }
            if self.done & mask::DATE != 0 {
                return Err(Fault::Format);
            }
            let today = split(to_local(&self.context.settings.zone, self.context.now)).0;
            self.read.set_date(today);
        }
        let seconds = self.read.local_seconds();
        let east = match &self.zone {
            Some(NamedZone::Zone(zone)) => zone.offset_of_local(seconds),
            Some(NamedZone::Abbreviation(abbreviation, name)) => abbreviation.offset_of_local(name, seconds),
            None => self.context.settings.zone.offset_of_local(seconds),
        };
        self.read.west = -east;
        Ok(())
    }
}
