//! Arrays as values of rows, and what functions give as arrays.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray, BooleanBuilder, Int32Builder, ListBuilder,
    PrimitiveArray, PrimitiveBuilder, StringViewBuilder,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Float64Type, Int32Type, Int64Type};
use datafusion::common::{Result, internal_err};

use super::{Given, Kind, Value};
use crate::datafusion::functions::bytea_text;

/// An argument, row by row.
pub(super) enum Column {
    Bool(BooleanArray),
    Int(PrimitiveArray<Int32Type>),
    BigInt(PrimitiveArray<Int64Type>),
    Double(PrimitiveArray<Float64Type>),
    Text(datafusion::arrow::array::StringViewArray),
    Bytes(datafusion::arrow::array::BinaryViewArray),
    List(datafusion::arrow::array::ListArray),
    Presence(ArrayRef),
}

impl Column {
    /// The values of `array` as ones of this kind.
    pub(super) fn new(array: &ArrayRef, kind: Kind) -> Result<Self> {
        if kind == Kind::Presence {
            return Ok(Self::Presence(Arc::clone(array)));
        }
        if kind == Kind::AnyList {
            let list = array.as_list_opt::<i32>().cloned();
            return Ok(list.map_or_else(|| Self::Presence(Arc::clone(array)), Self::List));
        }
        if kind == Kind::Any && *array.data_type() == DataType::Boolean {
            return Ok(Self::Bool(array.as_boolean().clone()));
        }
        if kind == Kind::Bytes && array.data_type().is_string() {
            return Ok(Self::Bytes(bytea_text::bytes_of_texts(array)?.as_binary_view().clone()));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let array = cast_with_options(array, &kind.data_type(), &options)?;
        Ok(match kind {
            Kind::Bool => Self::Bool(array.as_boolean().clone()),
            Kind::Int => Self::Int(array.as_primitive().clone()),
            Kind::BigInt => Self::BigInt(array.as_primitive().clone()),
            Kind::Double => Self::Double(array.as_primitive().clone()),
            Kind::Text | Kind::Any => Self::Text(array.as_string_view().clone()),
            Kind::Bytes => Self::Bytes(array.as_binary_view().clone()),
            Kind::Texts | Kind::BigInts | Kind::Doubles | Kind::TextLists => Self::List(array.as_list().clone()),
            Kind::AnyList | Kind::Presence => Self::Presence(array),
        })
    }

    pub(super) fn value(&self, row: usize) -> Value<'_> {
        if self.array().is_null(row) {
            return Value::Null;
        }
        match self {
            Self::Bool(array) => Value::Bool(array.value(row)),
            Self::Int(array) => Value::Int(array.value(row)),
            Self::BigInt(array) => Value::BigInt(array.value(row)),
            Self::Double(array) => Value::Double(array.value(row)),
            Self::Text(array) => Value::Text(array.value(row)),
            Self::Bytes(array) => Value::Bytes(array.value(row)),
            Self::List(array) => Value::List(array.value(row)),
            Self::Presence(array) if *array.data_type() == DataType::Null => Value::Null,
            Self::Presence(_) => Value::Present,
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::Bool(array) => array,
            Self::Int(array) => array,
            Self::BigInt(array) => array,
            Self::Double(array) => array,
            Self::Text(array) => array,
            Self::Bytes(array) => array,
            Self::List(array) => array,
            Self::Presence(array) => array,
        }
    }
}

/// What is put together from the results for the rows.
pub(super) enum Results {
    Bool(BooleanBuilder),
    Int(Int32Builder),
    BigInt(PrimitiveBuilder<Int64Type>),
    Double(PrimitiveBuilder<Float64Type>),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    Texts(ListBuilder<StringViewBuilder>),
    TextLists(ListBuilder<ListBuilder<StringViewBuilder>>),
}

impl Results {
    pub(super) fn new(kind: Kind) -> Result<Self> {
        Ok(match kind {
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Int => Self::Int(Int32Builder::new()),
            Kind::BigInt => Self::BigInt(PrimitiveBuilder::new()),
            Kind::Double => Self::Double(PrimitiveBuilder::new()),
            Kind::Text => Self::Text(StringViewBuilder::new()),
            Kind::Bytes => Self::Bytes(BinaryViewBuilder::new()),
            Kind::Texts => Self::Texts(ListBuilder::new(StringViewBuilder::new())),
            Kind::TextLists => Self::TextLists(ListBuilder::new(ListBuilder::new(StringViewBuilder::new()))),
            other => return internal_err!("functions do not give {other:?}"),
        })
    }

    pub(super) fn append(&mut self, given: Given) -> Result<()> {
        match (self, given) {
            (Self::Bool(builder), given) => {
                builder.append_option(if let Given::Bool(value) = given { Some(value) } else { None });
            }
            (Self::Int(builder), Given::Int(value)) => builder.append_value(value),
            (Self::Int(builder), _) => builder.append_null(),
            (Self::BigInt(builder), given) => {
                append(builder, if let Given::BigInt(value) = given { Some(value) } else { None });
            }
            (Self::Double(builder), given) => {
                append(builder, if let Given::Double(value) = given { Some(value) } else { None });
            }
            (Self::Text(builder), Given::Text(value)) => builder.try_append_value(value)?,
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Bytes(builder), Given::Bytes(value)) => builder.try_append_value(value)?,
            (Self::Bytes(builder), _) => builder.append_null(),
            (Self::Texts(builder), Given::Texts(texts)) => {
                for text in texts {
                    builder.values().append_option(text);
                }
                builder.append(true);
            }
            (Self::Texts(builder), _) => builder.append(false),
            (Self::TextLists(builder), Given::TextLists(lists)) => {
                for texts in lists {
                    for text in texts {
                        builder.values().values().append_option(text);
                    }
                    builder.values().append(true);
                }
                builder.append(true);
            }
            (Self::TextLists(builder), _) => builder.append(false),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Self::Bool(mut builder) => Arc::new(builder.finish()),
            Self::Int(mut builder) => Arc::new(builder.finish()),
            Self::BigInt(mut builder) => Arc::new(builder.finish()),
            Self::Double(mut builder) => Arc::new(builder.finish()),
            Self::Text(mut builder) => Arc::new(builder.finish()),
            Self::Bytes(mut builder) => Arc::new(builder.finish()),
            Self::Texts(mut builder) => Arc::new(builder.finish()),
            Self::TextLists(mut builder) => Arc::new(builder.finish()),
        }
    }
}

fn append<T: ArrowPrimitiveType>(builder: &mut PrimitiveBuilder<T>, value: Option<T::Native>) {
    builder.append_option(value);
}
