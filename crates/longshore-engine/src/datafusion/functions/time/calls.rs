//! The functions as `DataFusion` calls them: arguments become values of the types that the overload wants.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::kinds::Kind;
use super::overloads::{Overload, choose};
use super::session::{SessionTime, time_error};
use super::values::{Builder, Column, Value, in_type};
use super::{arithmetic, casts, constructors, formatting, truncation};
use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// The tables of functions.
const TABLES: [&[(&str, &[Overload])]; 4] =
    [arithmetic::FUNCTIONS, constructors::FUNCTIONS, formatting::FUNCTIONS, truncation::FUNCTIONS];

/// All functions, with a name each.
pub(super) fn functions() -> impl Iterator<Item = ScalarUDF> {
    TABLES.into_iter().flatten().map(|(name, overloads)| ScalarUDF::new_from_impl(TimeFunction::new(name, overloads)))
}

/// A call of one of the functions that have no name in SQL, as operators have none.
pub(in crate::datafusion) fn call(name: &str, arguments: Vec<Expr>) -> Option<Expr> {
    let (name, overloads) = arithmetic::OPERATORS.iter().find(|(known, _)| *known == name)?;
    let function = Arc::new(ScalarUDF::new_from_impl(TimeFunction::new(name, overloads)));
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments)))
}

/// A function of time with all its overloads.
#[derive(Debug)]
struct TimeFunction {
    name: &'static str,
    overloads: &'static [Overload],
    signature: Signature,
}

impl TimeFunction {
    fn new(name: &'static str, overloads: &'static [Overload]) -> Self {
        Self { name, overloads, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn overload(&self, types: &[DataType]) -> Result<&'static Overload> {
        choose(self.overloads, types).ok_or_else(|| {
            let names: Vec<String> = types.iter().map(type_name).collect();
            let message = match names.as_slice() {
                [left, right] if !self.name.starts_with(|c: char| c.is_alphabetic()) => {
                    format!("operator does not exist: {left} {} {right}", self.name)
                }
                names => format!("function {}({}) does not exist", self.name, names.join(", ")),
            };
            external(Error::new(ErrorKind::NoFunction, message))
        })
    }
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null | DataType::Utf8 => "unknown".to_owned(),
        other => Kind::of(other).map_or_else(|| other.to_string(), |kind| kind.name().to_owned()),
    }
}

impl PartialEq for TimeFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TimeFunction {}

impl std::hash::Hash for TimeFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for TimeFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(match names.as_slice() {
            [left, right] if !self.name.starts_with(|c: char| c.is_alphabetic()) => {
                format!("{left} {} {right}", self.name)
            }
            names => format!("{}({})", self.name, names.join(",")),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.overload(arg_types)?;
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.overload(arg_types)?.result.data_type())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let overload = self.overload(&types)?;
        let session = SessionTime::of(&args.config_options);
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let columns: Vec<Argument> = args
            .args
            .iter()
            .zip(overload.arguments)
            .map(|(arg, wanted)| Argument::new(arg, *wanted, &session))
            .collect::<Result<_>>()?;
        let mut result = Builder::new(overload.result, rows);
        let mut values: Vec<Value<'_>> = Vec::with_capacity(columns.len());
        for row in 0..rows {
            values.clear();
            values.extend(columns.iter().map(|column| column.value(row)));
            if !overload.takes_null && values.contains(&Value::Null) {
                result.append(Value::Null)?;
                continue;
            }
            result.append((overload.compute)(&values, &session).map_err(|error| time_error(&error))?)?;
        }
        let result = result.finish();
        if is_scalar {
            return ScalarValue::try_from_array(&result, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(result))
    }
}

/// An argument in the type that is wanted.
enum Argument {
    Scalar(Column),
    Array(Column),
}

impl Argument {
    fn new(value: &ColumnarValue, wanted: Kind, session: &SessionTime<'_>) -> Result<Self> {
        let (array, is_scalar): (ArrayRef, bool) = match value {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        let is_null = *array.data_type() == DataType::Null;
        let found = Kind::of(array.data_type());
        let array = match found {
            _ if is_null => new_null_array(&wanted.data_type(), array.len()),
            // Whole and other numbers are told apart by what reads them.
            Some(found) if found == wanted || !found.is_time() && !wanted.is_time() && found != Kind::Text => array,
            Some(_) => casts::convert(&array, wanted, casts::Modifier::None, session)?,
            None => return internal_err!("an argument of an unknown type"),
        };
        let array = match wanted {
            // What is too large for an INTEGER is out of the range of what is computed with it.
            Kind::Int | Kind::Int4 => cast(&array, &DataType::Int64)?,
            Kind::Float | Kind::Decimal => in_type(&array, &wanted.data_type())?,
            _ => array,
        };
        let column = Column::new(&array)?;
        Ok(if is_scalar { Self::Scalar(column) } else { Self::Array(column) })
    }

    fn value(&self, row: usize) -> Value<'_> {
        match self {
            Self::Scalar(column) => column.value(0),
            Self::Array(column) => column.value(row),
        }
    }
}
