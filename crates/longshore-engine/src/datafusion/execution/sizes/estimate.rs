//! How large the results of functions will be.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

/// Estimates the results for `rows` rows of these arguments: never less than half of what they will be.
pub(super) type Estimate = fn(&[ColumnarValue], usize) -> Result<Sizes>;

/// Functions whose results can be far larger than what they are given.
pub(super) const FUNCTIONS: [(&str, Estimate); 9] = [
    ("repeat", repeat),
    ("lpad", pad),
    ("rpad", pad),
    ("replace", replace),
    ("array_repeat", array_repeat),
    ("array_resize", array_resize),
    ("array_to_string", array_to_string),
    ("generate_series", series),
    ("range", series),
];

/// Bytes that an element of a list takes beside its text.
const ELEMENT_BYTES: usize = 16;
/// Nanoseconds of a day, and of the shortest month.
const DAY_NS: i128 = 86_400 * 1_000_000_000;
const MONTH_NS: i128 = 28 * DAY_NS;

/// What the results for some rows take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Bytes of the largest value.
    pub(super) largest: usize,
    /// Bytes of all of them.
    pub(super) total: usize,
    /// What offsets count of all of them: bytes of texts, elements of lists.
    pub(super) units: usize,
}

impl Sizes {
    fn text(&mut self, bytes: usize) {
        self.list(bytes, 1);
    }

    fn list(&mut self, elements: usize, element_bytes: usize) {
        let bytes = elements.saturating_mul(element_bytes);
        self.largest = self.largest.max(bytes);
        self.total = self.total.saturating_add(bytes);
        self.units = self.units.saturating_add(elements);
    }
}

/// `repeat(text, count)`
fn repeat(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let [text, count] = args else { return Ok(Sizes::default()) };
    let (text, count) = (Lengths::of(text), Numbers::of(count)?);
    let mut sizes = Sizes::default();
    for row in 0..rows {
        sizes.text(text.at(row).saturating_mul(count.at(row)));
    }
    Ok(sizes)
}

/// `lpad(text, characters, fill)`
fn pad(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let [text, count, fill @ ..] = args else { return Ok(Sizes::default()) };
    let (text, count) = (Lengths::of(text), Numbers::of(count)?);
    let character_bytes = if fill.first().is_none_or(is_ascii) { 1 } else { 4 };
    let mut sizes = Sizes::default();
    for row in 0..rows {
        // As many characters of the text stay as are wanted.
        sizes
            .text(count.at(row).saturating_mul(character_bytes).max(text.at(row).min(count.at(row).saturating_mul(4))));
    }
    Ok(sizes)
}

/// `replace(text, from, to)`
#[expect(clippy::unnecessary_wraps, reason = "it is an estimate as others are")]
fn replace(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let [text, from, to] = args else { return Ok(Sizes::default()) };
    let (text_bytes, from_bytes, to_bytes) = (Lengths::of(text), Lengths::of(from), Lengths::of(to));
    let mut sizes = Sizes::default();
    for row in 0..rows {
        let (length, from_length, to_length) = (text_bytes.at(row), from_bytes.at(row), to_bytes.at(row));
        let places_max = length.checked_div(from_length).unwrap_or(length + 1);
        let longest = length.saturating_add(places_max.saturating_mul(to_length));
        // Most texts hold few of the places that they have room for; they are counted where it matters.
        let places = if longest > super::SMALL_BYTES && to_length > from_length && from_length > 0 {
            count_places(text, from, row).unwrap_or(places_max)
        } else {
            places_max
        };
        sizes.text(length.saturating_add(places.saturating_mul(to_length)));
    }
    Ok(sizes)
}

/// How often a text holds another one.
fn count_places(text: &ColumnarValue, from: &ColumnarValue, row: usize) -> Option<usize> {
    with_text(text, row, |text| with_text(from, row, |from| text.matches(from).count()))?
}

/// `array_repeat(element, count)`
fn array_repeat(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let [element, count] = args else { return Ok(Sizes::default()) };
    let (element, count) = (Lengths::of(element), Numbers::of(count)?);
    let mut sizes = Sizes::default();
    for row in 0..rows {
        sizes.list(count.at(row), element.at(row).saturating_add(ELEMENT_BYTES / 2));
    }
    Ok(sizes)
}

