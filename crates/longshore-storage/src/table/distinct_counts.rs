//! About how many distinct values each column has, for who plans queries.
//!
//! A load hashes nothing for it. Who asks first pays: the values of a *sample* of the rows, at most [`SAMPLED_ROWS_MAX`]
//! in stretches of neighbours that are spread evenly, go into a sketch for each stretch and one for all of them. Of a
//! table that is not larger, that is all there is to count. Of a larger one we know how many distinct values the stretches
//! have each, and all together; from how much they share, we tell how many there are (`of_all_rows`). The counts are kept
//! with the table. They are made anew when the number of rows has changed by more than a tenth or, if the sampled rows
//! have changed otherwise, after [`AGE_MAX`]. So a table that changes all the time costs a planner little.
//!
//! The sample is a function of the rows, so equal tables have equal counts. Values come as arrays, which are the same
//! whatever the encoding of a chunk is; of a dictionary and of codes of a byte, only the values that occur are hashed.
//!
//! Not here: the sketch (`sketch`).

use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ByteViewType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericByteViewArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use xxhash_rust::xxh3::xxh3_64;

use crate::chunk::{Chunk, VisibleChunk};
use crate::lists;
use crate::sketch::{STANDARD_ERROR, Sketch};
use crate::sync::brief;
use crate::view::{self, INLINE_BYTES_MAX};

/// Rows of a table that are looked at.
const SAMPLED_ROWS_MAX: u64 = 1 << 17;

/// Rows that lie beside each other and are looked at together.
const STRETCH_ROWS: usize = 1 << 12;
const _: () = assert!(SAMPLED_ROWS_MAX.is_multiple_of(STRETCH_ROWS as u64));

/// Counts are good for so long, even if the rows have changed.
const AGE_MAX: Duration = Duration::from_secs(10);

/// Counts are good for so many rows more or fewer: one in this many.
const CHANGED_RATIO: u64 = 10;

/// The counts that a table keeps.
#[derive(Default)]
pub(super) struct KeptCounts(brief::Mutex<Option<Arc<DistinctCounts>>>);

/// The counts of the columns of some rows, each made when it is asked for.
pub(super) struct DistinctCounts {
    rows: u64,
    sample: Vec<Stretch>,
    made: Instant,
    columns: Box<[OnceLock<u64>]>,
}

/// Rows that are looked at together. As long as it is remembered, no other chunk has the address of this one.
struct Stretch {
    chunk: Weak<Chunk>,
    /// Whether its rows are seen as it holds them, so that who sees the same chunk sees the same rows.
    is_clean: bool,
    piece: usize,
    offset: usize,
    rows: usize,
}

impl KeptCounts {
    /// Those for some rows: the ones that are kept, if they are good enough, or else new ones, which are kept from now on.
    pub(super) fn of(&self, pieces: &[VisibleChunk], columns: usize) -> Arc<DistinctCounts> {
        self.not_older(pieces, columns, AGE_MAX)
    }

    fn not_older(&self, pieces: &[VisibleChunk], columns: usize, age_max: Duration) -> Arc<DistinctCounts> {
        let new = DistinctCounts::new(pieces, columns);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.are_good_for(&new, age_max)) {
            return Arc::clone(kept);
        }
        Arc::clone(kept.insert(Arc::new(new)))
    }
}

impl DistinctCounts {
    fn new(pieces: &[VisibleChunk], columns: usize) -> DistinctCounts {
        let columns = std::iter::repeat_with(OnceLock::new).take(columns).collect();
        let rows = pieces.iter().map(|piece| piece.visible_rows() as u64).sum();
        DistinctCounts { rows, sample: sample(pieces), made: Instant::now(), columns }
    }

    fn are_good_for(&self, new: &DistinctCounts, age_max: Duration) -> bool {
        let is_same = |(ours, theirs): (&Stretch, &Stretch)| ours.is_same(theirs);
        let is_same_sample =
            || self.sample.len() == new.sample.len() && self.sample.iter().zip(&new.sample).all(is_same);
        let are_near = self.rows.abs_diff(new.rows) <= self.rows / CHANGED_RATIO;
        self.rows == new.rows && is_same_sample() || are_near && self.made.elapsed() < age_max
    }

    /// The count of a column; `pieces` are the rows for which the counts were asked for. It may be more than their number.
    pub(super) fn of_column(&self, column: usize, pieces: &[VisibleChunk]) -> u64 {
        *self.columns[column].get_or_init(|| count(column, pieces))
    }
}

