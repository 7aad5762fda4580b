//! Decides what a row is called: by its place in its relation.
//!
//! Chunks of a relation are numbered once and for all, and so are the rows of a chunk.
//!
//! Not here: which places there are (`table/slots.rs`).

use std::fmt;

/// The most rows of a chunk.
pub const CHUNK_ROWS_MAX: usize = 65_536;

/// Bits of a [`RowId`] that count the rows of a chunk.
const ROW_BITS: u32 = 16;
const _: () = assert!(CHUNK_ROWS_MAX == 1 << ROW_BITS);

/// The place of a row in its relation, from its insertion until nobody can see it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u64);

impl RowId {
    /// Row `row` of chunk `chunk`.
    ///
    /// # Panics
    ///
    /// When the chunk cannot have as many rows, or there cannot be as many chunks.
    #[must_use]
    pub fn new(chunk: usize, row: usize) -> RowId {
        assert!(row < CHUNK_ROWS_MAX && u32::try_from(chunk).is_ok(), "row {row} of chunk {chunk}");
        RowId((chunk as u64) << ROW_BITS | row as u64)
    }

    /// The number of its chunk.
    #[must_use]
    pub fn chunk(self) -> usize {
        (self.0 >> ROW_BITS) as usize
    }

    /// Its number in the chunk.
    #[must_use]
    pub fn row(self) -> usize {
        self.0 as usize % CHUNK_ROWS_MAX
    }
}

/// Chunk and row.
impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.chunk(), self.row())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_ids_hold_chunk_and_row() {
        for (chunk, row) in [(0, 0), (1, CHUNK_ROWS_MAX - 1), (u32::MAX as usize, 7)] {
            let id = RowId::new(chunk, row);
            assert_eq!((id.chunk(), id.row()), (chunk, row));
            assert!(id.0 < 1 << 48);
        }
    }
}
