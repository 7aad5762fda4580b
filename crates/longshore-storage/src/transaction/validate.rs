//! Decides whether what a transaction has read still holds when it commits.
//!
//! Source: the thesis, 2.2.3, precision locking. What others have written since the transaction began is held against
//! its predicates: of each changed row the image before that commit and the image after it, both read as any reader
//! reads them. If a predicate holds for one of them, the transaction would have read something else at its commit.
//!
//! Most writes are passed over without looking at the row: those to relations that the transaction has not read, and
//! updates of columns that it has neither read nor restricted. A predicate tree is built when the first row is looked
//! at. Of rows that came or went together, the bounds of their slot are tried first.
//!
//! Not here: the log and the tree (`predicate`), the order of commits (`commit.rs`).

use super::CommitError;
use crate::chunk::hot::{Cell, HotChunk};
use crate::error::{TransactionError, check_cancelled};
use crate::index::IsCancelled;
use crate::manager::{Committed, Transactions, Write, WriteKind};
use crate::predicate::{
    Attribute, Change, ColumnSet, Comparand, Image, PredicateLog, PredicateTree, RelationLog, Span, describe,
};
use crate::row_id::RowId;
use crate::table::{Table, TableSwap};
use crate::values::TextRoom;
use crate::visibility::{Stamps, Time, View};

/// The validation of one transaction.
pub(super) struct Validation<'a> {
    log: &'a PredicateLog,
    stamps: &'a Stamps,
    is_cancelled: IsCancelled<'a>,
    /// The trees built so far, by the ids of their relations.
    trees: Vec<(u64, PredicateTree)>,
}

impl<'a> Validation<'a> {
    pub(super) fn new(
        log: &'a PredicateLog,
        transactions: &'a Transactions,
        is_cancelled: IsCancelled<'a>,
    ) -> Validation<'a> {
        Validation { log, stamps: transactions.stamps(), is_cancelled, trees: Vec::new() }
    }

    /// Holds what a transaction that committed meanwhile has written against the predicates.
    pub(super) fn check(&mut self, committed: &Committed) -> Result<(), CommitError> {
        let set = committed.set();
        let is_read = |table_swap: &&TableSwap| self.log.read_of(table_swap.before().id()).is_some();
        if let Some(table_swap) = set.table_swaps().iter().find(is_read) {
            // What has changed since lies elsewhere.
            let relation = table_swap.before().name();
            return Err(CommitError::Failed(Box::new(TransactionError::Altered { relation, retry: true, by: None })));
        }
        let (mut last_table, mut log) = (None, None);
        let mut last_row = None;
        for write in &set.writes {
            if last_table != Some(write.table) {
                (last_table, last_row) = (Some(write.table), None);
                log = self.log.read_of(set.tables[write.table as usize].id());
            }
            let Some(log) = log.filter(|log: &&RelationLog| log.concerns(change(write.kind))) else { continue };
            let is_single = !matches!(write.kind, WriteKind::Append | WriteKind::Truncate);
            // However often a transaction has changed a row, it has the same images.
            if is_single && last_row.replace(write.row) == Some(write.row) {
                continue;
            }
            check_cancelled(self.is_cancelled).map_err(|error| CommitError::Failed(Box::new(error)))?;
            self.check_write(&set.tables[write.table as usize], log, write, committed.time())?;
        }
        Ok(())
    }

    fn check_write(&mut self, table: &Table, log: &RelationLog, write: &Write, time: Time) -> Result<(), CommitError> {
        let Some(slot) = table.slots.get(write.row.chunk()) else { return Ok(()) };
        let slot = slot.read();
        if slot.is_gone() {
            // What was there came and went since.
            return Ok(());
        }
        let views = [View::at(Time(time.0 - 1)), View::at(time)];
        let first = write.row.row();
        let (rows, views) = match write.kind {
            WriteKind::Insert | WriteKind::Update(_) | WriteKind::Delete | WriteKind::Replace => {
                (first..first + 1, &views[..])
            }
            WriteKind::Append => (first..first + write.version as usize, &views[1..]),
            WriteKind::Truncate => (0..slot.len(), &views[..1]),
        };
        let stamps = self.stamps;
        let tree = self.tree(table, log);
        if rows.len() > 1 && tree.satisfied_by(&SlotBounds { slot: &slot, table }).is_none() {
            return Ok(());
        }
        for row in rows {
            for &view in views {
                if !slot.is_visible(row, view, stamps) {
                    continue;
                }
                if let Some(satisfied) = tree.satisfied_by(&RowImage { slot: &slot, table, row, view, stamps }) {
                    return Err(CommitError::Conflict {
                        relation: table.name(),
                        row: RowId::new(write.row.chunk(), row),
                        predicate: describe(&tree.restrictions(satisfied), table.schema()),
                    });
                }
            }
        }
        Ok(())
    }

    fn tree(&mut self, table: &Table, log: &RelationLog) -> &PredicateTree {
        let known = self.trees.iter().position(|(id, _)| *id == table.id());
        let at = known.unwrap_or_else(|| {
            self.trees.push((table.id(), PredicateTree::new(log)));
            self.trees.len() - 1
        });
        &self.trees[at].1
    }
}

fn change(kind: WriteKind) -> Change {
    match kind {
        WriteKind::Update(column) => Change::Columns(ColumnSet::of(column.into())),
        WriteKind::Insert | WriteKind::Delete | WriteKind::Replace | WriteKind::Append | WriteKind::Truncate => {
            Change::Existence
        }
    }
}

/// A row as a view sees it.
struct RowImage<'a> {
    slot: &'a HotChunk,
    table: &'a Table,
    row: usize,
    view: View,
    stamps: &'a Stamps,
}

impl Image for RowImage<'_> {
    fn span(&self, attribute: Attribute) -> Span {
        let column = attribute.column();
        match self.slot.visible_cell((self.row, column), self.view, self.stamps, &TextRoom::default()) {
            None | Some(Cell::Null) => Span::NULL,
            Some(Cell::Bits(bits)) => {
                Comparand::of_bits(self.table.schema().all_columns()[column].column_type, bits).span(attribute)
            }
            Some(text) => {
                let mut span = Span::NULL;
                text.bytes(|bytes| span = Comparand::Bytes(bytes).span(attribute));
                span
            }
        }
    }
}

/// All rows that a slot has or had: bounds are widened by every change, and never narrowed.
struct SlotBounds<'a> {
    slot: &'a HotChunk,
    table: &'a Table,
}

impl Image for SlotBounds<'_> {
    fn span(&self, attribute: Attribute) -> Span {
        let column = attribute.column();
        let null = self.table.schema().all_columns()[column].nullable;
        if attribute.is_hash() {
            return Span { null, ..Span::ALL };
        }
        Span { null, ..Span::of_bounds(self.slot.bounds(column)) }
    }
}
