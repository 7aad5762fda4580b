//! Rows of one scan by keys.

use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use longshore_storage::{ColumnType, Datum, Direction, Index, Relation, RowId, Transaction, TransactionError, Uuid};
use smallvec::SmallVec;

use super::super::direct::evaluated;
use super::{Expression, Key, Lookup};
use crate::Error;
use crate::datafusion::datums::datum;
use crate::datafusion::errors::from_datafusion;
use crate::sql::parameters::fit;
use crate::transaction::{StatementTransaction, row_arrays};

/// Rows that are read one by one, at most: for more of them a scan is the shorter way.
const ROWS_MAX: usize = 256;
/// An index is asked for so many keys at most.
const KEYS_MAX: usize = 64;

/// Values of the columns of an index, which has few of them as a rule.
type Values<'a> = SmallVec<[Datum<'a>; 4]>;

/// One row without columns: what values without columns are computed on.
static ONE_ROW: LazyLock<RecordBatch> = LazyLock::new(|| {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
    row.expect("no columns are of the same length")
});

/// What a column of an index is equal to, computed.
enum Computed<'a> {
    OneOf(Vec<ArrayRef>),
    Joined(&'a ArrayRef),
}

impl Lookup {
    /// The rows of `relation` that the scan returns; `from` are those of the scan that its keys are of. `None` where they are to
    /// be scanned.
    pub(super) fn rows(
        &self,
        transaction: &StatementTransaction,
        relation: &Relation,
        from: Option<&RecordBatch>,
    ) -> Result<Option<RecordBatch>, Error> {
        // The error of a value is one of the query, when it runs.
        let (Ok(keys), Ok(low), Ok(high)) = (self.keys(from), computed(&self.low), computed(&self.high)) else {
            return Ok(None);
        };
        let Some(index) =
            self.index.upgrade().filter(|index| relation.indexes().iter().any(|of| Arc::ptr_eq(of, index)))
        else {
            return Ok(None);
        };
        let columns = relation.schema().all_columns();
        let type_of = |place: usize| index.columns().get(place).map(|column| columns[*column].column_type);
        let Some(values) = combined(&keys, from.map_or(1, RecordBatch::num_rows), type_of) else { return Ok(None) };
        let behind = type_of(self.keys.len());
        let ends = (end_of(&low, behind), end_of(&high, behind));
        let is_null =
            |end: Bound<Datum<'_>>| matches!(end, Bound::Included(Datum::Null) | Bound::Excluded(Datum::Null));
        // Nothing lies above NULL, or below it.
        let values = if is_null(ends.0) || is_null(ends.1) { Vec::new() } else { values };
        let read = transaction.with(|transaction| {
            let Some(found) = find(transaction, relation, &index, &values, ends)? else { return Ok(None) };
            self.read(transaction, relation, &found).map(Some)
        })?;
        read.map(|rows| self.narrowed(rows)).transpose().map_err(from_datafusion)
    }

    fn keys<'a>(&self, from: Option<&'a RecordBatch>) -> Result<Vec<Computed<'a>>> {
        let keys = self.keys.iter().filter_map(|key| match key {
            Key::OneOf(values) => {
                Some(values.iter().map(|value| evaluated(value, &ONE_ROW)).collect::<Result<_>>().map(Computed::OneOf))
            }
            Key::Joined(column) => from.map(|from| Ok(Computed::Joined(from.column(*column)))),
        });
        keys.collect()
    }

    /// The columns of rows that it reads.
    fn read(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        rows: &[RowId],
    ) -> Result<RecordBatch, TransactionError> {
        let stored = relation.schema().columns().len();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.read.len());
        for &column in &self.read {
            arrays.push(if column < stored {
                row_arrays::values(transaction, relation, rows, column)?
            } else {
                Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.0)))
            });
        }
        Ok(row_arrays::batch(arrays, rows.len(), &self.of_read))
    }

    /// What the scan returns of rows that were read.
    fn narrowed(&self, mut rows: RecordBatch) -> Result<RecordBatch> {
        for filter in &self.rest {
            if rows.num_rows() == 0 {
                break;
            }
            let answers = evaluated(filter, &rows)?;
            rows = filter_record_batch(&rows, as_boolean_array(&answers)?)?;
        }
        if self.returned == self.read.len() {
            return Ok(rows);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let columns = rows.columns()[..self.returned].to_vec();
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.of_returned), columns, &options)?)
    }
}

