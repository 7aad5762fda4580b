//! Casts between JSON and other types.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, StringViewArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use longshore_json::path::Path;
use longshore_json::{JsonError, Number, Value, validate};

use crate::datafusion::errors::external;
use crate::datafusion::functions::casts::numeric;
use crate::datafusion::functions::json_types::{failed, is_jsonb, name_of, texts, wrapped};
use crate::datafusion::functions::numeric::is_numeric;
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

/// `array` as values of the type `to`, where one of the types is JSON, JSONB or JSONPATH.
pub(in crate::datafusion) fn convert(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let from = array.data_type();
    let (from_name, to_name) = (name_of(from), name_of(to));
    match (from_name, to_name) {
        (_, Some(name)) if from_name.is_some_and(|from| from != "jsonpath") || from.is_string() => {
            Ok(wrapped(each(&texts(array)?, |text| of_text(text, name))?, to))
        }
        (Some(_), None) if to.is_string() => Ok(cast(&(Arc::new(texts(array)?) as ArrayRef), to)?),
        (Some(_), None) if is_jsonb(from) && *to == DataType::Boolean => {
            let booleans = each(&texts(array)?, |text| match Value::parse(text)? {
                Value::Bool(value) => Ok(value.to_string()),
                other => Ok(format!("\"{}", other.type_name())),
            })?;
            checked(&booleans, to)?;
            Ok(cast(&(Arc::new(booleans) as ArrayRef), to)?)
        }
        (Some(_), None) if is_jsonb(from) && (to.is_numeric() || is_numeric(to)) => {
            let numbers = each(&texts(array)?, |text| match Value::parse(text)? {
                Value::Number(number) if to.is_integer() => Ok(rounded(&number)),
                Value::Number(number) => Ok(number.to_string()),
                other => Ok(format!("\"{}", other.type_name())),
            })?;
            checked(&numbers, to)?;
            let numbers: ArrayRef = Arc::new(numbers);
            numeric::convert(&numbers, to)
                .map_err(|_| external(Error::new(ErrorKind::OutOfRange, format!("{} out of range", type_name(to)))))
        }
        _ => {
            let message = format!("cannot cast type {} to {}", type_name(from), type_name(to));
            Err(external(Error::new(ErrorKind::Coded("42846"), message)))
        }
    }
}

fn of_text(text: &str, name: &str) -> Result<String, JsonError> {
    match name {
        "json" => validate(text).map(|()| text.to_owned()),
        "jsonb" => Ok(Value::parse(text)?.to_text()),
        _ => Ok(Path::parse(text)?.to_string()),
    }
}

fn each(texts: &StringViewArray, make: impl Fn(&str) -> Result<String, JsonError>) -> Result<StringViewArray> {
    let mut made = StringViewBuilder::with_capacity(texts.len());
    for text in texts {
        made.append_option(text.map(&make).transpose().map_err(failed)?);
    }
    Ok(made.finish())
}

/// Refuses what is of another type, which `"` marks.
fn checked(texts: &StringViewArray, to: &DataType) -> Result<()> {
    match texts.iter().flatten().find_map(|text| text.strip_prefix('"')) {
        Some(kind) => {
            let message = format!("cannot cast jsonb {kind} to type {}", type_name(to));
            Err(external(Error::new(ErrorKind::Invalid, message)))
        }
        None => Ok(()),
    }
}

/// The whole number next to `number`; that farther from 0 if there are two.
fn rounded(number: &Number) -> String {
    let text = number.as_str();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.as_bytes().first().is_none_or(|digit| *digit < b'5') {
        return whole.to_owned();
    }
    let step = if text.starts_with('-') { -1 } else { 1 };
    // What does not fit there fits no integer.
    whole.parse::<i128>().map_or_else(|_| whole.to_owned(), |whole| (whole + step).to_string())
}
