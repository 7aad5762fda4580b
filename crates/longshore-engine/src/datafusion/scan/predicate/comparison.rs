//! Comparisons of a column with a constant on the values as they are stored: no array is made of the column.
//!
//! On a packed column the constant becomes a code, and codes are compared (the thesis, 7.3). Of plain columns these are the
//! decimals that are stored as 64-bit integers, of which queries see 128-bit copies.

use std::ops::{Bound, Range};

use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::buffer::{BooleanBuffer, Buffer};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use longshore_storage::{PackedColumn, Wanted};

/// Some rows of a column as they are stored.
pub(in crate::datafusion) struct StoredRows<'a> {
    pub(in crate::datafusion) values: StoredValues<'a>,
    /// Bits of the rows that are not NULL, and the bit of the first row; `None` if none is NULL.
    pub(in crate::datafusion) valid: Option<(&'a [u8], usize)>,
}

/// Their values.
pub(in crate::datafusion) enum StoredValues<'a> {
    /// 64-bit integers, one after the other.
    Plain(&'a [i64]),
    /// These rows of a packed column.
    Packed(&'a PackedColumn, Range<usize>),
}

/// `column <operator> constant`.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) column: usize,
    operator: Operator,
    constant: Constant,
}

/// What a column is compared with, of its own type.
#[derive(Debug)]
enum Constant {
    /// Of a decimal its digits, of a date or time its days or microseconds.
    Whole(i128),
    Text(Vec<u8>),
}

impl Constant {
    /// A literal of the type of the column, whose values are stored as whole numbers or texts.
    fn of(literal: &ScalarValue, column: &DataType) -> Option<Constant> {
        if literal.data_type() != *column && !matches!(literal, ScalarValue::Decimal128(..)) {
            return None;
        }
        Some(match (literal, column) {
            (ScalarValue::Boolean(value), _) => Constant::Whole((*value)?.into()),
            (ScalarValue::Int16(value), _) => Constant::Whole((*value)?.into()),
            (ScalarValue::Int32(value) | ScalarValue::Date32(value), _) => Constant::Whole((*value)?.into()),
            (
                ScalarValue::Int64(value)
                | ScalarValue::Time64Microsecond(value)
                | ScalarValue::TimestampMicrosecond(value, _),
                _,
            ) => Constant::Whole((*value)?.into()),
            (ScalarValue::Decimal128(value, _, scale), DataType::Decimal128(_, column_scale))
                if scale == column_scale =>
            {
                Constant::Whole((*value)?)
            }
            (ScalarValue::Utf8View(value), _) => Constant::Text(value.as_ref()?.as_bytes().to_vec()),
            (ScalarValue::BinaryView(value), _) => Constant::Text(value.clone()?),
            _ => return None,
        })
    }
}

impl Comparison {
    /// `expr`, if it compares a column with a constant of the same type.
    pub(super) fn of(expr: &dyn PhysicalExpr, data_type: impl Fn(usize) -> DataType) -> Option<Self> {
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let column = binary.left().downcast_ref::<Column>()?;
        let literal = binary.right().downcast_ref::<Literal>()?;
        let ordinary = matches!(
            binary.op(),
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
        );
        if !ordinary {
            return None;
        }
        let constant = Constant::of(literal.value(), &data_type(column.index()))?;
        Some(Self { column: column.index(), operator: *binary.op(), constant })
    }

    /// Which rows satisfy it; NULL does not. `None` if it cannot be told from what is stored.
    pub(super) fn evaluate(&self, stored: &StoredRows<'_>) -> Option<BooleanArray> {
        let mask = match (&stored.values, &self.constant) {
            (StoredValues::Plain(values), Constant::Whole(constant)) => {
                self.compare(values, i64::try_from(*constant).ok()?)
            }
            (StoredValues::Plain(_), Constant::Text(_)) => return None,
            (StoredValues::Packed(column, rows), _) => self.select(column, rows.clone()),
        };
        let rows = mask.len();
        let mask = match stored.valid {
            Some((bits, offset)) => {
                let bytes = &bits[offset / 8..(offset + rows).div_ceil(8)];
                &mask & &BooleanBuffer::new(Buffer::from(bytes), offset % 8, rows)
            }
            None => mask,
        };
        Some(BooleanArray::new(mask, None))
    }

