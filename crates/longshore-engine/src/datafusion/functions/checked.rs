//! Integer arithmetic that fails where `DataFusion`'s would wrap around silently.
//!
//! `+`, `-`, `*`, `/` and negation of integers, and those of floats (`floats`), are replaced by functions that compute the
//! same but report an overflow, as PostgreSQL does; so are the difference of two dates and a date so many days later or earlier. This is done before types
//! are coerced; names of columns stay as they were. Left as they are: other types.
//! `sum` is checked likewise (`sum`).

mod days;
mod floats;
mod sum;

use std::sync::Arc;

use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

pub(in crate::datafusion) use sum::CheckedSum;

use crate::datafusion::errors::external;
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

/// Puts checked functions in the place of integer operators.
#[derive(Debug)]
pub(in crate::datafusion) struct CheckedArithmetic {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    multiply: Arc<ScalarUDF>,
    divide: Arc<ScalarUDF>,
}

impl CheckedArithmetic {
    pub(in crate::datafusion) fn new() -> Self {
        let function = |operator| Arc::new(ScalarUDF::new_from_impl(Checked::new(operator)));
        Self {
            add: function(Operator::Plus),
            subtract: function(Operator::Minus),
            multiply: function(Operator::Multiply),
            divide: function(Operator::Divide),
        }
    }

    fn function(&self, operator: Operator) -> Option<&Arc<ScalarUDF>> {
        match operator {
            Operator::Plus => Some(&self.add),
            Operator::Minus => Some(&self.subtract),
            Operator::Multiply => Some(&self.multiply),
            Operator::Divide => Some(&self.divide),
            _ => None,
        }
    }
}

impl FunctionRewrite for CheckedArithmetic {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        let integer = |expr: &Expr| expr.get_type(schema).is_ok_and(|data_type| data_type.is_integer());
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                // Types of long conditions take long to find out.
                let Some(function) = self.function(op) else {
                    return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
                };
                match left.get_type(schema).ok().zip(right.get_type(schema).ok()) {
                    // Days. `DataFusion` takes it for seconds where it estimates how many rows a condition keeps, and gives up.
                    Some((DataType::Date32, DataType::Date32)) if op == Operator::Minus => {
                        let days = |date: Box<Expr>| {
                            let number = Expr::Cast(Cast::new(date, DataType::Int32));
                            Expr::Cast(Cast::new(Box::new(number), DataType::Int64))
                        };
                        Ok(Transformed::yes(call(Arc::clone(&self.subtract), days(left), days(right))))
                    }
                    Some((one, other)) if is_checked(op, &one, &other) || days::is_shift(&one, op, &other) => {
                        Ok(Transformed::yes(call(Arc::clone(function), *left, *right)))
                    }
                    _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
                }
            }
            // A literal cannot be its type's least number, which alone has no opposite; and LIMIT -1 must stay as it is.
            Expr::Negative(inner) if integer(&inner) && !matches!(*inner, Expr::Literal(..)) => {
                let zero = ScalarValue::new_zero(&inner.get_type(schema)?)?;
                let function = Arc::clone(&self.subtract);
                Ok(Transformed::yes(call(function, Expr::Literal(zero, None), *inner)))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// Whether an operator is one that is checked.
fn is_checked(operator: Operator, left: &DataType, right: &DataType) -> bool {
    (left.is_integer() && right.is_integer())
        || (floats::is_checked(operator) && left.is_floating() && right.is_floating())
}

/// What PostgreSQL says where a result is no integer of this type.
fn out_of_range(error: DataFusionError, of: &DataType) -> DataFusionError {
    match error.find_root() {
        DataFusionError::ArrowError(arrow, _) if matches!(**arrow, ArrowError::ArithmeticOverflow(_)) => {
            external(Error::new(ErrorKind::OutOfRange, format!("{} out of range", type_name(of))))
        }
        _ => error,
    }
}

fn call(function: Arc<ScalarUDF>, left: Expr, right: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![left, right]))
}

/// An operator of integers, or of a date and an integer, that reports overflows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operator: Operator,
    signature: Signature,
}

impl Checked {
    fn new(operator: Operator) -> Self {
        Self { operator, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &'static str {
        match self.operator {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_subtract",
            Operator::Multiply => "checked_multiply",
            _ => "checked_divide",
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else {
            return internal_err!("{} takes two arguments", self.name());
        };
        Ok(format!("{} {} {}", left.schema_name(), self.operator, right.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [left, right] = arg_types else {
            return internal_err!("{} takes two arguments", self.name());
        };
        if days::is_shift(left, self.operator, right) {
            let wide = |data_type: &DataType| if data_type.is_integer() { DataType::Int64 } else { data_type.clone() };
            return Ok(vec![wide(left), wide(right)]);
        }
        let (left, right) = BinaryTypeCoercer::new(left, &self.operator, right).get_input_types()?;
        Ok(vec![left, right])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let types = self.coerce_types(arg_types)?;
        if days::is_shift(&types[0], self.operator, &types[1]) {
            return Ok(DataType::Date32);
        }
        BinaryTypeCoercer::new(&types[0], &self.operator, &types[1]).get_result_type()
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return internal_err!("{} takes two arguments", self.name());
        };
        if days::is_shift(&left.data_type(), self.operator, &right.data_type()) {
            return days::shifted(left, self.operator, right);
        }
        if left.data_type().is_floating() {
            return floats::checked(self.operator, left, right);
        }
        let result = match self.operator {
            Operator::Plus => apply(left, right, numeric::add),
            Operator::Minus => apply(left, right, numeric::sub),
            Operator::Multiply => apply(left, right, numeric::mul),
            _ => apply(left, right, numeric::div),
        };
        result.map_err(|error| out_of_range(error, &left.data_type()))
    }
}
