//! Functions over system tables that give rows: `pg_get_keywords`, `_pg_expandarray`, `pg_options_to_table`.
//!
//! Not here: `aclexplode` (`acl`).

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, ListArray, StringViewArray, StructArray, new_null_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::row_function::RowFunction;

const KEYWORDS: &str = "pg_get_keywords";
const EXPANDED: &str = "_pg_expandarray";

/// The function of this name.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    let function = match name {
        KEYWORDS => RowFunction::new(KEYWORDS, |_| Ok(list_of(DataType::Struct(keyword_fields()))), |_, _| keywords()),
        EXPANDED => RowFunction::new(EXPANDED, expanded_type, expanded),
        "pg_options_to_table" => RowFunction::new(
            "pg_options_to_table",
            |_| Ok(rows_of(&[("option_name", DataType::Utf8View), ("option_value", DataType::Utf8View)])),
            nothing,
        ),
        // No table has partitions.
        "pg_partition_ancestors" => {
            RowFunction::new("pg_partition_ancestors", |_| Ok(list_of(DataType::Int64)), nothing)
        }
        "pg_partition_tree" => RowFunction::new(
            "pg_partition_tree",
            |_| {
                Ok(rows_of(&[
                    ("relid", DataType::Int64),
                    ("parentrelid", DataType::Int64),
                    ("isleaf", DataType::Boolean),
                    ("level", DataType::Int32),
                ]))
            },
            nothing,
        ),
        _ => return None,
    };
    Some(Arc::new(function.function()))
}

fn rows_of(fields: &[(&str, DataType)]) -> DataType {
    let fields = fields.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true));
    list_of(DataType::Struct(fields.collect()))
}

/// Options are NULL everywhere, of which there are no rows.
#[expect(clippy::unnecessary_wraps, reason = "one of many functions of a table")]
fn nothing(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    Ok(new_null_array(to, args.first().map_or(1, Array::len)))
}

fn keyword_fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8View, true);
    vec![
        text("word"),
        text("catcode"),
        Field::new("barelabel", DataType::Boolean, true),
        text("catdesc"),
        text("baredesc"),
    ]
    .into()
}

/// The words of PostgreSQL's grammar: each with the letter of its category, and whether it may be a heading without AS.
const WORDS: &str = include_str!("keywords.txt");

fn keywords() -> Result<ArrayRef> {
    let words: Vec<[&str; 3]> = WORDS
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(' ');
            Some([parts.next()?, parts.next()?, parts.next()?])
        })
        .collect();
    let texts = |value: fn(&[&'static str; 3]) -> &'static str| -> ArrayRef {
        Arc::new(words.iter().map(|word| Some(value(word))).collect::<StringViewArray>())
    };
    let columns: Vec<ArrayRef> = vec![
        texts(|[word, ..]| word),
        texts(|[_, category, _]| category),
        Arc::new(words.iter().map(|[.., bare]| Some(*bare == "t")).collect::<BooleanArray>()),
        texts(|[_, category, _]| match *category {
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            "R" => "reserved",
            _ => "unreserved",
        }),
        texts(|[.., bare]| if *bare == "t" { "can be bare label" } else { "requires AS" }),
    ];
    let rows = StructArray::new(keyword_fields(), columns, None);
    one_list(Arc::new(rows))
}

fn one_list(items: ArrayRef) -> Result<ArrayRef> {
    let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([items.len()]);
    Ok(Arc::new(ListArray::try_new(item, offsets, items, None)?))
}

/// The elements of an array, each with its number.
fn expanded_fields(element: &DataType) -> Fields {
    vec![Field::new("x", element.clone(), true), Field::new("n", DataType::Int32, true)].into()
}

fn expanded_type(types: &[DataType]) -> Result<DataType> {
    if let [DataType::List(item)] = types {
        Ok(list_of(DataType::Struct(expanded_fields(item.data_type()))))
    } else {
        plan_err!("{EXPANDED} takes an array")
    }
}

fn expanded(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let Some(lists) = args[0].as_list_opt::<i32>() else { return plan_err!("{EXPANDED} takes an array") };
    let offsets = lists.value_offsets();
    let (start, end) = (offsets[0] as usize, offsets[lists.len()] as usize);
    let values = lists.values().slice(start, end - start);
    let numbers = (0..lists.len()).flat_map(|row| 1..=lists.value_length(row));
    let numbers: ArrayRef = Arc::new(numbers.map(Some).collect::<Int32Array>());
    let rows = StructArray::new(expanded_fields(values.data_type()), vec![values, numbers], None);
    let item = Arc::new(Field::new_list_field(rows.data_type().clone(), true));
    let lengths = (0..lists.len()).map(|row| lists.value_length(row) as usize);
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(item, offsets, Arc::new(rows), lists.nulls().cloned())?))
}
