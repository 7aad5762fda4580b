//! Numbers of any length, in the fewest bytes: seven bits in each, the lowest first, and a bit that says whether more
//! follow (LEB128). Signed ones are folded first, so that small ones of either sign are short.

use super::error::ReplayProblem;

/// Appends a number.
#[inline]
pub(super) fn put_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a signed number.
#[inline]
pub(super) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put_number(bytes, (value << 1 ^ value >> 63) as u64);
}

/// Appends a signed number of twice the width.
pub(super) fn put_wide(bytes: &mut Vec<u8>, value: i128) {
    let mut value = (value << 1 ^ value >> 127) as u128;
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a length and so many bytes.
#[inline]
pub(super) fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put_number(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// Bytes that numbers take when they are all ones.
const NUMBER_BITS: u32 = u64::BITS;
const WIDE_BITS: u32 = u128::BITS;

/// Takes numbers off the front of a slice, and never more than it has.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes that are left.
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, ReplayProblem> {
        let (&first, rest) = self.rest.split_first().ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(first)
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], ReplayProblem> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReplayProblem> {
        Ok(self.take(N)?.try_into().expect("as many bytes as were asked for"))
    }

    /// A number.
    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, ReplayProblem> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let mut value = u64::from(first & 0x7F);
        for shift in (7..NUMBER_BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(too_large())
    }

    /// A signed number.
    #[inline]
    pub(super) fn signed(&mut self) -> Result<i64, ReplayProblem> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A signed number of twice the width.
    pub(super) fn wide(&mut self) -> Result<i128, ReplayProblem> {
        let mut value = 0_u128;
        for shift in (0..WIDE_BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok((value >> 1) as i128 ^ -((value & 1) as i128));
            }
        }
        Err(too_large())
    }

    /// A number that counts things in memory.
    #[inline]
    pub(super) fn count(&mut self) -> Result<usize, ReplayProblem> {
        usize::try_from(self.number()?).map_err(|_| too_large())
    }

    /// A length and so many bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], ReplayProblem> {
        let count = self.count()?;
        self.take(count)
    }
}

#[cold]
fn ends_early() -> ReplayProblem {
    ReplayProblem::Malformed("it ends early".to_owned())
}

#[cold]
fn too_large() -> ReplayProblem {
    ReplayProblem::Malformed("a number is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_the_fewest_bytes() {
        let numbers = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, u64::MAX >> bit]);
        for number in numbers {
            let (mut bytes, signed) = (Vec::new(), number as i64);
            put_number(&mut bytes, number);
            assert_eq!(bytes.len(), (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize);
            put_signed(&mut bytes, signed);
            put_signed(&mut bytes, signed.wrapping_neg());
            put_wide(&mut bytes, i128::from(number) << 64 | 5);
            put_wide(&mut bytes, -i128::from(signed));
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number(), Ok(number));
            assert_eq!((reader.signed(), reader.signed()), (Ok(signed), Ok(signed.wrapping_neg())));
            assert_eq!((reader.wide(), reader.wide()), (Ok(i128::from(number) << 64 | 5), Ok(-i128::from(signed))));
            assert!(reader.is_empty() && reader.number().is_err());
        }
        for wide in [i128::MIN, i128::MAX, -1, 0] {
            let mut bytes = Vec::new();
            put_wide(&mut bytes, wide);
            assert_eq!(Reader::new(&bytes).wide(), Ok(wide));
        }
    }

    #[test]
    fn what_has_more_bits_is_refused() {
        let mut bytes = vec![0xFF; 9];
        bytes.push(1);
        assert_eq!(Reader::new(&bytes).number(), Ok(u64::MAX));
        bytes[9] = 2;
        assert_eq!(Reader::new(&bytes).number(), Err(too_large()));
        assert_eq!(Reader::new(&[0x80; 30]).number(), Err(too_large()));
        assert_eq!(Reader::new(&[0x80; 30]).wide(), Err(too_large()));
        assert_eq!(Reader::new(&[0x80; 4]).number(), Err(ends_early()));
        assert_eq!(Reader::new(&[3, 1, 2]).bytes(), Err(ends_early()));
    }
}
