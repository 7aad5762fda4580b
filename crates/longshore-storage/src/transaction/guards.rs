//! Decides whether what foreign keys made of the state at a transaction's start still holds when it commits.
//!
//! A transaction finds that a row which it refers to is there, or that nobody refers to a key which it takes away, in
//! the state at its start. Two that do the one and the other side by side would leave a row that refers to nothing: write
//! skew, which snapshot isolation allows. So both remember what they relied on, whatever their isolation level, and it is
//! held against what others committed meanwhile, as predicates are (`validate.rs`; thesis, 2.2.3, and 2.2.5 for keys):
//! the rows that must have stayed, exactly, by their ids, and the keys that no row may have come to refer to.
//!
//! Other changes of rows that are referred to are nobody's conflict: keys do not change in place. A row that was replaced
//! by another one with the same key, since another indexed column changed, has a successor, which must stay then.
//!
//! Not here: who relies on what (`references.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::references::{CheckedAppend, heed};
use super::stamp::Stamps;
use super::time::{Time, View};
use super::write_set::{Committed, Write, WriteKind};
use super::{ConflictKind, TransactionError};
use crate::chunk::CHUNK_ROWS_MAX;
use crate::chunk::hot::input_of;
use crate::datum::{Datum, RowId};
use crate::index::{IsCancelled, Referred};
use crate::relation::{ForeignKey, Table};
use crate::typed::Input;

/// Rows that are listed before they are marked in bitmaps.
const LISTED_MAX: usize = 64;

/// A set of rows of one relation: a list while they are few, bits of their chunks when they are many.
#[derive(Default)]
pub(crate) struct RowSet {
    few: Vec<RowId>,
    many: HashMap<usize, Box<[u64]>>,
}

/// What a transaction relied on.
#[derive(Default)]
pub(super) struct Guards {
    /// Rows that must be there, by the foreign key that refers to them.
    kept: Vec<(Arc<ForeignKey>, RowSet)>,
    gone: Vec<Gone>,
    /// Appends of which some foreign keys were checked before.
    pub(super) checked: Vec<CheckedAppend>,
}

/// Keys that no row may refer to.
struct Gone {
    key: Arc<ForeignKey>,
    /// In the layout of the index.
    keys: HashSet<Box<[u8]>>,
    /// All keys are meant.
    all: bool,
}

impl RowSet {
    #[inline]
    pub(crate) fn insert(&mut self, row: RowId) {
        if self.many.is_empty() {
            if self.few.last() == Some(&row) {
                return;
            }
            if self.few.len() < LISTED_MAX {
                return self.few.push(row);
            }
            for row in std::mem::take(&mut self.few) {
                self.mark(row);
            }
        }
        self.mark(row);
    }

    fn mark(&mut self, row: RowId) {
        let bits = self.many.entry(row.chunk()).or_insert_with(|| vec![0; CHUNK_ROWS_MAX / 64].into());
        bits[row.row() / 64] |= 1 << (row.row() % 64);
    }

    fn contains(&self, row: RowId) -> bool {
        let is_marked = |bits: &[u64]| bits[row.row() / 64] >> (row.row() % 64) & 1 == 1;
        self.few.contains(&row) || self.many.get(&row.chunk()).is_some_and(|bits| is_marked(bits))
    }

    /// The first row of a chunk that is in the set.
    fn first_of(&self, chunk: usize) -> Option<RowId> {
        let few = self.few.iter().copied().filter(|row| row.chunk() == chunk);
        let word = self.many.get(&chunk).and_then(|bits| bits.iter().position(|&word| word != 0).map(|at| (at, bits)));
        let many = word.map(|(at, bits)| RowId::new(chunk, at * 64 + bits[at].trailing_zeros() as usize));
        few.chain(many).min()
    }

    pub(crate) fn extend(&mut self, other: RowSet) {
        for row in other.few {
            self.insert(row);
        }
        if self.many.is_empty() && !other.many.is_empty() {
            for row in std::mem::take(&mut self.few) {
                self.mark(row);
            }
        }
        for (chunk, bits) in other.many {
            match self.many.entry(chunk) {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(bits);
                }
                std::collections::hash_map::Entry::Occupied(mut entry) => {
                    entry.get_mut().iter_mut().zip(bits.iter()).for_each(|(word, more)| *word |= more);
                }
            }
        }
    }
}

impl Guards {
    /// The rows that must stay since rows refer to them by this foreign key.
    pub(super) fn kept(&mut self, key: &Arc<ForeignKey>) -> &mut RowSet {
        let known = self.kept.iter().position(|(known, _)| Arc::ptr_eq(known, key));
        let at = known.unwrap_or_else(|| {
            self.kept.push((Arc::clone(key), RowSet::default()));
            self.kept.len() - 1
        });
        &mut self.kept[at].1
    }

    /// The same rows, found elsewhere.
    pub(super) fn keep(&mut self, key: &Arc<ForeignKey>, rows: RowSet) {
        self.kept(key).extend(rows);
    }

    /// No row may refer to these keys.
    pub(super) fn forbid(&mut self, key: &Arc<ForeignKey>, keys: impl IntoIterator<Item = Box<[u8]>>) {
        self.gone(key).keys.extend(keys);
    }

