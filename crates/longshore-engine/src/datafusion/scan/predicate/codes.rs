//! A conjunct on one column, evaluated on the column as it is stored: no array is made of its rows.
//!
//! What only asks for NULL is told by validity bits. Ranges of whole numbers become codes (*Data Blocks*; the thesis, 7.3).
//! Anything else is evaluated once on each value that the codes stand for, and once on NULL, where these values are
//! fewer than the rows; rows are then looked up by their codes. The answers are kept while a worker stays in the chunk.
//!
//! A conjunct that may fail is evaluated only on values that rows have which are seen and which all conjuncts before it
//! have kept. So it fails only where it would have failed on such a row.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer};
use datafusion::arrow::compute::take;
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use longshore_storage::{Chunk, CodeSet, PackedColumn, RangeSet};

use super::{Candidates, Conjunct, without_nulls};

/// A set of more ranges than these is not looked up in plain values one by one.
const PLAIN_RANGES_MAX: usize = 4;

/// Some rows of a column of a chunk.
pub(in crate::datafusion) struct StoredRows<'a> {
    pub(in crate::datafusion) chunk: &'a Chunk,
    /// The position of the chunk among those of the scan.
    pub(in crate::datafusion) chunk_index: usize,
    pub(in crate::datafusion) column: usize,
    pub(in crate::datafusion) rows: Range<usize>,
}

impl StoredRows<'_> {
    /// Which of them are not NULL; `None` if all are.
    fn valid(&self) -> Option<BooleanBuffer> {
        let Range { start, end } = self.rows;
        let bits = &self.chunk.validity(self.column)?[start / 8..end.div_ceil(8)];
        Some(BooleanBuffer::new(Buffer::from(bits), start % 8, end - start))
    }

    fn packed(&self) -> Option<&PackedColumn> {
        self.chunk.packed(self.column).map(AsRef::as_ref)
    }

    /// The digits of a plain column of decimals, of which queries would see 128-bit copies.
    fn plain_decimals(&self) -> Option<&[i64]> {
        self.chunk.plain_decimals(self.column)?.get(self.rows.clone())
    }

    /// The numbers that a column of UUIDs stores, one for each row, of which queries would see texts.
    fn plain_uuids(&self) -> Option<&[i128]> {
        self.chunk.plain_uuids(self.column)?.get(self.rows.clone())
    }
}

/// What the conjuncts of a predicate say of codes: of each that was asked, of the chunk that it was asked of last.
#[derive(Default)]
pub(in crate::datafusion) struct CodeAnswers {
    of_conjuncts: Vec<Option<Answers>>,
}

/// What a conjunct says of the codes of a chunk.
struct Answers {
    chunk_index: usize,
    wanted: CodeSet,
    /// What it says of NULL; `None` as long as nobody asked.
    null: Option<bool>,
    /// What it says of each code, and whether that is known yet. Empty where ranges told it of all.
    says: Vec<bool>,
    known: Vec<bool>,
}

impl Answers {
    fn unknown(chunk_index: usize, entries: usize) -> Answers {
        let none = || vec![false; entries];
        Answers { chunk_index, wanted: CodeSet::of(&none()), null: None, says: none(), known: none() }
    }
}

impl CodeAnswers {
    fn of_conjunct(&mut self, number: usize) -> &mut Option<Answers> {
        if self.of_conjuncts.len() <= number {
            self.of_conjuncts.resize_with(number + 1, || None);
        }
        &mut self.of_conjuncts[number]
    }
}

