//! Booleans, integers, decimals and floats.

use std::fmt::{self, Display, Write as _};

use longshore_value::float::{Double, Real};

use super::append;
use super::digits::{Digits, EIGHT, digits_8, digits_16};

/// Digits of the largest 128-bit number.
const DIGITS_MAX: usize = 39;

/// Appends `t` or `f`, as PostgreSQL does.
#[inline]
pub fn boolean(out: &mut Vec<u8>, value: bool) {
    out.push(if value { b't' } else { b'f' });
}

/// Appends an integer.
#[inline]
pub fn integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

/// Appends an integer that has no sign.
#[inline]
pub fn unsigned(out: &mut Vec<u8>, value: u64) {
    if value < EIGHT {
        let Digits { text, leading_zeros } = digits_8(value);
        append(out, (text >> (8 * leading_zeros)).to_le_bytes(), 8 - leading_zeros as usize);
    } else if value < EIGHT * EIGHT {
        let Digits { text, leading_zeros } = digits_16(value);
        append(out, (text >> (8 * leading_zeros)).to_le_bytes(), 16 - leading_zeros as usize);
    } else {
        unsigned(out, value / (EIGHT * EIGHT));
        append(out, digits_16(value % (EIGHT * EIGHT)).text.to_le_bytes(), 16);
    }
}

/// Appends a decimal of `value` units of 10 to the power of minus `scale`, with all digits behind the point, and
/// at least one before it.
///
/// # Panics
///
/// If `scale` exceeds 38.
#[inline]
pub fn decimal(out: &mut Vec<u8>, value: i128, scale: u8) {
    if value < 0 {
        out.push(b'-');
    }
    match u64::try_from(value.unsigned_abs()) {
        Ok(value) if value < EIGHT && scale < 8 => {
            let Digits { text, leading_zeros } = digits_8(value);
            // Zeros up to the digit before the point stay.
            let point = 8 - u32::from(scale);
            let start = leading_zeros.min(point - 1);
            append(out, (text >> (8 * start)).to_le_bytes(), (point - start) as usize);
            if scale > 0 {
                let fraction = text >> (8 * point) << 8 | u64::from(b'.');
                append(out, fraction.to_le_bytes(), usize::from(scale) + 1);
            }
        }
        Ok(value) if value < EIGHT * EIGHT && scale < 16 => {
            let Digits { text, leading_zeros } = digits_16(value);
            let point = 16 - u32::from(scale);
            let start = leading_zeros.min(point - 1);
            append(out, (text >> (8 * start)).to_le_bytes(), (point - start) as usize);
            if scale > 0 {
                let fraction = text >> (8 * point) << 8 | u128::from(b'.');
                append(out, fraction.to_le_bytes(), usize::from(scale) + 1);
            }
        }
        _ => long_decimal(out, value.unsigned_abs(), scale),
    }
}

/// [`decimal`] for numbers of many digits, without the sign.
fn long_decimal(out: &mut Vec<u8>, mut number: u128, scale: u8) {
    const PART: u128 = (EIGHT * EIGHT) as u128;
    let scale = usize::from(scale);
    assert!(scale < DIGITS_MAX, "a scale of {scale} digits");
    let mut digits = [b'0'; 48];
    for part in digits.rchunks_exact_mut(16) {
        part.copy_from_slice(&digits_16((number % PART) as u64).text.to_le_bytes());
        number /= PART;
    }
    let point = digits.len() - scale;
    let start = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len()).min(point - 1);
    out.extend_from_slice(&digits[start..point]);
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(&digits[point..]);
    }
}

/// Appends the shortest decimal that is read as the same number, or `NaN`, `Infinity` or `-Infinity`, as PostgreSQL shows it.
pub fn float64(out: &mut Vec<u8>, value: f64) {
    shown(out, Double(value));
}

/// [`float64`] in single precision.
pub fn float32(out: &mut Vec<u8>, value: f32) {
    shown(out, Real(value));
}

fn shown(out: &mut Vec<u8>, value: impl Display) {
    write!(Appended(out), "{value}").expect("writing to memory does not fail");
}

