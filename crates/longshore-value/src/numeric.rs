//! Decides how a NUMERIC without a precision is kept as bytes, which spellings it has, and how it is shown.
//!
//! A value has digits, the scale that it is shown with, or is NaN or infinite. Its bytes are a *key*, by which values compare
//! as numbers do, byte by byte, whatever their scales; then the scale, in two bytes:
//!
//! ```text
//! key     header, one byte: -Infinity < negative < 0 < positive < Infinity < NaN
//!         the exponent to the base of 100 is part of the header if it is small, and else follows in two bytes
//!         the digits to the base of 100, each plus 1; a zero
//!         all of that complemented where the value is negative
//! scale   how many digits behind the point are shown
//! ```
//!
//! The digits have neither leading nor trailing zeros, so that a number has one key. The limits are PostgreSQL's: 131072
//! digits before the point, 16383 behind it. Not here: arithmetic (`longshore-engine`).

use core::fmt;

/// Digits behind the point, at most.
pub const SCALE_MAX: usize = 16_383;
/// Digits before the point, at most.
pub const WHOLE_DIGITS_MAX: usize = 131_072;

/// Bytes that the bytes of a number may be longer than its text.
pub const GROWTH_MAX: usize = 6;

const ZERO: u8 = 0x80;
/// A small exponent that follows, those that are part of the header, and a large one that follows.
const TINY: u8 = 0x81;
const EXPONENTS: u8 = 0x82;
const EXPONENT_MAX: i32 = 60;
const HUGE: u8 = EXPONENTS + 2 * EXPONENT_MAX as u8 + 1;
const INFINITY: u8 = 0xFE;
const NAN: u8 = 0xFF;
const END: u8 = 0;
/// What is added to exponents that follow a header.
const TINY_BIAS: i32 = 1 << 13;

const _: () = assert!(HUGE < INFINITY && TINY < EXPONENTS);

/// Bytes of the scale.
const SCALE_BYTES: usize = 2;

/// Why a text is no NUMERIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericError {
    /// It does not spell a number.
    Syntax,
    /// It has too many digits.
    Range,
    /// It has more digits than a [`Limit`] allows.
    Limit,
}

/// The digits that a NUMERIC(precision, scale) has, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Digits altogether, 1 to 1000.
    pub precision: u16,
    /// Digits behind the point, -1000 to 1000; the last digits before the point are zeros if it is negative.
    pub scale: i16,
}

impl Limit {
    /// Digits altogether, and the scales, at most.
    pub const MAX: u16 = 1000;

    /// The limit, if there is such a one.
    #[must_use]
    pub fn new(precision: u64, scale: i64) -> Option<Self> {
        let max = u64::from(Self::MAX);
        let is_possible = (1..=max).contains(&precision) && scale.unsigned_abs() <= max;
        is_possible.then_some(Self { precision: precision as u16, scale: scale as i16 })
    }
}

/// The bytes of a value, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numeric<'a> {
    /// Not a number.
    NaN,
    /// Greater than all numbers, or less.
    Infinity {
        /// Whether it is less.
        negative: bool,
    },
    /// A number.
    Finite(Finite<'a>),
}

/// The bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finite<'a> {
    /// Whether it is less than zero.
    pub negative: bool,
    /// The number is `0.digits` times 100 to the power of this.
    pub exponent: i32,
    /// Digits behind the point that are shown.
    pub scale: u16,
    /// As they are kept.
    digits: &'a [u8],
}

impl Finite<'_> {
    /// The digits to the base of 100; none if it is zero.
    #[must_use]
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = u8> + Clone + '_ {
        let negative = self.negative;
        self.digits.iter().map(move |byte| (if negative { !byte } else { *byte }).wrapping_sub(1))
    }
}

impl<'a> Numeric<'a> {
    /// Takes bytes apart; `None` if they are not those of a value.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let (key, scale) = bytes.split_last_chunk::<SCALE_BYTES>()?;
        let scale = u16::from_be_bytes(*scale);
        let value = Self::of_key(key)?;
        match value {
            Self::Finite(finite) if finite.scale > scale || usize::from(scale) > SCALE_MAX => None,
            Self::Finite(finite) => Some(Self::Finite(Finite { scale, ..finite })),
            special => (scale == 0).then_some(special),
        }
    }

    /// Takes a key apart, with the least scale that shows all of its digits.
    #[must_use]
    pub fn of_key(key: &'a [u8]) -> Option<Self> {
        let (first, rest) = key.split_first()?;
        let negative = *first < ZERO;
        let plain = |byte: u8| if negative { !byte } else { byte };
        let header = plain(*first);
        if matches!(header, NAN | INFINITY) {
            let is_whole = rest.is_empty() && !(negative && header == NAN);
            return is_whole.then_some(if header == NAN { Self::NaN } else { Self::Infinity { negative } });
        }
        if header == ZERO {
            let zero = Finite { negative: false, exponent: 0, scale: 0, digits: &[] };
            return (rest.is_empty() && !negative).then_some(Self::Finite(zero));
        }
        let (exponent, rest) = match header {
            TINY | HUGE => {
                let (exponent, rest) = rest.split_first_chunk::<2>()?;
                let exponent = i32::from(u16::from_be_bytes(exponent.map(plain)));
                (if header == TINY { exponent - TINY_BIAS } else { exponent + EXPONENT_MAX + 1 }, rest)
            }
            EXPONENTS..HUGE => (i32::from(header - EXPONENTS) - EXPONENT_MAX, rest),
            _ => return None,
        };
        let (end, digits) = rest.split_last()?;
        let is_digit = |byte: &u8| matches!(plain(*byte), 1..=100);
        let is_zero = |byte: Option<&u8>| byte.is_none_or(|byte| plain(*byte) == 1);
        if plain(*end) != END || is_zero(digits.first()) || is_zero(digits.last()) || !digits.iter().all(is_digit) {
            return None;
        }
        let last = digits.last().map_or(0, |byte| plain(*byte) - 1);
        let places = 2 * (digits.len() as i64 - i64::from(exponent)) - i64::from(last % 10 == 0);
        let scale = u16::try_from(places.max(0)).ok()?;
        Some(Self::Finite(Finite { negative, exponent, scale, digits }))
    }
}

