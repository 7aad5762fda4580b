//! Functions over system tables that give rows: `pg_get_keywords`, `_pg_expandarray`, `aclexplode`, `pg_options_to_table`.

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
        "aclexplode" => RowFunction::new(
            "aclexplode",
            |_| {
                Ok(rows_of(&[
                    ("grantor", DataType::Int64),
                    ("grantee", DataType::Int64),
                    ("privilege_type", DataType::Utf8View),
                    ("is_grantable", DataType::Boolean),
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

/// Privileges and options are NULL everywhere, of which there are no rows.
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

/// The words that mean something to SQL, all of which may be names here if they are quoted.
fn keywords() -> Result<ArrayRef> {
    let words: Vec<String> = sqlparser::keywords::ALL_KEYWORDS.iter().map(|word| word.to_lowercase()).collect();
    let is_reserved = |word: &String| {
        sqlparser::keywords::RESERVED_FOR_COLUMN_ALIAS
            .iter()
            .any(|known| format!("{known:?}").eq_ignore_ascii_case(word))
    };
    let texts = |value: fn(bool) -> &'static str| -> ArrayRef {
        Arc::new(words.iter().map(|word| Some(value(is_reserved(word)))).collect::<StringViewArray>())
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(words.iter().map(Some).collect::<StringViewArray>()),
        texts(|reserved| if reserved { "R" } else { "U" }),
        Arc::new(words.iter().map(|word| Some(!is_reserved(word))).collect::<BooleanArray>()),
        texts(|reserved| if reserved { "reserved" } else { "unreserved" }),
        texts(|reserved| if reserved { "requires AS" } else { "can be bare label" }),
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
