//! The kernel for AVX2: a block is two registers.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_prefetch, _mm_set_epi64x, _mm_set1_epi8,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
};

use super::block::{Block, flatten_by_trailing_zeros};
use super::driver::entry_points;

/// Two registers of 32 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Avx2Block(__m256i, __m256i);

impl Avx2Block {
    /// The top bits of all bytes.
    #[inline(always)]
    fn mask(self) -> u64 {
        // SAFETY: a block exists only where the CPU has the features.
        let (low, high) = unsafe { (_mm256_movemask_epi8(self.0), _mm256_movemask_epi8(self.1)) };
        u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
    }

    /// All ones in the bytes that equal `byte`.
    #[inline(always)]
    fn compare(self, byte: u8) -> Avx2Block {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            let splat = _mm256_set1_epi8(byte.cast_signed());
            Avx2Block(_mm256_cmpeq_epi8(self.0, splat), _mm256_cmpeq_epi8(self.1, splat))
        }
    }
}

impl Block for Avx2Block {
    #[inline(always)]
    unsafe fn load(text: *const u8) -> Avx2Block {
        // SAFETY: the caller vouches for 64 readable bytes and the features.
        unsafe { Avx2Block(_mm256_loadu_si256(text.cast()), _mm256_loadu_si256(text.add(32).cast())) }
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
        self.mask()
    }

    #[inline(always)]
    fn or(self, other: Avx2Block) -> Avx2Block {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe { Avx2Block(_mm256_or_si256(self.0, other.0), _mm256_or_si256(self.1, other.1)) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }

    #[inline(always)]
    unsafe fn flatten(self, marks: u64, base: u32, out: *mut u32) {
        // SAFETY: the same contract.
        unsafe { flatten_by_trailing_zeros(marks, base, out) }
    }

    #[inline(always)]
    fn prefetch(text: *const u8) {
        // SAFETY: every x86-64 CPU prefetches, and a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(text.cast()) }
    }
}

entry_points!(Avx2Block, "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_agrees_with_plain_code() {
        if crate::Kernel::Avx2.is_available() {
            // SAFETY: the CPU has the features.
            unsafe { crate::scan::block::tests::check_block::<Avx2Block>() }
        }
    }
}
