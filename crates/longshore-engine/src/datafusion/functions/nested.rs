//! Values that have parts, or that Arrow has no type for: arrays, rows, JSON. Their text, and how others become such.

pub(in crate::datafusion) mod array_text;
pub(in crate::datafusion) mod cast;
mod json;
pub(in crate::datafusion) mod text_out;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, ListBuilder, PrimitiveBuilder, StringViewBuilder};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Field};
use datafusion::common::{Result, plan_err};

/// The type of arrays of this element.
pub(in crate::datafusion) fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// Arrays of these texts; NULL where there are none.
pub(in crate::datafusion) fn text_lists<'a>(rows: impl Iterator<Item = Option<&'a [String]>>) -> ArrayRef {
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    for texts in rows {
        texts.into_iter().flatten().for_each(|text| lists.values().append_value(text));
        lists.append(texts.is_some());
    }
    Arc::new(lists.finish())
}

/// Arrays of these numbers; NULL where there are none, as a number is that `T` has no room for.
pub(in crate::datafusion) fn int_lists<'a, T: ArrowPrimitiveType<Native: TryFrom<i64>>>(
    rows: impl Iterator<Item = Option<&'a [i64]>>,
) -> ArrayRef {
    let mut lists = ListBuilder::new(PrimitiveBuilder::<T>::new());
    for ints in rows {
        ints.into_iter().flatten().for_each(|int| lists.values().append_option((*int).try_into().ok()));
        lists.append(ints.is_some());
    }
    Arc::new(lists.finish())
}

/// The type of the elements of an array.
pub(in crate::datafusion) fn element_of(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        _ => None,
    }
}

/// The type of what lies below all dimensions of an array.
pub(in crate::datafusion) fn innermost(data_type: &DataType) -> &DataType {
    element_of(data_type).map_or(data_type, innermost)
}

/// The elements of all dimensions in one.
pub(in crate::datafusion) fn flattened(array: &ArrayRef) -> Result<ArrayRef> {
    let lists = match array.data_type() {
        DataType::List(item) if matches!(item.data_type(), DataType::List(_)) => array.as_list::<i32>(),
        _ => return Ok(Arc::clone(array)),
    };
    let inner = flattened(lists.values())?;
    let inner = inner.as_list::<i32>();
    let ends = inner.value_offsets();
    let offsets: Vec<i32> = lists.value_offsets().iter().map(|offset| ends[*offset as usize]).collect();
    let DataType::List(item) = inner.data_type() else { return plan_err!("an array is wanted") };
    let flat = ListArray::try_new(
        Arc::clone(item),
        OffsetBuffer::new(offsets.into()),
        Arc::clone(inner.values()),
        lists.nulls().cloned(),
    )?;
    Ok(Arc::new(flat))
}
