//! Comparisons of decimals with a constant on the 64-bit integers that short decimals are stored as.
//!
//! They need no 128-bit copy of the column, which is what queries see of it.

use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::buffer::{BooleanBuffer, Buffer};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};

/// Some rows of a decimal column as they are stored.
pub(in crate::datafusion) struct Digits<'a> {
    pub(in crate::datafusion) values: &'a [i64],
    /// Bits of the rows that are not NULL, and the bit of the first row; `None` if none is NULL.
    pub(in crate::datafusion) valid: Option<(&'a [u8], usize)>,
}

/// `column <operator> constant`.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) column: usize,
    operator: Operator,
    constant: i64,
}

impl Comparison {
    /// `expr`, if it compares a decimal column with a constant of the same scale.
    pub(super) fn of(expr: &dyn PhysicalExpr, data_type: impl Fn(usize) -> DataType) -> Option<Self> {
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let column = binary.left().downcast_ref::<Column>()?;
        let literal = binary.right().downcast_ref::<Literal>()?;
        let DataType::Decimal128(_, scale) = data_type(column.index()) else {
            return None;
        };
        let ScalarValue::Decimal128(Some(constant), _, constant_scale) = literal.value() else {
            return None;
        };
        let ordinary = matches!(
            binary.op(),
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
        );
        if !ordinary || *constant_scale != scale {
            return None;
        }
        let constant = i64::try_from(*constant).ok()?;
        Some(Self { column: column.index(), operator: *binary.op(), constant })
    }

    /// Which rows satisfy it; NULL does not.
    pub(super) fn evaluate(&self, digits: &Digits<'_>) -> BooleanArray {
        let Digits { values, valid } = *digits;
        let rows = values.len();
        let constant = self.constant;
        let mask = match self.operator {
            Operator::Eq => BooleanBuffer::collect_bool(rows, |row| values[row] == constant),
            Operator::NotEq => BooleanBuffer::collect_bool(rows, |row| values[row] != constant),
            Operator::Lt => BooleanBuffer::collect_bool(rows, |row| values[row] < constant),
            Operator::LtEq => BooleanBuffer::collect_bool(rows, |row| values[row] <= constant),
            Operator::Gt => BooleanBuffer::collect_bool(rows, |row| values[row] > constant),
            _ => BooleanBuffer::collect_bool(rows, |row| values[row] >= constant),
        };
        let mask = match valid {
            Some((bits, offset)) => {
                let bytes = &bits[offset / 8..(offset + rows).div_ceil(8)];
                &mask & &BooleanBuffer::new(Buffer::from(bytes), offset % 8, rows)
            }
            None => mask,
        };
        BooleanArray::new(mask, None)
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
                let found = comparison.evaluate(&Digits { values: &values, valid: Some((&valid, offset)) });
                for (row, &value) in values.iter().enumerate() {
                    let bit = offset + row;
                    let expected = holds(value, 7) && valid[bit / 8] >> (bit % 8) & 1 == 1;
                    assert_eq!(found.value(row), expected, "{value} {operator} 7 at {bit}");
                }
            }
        }
    }
}
