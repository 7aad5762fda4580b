//! What the driver and the database are, as ADBC asks for it by numbers.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray, new_empty_array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, UnionFields, UnionMode};

use super::abi::VERSION_1_1;
use super::problem::Problem;

/// A value, by its place in the union that ADBC has for them.
#[derive(Clone, Copy)]
enum Value {
    Text(&'static str),
    Flag(bool),
    Number(i64),
}

/// What is known, by number.
const KNOWN: [(u32, Value); 8] = [
    (0, Value::Text("Longshore")),
    (1, Value::Text(env!("CARGO_PKG_VERSION"))),
    (3, Value::Flag(true)),
    (4, Value::Flag(false)),
    (100, Value::Text("Longshore's driver of ADBC")),
    (101, Value::Text(env!("CARGO_PKG_VERSION"))),
    (103, Value::Number(VERSION_1_1 as i64)),
    // Whether rows are ingested.
    (200, Value::Flag(true)),
];

/// The types of the union: texts, flags, numbers, and three that no value here has.
fn union_fields() -> UnionFields {
    let number = |name: &str| Field::new(name, DataType::Int32, true);
    let numbers = DataType::List(Arc::new(number("item")));
    let entry = Fields::from(vec![Field::new("key", DataType::Int32, false), Field::new("value", numbers, true)]);
    let entries = Field::new("entries", DataType::Struct(entry), false);
    let fields = [
        Field::new("string_value", DataType::Utf8, true),
        Field::new("bool_value", DataType::Boolean, true),
        Field::new("int64_value", DataType::Int64, true),
        number("int32_bitmask"),
        Field::new("string_list", DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))), true),
        Field::new("int32_to_int32_list_map", DataType::Map(Arc::new(entries), false), true),
    ];
    (0_i8..).zip(fields.into_iter().map(Arc::new)).collect()
}

/// What is known of some numbers, or of all.
pub(super) fn info(codes: Option<&[u32]>) -> Result<RecordBatch, Problem> {
    let asked: Vec<_> = KNOWN.iter().filter(|(code, _)| codes.is_none_or(|codes| codes.contains(code))).collect();
    let (mut texts, mut flags, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut kinds, mut places) = (Vec::new(), Vec::new());
    for (_, value) in &asked {
        let (kind, place) = match value {
            Value::Text(text) => {
                texts.push(*text);
                (0_i8, texts.len())
            }
            Value::Flag(flag) => {
                flags.push(*flag);
                (1, flags.len())
            }
            Value::Number(number) => {
                numbers.push(*number);
                (2, numbers.len())
            }
        };
        kinds.push(kind);
        places.push(place as i32 - 1);
    }
    let fields = union_fields();
    let mut children: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(texts)),
        Arc::new(BooleanArray::from(flags)),
        Arc::new(Int64Array::from(numbers)),
    ];
    children.extend(fields.iter().skip(3).map(|(_, field)| new_empty_array(field.data_type())));
    let values =
        UnionArray::try_new(fields.clone(), ScalarBuffer::from(kinds), Some(ScalarBuffer::from(places)), children)?;
    let schema = Schema::new(vec![
        Field::new("info_name", DataType::UInt32, false),
        Field::new("info_value", DataType::Union(fields, UnionMode::Dense), true),
    ]);
    let names: UInt32Array = asked.iter().map(|(code, _)| Some(*code)).collect();
    Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(names), Arc::new(values)])?)
}
