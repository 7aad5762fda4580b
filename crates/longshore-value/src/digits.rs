//! Decides how a run of decimal digits is rounded: half away from zero.
//!
//! Not here: signs, points and exponents (`decimal`).

/// `POWERS_OF_TEN[n]` is 10 to the power of `n`; 38 is the last that 128 bits hold with a sign.
pub const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1; 39];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// The whole number of the first `count` of some ASCII digits, with zeros in the place of missing ones. The digit behind
/// them rounds it: from 5 on, up. As the number has no sign yet, this rounds halves away from zero.
///
/// `count` is at most 38.
#[inline]
pub fn rounded(digits: impl IntoIterator<Item = u8>, count: usize) -> i128 {
    let mut digits = digits.into_iter();
    let mut number = 0;
    for _ in 0..count {
        number = number * 10 + digits.next().map_or(0, |digit| i128::from(digit - b'0'));
    }
    number + i128::from(digits.next().is_some_and(|digit| digit >= b'5'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (digits, count, expected) in [
            ("", 0, 0),
            ("", 6, 0),
            ("4", 0, 0),
            ("5", 0, 1),
            ("49", 0, 0),
            ("5", 6, 500_000),
            ("123456", 6, 123_456),
            ("1234564999", 6, 123_456),
            ("1234565", 6, 123_457),
            ("9999995", 6, 1_000_000),
            ("99999999999999999999999999999999999999", 38, 99_999_999_999_999_999_999_999_999_999_999_999_999),
        ] {
            assert_eq!(rounded(digits.bytes(), count), expected, "{digits:?} to {count}");
        }
    }
}