/// The part of the bytes of a value that compares as the value does.
#[must_use]
pub fn key(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().saturating_sub(SCALE_BYTES)]
}

/// Gives the bytes of NaN to `push`.
pub fn push_nan(push: &mut impl FnMut(u8)) {
    [NAN, 0, 0].into_iter().for_each(push);
}

/// Gives the bytes of an infinite value to `push`.
pub fn push_infinity(negative: bool, push: &mut impl FnMut(u8)) {
    [if negative { !INFINITY } else { INFINITY }, 0, 0].into_iter().for_each(push);
}

/// Gives the bytes of a number to `push`: `0.pairs` times 100 to the power of `exponent`. The first and the last pair must
/// not be zero; no pair stands for zero. There must be no more digits behind the point than `scale` says.
#[inline]
pub fn push_pairs(
    negative: bool,
    exponent: i32,
    pairs: impl Iterator<Item = u8>,
    scale: u16,
    push: &mut impl FnMut(u8),
) {
    let mut pairs = pairs.peekable();
    if pairs.peek().is_none() {
        push(ZERO);
    } else {
        let mask = if negative { 0xFF } else { 0 };
        if (-EXPONENT_MAX..=EXPONENT_MAX).contains(&exponent) {
            push((EXPONENTS + (exponent + EXPONENT_MAX) as u8) ^ mask);
        } else {
            let (header, follows) =
                if exponent < 0 { (TINY, exponent + TINY_BIAS) } else { (HUGE, exponent - EXPONENT_MAX - 1) };
            push(header ^ mask);
            (follows as u16).to_be_bytes().into_iter().for_each(|byte| push(byte ^ mask));
        }
        for pair in pairs {
            push((pair + 1) ^ mask);
        }
        push(END ^ mask);
    }
    scale.to_be_bytes().into_iter().for_each(push);
}

/// Gives the bytes of the value that `text` spells, as PostgreSQL reads it, to `push`, rounded as `limit` says.
///
/// # Errors
/// When it is no number, or has too many digits.
pub fn read(text: &[u8], limit: Option<Limit>, push: &mut impl FnMut(u8)) -> Result<(), NumericError> {
    let text = text.trim_ascii();
    let (negative, unsigned) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    if unsigned.first().is_some_and(u8::is_ascii_alphabetic) {
        let is = |word: &[u8]| unsigned.eq_ignore_ascii_case(word);
        if text.eq_ignore_ascii_case(b"nan") {
            push_nan(push);
        } else if !is(b"inf") && !is(b"infinity") {
            return Err(NumericError::Syntax);
        } else if limit.is_some() {
            return Err(NumericError::Limit);
        } else {
            push_infinity(negative, push);
        }
        return Ok(());
    }
    let (whole, rest) = digits(unsigned);
    let (fraction, rest) = match rest.split_first() {
        Some((b'.', rest)) => digits(rest),
        _ => (&[][..], rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumericError::Syntax);
    }
    let exponent = match rest.split_first() {
        None => 0,
        Some((b'e' | b'E', rest)) => read_exponent(rest)?,
        _ => return Err(NumericError::Syntax),
    };
    let digit = |at: usize| if at < whole.len() { whole[at] } else { fraction[at - whole.len()] } - b'0';
    let number = Digits { negative, digit, count: whole.len() + fraction.len(), point: whole.len() as i64 + exponent };
    number.limited((fraction.len() as i64 - exponent).max(0), limit, push)
}

/// Gives the bytes of a value, rounded as `limit` says, to `push`.
///
/// # Errors
/// When it has too many digits.
pub fn limited(value: Numeric<'_>, limit: Limit, push: &mut impl FnMut(u8)) -> Result<(), NumericError> {
    match value {
        Numeric::NaN => push_nan(push),
        Numeric::Infinity { .. } => return Err(NumericError::Limit),
        Numeric::Finite(finite) => {
            let pair = |at: usize| finite.pairs().nth(at).unwrap_or(0);
            let digit = |at: usize| if at.is_multiple_of(2) { pair(at / 2) / 10 } else { pair(at / 2) % 10 };
            let count = 2 * finite.pairs().len();
            let number = Digits { negative: finite.negative, digit, count, point: 2 * i64::from(finite.exponent) };
            number.limited(finite.scale.into(), Some(limit), push)?;
        }
    }
    Ok(())
}