/// `array_resize(list, count, element)`
fn array_resize(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let [_, count, element @ ..] = args else { return Ok(Sizes::default()) };
    let count = Numbers::of(count)?;
    let element = element.first().map(Lengths::of);
    let mut sizes = Sizes::default();
    for row in 0..rows {
        let bytes = element.as_ref().map_or(0, |element| element.at(row));
        sizes.list(count.at(row), bytes.saturating_add(ELEMENT_BYTES / 2));
    }
    Ok(sizes)
}

/// `array_to_string(list, delimiter)`: the delimiters; the elements are no longer than they were.
#[expect(clippy::unnecessary_wraps, reason = "it is an estimate as others are")]
fn array_to_string(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let [list, delimiter, ..] = args else { return Ok(Sizes::default()) };
    let delimiter = Lengths::of(delimiter);
    let elements = |row: usize| match list {
        ColumnarValue::Scalar(ScalarValue::List(list)) => list.values().len(),
        ColumnarValue::Array(list) => match list.as_list_opt::<i32>() {
            Some(list) => list.value_length(row) as usize,
            None => 0,
        },
        ColumnarValue::Scalar(_) => 0,
    };
    let mut sizes = Sizes::default();
    for row in 0..rows {
        sizes.text(elements(row).saturating_mul(delimiter.at(row)));
    }
    Ok(sizes)
}

/// `generate_series(start, stop, step)`
#[expect(clippy::unnecessary_wraps, reason = "it is an estimate as others are")]
fn series(args: &[ColumnarValue], rows: usize) -> Result<Sizes> {
    let ends: Vec<&ColumnarValue> = args.iter().collect();
    let (start, stop, step) = match ends[..] {
        [stop] => (None, stop, None),
        [start, stop] => (Some(start), stop, None),
        [start, stop, step] => (Some(start), stop, Some(step)),
        _ => return Ok(Sizes::default()),
    };
    let is_of_time = !stop.data_type().is_integer();
    let mut sizes = Sizes::default();
    for row in 0..rows {
        let at = |value: Option<&ColumnarValue>, default| value.map_or(Some(default), |value| moment(value, row));
        let first_step = if is_of_time { DAY_NS } else { 1 };
        let (Some(start), Some(stop), Some(step)) = (at(start, 0), at(Some(stop), 0), at(step, first_step)) else {
            continue;
        };
        let elements = match (stop - start, step) {
            // Refused by the function itself.
            (_, 0) => 0,
            (way, step) if (way < 0) != (step < 0) => 1,
            (way, step) => usize::try_from(way / step + 1).unwrap_or(usize::MAX),
        };
        sizes.list(elements, ELEMENT_BYTES / 2);
    }
    Ok(sizes)
}

/// A value of a row on a line of numbers: an integer as it is, a date or a time in nanoseconds, an interval in
/// nanoseconds if it is at its shortest.
fn moment(value: &ColumnarValue, row: usize) -> Option<i128> {
    let scalar = match value {
        ColumnarValue::Scalar(scalar) => scalar.clone(),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(array, row).ok()?,
    };
    let scaled = |value: Option<i64>, factor: i128| value.map(|value| i128::from(value) * factor);
    match scalar {
        ScalarValue::Int64(value) | ScalarValue::TimestampNanosecond(value, _) => scaled(value, 1),
        ScalarValue::TimestampMicrosecond(value, _) => scaled(value, 1000),
        ScalarValue::TimestampMillisecond(value, _) => scaled(value, 1_000_000),
        ScalarValue::TimestampSecond(value, _) => scaled(value, 1_000_000_000),
        ScalarValue::Int32(value) => value.map(i128::from),
        ScalarValue::Date32(value) => value.map(|days| i128::from(days) * DAY_NS),
        ScalarValue::IntervalMonthDayNano(value) => value.map(|interval| {
            i128::from(interval.months) * MONTH_NS
                + i128::from(interval.days) * DAY_NS
                + i128::from(interval.nanoseconds)
        }),
        _ => None,
    }
}

/// The bytes of the values of an argument, row by row.
enum Lengths<'a> {
    One(usize),
    Each(&'a ArrayRef, usize),
}

impl<'a> Lengths<'a> {
    fn of(value: &'a ColumnarValue) -> Self {
        match value {
            ColumnarValue::Scalar(scalar) => Self::One(scalar_bytes(scalar)),
            ColumnarValue::Array(array) => {
                let average = if array.is_empty() { 0 } else { array.get_array_memory_size() / array.len() };
                Self::Each(array, average)
            }
        }
    }

