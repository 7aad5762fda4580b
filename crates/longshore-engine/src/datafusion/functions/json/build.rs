//! JSON that is made of other values.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::logical_expr::ScalarUDF;
use longshore_json::{Value, escape};

use super::arguments::Lists;
use super::moments::in_session;
use super::write::Writer;
use crate::datafusion::errors::external;
use crate::datafusion::functions::json_types::{failed, invalid, json, jsonb, name_of, wrapped};
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::{flattened, list_of, text_out};
use crate::datafusion::functions::row_function::RowFunction;
use crate::{Error, ErrorKind};

pub(super) fn functions() -> Vec<ScalarUDF> {
    let json_of = |_: &[DataType]| Ok(json());
    let jsonb_of = |_: &[DataType]| Ok(jsonb());
    [
        RowFunction::new("to_json", json_of, to_json),
        RowFunction::new("to_jsonb", jsonb_of, to_json),
        RowFunction::new("array_to_json", json_of, lines),
        RowFunction::new("row_to_json", json_of, lines),
        RowFunction::new("json_build_object", json_of, |args, to| build_object(args, to, 1)),
        RowFunction::new("jsonb_build_object", jsonb_of, |args, to| build_object(args, to, 1)),
        RowFunction::new("json_build_array", json_of, build_array),
        RowFunction::new("jsonb_build_array", jsonb_of, build_array),
        RowFunction::new("json_object", json_of, object),
        RowFunction::new("jsonb_object", jsonb_of, object),
        RowFunction::new("json of list", json_of, of_list),
        RowFunction::new("jsonb of list", jsonb_of, of_list),
        RowFunction::new("json array of list", json_of, |args, to| of_list(&[flat_list(&args[0])?], to)),
        RowFunction::new("jsonb array of list", jsonb_of, |args, to| of_list(&[flat_list(&args[0])?], to)),
        RowFunction::new("json object of list", json_of, object_of_list),
        RowFunction::new("jsonb object of list", jsonb_of, object_of_list),
        RowFunction::new("json of pairs", json_of, of_pairs),
        RowFunction::new("jsonb of pairs", jsonb_of, of_pairs),
    ]
    .map(in_session)
    .into()
}

/// `text`, which is JSON, in the form of the type.
pub(super) fn in_form(text: String, to: &DataType) -> Result<String> {
    if name_of(to) == Some("jsonb") {
        return Ok(Value::parse(&text).map_err(failed)?.to_text());
    }
    Ok(text)
}

/// The texts that `write` appends for each row, as values of the type; NULL where it says so.
fn made(rows: usize, to: &DataType, mut write: impl FnMut(usize, &mut String) -> Result<bool>) -> Result<ArrayRef> {
    let mut builder = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        let mut text = String::new();
        if write(row, &mut text)? {
            builder.append_value(in_form(text, to)?);
        } else {
            builder.append_null();
        }
    }
    Ok(wrapped(builder.finish(), to))
}

fn to_json(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let writer = Writer::new(&args[0])?;
    made(args[0].len(), to, |row, out| {
        writer.write(row, ",", out);
        Ok(!writer.is_null(row))
    })
}

/// `array_to_json` and `row_to_json`, which may put elements on lines of their own.
fn lines(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let writer = Writer::new(&args[0])?;
    let pretty = args.get(1).map(|pretty| pretty.as_boolean().clone());
    made(args[0].len(), to, |row, out| {
        let has_lines = pretty.as_ref().is_some_and(|pretty| !pretty.is_null(row) && pretty.value(row));
        writer.write(row, if has_lines { ",\n " } else { "," }, out);
        let is_null = writer.is_null(row) || pretty.as_ref().is_some_and(|pretty| pretty.is_null(row));
        Ok(!is_null)
    })
}

/// Keys and values by turns; the first key is argument number `first`.
fn build_object(args: &[ArrayRef], to: &DataType, first: usize) -> Result<ArrayRef> {
    if !args.len().is_multiple_of(2) {
        return Err(uneven());
    }
    if args.is_empty() {
        return made(1, to, |_, out| {
            out.push_str("{}");
            Ok(true)
        });
    }
    let keys = args.iter().step_by(2).map(key_texts).collect::<Result<Vec<_>>>()?;
    let values = args.iter().skip(1).step_by(2).map(Writer::new).collect::<Result<Vec<_>>>()?;
    made(args[0].len(), to, |row, out| {
        out.push('{');
        for (at, (keys, value)) in keys.iter().zip(&values).enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            if keys.is_null(row) {
                return Err(invalid(format!(
                    "argument {} cannot be null: Object keys should be text.",
                    first + 2 * at
                )));
            }
            escape(keys.value(row), out);
            out.push_str(" : ");
            value.write(row, ",", out);
        }
        out.push('}');
        Ok(true)
    })
}

/// Keys as texts; arrays, rows and JSON are none.
fn key_texts(array: &ArrayRef) -> Result<datafusion::arrow::array::StringViewArray> {
    let is_scalar = match array.data_type() {
        DataType::List(_) => false,
        DataType::Struct(_) => text_out::is_wrapper(array.data_type()) && name_of(array.data_type()).is_none(),
        _ => true,
    };
    if !is_scalar {
        return Err(invalid("key value must be scalar, not array, composite, or json"));
    }
    text_out::texts(array)
}

