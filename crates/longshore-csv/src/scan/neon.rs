//! The kernel for 64-bit ARM: a block is four registers of NEON.
//!
//! NEON has no instruction that collects the top bits of bytes. Each byte keeps one bit of a weight by its position,
//! and three rounds of pairwise addition bring the 64 bits together.

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vceqq_u8, vcgeq_u8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vmull_p64, vorrq_u8, vpaddq_u8,
    vreinterpretq_u64_u8,
};

use super::block::{Block, flatten_by_trailing_zeros};
use super::driver::entry_points;

/// Four registers of 16 bytes.
#[derive(Clone, Copy)]
pub(crate) struct NeonBlock([uint8x16_t; 4]);

/// The bit that a byte contributes to its eight.
const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

impl NeonBlock {
    /// One bit per byte of a block whose bytes are all ones or zero.
    #[inline(always)]
    fn mask(self) -> u64 {
        let [a, b, c, d] = self.0;
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            let weights = vld1q_u8(WEIGHTS.as_ptr());
            let low = vpaddq_u8(vandq_u8(a, weights), vandq_u8(b, weights));
            let high = vpaddq_u8(vandq_u8(c, weights), vandq_u8(d, weights));
            let sums = vpaddq_u8(low, high);
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
        }
    }

    /// All ones in the bytes that equal `byte`.
    #[inline(always)]
    fn compare(self, byte: u8) -> NeonBlock {
        let [a, b, c, d] = self.0;
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            let splat = vdupq_n_u8(byte);
            NeonBlock([vceqq_u8(a, splat), vceqq_u8(b, splat), vceqq_u8(c, splat), vceqq_u8(d, splat)])
        }
    }
}

impl Block for NeonBlock {
    #[inline(always)]
    unsafe fn load(text: *const u8) -> NeonBlock {
        // SAFETY: the caller vouches for 64 readable bytes and the features.
        unsafe { NeonBlock([vld1q_u8(text), vld1q_u8(text.add(16)), vld1q_u8(text.add(32)), vld1q_u8(text.add(48))]) }
    }

    #[inline(always)]
    fn eq(self, byte: u8) -> u64 {
        self.compare(byte).mask()
    }

    #[inline(always)]
    fn eq_either(self, first: u8, second: u8) -> u64 {
        self.compare(first).or(self.compare(second)).mask()
    }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        let [a, b, c, d] = self.0;
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            let high = vdupq_n_u8(0x80);
            NeonBlock([vcgeq_u8(a, high), vcgeq_u8(b, high), vcgeq_u8(c, high), vcgeq_u8(d, high)]).mask()
        }
    }

    #[inline(always)]
    fn or(self, other: NeonBlock) -> NeonBlock {
        let (a, b) = (self.0, other.0);
        // SAFETY: a block exists only where the CPU has the features.
        unsafe { NeonBlock([vorrq_u8(a[0], b[0]), vorrq_u8(a[1], b[1]), vorrq_u8(a[2], b[2]), vorrq_u8(a[3], b[3])]) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe { vmull_p64(bits, u64::MAX) as u64 }
    }

    #[inline(always)]
    unsafe fn flatten(self, marks: u64, base: u32, out: *mut u32) {
        // SAFETY: the same contract.
        unsafe { flatten_by_trailing_zeros(marks, base, out) }
    }
}

entry_points!(NeonBlock, "neon,aes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_agrees_with_plain_code() {
        if crate::Kernel::Neon.is_available() {
            // SAFETY: the CPU has the features.
            unsafe { crate::scan::block::tests::check_block::<NeonBlock>() }
        }
    }
}