/// Formatted text goes to the end of bytes, without `std::io`.
struct Appended<'a>(&'a mut Vec<u8>);

impl fmt::Write for Appended<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::exact;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_written_as_rust_does() {
        let mut number = 1_i64;
        for _ in 0..64 {
            for value in [number, number.wrapping_neg(), number.wrapping_sub(1)] {
                assert_eq!(written(|out| integer(out, value)), value.to_string());
            }
            number = number.wrapping_mul(2);
        }
        for value in -1100..1100 {
            assert_eq!(written(|out| integer(out, value)), value.to_string());
        }
        assert_eq!(written(|out| integer(out, i64::MIN)), "-9223372036854775808");
        for digits in 0..19 {
            for value in
                [10_u64.pow(digits) - 1, 10_u64.pow(digits), 7 * 10_u64.pow(digits), u64::MAX - u64::from(digits)]
            {
                assert_eq!(written(|out| unsigned(out, value)), value.to_string());
            }
        }
    }

    #[test]
    fn decimals_have_all_their_places() {
        assert_eq!(written(|out| decimal(out, 0, 2)), "0.00");
        assert_eq!(written(|out| decimal(out, -5, 2)), "-0.05");
        assert_eq!(written(|out| decimal(out, 123_456, 2)), "1234.56");
        assert_eq!(written(|out| decimal(out, 42, 0)), "42");
        assert_eq!(written(|out| decimal(out, 10_i128.pow(18), 18)), "1.000000000000000000");
        assert_eq!(written(|out| decimal(out, 10_i128.pow(37), 37)), format!("1.{}", "0".repeat(37)));
        assert_eq!(written(|out| decimal(out, -(10_i128.pow(38) - 1), 38)), format!("-0.{}", "9".repeat(38)));
        assert_eq!(written(|out| decimal(out, 3 * 10_i128.pow(18) + 7, 0)), "3000000000000000007");
        assert_eq!(written(|out| decimal(out, 10_i128.pow(36), 0)), format!("1{}", "0".repeat(36)));
    }

    /// The digits of the standard library, and a point between them.
    fn obvious_decimal(value: i128, scale: usize) -> String {
        let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if value < 0 { "-" } else { "" };
        if scale > 0 { format!("{sign}{whole}.{fraction}") } else { format!("{sign}{whole}") }
    }

    #[test]
    fn decimals_are_the_obvious_ones() {
        for scale in 0..=38_u8 {
            for digits in 0..39 {
                let power = 10_i128.pow(digits.min(38));
                for value in [power - 1, power, power / 3, 7 * (power / 10) + 5, i128::MAX / power] {
                    for value in [value, -value] {
                        assert_eq!(written(|out| decimal(out, value, scale)), obvious_decimal(value, scale.into()));
                    }
                }
            }
        }
    }

    #[test]
    fn decimals_are_read_back() {
        for scale in 0..=38 {
            let mut value = 10_i128.pow(38) - 1;
            while value != 0 {
                for value in [value, -value] {
                    let text = written(|out| decimal(out, value, scale));
                    assert_eq!(exact::decimal128(text.as_bytes(), 38, scale), Ok(value), "{text}");
                }
                value /= 7;
            }
        }
    }

    #[test]
    fn floats_are_read_back() {
        let doubles = [
            0.0,
            -0.0,
            1.0,
            0.1,
            123_456.789,
            1e15,
            1e16,
            1e-5,
            1e-6,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::EPSILON,
        ];
        for value in doubles {
            let text = written(|out| float64(out, value));
            let read = exact::float64(text.as_bytes()).unwrap();
            assert_eq!(read.to_bits(), value.to_bits(), "{text}");
            assert!(text.len() <= 24, "{text}");
        }
        let singles = [0.0, -0.0, 0.1, 16_777_216.0, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::NEG_INFINITY];
        for value in singles {
            let text = written(|out| float32(out, value));
            let read = exact::float32(text.as_bytes()).unwrap();
            assert_eq!(read.to_bits(), value.to_bits(), "{text}");
        }
        assert!(exact::float64(written(|out| float64(out, f64::NAN)).as_bytes()).unwrap().is_nan());
    }
}
