//! Operators of types that have no such operator are refused, as PostgreSQL refuses them: an array is no number beside a
//! truth value, and a number no text.
//!
//! What there is is PostgreSQL's `pg_operator`, and what a value becomes by itself its `pg_cast`. Literals without a type and
//! parameters take the type of the other side. UUIDs and the values of ENUM types are texts to Arrow, and to this check.
//! Not here: what the operators do (`functions`).

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::{Between, Case, InSubquery, Placeholder, WindowFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use sqlparser::ast::BinaryOperator;

use super::kinds::{Kind, becomes, element, kind, type_of_operand, unite};
use super::origin::column_of_known_type;
use crate::datafusion::errors::external;
use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::no_function;
use crate::datafusion::functions::shifted::COMPUTED;
use crate::datafusion::type_name::type_name;
use crate::sql::arrays::{ALL_OF, ANY_OF};
use crate::sql::numbers::{DISTINCT, NOT_DISTINCT};
use crate::{Error, ErrorKind};

/// Refuses operators that do not exist, before others plan them.
#[derive(Debug)]
pub(in crate::datafusion) struct OperatorTypes;

impl ExprPlanner for OperatorTypes {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        give_type(&mut expr.right, &expr.op, &expr.left, schema);
        give_type(&mut expr.left, &expr.op, &expr.right, schema);
        check(&expr.left, &expr.op, &expr.right, schema)?;
        Ok(PlannerResult::Original(expr))
    }
}

/// Gives a parameter without a type the one that it has beside the operand `other`, where it would not be found.
fn give_type(parameter: &mut Expr, op: &BinaryOperator, other: &Expr, schema: &DFSchema) {
    let Expr::Placeholder(Placeholder { field: field @ None, .. }) = parameter else { return };
    let Some(known) = type_of_operand(other, schema) else { return };
    let is_own = matches!(kind(&known), Some(Jsonb | Bytes | Array));
    let data_type = match op {
        BinaryOperator::StringConcat if is_own => known,
        BinaryOperator::StringConcat => DataType::Utf8View,
        BinaryOperator::HashArrow
        | BinaryOperator::HashLongArrow
        | BinaryOperator::HashMinus
        | BinaryOperator::QuestionAnd
        | BinaryOperator::QuestionPipe => list_of(DataType::Utf8View),
        op if kind(&known) == Some(Jsonb) && operands_of(op).is_some_and(Operands::are_of_jsonb) => known,
        _ => return,
    };
    *field = Some(Arc::new(Field::new("parameter", data_type, true)));
}

/// Refuses comparisons that are not written as such, of which `part` may be one.
pub(super) fn check_part(part: &Expr, schema: &DFSchema) -> Result<()> {
    match part {
        Expr::InList(list) => {
            list.list.iter().try_for_each(|item| check(&list.expr, &BinaryOperator::Eq, item, schema))
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. }) => {
            let is_known = column_of_known_type(&subquery.subquery, 0).is_some();
            let Some(left) = type_of_operand(expr, schema).filter(|_| is_known) else { return Ok(()) };
            check_types(&left, &BinaryOperator::Eq, subquery.subquery.schema().field(0).data_type())
        }
        Expr::Between(Between { expr, low, high, .. }) => {
            check(expr, &BinaryOperator::GtEq, low, schema)?;
            check(expr, &BinaryOperator::LtEq, high, schema)
        }
        Expr::Like(like) => check(&like.expr, &BinaryOperator::PGLikeMatch, &like.pattern, schema),
        Expr::WindowFunction(call) => check_default(call, schema),
        Expr::ScalarFunction(call) if [ANY_OF, ALL_OF].contains(&call.func.name()) => {
            let [_, value, array] = call.args.as_slice() else { return Ok(()) };
            match (type_of_operand(value, schema), type_of_operand(array, schema)) {
                (Some(value), Some(DataType::List(item)))
                    if !item.data_type().is_null() && !matches!(item.data_type(), DataType::List(_)) =>
                {
                    check_types(&value, &BinaryOperator::Eq, item.data_type())
                }
                _ => Ok(()),
            }
        }
        Expr::Case(Case { expr: None, when_then_expr, .. }) => {
            when_then_expr.iter().try_for_each(|(when, _)| check_truth(when, "CASE/WHEN", schema))
        }
        Expr::AggregateFunction(call) => {
            call.params.filter.iter().try_for_each(|filter| check_truth(filter, "FILTER", schema))
        }
        _ => Ok(()),
    }
}

