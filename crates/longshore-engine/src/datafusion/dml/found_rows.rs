//! The rows that UPDATE or DELETE changes: found by a query, with the new values of their columns.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array, new_empty_array,
};
use datafusion::arrow::compute::{concat_batches, filter_record_batch, interleave, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Schema as ArrowSchema, UInt64Type};
use futures::TryStreamExt;
use longshore_storage::{ColumnType, Datum, RowId, Schema, Snapshot, TransactionError, VisibleChunk, lists};

use super::array_lengths::fitted;
use super::bulk_appender::convert;
use crate::builtin_types::told_field;
use crate::datafusion::datums::datum;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::hidden_names::{END_COLUMN, ROW_COLUMN};
use crate::datafusion::planning::generated::Generated;
use crate::datafusion::planning::rules::Checks;
use crate::{Error, RowStream};

/// Rows of a table, each once, with the new values of some columns.
pub(crate) struct FoundRows {
    /// In column 0 the number of the row, then the new values, then values of other columns.
    batches: Vec<RecordBatch>,
    types: Vec<ColumnType>,
    /// The columns of the table whose values follow the number of the row.
    columns: Vec<usize>,
    /// What else was asked for, batch by batch: columns of other tables.
    others: Vec<RecordBatch>,
    rows: usize,
}

impl FoundRows {
    /// Reads all `rows`, of which the first counts where one is found several times; the new values are those of
    /// `columns` of `schema`, and behind them come the values of the columns `also`.
    pub(crate) async fn read(
        mut rows: RowStream,
        schema: &Schema,
        columns: &[usize],
        also: &[usize],
    ) -> Result<Self, Error> {
        let types = columns.iter().map(|column| schema.all_columns()[*column].column_type).collect();
        let columns: Vec<usize> = columns.iter().chain(also).copied().collect();
        let mut fields = vec![rows.schema().field(0).clone()];
        fields.extend(columns.iter().map(|column| schema.all_columns()[*column].field()));
        let others: Vec<usize> = (fields.len()..rows.schema().fields().len()).collect();
        let mut found = Self { batches: Vec::new(), types, columns, others: Vec::new(), rows: 0 };
        let mut seen = HashSet::new();
        while let Some(batch) = rows.try_next().await? {
            let ids = batch.column(0).as_primitive::<UInt64Type>().values();
            let first: Vec<bool> = ids.iter().map(|id| seen.insert(*id)).collect();
            let batch = if first.iter().all(|first| *first) {
                batch
            } else {
                filter_record_batch(&batch, &BooleanArray::from(first))
                    .map_err(|error| from_datafusion(error.into()))?
            };
            found.rows += batch.num_rows();
            let types = found.types.iter().enumerate().map(|(at, column_type)| (at + 1, *column_type));
            let values = fitted(convert(&batch, &fields)?, types)?;
            found.batches.push(values);
            if !others.is_empty() {
                found.others.push(batch.project(&others).map_err(|error| from_datafusion(error.into()))?);
            }
        }
        Ok(found)
    }

