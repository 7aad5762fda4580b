//! Patterns whose parts stand at fixed places are read by the fast paths of ISO 8601.
//!
//! The digits of a field of the usual length are copied to where ISO 8601 has them. What is refused then (digits that
//! are none, another length because of a month of one digit, a date that does not exist) is left to the slow reader.

use super::super::exact::MICROSECONDS_PER_DAY;
use super::super::iso::{clock, ten_bytes};
use super::item::{Item, Part};

/// Where the parts of a pattern stand, if every number has its full width.
#[derive(Debug)]
pub(super) struct Fixed {
    len: usize,
    literals: Vec<(usize, u8)>,
    /// Places in the field, and in `ISO`.
    digits: Vec<(usize, usize)>,
}

/// What is not given is midnight, or never read.
const ISO: &[u8; 19] = b"0001-01-01 00:00:00";

/// Where the time begins.
const TIME: usize = 11;

impl Fixed {
    /// The places of a pattern; `None` if it has names, fractions or zones, or a date without a day.
    pub(super) fn new(items: &[Item]) -> Option<Fixed> {
        let mut fixed = Fixed { len: 0, literals: Vec::new(), digits: Vec::new() };
        let mut date_parts = 0;
        for item in items {
            let (part, width) = match *item {
                Item::Literal(byte) => {
                    fixed.literals.push((fixed.len, byte));
                    fixed.len += 1;
                    continue;
                }
                Item::Digits { part, max, .. } => (part, max),
                _ => return None,
            };
            let to = match part {
                Part::Year => 0,
                Part::Month => 5,
                Part::Day => 8,
                Part::Hour => TIME,
                Part::Minute => TIME + 3,
                Part::Second => TIME + 6,
                Part::YearOfCentury | Part::DayOfYear | Part::HourOfTwelve => return None,
            };
            date_parts += usize::from(to < TIME);
            fixed.digits.extend((0..width).map(|place| (fixed.len + place, to + place)));
            fixed.len += width;
        }
        (date_parts == 0 || date_parts == 3).then_some(fixed)
    }

    /// The field in the order of ISO 8601, with padding.
    #[inline]
    fn arranged(&self, bytes: &[u8]) -> Option<[u8; 48]> {
        if bytes.len() != self.len || self.literals.iter().any(|(place, byte)| bytes[*place] != *byte) {
            return None;
        }
        let mut iso = [0; 48];
        iso[..ISO.len()].copy_from_slice(ISO);
        for (from, to) in &self.digits {
            iso[*to] = bytes[*from];
        }
        Some(iso)
    }

    /// A date in days since 1970-01-01.
    pub(super) fn date(&self, bytes: &[u8]) -> Option<i32> {
        let iso = self.arranged(bytes).filter(|iso| iso[TIME..ISO.len()] == ISO[TIME..])?;
        // SAFETY: there are more than ten bytes.
        unsafe { ten_bytes(iso.as_ptr()) }
    }

    /// A time in microseconds since midnight.
    pub(super) fn time(&self, bytes: &[u8]) -> Option<i64> {
        let iso = self.arranged(bytes)?;
        // SAFETY: 16 bytes can be read behind the time.
        unsafe { clock(iso.as_ptr().add(TIME), ISO.len() - TIME) }
    }

    /// A timestamp in microseconds since 1970-01-01 00:00:00.
    pub(super) fn timestamp(&self, bytes: &[u8]) -> Option<i64> {
        let iso = self.arranged(bytes)?;
        // SAFETY: 16 bytes can be read behind the time.
        unsafe {
            let days = ten_bytes(iso.as_ptr())?;
            Some(i64::from(days) * MICROSECONDS_PER_DAY + clock(iso.as_ptr().add(TIME), ISO.len() - TIME)?)
        }
    }
}