    fn compare(&self, values: &[i64], constant: i64) -> BooleanBuffer {
        let rows = values.len();
        match self.operator {
            Operator::Eq => BooleanBuffer::collect_bool(rows, |row| values[row] == constant),
            Operator::NotEq => BooleanBuffer::collect_bool(rows, |row| values[row] != constant),
            Operator::Lt => BooleanBuffer::collect_bool(rows, |row| values[row] < constant),
            Operator::LtEq => BooleanBuffer::collect_bool(rows, |row| values[row] <= constant),
            Operator::Gt => BooleanBuffer::collect_bool(rows, |row| values[row] > constant),
            _ => BooleanBuffer::collect_bool(rows, |row| values[row] >= constant),
        }
    }

    fn select(&self, column: &PackedColumn, rows: Range<usize>) -> BooleanBuffer {
        let count = rows.len();
        let wanted = match &self.constant {
            Constant::Whole(constant) => {
                let (least, greatest) = match self.operator {
                    Operator::Eq | Operator::NotEq => (Some(*constant), Some(*constant)),
                    Operator::Lt => (Some(i128::MIN), constant.checked_sub(1)),
                    Operator::LtEq => (Some(i128::MIN), Some(*constant)),
                    Operator::Gt => (constant.checked_add(1), Some(i128::MAX)),
                    _ => (Some(*constant), Some(i128::MAX)),
                };
                let (Some(least), Some(greatest)) = (least, greatest) else { return BooleanBuffer::new_unset(count) };
                Wanted::Whole(least, greatest)
            }
            Constant::Text(text) => match self.operator {
                Operator::Eq | Operator::NotEq => Wanted::Text(Bound::Included(text), Bound::Included(text)),
                Operator::Lt => Wanted::Text(Bound::Unbounded, Bound::Excluded(text)),
                Operator::LtEq => Wanted::Text(Bound::Unbounded, Bound::Included(text)),
                Operator::Gt => Wanted::Text(Bound::Excluded(text), Bound::Unbounded),
                _ => Wanted::Text(Bound::Included(text), Bound::Unbounded),
            },
        };
        let selected = match column.select(rows, wanted) {
            None => BooleanBuffer::new_set(count),
            Some(words) => BooleanBuffer::new(Buffer::from_vec(words), 0, count),
        };
        if self.operator == Operator::NotEq { !&selected } else { selected }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_operator_compares_and_null_is_no() {
        let values: Vec<i64> = (-50..50).collect();
        let valid: Vec<u8> = vec![0b0101_1011; 16];
        for (operator, holds) in [
            (Operator::Eq, (|a, b| a == b) as fn(i64, i64) -> bool),
            (Operator::NotEq, |a, b| a != b),
            (Operator::Lt, |a, b| a < b),
            (Operator::LtEq, |a, b| a <= b),
            (Operator::Gt, |a, b| a > b),
            (Operator::GtEq, |a, b| a >= b),
        ] {
            let literal = Literal::new(ScalarValue::Decimal128(Some(7), 15, 2));
            let expr = BinaryExpr::new(Arc::new(Column::new("d", 3)), operator, Arc::new(literal));
            let comparison = Comparison::of(&expr, |_| DataType::Decimal128(15, 2)).expect("it is one");
            assert_eq!(comparison.column, 3);
            assert!(Comparison::of(&expr, |_| DataType::Decimal128(15, 3)).is_none());
            for offset in [0, 3, 11] {
                let stored = StoredRows { values: StoredValues::Plain(&values), valid: Some((&valid, offset)) };
                let found = comparison.evaluate(&stored).expect("they are whole numbers");
                for (row, &value) in values.iter().enumerate() {
                    let bit = offset + row;
                    let expected = holds(value, 7) && valid[bit / 8] >> (bit % 8) & 1 == 1;
                    assert_eq!(found.value(row), expected, "{value} {operator} 7 at {bit}");
                }
            }
        }
    }
}
