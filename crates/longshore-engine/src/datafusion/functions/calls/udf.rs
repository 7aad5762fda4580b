//! The overloads of a name as one function of `DataFusion`'s.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::columns::{Column, Results};
use super::{Body, Kind, Overload, Row, Value, choose};
use crate::datafusion::errors::external;
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

/// The functions that these overloads are.
pub(in crate::datafusion::functions) fn functions(overloads: impl Iterator<Item = Overload>) -> Vec<ScalarUDF> {
    let mut named: Vec<(&'static str, Vec<Overload>)> = Vec::new();
    for overload in overloads {
        match named.iter_mut().find(|(name, _)| *name == overload.name) {
            Some((_, overloads)) => overloads.push(overload),
            None => named.push((overload.name, vec![overload])),
        }
    }
    named.into_iter().map(|(name, overloads)| ScalarUDF::new_from_impl(Function::new(name, overloads))).collect()
}

/// All overloads of a name.
#[derive(Debug)]
pub(in crate::datafusion::functions) struct Function {
    name: &'static str,
    overloads: Vec<Overload>,
    signature: Signature,
}

impl std::fmt::Debug for Overload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overload").field("name", &self.name).field("takes", &self.takes).finish_non_exhaustive()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Function {
    pub(in crate::datafusion::functions) fn new(name: &'static str, overloads: Vec<Overload>) -> Self {
        let is_volatile = overloads.iter().any(|overload| overload.volatility == Volatility::Volatile);
        let volatility = if is_volatile { Volatility::Volatile } else { overloads[0].volatility };
        Self { name, overloads, signature: Signature::user_defined(volatility) }
    }

    fn chosen(&self, types: &[DataType]) -> Result<&Overload> {
        choose::chosen(&self.overloads, types).ok_or_else(|| no_function(self.name, types))
    }

    /// Whether the argument at this place may be of any type.
    pub(in crate::datafusion::functions) fn takes_anything(&self, at: usize) -> bool {
        self.overloads.iter().any(|overload| overload.kind(at) == Some(Kind::Any))
    }
}

/// That there is no function for arguments of these types.
pub(in crate::datafusion) fn no_function(name: &str, types: &[DataType]) -> DataFusionError {
    let types: Vec<String> = types.iter().map(type_name).collect();
    external(Error::new(ErrorKind::NoFunction, format!("function {name}({}) does not exist", types.join(", "))))
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let overload = self.chosen(arg_types)?;
        let coerced = arg_types.iter().enumerate().map(|(at, data_type)| match overload.kind(at) {
            Some(Kind::Presence | Kind::AnyList) | None => data_type.clone(),
            Some(Kind::Any) if *data_type == DataType::Boolean => DataType::Boolean,
            // A literal is read when the function is called.
            Some(_) if data_type.is_string() => DataType::Utf8View,
            // What no cast of Arrow's makes of it, a function of ours does before it is called (`anything`).
            Some(kind) if !can_cast_types(data_type, &kind.data_type()) => data_type.clone(),
            Some(kind) => kind.data_type(),
        });
        Ok(coerced.collect())
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let overload = self.chosen(arg_types)?;
        match overload.body {
            Body::Ours(_) => Ok(overload.gives.data_type()),
            Body::Theirs(function) => function().return_type(arg_types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let overload = self.chosen(&types)?;
        match overload.body {
            Body::Ours(_) => {
                let field = datafusion::arrow::datatypes::Field::new(self.name, overload.gives.data_type(), true);
                Ok(Arc::new(field))
            }
            Body::Theirs(function) => function().return_field_from_args(args),
        }
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        use datafusion::logical_expr::ExprSchemable;
        let types: Result<Vec<DataType>> = args.iter().map(|arg| arg.get_type(info.schema())).collect();
        let Some(overload) = types.ok().and_then(|types| choose::chosen(&self.overloads, &types)) else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        match overload.body {
            Body::Ours(_) => Ok(ExprSimplifyResult::Original(args)),
            Body::Theirs(function) => {
                let call = ScalarFunction::new_udf(function(), args);
                Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(call)))
            }
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let overload = self.chosen(&types)?;
        match overload.body {
            Body::Ours(_) => called(overload, &args.args, args.number_rows),
            Body::Theirs(function) => function().invoke_with_args(args),
        }
    }
}

/// What `overload` gives for `rows` rows of these arguments.
fn called(overload: &Overload, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
    let Body::Ours(body) = overload.body else { return datafusion::common::internal_err!("no function of ours") };
    let is_constant =
        overload.volatility != Volatility::Volatile && args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = if is_constant { 1 } else { rows };
    let mut columns = Vec::with_capacity(args.len());
    for (at, arg) in args.iter().enumerate() {
        let kind = overload.kind(at).unwrap_or(Kind::Presence);
        let (array, step): (ArrayRef, usize) = match arg {
            ColumnarValue::Array(array) => (Arc::clone(array), 1),
            ColumnarValue::Scalar(value) => (value.to_array()?, 0),
        };
        columns.push((Column::new(&array, kind)?, step));
    }
    let mut results = Results::new(overload.gives)?;
    let mut values: Vec<Value<'_>> = Vec::with_capacity(args.len());
    for row in 0..rows {
        values.clear();
        values.extend(columns.iter().map(|(column, step)| column.value(row * step)));
        let given = if overload.is_strict && values.iter().any(|value| matches!(value, Value::Null)) {
            super::Given::Null
        } else {
            body(&Row(&values)).map_err(external)?
        };
        results.append(given)?;
    }
    let array = results.finish();
    if is_constant {
        return ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar);
    }
    Ok(ColumnarValue::Array(array))
}
