//! Looks codes up in tables of bits.
//!
//! A table of codes of one byte fits into a vector. Of codes of two bytes, 1,024 fit into two vectors: where those that are
//! wanted lie so near each other, AVX-512 looks 32 codes up with one instruction; elsewhere words of the table are gathered.
//! Measured on Zen 5, for 65,536 codes of two bytes: 33 µs one by one, 17 µs gathered (22 µs with AVX-512, which is why
//! there is no such gather), 1 µs in two vectors, 3 µs in eight.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512i, _mm_set_epi64x, _mm256_and_si256, _mm256_andnot_si256, _mm256_blendv_epi8,
    _mm256_broadcastsi128_si256, _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cvtepu16_epi32,
    _mm256_extracti128_si256, _mm256_i32gather_epi32, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_set1_epi8,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_sllv_epi32, _mm256_srli_epi16,
    _mm256_srli_epi32, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmpge_epu16_mask, _mm512_cmplt_epu16_mask,
    _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_mask_blend_epi16, _mm512_mask_test_epi16_mask,
    _mm512_movepi8_mask, _mm512_permutex2var_epi16, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi64,
    _mm512_shuffle_epi8, _mm512_sllv_epi16, _mm512_srli_epi16, _mm512_sub_epi16, _mm512_test_epi8_mask,
};

#[cfg(target_arch = "x86_64")]
use super::compare::{load_avx2, load_avx512};
use crate::instruction_set::{InstructionSet, Level};
use crate::packed::offset::Code;

const WORDS_OF_ONE_BYTE: usize = 256 / 64;
const WORDS_OF_TWO_BYTES: usize = 65_536 / 64;

/// A bit for each number: number *n* is bit *n* % 64 of word *n* / 64.
type Bits<const WORDS: usize> = Box<[u64; WORDS]>;

fn set_bits(words: &mut [u64], numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        words[number as usize / 64] |= 1 << (number % 64);
    }
}

#[inline]
fn is_set<const WORDS: usize>(words: &[u64; WORDS], number: u32) -> bool {
    words[number as usize / 64 % WORDS] >> (number % 64) & 1 == 1
}

/// A bit for each code, 64 in a word.
fn one_by_one<C: Code>(codes: &[C], is_wanted: impl Fn(u32) -> bool) -> Vec<u64> {
    let word = |codes: &[C]| {
        codes.iter().enumerate().fold(0, |word, (at, code)| word | u64::from(is_wanted(code.number() as u32)) << at)
    };
    codes.chunks(64).map(word).collect()
}

/// The words of 64 codes each, and then that of the rest, one by one.
#[cfg(target_arch = "x86_64")]
fn with_rest<C: Code>(mut words: Vec<u64>, rest: &[C], is_wanted: impl Fn(u32) -> bool) -> Vec<u64> {
    words.extend(one_by_one(rest, is_wanted));
    words
}

/// Codes of one byte.
#[derive(Debug)]
pub(super) struct ByteTable {
    bits: Bits<WORDS_OF_ONE_BYTE>,
}

impl ByteTable {
    /// The table of these ranges.
    pub(super) fn new(ranges: &[(u32, u32)]) -> ByteTable {
        let mut bits = Box::new([0; WORDS_OF_ONE_BYTE]);
        for &(low, high) in ranges {
            set_bits(&mut bits[..], low..=high);
        }
        ByteTable { bits }
    }

    pub(super) fn select(&self, set: InstructionSet, codes: &[u8]) -> Vec<u64> {
        let is_wanted = |code| is_set(&self.bits, code);
        #[cfg(target_arch = "x86_64")]
        let (whole, rest) = codes.as_chunks::<64>();
        match set.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                // SAFETY: the machine has it: an instruction set is made of what was detected only.
                let found = whole.iter().map(|codes| unsafe { bytes_avx512(codes, &self.bits) });
                with_rest(found.collect(), rest, is_wanted)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                // SAFETY: as above.
                let found = whole.iter().map(|codes| unsafe { bytes_avx2(codes, &self.bits) });
                with_rest(found.collect(), rest, is_wanted)
            }
            Level::Baseline => one_by_one(codes, is_wanted),
        }
    }
}

/// Codes of two bytes.
#[derive(Debug)]
pub(super) struct TwoByteTable {
    bits: Bits<WORDS_OF_TWO_BYTES>,
    #[cfg(target_arch = "x86_64")]
    window: Option<Window>,
}

/// A part of a table that has all that is wanted, and that fits into vectors.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
struct Window {
    first_word: usize,
    pairs: usize,
}

