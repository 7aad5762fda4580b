//! Operators of which an operand or the result is NUMERIC.
//!
//! Arithmetic is a function of ours; comparisons compare keys. Both are put in place while a statement is planned, since
//! `DataFusion` knows no such operators; and once more when types are final, as those of CASE, COALESCE and the like are
//! known only then. A function whose operands turn out to be decimals of known scales becomes an operator of decimals again.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::type_coercion::is_signed_numeric;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use sqlparser::ast::BinaryOperator;

use super::functions::function;
use crate::datafusion::errors::external;
use crate::datafusion::functions::casts::cast_number;
use crate::datafusion::functions::numeric::keys::{key, keyed};
use crate::datafusion::functions::numeric::values::{Operand, columnar, numerics, rows_of};
use crate::datafusion::functions::numeric::{data_type, failed, is_exact, is_numeric, limit, rounds};
use crate::datafusion::type_name::type_name;
use crate::sql::numbers;
use crate::{Error, ErrorKind};

/// Digits of a product, and of a sum, up to which decimals are computed in 38 digits, which fails if they do not suffice.
/// Beyond, it is likely enough that they do not.
const PRODUCT_DIGITS_MAX: i32 = 57;
const SUM_DIGITS_MAX: i32 = 37;

/// The functions of operators.
static ARITHMETIC: LazyLock<[Arc<ScalarUDF>; 5]> = LazyLock::new(|| {
    Arithmetic::ALL.map(|(operator, _)| Arc::new(ScalarUDF::new_from_impl(Arithmetic::new(operator))))
});

/// Puts operators of NUMERIC in place while a statement is planned.
#[derive(Debug)]
pub(in crate::datafusion) struct NumericOperators;

impl ExprPlanner for NumericOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::PGExp {
            return Ok(PlannerResult::Planned(function("power").call(vec![expr.left, expr.right])));
        }
        if let BinaryOperator::PGCustomBinaryOperator(names) = &expr.op
            && let [name] = names.as_slice()
        {
            let operator = match name.as_str() {
                numbers::NEGATIVE => return negative(expr.left, schema).map(PlannerResult::Planned),
                numbers::POSITIVE => return positive(expr.left, schema).map(PlannerResult::Planned),
                numbers::DISTINCT => Operator::IsDistinctFrom,
                numbers::NOT_DISTINCT => Operator::IsNotDistinctFrom,
                _ => return Ok(PlannerResult::Original(expr)),
            };
            let (left, right) = (settled(expr.left, schema), settled(expr.right, schema));
            let (left, right) =
                if is_rounded(&left, &right, schema) { as_numbers(left, right, schema)? } else { (left, right) };
            let planned = operation(&left, operator, &right, schema)?;
            let own = || {
                Expr::BinaryExpr(BinaryExpr {
                    left: Box::new(left.clone()),
                    op: operator,
                    right: Box::new(right.clone()),
                })
            };
            return Ok(PlannerResult::Planned(planned.unwrap_or_else(own)));
        }
        if expr.op == BinaryOperator::StringConcat {
            let RawBinaryExpr { op, left, right } = expr;
            let (left, right) = (as_text(left, schema)?, as_text(right, schema)?);
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        }
        let Some(operator) = operator(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let RawBinaryExpr { op, left, right } = expr;
        let (left, right) = (settled(left, schema), settled(right, schema));
        let (left, right) = if is_arithmetic(operator) || is_rounded(&left, &right, schema) {
            as_numbers(left, right, schema)?
        } else {
            (left, right)
        };
        Ok(match operation(&left, operator, &right, schema)? {
            Some(planned) => PlannerResult::Planned(planned),
            None => PlannerResult::Original(RawBinaryExpr { op, left, right }),
        })
    }
}

/// Whether one of the operands is a text that is written, and would be rounded as a value of the type of the other.
fn is_rounded(left: &Expr, right: &Expr, schema: &DFSchema) -> bool {
    let is_one = |literal: &Expr, other: &Expr| {
        matches!(literal, Expr::Literal(..)) && other.get_type(schema).is_ok_and(|known| rounds(literal, &known))
    };
    is_one(left, right) || is_one(right, left)
}

/// Operands of which one is a text that is written, and the other a number: the text is a number of the same type, of a DECIMAL
/// a NUMERIC.
fn as_numbers(left: Expr, right: Expr, schema: &DFSchema) -> Result<(Expr, Expr)> {
    let is_written =
        |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _));
    let number = |expr: &Expr| {
        let known = expr.get_type(schema).ok()?;
        match known {
            DataType::Decimal128(..) => Some(data_type()),
            known => (known.is_integer() || known.is_floating()).then_some(known),
        }
    };
    if is_written(&left)
        && let Some(known) = number(&right)
    {
        return Ok((cast_number(left, &known, schema)?, right));
    }
    if is_written(&right)
        && let Some(known) = number(&left)
    {
        let right = cast_number(right, &known, schema)?;
        return Ok((left, right));
    }
    Ok((left, right))
}

