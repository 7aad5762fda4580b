//! The kernel for AVX-512: a block is one register and its masks come for free.
//!
//! Marks are squeezed out of a register of byte indices (`vpcompressb`) and widened, sixteen per store. The form of
//! the instruction that stores to memory is not used: it is microcoded on Zen 4.

use std::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_T0, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_prefetch, _mm_set_epi64x,
    _mm_set1_epi8, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_or_si512,
    _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512,
};

use super::block::{BLOCK_BYTES, Block};
use super::driver::entry_points;

/// One register of 64 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Avx512Block(__m512i);

/// The bytes 0 to 63.
const INDICES: [u8; BLOCK_BYTES] = {
    let mut indices = [0; BLOCK_BYTES];
    let mut index = 0;
    while index < BLOCK_BYTES {
        indices[index] = index as u8;
        index += 1;
    }
    indices
};

/// Stores sixteen byte indices as marks.
///
/// # Safety
/// The CPU has AVX-512 and sixteen marks at `out` are writable.
#[inline(always)]
unsafe fn store_sixteen(indices: __m128i, base: __m512i, out: *mut u32) {
    // SAFETY: the caller vouches for both.
    unsafe { _mm512_storeu_si512(out.cast(), _mm512_add_epi32(_mm512_cvtepu8_epi32(indices), base)) }
}

impl Block for Avx512Block {
    #[inline(always)]
    unsafe fn load(text: *const u8) -> Avx512Block {
        // SAFETY: the caller vouches for 64 readable bytes and the features.
        unsafe { Avx512Block(_mm512_loadu_si512(text.cast())) }
    }

    #[inline(always)]
    fn eq(self, byte: u8) -> u64 {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte.cast_signed())) }
    }

    #[inline(always)]
    fn eq_either(self, first: u8, second: u8) -> u64 {
        self.eq(first) | self.eq(second)
    }

    #[inline(always)]
    fn high_bits(self) -> u64 {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe { _mm512_movepi8_mask(self.0) }
    }

    #[inline(always)]
    fn or(self, other: Avx512Block) -> Avx512Block {
        // SAFETY: a block exists only where the CPU has the features.
        unsafe { Avx512Block(_mm512_or_si512(self.0, other.0)) }
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
        // SAFETY: a block exists only where the CPU has the features; the caller vouches for 64 writable marks.
        unsafe {
            let squeezed = _mm512_maskz_compress_epi8(marks, _mm512_loadu_si512(INDICES.as_ptr().cast()));
            let base = _mm512_set1_epi32(base.cast_signed());
            store_sixteen(_mm512_castsi512_si128(squeezed), base, out);
            let count = marks.count_ones();
            if count > 16 {
                store_sixteen(_mm512_extracti32x4_epi32::<1>(squeezed), base, out.add(16));
                if count > 32 {
                    store_sixteen(_mm512_extracti32x4_epi32::<2>(squeezed), base, out.add(32));
                    store_sixteen(_mm512_extracti32x4_epi32::<3>(squeezed), base, out.add(48));
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch(text: *const u8) {
        // SAFETY: every x86-64 CPU prefetches, and a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(text.cast()) }
    }
}

entry_points!(
    Avx512Block,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_agrees_with_plain_code() {
        if crate::Kernel::Avx512.is_available() {
            // SAFETY: the CPU has the features.
            unsafe { crate::scan::block::tests::check_block::<Avx512Block>() }
        }
    }
}
