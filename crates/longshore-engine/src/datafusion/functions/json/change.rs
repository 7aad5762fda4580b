//! Values that are made of others, and questions to a value.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringViewArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use longshore_json::change::{self, At};
use longshore_json::{JsonError, Value, parse, pretty, search};

use super::arguments::{Lists, Memo, get, strict, value};
use crate::datafusion::functions::json_types::{failed, invalid, json, jsonb, texts, wrapped};
use crate::datafusion::functions::row_function::RowFunction;

pub(super) fn functions() -> Vec<RowFunction> {
    let boolean = |_: &[DataType]| Ok(DataType::Boolean);
    let jsonb_of = |_: &[DataType]| Ok(jsonb());
    [
        RowFunction::new("jsonb_concat", jsonb_of, concat),
        RowFunction::new("jsonb_delete", jsonb_of, delete),
        RowFunction::new("jsonb_delete_path", jsonb_of, |args, to| at_path(args, to, |_, _| Ok(Change::Delete))),
        RowFunction::new("jsonb_set", jsonb_of, |args, to| at_path(args, to, set)).with_parameters(&[
            "jsonb_in",
            "path",
            "replacement",
            "create_if_missing",
        ]),
        RowFunction::new("jsonb_set_lax", jsonb_of, |args, to| at_path(args, to, set_lax)).with_parameters(&[
            "jsonb_in",
            "path",
            "replacement",
            "create_if_missing",
            "null_value_treatment",
        ]),
        RowFunction::new("jsonb_insert", jsonb_of, |args, to| at_path(args, to, insert)).with_parameters(&[
            "jsonb_in",
            "path",
            "replacement",
            "insert_after",
        ]),
        RowFunction::new(
            "jsonb_pretty",
            |_| Ok(DataType::Utf8View),
            |args, _| Ok(Arc::new(strict(args, |args| Ok(Some(pretty(&value(args[0])?))))?)),
        ),
        RowFunction::new(
            "json_strip_nulls",
            |_| Ok(json()),
            |args, to| {
                let texts = strict(args, |args| {
                    let mut text = String::new();
                    change::write_stripped(&parse(args[0])?, &mut text);
                    Ok(Some(text))
                });
                Ok(wrapped(texts?, to))
            },
        ),
        RowFunction::new("jsonb_strip_nulls", jsonb_of, |args, to| {
            let texts = strict(args, |args| {
                let mut value = value(args[0])?;
                change::strip_nulls(&mut value);
                Ok(Some(value.to_text()))
            });
            Ok(wrapped(texts?, to))
        }),
        RowFunction::new("jsonb_contains", boolean, |args, _| questions(args, search::contains)),
        RowFunction::new("jsonb_contained", boolean, |args, _| {
            questions(args, |left, right| search::contains(right, left))
        }),
        RowFunction::new("jsonb_exists", boolean, exists),
        RowFunction::new("jsonb_exists_any", boolean, |args, _| exist(args, |names, exists| names.iter().any(exists))),
        RowFunction::new("jsonb_exists_all", boolean, |args, _| exist(args, |names, exists| names.iter().all(exists))),
    ]
    .into()
}

fn concat(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let texts = strict(args, |args| Ok(Some(change::concat(value(args[0])?, value(args[1])?).to_text())));
    Ok(wrapped(texts?, to))
}

fn delete(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let by_index = args[1].data_type().is_integer();
    let texts = match args[1].data_type() {
        DataType::List(_) => {
            let (values, names) = (texts(&args[0])?, Lists::new(&args[1])?);
            let mut builder = StringViewBuilder::with_capacity(values.len());
            for row in 0..values.len() {
                let (Some(text), Some(names)) = (get(&values, row), names.get(row)?) else {
                    builder.append_null();
                    continue;
                };
                let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
                let rest = value(text).and_then(|value| change::without(value, &names));
                builder.append_value(rest.map_err(failed)?.to_text());
            }
            builder.finish()
        }
        _ => strict(args, |args| {
            let value = value(args[0])?;
            let rest = match args[1].parse() {
                Ok(index) if by_index => change::without_element(value, index),
                _ => change::without(value, &args[1..2]),
            };
            Ok(Some(rest?.to_text()))
        })?,
    };
    Ok(wrapped(texts, to))
}

/// What is done at a path.
enum Change {
    Nothing,
    /// The result is NULL.
    Null,
    Delete,
    Replace(Value),
    Set(Value),
    Before(Value),
    Behind(Value),
}

