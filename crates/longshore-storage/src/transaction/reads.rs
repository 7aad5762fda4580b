//! What a transaction reads by predicate, and what it logs of its reads.
//!
//! Only a serializable transaction that may write logs anything: others are not validated.
//!
//! Not here: the log (`predicate`), the reading of a row that was found (`transaction.rs`).

use std::ops::{Bound, ControlFlow};

use longshore_value::text::trim_char;
use longshore_value::uuid::Uuid;

use super::Transaction;
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::predicate::{Attribute, Comparand, RelationLog, Restriction, Span, between, integer};
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::Table;
use crate::typed::ColumnRange;
use crate::types::{Column, ColumnType, Physical};
use crate::values::TextRoom;

/// Columns of a key that is logged without further ado, if all are integers.
const INTEGERS_MAX: usize = 4;

/// Rows that are looked at while a slot's latch is held.
const SCAN_ROWS_MAX: usize = 4096;

impl Transaction {
    /// Gives every row that it sees and that is in all the ranges to a closure, until that says `Break`. What the
    /// closure changes does not show where the scan has not been yet, as far as it concerns the rows of the batch (some
    /// thousands) that is being gone through; rows that it inserts may or may not be given to it.
    ///
    /// # Errors
    ///
    /// The first of the closure.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn scan(
        &mut self,
        relation: &Relation,
        ranges: &[ColumnRange<'_>],
        visit: impl FnMut(&mut Transaction, RowId) -> Result<ControlFlow<()>, TransactionError>,
    ) -> Result<(), TransactionError> {
        Transaction::scan_of(self, |transaction| transaction, relation, ranges, visit)
    }

