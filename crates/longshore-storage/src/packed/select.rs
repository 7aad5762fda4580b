//! Finds the rows whose values lie in a range, without unpacking them (the thesis, 7.3: scans on compressed data).
//!
//! Codes are in the order of the values they stand for. So the bounds become codes, once for a chunk, and rows are
//! compared at the width of their codes, 64 at a time. Values outside of the domain of the codes select nothing or
//! everything, and nothing is compared.
//!
//! Not here: which rows are NULL or seen.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use arrow_buffer::Buffer;

use super::{Codes, Encoding, PackedColumn, compare_floats, double, float, stored_bits};
use crate::instruction_set::{InstructionSet, Level};
use crate::types::Physical;
use crate::view;

mod compare;

use compare::SelectedCode;

/// The values that are looked for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Whole numbers (booleans are 0 and 1), from the first to the second.
    Whole(i128, i128),
    /// Floats, in the order of SQL: 0 and -0 are equal, and NaN is greater than all others and equal to itself.
    Float(Bound<f64>, Bound<f64>),
    /// Texts, in the order of their bytes.
    Text(Bound<&'a [u8]>, Bound<&'a [u8]>),
}

/// What is known of rows by their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selected {
    Nothing,
    Everything,
    /// Codes from the first to the second.
    Codes(u32, u32),
}

impl PackedColumn {
    /// A bit for each of some rows, that of row `rows.start` first: whether its value is wanted. What it says of a row
    /// that is NULL means nothing. `None` if all are wanted.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or values of this kind are not those of the column.
    #[must_use]
    pub fn select(&self, rows: Range<usize>, wanted: Wanted<'_>) -> Option<Vec<u64>> {
        self.select_with(InstructionSet::best(), rows, wanted)
    }

    pub(super) fn select_with(&self, set: InstructionSet, rows: Range<usize>, wanted: Wanted<'_>) -> Option<Vec<u64>> {
        assert!(rows.end <= self.rows, "rows to {} of {}", rows.end, self.rows);
        let is_wanted = |row: usize| self.is_wanted(self.bits(row), wanted);
        let (codes, selected) = match &self.encoding {
            Encoding::Constant(bytes) if self.is_wanted(u128::from_le_bytes(*bytes), wanted) => return None,
            Encoding::Constant(_) => return Some(vec![0; rows.len().div_ceil(64)]),
            Encoding::Bits(_) | Encoding::Texts(_) | Encoding::Plain(_) => return Some(one_by_one(rows, is_wanted)),
            Encoding::Offset { base, divisor, codes } => (codes, offsets(*base, *divisor, codes, wanted)),
            Encoding::Dictionary { entries, codes } => (codes, self.entries(entries, wanted)),
        };
        match selected {
            Selected::Everything => None,
            Selected::Nothing => Some(vec![0; rows.len().div_ceil(64)]),
            Selected::Codes(low, high) => Some(match codes {
                Codes::U8(codes) => between(set, &codes.as_slice()[rows], low, high),
                Codes::U16(codes) => between(set, &codes.typed_data::<u16>()[rows], low, high),
                Codes::U32(codes) => between(set, &codes.typed_data::<u32>()[rows], low, high),
            }),
        }
    }

    /// The entries of a dictionary that are wanted: their order is that of their codes.
    fn entries(&self, entries: &Buffer, wanted: Wanted<'_>) -> Selected {
        let count = entries.len() / self.physical.width();
        let is_wanted = |at: usize| self.is_wanted(stored_bits(self.physical, entries, at), wanted);
        let Some(first) = (0..count).find(|&at| is_wanted(at)) else { return Selected::Nothing };
        let last = (first..count).rfind(|&at| is_wanted(at)).unwrap_or(first);
        if (first, last + 1) == (0, count) { Selected::Everything } else { Selected::Codes(first as u32, last as u32) }
    }

    fn is_wanted(&self, bits: u128, wanted: Wanted<'_>) -> bool {
        match (wanted, self.physical) {
            (
                Wanted::Whole(low, high),
                Physical::U8 | Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128,
            ) => (low..=high).contains(&(bits as i128)),
            (Wanted::Float(low, high), Physical::F32) => is_within(&float(bits), &low, &high, compare_floats),
            (Wanted::Float(low, high), Physical::F64) => is_within(&double(bits), &low, &high, compare_floats),
            (Wanted::Text(low, high), Physical::View) => {
                is_within(&view::text(&bits.to_le_bytes(), self.heap()), &low, &high, Ord::cmp)
            }
            (wanted, physical) => panic!("{wanted:?} is asked of values of {physical:?}"),
        }
    }
}

/// The codes of wanted numbers.
fn offsets(base: i128, divisor: u64, codes: &Codes, wanted: Wanted<'_>) -> Selected {
    let Wanted::Whole(low, high) = wanted else { panic!("{wanted:?} is asked of whole numbers") };
    let most: u32 = match codes {
        Codes::U8(_) => u8::MAX.into(),
        Codes::U16(_) => u16::MAX.into(),
        Codes::U32(_) => u32::MAX,
    };
    if low > high || high < base {
        return Selected::Nothing;
    }
    // Distances above the base, which is not greater than `high`, are no less than 0 and fit.
    let divisor = u128::from(divisor);
    let first = if low <= base { 0 } else { (low.wrapping_sub(base) as u128).div_ceil(divisor) };
    let last = (high.wrapping_sub(base) as u128) / divisor;
    if first > last || first > most.into() {
        return Selected::Nothing;
    }
    if first == 0 && last >= most.into() {
        return Selected::Everything;
    }
    Selected::Codes(first as u32, last.min(most.into()) as u32)
}

fn is_within<T>(value: &T, low: &Bound<T>, high: &Bound<T>, compare: impl Fn(&T, &T) -> Ordering) -> bool {
    let is_high_enough = match low {
        Bound::Unbounded => true,
        Bound::Included(low) => compare(value, low).is_ge(),
        Bound::Excluded(low) => compare(value, low).is_gt(),
    };
    is_high_enough
        && match high {
            Bound::Unbounded => true,
            Bound::Included(high) => compare(value, high).is_le(),
            Bound::Excluded(high) => compare(value, high).is_lt(),
        }
}

fn one_by_one(rows: Range<usize>, is_wanted: impl Fn(usize) -> bool) -> Vec<u64> {
    let words = rows.clone().step_by(64).map(|from| {
        let to = rows.end.min(from + 64);
        (from..to).fold(0, |word, row| word | u64::from(is_wanted(row)) << (row - from))
    });
    words.collect()
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