    /// Rows found.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The rows, each once, in the order in which they were found.
    pub(crate) fn row_ids(&self) -> Vec<RowId> {
        let ids = self.batches.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values());
        ids.map(|id| RowId(*id)).collect()
    }

    /// The same rows under other numbers.
    pub(crate) fn renumbered(mut self, number: impl Fn(RowId) -> RowId) -> Result<Self, Error> {
        for batch in &mut self.batches {
            let numbers = batch.column(0).as_primitive::<UInt64Type>().values();
            let numbers: UInt64Array = numbers.iter().map(|of| number(RowId(*of)).0).collect::<Vec<_>>().into();
            let mut columns = batch.columns().to_vec();
            columns[0] = Arc::new(numbers);
            *batch = RecordBatch::try_new(batch.schema(), columns).map_err(|error| from_datafusion(error.into()))?;
        }
        Ok(self)
    }

    /// Refuses the rows, as they will be, if one of them violates a check; `snapshot` has them as they are.
    pub(crate) fn check(&self, checks: &Checks, snapshot: &Snapshot) -> Result<(), Error> {
        for batch in &self.batches {
            let read: Option<Vec<usize>> = checks.columns().iter().map(|column| self.place(*column)).collect();
            let read = read.ok_or_else(|| Error::internal("a column that a check reads was not read"))?;
            let read = batch.project(&read).map_err(|error| from_datafusion(error.into()))?;
            let Some(violation) = checks.violations(&read)?.into_iter().next() else { continue };
            let row = RowId(batch.column(0).as_primitive::<UInt64Type>().value(violation.row));
            let old = fetch_rows(snapshot, &[row])?;
            let new = old.columns().iter().enumerate().map(|(column, old)| match self.place(column) {
                Some(place) => batch.column(place).slice(violation.row, 1),
                None => Arc::clone(old),
            });
            // NULL may stand where it must not: that is found out later.
            let schema = old.schema();
            let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
            let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
            let new = RecordBatch::try_new(schema, new.collect()).map_err(|error| from_datafusion(error.into()))?;
            return Err(violation.error(&new, 0));
        }
        Ok(())
    }

    /// The same rows with the values of generated columns, behind those of the other columns that are set.
    pub(crate) fn completed(&self, generated: &Generated) -> Result<Self, Error> {
        let set = self.types.len();
        let mut completed = Self {
            batches: Vec::with_capacity(self.batches.len()),
            types: self.types.clone(),
            columns: self.columns.clone(),
            others: self.others.clone(),
            rows: self.rows,
        };
        let new: Vec<usize> =
            generated.columns().into_iter().filter(|column| !self.columns[..set].contains(column)).collect();
        completed.columns.splice(set..set, new.iter().copied());
        for batch in &self.batches {
            let value = |column| self.place(column).map(|place| Arc::clone(batch.column(place)));
            let values = generated.values(batch.num_rows(), value)?;
            let mut arrays = batch.columns().to_vec();
            for (column, array) in &values {
                if let Some(place) = self.columns[..set].iter().position(|found| found == column) {
                    arrays[place + 1] = Arc::clone(array);
                }
            }
            let of_new = values.iter().filter(|(column, _)| new.contains(column)).map(|(_, array)| Arc::clone(array));
            let behind = set + 1;
            arrays.splice(behind..behind, of_new);
            let fields = arrays
                .iter()
                .enumerate()
                .map(|(at, array)| Field::new(format!("{at}"), array.data_type().clone(), true));
            let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
            let made = RecordBatch::try_new(schema, arrays).map_err(|error| from_datafusion(error.into()))?;
            completed.batches.push(made);
        }
        completed.types.extend(new.iter().map(|column| generated.column_type(*column)));
        Ok(completed)
    }

    /// Where the values of a column of the table stand.
    fn place(&self, column: usize) -> Option<usize> {
        self.columns.iter().position(|found| *found == column).map(|place| place + 1)
    }

    /// The rows in their order, at most `rows_max` at a time.
    pub(crate) fn parts(&self, rows_max: usize) -> impl Iterator<Item = FoundPart<'_>> {
        let parts = self.batches.iter().flat_map(move |batch| {
            let rows = batch.num_rows();
            (0..rows).step_by(rows_max).map(move |first| (batch, first..rows.min(first + rows_max)))
        });
        parts.map(|(batch, rows)| FoundPart { batch, types: &self.types, rows })
    }

    /// The new values, in the order of [`FoundRows::row_ids`].
    pub(crate) fn values(&self) -> Result<RecordBatch, Error> {
        let columns: Vec<usize> = (1..=self.types.len()).collect();
        let values = self.batches.iter().map(|batch| batch.project(&columns));
        let values =
            values.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| from_datafusion(error.into()))?;
        concat(&values)
    }

    /// The rows of other tables beside each row, table by table as [`END_COLUMN`] parts them, in the order of
    /// [`FoundRows::row_ids`].
    pub(crate) fn others(&self) -> Result<Vec<RecordBatch>, Error> {
        let Some(first) = self.others.first() else { return Ok(Vec::new()) };
        let all = concat_batches(&first.schema(), &self.others).map_err(|error| from_datafusion(error.into()))?;
        let mut tables = Vec::new();
        let mut columns = Vec::new();
        for (at, field) in all.schema().fields().iter().enumerate() {
            if field.name().starts_with(END_COLUMN) {
                tables.push(all.project(&std::mem::take(&mut columns)).map_err(|error| from_datafusion(error.into()))?);
            } else {
                columns.push(at);
            }
        }
        Ok(tables)
    }
}

