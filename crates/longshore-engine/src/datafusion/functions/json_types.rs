//! The types, their values as arrays, and errors.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StructArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{DataFusionError, Result};
use longshore_json::{JsonError, Problem};

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

const JSON: &str = "$json";
const JSONB: &str = "$jsonb";
const JSONPATH: &str = "$jsonpath";

/// The type `json`.
pub(in crate::datafusion) fn json() -> DataType {
    wrapper(JSON)
}

/// The type `jsonb`.
pub(in crate::datafusion) fn jsonb() -> DataType {
    wrapper(JSONB)
}

/// The type `jsonpath`.
pub(in crate::datafusion) fn jsonpath() -> DataType {
    wrapper(JSONPATH)
}

fn wrapper(name: &str) -> DataType {
    DataType::Struct(Fields::from(vec![Field::new(name, DataType::Utf8View, true)]))
}

pub(in crate::datafusion) fn is_json(data_type: &DataType) -> bool {
    is(data_type, JSON)
}

pub(in crate::datafusion) fn is_jsonb(data_type: &DataType) -> bool {
    is(data_type, JSONB)
}

fn is(data_type: &DataType, name: &str) -> bool {
    matches!(data_type, DataType::Struct(fields) if matches!(fields.as_ref(), [field] if field.name() == name))
}

/// The name of a type, if it is one of these.
pub(in crate::datafusion) fn name_of(data_type: &DataType) -> Option<&'static str> {
    [JSON, JSONB, JSONPATH].into_iter().find(|name| is(data_type, name)).map(|name| &name[1..])
}

/// `texts` as an array of the type, which is one of these or text.
pub(in crate::datafusion) fn wrapped(texts: StringViewArray, data_type: &DataType) -> ArrayRef {
    match data_type {
        DataType::Struct(fields) => {
            let nulls = texts.nulls().cloned();
            Arc::new(StructArray::new(fields.clone(), vec![Arc::new(texts)], nulls))
        }
        _ => Arc::new(texts),
    }
}

/// The text of each value of an array of one of these types, of text, or of anything that text can be made of.
pub(in crate::datafusion) fn texts(array: &ArrayRef) -> Result<StringViewArray> {
    if name_of(array.data_type()).is_some() {
        let array = array.as_struct();
        let texts = array.column(0).as_string_view();
        let nulls = NullBuffer::union(array.nulls(), texts.nulls());
        return Ok(StringViewArray::new(texts.views().clone(), texts.data_buffers().to_vec(), nulls));
    }
    Ok(cast(array, &DataType::Utf8View)?.as_string_view().clone())
}

/// An error of JSON with its SQLSTATE.
pub(in crate::datafusion) fn failed(error: JsonError) -> DataFusionError {
    let kind = match error.problem {
        Problem::InvalidText => ErrorKind::InvalidText,
        Problem::Untranslatable => ErrorKind::Coded("22P05"),
        Problem::OutOfRange => ErrorKind::OutOfRange,
        Problem::TooDeep => ErrorKind::TooComplex,
        Problem::TooLarge => ErrorKind::TooLarge,
        Problem::NullStep => ErrorKind::Coded("22004"),
        Problem::InvalidArgument => ErrorKind::Invalid,
        Problem::PathSyntax => ErrorKind::Syntax,
        Problem::NoMember => ErrorKind::Coded("2203A"),
        Problem::NoArray => ErrorKind::Coded("22039"),
        Problem::Subscript => ErrorKind::Coded("22033"),
        Problem::NoObject => ErrorKind::Coded("2203C"),
        Problem::Singleton => ErrorKind::Coded("22038"),
        Problem::NonNumeric => ErrorKind::Coded("22036"),
        Problem::DivisionByZero => ErrorKind::DivisionByZero,
        Problem::Regex => ErrorKind::Coded("2201B"),
        Problem::NoVariable => ErrorKind::NoObject,
        Problem::Unsupported => ErrorKind::Unsupported,
    };
    let message = match error.detail {
        Some(detail) => format!("{}: {detail}", error.message),
        None => error.message,
    };
    external(Error::new(kind, message))
}

/// An error about an argument.
pub(in crate::datafusion) fn invalid(message: impl Into<String>) -> DataFusionError {
    external(Error::new(ErrorKind::Invalid, message))
}
