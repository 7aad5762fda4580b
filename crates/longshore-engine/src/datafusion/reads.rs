//! What a scan reads, logged for the serializability of its transaction: the predicate that it evaluates, as ranges of
//! columns, and the columns that it returns. Whatever is no range of one column leaves the predicate wider than it is,
//! which may cause a conflict that is none, but never hides one.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNullExpr, Literal};
use longshore_storage::{ColumnRange, Relation};

use super::change::datum;
use super::predicate::Predicate;
use crate::transaction::Work;

/// Where the reads of a scan are logged.
#[derive(Clone)]
pub(super) struct Reads {
    work: Arc<Work>,
    relation: Arc<Relation>,
}

impl fmt::Debug for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reads").finish_non_exhaustive()
    }
}

/// A comparison of a column with a value, an array of one.
struct Compared {
    column: usize,
    operator: Operator,
    value: ArrayRef,
}

impl Reads {
    /// Reads of `relation` in `work`.
    pub(super) fn new(work: &Arc<Work>, relation: &Arc<Relation>) -> Self {
        Self { work: Arc::clone(work), relation: Arc::clone(relation) }
    }

    /// Whether it matters to the transaction what is read.
    pub(super) fn matter(&self) -> bool {
        self.work.logs_reads()
    }

    /// Logs a scan that returns `columns` of the rows for which `predicate` is true.
    pub(super) fn log(&self, predicate: Option<&Predicate>, columns: &[usize]) {
        if !self.matter() {
            return;
        }
        let schema = self.relation.schema();
        let mut nulls = Vec::new();
        let mut compared = Vec::new();
        for conjunct in predicate.into_iter().flat_map(Predicate::conjuncts) {
            if let Some(is_null) = conjunct.downcast_ref::<IsNullExpr>() {
                nulls.extend(is_null.arg().downcast_ref::<Column>().map(Column::index));
            } else {
                compared.extend(comparison(conjunct.as_ref()));
            }
        }
        let mut ranges: Vec<ColumnRange<'_>> = nulls.into_iter().map(ColumnRange::is_null).collect();
        for Compared { column, operator, value } in &compared {
            let Some(described) = schema.columns().get(*column) else { continue };
            if *value.data_type() != described.column_type.arrow() {
                continue;
            }
            let value = datum(value, described.column_type, 0);
            let (low, high) = match operator {
                Operator::Eq => (Bound::Included(value), Bound::Included(value)),
                Operator::Lt => (Bound::Unbounded, Bound::Excluded(value)),
                Operator::LtEq => (Bound::Unbounded, Bound::Included(value)),
                Operator::Gt => (Bound::Excluded(value), Bound::Unbounded),
                Operator::GtEq => (Bound::Included(value), Bound::Unbounded),
                _ => continue,
            };
            match ranges.iter_mut().find(|range| range.column == *column) {
                // Two halves of one range, as BETWEEN has them.
                Some(range) if range.low == Bound::Unbounded && high == Bound::Unbounded => range.low = low,
                Some(range) if range.high == Bound::Unbounded && low == Bound::Unbounded => range.high = high,
                Some(_) => {}
                None => ranges.push(ColumnRange::between(*column, low, high)),
            }
        }
        let stored = schema.columns().len();
        let mut read: Vec<usize> = columns.iter().copied().filter(|column| *column < stored).collect();
        read.extend(predicate.into_iter().flat_map(Predicate::columns).filter(|column| **column < stored));
        self.work.log_scan(&self.relation, &ranges, &read);
    }
}

/// A conjunct as a comparison of a column with a value that is not NULL, if it is one.
fn comparison(conjunct: &dyn PhysicalExpr) -> Option<Compared> {
    let binary = conjunct.downcast_ref::<BinaryExpr>()?;
    let (left, right) = (binary.left(), binary.right());
    let (column, literal, operator) = if let Some(column) = left.downcast_ref::<Column>() {
        (column, right.downcast_ref::<Literal>()?, *binary.op())
    } else {
        (right.downcast_ref::<Column>()?, left.downcast_ref::<Literal>()?, binary.op().swap()?)
    };
    if literal.value().is_null() {
        return None;
    }
    let value = literal.value().to_array().ok()?;
    Some(Compared { column: column.index(), operator, value })
}
