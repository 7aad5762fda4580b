//! Ranges of keys, read in batches: an index is latched for one batch, not while a caller goes through its rows.

use std::ops::Bound;

use super::Key;
use super::key::KeyBytes;
use crate::row_id::RowId;

/// Rows of the first batch: who looks for the least key of a range takes no more, and most ranges by key have no more. To
/// go on behind a batch costs about as much as so many rows.
const BATCH_ROWS_FIRST: usize = 16;

/// Rows of later batches.
const BATCH_ROWS_MAX: usize = 256;

/// In which order a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the least key to the greatest.
    Forward,
    /// From the greatest key to the least.
    Backward,
}

/// A range of keys, and how far it has been read. Its ends may be keys of the first columns only: an included one then
/// includes every key that begins with it, an excluded one none of them.
///
/// What is inserted or removed between two batches is read or not read as it lies ahead or behind.
#[derive(Clone, Debug)]
pub struct Range {
    pub(super) lower: Bound<EndKey>,
    pub(super) upper: Bound<EndKey>,
    pub(super) direction: Direction,
    /// The row read last, with its key.
    pub(super) position: Option<(EndKey, RowId)>,
    pub(super) batch_rows: usize,
    pub(super) is_done: bool,
}

/// Bytes of a key, or its first ones, at the end of a range.
#[derive(Clone, Debug)]
pub(super) struct EndKey {
    /// With zeros behind them, so that any eight bytes are read at once.
    padded: Vec<u8>,
}

const PADDING_BYTES: usize = 8;

impl EndKey {
    pub(super) fn new(bytes: Vec<u8>) -> EndKey {
        let mut padded = bytes;
        padded.extend([0; PADDING_BYTES]);
        EndKey { padded }
    }
}

impl KeyBytes for &EndKey {
    #[inline]
    fn length(self) -> usize {
        self.padded.len() - PADDING_BYTES
    }

    #[inline]
    fn byte(self, at: usize) -> u8 {
        self.padded[at]
    }

    #[inline]
    fn word(self, at: usize) -> u64 {
        self.padded[at..].first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight))
    }
}

impl Range {
    pub(super) fn new(lower: Bound<&Key>, upper: Bound<&Key>, direction: Direction) -> Range {
        Range {
            lower: lower.map(|key| EndKey::new(key.to_bytes())),
            upper: upper.map(|key| EndKey::new(key.to_bytes())),
            direction,
            position: None,
            batch_rows: BATCH_ROWS_FIRST,
            is_done: false,
        }
    }

    /// Takes note of a batch that ended with this row; `None` if it was empty.
    pub(super) fn advance(&mut self, last: Option<(EndKey, RowId)>, rows: usize) {
        self.is_done = rows < self.batch_rows;
        self.batch_rows = (self.batch_rows * 4).min(BATCH_ROWS_MAX);
        if last.is_some() {
            self.position = last;
        }
    }
}
