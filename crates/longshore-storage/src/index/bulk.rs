//! Adds the rows of whole chunks to an index: all of them, or none if two have the same key and must not.

use std::fmt;

use arrow_buffer::BooleanBuffer;

use super::key::bulk::KeySink;
use super::key::{AnyBytes, KeyBytes, LongBytes, ShortBytes};
use super::{Index, Uniqueness};
use crate::chunk::Chunk;
use crate::datum::RowId;
use crate::error::OutOfMemory;

/// A chunk whose rows are to be indexed.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its number in the relation.
    pub number: usize,
    /// Its rows.
    pub chunk: &'a Chunk,
    /// Which of them are meant; `None` is all.
    pub rows: Option<&'a BooleanBuffer>,
}

/// Why the rows of chunks cannot be indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BulkError {
    /// Two rows have the same key, which must be unique.
    Duplicate {
        /// The index.
        index: String,
        /// The key's values, for instance `(1, 'two')`.
        key: String,
        /// The row that had the key before: of the index, or the first one of the chunks.
        first: RowId,
        /// The first row of the chunks, in their order, that has a key which a row before it has.
        second: RowId,
    },
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for BulkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BulkError::Duplicate { index, key, .. } => {
                write!(f, "index {index}: two rows have the key {key}, which must be unique; remove one of them")
            }
            BulkError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BulkError {}

impl From<OutOfMemory> for BulkError {
    fn from(error: OutOfMemory) -> BulkError {
        BulkError::OutOfMemory(error)
    }
}

impl Index {
    /// Adds the rows of chunks, whose numbers ascend and are not in the index yet. Of a unique index, `is_in_the_way` is
    /// asked of a row that was in the index before and has the key of a new one.
    ///
    /// # Errors
    ///
    /// When two rows of the chunks have the same unique key, or one has the key of a row that is in the way, or memory
    /// runs out. Then no row is added.
    pub fn insert_chunks(
        &self,
        sources: &[Source<'_>],
        is_in_the_way: impl Fn(RowId) -> bool,
    ) -> Result<(), BulkError> {
        let mut sink = Inserter { index: self, source: None, first_chunk: usize::MAX, check: is_in_the_way };
        for (at, source) in sources.iter().enumerate() {
            sink.first_chunk = sink.first_chunk.min(source.number);
            sink.source = Some(*source);
            if let Err(error) = self.layout.encode_chunk(source.chunk, &mut sink) {
                self.remove_chunks(&sources[..=at]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes the rows of chunks, as far as they are there.
    pub fn remove_chunks(&self, sources: &[Source<'_>]) {
        for source in sources {
            // It cannot fail.
            let _ = self.layout.encode_chunk(source.chunk, &mut Remover { index: self, number: source.number });
        }
    }

    fn duplicate(&self, key: &[u8], first: RowId, second: RowId) -> BulkError {
        BulkError::Duplicate { index: self.name.clone(), key: self.layout.describe(key), first, second }
    }
}

/// Inserts row by row.
struct Inserter<'a, C> {
    index: &'a Index,
    source: Option<Source<'a>>,
    first_chunk: usize,
    check: C,
}

impl<C: Fn(RowId) -> bool> KeySink for Inserter<'_, C> {
    type Error = BulkError;

    fn take<K: KeyBytes>(&mut self, row: usize, key: K, has_null: bool) -> Result<(), BulkError> {
        let Some(source) = self.source else { return Ok(()) };
        if source.rows.is_some_and(|rows| !rows.value(row)) {
            return Ok(());
        }
        let (id, bytes) = (RowId::new(source.number, row), key.to_vec());
        let is_checked = self.index.uniqueness == Uniqueness::Unique && !has_null;
        self.index.insert_bytes(any(&bytes), id, |other| {
            let in_the_way = is_checked && (other.chunk() >= self.first_chunk || (self.check)(other));
            if in_the_way { Err(self.index.duplicate(&bytes, other, id)) } else { Ok(()) }
        })
    }
}

/// Removes row by row.
struct Remover<'a> {
    index: &'a Index,
    number: usize,
}

impl KeySink for Remover<'_> {
    type Error = std::convert::Infallible;

    fn take<K: KeyBytes>(&mut self, row: usize, key: K, _: bool) -> Result<(), Self::Error> {
        self.index.remove_bytes(any(&key.to_vec()), RowId::new(self.number, row));
        Ok(())
    }
}

/// Bytes in their shortest form.
fn any(bytes: &[u8]) -> AnyBytes<'_> {
    if bytes.len() > super::key::SHORT_BYTES {
        return AnyBytes::Long(LongBytes(bytes));
    }
    let long = LongBytes(bytes);
    let bits = u128::from(long.word(0)) << 64 | u128::from(long.word(8));
    AnyBytes::Short(ShortBytes { bits, length: bytes.len() as u32 })
}
