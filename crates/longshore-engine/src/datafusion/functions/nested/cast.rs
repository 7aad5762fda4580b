//! Texts as arrays, arrays as texts, arrays as arrays of another element.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, StringViewBuilder, new_empty_array, new_null_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use longshore_time::settings::Settings;

use super::array_text::{Element, parse};
use super::json as json_casts;
use super::text_out;
use crate::datafusion::errors::external;
use crate::datafusion::functions::bytea_text::bytes_of_texts;
use crate::datafusion::functions::casts::numeric;
use crate::datafusion::functions::json_types as json;
use crate::datafusion::functions::time::casts as time;
use crate::datafusion::functions::time::kinds::{Kind, time_kind};
use crate::datafusion::functions::time::session::SessionTime;
use crate::{Error, ErrorKind};

/// `array` as values of the type `to`, as a cast makes them.
pub(in crate::datafusion) fn cast_to(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    cast_in(array, to, &SessionTime::with(&Settings::default()))
}

/// The same in a session with these settings.
pub(in crate::datafusion) fn cast_in(array: &ArrayRef, to: &DataType, session: &SessionTime<'_>) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    if *from == DataType::Null {
        return Ok(new_null_array(to, array.len()));
    }
    match (from, to) {
        (from, to) if to.is_string() && text_out::is_nested(from) => {
            Ok(datafusion::arrow::compute::cast(&(Arc::new(text_out::texts_in(array, session)?) as ArrayRef), to)?)
        }
        (from, DataType::List(item)) if from.is_string() => of_texts(array, item.data_type(), session),
        (DataType::List(_), DataType::List(item)) => {
            let lists = array.as_list::<i32>();
            let values = match (lists.values().data_type(), item.data_type()) {
                (DataType::List(_), DataType::List(_)) => cast_in(lists.values(), item.data_type(), session)?,
                (DataType::List(_), _) | (_, DataType::List(_)) if lists.values().is_empty() => {
                    new_empty_array(item.data_type())
                }
                (DataType::List(_), _) => return Err(too_many_dimensions()),
                (_, DataType::List(_)) => return Err(too_few_dimensions()),
                _ => cast_in(lists.values(), item.data_type(), session)?,
            };
            let list = ListArray::try_new(Arc::clone(item), lists.offsets().clone(), values, lists.nulls().cloned())?;
            Ok(Arc::new(list))
        }
        (DataType::LargeList(item) | DataType::FixedSizeList(item, _), DataType::List(_)) => {
            let list = datafusion::arrow::compute::cast(array, &DataType::List(Arc::clone(item)))?;
            cast_in(&list, to, session)
        }
        _ if json::name_of(from).is_some() || json::name_of(to).is_some() => json_casts::convert(array, to),
        (from, to) if time_kind(from).is_some() && to.is_string() => {
            let texts = time::convert(array, Kind::Text, time::Modifier::None, session)?;
            Ok(datafusion::arrow::compute::cast(&texts, to)?)
        }
        (from, to)
            if (from.is_string() || time_kind(from).is_some())
                && time_kind(to).is_some_and(|kind| kind.data_type() == *to) =>
        {
            let kind = time_kind(to).unwrap_or(Kind::Interval);
            time::convert(array, kind, time::Modifier::None, session)
        }
        (from, to) if from.is_string() && to.is_binary() => {
            Ok(datafusion::arrow::compute::cast(&bytes_of_texts(array)?, to)?)
        }
        _ => numeric::convert(array, to),
    }
}

/// Arrays that are written as text.
fn of_texts(array: &ArrayRef, element: &DataType, session: &SessionTime<'_>) -> Result<ArrayRef> {
    let texts = text_out::texts(array)?;
    let mut rows = Vec::with_capacity(texts.len());
    for text in &texts {
        rows.push(text.map(parse).transpose()?);
    }
    let lists = lists(rows, element, session)?;
    Ok(Arc::new(lists))
}

fn too_many_dimensions() -> DataFusionError {
    let message = "an array of several dimensions is wanted as a type that says so, such as INTEGER[][]";
    external(Error::unsupported(message))
}

fn too_few_dimensions() -> DataFusionError {
    let message = "malformed array literal: an array of more dimensions is wanted";
    external(Error::new(ErrorKind::InvalidText, message))
}

fn lists(rows: Vec<Option<Vec<Element>>>, element: &DataType, session: &SessionTime<'_>) -> Result<ListArray> {
    let lengths: Vec<usize> = rows.iter().map(|row| row.as_ref().map_or(0, Vec::len)).collect();
    let nulls: NullBuffer = rows.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let elements = rows.into_iter().flatten().flatten();
    let values: ArrayRef = match element {
        DataType::List(inner) => {
            let inner_rows = elements.map(|element| match element {
                Element::Array(elements) => Ok(Some(elements)),
                Element::Null => Ok(None),
                Element::Text(_) => Err(too_few_dimensions()),
            });
            Arc::new(lists(inner_rows.collect::<Result<_>>()?, inner.data_type(), session)?)
        }
        element => {
            let mut texts = StringViewBuilder::new();
            for value in elements {
                match value {
                    Element::Null => texts.append_null(),
                    Element::Text(text) => texts.append_value(text),
                    Element::Array(_) => return Err(too_many_dimensions()),
                }
            }
            cast_in(&(Arc::new(texts.finish()) as ArrayRef), element, session)?
        }
    };
    let DataType::List(item) = super::list_of(element.clone()) else {
        return Err(external(Error::internal("a list is a list")));
    };
    Ok(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), values, Some(nulls))?)
}
