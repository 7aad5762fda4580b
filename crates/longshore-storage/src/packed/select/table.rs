//! Looks codes up in tables of bits.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm_set_epi64x, _mm256_and_si256, _mm256_blendv_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_srli_epi16,
    _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_mask_blend_epi8, _mm512_movepi8_mask, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_test_epi8_mask,
};

use super::compare::SelectedCode;
#[cfg(target_arch = "x86_64")]
use super::compare::{load_avx2, load_avx512};
use super::one_by_one;
use crate::instruction_set::InstructionSet;
#[cfg(target_arch = "x86_64")]
use crate::instruction_set::Level;
use crate::packed::offset::Code;

/// A bit for each code up to the greatest, of one or two bytes.
#[derive(Debug)]
pub(super) struct TableBits {
    /// Code *c* is bit *c* % 64 of word *c* / 64. There are words for all codes of one byte, or of two.
    words: Vec<u64>,
}

const WORDS_OF_ONE_BYTE: usize = 256 / 64;
const WORDS_OF_TWO_BYTES: usize = 65_536 / 64;

impl TableBits {
    /// The table of these ranges.
    pub(super) fn new(ranges: &[(u32, u32)], code_max: u32) -> TableBits {
        let is_narrow = code_max <= u8::MAX.into();
        let mut words = vec![0_u64; if is_narrow { WORDS_OF_ONE_BYTE } else { WORDS_OF_TWO_BYTES }];
        for &(low, high) in ranges {
            for code in low as usize..=high as usize {
                words[code / 64] |= 1 << (code % 64);
            }
        }
        TableBits { words }
    }

    pub(super) fn select<C: SelectedCode>(&self, set: InstructionSet, codes: &[C]) -> Vec<u64> {
        if let Some(codes) = C::as_bytes(codes) {
            return self.select_bytes(set, codes);
        }
        let words: &[u64; WORDS_OF_TWO_BYTES] = self.words[..].try_into().expect("a table of codes of two bytes");
        one_by_one(codes, |code| words[code as usize / 64 % WORDS_OF_TWO_BYTES] >> (code % 64) & 1 == 1)
    }

    fn select_bytes(&self, set: InstructionSet, codes: &[u8]) -> Vec<u64> {
        let words: [u64; WORDS_OF_ONE_BYTE] = self.words[..].try_into().expect("a table of codes of one byte");
        #[cfg(target_arch = "x86_64")]
        if set.level() != Level::Baseline {
            let (whole, rest) = codes.as_chunks::<64>();
            let mut found = Vec::with_capacity(codes.len().div_ceil(64));
            if set.level() == Level::Avx512 {
                // SAFETY: the machine has it: an instruction set is made of what was detected only.
                found.extend(whole.iter().map(|codes| unsafe { bytes_avx512(codes, words) }));
            } else {
                // SAFETY: as above.
                found.extend(whole.iter().map(|codes| unsafe { bytes_avx2(codes, words) }));
            }
            found.extend(one_by_one(rest, |code| words[code as usize / 64] >> (code % 64) & 1 == 1));
            return found;
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = set;
        one_by_one(codes, |code| words[code as usize / 64] >> (code % 64) & 1 == 1)
    }
}

/// Codes of four bytes that lie in many ranges. Most codes are told by their low bits, others are searched.
#[derive(Debug)]
pub(super) struct SparseCodes {
    /// The codes that end in the same two bytes as one that is wanted.
    ends: TableBits,
}

impl SparseCodes {
    pub(super) fn new(ranges: &[(u32, u32)]) -> SparseCodes {
        let mut ends = TableBits { words: vec![0; WORDS_OF_TWO_BYTES] };
        for &(low, high) in ranges {
            // A longer range has every end.
            for code in low..=high.min(low.saturating_add(u16::MAX.into())) {
                let end = usize::from(code as u16);
                ends.words[end / 64] |= 1 << (end % 64);
            }
        }
        SparseCodes { ends }
    }

    pub(super) fn select<C: Code>(&self, codes: &[C], ranges: &[(u32, u32)]) -> Vec<u64> {
        one_by_one(codes, |code| {
            let end = usize::from(code as u16);
            self.ends.words[end / 64] >> (end % 64) & 1 == 1 && {
                let at = ranges.partition_point(|&(_, high)| high < code);
                ranges.get(at).is_some_and(|&(low, _)| low <= code)
            }
        })
    }
}

/// Byte *i* is bit *i*.
#[cfg(target_arch = "x86_64")]
const BITS: i64 = 0x8040_2010_0804_0201_u64.cast_signed();

/// A bit for each code: whether that bit of the table is set.
///
/// ```text
/// code   7 6 5 4 3 2 1 0
///                  +++++   which bit of the byte
///          +++++++         which byte of a half of the table, as `shuffle` looks it up
///        +                 which half
/// ```
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn bytes_avx2(codes: &[u8; 64], table: [u64; WORDS_OF_ONE_BYTE]) -> u64 {
    let table = table.map(u64::cast_signed);
    let low = _mm256_broadcastsi128_si256(_mm_set_epi64x(table[1], table[0]));
    let high = _mm256_broadcastsi128_si256(_mm_set_epi64x(table[3], table[2]));
    (0..2).fold(0, |word, at| {
        let codes = load_avx2(codes, at);
        let byte = _mm256_and_si256(_mm256_srli_epi16::<3>(codes), _mm256_set1_epi8(0x0F));
        let byte = _mm256_blendv_epi8(_mm256_shuffle_epi8(low, byte), _mm256_shuffle_epi8(high, byte), codes);
        let bit = _mm256_shuffle_epi8(_mm256_set1_epi64x(BITS), _mm256_and_si256(codes, _mm256_set1_epi8(7)));
        let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit);
        word | u64::from(_mm256_movemask_epi8(is_set).cast_unsigned()) << (32 * at)
    })
}

/// The same for AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn bytes_avx512(codes: &[u8; 64], table: [u64; WORDS_OF_ONE_BYTE]) -> u64 {
    let table = table.map(u64::cast_signed);
    let low = _mm512_broadcast_i32x4(_mm_set_epi64x(table[1], table[0]));
    let high = _mm512_broadcast_i32x4(_mm_set_epi64x(table[3], table[2]));
    let codes = load_avx512(codes, 0);
    let byte = _mm512_and_si512(_mm512_srli_epi16::<3>(codes), _mm512_set1_epi8(0x0F));
    let (low, high) = (_mm512_shuffle_epi8(low, byte), _mm512_shuffle_epi8(high, byte));
    let byte = _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
    let bit = _mm512_shuffle_epi8(_mm512_set1_epi64(BITS), _mm512_and_si512(codes, _mm512_set1_epi8(7)));
    _mm512_test_epi8_mask(byte, bit)
}
