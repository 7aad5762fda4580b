//! What the optimizer learns of a table: row counts, null counts, bounds and sizes, as gathered by the load, and about how
//! many distinct values the columns have that a query reads.
//!
//! A snapshot never changes, so its counts are exact, and so are bounds that are values of the column; from them
//! `count(*)`, `min` and `max` are answered without a scan. Counts of distinct values are estimates: joins are planned by
//! them, and nothing is answered from them.

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use longshore_storage::{ColumnStatistics as Gathered, Snapshot, Value};

/// Part of the rows that a predicate is assumed to keep, in percent; `DataFusion` assumes the same of its filters.
const SELECTIVITY_PERCENT: usize = 20;

/// Columns of a scan up to which distinct values are counted: who reads more of them waits for the data, not for its plan.
const COUNTED_COLUMNS_MAX: usize = 64;

/// Which bound is meant.
#[derive(Clone, Copy)]
pub(in crate::datafusion) enum Side {
    Min,
    Max,
}

/// A bound of a column's values.
pub(in crate::datafusion) struct Bound {
    pub(in crate::datafusion) value: ScalarValue,
    /// Whether it is a value of the column.
    pub(in crate::datafusion) reached: bool,
}

/// A bound as a value of the Arrow type `data_type`, if it is known.
pub(in crate::datafusion) fn bound(gathered: &Gathered, side: Side, data_type: &DataType) -> Option<Bound> {
    let value = match side {
        Side::Min => gathered.min.as_ref(),
        Side::Max => gathered.max.as_ref(),
    }?;
    let value = scalar(value, data_type)?;
    Some(Bound { value, reached: gathered.exact })
}

fn scalar(value: &Value, data_type: &DataType) -> Option<ScalarValue> {
    Some(match (value, data_type) {
        (Value::Boolean(value), DataType::Boolean) => ScalarValue::Boolean(Some(*value)),
        (Value::Integer(value), DataType::Int16) => ScalarValue::Int16(Some(i16::try_from(*value).ok()?)),
        (Value::Integer(value), DataType::Int32) => ScalarValue::Int32(Some(i32::try_from(*value).ok()?)),
        (Value::Integer(value), DataType::Int64) => ScalarValue::Int64(Some(*value)),
        (Value::Integer(value), DataType::Date32) => ScalarValue::Date32(Some(i32::try_from(*value).ok()?)),
        (Value::Integer(value), DataType::Time64(_)) => ScalarValue::Time64Microsecond(Some(*value)),
        (Value::Integer(value), DataType::Timestamp(_, zone)) => {
            ScalarValue::TimestampMicrosecond(Some(*value), zone.clone())
        }
        (Value::Decimal(value), DataType::Decimal128(precision, scale)) => {
            ScalarValue::Decimal128(Some(*value), *precision, *scale)
        }
        (Value::Float(value), DataType::Float32) => ScalarValue::Float32(Some(*value as f32)),
        (Value::Float(value), DataType::Float64) => ScalarValue::Float64(Some(*value)),
        (Value::Uuid(value), DataType::Utf8View) => ScalarValue::Utf8View(Some(value.to_string())),
        (Value::Text(value), DataType::Utf8View) => ScalarValue::Utf8View(Some(value.clone())),
        (Value::Bytes(value), DataType::BinaryView) => ScalarValue::BinaryView(Some(value.clone())),
        _ => return None,
    })
}

/// What is known of all columns of a snapshot of a table with the schema `table`.
pub(in crate::datafusion) fn of_snapshot(snapshot: &Snapshot, table: &SchemaRef) -> Statistics {
    let rows = snapshot.rows() as usize;
    let text_width = 16 + text_bytes(snapshot, table);
    let columns = table.fields().iter().enumerate().map(|(index, field)| {
        let data_type = field.data_type();
        if index >= snapshot.schema().columns().len() {
            // The numbers of rows.
            return ColumnStatistics::new_unknown();
        }
        let gathered = snapshot.statistics(index);
        let width = match data_type {
            DataType::Utf8View | DataType::BinaryView => text_width,
            other => other.primitive_width().unwrap_or(1),
        };
        let known = |side| match bound(&gathered, side, data_type) {
            Some(bound) if bound.reached => Precision::Exact(bound.value),
            Some(bound) => Precision::Inexact(bound.value),
            None => Precision::Absent,
        };
        ColumnStatistics::new_unknown()
            .with_null_count(Precision::Exact(gathered.null_count as usize))
            .with_min_value(known(Side::Min))
            .with_max_value(known(Side::Max))
            .with_byte_size(Precision::Inexact(rows * width))
    });
    with_columns(Precision::Exact(rows), columns.collect())
}

/// What is known of the columns `projection` of a snapshot of which `whole` is known.
pub(in crate::datafusion) fn project(whole: &Statistics, snapshot: &Snapshot, projection: &[usize]) -> Statistics {
    let stored = snapshot.schema().columns().len();
    let columns = projection.iter().map(|&index| {
        let known = whole.column_statistics[index].clone();
        if index >= stored || projection.len() > COUNTED_COLUMNS_MAX {
            return known;
        }
        known.with_distinct_count(Precision::Inexact(snapshot.distinct_count(index) as usize))
    });
    with_columns(whole.num_rows, columns.collect())
}

fn with_columns(num_rows: Precision<usize>, columns: Vec<ColumnStatistics>) -> Statistics {
    let bytes = columns.iter().filter_map(|column| column.byte_size.get_value()).sum();
    Statistics { num_rows, total_byte_size: Precision::Inexact(bytes), column_statistics: columns }
}

/// Bytes of long texts per row and text column, on average over the table.
fn text_bytes(snapshot: &Snapshot, table: &SchemaRef) -> usize {
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8View | DataType::BinaryView);
    let columns = table.fields().iter().filter(|field| is_text(field.data_type())).count();
    let bytes: usize = snapshot.pieces().iter().map(|piece| piece.chunk().text_bytes()).sum();
    bytes.checked_div(columns * snapshot.rows() as usize).unwrap_or(0)
}

/// What is known of the rows that a scan returns of a `whole`, with a predicate or a limit in it.
///
/// `share` is the number of workers when the statistics of one are asked for: nobody knows which rows it will take.
pub(in crate::datafusion) fn of_scan(
    whole: Statistics,
    filtered: bool,
    fetch: Option<usize>,
    share: Option<usize>,
) -> Statistics {
    let mut rows = match whole.num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => rows,
        Precision::Absent => return whole,
    };
    let all = rows;
    if filtered {
        rows = (rows * SELECTIVITY_PERCENT).div_ceil(100);
    }
    if let Some(fetch) = fetch {
        rows = rows.min(fetch);
    }
    if let Some(workers) = share {
        rows = rows.div_ceil(workers);
    }
    if rows == all && !filtered && share.is_none() {
        return whole;
    }
    let mut statistics = whole.to_inexact();
    statistics.num_rows = Precision::Inexact(rows);
    let part = |bytes: usize| (bytes as u128 * rows as u128).checked_div(all as u128).unwrap_or(0) as usize;
    statistics.total_byte_size = statistics.total_byte_size.map(part);
    for column in &mut statistics.column_statistics {
        column.null_count = column.null_count.map(part);
        column.distinct_count = column.distinct_count.map(|count| count.min(rows));
        column.byte_size = column.byte_size.map(part);
    }
    statistics
}
