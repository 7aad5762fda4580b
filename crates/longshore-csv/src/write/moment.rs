//! Dates, times and timestamps in ISO form.

use super::pair;
use crate::decode::exact::{MICROSECONDS_PER_DAY, civil_from_days};

/// Appends a date in days since 1970-01-01 as `YYYY-MM-DD`. Years outside 0 to 9999, which no column holds, get
/// as many digits as they need.
#[inline]
pub fn date(out: &mut Vec<u8>, days: i32) {
    let (year, month, day) = civil_from_days(days);
    let Some(year) = u64::try_from(year).ok().filter(|year| *year <= 9999) else {
        super::integer(out, i64::from(year));
        out.push(b'-');
        out.extend_from_slice(&pair(u64::from(month)));
        out.push(b'-');
        out.extend_from_slice(&pair(u64::from(day)));
        return;
    };
    let [[a, b], [c, d], [e, f], [g, h]] =
        [pair(year / 100), pair(year % 100), pair(u64::from(month)), pair(u64::from(day))];
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
}

/// Appends a time in microseconds since midnight as `HH:MM:SS` and, if there is one, a fraction of up to six
/// digits without trailing zeros.
///
/// # Panics
///
/// If the time is not within a day.
#[inline]
pub fn time(out: &mut Vec<u8>, micros: i64) {
    assert!((0..MICROSECONDS_PER_DAY).contains(&micros), "a time of {micros} microseconds");
    let (seconds, micros) = (micros as u64 / 1_000_000, micros as u64 % 1_000_000);
    let [[a, b], [c, d], [e, f]] = [pair(seconds / 3600), pair(seconds / 60 % 60), pair(seconds % 60)];
    out.extend_from_slice(&[a, b, b':', c, d, b':', e, f]);
    if micros > 0 {
        let [[a, b], [c, d], [e, f]] = [pair(micros / 10_000), pair(micros / 100 % 100), pair(micros % 100)];
        let fraction = [b'.', a, b, c, d, e, f];
        let zeros = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
        out.extend_from_slice(&fraction[..fraction.len() - zeros]);
    }
}

/// Appends microseconds since 1970-01-01 00:00:00 as [`date()`], a space and [`time()`].
#[inline]
pub fn timestamp(out: &mut Vec<u8>, micros: i64) {
    // 64 bits of microseconds are fewer days than 32 bits hold.
    date(out, micros.div_euclid(MICROSECONDS_PER_DAY) as i32);
    out.push(b' ');
    time(out, micros.rem_euclid(MICROSECONDS_PER_DAY));
}

/// [`timestamp`] followed by `+00`: times with time zone are kept and written in UTC.
#[inline]
pub fn timestamptz(out: &mut Vec<u8>, micros: i64) {
    timestamp(out, micros);
    out.extend_from_slice(b"+00");
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
        }
    }

    #[test]
    fn times_have_no_more_digits_than_needed() {
        assert_eq!(written(|out| time(out, 0)), "00:00:00");
        assert_eq!(written(|out| time(out, MICROSECONDS_PER_DAY - 1)), "23:59:59.999999");
        assert_eq!(written(|out| time(out, 3_723_500_000)), "01:02:03.5");
        assert_eq!(written(|out| time(out, 100)), "00:00:00.0001");
        assert_eq!(written(|out| timestamp(out, -1)), "1969-12-31 23:59:59.999999");
        assert_eq!(written(|out| timestamptz(out, 0)), "1970-01-01 00:00:00+00");
    }

    #[test]
    fn moments_are_read_back() {
        let mut micros = MICROSECONDS_PER_DAY - 1;
        while micros > 0 {
            assert_eq!(exact::time(written(|out| time(out, micros)).as_bytes()), Ok(micros));
            micros = micros * 10 / 13;
        }
        let (min, max) = (i64::from(DATE_MIN), i64::from(DATE_MAX) + 1);
        let mut moment = min * MICROSECONDS_PER_DAY;
        while moment < max * MICROSECONDS_PER_DAY {
            assert_eq!(exact::timestamp(written(|out| timestamp(out, moment)).as_bytes()), Ok(moment));
            assert_eq!(exact::timestamptz(written(|out| timestamptz(out, moment)).as_bytes()), Ok(moment));
            moment += 12_345_678_901_234;
        }
    }
}
