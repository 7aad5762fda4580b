//! Dates and times beyond what files usually hold, as PostgreSQL writes them: `infinity`, years before Christ and of more
//! than four digits, and the end of a day.
//!
//! Only these spellings count, so that a value that is written is the text that was read.

use super::{MICROSECONDS_PER_DAY, days_from_civil, days_of_month, read_time, zone_offset};
use crate::decode::exact::{Reader, trim};

/// 4714-11-24 BC and 5874897-12-31, the first and the last date, in days since 1970-01-01.
const FIRST: i32 = days_from_civil(-4713, 11, 24);
const LAST: i32 = days_from_civil(5_874_897, 12, 31);

/// A date in days since 1970-01-01; infinite ones are the least and the greatest number.
pub(super) fn date(bytes: &[u8]) -> Option<i32> {
    let text = trim(bytes);
    match text {
        b"infinity" => Some(i32::MAX),
        b"-infinity" => Some(i32::MIN),
        _ => {
            let (mut reader, is_before_christ) = era(text);
            let days = day(&mut reader, is_before_christ)?;
            reader.rest.is_empty().then_some(days)
        }
    }
}

/// The end of a day, in microseconds since its beginning.
pub(super) fn time(bytes: &[u8]) -> Option<i64> {
    let minutes = trim(bytes).strip_prefix(b"24:00")?;
    matches!(minutes, b"" | b":00").then_some(MICROSECONDS_PER_DAY)
}

/// A timestamp in microseconds since 1970-01-01 00:00:00, of a zone behind it if it may have one.
pub(super) fn timestamp(bytes: &[u8], is_zoned: bool) -> Option<i64> {
    let text = trim(bytes);
    match text {
        b"infinity" => return Some(i64::MAX),
        b"-infinity" => return Some(i64::MIN),
        _ => {}
    }
    let (mut reader, is_before_christ) = era(text);
    let midnight = i64::from(day(&mut reader, is_before_christ)?).checked_mul(MICROSECONDS_PER_DAY)?;
    let mut micros = midnight;
    if reader.take(|byte| matches!(byte, b' ' | b'T')).is_some() {
        micros = midnight.checked_add(read_time(&mut reader).ok()?)?;
        if is_zoned && reader.peek().is_some() {
            micros = micros.checked_sub(zone_offset(&mut reader, 1).ok()? * 1_000_000)?;
        }
    }
    let is_in_range = micros >= i64::from(FIRST) * MICROSECONDS_PER_DAY && micros < i64::MAX;
    (reader.rest.is_empty() && is_in_range).then_some(micros)
}

/// The text in front of `BC`, and whether that stands there.
fn era(text: &[u8]) -> (Reader<'_>, bool) {
    match text.strip_suffix(b" BC") {
        Some(rest) => (Reader { rest }, true),
        None => (Reader { rest: text }, false),
    }
}

/// A day before Christ, or of a year of more than four digits.
fn day(reader: &mut Reader<'_>, is_before_christ: bool) -> Option<i32> {
    let year = reader.number(4, 7).ok()?;
    reader.byte(b'-').ok()?;
    let month = reader.number(1, 2).ok()?;
    reader.byte(b'-').ok()?;
    let day = reader.number(1, 2).ok()?;
    if year == 0 || !is_before_christ && year < 10_000 || year > 5_874_897 || !(1..=12).contains(&month) {
        return None;
    }
    // Leap years come again after 400 years; the year before the first one is 0.
    let (counted, of_cycle) =
        if is_before_christ { (1 - year as i32, (400_000_000 + 1 - year) % 400) } else { (year as i32, year % 400) };
    if !(1..=days_of_month(of_cycle, month)).contains(&day) {
        return None;
    }
    Some(days_from_civil(counted, month, day)).filter(|days| (FIRST..=LAST).contains(days))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write;

    #[test]
    fn what_is_written_is_read() {
        for days in [i32::MIN, FIRST, FIRST + 1, -719_163, -719_528, -800_000, 2_932_897, 3_000_000, LAST, i32::MAX] {
            let mut text = Vec::new();
            write::date(&mut text, days);
            assert_eq!(date(&text), Some(days), "{}", String::from_utf8_lossy(&text));
        }
        let first = i64::from(FIRST) * MICROSECONDS_PER_DAY;
        for micros in [i64::MIN, first, first + 1, -719_163 * MICROSECONDS_PER_DAY, i64::MAX - 1, i64::MAX] {
            let (mut text, mut zoned) = (Vec::new(), Vec::new());
            write::timestamp(&mut text, micros);
            write::timestamptz(&mut zoned, micros);
            assert_eq!(timestamp(&text, false), Some(micros), "{}", String::from_utf8_lossy(&text));
            assert_eq!(timestamp(&zoned, true), Some(micros), "{}", String::from_utf8_lossy(&zoned));
        }
        assert_eq!((time(b"24:00"), time(b"24:00:00")), (Some(MICROSECONDS_PER_DAY), Some(MICROSECONDS_PER_DAY)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "0001-01-01",
            "9999-12-31",
            "0000-01-01 BC",
            "4714-11-23 BC",
            "5874898-01-01",
            "0001-02-30 BC",
            "Infinity",
            "",
        ] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
        // The year 1 BC is a leap year, 2 BC is none.
        assert!(date(b"0001-02-29 BC").is_some());
        assert_eq!(date(b"0002-02-29 BC"), None);
        for text in ["10000-01-01 00:00:00+00", "10000-01-01 25:00:00", "294248-01-01 00:00:00"] {
            assert_eq!(timestamp(text.as_bytes(), false), None, "{text}");
        }
        assert_eq!((time(b"24:00:01"), time(b"24:0")), (None, None));
    }
}
