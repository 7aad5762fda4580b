//! The usual dates and times of ISO 8601: the ten bytes `YYYY-MM-DD`, in one word and a half, and the eight bytes
//! `HH:MM:SS` with up to six digits behind a point, in two words.
//!
//! Not here: other spellings, which the exact twins read (`exact`) or other formats (`date_time`).

use super::exact::days_from_civil;
use super::simd_level::{eight_digits, is_eight_digits};

/// `YYYY-MM-` as a word: exclusive or leaves digits as values and hyphens as zeros.
pub(crate) const YEAR_MONTH: u64 = u64::from_le_bytes(*b"0000-00-");

/// What to add so that a byte's highest bit tells that it is no digit, or not zero where a hyphen was expected.
pub(crate) const YEAR_MONTH_CHECK: u64 = u64::from_le_bytes([0x76, 0x76, 0x76, 0x76, 0x7F, 0x76, 0x76, 0x7F]);

/// Days of every month of a leap year; none of what is no month.
static MONTHS: [u8; 128] = {
    let mut months = [0; 128];
    let mut month = 1;
    while month <= 12 {
        months[month] = if month == 2 { 29 } else { 30 + ((month ^ month >> 3) & 1) as u8 };
        month += 1;
    }
    months
};

/// Days from March 1 of the year 0 to 1970-01-01, plus one because days of months count from 1.
const EPOCH: i32 = -days_from_civil(0, 3, 1) + 1;

/// The date in the ten bytes at `field`.
///
/// # Safety
///
/// Ten bytes can be read at `field`.
#[inline(always)]
pub(crate) unsafe fn ten_bytes(field: *const u8) -> Option<i32> {
    // SAFETY: as the caller promises.
    let (head, tail) = unsafe {
        let head = u64::from_le(field.cast::<u64>().read_unaligned());
        (head ^ YEAR_MONTH, u16::from_le(field.add(8).cast::<u16>().read_unaligned()) ^ 0x3030)
    };
    let tail = u32::from(tail);
    let no_date = (head.wrapping_add(YEAR_MONTH_CHECK) | head) & 0x8080_8080_8080_8080;
    let no_day = ((tail + 0x7676) | tail) & 0x8080;
    // Century in byte 0, year of it in byte 2, month in byte 5.
    let pairs = head.wrapping_mul(10).wrapping_add(head >> 8);
    let century = (pairs & 0xFF) as i32;
    let year = century * 100 + (pairs >> 16 & 0xFF) as i32;
    let month = (pairs >> 40 & 0x7F) as usize;
    let day = (tail & 0xF) * 10 + (tail >> 8 & 0xF);
    let in_month = u32::from(MONTHS[month]);
    if no_date | u64::from(no_day) != 0 || day.wrapping_sub(1) >= in_month || year == 0 {
        return None;
    }
    if month == 2 && day == 29 && !is_leap(year) {
        return None;
    }
    Some(days(year, month as i32, day as i32))
}

/// Days from 1970-01-01 to a day of the years 0 to 9999, without branches, divisions or wide products.
#[inline(always)]
pub(crate) fn days(year: i32, month: i32, day: i32) -> i32 {
    // Years that begin in March, so that a leap day comes last.
    let before_march = i32::from(month <= 2);
    let year = year - before_march;
    let month = month + 12 * before_march;
    // Right for years below 43,698.
    let century = (year * 5_243) >> 19;
    // Days before a month from March, 3, to February, 14.
    let month_start = (979 * month - 2_919) >> 5;
    year * 365 + (year >> 2) - century + (century >> 2) + month_start + day - EPOCH
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const CLOCK: u64 = u64::from_le_bytes(*b"00:00:00");
const CLOCK_CHECK: u64 = u64::from_le_bytes([0x76, 0x76, 0x7F, 0x76, 0x76, 0x7F, 0x76, 0x76]);
const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// Microseconds since midnight in the `len` bytes at `field`.
///
/// # Safety
///
/// `len` plus 16 bytes can be read at `field`.
#[inline(always)]
pub(crate) unsafe fn clock(field: *const u8, len: usize) -> Option<i64> {
    if len < 8 {
        return None;
    }
    // SAFETY: as the caller promises.
    let word = u64::from_le(unsafe { field.cast::<u64>().read_unaligned() }) ^ CLOCK;
    // Hours in byte 0, minutes in byte 3, seconds in byte 6.
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let (hours, minutes, seconds) = (pairs & 0xFF, pairs >> 24 & 0xFF, pairs >> 48 & 0xFF);
    let no_digit = (word.wrapping_add(CLOCK_CHECK) | word) & 0x8080_8080_8080_8080;
    if no_digit != 0 || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let micros = ((hours * 60 + minutes) * 60 + seconds) as i64 * 1_000_000;
    if len == 8 {
        return Some(micros);
    }
    let digits = len - 9;
    // SAFETY: as the caller promises.
    let (point, word) = unsafe { (*field.add(8), field.add(9).cast::<u64>().read_unaligned()) };
    if point != b'.' || digits == 0 || digits > 6 {
        return None;
    }
    // The first digits stay in their places of eight; the rest become zeros.
    let word = (u64::from_le(word) ^ ZEROS) & ((1 << (8 * digits)) - 1);
    is_eight_digits(word).then(|| micros + eight_digits(word) as i64 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::exact::{self, DATE_MAX, DATE_MIN, civil_from_days};

    #[test]
    fn every_day_is_read() {
        for days in DATE_MIN..=DATE_MAX {
            let (year, month, day) = civil_from_days(days);
            let text = format!("{year:04}-{month:02}-{day:02}");
            // SAFETY: the text has ten bytes.
            assert_eq!(unsafe { ten_bytes(text.as_ptr()) }, Some(days), "{text}");
        }
    }

    #[test]
    fn no_other_day_is_read() {
        for year in ["0000", "1900", "1999", "2000", "2004", "2100"] {
            for month in 0..100 {
                for day in 0..100 {
                    let text = format!("{year}-{month:02}-{day:02}");
                    // SAFETY: the text has ten bytes.
                    assert_eq!(unsafe { ten_bytes(text.as_ptr()) }, exact::date(text.as_bytes()).ok(), "{text}");
                }
            }
        }
    }
}
