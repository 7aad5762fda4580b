//! Mathematical functions that PostgreSQL has for NUMERIC, for integers and for DOUBLE PRECISION under one name.
//!
//! Which one is called depends on the arguments, as in PostgreSQL: a float among them makes all of it floats, then a decimal
//! makes it NUMERIC; integers alone are integers where the function has a form for them, and floats or NUMERIC otherwise.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int32Type, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_numeric::{Number, NumberError, factorial};

use super::floats;
use crate::datafusion::errors::external;
use crate::datafusion::functions::casts::numeric;
use crate::datafusion::functions::numeric::values::{Operand, columnar, numerics, rows_of};
use crate::datafusion::functions::numeric::{convert, data_type, failed, is_number, is_numeric};
use crate::{Error, ErrorKind};

/// What is made of numbers of any digits.
enum Exact {
    One(fn(&Number) -> Result<Number, NumberError>),
    Two(fn(&Number, &Number) -> Result<Number, NumberError>),
    /// Of a number, and of places behind the point that may be left out.
    Places(fn(&Number, i64) -> Result<Number, NumberError>),
    /// A whole number, or NULL.
    Whole(fn(&Number) -> Option<u32>),
    /// Of one whole number.
    OfWhole(fn(i64) -> Result<Number, NumberError>),
    Bucket,
}

/// What is made of floats.
enum Float {
    None,
    One(fn(f64) -> Result<f64, NumberError>),
    Two(fn(f64, f64) -> Result<f64, NumberError>),
}

/// What integers alone become.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Integers {
    /// Integers, by way of numbers of any digits.
    Kept,
    Floats,
    Numeric,
}

/// A function of this number of arguments.
struct Form {
    name: &'static str,
    arguments: usize,
    exact: Exact,
    float: Float,
    integers: Integers,
}

const fn form(name: &'static str, arguments: usize, exact: Exact, float: Float, integers: Integers) -> Form {
    Form { name, arguments, exact, float, integers }
}

/// Of two numbers, the greater and the less one: what GREATEST and LEAST are made of.
pub(in crate::datafusion) const LARGER: &str = "numeric_larger";
pub(in crate::datafusion) const SMALLER: &str = "numeric_smaller";

/// All of them.
static FORMS: [Form; 28] = [
    form("abs", 1, Exact::One(|x| Ok(x.absolute())), Float::One(|x| Ok(x.abs())), Integers::Kept),
    form("ceil", 1, Exact::One(|x| Ok(x.ceiling())), Float::One(|x| Ok(x.ceil())), Integers::Floats),
    form("ceiling", 1, Exact::One(|x| Ok(x.ceiling())), Float::One(|x| Ok(x.ceil())), Integers::Floats),
    form("floor", 1, Exact::One(|x| Ok(x.floor())), Float::One(|x| Ok(x.floor())), Integers::Floats),
    form("round", 1, Exact::One(|x| x.rounded(0)), Float::One(|x| Ok(x.round_ties_even())), Integers::Floats),
    form("round", 2, Exact::Places(Number::rounded), Float::None, Integers::Numeric),
    form("trunc", 1, Exact::One(|x| Ok(x.truncated(0))), Float::One(|x| Ok(x.trunc())), Integers::Floats),
    form("trunc", 2, Exact::Places(|x, places| Ok(x.truncated(places))), Float::None, Integers::Numeric),
    form("sign", 1, Exact::One(|x| Ok(sign(x))), Float::One(|x| Ok(floats::sign(x))), Integers::Floats),
    form("sqrt", 1, Exact::One(Number::root), Float::One(floats::root), Integers::Floats),
    form("exp", 1, Exact::One(Number::exponential), Float::One(floats::exponential), Integers::Floats),
    form("ln", 1, Exact::One(Number::logarithm), Float::One(|x| floats::logarithm(x, f64::ln)), Integers::Floats),
    form("log", 1, Exact::One(common_logarithm), Float::One(|x| floats::logarithm(x, f64::log10)), Integers::Floats),
    form("log10", 1, Exact::One(common_logarithm), Float::One(|x| floats::logarithm(x, f64::log10)), Integers::Floats),
    form("log", 2, Exact::Two(|base, x| x.logarithm_to(base)), Float::None, Integers::Numeric),
    form("power", 2, Exact::Two(Number::power), Float::Two(floats::power), Integers::Floats),
    form("pow", 2, Exact::Two(Number::power), Float::Two(floats::power), Integers::Floats),
    form("mod", 2, Exact::Two(Number::remainder), Float::None, Integers::Kept),
    form("div", 2, Exact::Two(Number::quotient), Float::None, Integers::Numeric),
    form("gcd", 2, Exact::Two(|x, y| Ok(x.greatest_common_divisor(y))), Float::None, Integers::Kept),
    form("lcm", 2, Exact::Two(Number::least_common_multiple), Float::None, Integers::Kept),
    form("factorial", 1, Exact::OfWhole(factorial), Float::None, Integers::Numeric),
    form("scale", 1, Exact::Whole(Number::scale), Float::None, Integers::Numeric),
    form("min_scale", 1, Exact::Whole(Number::scale_min), Float::None, Integers::Numeric),
    form("trim_scale", 1, Exact::One(|x| Ok(x.trimmed())), Float::None, Integers::Numeric),
    form("width_bucket", 4, Exact::Bucket, Float::None, Integers::Floats),
    form(LARGER, 2, Exact::Two(|x, y| Ok(larger(x, y))), Float::None, Integers::Numeric),
    form(SMALLER, 2, Exact::Two(|x, y| Ok(smaller(x, y))), Float::None, Integers::Numeric),
];

