//! Dates and times: ISO's forms, and the layouts of [`Layout`].

use longshore_csv::decode::exact;

use super::{Layout, TypeSet, bit};

/// Bytes that the text of a date or time has at most.
const MOMENT_BYTES_MAX: usize = 40;
/// Digits of a second's fraction that are kept.
const FRACTION_DIGITS_MAX: usize = 6;

/// The types of a date or time; `None` if `text` is none that keeps its value.
pub(super) fn classify(text: &[u8]) -> Option<TypeSet> {
    if text.len() < 4 || text.len() > MOMENT_BYTES_MAX {
        return None;
    }
    let only = |kinds| Some(TypeSet { kinds, ..TypeSet::TEXT });
    if fraction_digits(text) > FRACTION_DIGITS_MAX {
        return None;
    }
    if exact::date(text).is_ok() {
        return only(bit::DATE | bit::TIMESTAMP);
    }
    if exact::timestamp(text).is_ok() {
        return only(bit::TIMESTAMP);
    }
    if exact::timestamptz(text).is_ok() {
        return only(bit::TIMESTAMP_TZ);
    }
    if is_time(text) {
        return only(bit::TIME);
    }
    let layouts = Layout::bits_of(text);
    (layouts != 0).then_some(TypeSet { layouts, ..TypeSet::TEXT })
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