/// With the other sign.
fn negative(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let expr = settled(expr, schema);
    let known = expr.get_type(schema)?;
    if is_numeric(&known) {
        return Ok(call(Operator::Minus, Expr::Literal(ScalarValue::Int32(Some(0)), None), expr));
    }
    let has_sign = is_signed_numeric(&known) || known.is_null();
    // Those of other types that Arrow has not are told when types are final.
    if has_sign || matches!(known, DataType::Interval(_) | DataType::Duration(_) | DataType::Struct(_)) {
        return Ok(Expr::Negative(Box::new(expr)));
    }
    Err(missing_operator("-", &known))
}

/// With its own sign: PostgreSQL has no such operator of intervals.
fn positive(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let expr = settled(expr, schema);
    let known = expr.get_type(schema)?;
    if is_numeric(&known) || is_signed_numeric(&known) || known.is_null() {
        return Ok(expr);
    }
    Err(missing_operator("+", &known))
}

fn missing_operator(operator: &str, of: &DataType) -> DataFusionError {
    let message = format!("operator does not exist: {operator} {}", type_name(of));
    external(Error::new(ErrorKind::NoFunction, message))
}

/// A NUMERIC as a text, others as they are.
fn as_text(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if !expr.get_type(schema).is_ok_and(|known| is_numeric(&known)) {
        return Ok(expr);
    }
    cast_number(expr, &DataType::Utf8View, schema)
}

fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

/// The same where types are final.
#[derive(Debug)]
pub(in crate::datafusion) struct FinalOperators;

impl FunctionRewrite for FinalOperators {
    fn name(&self) -> &'static str {
        "numeric_operators"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        with_final_types(expr, schema)
    }
}

/// An operator over columns whose types are final.
pub(in crate::datafusion) fn with_final_types(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if let (Some(one), Some(other)) = (keyed(&left), keyed(&right))
                && !is_of_numeric(one, schema)?
                && !is_of_numeric(other, schema)?
            {
                return Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
                    left: Box::new(one.clone()),
                    op,
                    right: Box::new(other.clone()),
                })));
            }
            Ok(match operation(&left, op, &right, schema)? {
                Some(planned) => Transformed::yes(planned),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            })
        }
        Expr::Negative(inner) if is_of_numeric(&inner, schema)? => {
            let zero = Expr::Literal(ScalarValue::Int32(Some(0)), None);
            Ok(Transformed::yes(call(Operator::Minus, zero, *inner)))
        }
        Expr::ScalarFunction(mut call) => {
            let own = Arithmetic::ALL.iter().find(|(_, name)| *name == call.func.name());
            let (Some((operator, _)), [left, right]) = (own, call.args.as_mut_slice()) else {
                return Ok(Transformed::no(Expr::ScalarFunction(call)));
            };
            if computes(*operator, &left.get_type(schema)?, &right.get_type(schema)?) {
                return Ok(Transformed::no(Expr::ScalarFunction(call)));
            }
            let (left, right) = (Box::new(std::mem::take(left)), Box::new(std::mem::take(right)));
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op: *operator, right })))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn is_of_numeric(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(is_numeric(&expr.get_type(schema)?))
}

/// `x::numeric` of a number whose scale is known is that number.
pub(in crate::datafusion) fn settled(expr: Expr, schema: &DFSchema) -> Expr {
    let Expr::Cast(Cast { expr: inner, field }) = &expr else { return expr };
    if !is_numeric(field.data_type()) || limit(field).is_some() {
        return expr;
    }
    match inner.get_type(schema).ok().as_ref().and_then(of_known_scale) {
        Some(decimal) => inner.as_ref().clone().cast_to(&decimal, schema).unwrap_or(expr),
        None => expr,
    }
}

/// The decimal that has the values of a type of exact numbers whose scale is known.
fn of_known_scale(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Int8 | DataType::Int16 => DataType::Decimal128(5, 0),
        DataType::Int32 => DataType::Decimal128(10, 0),
        DataType::Int64 => DataType::Decimal128(19, 0),
        DataType::Decimal128(..) => data_type.clone(),
        _ => return None,
    })
}

/// Digits before and behind the point.
fn digits(data_type: &DataType) -> Option<(i32, i32)> {
    let decimal = of_known_scale(data_type)?;
    let DataType::Decimal128(precision, scale) = decimal else { return None };
    Some((i32::from(precision) - i32::from(scale), i32::from(scale)))
}