    /// No row may refer to anything.
    pub(super) fn forbid_all(&mut self, key: &Arc<ForeignKey>) {
        self.gone(key).all = true;
    }

    fn gone(&mut self, key: &Arc<ForeignKey>) -> &mut Gone {
        let known = self.gone.iter().position(|gone| Arc::ptr_eq(&gone.key, key));
        let at = known.unwrap_or_else(|| {
            self.gone.push(Gone { key: Arc::clone(key), keys: HashSet::new(), all: false });
            self.gone.len() - 1
        });
        &mut self.gone[at]
    }

    /// Holds what a transaction that committed meanwhile has written against it.
    pub(super) fn check(
        &mut self,
        committed: &Committed,
        stamps: &Stamps,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let set = committed.set();
        for (at, table) in set.tables.iter().enumerate() {
            let id = table.id();
            let is_kept = self.kept.iter().any(|(key, _)| key.parent_id() == id);
            let is_forbidden = self.gone.iter().any(|gone| gone.key.child_id() == id);
            if !(is_kept || is_forbidden) {
                continue;
            }
            for write in set.writes.iter().filter(|write| write.table as usize == at) {
                heed(is_cancelled)?;
                match write.kind {
                    WriteKind::Delete | WriteKind::Replace | WriteKind::Truncate if is_kept => {
                        self.check_kept(table, write, committed.time(), stamps)?;
                    }
                    WriteKind::Insert | WriteKind::Append | WriteKind::Update(_) if is_forbidden => {
                        self.check_gone(table, write, committed.time(), stamps)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// A row has gone.
    fn check_kept(
        &mut self,
        table: &Table,
        write: &Write,
        time: Time,
        stamps: &Stamps,
    ) -> Result<(), TransactionError> {
        for (key, rows) in self.kept.iter_mut().filter(|(key, _)| key.parent_id() == table.id()) {
            let gone = match write.kind {
                WriteKind::Truncate => rows.first_of(write.row.chunk()),
                _ => Some(write.row).filter(|&row| rows.contains(row)),
            };
            let Some(gone) = gone else { continue };
            let successor = if write.kind == WriteKind::Replace {
                let found = key.index().find(&table.key_of(key.index(), gone)?);
                let view = View::at(time);
                let sees = |row: &RowId| {
                    table.slots.get(row.chunk()).is_some_and(|slot| slot.read().is_visible(row.row(), view, stamps))
                };
                found.iter().find(sees)
            } else {
                None
            };
            match successor {
                Some(successor) => rows.insert(successor),
                None => return Err(conflict(table, gone, key, "deleted the row that a new row refers to")),
            }
        }
        Ok(())
    }

    /// A row has come, or refers to something else.
    fn check_gone(&self, table: &Table, write: &Write, time: Time, stamps: &Stamps) -> Result<(), TransactionError> {
        let Some(slot) = table.slots.get(write.row.chunk()) else { return Ok(()) };
        let view = View::at(time);
        let first = write.row.row();
        let rows =
            if write.kind == WriteKind::Append { first..first + write.version as usize } else { first..first + 1 };
        for Gone { key, keys, all } in self.gone.iter().filter(|gone| gone.key.child_id() == table.id()) {
            if let WriteKind::Update(column) = write.kind
                && !key.columns().contains(&column.into())
            {
                continue;
            }
            let slot = slot.read();
            for row in rows.clone().filter(|&row| slot.is_visible(row, view, stamps)) {
                let inputs: Vec<(usize, Input<'static>)> = key
                    .columns()
                    .iter()
                    .filter_map(|&column| Some((column, input_of(slot.visible_cell(row, column, view, stamps)?))))
                    .collect();
                let value = |column: usize| {
                    let input = inputs.iter().find(|(known, _)| *known == column);
                    let column_type = table.schema().columns()[column].column_type;
                    input.map_or(Datum::Null, |(_, input)| input.datum(column_type))
                };
                if let Referred::Key(found) = key.layout().of_row(value)
                    && (*all || found.referred().with(|bytes| keys.contains(bytes)))
                {
                    let row = RowId::new(write.row.chunk(), row);
                    return Err(conflict(
                        table,
                        row,
                        key,
                        "made a row refer to a key that was deleted or changed here",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn conflict(table: &Table, row: RowId, key: &ForeignKey, what: &'static str) -> TransactionError {
    table.conflict(row, ConflictKind::Reference { constraint: key.name().to_owned(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_rows_hold_what_was_put_in() {
        for count in [1, LISTED_MAX, LISTED_MAX + 1, 1000] {
            let rows: Vec<RowId> = (0..count).map(|at| RowId::new(at % 3, at * 7)).collect();
            let (mut one, mut all) = (RowSet::default(), RowSet::default());
            for &row in &rows {
                one.insert(row);
            }
            for half in rows.chunks(count.div_ceil(2)) {
                let mut set = RowSet::default();
                for &row in half {
                    set.insert(row);
                }
                all.extend(set);
            }
            for set in [&one, &all] {
                assert!(rows.iter().all(|&row| set.contains(row)));
                assert!((0..count).all(|at| !set.contains(RowId::new(3, at))));
                assert_eq!(set.first_of(0), Some(RowId::new(0, 0)));
                assert_eq!(set.first_of(3), None);
            }
        }
    }
}
