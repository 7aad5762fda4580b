//! The kernel for CPUs of the paper's time: a block is four registers of SSE.
//!
//! The paper (3.4) compares with `pcmpistrm`, whose EQUAL ANY mode seeks up to sixteen special bytes at once. Plain
//! byte compares were taken instead. The scan has at most four bytes to look for and needs a mask of each, which EQUAL
//! ANY merges into one; a compare with its share of the mask costs about one cycle in three where `pcmpistrm` keeps
//! one port busy for three to six; and `pcmpistrm` takes a NUL byte for the end of its operand, so a NUL in a text
//! would hide the delimiters behind it. What is left of SSE 4.2 is the generation of CPUs: Westmere and later, which
//! also count bits and multiply without carries.

use std::arch::x86_64::{
    __m128i, _MM_HINT_T0, _mm_clmulepi64_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_movemask_epi8,
    _mm_or_si128, _mm_prefetch, _mm_set_epi64x, _mm_set1_epi8,
};

use super::block::{Block, flatten_by_trailing_zeros};
use super::driver::entry_points;

/// Four registers of 16 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Sse42Block([__m128i; 4]);

impl Sse42Block {
    /// The top bits of all bytes.
    #[inline(always)]
    fn mask(self) -> u64 {
        let [a, b, c, d] = self.0;
        // SAFETY: a block exists only where the CPU has the features.
        let quarters =
            unsafe { [_mm_movemask_epi8(a), _mm_movemask_epi8(b), _mm_movemask_epi8(c), _mm_movemask_epi8(d)] };
        let [a, b, c, d] = quarters.map(|quarter| u64::from(quarter.cast_unsigned()));
        a | b << 16 | c << 32 | d << 48
    }

    /// All ones in the bytes that equal `byte`.
    #[inline(always)]
    fn compare(self, byte: u8) -> Sse42Block {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            let splat = _mm_set1_epi8(byte.cast_signed());
            let [a, b, c, d] = self.0;
            Sse42Block([
                _mm_cmpeq_epi8(a, splat),
                _mm_cmpeq_epi8(b, splat),
                _mm_cmpeq_epi8(c, splat),
                _mm_cmpeq_epi8(d, splat),
            ])
        }
    }
}

impl Block for Sse42Block {
    #[inline(always)]
    unsafe fn load(text: *const u8) -> Sse42Block {
        // SAFETY: the caller vouches for 64 readable bytes and the features.
        unsafe {
            Sse42Block([
                _mm_loadu_si128(text.cast()),
                _mm_loadu_si128(text.add(16).cast()),
                _mm_loadu_si128(text.add(32).cast()),
                _mm_loadu_si128(text.add(48).cast()),
            ])
        }
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
    fn or(self, other: Sse42Block) -> Sse42Block {
        let (a, b) = (self.0, other.0);
        // SAFETY: a block exists only where the CPU has the features.
        unsafe {
            Sse42Block([
                _mm_or_si128(a[0], b[0]),
                _mm_or_si128(a[1], b[1]),
                _mm_or_si128(a[2], b[2]),
                _mm_or_si128(a[3], b[3]),
            ])
        }
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

entry_points!(Sse42Block, "sse4.2,popcnt,pclmulqdq");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_agrees_with_plain_code() {
        if crate::Kernel::Sse42.is_available() {
            // SAFETY: the CPU has the features.
            unsafe { crate::scan::block::tests::check_block::<Sse42Block>() }
        }
    }
}