impl Stretch {
    fn is_same(&self, other: &Stretch) -> bool {
        let is_same_place = (self.offset, self.rows) == (other.offset, other.rows);
        self.chunk.ptr_eq(&other.chunk) && is_same_place && self.is_clean && other.is_clean
    }
}

/// The rows that are looked at: all, or [`SAMPLED_ROWS_MAX`] in stretches spread evenly.
fn sample(pieces: &[VisibleChunk]) -> Vec<Stretch> {
    let all: u64 = pieces.iter().map(|piece| piece.rows() as u64).sum();
    let mut sample = Vec::new();
    // Of the rows before a stretch, the sample has its share.
    let (mut before, mut sampled) = (0_u64, 0_u64);
    for (piece, of) in pieces.iter().enumerate() {
        for offset in (0..of.rows()).step_by(STRETCH_ROWS) {
            let rows = STRETCH_ROWS.min(of.rows() - offset);
            if u128::from(sampled) * u128::from(all) <= u128::from(before) * u128::from(SAMPLED_ROWS_MAX.min(all)) {
                let (chunk, is_clean) = (Arc::downgrade(of.chunk()), of.is_clean());
                sample.push(Stretch { chunk, is_clean, piece, offset, rows });
                sampled += rows as u64;
            }
            before += rows as u64;
        }
    }
    sample
}

/// About how many distinct values a column has in the rows that are seen.
fn count(column: usize, pieces: &[VisibleChunk]) -> u64 {
    let mut all = Sketch::new();
    let (mut drawn, mut seen) = (0.0, 0);
    for stretch in sample(pieces) {
        let mut of_stretch = Sketch::new();
        seen += stretch.add_to(&mut of_stretch, column, &pieces[stretch.piece]);
        drawn += of_stretch.estimate();
        all.merge(&of_stretch);
    }
    let rows: usize = pieces.iter().map(VisibleChunk::visible_rows).sum();
    let ratio = if seen == 0 { 1.0 } else { rows as f64 / seen as f64 };
    // Where all values that are sampled are NULL, nothing is known of the others.
    if drawn > 0.0 { of_all_rows(all.estimate(), drawn, ratio).round() as u64 } else { rows as u64 }
}

/// How many distinct values there are, if the stretches of a sample have `drawn` each, added up, and `union` all together,
/// and all rows are `ratio` times as many as the sampled ones.
///
/// What a stretch has beside others of its kind tells nothing: rows that were made together are alike. But stretches lie
/// far from each other. So we take what they have for draws from all D values there are, of which D (1 - e^(-drawn / D))
/// are met. That gives D, and from it what is met in all rows. Where the stretches share nothing, as those of a key, or of
/// a column in whose order the rows lie, each further one has values of its own.
fn of_all_rows(union: f64, drawn: f64, ratio: f64) -> f64 {
    if ratio <= 1.0 {
        return union;
    }
    let share = union / drawn;
    if share > 1.0 - 2.0 * STANDARD_ERROR {
        return union * ratio;
    }
    // (1 - e^-x) / x = share, where x = drawn / D; the left side falls with x, and is less than 1 / x.
    let (mut low, mut high) = (0.0, 1.0 / share);
    for _ in 0..50 {
        let x = f64::midpoint(low, high);
        if -f64::exp_m1(-x) / x > share { low = x } else { high = x }
    }
    let values = drawn / high;
    (values * -f64::exp_m1(-high * ratio)).max(union)
}

impl Stretch {
    /// Adds the values of a column that are seen and not NULL; says how many rows are seen.
    fn add_to(&self, sketch: &mut Sketch, column: usize, piece: &VisibleChunk) -> usize {
        let visible = piece.visible(self.offset, self.rows);
        let seen = visible.as_ref().map_or(self.rows, BooleanBuffer::count_set_bits);
        let rows = self.offset..self.offset + self.rows;
        if let Some(packed) = piece.chunk().packed(column)
            && packed.entries().is_some_and(|entries| entries <= self.rows)
            && piece.is_stored(column, self.offset, self.rows)
            && let Some(entries) = piece.chunk().entries(column)
        {
            let mut occurs = vec![false; entries.len()];
            let valid = piece.chunk().validity(column).map(|bits| {
                BooleanBuffer::collect_bool(self.rows, |row| {
                    bits[(self.offset + row) / 8] >> ((self.offset + row) % 8) & 1 == 1
                })
            });
            let counted = match (valid, visible) {
                (Some(valid), Some(visible)) => &valid & &visible,
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => BooleanBuffer::new_set(self.rows),
            };
            packed.note_codes(rows, &counted, &mut occurs);
            add(sketch, &entries, Some(&BooleanBuffer::from(occurs)));
        } else {
            add(sketch, &piece.array(column, self.offset, self.rows), visible.as_ref());
        }
        seen
    }
}

