//! What a scan reads, logged for the serializability of its transaction: the predicate that it evaluates, as values and
//! ranges of columns, and the columns that it returns. What is neither leaves the predicate wider than it is,
//! which may cause a conflict that is none, but never hides one.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use longshore_storage::{ColumnRange, Datum, Relation};

use super::column_constraints::column_constraints;
use super::predicate::Predicate;
use crate::transaction::StatementTransaction;

/// Where the reads of a scan are logged.
#[derive(Clone)]
pub(in crate::datafusion) struct Reads {
    transaction: Arc<StatementTransaction>,
    relation: Arc<Relation>,
}

impl fmt::Debug for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reads").finish_non_exhaustive()
    }
}

/// Lists of values that are logged value by value, if they are no longer than this together.
const POINTS_MAX: usize = 64;

impl Reads {
    /// Reads of `relation` in `transaction`.
    pub(in crate::datafusion) fn new(transaction: &Arc<StatementTransaction>, relation: &Arc<Relation>) -> Self {
        Self { transaction: Arc::clone(transaction), relation: Arc::clone(relation) }
    }

    /// Whether it matters to the transaction what is read.
    pub(in crate::datafusion) fn matter(&self) -> bool {
        self.transaction.logs_reads()
    }

    /// Logs a scan that returns `columns` of the rows for which `predicate` is true.
    pub(in crate::datafusion) fn log(&self, predicate: Option<&Predicate>, columns: &[usize]) {
        if !self.matter() {
            return;
        }
        let schema = self.relation.schema();
        let stored = schema.columns().len();
        let mut read: Vec<usize> = columns.iter().copied().filter(|column| *column < stored).collect();
        read.extend(predicate.into_iter().flat_map(Predicate::columns).filter(|column| **column < stored));
        let constraints = column_constraints(predicate, schema);
        let mut ranges: Vec<ColumnRange<'_>> = Vec::new();
        // Each of the lists multiplies the ranges.
        let mut lists: Vec<(usize, Vec<Datum<'_>>)> = Vec::new();
        let mut combinations = 1;
        for constraint in &constraints {
            match (constraint.points(), constraint.bounds()) {
                _ if constraint.is_null => ranges.push(ColumnRange::is_null(constraint.column)),
                (Some(points), _) if combinations * points.len() <= POINTS_MAX => {
                    combinations *= points.len();
                    lists.push((constraint.column, points));
                }
                (_, (Bound::Unbounded, Bound::Unbounded)) => {}
                (_, (low, high)) => ranges.push(ColumnRange::between(constraint.column, low, high)),
            }
        }
        let fixed = ranges.len();
        for mut combination in 0..combinations {
            ranges.truncate(fixed);
            for (column, points) in &lists {
                ranges.push(ColumnRange::equal(*column, points[combination % points.len()]));
                combination /= points.len();
            }
            self.transaction.log_scan(&self.relation, &ranges, &read);
        }
    }

    /// The relation.
    pub(in crate::datafusion) fn relation(&self) -> &Relation {
        &self.relation
    }
}
