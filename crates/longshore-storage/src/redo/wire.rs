//! Numbers of any length, in the fewest bytes: seven bits in each, and the lowest bits of the first byte tell how many bytes
//! there are. So a number is one store and one load, whatever its length. Signed ones are folded first, so that small ones
//! of either sign are short.
//!
//! ```text
//! xxxxxxx1                      1 byte,  below 2^7
//! xxxxxx10 xxxxxxxx             2 bytes, below 2^14
//! 10000000 xxxxxxxx ...         8 bytes, below 2^56
//! 00000000 xxxxxxxx ...         9 bytes: the number itself behind the first
//! ```

use super::error::ReplayProblem;

/// The most bytes that a number takes.
pub(super) const NUMBER_BYTES_MAX: usize = 9;

/// The bits of numbers of up to eight bytes.
const SHORT_BITS: u32 = 56;

/// Appends a number.
#[inline]
pub(super) fn put_number(bytes: &mut Vec<u8>, value: u64) {
    let bits = u64::BITS - (value | 1).leading_zeros();
    if bits <= SHORT_BITS {
        let count = bits.div_ceil(7);
        // All eight at once, of which the first ones count.
        let end = bytes.len() + count as usize;
        bytes.extend_from_slice(&((value << 1 | 1) << (count - 1)).to_le_bytes());
        bytes.truncate(end);
    } else {
        bytes.push(0);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends a signed number.
#[inline]
pub(super) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put_number(bytes, folded(value));
}

/// Small numbers of either sign as small ones: 0, -1, 1, -2 as 0, 1, 2, 3.
#[inline]
pub(super) fn folded(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The contrary.
#[inline]
pub(super) fn unfolded(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a signed number of twice the width: how many bytes it takes, and these, the lowest first.
pub(super) fn put_wide(bytes: &mut Vec<u8>, value: i128) {
    let folded = (value << 1 ^ value >> 127) as u128;
    let count = (u128::BITS - folded.leading_zeros()).div_ceil(8) as usize;
    bytes.push(count as u8);
    bytes.extend_from_slice(&folded.to_le_bytes()[..count]);
}

/// Appends a length and so many bytes.
#[inline]
pub(super) fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put_number(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

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
        let Some(first) = self.rest.first_chunk::<8>() else { return self.last_number() };
        let word = u64::from_le_bytes(*first);
        let count = (word as u8).trailing_zeros() + 1;
        if count > 8 {
            self.rest = &self.rest[1..];
            return Ok(u64::from_le_bytes(self.array()?));
        }
        self.rest = &self.rest[count as usize..];
        Ok(value_of(word, count))
    }

    /// A number near the end.
    #[cold]
    fn last_number(&mut self) -> Result<u64, ReplayProblem> {
        let count = self.rest.first().ok_or_else(ends_early)?.trailing_zeros() + 1;
        let mut word = [0; 8];
        // One of more bytes is not there.
        let taken = self.take(count as usize)?;
        word[..taken.len()].copy_from_slice(taken);
        Ok(value_of(u64::from_le_bytes(word), count))
    }

    /// A signed number.
    #[inline]
    pub(super) fn signed(&mut self) -> Result<i64, ReplayProblem> {
        self.number().map(unfolded)
    }

    /// A signed number of twice the width.
    pub(super) fn wide(&mut self) -> Result<i128, ReplayProblem> {
        let count = usize::from(self.byte()?);
        let mut bytes = [0; 16];
        bytes.get_mut(..count).ok_or_else(too_large)?.copy_from_slice(self.take(count)?);
        let folded = u128::from_le_bytes(bytes);
        Ok((folded >> 1) as i128 ^ -((folded & 1) as i128))
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

/// The number that the first bytes of a word are, up to eight of them.
#[inline]
fn value_of(word: u64, count: u32) -> u64 {
    word << (u64::BITS - 8 * count) >> (u64::BITS - 8 * count) >> count
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
            assert_eq!(bytes.len(), (u64::BITS - (number | 1).leading_zeros()).div_ceil(7).min(9) as usize);
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
    fn what_ends_early_or_has_more_bits_is_refused() {
        for number in [0_u64, 127, 128, 1 << 55, 1 << 56, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            for more in 0..9 {
                let padded = [&bytes[..], &vec![0xFF; more][..]].concat();
                let mut reader = Reader::new(&padded);
                assert_eq!((reader.number(), reader.len()), (Ok(number), more));
            }
            for len in 0..bytes.len() {
                assert_eq!(Reader::new(&bytes[..len]).number(), Err(ends_early()));
            }
        }
        assert_eq!(Reader::new(&[17; 30]).wide(), Err(too_large()));
        assert_eq!(Reader::new(&[4; 4]).wide(), Err(ends_early()));
        assert_eq!(Reader::new(&[3 << 1 | 1, 1, 2]).bytes(), Err(ends_early()));
    }
}