/// Refuses `lag` and `lead` of a value and a default that have no type in common.
fn check_default(call: &WindowFunction, schema: &DFSchema) -> Result<()> {
    let name = call.fun.name().trim_end_matches(COMPUTED);
    let ([value, offset, default], "lag" | "lead") = (call.params.args.as_slice(), name) else { return Ok(()) };
    let (Some(of_value), Some(of_default)) = (type_of_operand(value, schema), type_of_operand(default, schema)) else {
        return Ok(());
    };
    let meet = match (kind(&of_value), kind(&of_default)) {
        (Some(Array), Some(Array)) => unite(element(&of_value), element(&of_default)),
        (one, other) => unite(one, other),
    };
    if meet { Ok(()) } else { Err(no_function(name, &[of_value, offset.get_type(schema)?, of_default])) }
}

/// Refuses what is no truth value where one must stand.
fn check_truth(expr: &Expr, place: &str, schema: &DFSchema) -> Result<()> {
    let Some(known) = type_of_operand(expr, schema).filter(|known| kind(known).is_some_and(|kind| kind != Boolean))
    else {
        return Ok(());
    };
    let message = format!("argument of {place} must be type boolean, not type {}", type_name(&known));
    Err(external(Error::new(ErrorKind::TypeMismatch, message)))
}

fn check(left: &Expr, op: &BinaryOperator, right: &Expr, schema: &DFSchema) -> Result<()> {
    let op = compared(op);
    if let BinaryOperator::And | BinaryOperator::Or = op {
        return [left, right].into_iter().try_for_each(|side| check_truth(side, &op.to_string(), schema));
    }
    let Some(operands) = operands_of(op) else { return Ok(()) };
    match (type_of_operand(left, schema), type_of_operand(right, schema)) {
        (Some(left), Some(right)) => check_types(&left, op, &right),
        (Some(known), None) if is_literal(right) && !may_be(operands, &known, |(left, _)| *left) => {
            Err(missing(&type_name(&known), op, "unknown"))
        }
        (None, Some(known)) if is_literal(left) && !may_be(operands, &known, |(_, right)| *right) => {
            Err(missing("unknown", op, &type_name(&known)))
        }
        _ => Ok(()),
    }
}

fn check_types(left: &DataType, op: &BinaryOperator, right: &DataType) -> Result<()> {
    if operands_of(op).is_none_or(|operands| exists(operands, left, right)) {
        return Ok(());
    }
    Err(missing(&type_name(left), op, &type_name(right)))
}

fn missing(left: &str, op: &BinaryOperator, right: &str) -> DataFusionError {
    let message = format!("operator does not exist: {left} {op} {right}: one side needs a cast");
    external(Error::new(ErrorKind::NoFunction, message))
}

/// Refuses what a node of a plan compares without an operator: what is sorted or grouped by.
pub(super) fn check_node(node: &LogicalPlan) -> Result<()> {
    let refuse_json = |known: &DataType, operator: &str| match kind(known) {
        Some(Json) => {
            let message = format!("could not identify an {operator} operator for type json: cast it to jsonb");
            Err(external(Error::new(ErrorKind::NoFunction, message)))
        }
        _ => Ok(()),
    };
    match node {
        LogicalPlan::Sort(sort) => sort.expr.iter().try_for_each(|sort_by| {
            sort_by.expr.get_type(sort.input.schema()).map_or(Ok(()), |known| refuse_json(&known, "ordering"))
        }),
        LogicalPlan::Aggregate(aggregate) => {
            let groups = aggregate.schema.fields().iter().take(aggregate.group_expr_len()?);
            groups.map(|group| group.data_type()).try_for_each(|known| refuse_json(known, "equality"))
        }
        LogicalPlan::Distinct(_) => {
            let columns = node.schema().fields().iter();
            columns.map(|column| column.data_type()).try_for_each(|known| refuse_json(known, "equality"))
        }
        _ => Ok(()),
    }
}

/// Whether it is a literal that takes its type from the other side.
fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.try_as_str().is_some())
}

/// Whether an operator has operands of this type on one side.
fn may_be(operands: Operands, known: &DataType, side: fn(&(Kind, Kind)) -> Kind) -> bool {
    match (operands, kind(known)) {
        (Operands::Pairs(pairs), Some(kind)) => pairs.iter().map(side).any(|other| becomes(kind, other)),
        _ => true,
    }
}

/// The operator by which IS DISTINCT FROM compares; any other as it is.
fn compared(op: &BinaryOperator) -> &BinaryOperator {
    let BinaryOperator::PGCustomBinaryOperator(names) = op else { return op };
    match names.as_slice() {
        [name] if [DISTINCT, NOT_DISTINCT].contains(&name.as_str()) => &BinaryOperator::Eq,
        _ => op,
    }
}