#[cfg(target_arch = "x86_64")]
impl Window {
    /// The narrowest that has these ranges, of which there is at least one.
    fn of(ranges: &[(u32, u32)]) -> Option<Window> {
        let (first, last) = (ranges[0].0 as usize / 64, ranges[ranges.len() - 1].1 as usize / 64);
        let window = |pairs| Window { first_word: first.min(WORDS_OF_TWO_BYTES - pairs * PAIR_WORDS), pairs };
        PAIRS.map(window).into_iter().find(|window| last < window.first_word + window.pairs * PAIR_WORDS)
    }
}

/// Codes that a pair of vectors has bits for, and words.
#[cfg(target_arch = "x86_64")]
const PAIR_CODES: usize = 1024;
#[cfg(target_arch = "x86_64")]
const PAIR_WORDS: usize = PAIR_CODES / 64;

/// Pairs of vectors that hold a narrow window, and a wide one.
#[cfg(target_arch = "x86_64")]
const PAIRS: [usize; 2] = [1, 4];

impl TwoByteTable {
    /// The table of these ranges, of which there is at least one.
    pub(super) fn new(ranges: &[(u32, u32)]) -> TwoByteTable {
        let mut bits = Box::new([0; WORDS_OF_TWO_BYTES]);
        for &(low, high) in ranges {
            set_bits(&mut bits[..], low..=high);
        }
        TwoByteTable {
            #[cfg(target_arch = "x86_64")]
            window: Window::of(ranges),
            bits,
        }
    }

    /// Whether what is wanted is looked up in vectors.
    pub(super) fn fits_registers(&self, set: InstructionSet) -> bool {
        match set.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => self.window.is_some(),
            _ => false,
        }
    }

    pub(super) fn select(&self, set: InstructionSet, codes: &[u16]) -> Vec<u64> {
        let is_wanted = |code| is_set(&self.bits, code);
        #[cfg(target_arch = "x86_64")]
        if set.level() != Level::Baseline {
            let (whole, rest) = codes.as_chunks::<64>();
            let window = self.window.filter(|_| set.level() == Level::Avx512);
            let found = if let Some(Window { first_word, pairs }) = window {
                let (table, first) = (&self.bits[first_word..][..pairs * PAIR_WORDS], first_word as u16 * 64);
                if pairs == PAIRS[0] {
                    // SAFETY: the machine has it: an instruction set is made of what was detected only.
                    unsafe { two_bytes_avx512::<{ PAIRS[0] }>(whole, table, first) }
                } else {
                    // SAFETY: as above.
                    unsafe { two_bytes_avx512::<{ PAIRS[1] }>(whole, table, first) }
                }
            } else {
                // SAFETY: as above; a machine with AVX-512 has AVX2.
                unsafe { two_bytes_avx2(whole, &self.bits) }
            };
            return with_rest(found, rest, is_wanted);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let Level::Baseline = set.level();
        one_by_one(codes, is_wanted)
    }
}

/// Codes of four bytes that lie in many ranges. Most codes are told by their low bits, others are searched.
#[derive(Debug)]
pub(super) struct SparseCodes {
    /// The last two bytes of the codes that are wanted.
    ends: Bits<WORDS_OF_TWO_BYTES>,
}

impl SparseCodes {
    pub(super) fn new(ranges: &[(u32, u32)]) -> SparseCodes {
        let mut ends = Box::new([0; WORDS_OF_TWO_BYTES]);
        for &(low, high) in ranges {
            // A longer range has every end.
            let codes = low..=high.min(low.saturating_add(u16::MAX.into()));
            set_bits(&mut ends[..], codes.map(|code| (code as u16).into()));
        }
        SparseCodes { ends }
    }