/// The value of a bound.
fn computed(bound: &Bound<Expression>) -> Result<Bound<ArrayRef>> {
    Ok(match bound {
        Bound::Included(value) => Bound::Included(evaluated(value, &ONE_ROW)?),
        Bound::Excluded(value) => Bound::Excluded(evaluated(value, &ONE_ROW)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// A bound of a column of this type, of which there is one unless it is unbounded.
fn end_of(bound: &Bound<ArrayRef>, column_type: Option<ColumnType>) -> Bound<Datum<'_>> {
    match (bound, column_type) {
        (Bound::Included(value), Some(column_type)) => Bound::Included(datum(value, column_type, 0)),
        (Bound::Excluded(value), Some(column_type)) => Bound::Excluded(datum(value, column_type, 0)),
        _ => Bound::Unbounded,
    }
}

/// The combinations of values for the first columns of an index, each once, for `rows` rows that the index is joined with; `None`
/// if they are many.
fn combined<'a>(
    keys: &'a [Computed<'_>],
    rows: usize,
    type_of: impl Fn(usize) -> Option<ColumnType>,
) -> Option<Vec<Values<'a>>> {
    let lists = keys.iter().map(|key| match key {
        Computed::OneOf(values) => values.len(),
        Computed::Joined(_) => 1,
    });
    let of_row = lists.clone().try_fold(1_usize, usize::checked_mul)?;
    if of_row.checked_mul(rows)? > KEYS_MAX {
        return None;
    }
    let mut all: Vec<Values<'_>> = Vec::with_capacity(of_row * rows);
    for row in 0..rows {
        'combinations: for mut combination in 0..of_row {
            let mut values = Values::new();
            for (place, (key, length)) in keys.iter().zip(lists.clone()).enumerate() {
                let (array, at) = match key {
                    Computed::OneOf(list) => (&list[combination % length], 0),
                    Computed::Joined(array) => (*array, row),
                };
                combination /= length;
                match stored(array, at, type_of(place)?) {
                    Some(value) => values.push(value),
                    None => continue 'combinations,
                }
            }
            if !all.contains(&values) {
                all.push(values);
            }
        }
    }
    Some(all)
}

/// A value as a column of this type stores it; `None` if no row of the column is equal to it.
fn stored(array: &ArrayRef, row: usize, column_type: ColumnType) -> Option<Datum<'_>> {
    match (datum(array, column_type, row), column_type) {
        (Datum::Null, _) => None,
        // It is compared as a text.
        (Datum::Text(text), ColumnType::Uuid) => {
            let uuid = Uuid::parse(text.as_bytes()).ok().filter(|uuid| uuid.to_string() == text);
            uuid.map(Datum::Uuid)
        }
        (value, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt) => fit(value, column_type),
        (value, _) => Some(value),
    }
}

/// The rows whose first columns of an index have one of these values, and the next one lies between the `ends`, or is NULL; each
/// once, in the order of the table. `None` if there are many, or no values of this index.
fn find<'a>(
    transaction: &mut Transaction,
    relation: &Relation,
    index: &Index,
    keys: &[Values<'a>],
    (low, high): (Bound<Datum<'a>>, Bound<Datum<'a>>),
) -> Result<Option<Vec<RowId>>, TransactionError> {
    let mut found = Vec::new();
    for values in keys {
        let (low, high) = (end(values, low), end(values, high));
        let is_key = |end: &Bound<Values<'_>>| match end {
            Bound::Included(values) | Bound::Excluded(values) => index.prefix(values).is_ok(),
            Bound::Unbounded => true,
        };
        if !is_key(&low) || !is_key(&high) {
            return Ok(None);
        }
        if values.len() < index.columns().len() {
            let ends = (low.as_ref().map(SmallVec::as_slice), high.as_ref().map(SmallVec::as_slice));
            transaction.range(relation, index, ends, Direction::Forward, |_, row| {
                found.push(row);
                Ok(if found.len() > ROWS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        } else if index.uniqueness().is_unique() {
            found.extend(transaction.find(relation, index, values)?);
        } else {
            found.extend(transaction.find_all(relation, index, values)?);
        }
        if found.len() > ROWS_MAX {
            return Ok(None);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(Some(found))
}

/// An end of the range that begins with `values`.
fn end<'a>(values: &Values<'a>, bound: Bound<Datum<'a>>) -> Bound<Values<'a>> {
    let with = |value: Datum<'a>| values.iter().copied().chain([value]).collect();
    match bound {
        Bound::Included(value) => Bound::Included(with(value)),
        Bound::Excluded(value) => Bound::Excluded(with(value)),
        Bound::Unbounded if values.is_empty() => Bound::Unbounded,
        Bound::Unbounded => Bound::Included(values.clone()),
    }
}