/// Which types the operands of an operator may have.
#[derive(Clone, Copy)]
enum Operands {
    /// Pairs of kinds, of the left and of the right operand.
    Pairs(&'static [(Kind, Kind)]),
    /// Those of `||`.
    Concatenated,
}

use Kind::{
    Array, BigInt, Boolean, Bytes, Date, Float, Integer, Interval, Json, Jsonb, Numeric, Text, Time, TimeTz, Timestamp,
    TimestampTz,
};

const NUMBERS: [(Kind, Kind); 3] = [(BigInt, BigInt), (Numeric, Numeric), (Float, Float)];

const COMPARED: &[(Kind, Kind)] = &[
    (Boolean, Boolean),
    NUMBERS[0],
    NUMBERS[1],
    NUMBERS[2],
    (Text, Text),
    (Bytes, Bytes),
    (Time, Time),
    (TimeTz, TimeTz),
    (Timestamp, Timestamp),
    (TimestampTz, TimestampTz),
    (Interval, Interval),
    (Jsonb, Jsonb),
    (Array, Array),
];

const ADDED: &[(Kind, Kind)] = &[
    NUMBERS[0],
    NUMBERS[1],
    NUMBERS[2],
    (Date, Integer),
    (Integer, Date),
    (Date, Time),
    (Time, Date),
    (Date, TimeTz),
    (TimeTz, Date),
    (Timestamp, Interval),
    (Interval, Timestamp),
    (TimestampTz, Interval),
    (Interval, TimestampTz),
    (Time, Interval),
    (Interval, Time),
    (TimeTz, Interval),
    (Interval, TimeTz),
    (Interval, Interval),
];

const SUBTRACTED: &[(Kind, Kind)] = &[
    NUMBERS[0],
    NUMBERS[1],
    NUMBERS[2],
    (Date, Integer),
    (Timestamp, Timestamp),
    (TimestampTz, TimestampTz),
    (Timestamp, Interval),
    (TimestampTz, Interval),
    (Time, Interval),
    (TimeTz, Interval),
    (Interval, Interval),
    (Jsonb, Text),
    (Jsonb, Integer),
    (Jsonb, Array),
];

const MULTIPLIED: &[(Kind, Kind)] = &[NUMBERS[0], NUMBERS[1], NUMBERS[2], (Interval, Float), (Float, Interval)];
const DIVIDED: &[(Kind, Kind)] = &[NUMBERS[0], NUMBERS[1], NUMBERS[2], (Interval, Float)];
const REMAINDERS: &[(Kind, Kind)] = &[NUMBERS[0], NUMBERS[1]];
const POWERS: &[(Kind, Kind)] = &[NUMBERS[1], NUMBERS[2]];
const BITS: &[(Kind, Kind)] = &[NUMBERS[0]];
const SHIFTED: &[(Kind, Kind)] = &[(BigInt, Integer)];
const MATCHED: &[(Kind, Kind)] = &[(Text, Text)];
const LIKED: &[(Kind, Kind)] = &[(Text, Text), (Bytes, Bytes)];
const PARTS: &[(Kind, Kind)] = &[(Json, Text), (Json, Integer), (Jsonb, Text), (Jsonb, Integer)];
const PATHS: &[(Kind, Kind)] = &[(Json, Array), (Jsonb, Array)];
const CONTAINED: &[(Kind, Kind)] = &[(Jsonb, Jsonb), (Array, Array)];
const OVERLAPPING: &[(Kind, Kind)] = &[(Array, Array)];
const WITH_KEY: &[(Kind, Kind)] = &[(Jsonb, Text)];
const WITH_KEYS: &[(Kind, Kind)] = &[(Jsonb, Array)];

impl Operands {
    /// Whether both operands may be JSONB.
    fn are_of_jsonb(self) -> bool {
        matches!(self, Self::Pairs(pairs) if pairs.contains(&(Jsonb, Jsonb)))
    }
}

/// `None` of what is no operator of values.
fn operands_of(op: &BinaryOperator) -> Option<Operands> {
    Some(Operands::Pairs(match op {
        BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::Lt
        | BinaryOperator::LtEq
        | BinaryOperator::Gt
        | BinaryOperator::GtEq => COMPARED,
        BinaryOperator::Plus => ADDED,
        BinaryOperator::Minus => SUBTRACTED,
        BinaryOperator::Multiply => MULTIPLIED,
        BinaryOperator::Divide => DIVIDED,
        BinaryOperator::Modulo => REMAINDERS,
        BinaryOperator::PGExp => POWERS,
        BinaryOperator::BitwiseAnd | BinaryOperator::BitwiseOr | BinaryOperator::PGBitwiseXor => BITS,
        BinaryOperator::PGBitwiseShiftLeft | BinaryOperator::PGBitwiseShiftRight => SHIFTED,
        BinaryOperator::PGRegexMatch
        | BinaryOperator::PGRegexIMatch
        | BinaryOperator::PGRegexNotMatch
        | BinaryOperator::PGRegexNotIMatch
        | BinaryOperator::PGStartsWith => MATCHED,
        BinaryOperator::PGLikeMatch
        | BinaryOperator::PGILikeMatch
        | BinaryOperator::PGNotLikeMatch
        | BinaryOperator::PGNotILikeMatch => LIKED,
        BinaryOperator::Arrow | BinaryOperator::LongArrow => PARTS,
        BinaryOperator::HashArrow | BinaryOperator::HashLongArrow | BinaryOperator::HashMinus => PATHS,
        BinaryOperator::AtArrow | BinaryOperator::ArrowAt => CONTAINED,
        BinaryOperator::PGOverlap => OVERLAPPING,
        BinaryOperator::Question => WITH_KEY,
        BinaryOperator::QuestionAnd | BinaryOperator::QuestionPipe => WITH_KEYS,
        BinaryOperator::StringConcat => return Some(Operands::Concatenated),
        _ => return None,
    }))
}

/// Whether there is such an operator; also where nothing is known of the types.
fn exists(operands: Operands, left: &DataType, right: &DataType) -> bool {
    let (Some(left_kind), Some(right_kind)) = (kind(left), kind(right)) else { return true };
    // An object that a program gives as a parameter is JSON, and is read as the JSONB that it meets.
    let (left_kind, right_kind) = match (left_kind, right_kind) {
        (Json, Jsonb) | (Jsonb, Json) => (Jsonb, Jsonb),
        pair => pair,
    };
    match operands {
        Operands::Pairs(pairs) => pairs.iter().any(|(one, other)| {
            let elements_fit = (*one, *other) != (Array, Array) || unite(element(left), element(right));
            becomes(left_kind, *one) && becomes(right_kind, *other) && elements_fit
        }),
        Operands::Concatenated => match (left_kind, right_kind) {
            (Array, Array) => unite(element(left), element(right)),
            (Array, other) => unite(element(left), Some(other)),
            (other, Array) => unite(element(right), Some(other)),
            (Text, _) | (_, Text) => true,
            (one, other) => one == other && matches!(one, Bytes | Jsonb),
        },
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn operators_exist_for_types_that_postgresql_has_them_of() {
        use BinaryOperator as Op;
        let (int, big, float, text) = (DataType::Int32, DataType::Int64, DataType::Float64, DataType::Utf8View);
        let (date, time) = (DataType::Date32, DataType::Time64(TimeUnit::Microsecond));
        let stamp = DataType::Timestamp(TimeUnit::Microsecond, None);
        let exact = DataType::Decimal128(10, 2);
        let of = |element: &DataType| DataType::new_list(element.clone(), true);
        let named = |name: &str| DataType::Struct(vec![Field::new(name, DataType::Utf8View, true)].into());
        let (json, jsonb) = (named("$json"), named("$jsonb"));
        for (left, op, right, expected) in [
            (&int, Op::Eq, &exact, true),
            (&int, Op::Eq, &text, false),
            (&int, Op::Eq, &DataType::Boolean, false),
            (&date, Op::Lt, &stamp, true),
            (&date, Op::Lt, &time, false),
            (&date, Op::Plus, &int, true),
            (&date, Op::Plus, &big, false),
            (&date, Op::Minus, &date, true),
            (&time, Op::Minus, &time, true),
            (&date, Op::Plus, &date, false),
            (&float, Op::Modulo, &int, false),
            (&exact, Op::Modulo, &int, true),
            (&big, Op::PGBitwiseShiftLeft, &int, true),
            (&int, Op::PGBitwiseShiftLeft, &big, false),
            (&text, Op::StringConcat, &int, true),
            (&int, Op::StringConcat, &int, false),
            (&of(&int), Op::StringConcat, &big, true),
            (&of(&int), Op::StringConcat, &text, false),
            (&of(&of(&int)), Op::Eq, &of(&int), true),
            (&of(&int), Op::PGOverlap, &of(&text), false),
            (&of(&int), Op::AtArrow, &int, false),
            (&json, Op::Eq, &jsonb, true),
            (&json, Op::Eq, &json, false),
            (&jsonb, Op::StringConcat, &json, true),
        ] {
            let operands = operands_of(&op).expect("it is an operator of values");
            assert_eq!(exists(operands, left, right), expected, "{left} {op} {right}");
        }
    }
}
