//! Rows that are made of objects: `json_populate_record` and its like. The first argument tells the columns, and gives the
//! values of those that an object does not have.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, StringViewBuilder, StructArray, UInt64Array, new_null_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{interleave, take};
use datafusion::arrow::datatypes::{DataType, Fields};
use datafusion::common::{Result, plan_err};
use longshore_json::{Kind, Node, Value, parse};

use super::arguments::get;
use super::rows::{ListBuilder, list};
use crate::datafusion::functions::json_types::{failed, invalid, name_of, texts, wrapped};
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::text_out;
use crate::datafusion::functions::row_function::RowFunction;

pub(super) fn functions() -> Vec<RowFunction> {
    [
        RowFunction::new("json_to_record", row_type, |args, to| record(args, to, "json_to_record")),
        RowFunction::new("jsonb_to_record", row_type, |args, to| record(args, to, "jsonb_to_record")),
        RowFunction::new(
            "json_to_recordset",
            |types| Ok(list(row_type(types)?)),
            |args, to| records(args, to, "json_to_recordset"),
        ),
        RowFunction::new(
            "jsonb_to_recordset",
            |types| Ok(list(row_type(types)?)),
            |args, to| records(args, to, "jsonb_to_recordset"),
        ),
        RowFunction::new("json_populate_record", row_type, |args, to| record(args, to, "json_populate_record")),
        RowFunction::new("jsonb_populate_record", row_type, |args, to| record(args, to, "jsonb_populate_record")),
        RowFunction::new(
            "json_populate_recordset",
            |types| Ok(list(row_type(types)?)),
            |args, to| records(args, to, "json_populate_recordset"),
        ),
        RowFunction::new(
            "jsonb_populate_recordset",
            |types| Ok(list(row_type(types)?)),
            |args, to| records(args, to, "jsonb_populate_recordset"),
        ),
    ]
    .into()
}

fn row_type(types: &[DataType]) -> Result<DataType> {
    match types.first() {
        Some(row @ DataType::Struct(_)) if !text_out::is_wrapper(row) => Ok(row.clone()),
        _ => plan_err!("the first argument must be a row"),
    }
}

fn record(args: &[ArrayRef], to: &DataType, function: &str) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to else { return plan_err!("a row is wanted") };
    let values = texts(&args[1])?;
    let mut nodes = Vec::with_capacity(values.len());
    for row in 0..values.len() {
        let node = get(&values, row).map(parse).transpose().map_err(failed)?;
        match node.as_ref().map(|node| &node.kind) {
            None | Some(Kind::Object(_) | Kind::Null) => nodes.push(node),
            Some(Kind::Array(_)) => return Err(invalid(format!("cannot call {function} on an array"))),
            Some(_) => return Err(invalid(format!("cannot call {function} on a scalar"))),
        }
    }
    let nodes: Vec<Option<&Node<'_>>> = nodes.iter().map(Option::as_ref).collect();
    rows(&nodes, args[0].as_struct(), fields)
}

fn records(args: &[ArrayRef], to: &DataType, function: &str) -> Result<ArrayRef> {
    let DataType::List(item) = to else { return plan_err!("rows are wanted") };
    let DataType::Struct(fields) = item.data_type() else { return plan_err!("rows are wanted") };
    let values = texts(&args[1])?;
    let mut all = Vec::new();
    let (mut lists, mut places) = (ListBuilder::new(values.len()), Vec::new());
    for row in 0..values.len() {
        let Some(text) = get(&values, row) else {
            lists.append(None);
            continue;
        };
        let elements = match parse(text).map_err(failed)?.kind {
            Kind::Array(elements) => elements,
            _ if function.starts_with("jsonb") => {
                return Err(invalid(format!("cannot call {function} on a non-array")));
            }
            Kind::Object(_) => return Err(invalid(format!("cannot call {function} on an object"))),
            _ => return Err(invalid(format!("cannot call {function} on a scalar"))),
        };
        lists.append(Some(elements.len()));
        places.extend(std::iter::repeat_n(row as u64, elements.len()));
        all.extend(elements);
    }
    if all.iter().any(|node| !matches!(node.kind, Kind::Object(_))) {
        return Err(invalid(format!("argument of {function} must be an array of objects")));
    }
    let nodes: Vec<Option<&Node<'_>>> = all.iter().map(Some).collect();
    let bases = take(&args[0], &UInt64Array::from(places), None)?;
    Ok(lists.finish(rows(&nodes, bases.as_struct(), fields)?))
}

