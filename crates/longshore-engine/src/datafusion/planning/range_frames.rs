//! RANGE with offsets over times of day and intervals, which are no numbers that `DataFusion` could add to.
//!
//! What is ordered by becomes a number of microseconds, and so do the offsets. As in PostgreSQL, of an offset of a time of day only
//! what is below a day counts, and the end of the day is not passed. A time with a zone is ordered by the moment, then by the
//! zone, so that its number has both.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Decimal128Builder, StringViewArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::cast::as_binary_view_array;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{ExprSchemable, ScalarUDF, WindowFrame, WindowFrameBound, WindowFrameUnits};
use longshore_time::interval::IntervalType;
use longshore_time::read;
use longshore_time::settings::IntervalStyle;

use crate::datafusion::errors::external;
use crate::datafusion::functions::bytea_text::hex;
use crate::datafusion::functions::row_function::RowFunction;
use crate::datafusion::functions::time::kinds::{Kind, time_kind};
use crate::datafusion::functions::time::session::time_error;
use crate::datafusion::functions::time::values::{Column, Value};
use crate::{Error, ErrorKind};

/// What a number of microseconds is multiplied by beside a zone.
const ZONES: i128 = 1 << 18;
const NUMBER: DataType = DataType::Decimal128(38, 0);

static NUMBERS: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(RowFunction::new("range key", |_| Ok(NUMBER), |args, _| numbers(&args[0])).function()));

static DIGITS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(RowFunction::new("bytes key", |_| Ok(DataType::Utf8View), |args, _| digits(&args[0])).function())
});

/// Puts numbers in the place of what a window is ordered by and of the offsets of its frame, if it is such a one; whether it is.
pub(super) fn as_numbers(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<bool> {
    if !has_offset(&params.window_frame) {
        return as_comparable(params, schema);
    }
    let [sort] = params.order_by.as_mut_slice() else { return Ok(false) };
    let kind = sort.expr.get_type(schema).ok().and_then(|data_type| time_kind(&data_type));
    let Some(kind @ (Kind::Time | Kind::TimeTz | Kind::Interval)) = kind else { return Ok(false) };
    let WindowFrame { start_bound, end_bound, .. } = &mut params.window_frame;
    for bound in [start_bound, end_bound] {
        if let WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) = bound {
            offset_as_number(offset, kind)?;
        }
    }
    sort.expr = NUMBERS.call(vec![std::mem::take(&mut sort.expr)]);
    Ok(true)
}

/// The same for a frame without an offset, for which `DataFusion` wants a type that it could add to all the same.
fn as_comparable(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<bool> {
    let Some(sort) = params.order_by.first_mut() else { return Ok(false) };
    let function = match sort.expr.get_type(schema)? {
        DataType::Time64(_) => &NUMBERS,
        DataType::BinaryView => &DIGITS,
        _ => return Ok(false),
    };
    sort.expr = function.call(vec![std::mem::take(&mut sort.expr)]);
    Ok(true)
}

/// Whether it is a frame by RANGE that adds an offset to what is ordered by.
pub(super) fn has_offset(frame: &WindowFrame) -> bool {
    let is_one = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => !offset.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range && (is_one(&frame.start_bound) || is_one(&frame.end_bound))
}

/// Bytes as texts that are in the same order.
fn digits(bytes: &ArrayRef) -> Result<ArrayRef> {
    let texts: StringViewArray = as_binary_view_array(bytes)?.iter().map(|bytes| bytes.map(hex)).collect();
    Ok(Arc::new(texts))
}

fn offset_as_number(offset: &mut ScalarValue, kind: Kind) -> Result<()> {
    let ScalarValue::Utf8(Some(text)) = &*offset else { return Ok(()) };
    let interval = read::interval(text, IntervalType::default(), IntervalStyle::default());
    let interval = interval.map_err(|error| time_error(&error))?;
    let number = match kind {
        Kind::Interval => interval.total(),
        Kind::TimeTz => i128::from(interval.micros) * ZONES,
        _ => i128::from(interval.micros),
    };
    if number < 0 {
        let message = "invalid preceding or following size in window function";
        return Err(external(Error::new(ErrorKind::FRAME_OFFSET, message)));
    }
    *offset = ScalarValue::Decimal128(Some(number), 38, 0);
    Ok(())
}

fn numbers(array: &ArrayRef) -> Result<ArrayRef> {
    let column = Column::new(array)?;
    let mut numbers = Decimal128Builder::with_capacity(array.len()).with_data_type(NUMBER);
    for row in 0..array.len() {
        numbers.append_option(match column.value(row) {
            Value::Null => None,
            Value::Time(micros) => Some(micros.into()),
            Value::TimeTz(time) => Some(i128::from(time.utc()) * ZONES + i128::from(time.west) + ZONES / 2),
            Value::Interval(interval) => Some(interval.total()),
            _ => return internal_err!("a time of day or an interval is wanted"),
        });
    }
    Ok(Arc::new(numbers.finish()))
}
