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

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::chunk::hot::input_of;
use crate::datum::Datum;
use crate::error::{TransactionError, check_cancelled};
use crate::index::{IsCancelled, Referred};
use crate::manager::{Committed, Write, WriteKind};
use crate::relation::RowSet;
use crate::row_id::RowId;
use crate::table::{ForeignKey, Table};
use crate::typed::Input;
use crate::values::TextRoom;
use crate::visibility::{ConflictKind, Stamps, Time, View};

/// What a transaction relied on.
#[derive(Default)]
pub(super) struct ForeignKeyReads {
    /// Rows that must be there, by the foreign key that refers to them.
    kept: Vec<(Arc<ForeignKey>, RowSet)>,
    gone: Vec<Gone>,
    /// Appends of which some foreign keys were checked before.
    pub(super) checked: Vec<CheckedAppend>,
}

/// Writes whose rows were checked before they were part of the relation.
pub(super) struct CheckedAppend {
    pub(super) writes: Range<usize>,
    pub(super) keys: Vec<Arc<ForeignKey>>,
}

impl CheckedAppend {
    /// The number of the first write behind them.
    pub(super) fn end(&self) -> usize {
        self.writes.end
    }
}

/// Keys that no row may refer to.
struct Gone {
    key: Arc<ForeignKey>,
    /// In the layout of the index.
    keys: HashSet<Box<[u8]>>,
    /// All keys are meant.
    all: bool,
}

impl ForeignKeyReads {
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

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.gone.is_empty()
    }

    /// The same keys that no row may refer to.
    pub(super) fn forbid_as(&mut self, other: ForeignKeyReads) {
        for Gone { key, keys, all } in other.gone {
            let gone = self.gone(&key);
            gone.keys.extend(keys);
            gone.all |= all;
        }
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
                check_cancelled(is_cancelled)?;
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
                let room = TextRoom::default();
                let cell = |column: usize| slot.visible_cell((row, column), view, stamps, &room);
                let inputs: Vec<(usize, Input<'static>)> =
                    key.columns().iter().filter_map(|&column| Some((column, input_of(cell(column)?)))).collect();
                let value = |column: usize| {
                    let input = inputs.iter().find(|(known, _)| *known == column);
                    let column_type = table.schema().all_columns()[column].column_type;
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