    pub(super) fn select(&self, set: InstructionSet, codes: &[u32], ranges: &[(u32, u32)]) -> Vec<u64> {
        let is_in_ranges = |code: u32| {
            let at = ranges.partition_point(|&(_, high)| high < code);
            ranges.get(at).is_some_and(|&(low, _)| low <= code)
        };
        let is_wanted = |code: u32| is_set(&self.ends, (code as u16).into()) && is_in_ranges(code);
        #[cfg(target_arch = "x86_64")]
        if set.level() != Level::Baseline {
            let (whole, rest) = codes.as_chunks::<64>();
            // SAFETY: the machine has it: an instruction set is made of what was detected only.
            let mut found = unsafe { ends_avx2(whole, &self.ends) };
            for (word, codes) in found.iter_mut().zip(whole) {
                let mut maybe = *word;
                *word = 0;
                while maybe != 0 {
                    let at = maybe.trailing_zeros();
                    maybe &= maybe - 1;
                    *word |= u64::from(is_in_ranges(codes[at as usize])) << at;
                }
            }
            return with_rest(found, rest, is_wanted);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let Level::Baseline = set.level();
        one_by_one(codes, is_wanted)
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
fn bytes_avx2(codes: &[u8; 64], table: &[u64; WORDS_OF_ONE_BYTE]) -> u64 {
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
fn bytes_avx512(codes: &[u8; 64], table: &[u64; WORDS_OF_ONE_BYTE]) -> u64 {
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

/// Whether the bits are set of codes that lie in a window from `first` on: 32 at a time, those before it wrap to behind it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn two_bytes_avx512<const PAIRS: usize>(codes: &[[u16; 64]], table: &[u64], first: u16) -> Vec<u64> {
    let (table, _) = table.as_chunks::<{ PAIR_WORDS / 2 }>();
    assert!(table.len() == 2 * PAIRS, "a pair of vectors for each 1,024 codes");
    let pairs: [[__m512i; 2]; PAIRS] = std::array::from_fn(|pair| {
        // SAFETY: each of them has the bytes of a vector; the load needs no alignment.
        [2 * pair, 2 * pair + 1].map(|at| unsafe { _mm512_loadu_si512(table[at].as_ptr().cast()) })
    });
    let (first, one) = (_mm512_set1_epi16(first.cast_signed()), _mm512_set1_epi16(1));
    let start_of = |pair: usize| _mm512_set1_epi16((pair * PAIR_CODES) as i16);
    let words = codes.iter().map(|codes| {
        (0..2).fold(0, |word, at| {
            let code = _mm512_sub_epi16(load_avx512(codes, at), first);
            // 16 bits of the table each; the instruction ignores which pair it is.
            let place = _mm512_srli_epi16::<4>(code);
            let mut bits = _mm512_permutex2var_epi16(pairs[0][0], place, pairs[0][1]);
            for (pair, [low, high]) in pairs.iter().enumerate().skip(1) {
                let is_there = _mm512_cmpge_epu16_mask(code, start_of(pair));
                bits = _mm512_mask_blend_epi16(is_there, bits, _mm512_permutex2var_epi16(*low, place, *high));
            }
            let bit = _mm512_sllv_epi16(one, _mm512_and_si512(code, _mm512_set1_epi16(15)));
            let is_inside = _mm512_cmplt_epu16_mask(code, start_of(PAIRS));
            word | u64::from(_mm512_mask_test_epi16_mask(is_inside, bits, bit)) << (32 * at)
        })
    });
    words.collect()
}

/// Whether the bits of codes are set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn two_bytes_avx2(codes: &[[u16; 64]], table: &[u64; WORDS_OF_TWO_BYTES]) -> Vec<u64> {
    let words = codes.iter().map(|codes| {
        (0..4).fold(0, |word, at| {
            let codes = load_avx2(codes, at);
            let low = gathered_avx2(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(codes)), table);
            let high = gathered_avx2(_mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(codes)), table);
            word | (low | high << 8) << (16 * at)
        })
    });
    words.collect()
}

/// Whether the bits of the last two bytes of codes are set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn ends_avx2(codes: &[[u32; 64]], table: &[u64; WORDS_OF_TWO_BYTES]) -> Vec<u64> {
    let words = codes.iter().map(|codes| {
        (0..8).fold(0, |word, at| {
            let ends = _mm256_and_si256(load_avx2(codes, at), _mm256_set1_epi32(0xFFFF));
            word | gathered_avx2(ends, table) << (8 * at)
        })
    });
    words.collect()
}

/// Whether the bits of eight numbers, each less than 65,536, are set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn gathered_avx2(numbers: __m256i, table: &[u64; WORDS_OF_TWO_BYTES]) -> u64 {
    // Of the table as words of 32 bits. What is cut off of a number that is too large is the rest of it.
    let place = _mm256_and_si256(_mm256_srli_epi32::<5>(numbers), _mm256_set1_epi32(2 * WORDS_OF_TWO_BYTES as i32 - 1));
    // SAFETY: the table has as many words as places were kept.
    let words = unsafe { _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), place) };
    // The bit that is asked for goes to the sign.
    let signs = _mm256_sllv_epi32(words, _mm256_andnot_si256(numbers, _mm256_set1_epi32(31)));
    u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(signs)).cast_unsigned())
}
