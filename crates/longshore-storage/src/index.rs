//! Decides how rows are found by key: the indexes of a relation.
//!
//! An index maps the values of some columns to the rows that have them, and to all of these that any transaction may
//! still see (HyPer, thesis 2.2.5): a row is inserted when it comes to be, and removed when the last version in which
//! somebody could see it is gone. Which of its rows a transaction sees, the caller finds out. So a unique index can hold
//! a key several times; that no two of its rows are alive at once is what [`Index::insert`] asks the caller about, under
//! the latch of the key, so that two who insert the same key side by side cannot both be let in.
//!
//! Latches are held for one operation, never while a caller goes through rows. In the order of locks they come before
//! those of chunks.
//!
//! Not here: versions of rows, transactions, constraints; the two kinds (`index/hash.rs`, `index/art.rs`).

use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, PoisonError};

use crate::datum::Datum;
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::RowId;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Rank, Ranked, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::types::Schema;

mod array;
mod art;
mod bulk;
mod duplicates;
mod foreign;
mod found;
mod hash;
mod key;
mod parts;
mod range;
mod shared;

use art::Tree;
pub(crate) use bulk::IsCancelled;
pub use bulk::{BulkError, Source};
pub(crate) use foreign::{ForeignLayout, Recent, Referred, ReferredBytes};
pub use found::Found;
use hash::HashTable;
pub(crate) use key::described_row;
use key::{AnyBytes, KeyLayout};
pub use key::{Key, KeyError};
pub use parts::IndexParts;
pub use range::{Direction, Range};
pub(crate) use shared::{Numbered, SharedKeys, firsts};

/// How an index finds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// A hash table: by whole keys only.
    Hash,
    /// An adaptive radix tree: by whole keys, by the first columns of a key, and by ranges, in order.
    Art,
}

/// How many rows that are alive may have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniqueness {
    /// One, unless a value of the key is NULL.
    Unique,
    /// One, also where values of the key are NULL.
    UniqueNulls,
    /// Any number.
    Multiple,
}

impl Uniqueness {
    /// Whether it may be one.
    #[inline]
    #[must_use]
    pub fn is_unique(self) -> bool {
        self != Uniqueness::Multiple
    }
}

/// Rows by the values of some columns.
pub struct Index {
    name: String,
    columns: Vec<usize>,
    layout: KeyLayout,
    uniqueness: Uniqueness,
    memory: Arc<Memory>,
    /// Shared by the indexes that a relation and what it was altered to have of the same columns.
    rows: Arc<Rows>,
    dropped: AtomicBool,
}

/// The two kinds.
enum Rows {
    Hash(HashTable),
    Art(RwLock<Tree>),
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("name", &self.name)
            .field("columns", &self.columns)
            .field("kind", &self.kind())
            .field("uniqueness", &self.uniqueness)
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

impl Index {
    /// An empty index of columns of a schema, in the order of the key. Whether a column may be NULL decides the layout
    /// of keys, so an index must be built anew when that changes.
    ///
    /// # Panics
    ///
    /// When the schema has no such column, or none is given.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        schema: &Schema,
        columns: &[usize],
        kind: IndexKind,
        uniqueness: Uniqueness,
        memory: &Arc<Memory>,
    ) -> Index {
        assert!(!columns.is_empty(), "a key has at least one column");
        let rows = match kind {
            IndexKind::Hash => Rows::Hash(HashTable::new(memory)),
            IndexKind::Art => Rows::Art(RwLock::new(Tree::new(memory))),
        };
        Index {
            name: name.into(),
            columns: columns.to_vec(),
            layout: KeyLayout::new(schema, columns, uniqueness),
            uniqueness,
            memory: Arc::clone(memory),
            rows: Arc::new(rows),
            dropped: AtomicBool::new(false),
        }
    }

