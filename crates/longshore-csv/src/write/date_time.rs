//! Dates, times and timestamps in ISO form.

use super::append;
use super::digits::digits_8;
use crate::decode::exact::{DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, civil_from_days};

/// Appends a date in days since 1970-01-01 as `YYYY-MM-DD`, with ` BC` behind it if it is before Christ; later years get as
/// many digits as they need. The least and the greatest number are infinite.
#[inline]
pub fn date(out: &mut Vec<u8>, days: i32) {
    if (DATE_MIN..=DATE_MAX).contains(&days) {
        append(out, date_text(days), 10);
    } else if !infinite(out, (days == i32::MIN, days == i32::MAX)) {
        let is_before_christ = long_date(out, days);
        era(out, is_before_christ);
    }
}

/// Appends an infinite value, if it is the least or the greatest one.
fn infinite(out: &mut Vec<u8>, (is_least, is_greatest): (bool, bool)) -> bool {
    if is_least || is_greatest {
        out.extend_from_slice(if is_least { b"-infinity" } else { b"infinity" });
    }
    is_least || is_greatest
}

/// Appends a date of any year, but for its era; says whether that is the one before Christ.
fn long_date(out: &mut Vec<u8>, days: i32) -> bool {
    let (year, month, day) = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    out.extend_from_slice(format!("{shown:04}-{month:02}-{day:02}").as_bytes());
    year <= 0
}

