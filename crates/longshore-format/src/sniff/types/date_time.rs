//! Dates and times: ISO's forms, and the layouts of [`Layout`].

use longshore_csv::decode::{DateTimeFormat, ValueType, exact};

use super::{Formats, Layout, TypeSet, bit};

/// Bytes that the text of a date or time has at most.
const DATE_TIME_BYTES_MAX: usize = 40;
/// Digits of a second's fraction that are kept.
const FRACTION_DIGITS_MAX: usize = 6;

/// The types of a date or time; `None` if `text` is none that keeps its value.
pub(super) fn classify(text: &[u8], formats: &Formats) -> Option<TypeSet> {
    if text.len() < 4 || text.len() > DATE_TIME_BYTES_MAX || fraction_digits(text) > FRACTION_DIGITS_MAX {
        return None;
    }
    let of = |format: &Option<DateTimeFormat>, value_type, iso: fn(&[u8]) -> bool| match format {
        Some(format) => format.matches(value_type, text),
        None => iso(text),
    };
    let mut kinds = 0;
    if of(&formats.date, ValueType::Date, |text| exact::date(text).is_ok()) {
        kinds |= bit::DATE;
    }
    if of(&formats.timestamp, ValueType::Timestamp, |text| exact::timestamp(text).is_ok()) {
        kinds |= bit::TIMESTAMP;
    }
    if kinds == 0 && of(&formats.timestamp, ValueType::TimestampTz, |text| exact::timestamptz(text).is_ok()) {
        kinds |= bit::TIMESTAMP_TZ;
    }
    if kinds == 0 && of(&formats.time, ValueType::Time, is_time) {
        kinds |= bit::TIME;
    }
    if kinds != 0 {
        return Some(TypeSet { kinds, ..TypeSet::TEXT });
    }
    if formats.date.is_some() || formats.timestamp.is_some() {
        return None;
    }
    let layouts = Layout::bits_of(text);
    (layouts != 0).then_some(TypeSet { layouts, ..TypeSet::TEXT })
}

/// Whether what a decoder has read has no more digits of a second than are kept.
pub(super) fn is_kept(text: &[u8]) -> bool {
    fraction_digits(text) <= FRACTION_DIGITS_MAX
}

/// Digits behind the last point that stands behind a colon.
fn fraction_digits(text: &[u8]) -> usize {
    let Some(colon) = text.iter().rposition(|byte| *byte == b'.') else { return 0 };
    text[colon + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether the text is a time of day with two digits each for minutes and seconds: `2:1` may be anything.
fn is_time(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b':');
    let hours = parts.next().is_some_and(|part| (1..=2).contains(&part.len()));
    let minutes = parts.next().is_some_and(|part| part.len() == 2);
    let seconds = parts.next().is_none_or(|part| part.len() == 2 || part.get(2) == Some(&b'.'));
    hours && minutes && seconds && exact::time(text).is_ok()
}
