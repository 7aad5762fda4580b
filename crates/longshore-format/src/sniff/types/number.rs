//! Numbers: which types hold one without loss.

use super::{Reading, TypeSet, bit};

/// Significant digits that every double of normal size gives back.
const DOUBLE_DIGITS_SAFE: usize = 15;
/// Significant digits that the shortest text of a double has at most.
const DOUBLE_DIGITS_MAX: usize = 17;
/// Powers of ten within which doubles are of normal size.
const EXPONENT_SAFE: i32 = 290;

/// A number taken apart.
struct Number {
    negative: bool,
    /// Digits before and behind the point.
    integer: Vec<u8>,
    fraction: Vec<u8>,
    has_point: bool,
    exponent: Option<i32>,
}

/// The types of a number; `None` if `text` is none, or is one that only text keeps as it is (leading zeros).
pub(super) fn classify(text: &[u8], reading: &Reading) -> Option<TypeSet> {
    let number = Number::read(text, reading)?;
    let mut kinds = 0;
    if number.is_double() {
        kinds |= bit::DOUBLE;
    }
    let digits = number.integer.iter().filter(|digit| **digit != b'0').count().min(1) * number.integer.len();
    if number.exponent.is_none() {
        kinds |= bit::DECIMAL;
        if !number.has_point && number.integer.len() <= 19 {
            let magnitude = number.integer.iter().fold(0_i128, |value, digit| value * 10 + i128::from(digit - b'0'));
            let value = if number.negative { -magnitude } else { magnitude };
            if i64::try_from(value).is_ok() {
                kinds |= bit::BIG_INT;
            }
            if i32::try_from(value).is_ok() {
                kinds |= bit::INTEGER;
            }
        }
    }
    let length = |digits: usize| u16::try_from(digits).unwrap_or(u16::MAX / 2).min(u16::MAX / 2);
    Some(TypeSet {
        kinds,
        integer_digits: if number.exponent.is_none() { length(digits) } else { 0 },
        fraction_digits: if number.exponent.is_none() { length(number.fraction.len()) } else { 0 },
        ..TypeSet::TEXT
    })
}

/// Whether the text is one of the words that floats have.
pub(super) fn is_special(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let word = |word: &[u8]| unsigned.eq_ignore_ascii_case(word);
    word(b"inf") || word(b"infinity") || text.eq_ignore_ascii_case(b"nan")
}

impl Number {
    fn read(text: &[u8], reading: &Reading) -> Option<Number> {
        let (negative, rest) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            None => (rest, None),
            Some(at) => (&rest[..at], Some(exponent(&rest[at + 1..])?)),
        };
        let point = mantissa.iter().position(|byte| *byte == reading.decimal_separator);
        let (integer, fraction) = match point {
            None => (mantissa, &[][..]),
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        };
        let integer = match reading.thousands_separator {
            Some(separator) if integer.contains(&separator) => ungrouped(integer, separator)?,
            _ => integer.to_vec(),
        };
        // A comma at the end is more likely a delimiter.
        if point.is_some() && fraction.is_empty() && reading.decimal_separator != b'.' {
            return None;
        }
        let is_digits = integer.iter().chain(fraction).all(u8::is_ascii_digit);
        if !is_digits || integer.is_empty() && fraction.is_empty() || integer.len() > 1 && integer[0] == b'0' {
            return None;
        }
        Some(Number { negative, integer, fraction: fraction.to_vec(), has_point: point.is_some(), exponent })
    }

    /// Whether a double gives back the digits of this number.
    fn is_double(&self) -> bool {
        let digits: Vec<u8> = self.integer.iter().chain(&self.fraction).copied().collect();
        let Some(first) = digits.iter().position(|digit| *digit != b'0') else { return true };
        let last = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(first);
        let significant = &digits[first..=last];
        // The power of ten of the first significant digit.
        let power = self.integer.len() as i32 - 1 - first as i32 + self.exponent.unwrap_or(0);
        if significant.len() <= DOUBLE_DIGITS_SAFE && power.abs() <= EXPONENT_SAFE {
            return true;
        }
        significant.len() <= DOUBLE_DIGITS_MAX && comes_back(significant, power)
    }
}

/// Whether the shortest text of the double nearest to 0.`digits` times a power of ten has these digits.
fn comes_back(digits: &[u8], power: i32) -> bool {
    let text = String::from_utf8_lossy(digits);
    let Ok(number) = format!("{}.{}e{power}", &text[..1], &text[1..]).parse::<f64>() else { return false };
    if !number.is_finite() || number == 0.0 {
        return false;
    }
    let shortest = format!("{number:e}");
    let Some((mantissa, shortest_power)) = shortest.split_once('e') else { return false };
    let shortest_digits = mantissa.bytes().filter(|byte| *byte != b'.');
    shortest_power.parse() == Ok(power) && shortest_digits.eq(digits.iter().copied())
}

/// The number behind an `e`.
fn exponent(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text.split_first()? {
        (b'-', digits) => (-1, digits),
        (b'+', digits) => (1, digits),
        _ => (1, text),
    };
    if digits.is_empty() || digits.len() > 6 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(sign * digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0')))
}

/// Digits without the separators between groups of three; `None` if the groups are others.
fn ungrouped(text: &[u8], separator: u8) -> Option<Vec<u8>> {
    let mut groups = text.split(|byte| *byte == separator);
    let mut digits = groups.next().filter(|group| (1..=3).contains(&group.len()))?.to_vec();
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        digits.extend_from_slice(group);
    }
    Some(digits)
}