    /// The same of a transaction that is a part of something else, which the closure is given instead of it.
    ///
    /// # Errors
    ///
    /// The first of the closure.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn scan_of<O, E>(
        owner: &mut O,
        transaction: impl Fn(&mut O) -> &mut Transaction,
        relation: &Relation,
        ranges: &[ColumnRange<'_>],
        mut visit: impl FnMut(&mut O, RowId) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        transaction(owner).log_scan(relation, ranges, &[]);
        let table = relation.table();
        let mut found = Vec::new();
        for at in table.slots.order() {
            let mut from = 0;
            loop {
                found.clear();
                let more = transaction(owner).find_in_slot(table, at, from, ranges, &mut found);
                for &row in &found {
                    if visit(owner, RowId::new(at, row))?.is_break() {
                        return Ok(());
                    }
                }
                from += SCAN_ROWS_MAX;
                if !more {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Finds the rows of a part of a slot; says whether there is another part.
    fn find_in_slot(
        &self,
        table: &Table,
        at: usize,
        from: usize,
        ranges: &[ColumnRange<'_>],
        found: &mut Vec<usize>,
    ) -> bool {
        let Some(slot) = table.slots.get(at) else { return false };
        let slot = slot.read();
        let to = slot.len().min(from + SCAN_ROWS_MAX);
        let stamps = self.manager.stamps();
        for row in from..to {
            let is_wanted = |range: &ColumnRange<'_>| {
                let column_type = table.schema().all_columns()[range.column].column_type;
                slot.visible_cell((row, range.column), self.view, stamps, &TextRoom::default())
                    .is_some_and(|cell| cell.with_datum(column_type, |value| range.holds(&value)))
            };
            if slot.is_visible(row, self.view, stamps) && ranges.iter().all(is_wanted) {
                found.push(row);
            }
        }
        to < slot.len()
    }

    /// Says that it reads all rows of a relation that are in the ranges, each of another column (without ranges: all
    /// rows), and of these rows some columns; for reads that go past it, by a snapshot. Columns that have a range need
    /// not be said again.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn log_scan(&mut self, relation: &Relation, ranges: &[ColumnRange<'_>], columns_read: &[usize]) {
        let table = relation.table();
        let Some(log) = self.log_of(table) else { return };
        let schema = table.schema();
        let restrictions: Vec<Restriction> =
            ranges.iter().map(|range| restriction(&schema.all_columns()[range.column], range)).collect();
        log.predicate(&restrictions);
        for &column in columns_read {
            log.read(column);
        }
    }

    /// Says that it reads some columns of rows that it has looked for before, by a key or a scan; for reads that go past
    /// it, by a snapshot.
    pub fn log_columns(&mut self, relation: &Relation, columns_read: &[usize]) {
        let Some(log) = self.log_of(relation.table()) else { return };
        for &column in columns_read {
            log.read(column);
        }
    }

    /// Logs that it looks for the rows with a key, or with the beginning of one.
    #[inline]
    pub(crate) fn log_key(&mut self, table: &Table, columns: &[usize], key: &[Datum<'_>]) {
        let Some(log) = self.log_of(table) else { return };
        let mut integers = [0; INTEGERS_MAX];
        let are_integers = key.len() <= INTEGERS_MAX
            && integers.iter_mut().zip(key).all(|(summary, value)| {
                *summary = match *value {
                    Datum::I16(value) => integer(value.into()),
                    Datum::I32(value) => integer(value.into()),
                    Datum::I64(value) => integer(value),
                    _ => return false,
                };
                true
            });
        if !(are_integers && log.known_integers(columns, &integers[..key.len()])) {
            log_any_key(log, table, columns, key);
        }
    }

    /// Logs that it has gone through an index from one key to another. A bound may have fewer values than the index
    /// has columns, then it stands for all keys that begin so.
    pub(crate) fn log_range(
        &mut self,
        table: &Table,
        columns: &[usize],
        low: Bound<&[Datum<'_>]>,
        high: Bound<&[Datum<'_>]>,
    ) {
        let Some(log) = self.log_of(table) else { return };
        let described = table.schema().all_columns();
        let low = low.map(|values| comparands(described, columns, values));
        let high = high.map(|values| comparands(described, columns, values));
        let mut restrictions = Vec::new();
        between(columns, low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice), &mut restrictions);
        log.predicate(&restrictions);
    }

    /// Where reads of a relation are logged, if they are.
    #[inline]
    pub(super) fn log_of(&mut self, table: &Table) -> Option<&mut RelationLog> {
        self.log.as_mut().map(|log| log.relation(table.id()))
    }
}

/// Logs the lookup of a key that is not one of integers, or the first of these.
#[cold]
fn log_any_key(log: &mut RelationLog, table: &Table, columns: &[usize], key: &[Datum<'_>]) {
    let described = table.schema().all_columns();
    let each = columns.iter().zip(key);
    let restrictions: Vec<Restriction> =
        each.map(|(&column, &value)| equal(column, &described[column], value)).collect();
    if restrictions.is_empty() || !restrictions.iter().all(|restriction| restriction.span.is_point()) {
        return log.predicate(&restrictions);
    }
    let attributes: Vec<Attribute> = restrictions.iter().map(|restriction| restriction.attribute).collect();
    let summaries: Vec<u64> = restrictions.iter().map(|restriction| restriction.span.low).collect();
    log.point(&attributes, &summaries);
    let is_integer = |&column: &usize| {
        matches!(described[column].column_type.physical(), Physical::I16 | Physical::I32 | Physical::I64)
    };
    if columns[..attributes.len()].iter().all(is_integer) {
        log.learn_integers(&attributes);
    }
}

/// Values of a key in the order of the index, as far as they are of the columns' types.
fn comparands<'a>(described: &[Column], columns: &[usize], values: &[Datum<'a>]) -> Vec<Comparand<'a>> {
    let each = columns.iter().zip(values);
    each.map_while(|(&column, &value)| comparand(&described[column], value)).collect()
}

/// `column = value`, or that it is NULL, as indexes compare.
fn equal(column: usize, described: &Column, value: Datum<'_>) -> Restriction {
    match comparand(described, value) {
        Some(value) => Restriction::equal(column, value),
        None => Restriction { attribute: Attribute::order(column), span: Span::ALL },
    }
}

fn restriction(described: &Column, range: &ColumnRange<'_>) -> Restriction {
    let &ColumnRange { column, low, high, null } = range;
    let mut restriction = match (low, high) {
        (Bound::Unbounded, Bound::Unbounded) => Restriction::is_not_null(column),
        (Bound::Included(Datum::Null), Bound::Included(Datum::Null)) if null => Restriction::is_null(column),
        (Bound::Included(low), Bound::Included(high)) if low == high => equal(column, described, low),
        _ => Restriction::range(column, bound(described, low), bound(described, high)),
    };
    restriction.span.null |= null;
    restriction
}

/// A bound as the column compares it; none if it is of another type.
fn bound<'a>(described: &Column, bound: Bound<Datum<'a>>) -> Bound<Comparand<'a>> {
    let (Bound::Included(value) | Bound::Excluded(value)) = bound else { return Bound::Unbounded };
    match (comparand(described, value), bound) {
        (None, _) => Bound::Unbounded,
        (Some(value), Bound::Excluded(_)) => Bound::Excluded(value),
        (Some(value), _) => Bound::Included(value),
    }
}

/// A value as the column stores it; `None` if it is of another type.
fn comparand<'a>(described: &Column, value: Datum<'a>) -> Option<Comparand<'a>> {
    if described.column_type == ColumnType::Uuid {
        return match value {
            Datum::Null => Some(Comparand::Null),
            Datum::Uuid(value) => Some(Comparand::Uuid(value)),
            Datum::Text(text) => Uuid::parse(text.as_bytes()).ok().map(Comparand::Uuid),
            _ => None,
        };
    }
    let physical = described.column_type.physical();
    let integer = |value: i64| match physical {
        Physical::I16 | Physical::I32 | Physical::I64 => Some(Comparand::Integer(value)),
        Physical::I128 => Some(Comparand::Wide(value.into())),
        _ => None,
    };
    match value {
        Datum::Null => Some(Comparand::Null),
        Datum::Bool(value) => (physical == Physical::U8).then_some(Comparand::Integer(value.into())),
        Datum::I16(value) => integer(value.into()),
        Datum::I32(value) => integer(value.into()),
        Datum::I64(value) => integer(value),
        Datum::I128(value) if physical == Physical::I128 => Some(Comparand::Wide(value)),
        Datum::I128(value) => integer(i64::try_from(value).ok()?),
        Datum::F32(value) => is_float(physical).then_some(Comparand::Float(value.into())),
        Datum::F64(value) => is_float(physical).then_some(Comparand::Float(value)),
        Datum::Text(text) => match described.column_type {
            ColumnType::Char(_) => Some(Comparand::Bytes(trim_char(text).as_bytes())),
            _ => (physical == Physical::View).then_some(Comparand::Bytes(text.as_bytes())),
        },
        Datum::Uuid(_) => None,
        Datum::Bytes(bytes) => (physical == Physical::View).then_some(Comparand::Bytes(bytes)),
    }
}

fn is_float(physical: Physical) -> bool {
    matches!(physical, Physical::F32 | Physical::F64)
}