impl Conjunct {
    /// Which of some rows satisfy it, of those that are candidates. `None` if that takes arrays. `number` is its place
    /// among the conjuncts.
    pub(super) fn on_stored(
        &self,
        number: usize,
        stored: &StoredRows<'_>,
        candidates: &Candidates<'_>,
        answers: &mut CodeAnswers,
    ) -> Result<Option<BooleanBuffer>> {
        let rows = stored.rows.len();
        if let Some(ranges) = &self.ranges {
            let (yes, null) = (ranges.yes(), ranges.includes_null());
            if yes.is_none() {
                return Ok(Some(with_nulls(Some(BooleanBuffer::new_unset(rows)), stored.valid(), null, rows)));
            }
            if yes.is_all() {
                return Ok(Some(with_nulls(None, stored.valid(), null, rows)));
            }
            let among = stored.plain_decimals().map(|digits| among_plain(digits, yes));
            if let Some(selected) = among.or_else(|| Some(among_plain(stored.plain_uuids()?, yes))) {
                return Ok(selected.map(|selected| with_nulls(Some(selected), stored.valid(), null, rows)));
            }
        }
        let Some(packed) = stored.packed() else { return Ok(None) };
        let slot = answers.of_conjunct(number);
        let is_of_chunk = slot.as_ref().is_some_and(|answers| answers.chunk_index == stored.chunk_index);
        if !is_of_chunk {
            let by_ranges = self.ranges.as_ref().and_then(|ranges| Some((packed.codes_of(ranges.yes())?, ranges)));
            *slot = match (by_ranges, packed.entries()) {
                (Some((wanted, ranges)), _) => Some(Answers {
                    chunk_index: stored.chunk_index,
                    wanted,
                    null: Some(ranges.includes_null()),
                    says: Vec::new(),
                    known: Vec::new(),
                }),
                (None, Some(entries)) if entries <= candidates.count => {
                    Some(Answers::unknown(stored.chunk_index, entries))
                }
                _ => None,
            };
        }
        let Some(answers) = slot else { return Ok(None) };
        let valid = stored.valid();
        self.complete(answers, stored, packed, candidates, valid.as_ref())?;
        let selected = packed.select(stored.rows.clone(), &answers.wanted);
        Ok(Some(with_nulls(selected, valid, answers.null == Some(true), rows)))
    }

    /// Evaluates it on what the candidates have and it was not yet evaluated on.
    fn complete(
        &self,
        answers: &mut Answers,
        stored: &StoredRows<'_>,
        packed: &PackedColumn,
        candidates: &Candidates<'_>,
        valid: Option<&BooleanBuffer>,
    ) -> Result<()> {
        if answers.known.contains(&false) {
            let mut asked = vec![!self.may_fail; answers.known.len()];
            if self.may_fail {
                let all = BooleanBuffer::new_set(stored.rows.len());
                let bits = candidates.mask.map_or(&all, BooleanArray::values);
                let bits = valid.map_or_else(|| bits.clone(), |valid| bits & valid);
                packed.note_codes(stored.rows.clone(), &bits, &mut asked);
            }
            let missing = (0..asked.len()).filter(|&code| asked[code] && !answers.known[code]);
            let missing: Vec<u32> = missing.map(|code| code as u32).collect();
            if let Some(entries) = stored.chunk.entries(stored.column).filter(|_| !missing.is_empty()) {
                let is_all = missing.len() == asked.len();
                let missing = UInt32Array::from(missing);
                let values = if is_all { entries } else { take(&entries, &missing, None)? };
                let said = self.on_values(values)?;
                for (&code, says) in missing.values().iter().zip(said.values()) {
                    answers.says[code as usize] = says;
                    answers.known[code as usize] = true;
                }
                answers.wanted = CodeSet::of(&answers.says);
            }
        }
        if let (None, Some(valid)) = (answers.null, valid) {
            let nulls = !valid;
            let asks = candidates.mask.map_or_else(|| nulls.clone(), |mask| mask.values() & &nulls);
            if asks.count_set_bits() > 0 {
                let null = new_null_array(self.schema.field(0).data_type(), 1);
                answers.null = Some(self.on_values(null)?.value(0));
            }
        }
        Ok(())
    }

    /// What it says of some values of its one column.
    fn on_values(&self, values: ArrayRef) -> Result<BooleanArray> {
        let count = values.len();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), vec![values], &options)?;
        let said = self.local.evaluate(&batch)?.into_array(count)?;
        Ok(without_nulls(as_boolean_array(&said)?))
    }
}

