//! The kernel for any CPU: eight bytes to a machine word.

use super::block::{BLOCK_BYTES, Block, flatten_by_trailing_zeros};
use super::driver::entry_points;

const HIGH: u64 = 0x8080_8080_8080_8080;
const LOW: u64 = 0x0101_0101_0101_0101;

/// Eight words of eight bytes.
#[derive(Clone, Copy)]
pub(crate) struct PortableBlock([u64; BLOCK_BYTES / 8]);

impl PortableBlock {
    /// One bit per byte from words whose bytes are 0x80 or zero.
    #[inline(always)]
    fn gather(self, word_mask: impl Fn(u64) -> u64) -> u64 {
        // The product moves bit 8 * i to bit 56 + i; no two of its terms meet, so nothing carries.
        let bits = |word| (word_mask(word) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        self.0.iter().enumerate().fold(0, |mask, (index, &word)| mask | bits(word) << (index * 8))
    }
}

/// 0x80 in every zero byte, exactly: a carry out of the low seven bits, or the top bit, tells that a byte is not zero.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    !(((word & !HIGH) + !HIGH) | word) & HIGH
}

/// As [`Block::prefix_xor`].
#[inline(always)]
pub(crate) fn prefix_xor(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

impl Block for PortableBlock {
    #[inline(always)]
    unsafe fn load(text: *const u8) -> PortableBlock {
        // SAFETY: the caller vouches for 64 readable bytes; arrays of bytes have no alignment.
        let bytes = unsafe { text.cast::<[[u8; 8]; BLOCK_BYTES / 8]>().read() };
        PortableBlock(bytes.map(u64::from_le_bytes))
    }

    #[inline(always)]
    fn eq(self, byte: u8) -> u64 {
        let splat = LOW * u64::from(byte);
        self.gather(|word| zero_bytes(word ^ splat))
    }

    #[inline(always)]
    fn eq_either(self, first: u8, second: u8) -> u64 {
        let (first, second) = (LOW * u64::from(first), LOW * u64::from(second));
        self.gather(|word| zero_bytes(word ^ first) | zero_bytes(word ^ second))
    }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        self.gather(|word| word & HIGH)
    }

    #[inline(always)]
    fn or(mut self, other: PortableBlock) -> PortableBlock {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
        self
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        prefix_xor(bits)
    }

    #[inline(always)]
    unsafe fn flatten(self, marks: u64, base: u32, out: *mut u32) {
        // SAFETY: the same contract.
        unsafe { flatten_by_trailing_zeros(marks, base, out) }
    }
}

entry_points!(PortableBlock,);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_agrees_with_plain_code() {
        // SAFETY: the portable block needs no features.
        unsafe { crate::scan::block::tests::check_block::<PortableBlock>() }
    }
}