/// Decimal digits, of which the first may be zeros.
struct Digits<F> {
    negative: bool,
    digit: F,
    count: usize,
    /// How many stand before the point, if there were as many.
    point: i64,
}

impl<F: Fn(usize) -> u8> Digits<F> {
    fn limited(self, scale: i64, limit: Option<Limit>, push: &mut impl FnMut(u8)) -> Result<(), NumericError> {
        let Some(Limit { precision, scale: places }) = limit else { return self.push(scale, push) };
        let Self { negative, digit, count, point } = self;
        let scale = i64::from(places).max(0);
        let whole_max = i64::from(precision) - i64::from(places);
        let checked = |first: Option<usize>, point: i64| match first {
            Some(first) if point - first as i64 > whole_max => Err(NumericError::Limit),
            _ => Ok(()),
        };
        let kept = point + i64::from(places);
        let Some(kept) = usize::try_from(kept).ok().filter(|kept| *kept < count) else {
            if kept < 0 {
                return Digits { negative, digit, count: 0, point }.push(scale, push);
            }
            checked((0..count).find(|at| digit(*at) != 0), point)?;
            return Digits { negative, digit, count, point }.push(scale, push);
        };
        if digit(kept) < 5 {
            checked((0..kept).find(|at| digit(*at) != 0), point)?;
            return Digits { negative, digit, count: kept, point }.push(scale, push);
        }
        if let Some(raised) = (0..kept).rfind(|at| digit(*at) != 9) {
            let digit = |at| digit(at) + u8::from(at == raised);
            checked((0..=raised).find(|at| digit(*at) != 0), point)?;
            Digits { negative, digit, count: raised + 1, point }.push(scale, push)
        } else {
            checked(Some(0), point + 1)?;
            Digits { negative, digit: |_| 1, count: 1, point: point + 1 }.push(scale, push)
        }
    }

    fn push(self, scale: i64, push: &mut impl FnMut(u8)) -> Result<(), NumericError> {
        let Self { negative, digit, count, point } = self;
        if scale > SCALE_MAX as i64 {
            return Err(NumericError::Range);
        }
        let Some(first) = (0..count).find(|at| digit(*at) != 0) else {
            push_pairs(false, 0, core::iter::empty(), scale as u16, push);
            return Ok(());
        };
        let last = (0..count).rfind(|at| digit(*at) != 0).unwrap_or(first);
        // The number is 0.d1 d2 ... times ten to the power of this.
        let point = point - first as i64;
        if point > WHOLE_DIGITS_MAX as i64 {
            return Err(NumericError::Range);
        }
        // Of a pair that begins before the first digit, the first half is missing.
        let missing = point.rem_euclid(2) as usize;
        let pairs = (last + 1 - first + missing).div_ceil(2);
        let half = |half: usize| match half.checked_sub(missing) {
            Some(at) if first + at <= last => digit(first + at),
            _ => 0,
        };
        let pairs = (0..pairs).map(|pair| half(2 * pair) * 10 + half(2 * pair + 1));
        push_pairs(negative, (point + 1).div_euclid(2) as i32, pairs, scale as u16, push);
        Ok(())
    }
}

/// The digits that `text` begins with, and the rest.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

fn read_exponent(text: &[u8]) -> Result<i64, NumericError> {
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (found, rest) = digits(text);
    if found.is_empty() || !rest.is_empty() {
        return Err(NumericError::Syntax);
    }
    let value = found.iter().fold(0_i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1 << 40));
    Ok(if negative { -value } else { value })
}

/// Shown as PostgreSQL shows it, with all digits of its scale.
impl fmt::Display for Numeric<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finite = match self {
            Self::NaN => return f.write_str("NaN"),
            Self::Infinity { negative } => return f.write_str(if *negative { "-Infinity" } else { "Infinity" }),
            Self::Finite(finite) => finite,
        };
        if finite.negative {
            f.write_str("-")?;
        }
        let mut pairs = finite.pairs();
        let mut is_first = true;
        for _ in 0..finite.exponent.max(0) {
            let pair = pairs.next().unwrap_or(0);
            if is_first {
                write!(f, "{pair}")?;
            } else {
                write!(f, "{pair:02}")?;
            }
            is_first = false;
        }
        if is_first {
            f.write_str("0")?;
        }
        let mut left = usize::from(finite.scale);
        if left > 0 {
            f.write_str(".")?;
        }
        let mut zeros = finite.exponent.min(0).unsigned_abs();
        while left > 0 {
            let pair = if zeros > 0 {
                zeros -= 1;
                0
            } else {
                pairs.next().unwrap_or(0)
            };
            if left == 1 {
                write!(f, "{}", pair / 10)?;
            } else {
                write!(f, "{pair:02}")?;
            }
            left = left.saturating_sub(2);
        }
        Ok(())
    }
}
