//! `extract` and `date_part`. The first gives numeric, whose digits behind the point the field decides; the second double
//! precision.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Field, FieldRef, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_time::part::{self, Part, Source};
use longshore_time::unit::Unit;

use super::casts::{self, Modifier};
use super::kinds::Kind;
use super::session::{SessionTime, time_error};
use super::values::{Column, Value};
use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// Digits behind the point where the field is not known while planning.
const ANY_SCALE: u8 = 6;

/// Both functions.
pub(super) fn functions() -> impl Iterator<Item = ScalarUDF> {
    [("extract", true), ("date_part", false)].into_iter().map(|(name, is_exact)| function(name, is_exact))
}

/// The one that gives numeric.
pub(super) fn exact() -> ScalarUDF {
    function("extract", true)
}

fn function(name: &'static str, is_exact: bool) -> ScalarUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    ScalarUDF::new_from_impl(Extract { name, is_exact, signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extract {
    name: &'static str,
    /// Whether it gives numeric.
    is_exact: bool,
    signature: Signature,
}

fn source(data_type: &DataType) -> Option<(Source, Kind)> {
    let kind = match data_type {
        // A text without a type, or NULL, is a timestamp with zone.
        DataType::Null => Kind::TimestampTz,
        data_type if data_type.is_string() => Kind::TimestampTz,
        data_type => Kind::of(data_type)?,
    };
    let source = match kind {
        Kind::Date => Source::Date,
        Kind::Time => Source::Time,
        Kind::TimeTz => Source::TimeTz,
        Kind::Timestamp => Source::Timestamp,
        Kind::TimestampTz => Source::TimestampTz,
        Kind::Interval => Source::Interval,
        _ => return None,
    };
    Some((source, kind))
}

impl Extract {
    /// What the field is taken from: `date_part` makes a timestamp of a date.
    fn source(&self, data_type: &DataType) -> Option<(Source, Kind)> {
        match source(data_type)? {
            (Source::Date, _) if !self.is_exact => Some((Source::Timestamp, Kind::Timestamp)),
            found => Some(found),
        }
    }

    fn result(&self, unit: Option<Unit>, source: Source) -> DataType {
        if !self.is_exact {
            return DataType::Float64;
        }
        match unit.map_or(ANY_SCALE, |unit| source.scale(unit)) {
            0 => DataType::Decimal128(18, 0),
            scale @ ..=6 => DataType::Decimal128(24, scale as i8),
            scale => DataType::Decimal128(38, scale as i8),
        }
    }
}

