//! The text of any value, as PostgreSQL's output functions write it: arrays as `{1,"a b",NULL}`, rows as `(1,"a b",)`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::Result;
use longshore_csv::write;
use longshore_time::settings::Settings;

use crate::datafusion::functions::json_types as json;
use crate::datafusion::functions::numeric::convert::convert;
use crate::datafusion::functions::numeric::is_numeric;
use crate::datafusion::functions::time::casts::{self as time, Modifier};
use crate::datafusion::functions::time::kinds::{Kind, time_kind};
use crate::datafusion::functions::time::session::SessionTime;

/// The text of each value of an array of any type, times as by the usual settings.
pub(in crate::datafusion) fn texts(array: &ArrayRef) -> Result<StringViewArray> {
    texts_in(array, &SessionTime::with(&Settings::default()))
}

/// The text of each value of an array of any type, as a session with these settings sees it.
pub(in crate::datafusion) fn texts_in(array: &ArrayRef, session: &SessionTime<'_>) -> Result<StringViewArray> {
    Ok(match Writer::new(array, false, session)? {
        Writer::Texts(texts) => texts,
        writer => {
            let mut builder = StringViewBuilder::with_capacity(array.len());
            for row in 0..array.len() {
                if writer.is_null(row) {
                    builder.append_null();
                } else {
                    let mut text = String::new();
                    writer.write(row, &mut text);
                    builder.append_value(text);
                }
            }
            builder.finish()
        }
    })
}

/// The texts of arrays, rows, JSON and NUMERIC; `None` for values of other types.
pub(in crate::datafusion) fn of_nested(array: &ArrayRef) -> Option<StringViewArray> {
    let data_type = array.data_type();
    if is_nested(data_type) || is_numeric(data_type) { texts(array).ok() } else { None }
}

/// Timestamps with `T` between date and time, as JSON has them.
pub(in crate::datafusion) fn iso_timestamps(array: &ArrayRef) -> Result<StringViewArray> {
    let texts = texts(array)?;
    Ok(texts.iter().map(|text| text.map(iso_text)).collect())
}

/// The text of a timestamp as JSON has it: with `T` between date and time, and with the minutes of an offset.
pub(in crate::datafusion) fn iso_text(text: &str) -> String {
    let text = text.replacen(' ', "T", 1);
    if text.get(text.len().saturating_sub(3)..).is_some_and(is_hour_offset) { text + ":00" } else { text }
}

fn is_hour_offset(end: &str) -> bool {
    end.starts_with(['+', '-']) && end[1..].bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a struct stands for a value of a type that Arrow does not have, rather than for a row.
pub(in crate::datafusion) fn is_wrapper(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(fields) if matches!(fields.as_ref(), [field] if field.name().starts_with('$')))
}

/// Whether values are arrays or rows, which no format but ours writes.
pub(in crate::datafusion) fn is_nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(_) => true,
        DataType::Struct(_) => {
            !is_wrapper(data_type) || json::name_of(data_type).is_some() || time_kind(data_type).is_some()
        }
        _ => false,
    }
}

enum Writer {
    Texts(StringViewArray),
    List(ArrayRef, Box<Writer>),
    Row(ArrayRef, Vec<Writer>),
}

impl Writer {
    /// `is_part`: of an array or a row, where booleans are `t` and `f`.
    fn new(array: &ArrayRef, is_part: bool, session: &SessionTime<'_>) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::List(_) => {
                Self::List(Arc::clone(array), Box::new(Self::new(array.as_list::<i32>().values(), true, session)?))
            }
            DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Self::new(&cast(array, &DataType::List(Arc::clone(item)))?, is_part, session)?
            }
            DataType::Struct(_) if json::name_of(array.data_type()).is_some() => Self::Texts(json::texts(array)?),
            data_type @ DataType::Struct(_) if !is_wrapper(data_type) => {
                let columns = array.as_struct().columns().iter();
                let parts = columns.map(|column| Self::new(column, true, session)).collect::<Result<_>>()?;
                Self::Row(Arc::clone(array), parts)
            }
            DataType::Boolean if is_part => Self::Texts(
                array.as_boolean().iter().map(|value| value.map(|value| if value { "t" } else { "f" })).collect(),
            ),
            _ => Self::Texts(scalars(array, session)?),
        })
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Texts(texts) => texts.is_null(row),
            Self::List(array, _) | Self::Row(array, _) => array.is_null(row),
        }
    }

    fn write(&self, row: usize, out: &mut String) {
        match self {
            Self::Texts(texts) => out.push_str(texts.value(row)),
            Self::List(array, items) => {
                let offsets = array.as_list::<i32>().value_offsets();
                out.push('{');
                for at in offsets[row]..offsets[row + 1] {
                    out.push_str(if at > offsets[row] { "," } else { "" });
                    items.write_element(at as usize, out);
                }
                out.push('}');
            }
            Self::Row(_, parts) => {
                out.push('(');
                for (at, part) in parts.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    if !part.is_null(row) {
                        let mut text = String::new();
                        part.write(row, &mut text);
                        quote_part(&text, out);
                    }
                }
                out.push(')');
            }
        }
    }

    fn write_element(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("NULL");
        } else if let Self::List(..) = self {
            self.write(row, out);
        } else {
            let mut text = String::new();
            self.write(row, &mut text);
            quote_element(&text, out);
        }
    }
}

/// Appends an element of an array, in quotes if it needs them.
pub(in crate::datafusion) fn quote_element(text: &str, out: &mut String) {
    let needs_quotes = text.is_empty()
        || text.eq_ignore_ascii_case("null")
        || text.contains(|c: char| c.is_ascii_whitespace() || c == '\u{b}' || "{}\",\\".contains(c));
    if !needs_quotes {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Appends a column of a row, in quotes if it needs them.
fn quote_part(text: &str, out: &mut String) {
    let needs_quotes =
        text.is_empty() || text.contains(|c: char| c.is_ascii_whitespace() || c == '\u{b}' || "(),\"\\".contains(c));
    if !needs_quotes {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}

/// The texts of values that have no parts.
fn scalars(array: &ArrayRef, session: &SessionTime<'_>) -> Result<StringViewArray> {
    Ok(match array.data_type() {
        DataType::Null => StringViewArray::new_null(array.len()),
        DataType::Boolean => {
            array.as_boolean().iter().map(|value| value.map(|value| if value { "true" } else { "false" })).collect()
        }
        DataType::Float32 => written(array.as_primitive::<Float32Type>().iter(), write::float32),
        DataType::Float64 => written(array.as_primitive::<Float64Type>().iter(), write::float64),
        data_type if time_kind(data_type).is_some() => {
            time::convert(array, Kind::Text, Modifier::None, session)?.as_string_view().clone()
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let bytes = cast(array, &DataType::BinaryView)?;
            written(bytes.as_binary_view().iter(), write::bytea)
        }
        data_type if is_numeric(data_type) => convert(array, &DataType::Utf8View, None)?.as_string_view().clone(),
        _ => cast(array, &DataType::Utf8View)?.as_string_view().clone(),
    })
}

fn written<T>(values: impl Iterator<Item = Option<T>>, write: impl Fn(&mut Vec<u8>, T)) -> StringViewArray {
    let texts = values.map(|value| {
        let mut text = Vec::new();
        write(&mut text, value?);
        Some(String::from_utf8_lossy(&text).into_owned())
    });
    texts.collect()
}