fn sign(number: &Number) -> Number {
    if matches!(number, Number::NaN) { Number::NaN } else { Number::new(number.sign().into(), 0) }
}

fn common_logarithm(number: &Number) -> Result<Number, NumberError> {
    number.logarithm_to(&Number::new(10, 0))
}

fn larger(one: &Number, other: &Number) -> Number {
    if one.compared(other).is_lt() { other.clone() } else { one.clone() }
}

fn smaller(one: &Number, other: &Number) -> Number {
    if one.compared(other).is_lt() { one.clone() } else { other.clone() }
}

/// The functions, each name once.
pub(in crate::datafusion) fn functions() -> Vec<ScalarUDF> {
    let mut names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
    names.dedup();
    names.into_iter().map(|name| ScalarUDF::new_from_impl(Math::new(name))).collect()
}

/// The function of this name.
pub(in crate::datafusion) fn function(name: &'static str) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Math::new(name)))
}

/// What a call computes with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    Exact,
    Float,
    /// Integers of this type.
    Integers(DataType),
}

/// A function by its name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Math {
    name: &'static str,
    signature: Signature,
}

impl Math {
    fn new(name: &'static str) -> Self {
        Self { name, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// The form that these types call, and what it computes with.
    fn resolved(&self, types: &[DataType]) -> Result<(&'static Form, Mode)> {
        let missing = || self.missing(types);
        let form = FORMS.iter().find(|form| form.name == self.name && form.arguments == types.len());
        let form = form.ok_or_else(missing)?;
        let may_be_number = |known: &DataType| is_number(known) || known.is_string() || known.is_null();
        if !types.iter().all(may_be_number) {
            return Err(missing());
        }
        // The last argument is a number of places or of buckets.
        let numbers = match form.exact {
            Exact::Places(_) | Exact::Bucket => &types[..types.len() - 1],
            _ => types,
        };
        let has_float_form = !matches!(form.float, Float::None) || matches!(form.exact, Exact::Bucket);
        if numbers.iter().any(DataType::is_floating) {
            return if has_float_form { Ok((form, Mode::Float)) } else { Err(missing()) };
        }
        if numbers.iter().any(|known| known.is_decimal() || is_numeric(known)) {
            return Ok((form, Mode::Exact));
        }
        let widest = numbers.iter().filter(|known| known.is_integer()).max_by_key(|known| known.primitive_width());
        Ok(match (form.integers, widest) {
            (Integers::Kept, Some(widest)) => (form, Mode::Integers(widest.clone())),
            (Integers::Floats | Integers::Kept, _) if has_float_form => (form, Mode::Float),
            _ => (form, Mode::Exact),
        })
    }

    fn missing(&self, types: &[DataType]) -> DataFusionError {
        let shown: Vec<String> = types.iter().map(crate::datafusion::type_name::type_name).collect();
        let message = format!("function {}({}) does not exist", self.name, shown.join(", "));
        external(Error::new(ErrorKind::NoFunction, message))
    }

    fn result(&self, types: &[DataType]) -> Result<DataType> {
        let (form, mode) = self.resolved(types)?;
        Ok(match (&form.exact, mode) {
            (Exact::Whole(_) | Exact::Bucket, _) => DataType::Int32,
            (_, Mode::Float) if form.integers == Integers::Kept && types.iter().all(is_real) => DataType::Float32,
            (_, Mode::Float) => DataType::Float64,
            (_, Mode::Integers(integers)) => integers,
            (_, Mode::Exact) => data_type(),
        })
    }
}

fn is_real(data_type: &DataType) -> bool {
    *data_type == DataType::Float32
}

impl ScalarUDFImpl for Math {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.resolved(types).map(|_| types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.result(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name, self.result(&types)?, true)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let (form, mode) = self.resolved(&types)?;
        let (rows, is_one) = rows_of(&args.args);
        let result = match mode {
            Mode::Float => numeric::convert(&of_floats(form, &args.args, rows)?, &self.result(&types)?)?,
            Mode::Exact => of_exact(form, &args.args, rows)?,
            Mode::Integers(to) => convert::convert(&of_exact(form, &args.args, rows)?, &to, None)?,
        };
        columnar(result, is_one)
    }
}

/// An argument in another type.
fn converted(value: &ColumnarValue, to: &DataType) -> Result<ColumnarValue> {
    Ok(match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(numeric::convert(array, to)?),
        ColumnarValue::Scalar(value) => {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&numeric::convert(&value.to_array()?, to)?, 0)?)
        }
    })
}

