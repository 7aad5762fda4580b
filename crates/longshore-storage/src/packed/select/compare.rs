//! Compares 64 codes with a range, by vectors.
//!
//! A code lies between `low` and `low + span` if `code - low`, which wraps, is not greater than `span`: one comparison.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_castsi256_ps, _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_min_epu16, _mm256_min_epu32, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_packs_epi16, _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_sub_epi8, _mm256_sub_epi16, _mm256_sub_epi32, _mm512_cmple_epu8_mask, _mm512_cmple_epu16_mask,
    _mm512_cmple_epu32_mask, _mm512_loadu_si512, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_sub_epi8, _mm512_sub_epi16, _mm512_sub_epi32,
};

use crate::instruction_set::{InstructionSet, Level};
use crate::packed::offset::Code;

/// So many ranges of codes of a width are compared one after the other rather than looked up in a table. Measured on Zen 5
/// for 65,536 codes: a range costs 1 µs at two bytes and 2 µs at four, a table 17 µs.
pub(super) fn ranges_compared_max(set: InstructionSet, width: u8) -> usize {
    if set.level() == Level::Baseline { 3 } else { 32 / usize::from(width) }
}

/// A bit for each code, 64 in a word: whether it lies in one of some ranges, both ends included.
pub(super) fn in_ranges<C: SelectedCode>(set: InstructionSet, codes: &[C], ranges: &[(u32, u32)]) -> Vec<u64> {
    let spans = ranges.iter().map(|&(low, high)| (C::of(low.into()), C::of((high - low).into())));
    let spans: Vec<(C, C)> = spans.collect();
    let within = |codes: &[C]| spans.iter().fold(0, |word, &(low, span)| word | C::within(codes, low, span));
    let (whole, rest) = codes.as_chunks::<64>();
    let mut words = Vec::with_capacity(codes.len().div_ceil(64));
    match set.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            // SAFETY: the machine has it: an instruction set is made of what was detected only.
            unsafe { in_ranges_avx512(whole, &spans, &mut words) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            // SAFETY: as above.
            unsafe { in_ranges_avx2(whole, &spans, &mut words) }
        }
        Level::Baseline => words.extend(whole.iter().map(|codes| within(codes))),
    }
    if !rest.is_empty() {
        words.push(within(rest));
    }
    words
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn in_ranges_avx2<C: SelectedCode>(codes: &[[C; 64]], spans: &[(C, C)], words: &mut Vec<u64>) {
    words.extend(codes.iter().map(|codes| {
        spans.iter().fold(0, |word, &(low, span)| {
            // SAFETY: this function enables what it needs.
            word | unsafe { C::within_avx2(codes, low, span) }
        })
    }));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn in_ranges_avx512<C: SelectedCode>(codes: &[[C; 64]], spans: &[(C, C)], words: &mut Vec<u64>) {
    words.extend(codes.iter().map(|codes| {
        spans.iter().fold(0, |word, &(low, span)| {
            // SAFETY: this function enables what it needs.
            word | unsafe { C::within_avx512(codes, low, span) }
        })
    }));
}

/// A code that is compared.
pub(super) trait SelectedCode: Code {
    /// Whether it lies in the range.
    fn is_within(self, low: Self, span: Self) -> bool;

    /// A bit for each of up to 64 codes, the lowest for the first: whether it lies in the range.
    fn within(codes: &[Self], low: Self, span: Self) -> u64 {
        codes.iter().enumerate().fold(0, |word, (at, code)| word | u64::from(code.is_within(low, span)) << at)
    }

    /// The same of 64 codes.
    ///
    /// # Safety
    ///
    /// The machine has AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn within_avx2(codes: &[Self; 64], low: Self, span: Self) -> u64;

    /// The same of 64 codes.
    ///
    /// # Safety
    ///
    /// The machine has AVX-512 F and BW.
    #[cfg(target_arch = "x86_64")]
    unsafe fn within_avx512(codes: &[Self; 64], low: Self, span: Self) -> u64;
}

/// Vector `at` of the codes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn load_avx2<C>(codes: &[C; 64], at: usize) -> __m256i {
    assert!((at + 1) * size_of::<__m256i>() <= size_of_val(codes), "within the codes");
    // SAFETY: the bytes lie within the codes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(codes.as_ptr().cast::<__m256i>().add(at)) }
}