/// Those of some rows that are selected, if they are not NULL, and those that are NULL if `null` says so; `None` stands for
/// all rows.
fn with_nulls(selected: Option<BooleanBuffer>, valid: Option<BooleanBuffer>, null: bool, rows: usize) -> BooleanBuffer {
    match (selected, valid) {
        (Some(selected), Some(valid)) if null => &selected | &!&valid,
        (Some(selected), Some(valid)) => &selected & &valid,
        (Some(selected), None) => selected,
        (None, Some(valid)) if !null => valid,
        (None, _) => BooleanBuffer::new_set(rows),
    }
}

/// A type of plain values.
trait Whole: Copy + Ord + TryFrom<i128> {
    const MIN: i128;
    const MAX: i128;
}

impl Whole for i64 {
    const MIN: i128 = i64::MIN as i128;
    const MAX: i128 = i64::MAX as i128;
}

impl Whole for i128 {
    const MIN: i128 = i128::MIN;
    const MAX: i128 = i128::MAX;
}

/// Which values are in a set; `None` if that is better told otherwise.
fn among_plain<T: Whole>(values: &[T], wanted: &RangeSet) -> Option<BooleanBuffer> {
    let within = |low: i128, high: i128| {
        let (least, greatest) = (T::try_from(low.max(T::MIN)).ok(), T::try_from(high.min(T::MAX)).ok());
        let (Some(least), Some(greatest)) = (least, greatest) else { return BooleanBuffer::new_unset(values.len()) };
        BooleanBuffer::collect_bool(values.len(), |row| (least..=greatest).contains(&values[row]))
    };
    match *wanted.ranges() {
        [(i128::MIN, before), (after, i128::MAX)] => Some(!&within(before + 1, after - 1)),
        ref ranges if ranges.len() <= PLAIN_RANGES_MAX => {
            let found = ranges.iter().map(|&(low, high)| within(low, high)).reduce(|one, other| &one | &other);
            Some(found.unwrap_or_else(|| BooleanBuffer::new_unset(values.len())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_among_the_ranges() {
        let values = [i64::MIN, -3, -2, 0, 1, 2, 7, 8, i64::MAX];
        let wide = |number: i64| i128::from(number);
        for wanted in [
            RangeSet::none(),
            RangeSet::all(),
            RangeSet::between(-2, 2),
            RangeSet::between(-2, 2).complement(),
            RangeSet::of([7]).complement(),
            RangeSet::of([0, 2, 8]),
            RangeSet::between(i128::MIN, -3),
            RangeSet::between(wide(i64::MAX), i128::MAX),
            RangeSet::between(wide(i64::MAX) + 1, i128::MAX),
            RangeSet::between(i128::MIN, wide(i64::MIN) - 1),
        ] {
            let found = among_plain(&values, &wanted).expect("there are few ranges");
            let expected: BooleanBuffer = values.iter().map(|&value| wanted.contains(value.into())).collect();
            assert_eq!(found, expected, "{wanted:?}");
        }
        assert!(among_plain(&values, &RangeSet::of([1, 3, 5, 7, 9])).is_none());
    }

    #[test]
    fn null_is_what_the_predicate_says_of_it() {
        let bits = |bits: [bool; 4]| BooleanBuffer::from(&bits[..]);
        let valid = || Some(bits([true, true, false, false]));
        let selected = || Some(bits([true, false, true, false]));
        for (found, expected) in [
            (with_nulls(selected(), valid(), false, 4), [true, false, false, false]),
            (with_nulls(selected(), valid(), true, 4), [true, false, true, true]),
            (with_nulls(selected(), None, true, 4), [true, false, true, false]),
            (with_nulls(None, valid(), false, 4), [true, true, false, false]),
            (with_nulls(None, valid(), true, 4), [true; 4]),
            (with_nulls(None, None, false, 4), [true; 4]),
        ] {
            assert_eq!(found, bits(expected));
        }
    }
}