/// An argument that is an exact number, which a text becomes.
fn exact(value: &ColumnarValue) -> Result<Operand> {
    if value.data_type().is_string() { Operand::of(&converted(value, &data_type())?) } else { Operand::of(value) }
}

/// The values of an argument in a type of Arrow, one for each row.
fn values<T: datafusion::arrow::datatypes::ArrowPrimitiveType>(
    value: &ColumnarValue,
    rows: usize,
) -> Result<PrimitiveArray<T>> {
    Ok(converted(value, &T::DATA_TYPE)?.into_array(rows)?.as_primitive::<T>().clone())
}

fn of_floats(form: &Form, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    match (&form.float, args) {
        (Float::One(act), [value]) => {
            let result = values::<Float64Type>(value, rows)?
                .try_unary::<_, Float64Type, _>(|value| act(value).map_err(failed))?;
            Ok(Arc::new(result))
        }
        (Float::Two(act), [left, right]) => {
            let (left, right) = (values::<Float64Type>(left, rows)?, values::<Float64Type>(right, rows)?);
            let result = left.iter().zip(&right).map(|pair| match pair {
                (Some(left), Some(right)) => act(left, right).map(Some).map_err(failed),
                _ => Ok(None),
            });
            Ok(Arc::new(result.collect::<Result<PrimitiveArray<Float64Type>>>()?))
        }
        (_, [value, low, high, count]) => {
            let [value, low, high] = [value, low, high].map(|value| values::<Float64Type>(value, rows));
            let (value, low, high, count) = (value?, low?, high?, values::<Int32Type>(count, rows)?);
            let bounds = low.iter().zip(&high).zip(&count);
            let result = value.iter().zip(bounds).map(|numbers| match numbers {
                (Some(value), ((Some(low), Some(high)), Some(count))) => {
                    floats::bucket(value, low, high, count).map(Some).map_err(failed)
                }
                _ => Ok(None),
            });
            Ok(Arc::new(result.collect::<Result<PrimitiveArray<Int32Type>>>()?))
        }
        _ => internal_err!("{} takes other arguments", form.name),
    }
}

fn of_exact(form: &Form, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    match (&form.exact, args) {
        (Exact::One(act), [value]) => {
            let value = exact(value)?;
            numerics(rows, |row| value.get(row)?.map(|value| act(&value).map_err(failed)).transpose())
        }
        (Exact::Two(act), [left, right]) => {
            let (left, right) = (exact(left)?, exact(right)?);
            numerics(rows, |row| match (left.get(row)?, right.get(row)?) {
                (Some(left), Some(right)) => act(&left, &right).map(Some).map_err(failed),
                _ => Ok(None),
            })
        }
        (Exact::Places(act), [value, places]) => {
            let (value, places) = (exact(value)?, values::<Int32Type>(places, rows)?);
            let mut places = places.iter();
            numerics(rows, |row| match (value.get(row)?, places.next().flatten()) {
                (Some(value), Some(places)) => act(&value, places.into()).map(Some).map_err(failed),
                _ => Ok(None),
            })
        }
        (Exact::Whole(act), [value]) => {
            let value = exact(value)?;
            let result = (0..rows).map(|row| Ok(value.get(row)?.as_ref().and_then(act).map(|whole| whole as i32)));
            Ok(Arc::new(result.collect::<Result<PrimitiveArray<Int32Type>>>()?))
        }
        (Exact::OfWhole(act), [value]) => {
            let mut whole = values::<Int64Type>(value, rows)?.into_iter().collect::<Vec<_>>().into_iter();
            numerics(rows, |_| whole.next().flatten().map(|whole| act(whole).map_err(failed)).transpose())
        }
        (Exact::Bucket, [value, low, high, count]) => {
            let (value, low, high) = (exact(value)?, exact(low)?, exact(high)?);
            let count = values::<Int32Type>(count, rows)?;
            let result = count.iter().enumerate().map(|(row, count)| {
                match (value.get(row)?, low.get(row)?, high.get(row)?, count) {
                    (Some(value), Some(low), Some(high), Some(count)) => {
                        value.bucket(&low, &high, count).map(Some).map_err(failed)
                    }
                    _ => Ok(None),
                }
            });
            Ok(Arc::new(result.collect::<Result<PrimitiveArray<Int32Type>>>()?))
        }
        _ => internal_err!("{} takes other arguments", form.name),
    }
}
