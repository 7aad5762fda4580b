//! `date_diff(part, start, end)` as DuckDB has it: how many boundaries of `part`, such as midnights or ends of months, lie
//! between two dates or timestamps.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::Error;
use crate::datafusion::errors::external;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) struct DateDiff {
    signature: Signature,
    aliases: [String; 1],
}

impl DateDiff {
    pub(in crate::datafusion) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable), aliases: ["datediff".to_owned()] }
    }
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &'static str {
        "date_diff"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [_, moments @ ..] = arg_types else { return Err(wrong_arguments()) };
        let is_moment = |data_type: &DataType| {
            matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Null)
                || data_type.is_string()
        };
        if moments.len() != 2 || !moments.iter().all(is_moment) {
            return Err(wrong_arguments());
        }
        let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
        Ok(vec![DataType::Utf8, moment.clone(), moment])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, start, end] = args.args.as_slice() else { return internal_err!("date_diff takes three arguments") };
        let ColumnarValue::Scalar(ScalarValue::Utf8(part)) = part else {
            return Err(external(Error::unsupported("date_diff: the part, such as 'day', must be a constant")));
        };
        let Some(part) = part else { return Ok(ColumnarValue::Scalar(ScalarValue::Int64(None))) };
        let part = Part::of(part)?;
        let is_scalar = matches!((start, end), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let (start, end) = (start.to_array(rows)?, end.to_array(rows)?);
        let starts = start.as_primitive::<TimestampMicrosecondType>().iter();
        let ends = end.as_primitive::<TimestampMicrosecondType>().iter();
        let between = starts.zip(ends).map(|(start, end)| Some(part.number(end?) - part.number(start?)));
        let numbers: ArrayRef = Arc::new(between.collect::<Int64Array>());
        if is_scalar {
            return ScalarValue::try_from_array(&numbers, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(numbers))
    }
}

fn wrong_arguments() -> DataFusionError {
    external(Error::invalid("date_diff takes a part, such as 'day', and two dates or timestamps"))
}

/// A part of time, of which each moment has one with a number.
#[derive(Clone, Copy)]
enum Part {
    Micros(i64),
    Week,
    Months(i64),
}

impl Part {
    fn of(word: &str) -> Result<Self> {
        let folded = word.to_lowercase();
        let singular = folded.strip_suffix('s').unwrap_or(&folded);
        Ok(match singular {
            "microsecond" => Self::Micros(1),
            "millisecond" => Self::Micros(1000),
            "second" | "sec" => Self::Micros(MICROS_PER_SECOND),
            "minute" | "min" => Self::Micros(60 * MICROS_PER_SECOND),
            "hour" => Self::Micros(3600 * MICROS_PER_SECOND),
            "day" => Self::Micros(MICROS_PER_DAY),
            "week" => Self::Week,
            "month" | "mon" => Self::Months(1),
            "quarter" => Self::Months(3),
            "year" => Self::Months(12),
            "decade" => Self::Months(120),
            "century" | "centurie" => Self::Months(1200),
            _ => {
                return Err(external(Error::invalid(format!(
                    "date_diff: '{word}' is no part of time; there are microsecond, millisecond, second, minute, hour, \
                     day, week, month, quarter, year, decade and century"
                ))));
            }
        })
    }

    /// The number of the part that a moment lies in.
    fn number(self, micros: i64) -> i64 {
        let day = micros.div_euclid(MICROS_PER_DAY);
        match self {
            Self::Micros(micros_of_part) => micros.div_euclid(micros_of_part),
            // Weeks begin on Mondays; day 0 was a Thursday.
            Self::Week => (day + 3).div_euclid(7),
            Self::Months(months) => month_of(day).div_euclid(months),
        }
    }
}

/// The months from the beginning of year 0 to that of a day, which is counted from 1970-01-01.
///
/// Years are taken to begin in March, so that the day that some have more is their last ("chrono-Compatible Low-Level Date
/// Algorithms", Howard Hinnant).
fn month_of(day: i64) -> i64 {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    (era * 400 + year_of_era) * 12 + month_from_march + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_counted_from_the_year_0() {
        for (day, year, month) in
            [(0, 1970, 1), (-1, 1969, 12), (30, 1970, 1), (31, 1970, 2), (11_016, 2000, 2), (11_017, 2000, 3)]
        {
            assert_eq!(month_of(day), year * 12 + month - 1, "{day}");
        }
    }
}