/// The values as they are stored, of types that Arrow has not and of arrays.
fn stored(array: &ArrayRef) -> ArrayRef {
    match array.as_struct_opt() {
        Some(wrapped) => Arc::clone(wrapped.column(0)),
        None => lists::encode_array(array),
    }
}

/// Adds the values of an array that are not NULL, those of `rows`. Equal values have the same hash.
fn add(sketch: &mut Sketch, array: &ArrayRef, rows: Option<&BooleanBuffer>) {
    let selected = rows.map(|rows| NullBuffer::new(rows.clone()));
    let counted = NullBuffer::union(array.nulls(), selected.as_ref());
    let counted = counted.as_ref();
    let array = &stored(array);
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().values();
            add_hashes(sketch, values.len(), counted, |row| mixed(values.value(row).into()));
        }
        DataType::Int16 => add_numbers::<Int16Type>(sketch, array, counted, |value| mixed(value as u64)),
        DataType::Int32 => add_numbers::<Int32Type>(sketch, array, counted, |value| mixed(value as u64)),
        DataType::Int64 => add_numbers::<Int64Type>(sketch, array, counted, |value| mixed(value as u64)),
        DataType::Date32 => add_numbers::<Date32Type>(sketch, array, counted, |value| mixed(value as u64)),
        DataType::Time64(_) => {
            add_numbers::<Time64MicrosecondType>(sketch, array, counted, |value| mixed(value as u64));
        }
        DataType::Timestamp(..) => {
            add_numbers::<TimestampMicrosecondType>(sketch, array, counted, |value| mixed(value as u64));
        }
        DataType::Float32 => add_numbers::<Float32Type>(sketch, array, counted, |value| float_hash(value.into())),
        DataType::Float64 => add_numbers::<Float64Type>(sketch, array, counted, float_hash),
        DataType::Decimal128(..) => {
            add_numbers::<Decimal128Type>(sketch, array, counted, |value| mixed_wide(value as u128));
        }
        DataType::Utf8View => add_texts(sketch, array.as_string_view(), counted),
        DataType::BinaryView => add_texts(sketch, array.as_binary_view(), counted),
        // Of a type that Arrow has not.
        DataType::Struct(_) => add(sketch, array.as_struct().column(0), rows),
        other => unreachable!("no column has the type {other}"),
    }
}

fn add_numbers<T: ArrowPrimitiveType>(
    sketch: &mut Sketch,
    array: &ArrayRef,
    counted: Option<&NullBuffer>,
    hash: impl Fn(T::Native) -> u64,
) {
    let values = array.as_primitive::<T>().values();
    add_hashes(sketch, values.len(), counted, |row| hash(values[row]));
}

fn add_texts<T: ByteViewType>(sketch: &mut Sketch, array: &GenericByteViewArray<T>, counted: Option<&NullBuffer>) {
    let views = array.views();
    add_hashes(sketch, views.len(), counted, |row| {
        // A short text has one view, wherever it comes from.
        if view::length(views[row]) <= INLINE_BYTES_MAX {
            return mixed_wide(views[row]);
        }
        let text: &[u8] = array.value(row).as_ref();
        xxh3_64(text)
    });
}

fn add_hashes(sketch: &mut Sketch, rows: usize, counted: Option<&NullBuffer>, hash: impl Fn(usize) -> u64) {
    match counted {
        None => (0..rows).for_each(|row| sketch.add(hash(row))),
        Some(counted) => counted.valid_indices().for_each(|row| sketch.add(hash(row))),
    }
}

/// The hash of a float: 0 and -0 are equal, and so are all NaN.
fn float_hash(value: f64) -> u64 {
    let is_zero = value == 0.0;
    let one_of_equal = if is_zero {
        0.0
    } else if value.is_nan() {
        f64::NAN
    } else {
        value
    };
    mixed(one_of_equal.to_bits())
}

/// The hash of 64 bits: the finalizer of `SplitMix64` (Steele, Lea and Flood, 2014).
#[inline]
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// The hash of 128 bits.
#[inline]
fn mixed_wide(bits: u128) -> u64 {
    mixed(mixed((bits >> 64) as u64) ^ bits as u64)
}

#[cfg(test)]
mod tests;
