//! What each column of a chunk takes of memory, and what it would take if it were plain.
//!
//! The long texts of all plain columns share the chunk's heap. Each of these columns counts as much of it as it has of the
//! texts that rows refer to. So texts that nobody has any more count as well, a text that many rows share counts once,
//! and the columns take together what their chunk takes.

use arrow_buffer::Buffer;

use super::{Chunk, ColumnValues};
use crate::types::Physical;

/// What a column takes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnBytes {
    /// Bytes of values, validity bits and texts.
    pub stored: usize,
    /// The same if the column were plain; of a plain column, the same number.
    pub if_plain: usize,
}

impl Chunk {
    /// What each column takes. Where several columns of texts are plain, the lengths of their texts are added up.
    #[must_use]
    pub fn column_bytes(&self) -> Vec<ColumnBytes> {
        let texts = self.shares_of_heap();
        let columns = (0..self.columns.len()).zip(texts);
        columns.map(|(column, texts)| self.bytes_without_heap(column).plus(texts)).collect()
    }

    /// What it would take if all its columns were plain; as [`Chunk::bytes`] counts.
    #[must_use]
    pub fn bytes_if_plain(&self) -> usize {
        let columns = (0..self.columns.len()).map(|column| self.bytes_without_heap(column).if_plain);
        self.heap[0].len() + columns.sum::<usize>()
    }

    /// What a column takes beside the chunk's heap.
    fn bytes_without_heap(&self, column: usize) -> ColumnBytes {
        let stored = &self.columns[column];
        let bytes = match &stored.values {
            ColumnValues::Plain(values) => ColumnBytes::default().plus(values.len()),
            ColumnValues::Packed(packed) => ColumnBytes { stored: packed.bytes(), if_plain: packed.bytes_if_plain() },
        };
        bytes.plus(stored.validity.as_ref().map_or(0, Buffer::len))
    }

    /// Bytes of the heap that each column has a share of.
    fn shares_of_heap(&self) -> Vec<usize> {
        let plain_texts = |column: &usize| self.physical(*column) == Physical::View && self.packed(*column).is_none();
        let sharing: Vec<usize> = (0..self.columns.len()).filter(plain_texts).collect();
        let mut shares = vec![0; self.columns.len()];
        let mut left = self.heap[0].len();
        if left == 0 {
            return shares;
        }
        if let [only] = sharing[..] {
            shares[only] = left;
            return shares;
        }
        let referred: Vec<usize> = sharing.iter().map(|&column| self.long_text_bytes(column, 0..self.rows)).collect();
        let mut referred_left: usize = referred.iter().sum();
        for (&column, &bytes) in sharing.iter().zip(&referred) {
            // The last one of those that refer to any takes what rounding has left.
            shares[column] = (left as u128 * bytes as u128).checked_div(referred_left as u128).unwrap_or(0) as usize;
            left -= shares[column];
            referred_left -= bytes;
        }
        shares
    }
}

impl ColumnBytes {
    /// So many more, however the column is kept.
    fn plus(self, bytes: usize) -> ColumnBytes {
        ColumnBytes { stored: self.stored + bytes, if_plain: self.if_plain + bytes }
    }
}
