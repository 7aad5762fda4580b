//! `generate_series` of timestamps: an array, which the planner makes rows of. Of numbers it is another function.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, ListArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use longshore_time::interval::Interval;
use longshore_time::moment::{plus, plus_in};

use super::casts::{Modifier, convert};
use super::kinds::{Kind, time_kind};
use super::session::{SessionTime, time_error};
use super::values::{Builder, Column, Value};
use crate::Error;
use crate::datafusion::errors::external;

/// Timestamps of a series, at most.
const LENGTH_MAX: usize = 50_000_000;

/// Puts the function in the place of that of numbers, which it calls.
pub(in crate::datafusion) fn register(state: &mut SessionState) -> Result<()> {
    let of_numbers = state.udf("generate_series")?;
    let signature = Signature::user_defined(Volatility::Immutable);
    let series = ScalarUDF::new_from_impl(Series { of_numbers, signature });
    state.register_udf(Arc::new(series)).map(|_| ())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Series {
    of_numbers: Arc<ScalarUDF>,
    signature: Signature,
}

/// The type of the moments of a series; `None` if it is one of numbers.
fn kind(types: &[DataType]) -> Option<Kind> {
    let [start, end, _] = types else { return None };
    let kinds = [start, end].map(time_kind);
    if kinds.iter().all(Option::is_none) {
        return None;
    }
    // A date is a timestamp with zone where it is not said otherwise.
    let is_local = kinds.contains(&Some(Kind::Timestamp)) && !kinds.contains(&Some(Kind::TimestampTz));
    Some(if is_local { Kind::Timestamp } else { Kind::TimestampTz })
}

fn list_of(kind: Kind) -> Arc<Field> {
    Arc::new(Field::new_list_field(kind.data_type(), true))
}

impl ScalarUDFImpl for Series {
    fn name(&self) -> &'static str {
        "generate_series"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match kind(arg_types) {
            Some(_) => Ok(arg_types.to_vec()),
            None => self.of_numbers.coerce_types(arg_types),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match kind(arg_types) {
            Some(kind) => Ok(DataType::List(list_of(kind))),
            None => self.of_numbers.return_type(arg_types),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let Some(kind) = kind(&types) else { return self.of_numbers.invoke_with_args(args) };
        let session = SessionTime::of(&args.config_options);
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let column = |at: usize, kind: Kind| -> Result<Column> {
            Column::new(&convert(&args.args[at].to_array(rows)?, kind, Modifier::None, &session)?)
        };
        let (starts, ends, steps) = (column(0, kind)?, column(1, kind)?, column(2, Kind::Interval)?);
        let mut moments = Builder::new(kind, rows);
        let mut lengths = Vec::with_capacity(rows);
        let mut valid = Vec::with_capacity(rows);
        for row in 0..rows {
            let (start, end, step) = (starts.value(row), ends.value(row), steps.value(row));
            let ends = match (start, end, step) {
                (
                    Value::Timestamp(start) | Value::TimestampTz(start),
                    Value::Timestamp(end) | Value::TimestampTz(end),
                    Value::Interval(step),
                ) => Some((start, end, step)),
                _ => None,
            };
            valid.push(ends.is_some());
            lengths.push(match ends {
                Some((start, end, step)) => fill(&mut moments, kind, start, end, step, &session)?,
                None => 0,
            });
        }
        let nulls = Some(NullBuffer::from(valid));
        let lists: ArrayRef =
            Arc::new(ListArray::try_new(list_of(kind), OffsetBuffer::from_lengths(lengths), moments.finish(), nulls)?);
        if is_scalar {
            return ScalarValue::try_from_array(&lists, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(lists))
    }
}

/// Appends the moments of one series, and returns how many they are.
fn fill(
    moments: &mut Builder,
    kind: Kind,
    start: i64,
    end: i64,
    step: Interval,
    session: &SessionTime<'_>,
) -> Result<usize> {
    let zero = Interval::default();
    if step == zero {
        return Err(external(Error::invalid("step size cannot equal zero")));
    }
    let is_within = |moment: i64| if step > zero { moment <= end } else { moment >= end };
    let (mut moment, mut length) = (start, 0);
    while is_within(moment) {
        length += 1;
        if length > LENGTH_MAX {
            return Err(external(Error::unsupported("generate_series of so many timestamps is not supported")));
        }
        let is_zoned = kind == Kind::TimestampTz;
        moments.append(if is_zoned { Value::TimestampTz(moment) } else { Value::Timestamp(moment) })?;
        let next = if is_zoned { plus_in(&session.settings().zone, moment, step) } else { plus(moment, step) };
        moment = next.map_err(|error| time_error(&error))?;
    }
    Ok(length)
}
