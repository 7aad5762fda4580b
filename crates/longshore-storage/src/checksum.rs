//! A checksum of the rows of a snapshot that does not depend on their order, nor on how chunks divide them.
//!
//! Each row is written in a canonical form of 64-bit words: one bit per column for NULL, integers with their sign,
//! floats by their bits (every NaN as one), texts by their length and first bytes and, beyond 12 bytes, the xxh3 of the
//! whole. The checksum is the sum of the 128-bit xxh3 of all rows, seeded by the types of the columns. A sum rather than
//! an exclusive or, so that a row that occurs twice does not vanish.
//!
//! Two different multisets of rows have equal checksums with a probability of about 2^-64: that of two long texts with
//! equal hash, compared with which the 128 bits of the sum do not count. This guards against mistakes; it is no defence
//! against somebody who searches for a collision.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::chunk::Chunk;
use crate::table::Snapshot;
use crate::threads::in_threads;
use crate::types::{Physical, Schema};
use crate::values::{Scratch, Values};
use crate::view::{self, INLINE_BYTES_MAX};

/// Rows that are brought into canonical form at a time; with 16 columns they stay in L1.
const BATCH_ROWS: usize = 128;

/// The checksum of a multiset of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Number of rows.
    pub rows: u64,
    /// Sum of the hashes of the rows.
    pub sum: u128,
}

/// The sum as 32 hexadecimal digits.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

/// The checksum of all rows of `snapshot`, computed by `threads` workers.
#[must_use]
pub fn checksum(snapshot: &Snapshot, threads: usize) -> Checksum {
    let chunks = snapshot.chunks();
    let next_chunk = AtomicUsize::new(0);
    let work = || {
        let mut rows = CanonicalRows::new(snapshot.schema());
        let mut sum = 0_u128;
        while let Some(chunk) = chunks.get(next_chunk.fetch_add(1, Ordering::Relaxed)) {
            sum = sum.wrapping_add(rows.sum(chunk));
        }
        sum
    };
    let sum = in_threads(threads.min(chunks.len()), work).into_iter().fold(0, u128::wrapping_add);
    Checksum { rows: snapshot.rows(), sum }
}

type Word = [u8; 8];

/// Some rows in canonical form, row by row.
struct CanonicalRows {
    seed: u64,
    /// Words per row: the NULL bits, then those of each column.
    stride: usize,
    /// Where a row's words of each column begin.
    starts: Vec<usize>,
    words: Vec<Word>,
    scratch: Scratch,
}

impl CanonicalRows {
    fn new(schema: &Schema) -> CanonicalRows {
        let mut stride = schema.columns().len().div_ceil(64);
        let mut starts = Vec::new();
        let mut types = String::new();
        for column in schema.columns() {
            starts.push(stride);
            stride += match column.column_type.physical() {
                Physical::I128 | Physical::View => 2,
                _ => 1,
            };
            types.push_str(&column.column_type.to_string());
            types.push('\n');
        }
        CanonicalRows {
            seed: xxh3_64(types.as_bytes()),
            stride,
            starts,
            words: vec![Word::default(); stride * BATCH_ROWS],
            scratch: Scratch::default(),
        }
    }

    /// The sum of the hashes of a chunk's rows.
    fn sum(&mut self, chunk: &Chunk) -> u128 {
        let mut sum = 0_u128;
        for start in (0..chunk.rows()).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(chunk.rows() - start);
            self.words.fill(Word::default());
            for column in 0..self.starts.len() {
                self.write_values(chunk, column, start, rows);
                self.write_nulls(chunk, column, start, rows);
            }
            for row in self.words.chunks_exact(self.stride.max(1)).take(rows) {
                sum = sum.wrapping_add(xxh3_128_with_seed(row.as_flattened(), self.seed));
            }
        }
        sum
    }

    fn write_values(&mut self, chunk: &Chunk, column: usize, start: usize, rows: usize) {
        let words = &mut self.words[self.starts[column]..];
        let stride = self.stride;
        let (values, texts) = chunk.values_with_texts(column, start..start + rows, &mut self.scratch);
        match values {
            Values::U8(values) => scatter(words, stride, values, |value| [u64::from(value)]),
            Values::I16(values) => scatter(words, stride, values, |value| [i64::from(value) as u64]),
            Values::I32(values) => scatter(words, stride, values, |value| [i64::from(value) as u64]),
            Values::I64(values) => scatter(words, stride, values, |value| [value as u64]),
            Values::I128(values) => scatter(words, stride, values, |value| [value as u64, (value >> 64) as u64]),
            Values::F32(values) => scatter(words, stride, values, |value| {
                [u64::from(if value.is_nan() { f32::NAN } else { value }.to_bits())]
            }),
            Values::F64(values) => {
                scatter(words, stride, values, |value| [if value.is_nan() { f64::NAN } else { value }.to_bits()]);
            }
            Values::Views(views) => scatter(words, stride, views, |view| {
                let bytes = view.to_le_bytes();
                let value = view::text(&bytes, texts);
                let rest = if value.len() <= INLINE_BYTES_MAX { (view >> 64) as u64 } else { xxh3_64(value) };
                [view as u64, rest]
            }),
        }
    }

    /// Sets the bits of the rows that are NULL, and clears their values.
    fn write_nulls(&mut self, chunk: &Chunk, column: usize, start: usize, rows: usize) {
        let Some(validity) = chunk.validity(column) else { return };
        let end = self.starts.get(column + 1).copied().unwrap_or(self.stride);
        for row in 0..rows {
            if validity[(start + row) / 8] >> ((start + row) % 8) & 1 == 0 {
                let words = &mut self.words[row * self.stride..][..self.stride];
                words[self.starts[column]..end].fill(Word::default());
                words[column / 64][column % 64 / 8] |= 1 << (column % 8);
            }
        }
    }
}

/// Writes the words of each value, `stride` words apart.
#[inline]
fn scatter<T: Copy, const N: usize>(words: &mut [Word], stride: usize, values: &[T], word: impl Fn(T) -> [u64; N]) {
    for (row, &value) in words.chunks_mut(stride).zip(values) {
        for (slot, word) in row.iter_mut().zip(word(value)) {
            *slot = word.to_le_bytes();
        }
    }
}