/// Changes at paths; `what` is done is told by the arguments behind the path, and the row.
fn at_path(
    args: &[ArrayRef],
    to: &DataType,
    what: fn(&[StringViewArray], usize) -> Result<Change>,
) -> Result<ArrayRef> {
    let (values, paths) = (texts(&args[0])?, Lists::new(&args[1])?);
    let rest = args[2..].iter().map(texts).collect::<Result<Vec<_>>>()?;
    let mut builder = StringViewBuilder::with_capacity(values.len());
    for row in 0..values.len() {
        let (Some(text), Some(path)) = (get(&values, row), paths.get(row)?) else {
            builder.append_null();
            continue;
        };
        let change = what(&rest, row)?;
        let at = match &change {
            Change::Nothing => {
                builder.append_value(text);
                continue;
            }
            Change::Null => {
                builder.append_null();
                continue;
            }
            Change::Delete => At::Delete,
            Change::Replace(new) => At::Replace(new),
            Change::Set(new) => At::Set(new),
            Change::Before(new) => At::Before(new),
            Change::Behind(new) => At::Behind(new),
        };
        let path: Vec<Option<&str>> = path.iter().map(Option::as_deref).collect();
        let changed = value(text).and_then(|value| change::at_path(value, &path, at));
        builder.append_value(changed.map_err(failed)?.to_text());
    }
    Ok(wrapped(builder.finish(), to))
}

/// A flag that follows; `None` if it is NULL.
fn flag(args: &[StringViewArray], at: usize, row: usize, default: bool) -> Option<bool> {
    args.get(at).map_or(Some(default), |flags| get(flags, row).map(|flag| flag == "true" || flag == "t"))
}

fn set(args: &[StringViewArray], row: usize) -> Result<Change> {
    let (Some(new), Some(creates)) = (get(&args[0], row), flag(args, 1, row, true)) else { return Ok(Change::Null) };
    let new = value(new).map_err(failed)?;
    Ok(if creates { Change::Set(new) } else { Change::Replace(new) })
}

fn insert(args: &[StringViewArray], row: usize) -> Result<Change> {
    let (Some(new), Some(is_behind)) = (get(&args[0], row), flag(args, 1, row, false)) else { return Ok(Change::Null) };
    let new = value(new).map_err(failed)?;
    Ok(if is_behind { Change::Behind(new) } else { Change::Before(new) })
}

/// `jsonb_set_lax`, which says what NULL for a new value means.
fn set_lax(args: &[StringViewArray], row: usize) -> Result<Change> {
    if get(&args[0], row).is_some() {
        return set(&args[..args.len().min(2)], row);
    }
    let Some(creates) = flag(args, 1, row, true) else { return Ok(Change::Null) };
    let treatment = match args.get(2) {
        Some(treatments) => get(treatments, row),
        None => Some("use_json_null"),
    };
    match treatment {
        Some("raise_exception") => {
            Err(failed(JsonError::new(longshore_json::Problem::NullStep, "JSON value must not be null")))
        }
        Some("use_json_null") if creates => Ok(Change::Set(Value::Null)),
        Some("use_json_null") => Ok(Change::Replace(Value::Null)),
        Some("delete_key") => Ok(Change::Delete),
        Some("return_target") => Ok(Change::Nothing),
        _ => Err(invalid(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
        )),
    }
}

fn questions(args: &[ArrayRef], asked: fn(&Value, &Value) -> bool) -> Result<ArrayRef> {
    let (left, right) = (texts(&args[0])?, texts(&args[1])?);
    let (mut left_memo, mut right_memo) = (Memo::new(), Memo::new());
    let answers = (0..left.len()).map(|row| {
        let (Some(left), Some(right)) = (get(&left, row), get(&right, row)) else { return Ok(None) };
        let left = left_memo.get(left, value)?;
        Ok(Some(asked(left, right_memo.get(right, value)?)))
    });
    Ok(Arc::new(answers.collect::<Result<BooleanArray>>()?))
}

fn exists(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let found = strict(args, |args| Ok(Some(search::exists(&value(args[0])?, args[1]).to_string())))?;
    let found: ArrayRef = Arc::new(found);
    Ok(Arc::new(cast(&found, &DataType::Boolean)?.as_boolean().clone()))
}

type Exists<'a> = &'a dyn Fn(&&str) -> bool;

fn exist(args: &[ArrayRef], asked: fn(&[&str], Exists<'_>) -> bool) -> Result<ArrayRef> {
    let (values, names) = (texts(&args[0])?, Lists::new(&args[1])?);
    let answers = (0..values.len()).map(|row| {
        let (Some(text), Some(names)) = (get(&values, row), names.get(row)?) else { return Ok(None) };
        let value = value(text).map_err(failed)?;
        let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        Ok(Some(asked(&names, &|name| search::exists(&value, name))))
    });
    Ok(Arc::new(answers.collect::<Result<BooleanArray>>()?))
}