impl ScalarUDFImpl for Extract {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [field, value] if (field.is_string() || field.is_null()) && source(value).is_some() => {
                Ok(arg_types.to_vec())
            }
            _ => {
                let names: Vec<String> = arg_types.iter().map(ToString::to_string).collect();
                let message = format!("function {}({}) does not exist", self.name, names.join(", "));
                Err(external(Error::new(ErrorKind::NoFunction, message)))
            }
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{} has a type by its arguments", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [_, value] = args.arg_fields else { return internal_err!("{} takes two arguments", self.name) };
        let Some((source, _)) = self.source(value.data_type()) else {
            return internal_err!("{} of {}", self.name, value.data_type());
        };
        let word = args.scalar_arguments.first().copied().flatten().and_then(|word| word.try_as_str().flatten());
        let unit = match word {
            Some(word) => Some(source.unit(word).map_err(|error| time_error(&error))?),
            None => None,
        };
        Ok(Arc::new(Field::new(self.name, self.result(unit, source), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [words, value] = args.args.as_slice() else { return internal_err!("{} takes two arguments", self.name) };
        let Some((source, kind)) = self.source(&value.data_type()) else {
            return internal_err!("{} of {}", self.name, value.data_type());
        };
        let session = SessionTime::of(&args.config_options);
        let is_scalar = matches!((words, value), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let values = value.to_array(rows)?;
        let values = match Kind::of(values.data_type()) {
            Some(found) if found == kind => values,
            Some(_) => casts::convert(&values, kind, Modifier::None, &session)?,
            None => cast(&values, &kind.data_type())?,
        };
        let units = match words {
            ColumnarValue::Scalar(word) => match word.try_as_str().flatten() {
                Some(word) => Units::One(source.unit(word).map_err(|error| time_error(&error))?),
                None => Units::None,
            },
            ColumnarValue::Array(words) => Units::Each(Column::new(words)?),
        };
        let DataType::Decimal128(precision, scale) = *args.return_field.data_type() else {
            let fields = Fields::new(&values, source, units, &session)?;
            let numbers: Float64Array =
                (0..rows).map(|row| Ok(fields.part(row)?.and_then(Part::to_f64))).collect::<Result<_>>()?;
            return finished(Arc::new(numbers), is_scalar);
        };
        if let (Units::One(Unit::Year), Source::Date | Source::Timestamp) = (&units, source)
            && let Some(years) = years(&values)
        {
            return finished(Arc::new(years.with_precision_and_scale(precision, scale)?), is_scalar);
        }
        let fields = Fields::new(&values, source, units, &session)?;
        let numbers: Decimal128Array = (0..rows)
            .map(|row| fields.part(row)?.map_or(Ok(None), |part| scaled(part, scale)))
            .collect::<Result<_>>()?;
        finished(Arc::new(numbers.with_precision_and_scale(precision, scale)?), is_scalar)
    }
}

fn finished(array: ArrayRef, is_scalar: bool) -> Result<ColumnarValue> {
    if is_scalar {
        ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar)
    } else {
        Ok(ColumnarValue::Array(array))
    }
}

/// Years of finite dates or timestamps; `None` if some are infinite. This is what queries ask for most.
fn years(values: &ArrayRef) -> Option<Decimal128Array> {
    use longshore_time::calendar::{civil, is_finite, is_finite_date, split};
    let counted = |year: i64| i128::from(if year > 0 { year } else { year - 1 });
    match values.data_type() {
        DataType::Date32 => {
            let days = values.as_primitive::<Date32Type>();
            days.iter().flatten().all(is_finite_date).then(|| days.unary(|days| counted(civil(days.into()).0)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = values.as_primitive::<TimestampMicrosecondType>();
            micros.iter().flatten().all(is_finite).then(|| micros.unary(|micros| counted(civil(split(micros).0).0)))
        }
        _ => None,
    }
}

enum Units {
    None,
    One(Unit),
    Each(Column),
}

struct Fields<'a> {
    column: Column,
    source: Source,
    units: Units,
    session: &'a SessionTime<'a>,
}

impl<'a> Fields<'a> {
    fn new(values: &ArrayRef, source: Source, units: Units, session: &'a SessionTime<'a>) -> Result<Self> {
        Ok(Self { column: Column::new(values)?, source, units, session })
    }

    fn part(&self, row: usize) -> Result<Option<Part>> {
        let unit = match &self.units {
            Units::None => return Ok(None),
            Units::One(unit) => *unit,
            Units::Each(words) => match words.value(row) {
                Value::Text(word) => self.source.unit(&word).map_err(|error| time_error(&error))?,
                _ => return Ok(None),
            },
        };
        Ok(Some(match self.column.value(row) {
            Value::Date(days) => part::of_date(unit, days),
            Value::Timestamp(micros) => part::of_timestamp(unit, micros),
            Value::TimestampTz(micros) => part::of_timestamptz(unit, micros, &self.session.settings().zone),
            Value::Time(micros) => part::of_time(unit, micros),
            Value::TimeTz(time) => part::of_timetz(unit, time),
            Value::Interval(interval) => part::of_interval(unit, interval),
            _ => return Ok(None),
        }))
    }
}

/// A field's number with so many digits behind the point.
fn scaled(part: Part, scale: i8) -> Result<Option<i128>> {
    match part {
        Part::Null => Ok(None),
        Part::Number { value, scale: own } => {
            let more = i32::from(scale) - i32::from(own);
            let unit = 10_i128.pow(more.unsigned_abs());
            Ok(Some(if more >= 0 { value * unit } else { value / unit }))
        }
        Part::Infinite { .. } => Err(external(Error::unsupported(
            "extract of an infinite date or timestamp gives Infinity, which numeric cannot hold here; date_part gives it",
        ))),
    }
}
