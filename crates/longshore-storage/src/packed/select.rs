//! Finds the rows that a predicate wants by their codes, without unpacking them (the thesis, 7.3: scans on compressed
//! data).
//!
//! A predicate becomes a set of codes, once for a chunk: of whole numbers by its ranges, because codes are in the order of
//! the values they stand for; of anything else by its answers for the values of all codes, if these are few
//! (`packed/entries.rs`). Then the codes of rows are looked up in the set, 64 at a time and at their own width. Sets that are
//! one range, or all but one, are compared with its ends; others are tables of bits.
//!
//! Not here: which rows are NULL or seen.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer};

use super::offset::Code;
use super::range_set::RangeSet;
use super::{Codes, Encoding, PackedColumn, stored_bits};
use crate::instruction_set::{InstructionSet, Level};
use crate::types::Physical;

mod compare;
mod table;

use compare::SelectedCode;
use table::{SparseCodes, TableBits};

/// So many ranges are compared one after the other rather than looked up in a table.
const RANGES_COMPARED_MAX: usize = 3;

/// Codes that a predicate wants, of the column of a chunk.
#[derive(Debug)]
pub struct CodeSet {
    /// All codes of the column are at most this.
    code_max: u32,
    /// They ascend, and between any two of them there are codes that are not wanted. Both ends are included.
    ranges: Vec<(u32, u32)>,
    lookup: Lookup,
}

/// How a code is looked up.
#[derive(Debug)]
enum Lookup {
    /// It is compared with the ends of the ranges.
    Compare,
    /// It is compared with the ends of the one range that is not wanted.
    CompareOthers(u32, u32),
    Table(TableBits),
    Sparse(SparseCodes),
}

impl CodeSet {
    /// The codes for which this is so.
    #[must_use]
    pub fn of(wanted: &[bool]) -> CodeSet {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (code, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let code = code as u32;
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == code => *last = code,
                _ => ranges.push((code, code)),
            }
        }
        CodeSet::of_ranges(ranges, wanted.len().saturating_sub(1) as u32)
    }

    /// The codes of ranges that ascend; some may touch.
    fn of_ranges(touching: Vec<(u32, u32)>, code_max: u32) -> CodeSet {
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(touching.len());
        for (low, high) in touching {
            match ranges.last_mut() {
                Some((_, last)) if low <= last.saturating_add(1) => *last = high,
                _ => ranges.push((low, high)),
            }
        }
        let lookup = match ranges[..] {
            [] | [_] => Lookup::Compare,
            [(0, before), (after, last)] if last == code_max => Lookup::CompareOthers(before + 1, after - 1),
            _ if code_max <= u8::MAX.into() => Lookup::Table(TableBits::new(&ranges, code_max)),
            _ if ranges.len() <= RANGES_COMPARED_MAX => Lookup::Compare,
            _ if code_max <= u16::MAX.into() => Lookup::Table(TableBits::new(&ranges, code_max)),
            _ => Lookup::Sparse(SparseCodes::new(&ranges)),
        };
        CodeSet { code_max, ranges, lookup }
    }

    fn is_everything(&self) -> bool {
        self.ranges == [(0, self.code_max)]
    }
}

impl PackedColumn {
    /// The codes of whole numbers. `None` if the column has no codes.
    ///
    /// # Panics
    ///
    /// When the column holds other values than whole numbers.
    #[must_use]
    pub fn codes_of(&self, wanted: &RangeSet) -> Option<CodeSet> {
        let is_whole = !matches!(self.physical, Physical::F32 | Physical::F64 | Physical::View);
        assert!(is_whole, "ranges of whole numbers are asked of {:?}", self.physical);
        let ranges = wanted.ranges().iter();
        Some(match &self.encoding {
            Encoding::Constant(bytes) => CodeSet::of(&[wanted.contains(u128::from_le_bytes(*bytes) as i128)]),
            Encoding::Bits(_) => CodeSet::of(&[wanted.contains(0), wanted.contains(1)]),
            Encoding::Offset { base, divisor, codes } => {
                let code_max = codes.greatest();
                let codes = ranges.filter_map(|&(low, high)| offsets(*base, *divisor, code_max, low, high));
                CodeSet::of_ranges(codes.collect(), code_max)
            }
            Encoding::Dictionary { entries, .. } => {
                let count = entries.len() / self.physical.width();
                let below = |number: i128, inclusive: bool| {
                    partition_point(count, |at| {
                        let entry = stored_bits(self.physical, entries, at) as i128;
                        entry < number || inclusive && entry == number
                    })
                };
                let codes = ranges.filter_map(|&(low, high)| {
                    let (first, end) = (below(low, false), below(high, true));
                    (first < end).then(|| (first as u32, end as u32 - 1))
                });
                CodeSet::of_ranges(codes.collect(), count as u32 - 1)
            }
            Encoding::Texts(_) | Encoding::Fsst(_) | Encoding::Plain(_) => return None,
        })
    }

