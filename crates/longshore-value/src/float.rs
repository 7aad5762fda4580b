//! Decides how floating-point numbers are shown: with as few digits as lead back to them, as in PostgreSQL.

use core::fmt::{self, Display, LowerExp, Write as _};

/// Doubles from 0.0001 up to here are shown without an exponent, and REALs up to there.
const DOUBLE_PLAIN_MAX: f64 = 1e15;
const REAL_PLAIN_MAX: f64 = 1e6;

/// A DOUBLE PRECISION as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Double(pub f64);

/// A REAL as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f32);

impl Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(f, self.0, DOUBLE_PLAIN_MAX, &self.0)
    }
}

impl Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(f, self.0.into(), REAL_PLAIN_MAX, &self.0)
    }
}

fn shown(f: &mut fmt::Formatter<'_>, value: f64, plain_max: f64, shortest: &(impl Display + LowerExp)) -> fmt::Result {
    let magnitude = value.abs();
    if value.is_nan() {
        f.write_str("NaN")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else if magnitude == 0.0 || (1e-4..plain_max).contains(&magnitude) {
        write!(f, "{shortest}")
    } else {
        let mut text = Text { bytes: [0; TEXT_BYTES], length: 0 };
        write!(text, "{shortest:e}")?;
        let text = core::str::from_utf8(&text.bytes[..text.length]).map_err(|_| fmt::Error)?;
        let (mantissa, exponent) = text.split_once('e').ok_or(fmt::Error)?;
        let (sign, digits) = exponent.strip_prefix('-').map_or(("+", exponent), |digits| ("-", digits));
        write!(f, "{mantissa}e{sign}{digits:0>2}")
    }
}

/// Bytes of a float with an exponent, at most.
const TEXT_BYTES: usize = 40;

/// A short text that is put together.
struct Text {
    bytes: [u8; TEXT_BYTES],
    length: usize,
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_shown(value: &impl Display, expected: &str) {
        let mut text = Text { bytes: [0; TEXT_BYTES], length: 0 };
        write!(text, "{value}").expect("there is room");
        assert_eq!(core::str::from_utf8(&text.bytes[..text.length]), Ok(expected));
    }

    #[test]
    fn floats_are_shown_as_postgresql_shows_them() {
        for (value, expected) in [
            (1.0, "1"),
            (0.1, "0.1"),
            (-0.0, "-0"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1e22, "1e+22"),
            (-1.5e300, "-1.5e+300"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_shown(&Double(value), expected);
        }
        assert_shown(&Real(0.1), "0.1");
        assert_shown(&Real(1_234_567.0), "1.234567e+06");
    }
}
