//! Finds the rows that a predicate wants by their codes, without unpacking them (the thesis, 7.3: scans on compressed
//! data).
//!
//! A predicate becomes a set of codes, once for a chunk: of whole numbers by its ranges, because codes are in the order of
//! the values they stand for; of anything else by its answers for the values of all codes, if these are few
//! (`packed/entries.rs`). Then the codes of rows are looked up in the set, 64 at a time and at their own width. Few ranges
//! are compared with their ends; others are tables of bits. A set that has both ends of the domain is the complement of one
//! with fewer ranges.
//!
//! Not here: which rows are NULL or seen.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer};

use super::range_set::RangeSet;
use super::{Codes, Encoding, PackedColumn, stored_bits};
use crate::instruction_set::InstructionSet;
use crate::types::Physical;

mod compare;
mod table;

use compare::{in_ranges, ranges_compared_max};
use table::{ByteTable, SparseCodes, TwoByteTable};

/// Codes that a predicate wants, of the column of a chunk.
#[derive(Debug)]
pub struct CodeSet {
    /// They ascend, and between any two of them there are other codes. Both ends are included.
    ranges: Vec<(u32, u32)>,
    /// The codes that are not in the ranges are wanted.
    is_complement: bool,
    lookup: Lookup,
}

/// How a code is looked up in many ranges.
#[derive(Debug)]
enum Lookup {
    /// It is compared with the ends of the ranges.
    Compare,
    Bytes(ByteTable),
    TwoBytes(TwoByteTable),
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
        let has_both_ends = ranges.first().is_some_and(|range| range.0 == 0) && ranges[ranges.len() - 1].1 == code_max;
        if has_both_ends {
            ranges = ranges.windows(2).map(|pair| (pair[0].1 + 1, pair[1].0 - 1)).collect();
        }
        let lookup = match ranges.len() {
            0 | 1 => Lookup::Compare,
            _ if code_max <= u8::MAX.into() => Lookup::Bytes(ByteTable::new(&ranges)),
            2 | 3 => Lookup::Compare,
            _ if code_max <= u16::MAX.into() => Lookup::TwoBytes(TwoByteTable::new(&ranges)),
            _ => Lookup::Sparse(SparseCodes::new(&ranges)),
        };
        CodeSet { ranges, is_complement: has_both_ends, lookup }
    }

    fn contains(&self, code: u32) -> bool {
        self.ranges.iter().any(|&(low, high)| low <= code && code <= high) != self.is_complement
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
        if wanted.ranges.is_empty() {
            return (!wanted.is_complement).then(|| BooleanBuffer::new_unset(count));
        }
        let codes = match &self.encoding {
            Encoding::Bits(bits) => {
                let bits = BooleanBuffer::new(bits.clone(), rows.start, count);
                return Some(if wanted.contains(1) { bits } else { !&bits });
            }
            Encoding::Offset { codes, .. } | Encoding::Dictionary { codes, .. } => codes,
            Encoding::Constant(_) => unreachable!("of one code all rows are wanted or none"),
            Encoding::Texts(_) | Encoding::Fsst(_) | Encoding::Plain(_) => panic!("{self:?} has no codes"),
        };
        let mut words = codes.lookup(set, rows, wanted);
        if wanted.is_complement {
            for word in &mut words {
                *word = !*word;
            }
        }
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

    /// A bit for each of some rows, 64 in a word: whether its code is in the ranges of a set.
    fn lookup(&self, set: InstructionSet, rows: Range<usize>, CodeSet { ranges, lookup, .. }: &CodeSet) -> Vec<u64> {
        let are_few = ranges.len() <= ranges_compared_max(set, self.width());
        match self {
            Codes::U8(codes) => {
                let codes = &codes.as_slice()[rows];
                if let Lookup::Bytes(table) = lookup { table.select(set, codes) } else { in_ranges(set, codes, ranges) }
            }
            Codes::U16(codes) => {
                let codes = &codes.typed_data::<u16>()[rows];
                match lookup {
                    Lookup::TwoBytes(table) if !are_few || table.fits_registers(set) => table.select(set, codes),
                    _ => in_ranges(set, codes, ranges),
                }
            }
            Codes::U32(codes) => {
                let codes = &codes.typed_data::<u32>()[rows];
                match lookup {
                    Lookup::Sparse(sparse) if !are_few => sparse.select(set, codes, ranges),
                    _ => in_ranges(set, codes, ranges),
                }
            }
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

#[cfg(test)]
mod tests;
