//! How a statement finds its rows: one by the whole key of a unique index, or few by the first columns of any index and
//! bounds of the next one.
//!
//! What is looked for is logged as by every other way through an index. Not here: which index (`named_table`), what is asked of the
//! rows that it finds (`residual`).

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use longshore_storage::{Datum, Direction, Index, IndexKind, Relation, RowId, Transaction, TransactionError};

use super::operand::{Arguments, Few, Operand, given};
use super::residual::Residual;

/// Rows that are read one by one, at most: for more of them the planner's way is the shorter one.
const ROWS_MAX: usize = 1_024;

/// How rows are found.
#[derive(Debug)]
pub(super) enum Lookup {
    Key(Key),
    Range(Range),
}

/// The whole key of a unique index.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) index: Arc<Index>,
    /// One for each column of the index, in its order.
    pub(super) values: Vec<Operand>,
    pub(super) residual: Residual,
}

/// The first columns of an index, and bounds of the one behind them, which is never NULL. A hash table is asked for all
/// of its columns.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) index: Arc<Index>,
    pub(super) values: Vec<Operand>,
    pub(super) low: Bound<Operand>,
    pub(super) high: Bound<Operand>,
    pub(super) residual: Residual,
}

/// Puts the values of the first columns of an index behind those in `found`; `None` if one is not plain.
fn push_values<'a>(
    found: &mut Few<Datum<'a>>,
    index: &Index,
    values: &'a [Operand],
    relation: &Relation,
    arguments: Arguments<'_, 'a>,
) -> Option<()> {
    for (value, column) in values.iter().zip(index.columns()) {
        found.push(given(value, *column, relation, arguments)?);
    }
    Some(())
}

impl Lookup {
    /// Tells `take` each value that is looked for, and its column.
    pub(super) fn operands(&self, take: &mut impl FnMut(&Operand, Option<usize>)) {
        match self {
            Self::Key(key) => key.operands(take),
            Self::Range(range) => range.operands(take),
        }
    }

    /// The rows; `None` where the planner has to find them.
    pub(super) fn find(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        arguments: Arguments<'_, '_>,
    ) -> Result<Option<Few<RowId>>, TransactionError> {
        match self {
            Self::Key(key) => Ok(key.find(transaction, relation, arguments)?.map(|row| row.into_iter().collect())),
            Self::Range(range) => range.find(transaction, relation, arguments, Direction::Forward, None),
        }
    }
}

impl Key {
    /// Tells `take` each value that is looked for, and its column.
    pub(super) fn operands(&self, take: &mut impl FnMut(&Operand, Option<usize>)) {
        self.values.iter().zip(self.index.columns()).for_each(|(value, column)| take(value, Some(*column)));
        self.residual.operands(take);
    }

    /// The row, if there is one; the outer `None` where the planner has to find it.
    #[expect(clippy::option_option, reason = "no row is not the same as not known")]
    pub(super) fn find(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        arguments: Arguments<'_, '_>,
    ) -> Result<Option<Option<RowId>>, TransactionError> {
        let mut values = Few::new();
        if push_values(&mut values, &self.index, &self.values, relation, arguments).is_none() {
            return Ok(None);
        }
        if values.contains(&Datum::Null) {
            return Ok(Some(None));
        }
        let found = transaction.find(relation, &self.index, &values)?;
        if self.residual.is_empty() {
            return Ok(Some(found));
        }
        let kept = self.residual.kept(transaction, relation, found.into_iter().collect(), arguments)?;
        Ok(kept.map(|rows| rows.first().copied()))
    }
}

impl Range {
    /// Tells `take` each value that is looked for, and its column.
    pub(super) fn operands(&self, take: &mut impl FnMut(&Operand, Option<usize>)) {
        self.values.iter().zip(self.index.columns()).for_each(|(value, column)| take(value, Some(*column)));
        let bounded = self.index.columns().get(self.values.len()).copied();
        for bound in [&self.low, &self.high] {
            if let Bound::Included(value) | Bound::Excluded(value) = bound {
                take(value, bounded);
            }
        }
        self.residual.operands(take);
    }

    /// The rows in their order, no more than `limit`; `None` where the planner has to find them, because they are many or
    /// the values are not plain.
    pub(super) fn find(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        arguments: Arguments<'_, '_>,
        direction: Direction,
        limit: Option<usize>,
    ) -> Result<Option<Few<RowId>>, TransactionError> {
        if self.residual.is_empty() {
            return self.find_all(transaction, relation, arguments, direction, limit);
        }
        // Of rows of which some are enough, more and more are looked at.
        let mut looked_at = limit.map(|limit| limit.saturating_mul(2).min(ROWS_MAX));
        loop {
            let found = self.find_all(transaction, relation, arguments, direction, looked_at)?;
            let Some(found) = found else { return Ok(None) };
            let is_all = looked_at.is_none_or(|looked_at| found.len() < looked_at);
            let Some(mut kept) = self.residual.kept(transaction, relation, found, arguments)? else { return Ok(None) };
            if is_all || limit.is_some_and(|limit| kept.len() >= limit) {
                kept.truncate(limit.unwrap_or(usize::MAX));
                return Ok(Some(kept));
            }
            looked_at = looked_at.map(|looked_at| looked_at * 4).filter(|looked_at| *looked_at < ROWS_MAX);
        }
    }

    /// The same of all rows that the index finds.
    fn find_all(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        arguments: Arguments<'_, '_>,
        direction: Direction,
        limit: Option<usize>,
    ) -> Result<Option<Few<RowId>>, TransactionError> {
        let mut values = Few::new();
        if push_values(&mut values, &self.index, &self.values, relation, arguments).is_none() {
            return Ok(None);
        }
        let (low, high) =
            (self.end(&values, &self.low, relation, arguments), self.end(&values, &self.high, relation, arguments));
        let (Some(low), Some(high)) = (low, high) else { return Ok(None) };
        let is_null = |end: &Bound<Vec<Datum<'_>>>| match end {
            Bound::Included(values) | Bound::Excluded(values) => values.contains(&Datum::Null),
            Bound::Unbounded => false,
        };
        if is_null(&low) || is_null(&high) || limit == Some(0) {
            return Ok(Some(Few::new()));
        }
        if self.index.kind() == IndexKind::Hash {
            let mut rows = Few::from_vec(transaction.find_all(relation, &self.index, &values)?);
            rows.truncate(limit.unwrap_or(usize::MAX));
            return Ok(Some(rows).filter(|rows| rows.len() <= ROWS_MAX));
        }
        let ends = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
        let mut rows = Few::new();
        transaction.range(relation, &self.index, ends, direction, |_, row| {
            rows.push(row);
            let is_enough = Some(rows.len()) == limit || rows.len() > ROWS_MAX;
            Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(Some(rows).filter(|rows| rows.len() <= ROWS_MAX))
    }

    /// An end of the range that begins with `values`.
    fn end<'a>(
        &'a self,
        values: &[Datum<'a>],
        bound: &'a Bound<Operand>,
        relation: &Relation,
        arguments: Arguments<'_, 'a>,
    ) -> Option<Bound<Vec<Datum<'a>>>> {
        let key = |value: &'a Operand| {
            let value = given(value, *self.index.columns().get(values.len())?, relation, arguments)?;
            Some(values.iter().copied().chain([value]).collect())
        };
        Some(match bound {
            Bound::Included(value) => Bound::Included(key(value)?),
            Bound::Excluded(value) => Bound::Excluded(key(value)?),
            Bound::Unbounded if values.is_empty() => Bound::Unbounded,
            Bound::Unbounded => Bound::Included(values.to_vec()),
        })
    }
}