fn era(out: &mut Vec<u8>, is_before_christ: bool) {
    if is_before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// The ten characters of a date of four digits' year, and six more bytes.
///
/// The calendar by multiplications instead of divisions: Cassio Neri and Lorenz Schneider, Euclidean affine functions
/// and their application to calendar algorithms (2022). Years begin in March.
#[inline(always)]
fn date_text(days: i32) -> [u8; 16] {
    // Day 0 is the first of March of the year 0.
    let quarters = 4 * (days + 719_468) as u32 + 3;
    let (century, day_of_century) = (quarters / 146_097, quarters % 146_097 / 4);
    let year_and_day = 2_939_745 * u64::from(4 * day_of_century + 3);
    let (year_of_century, day_of_year) = ((year_and_day >> 32) as u32, year_and_day as u32 / 2_939_745 / 4);
    let month_and_day = 2_141 * day_of_year + 197_913;
    let (month, day) = (month_and_day >> 16, (month_and_day & 0xFFFF) / 2_141 + 1);
    let is_next_year = day_of_year >= 306;
    let year = 100 * century + year_of_century + u32::from(is_next_year);
    let month = if is_next_year { month - 12 } else { month };
    let digits = digits_8(u64::from(year * 10_000 + month * 100 + day)).text;
    let start = digits & 0xFFFF_FFFF | u64::from(b'-') << 32 | (digits & 0xFFFF << 32) << 8 | u64::from(b'-') << 56;
    (u128::from(start) | u128::from(digits >> 48) << 64).to_le_bytes()
}

/// Appends a time in microseconds since midnight as `HH:MM:SS` and, if there is one, a fraction of up to six
/// digits without trailing zeros.
///
/// # Panics
///
/// If the time is not within a day, whose end 24:00:00 is one.
#[inline]
pub fn time(out: &mut Vec<u8>, micros: i64) {
    assert!((0..=MICROSECONDS_PER_DAY).contains(&micros), "a time of {micros} microseconds");
    let (seconds, micros) = (micros as u64 / 1_000_000, micros as u64 % 1_000_000);
    let [_, _, a, b, c, d, e, f] =
        digits_8(seconds / 3600 * 10_000 + seconds / 60 % 60 * 100 + seconds % 60).text.to_le_bytes();
    out.extend_from_slice(&[a, b, b':', c, d, b':', e, f]);
    if micros > 0 {
        let [_, _, a, b, c, d, e, f] = digits_8(micros).text.to_le_bytes();
        let fraction = [b'.', a, b, c, d, e, f];
        let zeros = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
        append(out, fraction, fraction.len() - zeros);
    }
}

/// Appends microseconds since 1970-01-01 00:00:00 as [`date()`], a space and [`time()`].
#[inline]
pub fn timestamp(out: &mut Vec<u8>, micros: i64) {
    moment(out, micros, b"");
}

/// Appends a timestamp and the text of its zone, in front of the era.
#[inline]
fn moment(out: &mut Vec<u8>, micros: i64, zone: &[u8]) {
    // 64 bits of microseconds are fewer days than 32 bits hold.
    let (days, of_day) = (micros.div_euclid(MICROSECONDS_PER_DAY) as i32, micros.rem_euclid(MICROSECONDS_PER_DAY));
    let is_usual = (DATE_MIN..=DATE_MAX).contains(&days);
    if !is_usual && infinite(out, (micros == i64::MIN, micros == i64::MAX)) {
        return;
    }
    let is_before_christ = if is_usual {
        append(out, date_text(days), 10);
        false
    } else {
        long_date(out, days)
    };
    out.push(b' ');
    time(out, of_day);
    out.extend_from_slice(zone);
    era(out, is_before_christ);
}

/// [`timestamp`] followed by `+00`: times with time zone are kept and written in UTC.
#[inline]
pub fn timestamptz(out: &mut Vec<u8>, micros: i64) {
    moment(out, micros, b"+00");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::exact::{self, DATE_MAX, DATE_MIN};

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_day_is_read_back() {
        assert_eq!(written(|out| date(out, 0)), "1970-01-01");
        assert_eq!(written(|out| date(out, DATE_MIN)), "0001-01-01");
        assert_eq!(written(|out| date(out, DATE_MAX)), "9999-12-31");
        let mut text = Vec::new();
        for days in DATE_MIN..=DATE_MAX {
            text.clear();
            date(&mut text, days);
            assert_eq!(exact::date(&text), Ok(days));
            let (year, month, day) = civil_from_days(days);
            assert_eq!(text, format!("{year:04}-{month:02}-{day:02}").as_bytes());
        }
        assert_eq!(written(|out| date(out, DATE_MIN - 1)), "0001-12-31 BC");
        assert_eq!(written(|out| date(out, DATE_MIN - 367)), "0002-12-31 BC");
        assert_eq!(written(|out| date(out, DATE_MAX + 1)), "10000-01-01");
        assert_eq!(written(|out| date(out, i32::MIN)), "-infinity");
        assert_eq!(written(|out| timestamptz(out, i64::MAX)), "infinity");
        let before_christ = i64::from(DATE_MIN - 1) * MICROSECONDS_PER_DAY;
        assert_eq!(written(|out| timestamptz(out, before_christ)), "0001-12-31 00:00:00+00 BC");
    }

    #[test]
    fn times_have_no_more_digits_than_needed() {
        assert_eq!(written(|out| time(out, 0)), "00:00:00");
        assert_eq!(written(|out| time(out, MICROSECONDS_PER_DAY - 1)), "23:59:59.999999");
        assert_eq!(written(|out| time(out, MICROSECONDS_PER_DAY)), "24:00:00");
        assert_eq!(written(|out| time(out, 3_723_500_000)), "01:02:03.5");
        assert_eq!(written(|out| time(out, 100)), "00:00:00.0001");
        assert_eq!(written(|out| timestamp(out, -1)), "1969-12-31 23:59:59.999999");
        assert_eq!(written(|out| timestamptz(out, 0)), "1970-01-01 00:00:00+00");
    }

    #[test]
    fn times_are_read_back() {
        let mut micros = MICROSECONDS_PER_DAY - 1;
        while micros > 0 {
            assert_eq!(exact::time(written(|out| time(out, micros)).as_bytes()), Ok(micros));
            micros = micros * 10 / 13;
        }
        let (min, max) = (i64::from(DATE_MIN), i64::from(DATE_MAX) + 1);
        let mut micros = min * MICROSECONDS_PER_DAY;
        while micros < max * MICROSECONDS_PER_DAY {
            assert_eq!(exact::timestamp(written(|out| timestamp(out, micros)).as_bytes()), Ok(micros));
            assert_eq!(exact::timestamptz(written(|out| timestamptz(out, micros)).as_bytes()), Ok(micros));
            micros += 12_345_678_901_234;
        }
    }
}
