//! Decides how times are rounded to a precision, and which bytes a TIME WITH TIME ZONE and an INTERVAL are stored as.
//!
//! The bytes are in the order of the values. Numbers in them are big-endian, with the sign flipped, so that negative ones
//! come first.
//!
//! Not here: reading, writing and computing (`longshore-time`).

/// Bytes of a TIME WITH TIME ZONE.
pub const TIMETZ_BYTES: usize = 12;

/// Bytes of an INTERVAL.
pub const INTERVAL_BYTES: usize = 18;

/// The first bytes of an INTERVAL, which are the same for equal ones.
pub const INTERVAL_TOTAL_BYTES: usize = 10;

/// Digits of fractions of a second that a time has, at most.
pub const DIGITS_MAX: u8 = 6;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Microseconds from 1970-01-01 to 2000-01-01, from which PostgreSQL counts and rounds.
const EPOCH_2000: i64 = 10_957 * MICROS_PER_DAY;

const DAYS_PER_MONTH: i128 = 30;

/// Microseconds rounded to so many digits of fractions of a second, half away from zero; `None` beyond 64 bits.
#[inline]
#[must_use]
pub fn rounded(micros: i64, digits: u8) -> Option<i64> {
    if digits >= DIGITS_MAX {
        return Some(micros);
    }
    let unit = 10_i64.pow(u32::from(DIGITS_MAX - digits));
    let half = unit / 2;
    if micros >= 0 {
        Some(micros.checked_add(half)? / unit * unit)
    } else {
        Some(-(micros.checked_neg()?.checked_add(half)? / unit * unit))
    }
}

/// The same of a timestamp, in microseconds since 1970. As in PostgreSQL, a half is rounded away from 2000-01-01; infinite
/// ones, which are the least and the greatest number, stay.
#[inline]
#[must_use]
pub fn rounded_timestamp(micros: i64, digits: u8) -> Option<i64> {
    if micros == i64::MIN || micros == i64::MAX {
        return Some(micros);
    }
    match micros.checked_sub(EPOCH_2000) {
        Some(since_2000) => rounded(since_2000, digits)?.checked_add(EPOCH_2000),
        None => Some(micros),
    }
}

/// The bytes of a time of a zone: microseconds since midnight of its own clock, and the seconds that it is west of UTC.
#[must_use]
pub fn timetz_key(micros: i64, west: i32) -> [u8; TIMETZ_BYTES] {
    let utc = micros.wrapping_add(i64::from(west) * MICROS_PER_SECOND);
    let mut key = [0; TIMETZ_BYTES];
    key[..8].copy_from_slice(&(utc as u64 ^ 1 << 63).to_be_bytes());
    key[8..].copy_from_slice(&(west as u32 ^ 1 << 31).to_be_bytes());
    key
}

/// The time, and the seconds west of UTC, of such bytes; `None` of others.
#[must_use]
pub fn timetz_of_key(key: &[u8]) -> Option<(i64, i32)> {
    let key: &[u8; TIMETZ_BYTES] = key.try_into().ok()?;
    let utc = (u64::from_be_bytes(key[..8].try_into().ok()?) ^ 1 << 63) as i64;
    let west = (u32::from_be_bytes(key[8..].try_into().ok()?) ^ 1 << 31) as i32;
    let micros = utc.checked_sub(i64::from(west) * MICROS_PER_SECOND)?;
    (0..=MICROS_PER_DAY).contains(&micros).then_some((micros, west))
}

/// The microseconds of an interval, if a month has 30 days and a day 24 hours.
#[must_use]
pub fn interval_total(months: i32, days: i32, micros: i64) -> i128 {
    let days = i128::from(months) * DAYS_PER_MONTH + i128::from(days);
    days * i128::from(MICROS_PER_DAY) + i128::from(micros)
}

/// The bytes of an interval: the total, then what tells equal ones apart.
#[must_use]
pub fn interval_key(months: i32, days: i32, micros: i64) -> [u8; INTERVAL_BYTES] {
    let mut key = [0; INTERVAL_BYTES];
    // Ten bytes hold every total.
    let total = (interval_total(months, days, micros) + (1 << 79)).to_be_bytes();
    key[..INTERVAL_TOTAL_BYTES].copy_from_slice(&total[16 - INTERVAL_TOTAL_BYTES..]);
    key[10..14].copy_from_slice(&(months as u32 ^ 1 << 31).to_be_bytes());
    key[14..].copy_from_slice(&(days as u32 ^ 1 << 31).to_be_bytes());
    key
}

/// The total of the first bytes of such bytes, which are the key of an index; `None` of others.
#[must_use]
pub fn total_of_interval_key(key: &[u8]) -> Option<i128> {
    let mut total = [0; 16];
    total[16 - INTERVAL_TOTAL_BYTES..].copy_from_slice(key.get(..INTERVAL_TOTAL_BYTES)?);
    Some(i128::from_be_bytes(total) - (1 << 79))
}

/// The months, days and microseconds of such bytes; `None` of others.
#[must_use]
pub fn interval_of_key(key: &[u8]) -> Option<(i32, i32, i64)> {
    let key: &[u8; INTERVAL_BYTES] = key.try_into().ok()?;
    let number = |bytes: &[u8]| bytes.try_into().ok().map(|bytes| (u32::from_be_bytes(bytes) ^ 1 << 31) as i32);
    let (months, days) = (number(&key[10..14])?, number(&key[14..])?);
    let micros = total_of_interval_key(key)? - interval_total(months, days, 0);
    Some((months, days, i64::try_from(micros).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (micros, digits, expected) in [
            (1_500_000, 0, 2_000_000),
            (-1_500_000, 0, -2_000_000),
            (1_499_999, 0, 1_000_000),
            (123_456, 2, 120_000),
            (125_000, 2, 130_000),
            (123_456, 6, 123_456),
        ] {
            assert_eq!(rounded(micros, digits), Some(expected), "{micros} to {digits}");
        }
        assert_eq!(rounded(i64::MAX, 0), None);
        assert_eq!(rounded_timestamp(i64::MAX, 0), Some(i64::MAX));
        assert_eq!(rounded_timestamp(i64::MIN, 0), Some(i64::MIN));
    }

    #[test]
    fn timestamps_are_rounded_away_from_the_year_2000() {
        let before = EPOCH_2000 - MICROS_PER_SECOND / 2;
        assert_eq!(rounded_timestamp(before, 0), Some(EPOCH_2000 - MICROS_PER_SECOND));
        assert_eq!(rounded_timestamp(EPOCH_2000 + MICROS_PER_SECOND / 2, 0), Some(EPOCH_2000 + MICROS_PER_SECOND));
    }

    #[test]
    fn keys_read_back() {
        for (micros, west) in [(0, 0), (MICROS_PER_DAY, -50_000), (1, 50_000)] {
            assert_eq!(timetz_of_key(&timetz_key(micros, west)), Some((micros, west)));
        }
        assert_eq!(timetz_of_key(&timetz_key(-1, 0)), None);
        for interval in [(0, 0, 0), (i32::MIN, i32::MIN, i64::MIN), (i32::MAX, i32::MAX, i64::MAX), (-1, 31, 5)] {
            let (months, days, micros) = interval;
            assert_eq!(interval_of_key(&interval_key(months, days, micros)), Some(interval));
        }
        assert_eq!(interval_of_key(&[0; INTERVAL_BYTES]), None);
        assert_eq!(interval_of_key(&[0; 3]), None);
    }
}