/// Whether the result of an operator of exact numbers is NUMERIC.
fn computes(operator: Operator, left: &DataType, right: &DataType) -> bool {
    if is_numeric(left) || is_numeric(right) {
        return true;
    }
    if !((left.is_decimal() && is_exact(right)) || (right.is_decimal() && is_exact(left))) {
        return false;
    }
    let (Some((left_whole, left_scale)), Some((right_whole, right_scale))) = (digits(left), digits(right)) else {
        return true;
    };
    match operator {
        Operator::Divide => true,
        Operator::Multiply => {
            let (left, right) = (left_whole + left_scale, right_whole + right_scale);
            left.max(right) > SUM_DIGITS_MAX || left + right > PRODUCT_DIGITS_MAX
        }
        _ => left_whole.max(right_whole) + left_scale.max(right_scale) > SUM_DIGITS_MAX,
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn is_arithmetic(operator: Operator) -> bool {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(operator, Plus | Minus | Multiply | Divide | Modulo)
}

/// The operation as a function or a comparison of ours; `None` where it is not about NUMERIC.
pub(in crate::datafusion) fn operation(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    if !is_arithmetic(operator) && !is_comparison(operator) {
        return Ok(None);
    }
    let (Ok(left_type), Ok(right_type)) = (left.get_type(schema), right.get_type(schema)) else { return Ok(None) };
    let has_numeric = is_numeric(&left_type) || is_numeric(&right_type);
    if !(has_numeric || (is_arithmetic(operator) && computes(operator, &left_type, &right_type))) {
        return Ok(None);
    }
    if left_type.is_floating() || right_type.is_floating() {
        let double = |expr: &Expr| {
            Ok::<_, datafusion::error::DataFusionError>(Box::new(cast_number(
                expr.clone(),
                &DataType::Float64,
                schema,
            )?))
        };
        let operation = BinaryExpr { left: double(left)?, op: operator, right: double(right)? };
        return Ok(Some(Expr::BinaryExpr(operation)));
    }
    let (Some(left), Some(right)) = (operand(left, &left_type, schema)?, operand(right, &right_type, schema)?) else {
        return Ok(None);
    };
    if is_arithmetic(operator) {
        return Ok(Some(call(operator, left, right)));
    }
    let (left, right) = (Box::new(key(left)), Box::new(key(right)));
    Ok(Some(Expr::BinaryExpr(BinaryExpr { left, op: operator, right })))
}

/// An operand that is an exact number, or becomes one where only its form is known; `None` for others.
pub(in crate::datafusion) fn operand(expr: &Expr, known: &DataType, schema: &DFSchema) -> Result<Option<Expr>> {
    Ok(match expr {
        Expr::Placeholder(Placeholder { id, field: None }) => {
            let field = Some(Arc::new(Field::new(id, data_type(), true)));
            Some(Expr::Placeholder(Placeholder { id: id.clone(), field }))
        }
        Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::Null, _) => {
            Some(cast_number(expr.clone(), &data_type(), schema)?)
        }
        expr if is_exact(known) || known.is_null() => Some(expr.clone()),
        _ => None,
    })
}

fn call(operator: Operator, left: Expr, right: Expr) -> Expr {
    let at = Arithmetic::ALL.iter().position(|(own, _)| *own == operator).unwrap_or_default();
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&ARITHMETIC[at]), vec![left, right]))
}

/// The quotient of two exact numbers.
pub(in crate::datafusion) fn quotient(left: Expr, right: Expr) -> Expr {
    call(Operator::Divide, left, right)
}

/// An arithmetic operator of exact numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    operator: Operator,
    signature: Signature,
}

impl Arithmetic {
    const ALL: [(Operator, &'static str); 5] = [
        (Operator::Plus, "numeric_add"),
        (Operator::Minus, "numeric_sub"),
        (Operator::Multiply, "numeric_mul"),
        (Operator::Divide, "numeric_div"),
        (Operator::Modulo, "numeric_mod"),
    ];

    fn new(operator: Operator) -> Self {
        Self { operator, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        Self::ALL.iter().find(|(operator, _)| *operator == self.operator).map_or("", |(_, name)| name)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else { return internal_err!("{} takes two arguments", self.name()) };
        Ok(format!("{} {} {}", left.schema_name(), self.operator, right.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(data_type())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), data_type(), nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else { return internal_err!("{} takes two arguments", self.name()) };
        let (rows, is_one) = rows_of(&args.args);
        let (left, right) = (Operand::of(left)?, Operand::of(right)?);
        let result = numerics(rows, |row| {
            let (Some(left), Some(right)) = (left.get(row)?, right.get(row)?) else { return Ok(None) };
            let result = match self.operator {
                Operator::Plus => left.plus(&right),
                Operator::Minus => left.minus(&right),
                Operator::Multiply => left.times(&right),
                Operator::Divide => left.divided(&right),
                _ => left.remainder(&right),
            };
            result.map(Some).map_err(failed)
        })?;
        columnar(result, is_one)
    }
}