    /// A bit for each of some rows, that of row `rows.start` first: whether its code is wanted. What it says of a row that
    /// is NULL means nothing. `None` if all are wanted.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or the column has no codes.
    #[must_use]
    pub fn select(&self, rows: Range<usize>, wanted: &CodeSet) -> Option<BooleanBuffer> {
        self.select_with(InstructionSet::best(), rows, wanted)
    }

    pub(super) fn select_with(
        &self,
        set: InstructionSet,
        rows: Range<usize>,
        wanted: &CodeSet,
    ) -> Option<BooleanBuffer> {
        assert!(rows.end <= self.rows, "rows to {} of {}", rows.end, self.rows);
        let count = rows.len();
        if wanted.is_everything() {
            return None;
        }
        if wanted.ranges.is_empty() {
            return Some(BooleanBuffer::new_unset(count));
        }
        let codes = match &self.encoding {
            Encoding::Bits(bits) => {
                let bits = BooleanBuffer::new(bits.clone(), rows.start, count);
                return Some(if wanted.ranges[0].0 == 1 { bits } else { !&bits });
            }
            Encoding::Offset { codes, .. } | Encoding::Dictionary { codes, .. } => codes,
            Encoding::Constant(_) => unreachable!("of one code all rows are wanted or none"),
            Encoding::Texts(_) | Encoding::Fsst(_) | Encoding::Plain(_) => panic!("{self:?} has no codes"),
        };
        let words = match codes {
            Codes::U8(codes) => lookup(set, &codes.as_slice()[rows], wanted),
            Codes::U16(codes) => lookup(set, &codes.typed_data::<u16>()[rows], wanted),
            Codes::U32(codes) => lookup(set, &codes.typed_data::<u32>()[rows], wanted),
        };
        Some(BooleanBuffer::new(Buffer::from_vec(words), 0, count))
    }
}

impl Codes {
    /// The greatest code of this width.
    fn greatest(&self) -> u32 {
        match self {
            Codes::U8(_) => u8::MAX.into(),
            Codes::U16(_) => u16::MAX.into(),
            Codes::U32(_) => u32::MAX,
        }
    }
}

/// The codes of the numbers from `low` to `high`, if there are any.
fn offsets(base: i128, divisor: u64, code_max: u32, low: i128, high: i128) -> Option<(u32, u32)> {
    if high < base {
        return None;
    }
    // Distances above the base, which is not greater than `high`, are no less than 0 and fit.
    let divisor = u128::from(divisor);
    let first = if low <= base { 0 } else { (low.wrapping_sub(base) as u128).div_ceil(divisor) };
    let last = ((high.wrapping_sub(base) as u128) / divisor).min(code_max.into());
    (first <= last).then_some((first as u32, last as u32))
}

/// The first of `count` places of which this is not so; it is so of all before.
fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Which codes are in a set that is neither empty nor everything.
fn lookup<C: SelectedCode>(set: InstructionSet, codes: &[C], wanted: &CodeSet) -> Vec<u64> {
    match &wanted.lookup {
        Lookup::Compare => {
            let ((low, high), others) = (wanted.ranges[0], &wanted.ranges[1..]);
            let mut words = between(set, codes, low, high);
            for &(low, high) in others {
                words.iter_mut().zip(between(set, codes, low, high)).for_each(|(word, other)| *word |= other);
            }
            words
        }
        Lookup::CompareOthers(low, high) => between(set, codes, *low, *high).into_iter().map(|word| !word).collect(),
        Lookup::Table(table) => table.select(set, codes),
        Lookup::Sparse(sparse) => sparse.select(codes, &wanted.ranges),
    }
}

/// Which codes lie between two, both included.
fn between<C: SelectedCode>(set: InstructionSet, codes: &[C], low: u32, high: u32) -> Vec<u64> {
    let (low, span) = (C::of(low.into()), C::of((high - low).into()));
    let (whole, rest) = codes.as_chunks::<64>();
    let mut words = Vec::with_capacity(codes.len().div_ceil(64));
    match set.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            // SAFETY: the machine has it: an instruction set is made of what was detected only.
            words.extend(whole.iter().map(|codes| unsafe { C::within_avx512(codes, low, span) }));
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            // SAFETY: as above.
            words.extend(whole.iter().map(|codes| unsafe { C::within_avx2(codes, low, span) }));
        }
        Level::Baseline => words.extend(whole.iter().map(|codes| C::within(codes, low, span))),
    }
    if !rest.is_empty() {
        words.push(C::within(rest, low, span));
    }
    words
}

/// A bit for each code, 64 in a word.
fn one_by_one<C: Code>(codes: &[C], is_wanted: impl Fn(u32) -> bool) -> Vec<u64> {
    let word = |codes: &[C]| {
        codes.iter().enumerate().fold(0, |word, (at, code)| word | u64::from(is_wanted(code.number() as u32)) << at)
    };
    codes.chunks(64).map(word).collect()
}
