//! Counts, sums, least and greatest values of few rows.
//!
//! Names and types are those that the planner gives them. Sums are of integers and decimals; least and greatest values of
//! what is stored as a whole number, or of the column that the index is ordered by, where one row is enough.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, SchemaRef};
use longshore_storage::{ColumnType, Relation, RowId, Schema, Transaction, TransactionError};
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::named_table::NamedTable;
use crate::sql::names;
use crate::transaction::row_arrays;

/// Digits by which a sum may be longer than what is summed up, and the most that there are.
const SUM_DIGITS: u8 = 10;
/// Digits of a BIGINT, whose sum is a decimal.
const BIGINT_DIGITS: u8 = 19;
const DIGITS_MAX: u8 = 38;

/// What is asked of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Aggregate {
    /// How many there are.
    Rows,
    /// How many have a value in the column.
    Count(usize),
    Sum(usize),
    Min(usize),
    Max(usize),
}

impl Aggregate {
    /// The aggregate that an expression is, and its name.
    pub(super) fn of(expr: &Expr, named: &NamedTable) -> Option<(Self, String)> {
        let Expr::Function(Function {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            filter: None,
            null_treatment: None,
            over: None,
            within_group,
        }) = expr
        else {
            return None;
        };
        let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else { return None };
        if !within_group.is_empty() || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            return None;
        }
        let function = names::relation(name).ok()?;
        let column = match argument {
            FunctionArgExpr::Wildcard if function == "count" => return Some((Self::Rows, function)),
            FunctionArgExpr::Expr(expr) => named.column(expr)?,
            _ => return None,
        };
        let aggregate = match function.as_str() {
            "count" => Self::Count(column),
            "sum" => Self::Sum(column),
            "min" => Self::Min(column),
            "max" => Self::Max(column),
            _ => return None,
        };
        Some((aggregate, function))
    }

    /// The type and the name of what it gives, if it can be evaluated over any rows.
    pub(super) fn field(self, name: String, schema: &Schema) -> Option<Field> {
        let column_type = |column: usize| schema.columns()[column].column_type;
        let whole = |column: usize| {
            !matches!(
                column_type(column),
                ColumnType::Real
                    | ColumnType::Double
                    | ColumnType::Boolean
                    | ColumnType::Bytea
                    | ColumnType::Numeric(_)
                    | ColumnType::TimeTz
                    | ColumnType::Interval
                    | ColumnType::Rounded(..)
                    | ColumnType::Json
                    | ColumnType::Jsonb
                    | ColumnType::Array(..)
                    | ColumnType::Char(_)
                    | ColumnType::Varchar(_)
                    | ColumnType::Text
                    | ColumnType::Uuid
            )
        };
        match self {
            Self::Rows | Self::Count(_) => Some(Field::new(name, DataType::Int64, false)),
            Self::Sum(column) => sum_type(column_type(column)).map(|data_type| Field::new(name, data_type, true)),
            Self::Min(column) | Self::Max(column) => whole(column).then(|| self.edge(name, schema)).flatten(),
        }
    }

    /// The same of a least or greatest value that the first row has.
    pub(super) fn edge(self, name: String, schema: &Schema) -> Option<Field> {
        match self {
            Self::Min(column) | Self::Max(column) => {
                Some(Field::new(name, schema.columns()[column].column_type.arrow(), true))
            }
            Self::Rows | Self::Count(_) | Self::Sum(_) => None,
        }
    }
}

fn sum_type(column_type: ColumnType) -> Option<DataType> {
    match column_type {
        ColumnType::SmallInt | ColumnType::Integer => Some(DataType::Int64),
        ColumnType::BigInt => Some(DataType::Decimal128(BIGINT_DIGITS + SUM_DIGITS, 0)),
        ColumnType::Decimal { precision, scale } => {
            Some(DataType::Decimal128(DIGITS_MAX.min(precision + SUM_DIGITS), scale as i8))
        }
        _ => None,
    }
}

/// The aggregates of some rows as a batch; `None` where a sum is too large.
pub(super) fn evaluate(
    transaction: &mut Transaction,
    relation: &Relation,
    found: &[RowId],
    aggregates: &[Aggregate],
    schema: &SchemaRef,
) -> Result<Option<RecordBatch>, TransactionError> {
    let mut arrays = Vec::with_capacity(aggregates.len());
    for (aggregate, field) in aggregates.iter().zip(schema.fields()) {
        match one(transaction, relation, found, *aggregate, field.data_type())? {
            Some(array) => arrays.push(array),
            None => return Ok(None),
        }
    }
    Ok(Some(row_arrays::batch(arrays, 1, schema)))
}

fn one(
    transaction: &mut Transaction,
    relation: &Relation,
    found: &[RowId],
    aggregate: Aggregate,
    data_type: &DataType,
) -> Result<Option<ArrayRef>, TransactionError> {
    let count = |count: usize| Arc::new(Int64Array::from_value(count as i64, 1));
    Ok(match aggregate {
        Aggregate::Rows => Some(count(found.len())),
        Aggregate::Count(column) => {
            let values = row_arrays::values(transaction, relation, found, column)?;
            Some(count(values.len() - values.logical_null_count()))
        }
        Aggregate::Sum(column) => {
            let mut sum = None;
            for row in found {
                let value = transaction.get_datum(relation, *row, column, row_arrays::integer)?;
                match (sum, value) {
                    (_, None) => {}
                    (None, value) => sum = value,
                    (Some(before), Some(value)) => match before.checked_add(value) {
                        None => return Ok(None),
                        after => sum = after,
                    },
                }
            }
            sum_array(sum, data_type)
        }
        Aggregate::Min(column) | Aggregate::Max(column) => {
            let row = match found {
                [row] => Some(*row),
                rows => extreme(transaction, relation, rows, column, matches!(aggregate, Aggregate::Max(_)))?,
            };
            Some(match row {
                Some(row) => row_arrays::values(transaction, relation, &[row], column)?,
                None => new_null_array(data_type, 1),
            })
        }
    })
}

fn sum_array(sum: Option<i128>, data_type: &DataType) -> Option<ArrayRef> {
    Some(match (sum, data_type) {
        (None, _) => new_null_array(data_type, 1),
        (Some(sum), DataType::Int64) => Arc::new(Int64Array::from_value(i64::try_from(sum).ok()?, 1)),
        (Some(sum), _) if sum.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()) => {
            Arc::new(Decimal128Array::from_value(sum, 1).with_data_type(data_type.clone()))
        }
        _ => return None,
    })
}

/// The row with the least value of a column, or the greatest; NULL is neither.
fn extreme(
    transaction: &mut Transaction,
    relation: &Relation,
    rows: &[RowId],
    column: usize,
    is_max: bool,
) -> Result<Option<RowId>, TransactionError> {
    let mut best: Option<(i128, RowId)> = None;
    for row in rows {
        let Some(value) = transaction.get_datum(relation, *row, column, row_arrays::integer)? else { continue };
        if best.is_none_or(|(before, _)| if is_max { value > before } else { value < before }) {
            best = Some((value, *row));
        }
    }
    Ok(best.map(|(_, row)| row))
}