/// A row of each object; what it has no member for is that of `bases`.
fn rows(nodes: &[Option<&Node<'_>>], bases: &StructArray, fields: &Fields) -> Result<ArrayRef> {
    let columns = fields.iter().zip(bases.columns()).map(|(field, base)| {
        let members: Vec<Option<&Node<'_>>> =
            nodes.iter().map(|node| node.and_then(|node| node.member(field.name()))).collect();
        let values = converted(&members, field.data_type())?;
        let base = mask(base, bases.nulls());
        let indices: Vec<(usize, usize)> =
            members.iter().enumerate().map(|(row, member)| (usize::from(member.is_some()), row)).collect();
        Ok(interleave(&[base.as_ref(), values.as_ref()], &indices)?)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let is_there = |(row, node): (usize, Option<&Node<'_>>)| {
        node.is_some_and(|node| !matches!(node.kind, Kind::Null)) || bases.is_valid(row)
    };
    let nulls: NullBuffer = nodes.iter().copied().enumerate().map(is_there).collect::<Vec<bool>>().into();
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, Some(nulls), nodes.len())?))
}

/// `array`, NULL also where its row is.
fn mask(array: &ArrayRef, nulls: Option<&NullBuffer>) -> ArrayRef {
    match nulls {
        Some(nulls) if nulls.null_count() == nulls.len() => new_null_array(array.data_type(), array.len()),
        _ => Arc::clone(array),
    }
}

/// What each node means as a value of the type.
fn converted(nodes: &[Option<&Node<'_>>], to: &DataType) -> Result<ArrayRef> {
    let known = |node: Option<&Node<'_>>| node.is_some_and(|node| !matches!(node.kind, Kind::Null));
    match to {
        DataType::List(item) => {
            let (mut lengths, mut elements) = (Vec::with_capacity(nodes.len()), Vec::new());
            for node in nodes {
                match node.map(|node| &node.kind) {
                    None | Some(Kind::Null) => lengths.push(0),
                    Some(Kind::Array(own)) => {
                        lengths.push(own.len());
                        elements.extend(own.iter().map(Some));
                    }
                    Some(Kind::String(_)) if nodes.iter().copied().all(is_text) => return texts_as(nodes, to),
                    Some(_) => {
                        return Err(crate::datafusion::errors::external(crate::Error::new(
                            crate::ErrorKind::InvalidText,
                            "expected JSON array",
                        )));
                    }
                }
            }
            let nulls: NullBuffer = nodes.iter().copied().map(known).collect::<Vec<bool>>().into();
            let values = converted(&elements, item.data_type())?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, Some(nulls))?))
        }
        DataType::Struct(fields) if !text_out::is_wrapper(to) => {
            if let Some(node) = nodes.iter().flatten().find(|node| !matches!(node.kind, Kind::Object(_) | Kind::Null)) {
                let what = if matches!(node.kind, Kind::Array(_)) { "an array" } else { "a scalar" };
                return Err(invalid(format!("cannot call populate_composite on {what}")));
            }
            let bases = new_null_array(to, nodes.len());
            rows(nodes, bases.as_struct(), fields)
        }
        _ if name_of(to).is_some() => {
            let mut builder = StringViewBuilder::with_capacity(nodes.len());
            for node in nodes {
                match node {
                    Some(node) if name_of(to) == Some("jsonb") => {
                        builder.append_value(Value::of(node).map_err(failed)?.to_text());
                    }
                    node => builder.append_option(node.map(|node| node.text)),
                }
            }
            Ok(wrapped(builder.finish(), to))
        }
        _ => texts_as(nodes, to),
    }
}

fn is_text(node: Option<&Node<'_>>) -> bool {
    node.is_none_or(|node| matches!(node.kind, Kind::String(_) | Kind::Null))
}

fn texts_as(nodes: &[Option<&Node<'_>>], to: &DataType) -> Result<ArrayRef> {
    let mut builder = StringViewBuilder::with_capacity(nodes.len());
    for node in nodes {
        builder.append_option(node.and_then(Node::as_text));
    }
    cast_to(&(Arc::new(builder.finish()) as ArrayRef), to)
}