    /// The same rows under another name, by the same columns of another schema, in which they may have other numbers.
    /// `None` if keys look otherwise there: if a column has another type, or may be NULL and could not before.
    pub(crate) fn renumbered(&self, name: &str, schema: &Schema, columns: &[usize]) -> Option<Index> {
        let layout = KeyLayout::new(schema, columns, self.uniqueness);
        layout.is_like(&self.layout).then(|| Index {
            name: name.to_owned(),
            columns: columns.to_vec(),
            layout,
            uniqueness: self.uniqueness,
            memory: Arc::clone(&self.memory),
            rows: Arc::clone(&self.rows),
            dropped: AtomicBool::new(false),
        })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns of the key, by their numbers in the relation.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// How it finds rows.
    #[must_use]
    pub fn kind(&self) -> IndexKind {
        match &*self.rows {
            Rows::Hash(_) => IndexKind::Hash,
            Rows::Art(_) => IndexKind::Art,
        }
    }

    /// How many rows may have the same key.
    #[must_use]
    pub fn uniqueness(&self) -> Uniqueness {
        self.uniqueness
    }

    /// Whether its relation has given it up: it knows of no rows that came afterwards.
    #[inline]
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn set_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Rows, each version of a key counted.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &*self.rows {
            Rows::Hash(table) => table.rows(),
            Rows::Art(tree) => read(tree).rows(),
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &*self.rows {
            Rows::Hash(table) => table.bytes(),
            Rows::Art(tree) => read(tree).bytes(),
        }
    }

    /// The key of these values, one per column of the index, in its order. Integers may have another width than their
    /// column.
    ///
    /// # Errors
    ///
    /// When there are more or fewer values, or one is none of its column's type.
    #[inline]
    pub fn key(&self, values: &[Datum<'_>]) -> Result<Key, KeyError> {
        self.layout.encode(values, false)
    }

    /// The same of the first columns only, for the end of a range.
    ///
    /// # Errors
    ///
    /// When there are more values than columns, or one is none of its column's type.
    pub fn prefix(&self, values: &[Datum<'_>]) -> Result<Key, KeyError> {
        self.layout.encode(values, true)
    }

    /// The key of a row, whose values are asked for by the column's number in the relation.
    ///
    /// # Errors
    ///
    /// As [`Index::key`].
    pub fn key_of<'v>(&self, value: impl FnMut(usize) -> Datum<'v>) -> Result<Key, KeyError> {
        self.layout.encode_row(value)
    }

    /// A key as it is shown in messages, for instance `(1, 'two', NULL)`.
    #[must_use]
    pub fn describe(&self, key: &Key) -> String {
        self.layout.describe(&key.to_bytes())
    }

    /// The rows of a key, in ascending order.
    #[inline]
    #[must_use]
    pub fn find(&self, key: &Key) -> Found {
        match &*self.rows {
            Rows::Hash(table) => table.find(key.bytes()),
            Rows::Art(tree) => read(tree).find(key.bytes()),
        }
    }

    /// Gives the rows of several keys to a closure, in their order; of a hash table faster than one after the other.
    pub fn find_many(&self, keys: &[Key], mut each: impl FnMut(Found)) {
        match &*self.rows {
            Rows::Hash(table) => table.find_many(keys, each),
            Rows::Art(_) => keys.iter().for_each(|key| each(self.find(key))),
        }
    }

    /// Adds a row to those of a key; nothing changes if it is one of them already. Of a unique index, and unless NULL makes
    /// the key differ from all others, `check` is first asked for each of them whether it is in the way; then nothing is inserted. It
    /// runs under the latch and must not call the index.
    ///
    /// # Errors
    ///
    /// What `check` returns, or when memory runs out.
    pub fn insert<E: From<OutOfMemory>>(
        &self,
        key: &Key,
        row: RowId,
        mut check: impl FnMut(RowId) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_checked = self.uniqueness.is_unique() && !key.is_apart();
        self.insert_bytes(key.bytes(), row, |other| if is_checked { check(other) } else { Ok(()) })
    }

    fn insert_bytes<E: From<OutOfMemory>>(
        &self,
        key: AnyBytes<'_>,
        row: RowId,
        check: impl FnMut(RowId) -> Result<(), E>,
    ) -> Result<(), E> {
        match &*self.rows {
            Rows::Hash(table) => table.insert(key, row, check),
            Rows::Art(tree) => write(tree).insert(key, row, check),
        }
    }

    /// Removes a row from those of a key; says whether it was there.
    pub fn remove(&self, key: &Key, row: RowId) -> bool {
        self.remove_bytes(key.bytes(), row)
    }

    fn remove_bytes(&self, key: AnyBytes<'_>, row: RowId) -> bool {
        match &*self.rows {
            Rows::Hash(table) => table.remove(key, row),
            Rows::Art(tree) => write(tree).remove(key, row),
        }
    }

    /// The range between two keys, of a tree. They may be keys of the first columns ([`Index::prefix`]). NULL is the
    /// last of all values, so a range that is open above may have keys with NULL.
    ///
    /// # Panics
    ///
    /// When the index is a hash table.
    #[must_use]
    pub fn range(&self, lower: Bound<&Key>, upper: Bound<&Key>, direction: Direction) -> Range {
        assert_eq!(self.kind(), IndexKind::Art, "only trees have an order");
        Range::new(lower, upper, direction)
    }

    /// Appends the next rows of a range of this index; none if it is at its end.
    pub fn next_batch(&self, range: &mut Range, rows: &mut Vec<RowId>) {
        match &*self.rows {
            Rows::Art(tree) if !range.is_done => read(tree).next_batch(range, rows),
            _ => {}
        }
    }

    /// Removes all rows.
    pub fn clear(&self) {
        match &*self.rows {
            Rows::Hash(table) => table.clear(&self.memory),
            Rows::Art(tree) => {
                // Parts that are being built beside it can still be merged.
                let mut latched = write(tree);
                *latched = latched.sibling();
            }
        }
    }
}

/// A part of an index, for reading.
type IndexRead<'a, T> = Ranked<RwLockReadGuard<'a, T>>;

/// A part of an index, for writing.
type IndexWrite<'a, T> = Ranked<RwLockWriteGuard<'a, T>>;

#[track_caller]
fn read<T>(latched: &RwLock<T>) -> IndexRead<'_, T> {
    // Consistent wherever a panic can occur: in a caller's check, which runs before anything is changed, or behind that.
    Ranked::take(Rank::Index, latched, |latched| latched.read().unwrap_or_else(PoisonError::into_inner))
}

#[track_caller]
fn write<T>(latched: &RwLock<T>) -> IndexWrite<'_, T> {
    Ranked::take(Rank::Index, latched, |latched| latched.write().unwrap_or_else(PoisonError::into_inner))
}
