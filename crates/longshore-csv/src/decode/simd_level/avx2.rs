//! Sixteen digits at a time, moved into place by `pshufb` and summed by multiply-add.
//!
//! ```text
//! 1 2 3 4 5 . 6 7 , 8 9 ...          text, len 8, two digits behind the point
//! 0 0 0 0 0 0 0 0 0 1 2 3 4 5 6 7    after the shuffle for (2, 8)
//! ```

#![allow(clippy::cast_ptr_alignment, reason = "all loads and stores are unaligned ones")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_madd_epi16,
    _mm_maddubs_epi16, _mm_movemask_epi8, _mm_or_si128, _mm_packus_epi32, _mm_set_epi64x, _mm_set1_epi8,
    _mm_set1_epi16, _mm_set1_epi32, _mm_setzero_si128, _mm_shuffle_epi8, _mm_slli_si128, _mm_storeu_si128,
    _mm_sub_epi8, _mm_subs_epu8, _mm_testz_si128, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_set1_epi8,
};

use super::{SimdLevel, TEXT_BYTES_MAX};

/// x86-64 with AVX2 and BMI: [`crate::Kernel::Avx2`] and better.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2;

/// By form of the number and length of the text, which byte goes where. Form 0 has no point, form `n + 1` has
/// `n` digits behind it.
static SHUFFLES: [[[u8; 16]; TEXT_BYTES_MAX + 1]; TEXT_BYTES_MAX + 1] = {
    let mut shuffles = [[[0x80; 16]; TEXT_BYTES_MAX + 1]; TEXT_BYTES_MAX + 1];
    let mut form = 0;
    while form <= TEXT_BYTES_MAX {
        let mut len = 1;
        while len <= TEXT_BYTES_MAX {
            let mut digit = 0;
            while digit < len {
                // Digits counted from the last; the point is skipped.
                let behind = digit + (form > 0 && digit + 1 >= form) as usize;
                if behind < len {
                    shuffles[form][len][15 - digit] = (len - 1 - behind) as u8;
                }
                digit += 1;
            }
            len += 1;
        }
        form += 1;
    }
    shuffles
};

/// Two weights of 16 bits: of the more significant number, in the lower half, and of the other one.
const PAIR_WEIGHTS: i32 = 100 + (1 << 16);
const FOUR_WEIGHTS: i32 = 10_000 + (1 << 16);

impl Avx2 {
    /// The number of the digits that `form` picks.
    ///
    /// # Safety
    ///
    /// `form` and `len` are at most 16; 16 bytes can be read at `field`; the CPU has SSE 4.1.
    #[inline(always)]
    unsafe fn number(field: *const u8, len: usize, form: usize) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe {
            let shuffle = SHUFFLES.get_unchecked(form).get_unchecked(len);
            let shuffle = _mm_loadu_si128(shuffle.as_ptr().cast::<__m128i>());
            let text = _mm_sub_epi8(_mm_loadu_si128(field.cast::<__m128i>()), _mm_set1_epi8(b'0' as i8));
            let digits = _mm_shuffle_epi8(text, shuffle);
            let over = _mm_subs_epu8(digits, _mm_set1_epi8(9));
            let pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(i16::from_le_bytes([10, 1])));
            let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(PAIR_WEIGHTS));
            let fours = _mm_packus_epi32(fours, _mm_setzero_si128());
            let eights = _mm_madd_epi16(fours, _mm_set1_epi32(FOUR_WEIGHTS));
            let eights = _mm_cvtsi128_si64(eights) as u64;
            let number = (eights & 0xFFFF_FFFF) * 100_000_000 + (eights >> 32);
            if _mm_testz_si128(over, over) == 1 { Some(number) } else { None }
        }
    }
}

impl SimdLevel for Avx2 {
    #[inline(always)]
    unsafe fn whole(field: *const u8, len: usize) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe { Avx2::number(field, len, 0) }
    }

    #[inline(always)]
    unsafe fn pointed(field: *const u8, len: usize, fraction: usize) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe { Avx2::number(field, len, fraction + 1) }
    }

    #[inline(always)]
    unsafe fn point(field: *const u8, len: usize) -> usize {
        // SAFETY: as the caller promises.
        unsafe {
            let text = _mm_loadu_si128(field.cast::<__m128i>());
            let points = _mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'.' as i8)));
            (points.trailing_zeros() as usize).min(len)
        }
    }

    #[inline(always)]
    unsafe fn equal(text: *const u8, byte: u8) -> u64 {
        // SAFETY: as the caller promises.
        unsafe {
            let pattern = _mm256_set1_epi8(byte as i8);
            let low = _mm256_cmpeq_epi8(_mm256_loadu_si256(text.cast::<__m256i>()), pattern);
            let high = _mm256_cmpeq_epi8(_mm256_loadu_si256(text.add(32).cast::<__m256i>()), pattern);
            bits(low, high)
        }
    }

    #[inline(always)]
    unsafe fn high(text: *const u8) -> u64 {
        // SAFETY: as the caller promises.
        unsafe {
            let low = _mm256_loadu_si256(text.cast::<__m256i>());
            let high = _mm256_loadu_si256(text.add(32).cast::<__m256i>());
            bits(low, high)
        }
    }

    #[inline(always)]
    unsafe fn store_view(slot: *mut u128, content: *const u8, mask: u128, low: u64, high: u64) {
        // SAFETY: as the caller promises; the mask is a value of 16 bytes.
        unsafe {
            let mask = _mm_loadu_si128((&raw const mask).cast::<__m128i>());
            let bytes = _mm_and_si128(_mm_loadu_si128(content.cast::<__m128i>()), mask);
            let rest = _mm_set_epi64x(high as i64, low as i64);
            let view = _mm_or_si128(_mm_slli_si128::<4>(bytes), rest);
            _mm_storeu_si128(slot.cast::<__m128i>(), view);
        }
    }
}

/// The highest bits of 64 bytes.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn bits(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { u64::from(_mm256_movemask_epi8(low) as u32) | u64::from(_mm256_movemask_epi8(high) as u32) << 32 }
}