fn build_array(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let values = args.iter().map(Writer::new).collect::<Result<Vec<_>>>()?;
    made(args.first().map_or(1, Array::len), to, |row, out| {
        out.push('[');
        for (at, value) in values.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            value.write(row, ",", out);
        }
        out.push(']');
        Ok(true)
    })
}

/// `json_object`: of a list of keys and values by turns or in pairs, or of two lists.
fn object(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    if !(1..=2).contains(&args.len()) {
        return plan_err!("json_object takes one array or two");
    }
    let dimensions = |array: &ArrayRef| match array.data_type() {
        DataType::List(item) if matches!(item.data_type(), DataType::List(_)) => 2,
        _ => 1,
    };
    let subscripts = |message: &str| external(Error::new(ErrorKind::Coded("2202E"), message));
    let flattened = |array: &ArrayRef| -> Result<Lists> {
        if dimensions(array) == 1 {
            return Lists::new(array);
        }
        Lists::new(&flattened(array)?)
    };
    let (keys, values) = (flattened(&args[0])?, args.get(1).map(flattened).transpose()?);
    made(args[0].len(), to, |row, out| {
        let is_of_pairs = match keys.shape(row)?.as_deref() {
            Some([_, _, _, ..]) => return Err(subscripts("wrong number of array subscripts")),
            Some([_, columns]) if *columns != 2 => return Err(subscripts("array must have two columns")),
            Some(shape) => shape.len() == 2,
            None => dimensions(&args[0]) == 2,
        };
        let Some(keys) = keys.get(row)? else { return Ok(false) };
        let pairs: Vec<(Option<String>, Option<String>)> = if let Some(values) = &values {
            let Some(values) = values.get(row)? else { return Ok(false) };
            if is_of_pairs {
                return Err(subscripts("wrong number of array subscripts"));
            }
            if keys.len() != values.len() {
                return Err(subscripts("mismatched array dimensions"));
            }
            keys.into_iter().zip(values).collect()
        } else {
            if keys.len() % 2 == 1 {
                let message =
                    if is_of_pairs { "array must have two columns" } else { "array must have even number of elements" };
                return Err(subscripts(message));
            }
            let mut keys = keys.into_iter();
            std::iter::from_fn(|| keys.next().zip(keys.next())).collect()
        };
        out.push('{');
        for (at, (key, value)) in pairs.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            let Some(key) = key else {
                return Err(external(Error::new(ErrorKind::Coded("22004"), "null value not allowed for object key")));
            };
            escape(key, out);
            out.push_str(" : ");
            match value {
                Some(value) => escape(value, out),
                None => out.push_str("null"),
            }
        }
        out.push('}');
        Ok(true)
    })
}

/// What `json_agg` gives for the list of its values.
fn of_list(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let lists = args[0].as_list::<i32>();
    let writer = Writer::new(lists.values())?;
    let separator = if writer.is_nested() { ", \n " } else { ", " };
    made(lists.len(), to, |row, out| {
        let offsets = lists.value_offsets();
        out.push('[');
        for at in offsets[row]..offsets[row + 1] {
            out.push_str(if at > offsets[row] { separator } else { "" });
            writer.write(at as usize, ",", out);
        }
        out.push(']');
        Ok(!lists.is_null(row))
    })
}

/// What `json_build_object` gives for keys and values by turns in an array.
fn object_of_list(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let lists = flat_list(&args[0])?;
    let lists = lists.as_list::<i32>();
    let (keys, values) = (key_texts(lists.values())?, Writer::new(lists.values())?);
    made(lists.len(), to, |row, out| {
        let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
        if range.len() % 2 == 1 {
            return Err(uneven());
        }
        out.push('{');
        for at in range.clone().step_by(2) {
            out.push_str(if at > range.start { ", " } else { "" });
            if keys.is_null(at) {
                let number = at - range.start + 1;
                return Err(invalid(format!("argument {number} cannot be null: Object keys should be text.")));
            }
            escape(keys.value(at), out);
            out.push_str(" : ");
            values.write(at + 1, ",", out);
        }
        out.push('}');
        Ok(!lists.is_null(row))
    })
}

/// An argument as an array of one dimension.
fn flat_list(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => flattened(array),
        _ => cast_to(array, &list_of(DataType::Utf8View)),
    }
}

fn uneven() -> DataFusionError {
    invalid(
        "argument list must have even number of elements: The arguments of json_build_object() must consist of \
         alternating keys and values.",
    )
}

/// What `json_object_agg` gives for the list of its pairs.
fn of_pairs(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let lists = args[0].as_list::<i32>();
    let pairs = lists.values().as_struct();
    let (keys, values) = (key_texts(pairs.column(0))?, Writer::new(pairs.column(1))?);
    made(lists.len(), to, |row, out| {
        let offsets = lists.value_offsets();
        out.push_str("{ ");
        for at in offsets[row]..offsets[row + 1] {
            out.push_str(if at > offsets[row] { ", " } else { "" });
            let at = at as usize;
            if keys.is_null(at) {
                return Err(invalid("field name must not be null"));
            }
            escape(keys.value(at), out);
            out.push_str(" : ");
            values.write(at, ",", out);
        }
        out.push_str(" }");
        Ok(!lists.is_null(row))
    })
}

/// A function by its name, for those that put others in its place.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    functions().into_iter().find(|function| function.name() == name).map(Arc::new)
}
