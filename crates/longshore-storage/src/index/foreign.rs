//! Decides how rows of one relation are looked for in an index of another one: what a foreign key asks.
//!
//! Keys have the layout of the index and are made of columns of the rows that refer, which have the same types. A row
//! with NULL in one of them refers to nothing, so that it has no key here, whatever the index makes of NULL.
//!
//! Not here: what follows from a key that is not there (`transaction/references.rs`).

use std::ops::{ControlFlow, Range};

use super::key::bulk::KeySink;
use super::key::{AnyBytes, Key, KeyLayout, SHORT_BYTES, ShortBytes, WholeKey};
use super::{Found, Index, Rows, read};
use crate::chunk::Stored;
use crate::datum::Datum;

/// How rows of a relation refer to keys of an index of another one.
#[derive(Clone, Debug)]
pub(crate) struct ForeignLayout {
    layout: KeyLayout,
}

/// Keys that were found lately: many rows refer to few, or rows that follow each other to the same.
pub(crate) struct Recent {
    keys: Box<[ShortBytes]>,
}

/// Keys that are remembered; they fit into the first-level cache.
const RECENT_KEYS: usize = 512;

impl Default for Recent {
    fn default() -> Recent {
        // No key has no bytes.
        Recent { keys: vec![ShortBytes { bits: 0, length: 0 }; RECENT_KEYS].into() }
    }
}

impl Recent {
    /// Whether a key is remembered.
    #[inline]
    pub(crate) fn knows(&self, key: ReferredBytes<'_>) -> bool {
        matches!(key.0, AnyBytes::Short(key) if self.keys[place(key)] == key)
    }

    /// Remembers a key, if it is a short one.
    #[inline]
    pub(crate) fn learn(&mut self, key: ReferredBytes<'_>) {
        if let AnyBytes::Short(key) = key.0 {
            self.keys[place(key)] = key;
        }
    }
}

#[inline]
fn place(key: ShortBytes) -> usize {
    let folded = (key.bits >> 64) as u64 ^ (key.bits as u64).rotate_left(32);
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - RECENT_KEYS.ilog2())) as usize
}

/// What a row refers to.
pub(crate) enum Referred {
    /// Nothing: all of its columns are NULL.
    Nothing,
    /// Nothing either, unless NULL and values may not be mixed.
    Mixed,
    Key(Key),
}

/// The bytes of a key that a row refers to.
#[derive(Clone, Copy)]
pub(crate) struct ReferredBytes<'a>(AnyBytes<'a>);

impl ReferredBytes<'_> {
    /// Gives the bytes to a closure.
    #[inline]
    pub(crate) fn with<R>(self, read: impl FnOnce(&[u8]) -> R) -> R {
        match self.0 {
            AnyBytes::Short(short) => read(&short.bits.to_be_bytes()[..(short.length as usize).min(SHORT_BYTES)]),
            AnyBytes::Long(long) => read(long.0),
        }
    }

    pub(crate) fn to_boxed(self) -> Box<[u8]> {
        self.0.to_vec().into()
    }

    /// Whether it is this key.
    #[inline]
    pub(crate) fn is(self, bytes: &[u8]) -> bool {
        self.with(|own| own == bytes)
    }
}

impl Index {
    /// How rows with these columns, in the order of the index, refer to its keys.
    pub(crate) fn referred_by(&self, columns: &[usize]) -> ForeignLayout {
        assert_eq!(columns.len(), self.columns.len(), "one column for each of the index");
        ForeignLayout { layout: self.layout.over(columns) }
    }

    /// The rows of a key.
    #[inline]
    pub(crate) fn find_referred(&self, key: ReferredBytes<'_>) -> Found {
        match &*self.rows {
            Rows::Hash(table) => table.find(key.0),
            Rows::Art(tree) => read(tree).find(key.0),
        }
    }

    /// A key as it is shown in messages.
    pub(crate) fn describe_referred(&self, key: ReferredBytes<'_>) -> String {
        self.layout.describe(&key.0.to_vec())
    }
}

impl Key {
    /// The bytes, to be looked for.
    pub(crate) fn referred(&self) -> ReferredBytes<'_> {
        ReferredBytes(self.bytes())
    }
}

impl ForeignLayout {
    /// What a row refers to, whose values are asked for by the column's number in its relation.
    pub(crate) fn of_row<'v>(&self, value: impl Fn(usize) -> Datum<'v>) -> Referred {
        let nulls = self.layout.columns().filter(|&column| value(column) == Datum::Null).count();
        if nulls > 0 {
            return if nulls == self.layout.columns().count() { Referred::Nothing } else { Referred::Mixed };
        }
        Referred::Key(self.layout.encode_row(value).expect("the types are those of the index"))
    }

    /// Gives the keys that some rows refer to, in the order of the rows, to a closure until that says `Break`. Rows that
    /// refer to nothing are left out.
    pub(crate) fn each(
        &self,
        rows: &impl Stored,
        range: Range<usize>,
        visit: impl FnMut(usize, ReferredBytes<'_>) -> ControlFlow<()>,
    ) {
        let mut sink = Visit(visit);
        if !self.layout.columns().any(|column| rows.validity(column).is_some()) {
            // The closure's `Break` is no error.
            let _ = self.layout.encode_range(rows, range, &mut sink);
            return;
        }
        for row in range {
            if self.layout.has_null(rows, row) {
                continue;
            }
            let key = self.layout.key_of_stored(rows, row);
            if (sink.0)(row, key.referred()).is_break() {
                return;
            }
        }
    }

    /// The first of some rows in which NULL and values are mixed.
    pub(crate) fn first_mixed(&self, rows: &impl Stored, mut range: Range<usize>) -> Option<usize> {
        let width = self.layout.columns().count();
        if width == 1 || !self.layout.columns().any(|column| rows.validity(column).is_some()) {
            return None;
        }
        range.find(|&row| {
            let is_null =
                |&column: &usize| rows.validity(column).is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0);
            let nulls = self.layout.columns().filter(is_null).count();
            nulls > 0 && nulls < width
        })
    }
}

struct Visit<F>(F);

impl<F: FnMut(usize, ReferredBytes<'_>) -> ControlFlow<()>> KeySink for Visit<F> {
    type Error = ();

    #[inline]
    fn take<K: WholeKey>(&mut self, row: usize, key: K, _: bool) -> Result<(), ()> {
        match (self.0)(row, ReferredBytes(key.any())) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(()),
        }
    }
}
