//! Decides what a number is as a DECIMAL(p,s): a whole number of units of 10 to the power of -s, below 10 to the power
//! of p.
//!
//! [`units`] is the rule. [`plain`] is a fast path beside it, for numbers without an exponent that need no rounding.
//!
//! Not here: which spellings a number may have in text, and what is expected where it is not one (`csv/decode/exact/number`).

use crate::digits::{POWERS_OF_TEN, rounded};

/// Digits that every `i64` holds.
const I64_DIGITS: usize = 18;

/// Whether a number of units has no more than `precision` digits, which are at most 38.
#[inline]
#[must_use]
pub fn fits(units: i128, precision: u8) -> bool {
    units.unsigned_abs() < POWERS_OF_TEN[usize::from(precision)].unsigned_abs()
}

/// The units of a number without its sign: ASCII digits before and behind the point, times 10 to the power of
/// `exponent`. Digits beyond `scale` are rounded, halves away from zero. `None` if it needs more than `precision` digits.
#[must_use]
pub fn units(integer: &[u8], fraction: &[u8], exponent: i64, precision: u8, scale: u8) -> Option<i128> {
    let mut digits = integer.iter().chain(fraction).copied();
    let zeros = digits.clone().take_while(|digit| *digit == b'0').count();
    if zeros == integer.len() + fraction.len() {
        return Some(0);
    }
    // The value is the first `kept` of the significant digits, followed by zeros if there are fewer.
    let kept = integer.len() as i64 - zeros as i64 + exponent + i64::from(scale);
    if kept < 0 {
        return Some(0);
    }
    if kept > i64::from(precision) {
        return None;
    }
    if zeros > 0 {
        digits.nth(zeros - 1);
    }
    Some(rounded(digits, kept as usize)).filter(|units| fits(*units, precision))
}

/// The units of a number that is written plainly, such as `-12.50`. `None` for every other spelling, for a number that
/// [`units`] would round, and for one that needs more than `precision` digits, which are at most 18.
#[inline]
#[must_use]
pub fn plain(text: &str, precision: u8, scale: u8) -> Option<i64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let zeros = usize::from(scale).checked_sub(fraction.len())?;
    if whole.is_empty() || whole.len() + fraction.len() + zeros > I64_DIGITS {
        return None;
    }
    let mut digits = 0_i64;
    for byte in whole.bytes().chain(fraction.bytes()) {
        digits = digits * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    digits *= 10_i64.pow(zeros as u32);
    (digits < 10_i64.pow(precision.into())).then_some(sign * digits)
}

/// The same of up to 38 digits.
#[must_use]
pub fn plain_long(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let are_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits || fraction.len() > usize::from(scale) {
        return None;
    }
    Some(sign * units(whole.as_bytes(), fraction.as_bytes(), 0, precision, scale)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_decimals_are_read_as_short_ones_are() {
        let texts = [
            "0", "-0", "12.5", "-12.50", "12.505", "5.", ".5", "", "-", "1e3", "+1", " 1", "99999", "100000", "1.2.3",
            "x",
        ];
        for text in texts {
            assert_eq!(plain_long(text, 7, 2), plain(text, 7, 2).map(i128::from), "{text:?}");
        }
        assert_eq!(
            plain_long("-123456789012345678901234567890.125", 33, 3),
            Some(-123_456_789_012_345_678_901_234_567_890_125)
        );
        assert_eq!(plain_long("123456789012345678901234567890.125", 32, 3), None);
        assert_eq!(plain_long("1.0005", 38, 3), None);
    }

    #[test]
    fn precision_counts_digits() {
        for (units, precision, expected) in [
            (0, 1, true),
            (9, 1, true),
            (10, 1, false),
            (-9, 1, true),
            (-10, 1, false),
            (10_i128.pow(38) - 1, 38, true),
            (10_i128.pow(38), 38, false),
            (i128::MIN, 38, false),
        ] {
            assert_eq!(fits(units, precision), expected, "{units} in {precision} digits");
        }
    }

    #[test]
    fn numbers_become_units_of_the_last_place() {
        for (integer, fraction, exponent, expected) in [
            ("12", "5", 0, Some(1250)),
            ("12", "", 0, Some(1200)),
            ("", "5", 0, Some(50)),
            ("0", "004", 0, Some(0)),
            ("0", "005", 0, Some(1)),
            ("0", "00499999999999999999999999999999999999999999", 0, Some(0)),
            ("0", "0005", 0, Some(0)),
            ("0", "0005", 1, Some(1)),
            ("1", "5", 3, Some(150_000)),
            ("1500", "", -3, Some(150)),
            ("00000000000000000000000000000000000000000012", "5", 0, Some(1250)),
            ("99999", "994", 0, Some(9_999_999)),
            ("99999", "995", 0, None),
            ("100000", "", 0, None),
            ("1", "", 1_000_000_000, None),
            ("1", "", -1_000_000_000, Some(0)),
            ("0", "00", 1_000_000_000, Some(0)),
        ] {
            let found = units(integer.as_bytes(), fraction.as_bytes(), exponent, 7, 2);
            assert_eq!(found, expected, "{integer}.{fraction}e{exponent}");
        }
    }

    #[test]
    fn plain_numbers_are_read_and_others_left() {
        for (text, expected) in [
            ("12.5", Some(1250)),
            ("-12.50", Some(-1250)),
            ("0", Some(0)),
            ("99999.99", Some(9_999_999)),
            ("5.", Some(500)),
            ("007", Some(700)),
            ("100000", None),
            ("0.001", None),
            ("0.000", None),
            (".5", None),
            ("1e3", None),
            ("", None),
            ("-", None),
            ("--1", None),
            (" 1", None),
            ("+1", None),
            ("1.2.3", None),
            ("\u{661}", None),
            ("999999999999999999999", None),
        ] {
            assert_eq!(plain(text, 7, 2), expected, "{text:?}");
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_rule() {
        for text in ["0", "0.00", "1", "12.5", "99999.99", "00001.2", "100000", "5.", "99999"] {
            let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
            for (precision, scale) in [(7, 2), (18, 0), (18, 2), (18, 12), (2, 2), (1, 0)] {
                if let Some(found) = plain(text, precision, scale) {
                    let expected = units(integer.as_bytes(), fraction.as_bytes(), 0, precision, scale);
                    assert_eq!(Some(found.into()), expected, "{text} as DECIMAL({precision},{scale})");
                }
            }
        }
    }
}
