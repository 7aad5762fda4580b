//! Parts of a value: members, elements, what lies at a path; and what is said of a value.
//!
//! They are the same for `json` and `jsonb`: a part of a normal form is one.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int32Array, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use longshore_json::{JsonError, Kind, Node, parse};

use super::arguments::{Lists, get, strict};
use crate::datafusion::functions::json_types::{failed, invalid, json, jsonb, texts, wrapped};
use crate::datafusion::functions::row_function::RowFunction;

pub(super) fn functions() -> Vec<RowFunction> {
    let text = |_: &[DataType]| Ok(DataType::Utf8View);
    let int = |_: &[DataType]| Ok(DataType::Int32);
    [
        RowFunction::new("json_object_field", |_| Ok(json()), member),
        RowFunction::new("jsonb_object_field", |_| Ok(jsonb()), member),
        RowFunction::new("json_object_field_text", text, member),
        RowFunction::new("jsonb_object_field_text", text, member),
        RowFunction::new("json_array_element", |_| Ok(json()), element),
        RowFunction::new("jsonb_array_element", |_| Ok(jsonb()), element),
        RowFunction::new("json_array_element_text", text, element),
        RowFunction::new("jsonb_array_element_text", text, element),
        RowFunction::new("json_extract_path", |_| Ok(json()), at_path),
        RowFunction::new("jsonb_extract_path", |_| Ok(jsonb()), at_path),
        RowFunction::new("json_extract_path_text", text, at_path),
        RowFunction::new("jsonb_extract_path_text", text, at_path),
        RowFunction::new("json_typeof", text, type_of),
        RowFunction::new("jsonb_typeof", text, type_of),
        RowFunction::new("json_array_length", int, array_length),
        RowFunction::new("jsonb_array_length", int, array_length),
    ]
    .into()
}

/// What is taken of a node: its part of the text, or its value as text.
fn taken(node: Option<&Node<'_>>, as_type: &DataType) -> Option<String> {
    let node = node?;
    match as_type {
        DataType::Struct(_) => Some(node.text.to_owned()),
        _ => node.as_text().map(str::to_owned),
    }
}

fn member(args: &[ArrayRef], as_type: &DataType) -> Result<ArrayRef> {
    let parts = strict(args, |args| Ok(taken(parse(args[0])?.member(args[1]), as_type)))?;
    Ok(wrapped(parts, as_type))
}

fn element(args: &[ArrayRef], as_type: &DataType) -> Result<ArrayRef> {
    let parts = strict(args, |args| {
        let index = args[1].parse().unwrap_or(i64::MAX);
        Ok(taken(parse(args[0])?.element(index), as_type))
    })?;
    Ok(wrapped(parts, as_type))
}

/// Along a path that is a list, or several texts.
fn at_path(args: &[ArrayRef], as_type: &DataType) -> Result<ArrayRef> {
    let Some((values, steps)) = args.split_first() else { return plan_err!("a path is followed through a value") };
    let parts = match steps {
        [path] if matches!(path.data_type(), DataType::List(_)) => {
            let (values, paths) = (texts(values)?, Lists::new(path)?);
            let mut builder = StringViewBuilder::with_capacity(values.len());
            for row in 0..values.len() {
                let path: Option<Vec<String>> = match paths.get(row)? {
                    Some(path) => path.into_iter().collect(),
                    None => None,
                };
                let (Some(value), Some(path)) = (get(&values, row), path) else {
                    builder.append_null();
                    continue;
                };
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                builder.append_option(taken(parse(value).map_err(failed)?.at(&path), as_type));
            }
            builder.finish()
        }
        _ => strict(args, |args| Ok(taken(parse(args[0])?.at(&args[1..]), as_type)))?,
    };
    Ok(wrapped(parts, as_type))
}

fn type_of(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    Ok(Arc::new(strict(args, |args| Ok(Some(parse(args[0])?.type_name().to_owned())))?))
}

fn array_length(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let values = texts(&args[0])?;
    let length = |value: Option<&str>| {
        let Some(value) = value else { return Ok(None) };
        match parse(value).map_err(failed)?.kind {
            Kind::Array(elements) => Ok(Some(elements.len() as i32)),
            Kind::Object(_) => Err(invalid("cannot get array length of a non-array")),
            _ => Err(invalid("cannot get array length of a scalar")),
        }
    };
    Ok(Arc::new(values.iter().map(length).collect::<Result<Int32Array>>()?))
}

/// `value[step]...`, where a step is a name or a number.
pub(super) fn subscript(args: &[ArrayRef], as_type: &DataType) -> Result<ArrayRef> {
    let parts = strict(args, |args| -> Result<_, JsonError> { Ok(taken(parse(args[0])?.at(&args[1..]), as_type)) })?;
    Ok(wrapped(parts, as_type))
}
