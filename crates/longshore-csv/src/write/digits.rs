//! Decimal digits, eight at a time within a register.
//!
//! The number is halved into groups of four, two and one digit, each step one multiplication for all groups (after
//! Daniel Lemire and Junekey Jeon, who describe it for the printing of integers):
//!
//! ```text
//! 12345678                     one number
//! 1234    5678                 32 bits each
//! 12  34  56  78               16 bits each
//! 1 2 3 4 5 6 7 8              a byte each, the first digit lowest
//! ```

/// Numbers below this have at most eight digits.
pub(super) const EIGHT: u64 = 100_000_000;

/// `"00000000"`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Eight digits of a number below [`EIGHT`], not yet characters.
#[inline(always)]
fn eight(number: u64) -> u64 {
    debug_assert!(number < EIGHT, "{number} has more than eight digits");
    let (high, low) = (number / 10_000, number % 10_000);
    let fours = high | low << 32;
    let hundreds = (fours * 10_486) >> 20 & 0x7F_0000_007F;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = (twos * 103) >> 10 & 0x000F_000F_000F_000F;
    tens | (twos - tens * 10) << 8
}

/// Digits as text, leading zeros included, and how many zeros lead.
#[derive(Clone, Copy)]
pub(super) struct Digits<T> {
    /// Characters, the first one in the lowest byte.
    pub(super) text: T,
    /// Zeros before the first other digit; one digit at least is none of them.
    pub(super) leading_zeros: u32,
}

/// The eight digits of a number below [`EIGHT`].
#[inline(always)]
pub(super) fn digits_8(number: u64) -> Digits<u64> {
    let digits = eight(number);
    // The last digit counts even if it is 0.
    Digits { text: digits | ZEROS, leading_zeros: (digits | 1 << 56).trailing_zeros() / 8 }
}

/// The sixteen digits of a number below [`EIGHT`] squared.
#[inline(always)]
pub(super) fn digits_16(number: u64) -> Digits<u128> {
    let digits = u128::from(eight(number / EIGHT)) | u128::from(eight(number % EIGHT)) << 64;
    let zeros = u128::from(ZEROS) | u128::from(ZEROS) << 64;
    Digits { text: digits | zeros, leading_zeros: (digits | 1 << 120).trailing_zeros() / 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let mut number = 0_u64;
        while number < EIGHT {
            let Digits { text, leading_zeros } = digits_8(number);
            let expected = format!("{number:08}");
            assert_eq!(text.to_le_bytes(), expected.as_bytes());
            assert_eq!(8 - leading_zeros as usize, number.to_string().len());
            let wide = number * EIGHT + (EIGHT - 1 - number);
            let Digits { text, leading_zeros } = digits_16(wide);
            assert_eq!(text.to_le_bytes(), format!("{wide:016}").as_bytes());
            assert_eq!(16 - leading_zeros as usize, wide.to_string().len());
            number += 1 + number / 1000;
        }
    }
}