/// Some of the rows that were found.
pub(crate) struct FoundPart<'a> {
    batch: &'a RecordBatch,
    types: &'a [ColumnType],
    rows: Range<usize>,
}

impl FoundPart<'_> {
    /// Gives each row once, with its new values.
    pub(crate) fn each(
        self,
        mut act: impl FnMut(RowId, Vec<Datum<'_>>) -> Result<(), TransactionError>,
    ) -> Result<(), TransactionError> {
        let batch = lists::encode_batch(self.batch);
        let ids = batch.column(0).as_primitive::<UInt64Type>().values();
        for at in self.rows {
            let values = batch.columns()[1..].iter().zip(self.types);
            act(RowId(ids[at]), values.map(|(array, column_type)| datum(array, *column_type, at)).collect())?;
        }
        Ok(())
    }
}

/// Some of the `rows`, each with the number of a row of a table beside it.
pub(crate) fn rows_with_numbers(rows: &RecordBatch, numbered: &[(usize, RowId)]) -> Result<RecordBatch, Error> {
    let wanted = UInt32Array::from_iter_values(numbered.iter().map(|(row, _)| *row as u32));
    let taken = take_record_batch(rows, &wanted).map_err(|error| from_datafusion(error.into()))?;
    let numbers = UInt64Array::from_iter_values(numbered.iter().map(|(_, row)| row.0));
    let mut fields: Vec<_> = taken.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(ROW_COLUMN, DataType::UInt64, false)));
    let mut columns = taken.columns().to_vec();
    columns.push(Arc::new(numbers));
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).map_err(|error| from_datafusion(error.into()))
}

/// Some of the `rows`, in the order in which they are named.
pub(crate) fn take(rows: &RecordBatch, wanted: &[usize]) -> Result<RecordBatch, Error> {
    let wanted = UInt32Array::from_iter_values(wanted.iter().map(|row| *row as u32));
    take_record_batch(rows, &wanted).map_err(|error| from_datafusion(error.into()))
}

/// Rows of the same columns below each other; there must be at least one batch.
pub(crate) fn concat<'a>(batches: impl IntoIterator<Item = &'a RecordBatch>) -> Result<RecordBatch, Error> {
    let batches: Vec<&RecordBatch> = batches.into_iter().collect();
    let first = batches.first().ok_or_else(|| Error::internal("rows expected"))?;
    concat_batches(&first.schema(), batches.iter().copied()).map_err(|error| from_datafusion(error.into()))
}

/// The rows `wanted` of a snapshot, in the order in which they are given; the fields tell the types of the columns.
pub(crate) fn fetch_rows(snapshot: &Snapshot, wanted: &[RowId]) -> Result<RecordBatch, Error> {
    let pieces = snapshot.pieces();
    // Only chunks that have some of the rows.
    let mut used: Vec<&VisibleChunk> = Vec::new();
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut indices = Vec::with_capacity(wanted.len());
    for row in wanted {
        let found = snapshot.find(*row);
        let (place, offset) = found.ok_or_else(|| Error::internal(format!("row {row} is not in the snapshot")))?;
        let number = *numbers.entry(place).or_insert_with(|| {
            used.push(&pieces[place]);
            used.len() - 1
        });
        indices.push((number, offset));
    }
    let fields = snapshot.schema().arrow();
    let types = snapshot.schema().columns().iter().map(|column| column.column_type);
    let fields = fields.fields().iter().zip(types).map(|(field, column_type)| told_field(field, column_type));
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    let columns = (0..schema.fields().len()).map(|column| {
        let arrays: Vec<ArrayRef> = used.iter().map(|piece| piece.array(column, 0, piece.rows())).collect();
        if arrays.is_empty() {
            return Ok(new_empty_array(schema.field(column).data_type()));
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        interleave(&arrays, &indices)
    });
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| from_datafusion(error.into()))?;
    let options = RecordBatchOptions::new().with_row_count(Some(wanted.len()));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|error| from_datafusion(error.into()))
}
