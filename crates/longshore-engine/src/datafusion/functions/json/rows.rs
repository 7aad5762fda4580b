//! What a value consists of, as lists that become rows: elements, members, names.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanBufferBuilder, ListArray, StringViewArray, StringViewBuilder, StructArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use longshore_json::{Kind, Node, parse};

use crate::datafusion::functions::json_types::{failed, invalid, json, jsonb, texts, wrapped};
use crate::datafusion::functions::row_function::RowFunction;

pub(super) fn functions() -> Vec<RowFunction> {
    [
        RowFunction::new(
            "json_array_elements",
            |_| Ok(list(json())),
            |args, to| elements(args, to, "json_array_elements"),
        ),
        RowFunction::new(
            "jsonb_array_elements",
            |_| Ok(list(jsonb())),
            |args, to| elements(args, to, "jsonb_array_elements"),
        ),
        RowFunction::new(
            "json_array_elements_text",
            |_| Ok(list(DataType::Utf8View)),
            |args, to| elements(args, to, "json_array_elements_text"),
        ),
        RowFunction::new(
            "jsonb_array_elements_text",
            |_| Ok(list(DataType::Utf8View)),
            |args, to| elements(args, to, "jsonb_array_elements_text"),
        ),
        RowFunction::new(
            "json_object_keys",
            |_| Ok(list(DataType::Utf8View)),
            |args, _| names(args, "json_object_keys"),
        ),
        RowFunction::new(
            "jsonb_object_keys",
            |_| Ok(list(DataType::Utf8View)),
            |args, _| names(args, "jsonb_object_keys"),
        ),
        RowFunction::new("json_each", |_| Ok(list(pair(json()))), |args, to| members(args, to, "json_each")),
        RowFunction::new("jsonb_each", |_| Ok(list(pair(jsonb()))), |args, to| members(args, to, "jsonb_each")),
        RowFunction::new(
            "json_each_text",
            |_| Ok(list(pair(DataType::Utf8View))),
            |args, to| members(args, to, "json_each_text"),
        ),
        RowFunction::new(
            "jsonb_each_text",
            |_| Ok(list(pair(DataType::Utf8View))),
            |args, to| members(args, to, "jsonb_each_text"),
        ),
    ]
    .into()
}

pub(super) fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

fn pair(value: DataType) -> DataType {
    let fields = vec![Field::new("key", DataType::Utf8View, true), Field::new("value", value, true)];
    DataType::Struct(Fields::from(fields))
}

/// Lists that are put together row by row.
pub(super) struct ListBuilder {
    lengths: Vec<usize>,
    valid: BooleanBufferBuilder,
}

impl ListBuilder {
    pub(super) fn new(rows: usize) -> Self {
        Self { lengths: Vec::with_capacity(rows), valid: BooleanBufferBuilder::new(rows) }
    }

    /// The next row: a list of this length, or NULL.
    pub(super) fn append(&mut self, length: Option<usize>) {
        self.lengths.push(length.unwrap_or(0));
        self.valid.append(length.is_some());
    }

    pub(super) fn finish(mut self, values: ArrayRef) -> ArrayRef {
        let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let nulls = NullBuffer::new(self.valid.finish());
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(self.lengths), values, Some(nulls)))
    }
}

fn append(node: &Node<'_>, as_type: &DataType, out: &mut StringViewBuilder) {
    match as_type {
        DataType::Struct(_) => out.append_value(node.text),
        _ => out.append_option(node.as_text()),
    }
}

fn item_type(list: &DataType) -> DataType {
    match list {
        DataType::List(item) => item.data_type().clone(),
        other => other.clone(),
    }
}

/// A list of each value; `take` keeps what is in its list, and says how much that is.
fn lists_of(array: &ArrayRef, mut take: impl FnMut(Kind, &str) -> Result<usize>) -> Result<ListBuilder> {
    let values = texts(array)?;
    let mut lists = ListBuilder::new(values.len());
    for value in &values {
        lists.append(value.map(|value| take(parse(value).map_err(failed)?.kind, value)).transpose()?);
    }
    Ok(lists)
}

fn elements(args: &[ArrayRef], to: &DataType, function: &str) -> Result<ArrayRef> {
    let item = item_type(to);
    let mut items = StringViewBuilder::new();
    let lists = lists_of(&args[0], |kind, value| match kind {
        Kind::Array(elements) => {
            for element in &elements {
                append(element, &item, &mut items);
            }
            Ok(elements.len())
        }
        _ if function.starts_with("json_") && value.starts_with('{') => {
            Err(invalid(format!("cannot call {function} on a non-array")))
        }
        _ if function.starts_with("json_") => Err(invalid(format!("cannot call {function} on a scalar"))),
        Kind::Object(_) => Err(invalid("cannot extract elements from an object")),
        _ => Err(invalid("cannot extract elements from a scalar")),
    })?;
    Ok(lists.finish(wrapped(items.finish(), &item)))
}

fn names(args: &[ArrayRef], function: &str) -> Result<ArrayRef> {
    let mut items = StringViewBuilder::new();
    let lists = lists_of(&args[0], |kind, _| match kind {
        Kind::Object(members) => {
            for (name, _) in &members {
                items.append_value(name);
            }
            Ok(members.len())
        }
        Kind::Array(_) => Err(invalid(format!("cannot call {function} on an array"))),
        _ => Err(invalid(format!("cannot call {function} on a scalar"))),
    })?;
    Ok(lists.finish(Arc::new(items.finish())))
}

fn members(args: &[ArrayRef], to: &DataType, function: &str) -> Result<ArrayRef> {
    let DataType::Struct(fields) = item_type(to) else { return Err(invalid("members have a key and a value")) };
    let value_type = fields[1].data_type();
    let (mut keys, mut items) = (StringViewBuilder::new(), StringViewBuilder::new());
    let lists = lists_of(&args[0], |kind, _| match kind {
        Kind::Object(members) => {
            for (key, member) in &members {
                keys.append_value(key);
                append(member, value_type, &mut items);
            }
            Ok(members.len())
        }
        _ if function.starts_with("jsonb") => Err(invalid(format!("cannot call {function} on a non-object"))),
        Kind::Array(_) => Err(invalid("cannot deconstruct an array as an object")),
        _ => Err(invalid("cannot deconstruct a scalar")),
    })?;
    let keys: StringViewArray = keys.finish();
    let items = wrapped(items.finish(), value_type);
    Ok(lists.finish(Arc::new(StructArray::new(fields.clone(), vec![Arc::new(keys), items], None))))
}
