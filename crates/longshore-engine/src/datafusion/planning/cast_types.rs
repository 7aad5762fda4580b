//! Casts that do not exist are refused, as PostgreSQL refuses them: a truth value becomes no BIGINT, and a date no array. Fewer
//! casts than can be written are made of values that are assigned to columns.
//!
//! What there is is PostgreSQL's `pg_cast`: what a value becomes by itself, what it becomes when it is assigned, any value as a
//! text, and what else can be written. Not here: literals without a type and parameters, which take the type that is asked for;
//! making the values (`functions::casts`, `dml`).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, ExprSchemable};
use sqlparser::ast::BinaryOperator;

use super::kinds::{Kind, becomes, element, kind, type_of_operand};
use crate::datafusion::errors::external;
use crate::datafusion::type_name::type_name;
use crate::sql::assigned::ASSIGNED;
use crate::{Error, ErrorKind};

/// Looks at the values that are marked as assigned to columns.
#[derive(Debug)]
pub(in crate::datafusion) struct AssignedTypes;

impl ExprPlanner for AssignedTypes {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let BinaryOperator::PGCustomBinaryOperator(names) = &expr.op else { return Ok(PlannerResult::Original(expr)) };
        let [mark, column] = names.as_slice() else { return Ok(PlannerResult::Original(expr)) };
        if mark != ASSIGNED {
            return Ok(PlannerResult::Original(expr));
        }
        if let Some(known) = type_of_operand(&expr.left, schema) {
            check_assigned(&known, &expr.right.get_type(schema)?, column)?;
        }
        Ok(PlannerResult::Planned(expr.left))
    }
}

/// Refuses values of the type `from` for a column `column` of the type `to`.
pub(super) fn check_assigned(from: &DataType, to: &DataType, column: &str) -> Result<()> {
    if is_taken(from, to) {
        return Ok(());
    }
    let (from, to) = (type_name(from), type_name(to));
    let message = format!("column \"{column}\" is of type {to} but expression is of type {from}: it needs a cast");
    Err(external(Error::new(ErrorKind::TypeMismatch, message)))
}

/// Refuses a cast that is written, if there is none from the type of its operand.
pub(super) fn check_written(cast: &Cast, schema: &DFSchema) -> Result<()> {
    let Some(from) = type_of_operand(&cast.expr, schema) else { return Ok(()) };
    let to = cast.field.data_type();
    if becomes_written(&from, to) {
        return Ok(());
    }
    let message = format!("cannot cast type {} to {}", type_name(&from), type_name(to));
    Err(external(Error::new(ErrorKind::Coded("42846"), message)))
}

/// Whether a value becomes one of the other type if a cast says so; also where nothing is known of the types.
fn becomes_written(from: &DataType, to: &DataType) -> bool {
    let (Some(from_kind), Some(to_kind)) = (kind(from), kind(to)) else { return true };
    match (from, to) {
        (DataType::List(_), DataType::List(_)) => match (element(from), element(to)) {
            (Some(from), Some(to)) => becomes_assigned(from, to) || from == Kind::Text,
            _ => true,
        },
        (DataType::Int32, DataType::Boolean) | (DataType::Boolean, DataType::Int32) => true,
        _ => {
            use Kind::{BigInt, Boolean, Float, Integer, Jsonb, Numeric, Text};
            let is_of_jsonb = from_kind == Jsonb && matches!(to_kind, Boolean | Integer | BigInt | Numeric | Float);
            becomes_assigned(from_kind, to_kind) || from_kind == Text || is_of_jsonb
        }
    }
}

/// Whether a column takes values of a type; also where nothing is known of the types.
fn is_taken(from: &DataType, to: &DataType) -> bool {
    match (kind(from), kind(to)) {
        (Some(Kind::Array), Some(Kind::Array)) => match (element(from), element(to)) {
            (Some(from), Some(to)) => becomes_assigned(from, to),
            _ => true,
        },
        (Some(from), Some(to)) => becomes_assigned(from, to),
        _ => true,
    }
}

/// Whether a value becomes one of the other kind when it is assigned.
fn becomes_assigned(from: Kind, to: Kind) -> bool {
    use Kind::{
        BigInt, Date, Float, Integer, Interval, Json, Jsonb, Numeric, Text, Time, TimeTz, Timestamp, TimestampTz,
    };
    becomes(from, to)
        || to == Text
        || matches!(
            (from, to),
            (BigInt | Numeric | Float, Integer | BigInt | Numeric)
                | (Timestamp, Date | Time)
                | (TimestampTz, Date | Time | TimeTz | Timestamp)
                | (TimeTz | Interval, Time)
                | (Json, Jsonb)
                | (Jsonb, Json)
        )
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn casts_exist_that_postgresql_has() {
        let of = |element: DataType| DataType::new_list(element, true);
        for (from, to, expected) in [
            (DataType::Boolean, DataType::Int32, true),
            (DataType::Boolean, DataType::Int64, false),
            (DataType::Int16, DataType::Boolean, false),
            (DataType::Int64, DataType::BinaryView, false),
            (DataType::Utf8View, DataType::Date32, true),
            (DataType::Date32, of(DataType::Int32), false),
            (of(DataType::Utf8View), of(DataType::Int32), true),
            (of(DataType::Boolean), of(DataType::Int64), false),
            (DataType::Decimal128(9, 2), DataType::Date32, false),
        ] {
            assert_eq!(becomes_written(&from, &to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn columns_take_what_postgresql_assigns_to_them() {
        let (int, float, text) = (DataType::Int32, DataType::Float64, DataType::Utf8View);
        let (stamp, date) = (DataType::Timestamp(TimeUnit::Microsecond, None), DataType::Date32);
        let of = |element: &DataType| DataType::new_list(element.clone(), true);
        for (from, to, expected) in [
            (&int, &float, true),
            (&float, &DataType::Int16, true),
            (&DataType::Boolean, &int, false),
            (&int, &DataType::Boolean, false),
            (&int, &text, true),
            (&text, &int, false),
            (&stamp, &date, true),
            (&date, &DataType::Time64(TimeUnit::Microsecond), false),
            (&date, &of(&int), false),
            (&of(&float), &of(&int), true),
            (&of(&text), &of(&int), false),
            (&of(&int), &text, true),
            (&text, &DataType::BinaryView, false),
        ] {
            assert_eq!(is_taken(from, to), expected, "{from} to {to}");
            let told = check_assigned(from, to, "c").map_err(|error| error.to_string());
            assert_eq!(told.is_ok(), expected, "{told:?}");
        }
    }
}