    fn at(&self, row: usize) -> usize {
        match self {
            Self::One(bytes) => *bytes,
            Self::Each(array, average) => {
                if array.is_null(row) {
                    return 0;
                }
                match array.data_type() {
                    // The lower half of a view's first word is the length.
                    DataType::Utf8View => array.as_string_view().views()[row] as u32 as usize,
                    DataType::Utf8 => array.as_string::<i32>().value_length(row) as usize,
                    DataType::LargeUtf8 => array.as_string::<i64>().value_length(row) as usize,
                    other => other.primitive_width().unwrap_or(*average),
                }
            }
        }
    }
}

fn scalar_bytes(scalar: &ScalarValue) -> usize {
    match scalar {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.as_ref().map_or(0, String::len)
        }
        other => other.data_type().primitive_width().unwrap_or_else(|| other.size()),
    }
}

/// Counts that are given as an argument, row by row; none below zero.
enum Numbers {
    One(usize),
    Each(ArrayRef),
}

impl Numbers {
    fn of(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Scalar(scalar) => match scalar.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(Some(count)) => Self::One(usize::try_from(count).unwrap_or(0)),
                _ => Self::One(0),
            },
            ColumnarValue::Array(array) => Self::Each(cast(array, &DataType::Int64)?),
        })
    }

    fn at(&self, row: usize) -> usize {
        match self {
            Self::One(count) => *count,
            Self::Each(array) if array.is_null(row) => 0,
            Self::Each(array) => usize::try_from(array.as_primitive::<Int64Type>().value(row)).unwrap_or(0),
        }
    }
}

fn is_ascii(value: &ColumnarValue) -> bool {
    match value {
        ColumnarValue::Scalar(_) => with_text(value, 0, str::is_ascii).unwrap_or(false),
        ColumnarValue::Array(_) => false,
    }
}

/// What `act` says of the text of a row; nothing where there is none.
fn with_text<R>(value: &ColumnarValue, row: usize, act: impl FnOnce(&str) -> R) -> Option<R> {
    match value {
        ColumnarValue::Scalar(ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text)) => {
            text.as_deref().map(act)
        }
        ColumnarValue::Array(array) if array.is_valid(row) => match array.data_type() {
            DataType::Utf8View => Some(act(array.as_string_view().value(row))),
            DataType::Utf8 => Some(act(array.as_string::<i32>().value(row))),
            DataType::LargeUtf8 => Some(act(array.as_string::<i64>().value(row))),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{Int64Array, StringViewArray};

    use super::*;

    fn text(text: &str) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(text))
    }

    fn number(number: i64) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(number))
    }

    fn total(estimate: Estimate, args: &[ColumnarValue], rows: usize) -> usize {
        estimate(args, rows).expect("an estimate").total
    }

    #[test]
    fn sizes_follow_from_lengths_and_counts() {
        assert_eq!(total(repeat, &[text("ab"), number(1000)], 1), 2000);
        assert_eq!(total(repeat, &[text("ab"), number(-3)], 1), 0);
        assert_eq!(total(repeat, &[text("ab"), number(i64::MAX)], 1), usize::MAX - 1);
        let texts =
            ColumnarValue::Array(Arc::new(StringViewArray::from(vec![Some("a"), None, Some("a text of 20 bytes..")])));
        let counts = ColumnarValue::Array(Arc::new(Int64Array::from(vec![Some(5), Some(7), Some(10)])));
        let sizes = repeat(&[texts, counts], 3).expect("an estimate");
        assert_eq!(sizes, Sizes { largest: 200, total: 205, units: 205 });
        assert_eq!(total(pad, &[text("ab"), number(50)], 1), 50);
        assert_eq!(total(pad, &[text("ab"), number(50), text("é")], 1), 200);
        assert_eq!(total(replace, &[text("aXbX"), text("X"), text("12345")], 1), 4 + 4 * 5);
        assert_eq!(total(array_repeat, &[number(1), number(1000)], 1), 16_000);
        assert_eq!(total(series, &[number(1), number(1_000_000)], 1), 8_000_000);
        assert_eq!(total(series, &[number(10), number(0), number(-2)], 1), 6 * 8);
        assert_eq!(total(series, &[number(10), number(0)], 1), 8);
    }

    #[test]
    fn places_are_counted_where_it_matters() {
        let long = "ab".repeat(1 << 20);
        assert_eq!(total(replace, &[text(&long), text("x"), text("12345")], 1), long.len());
        assert_eq!(total(replace, &[text(&long), text("b"), text("12345")], 1), long.len() + (1 << 20) * 5);
    }
}
