//! What a load of lineitem must find, and what it found.
//!
//! The sums come from the generator's values on one side and from Arrow arrays on the other; the text is between
//! them, so a wrong digit anywhere shows.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use longshore_storage::Snapshot;
use serde_json::{Value, json};
use tpchgen::generators::LineItem;

use crate::Failure;

/// Columns of lineitem.
pub(crate) const COLUMNS: usize = 16;

/// Rows at a time when a relation is read back.
const BATCH_ROWS: usize = 8_192;

/// Number of rows, and per column the sum of its values, of cents for decimals, of days since 1970 for dates, of
/// bytes for strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    rows: u64,
    sums: [i128; COLUMNS],
}

impl Facts {
    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row as it was generated.
    pub(crate) fn add(&mut self, row: &LineItem<'_>) {
        self.rows += 1;
        let values = [
            row.l_orderkey,
            row.l_partkey,
            row.l_suppkey,
            i64::from(row.l_linenumber),
            row.l_quantity * 100,
            row.l_extendedprice.0,
            row.l_discount.0,
            row.l_tax.0,
            row.l_returnflag.len() as i64,
            row.l_linestatus.len() as i64,
            i64::from(row.l_shipdate.to_unix_epoch()),
            i64::from(row.l_commitdate.to_unix_epoch()),
            i64::from(row.l_receiptdate.to_unix_epoch()),
            row.l_shipinstruct.len() as i64,
            row.l_shipmode.len() as i64,
            row.l_comment.len() as i64,
        ];
        for (sum, value) in self.sums.iter_mut().zip(values) {
            *sum += i128::from(value);
        }
    }

    /// Adds rows as they were read: an aggregate that touches every value of every column.
    ///
    /// # Errors
    ///
    /// When the batch is not one of lineitem, or has a NULL.
    pub(crate) fn add_batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        if batch.num_columns() != COLUMNS {
            return Err(format!("{} columns where {COLUMNS} are right", batch.num_columns()).into());
        }
        self.rows += batch.num_rows() as u64;
        for (sum, column) in self.sums.iter_mut().zip(batch.columns()) {
            *sum += column_sum(column.as_ref())?;
        }
        Ok(())
    }

    /// Facts of a relation of lineitem.
    ///
    /// # Errors
    ///
    /// As [`Facts::add_batch`].
    pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        let columns: Vec<usize> = (0..COLUMNS).collect();
        for chunk in snapshot.chunks() {
            for offset in (0..chunk.rows()).step_by(BATCH_ROWS) {
                let rows = BATCH_ROWS.min(chunk.rows() - offset);
                facts.add_batch(&chunk.batch(&columns, offset, rows))?;
            }
        }
        Ok(facts)
    }

    /// Adds what another worker found.
    pub(crate) fn merge(&mut self, other: &Facts) {
        self.rows += other.rows;
        for (sum, value) in self.sums.iter_mut().zip(other.sums) {
            *sum += value;
        }
    }

    /// The same facts of a text whose values of one column are `factor` times as large.
    pub(crate) fn times(mut self, column: usize, factor: i128) -> Facts {
        self.sums[column] *= factor;
        self
    }

    /// The same facts of a text whose values of one column add up to so much more.
    pub(crate) fn plus(mut self, column: usize, more: u64) -> Facts {
        self.sums[column] += i128::from(more);
        self
    }

    /// Compares with what a workload found, before anyone looks at its time.
    ///
    /// # Errors
    ///
    /// Names the first difference.
    pub(crate) fn check(&self, found: &Facts) -> Result<(), Failure> {
        if self.rows != found.rows {
            return Err(format!("{} rows where {} are right", found.rows, self.rows).into());
        }
        for (column, (right, sum)) in self.sums.iter().zip(found.sums).enumerate() {
            if *right != sum {
                return Err(format!("column {column} sums to {sum} where {right} is right").into());
            }
        }
        Ok(())
    }

    /// The facts as they are kept beside the text.
    pub(crate) fn to_json(&self) -> Value {
        let sums: Vec<String> = self.sums.iter().map(ToString::to_string).collect();
        json!({ "rows": self.rows, "sums": sums })
    }

    /// Reads what [`Facts::to_json`] wrote.
    pub(crate) fn from_json(value: &Value) -> Option<Facts> {
        let mut facts = Facts { rows: value["rows"].as_u64()?, ..Facts::default() };
        let sums = value["sums"].as_array()?;
        for (sum, value) in facts.sums.iter_mut().zip(sums) {
            *sum = value.as_str()?.parse().ok()?;
        }
        (sums.len() == COLUMNS).then_some(facts)
    }
}

fn column_sum(column: &dyn Array) -> Result<i128, Failure> {
    if column.null_count() > 0 {
        return Err("lineitem has no NULL, this column has".into());
    }
    Ok(match column.data_type() {
        DataType::Int32 => sum(column.as_primitive::<Int32Type>().values()),
        DataType::Int64 => sum(column.as_primitive::<Int64Type>().values()),
        DataType::Date32 => sum(column.as_primitive::<Date32Type>().values()),
        DataType::Decimal128(_, 2) => column.as_primitive::<Decimal128Type>().values().iter().sum(),
        // The length stands in the low 32 bits of a view.
        DataType::Utf8View => column.as_string_view().views().iter().map(|view| i128::from(*view as u32)).sum(),
        other => return Err(format!("lineitem has no column of type {other}").into()),
    })
}

/// Sums in 64 bits: a batch is too short for them to overflow with the values of lineitem.
fn sum<T: Copy + Into<i64>>(values: &[T]) -> i128 {
    i128::from(values.iter().map(|&value| value.into()).sum::<i64>())
}
