//! Numbers in the form that PostgreSQL's numeric prints: no exponent, and as many digits behind the point as were given.
//!
//! Their digits are all that is needed to compare them, so numbers of any length are exact. Not here: computing with them
//! (`arithmetic`).

use std::cmp::Ordering;
use std::fmt;

use crate::error::{JsonError, Problem};

/// Digits before and behind the point, at most; as in PostgreSQL.
const INTEGER_DIGITS_MAX: i64 = 131_072;
const SCALE_MAX: i64 = 16_383;

/// A number, as numeric prints it.
#[derive(Debug, Clone)]
pub struct Number(String);

impl Number {
    /// The number that `text`, which is one in JSON, stands for.
    ///
    /// # Errors
    /// If it is beyond the bounds of numeric.
    pub fn new(text: &str) -> Result<Self, JsonError> {
        let (is_negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let scale = (fraction.len() as i64 - exponent).max(0);
        let digits = [whole, fraction].concat();
        // Where the point is in the digits; may be before or behind all of them.
        let point = whole.len() as i64 + exponent;
        let leading = digits.len() - digits.trim_start_matches('0').len();
        let is_zero = leading == digits.len();
        if scale > SCALE_MAX || (!is_zero && point - leading as i64 > INTEGER_DIGITS_MAX) {
            return Err(overflow());
        }
        let mut out = String::with_capacity(digits.len() + 3);
        if is_negative && !is_zero {
            out.push('-');
        }
        if is_zero || point <= leading as i64 {
            out.push('0');
        } else {
            let whole = &digits[leading.min(digits.len())..(point as usize).min(digits.len())];
            out.push_str(whole);
            out.extend(std::iter::repeat_n('0', (point as usize).saturating_sub(digits.len())));
        }
        if scale > 0 {
            out.push('.');
            let start = out.len();
            if is_zero {
                out.extend(std::iter::repeat_n('0', scale as usize));
            } else {
                out.extend(std::iter::repeat_n('0', (-point).max(0) as usize));
                out.push_str(&digits[(point.max(0) as usize).min(digits.len())..]);
                let missing = (scale as usize).saturating_sub(out.len() - start);
                out.extend(std::iter::repeat_n('0', missing));
            }
        }
        Ok(Self(out))
    }

    /// A number that is in this form already.
    pub(crate) fn of_numeric(text: String) -> Self {
        Self(text)
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Sign, digits before the point without zeros in front, digits behind it without zeros at the end.
    pub(crate) fn parts(&self) -> (bool, &str, &str) {
        let (is_negative, unsigned) = self.0.strip_prefix('-').map_or((false, self.0.as_str()), |rest| (true, rest));
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        (is_negative, whole.trim_start_matches('0'), fraction.trim_end_matches('0'))
    }

    /// Whether it is whole, and which number it is; `None` if it does not fit.
    #[must_use]
    pub fn truncated(&self) -> Option<i64> {
        let (is_negative, whole, _) = self.parts();
        let value: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        i64::try_from(if is_negative { -value } else { value }).ok()
    }

    /// The nearest float; infinite if it is beyond all of them.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(number.to_string())
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let (is_negative, whole, fraction) = self.parts();
        let (is_other_negative, other_whole, other_fraction) = other.parts();
        match (is_negative, is_other_negative) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        let size = whole.len().cmp(&other_whole.len()).then_with(|| whole.cmp(other_whole));
        let size = size.then_with(|| fraction.cmp(other_fraction));
        if is_negative { size.reverse() } else { size }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn overflow() -> JsonError {
    JsonError::new(Problem::OutOfRange, "value overflows numeric format")
}

fn exponent_of(text: &str) -> Result<i64, JsonError> {
    text.parse::<i64>().ok().filter(|exponent| exponent.abs() < i64::from(i32::MAX / 2)).ok_or_else(overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_numerics() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("1.50", "1.50"),
            ("1e3", "1000"),
            ("1.5e1", "15"),
            ("1.50e1", "15.0"),
            ("1E-2", "0.01"),
            ("12.5e-3", "0.0125"),
            ("-12.5e+2", "-1250"),
            ("0e5", "0"),
            ("0.00e1", "0.0"),
            ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
        ] {
            assert_eq!(Number::new(text).unwrap().as_str(), expected, "{text}");
        }
        for text in ["1e131072", "1e-16384", "1e99999999999999999999", "1e2000000000"] {
            assert!(Number::new(text).is_err(), "{text}");
        }
        assert!(Number::new("0e131072").is_ok());
    }

    #[test]
    fn numbers_compare_by_their_values() {
        let ordered = ["-100", "-10.5", "-10", "-0.1", "0", "0.05", "0.5", "1", "1.01", "9", "10", "1e20"];
        for (at, left) in ordered.iter().enumerate() {
            for (other, right) in ordered.iter().enumerate() {
                let order = Number::new(left).unwrap().cmp(&Number::new(right).unwrap());
                assert_eq!(order, at.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(Number::new("1.0").unwrap(), Number::new("1").unwrap());
    }
}