/// The same for AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) fn load_avx512<C>(codes: &[C; 64], at: usize) -> __m512i {
    assert!((at + 1) * size_of::<__m512i>() <= size_of_val(codes), "within the codes");
    // SAFETY: the bytes lie within the codes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(codes.as_ptr().cast::<__m512i>().add(at)) }
}

impl SelectedCode for u8 {
    fn is_within(self, low: u8, span: u8) -> bool {
        self.wrapping_sub(low) <= span
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn within_avx2(codes: &[u8; 64], low: u8, span: u8) -> u64 {
        let (low, span) = (_mm256_set1_epi8(low.cast_signed()), _mm256_set1_epi8(span.cast_signed()));
        (0..2).fold(0, |word, at| {
            let distance = _mm256_sub_epi8(load_avx2(codes, at), low);
            let is_within = _mm256_cmpeq_epi8(_mm256_min_epu8(distance, span), distance);
            word | u64::from(_mm256_movemask_epi8(is_within).cast_unsigned()) << (32 * at)
        })
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn within_avx512(codes: &[u8; 64], low: u8, span: u8) -> u64 {
        let distance = _mm512_sub_epi8(load_avx512(codes, 0), _mm512_set1_epi8(low.cast_signed()));
        _mm512_cmple_epu8_mask(distance, _mm512_set1_epi8(span.cast_signed()))
    }
}

impl SelectedCode for u16 {
    fn is_within(self, low: u16, span: u16) -> bool {
        self.wrapping_sub(low) <= span
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn within_avx2(codes: &[u16; 64], low: u16, span: u16) -> u64 {
        let (low, span) = (_mm256_set1_epi16(low.cast_signed()), _mm256_set1_epi16(span.cast_signed()));
        let is_within = |at| {
            let distance = _mm256_sub_epi16(load_avx2(codes, at), low);
            _mm256_cmpeq_epi16(_mm256_min_epu16(distance, span), distance)
        };
        (0..2).fold(0, |word, at| {
            // Packs the halves of both vectors in turn; the permutation brings them into their order.
            let bytes = _mm256_packs_epi16(is_within(2 * at), is_within(2 * at + 1));
            let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes);
            word | u64::from(_mm256_movemask_epi8(bytes).cast_unsigned()) << (32 * at)
        })
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn within_avx512(codes: &[u16; 64], low: u16, span: u16) -> u64 {
        let (low, span) = (_mm512_set1_epi16(low.cast_signed()), _mm512_set1_epi16(span.cast_signed()));
        (0..2).fold(0, |word, at| {
            let distance = _mm512_sub_epi16(load_avx512(codes, at), low);
            word | u64::from(_mm512_cmple_epu16_mask(distance, span)) << (32 * at)
        })
    }
}

impl SelectedCode for u32 {
    fn is_within(self, low: u32, span: u32) -> bool {
        self.wrapping_sub(low) <= span
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn within_avx2(codes: &[u32; 64], low: u32, span: u32) -> u64 {
        let (low, span) = (_mm256_set1_epi32(low.cast_signed()), _mm256_set1_epi32(span.cast_signed()));
        (0..8).fold(0, |word, at| {
            let distance = _mm256_sub_epi32(load_avx2(codes, at), low);
            let is_within = _mm256_cmpeq_epi32(_mm256_min_epu32(distance, span), distance);
            word | u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(is_within)).cast_unsigned()) << (8 * at)
        })
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn within_avx512(codes: &[u32; 64], low: u32, span: u32) -> u64 {
        let (low, span) = (_mm512_set1_epi32(low.cast_signed()), _mm512_set1_epi32(span.cast_signed()));
        (0..4).fold(0, |word, at| {
            let distance = _mm512_sub_epi32(load_avx512(codes, at), low);
            word | u64::from(_mm512_cmple_epu32_mask(distance, span)) << (16 * at)
        })
    }
}
