//! Rows of a system table while they are made: cells by the names of their columns, and columns of them in the end.
//!
//! Only columns that the query reads are made.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    StringViewArray, StructArray, TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Int16Type, Int64Type};

use longshore_storage::ColumnType;
use longshore_value::times::interval_key;

use super::definition::Definition;
use crate::datafusion::functions::nested::{int_lists, text_lists};

/// A value of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Cell {
    #[default]
    Null,
    Bool(bool),
    /// A number, an OID, or microseconds since 1970.
    Int(i64),
    Float(f64),
    Text(Cow<'static, str>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

macro_rules! cells {
    ($($native:ty => $variant:ident),* $(,)?) => {
        $(impl From<$native> for Cell {
            fn from(value: $native) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

cells! {
    bool => Bool, i64 => Int, i32 => Int, i16 => Int, u32 => Int, f64 => Float, f32 => Float, &'static str => Text,
    String => Text, Vec<i64> => Ints, Vec<String> => Texts,
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<char> for Cell {
    fn from(letter: char) -> Self {
        letter.to_string().into()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A text that is not constant.
pub(super) fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned().into())
}

/// The rows of a table as far as they are made.
pub(super) struct Rows<'a> {
    definition: &'a Definition,
    /// The columns that are wanted, by their places.
    wanted: Vec<usize>,
    /// What they hold where a row says nothing.
    otherwise: Vec<Cell>,
    columns: Vec<Vec<Cell>>,
    count: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(definition: &'a Definition, wanted: Vec<usize>) -> Self {
        let otherwise = vec![Cell::Null; wanted.len()];
        let columns = wanted.iter().map(|_| Vec::new()).collect();
        Self { definition, wanted, otherwise, columns, count: 0 }
    }

    /// Whether a column is read.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    fn place(&self, name: &str) -> Option<usize> {
        let named = |at: &usize| self.definition.columns[*at].name == name;
        debug_assert!(self.definition.columns.iter().any(|column| column.name == name), "no column {name}");
        self.wanted.iter().position(named)
    }

    /// Sets what columns hold in rows that say nothing of them.
    pub(super) fn otherwise(&mut self, cells: impl IntoIterator<Item = (&'static str, Cell)>) {
        for (name, cell) in cells {
            if let Some(place) = self.place(name) {
                self.otherwise[place] = cell;
            }
        }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = (&'static str, Cell)>) {
        self.count += 1;
        let places = self.otherwise.iter().zip(&mut self.columns);
        places.for_each(|(otherwise, column)| column.push(otherwise.clone()));
        for (name, cell) in cells {
            if let Some(place) = self.place(name)
                && let Some(last) = self.columns[place].last_mut()
            {
                *last = cell;
            }
        }
    }

    /// Adds a row of all columns, in their order.
    pub(super) fn whole(&mut self, cells: &[Cell]) {
        self.count += 1;
        for (at, column) in self.wanted.iter().zip(&mut self.columns) {
            column.push(cells.get(*at).cloned().unwrap_or_default());
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The columns that are wanted.
    pub(super) fn finish(self) -> Vec<ArrayRef> {
        let types = self.wanted.iter().map(|at| self.definition.arrow.field(*at).data_type());
        types.zip(self.columns).map(|(data_type, cells)| array(data_type, &cells)).collect()
    }
}

fn array(data_type: &DataType, cells: &[Cell]) -> ArrayRef {
    let ints = || {
        cells.iter().map(|cell| match cell {
            Cell::Int(value) => Some(*value),
            _ => None,
        })
    };
    let floats = || {
        cells.iter().map(|cell| match cell {
            Cell::Float(value) => Some(*value),
            _ => None,
        })
    };
    let texts = || {
        cells.iter().map(|cell| match cell {
            Cell::Text(value) => Some(value.as_ref()),
            _ => None,
        })
    };
    let int_rows = || {
        cells.iter().map(|cell| match cell {
            Cell::Ints(ints) => Some(ints.as_slice()),
            _ => None,
        })
    };
    let text_rows = || {
        cells.iter().map(|cell| match cell {
            Cell::Texts(texts) => Some(texts.as_slice()),
            _ => None,
        })
    };
    match data_type {
        DataType::Boolean => {
            let bools = cells.iter().map(|cell| match cell {
                Cell::Bool(value) => Some(*value),
                _ => None,
            });
            Arc::new(bools.collect::<BooleanArray>())
        }
        DataType::Int16 => Arc::new(ints().map(|int| int.and_then(|int| int.try_into().ok())).collect::<Int16Array>()),
        DataType::Int32 => Arc::new(ints().map(|int| int.and_then(|int| int.try_into().ok())).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(ints().collect::<Int64Array>()),
        DataType::Float32 => Arc::new(floats().map(|float| float.map(|float| float as f32)).collect::<Float32Array>()),
        DataType::Float64 => Arc::new(floats().collect::<Float64Array>()),
        DataType::Utf8View => Arc::new(texts().collect::<StringViewArray>()),
        DataType::Timestamp(_, zone) => {
            Arc::new(ints().collect::<TimestampMicrosecondArray>().with_timezone_opt(zone.clone()))
        }
        DataType::List(item) => match item.data_type() {
            DataType::Int16 => int_lists::<Int16Type>(int_rows()),
            DataType::Int64 => int_lists::<Int64Type>(int_rows()),
            DataType::Utf8View => text_lists(text_rows()),
            _ => new_null_array(data_type, cells.len()),
        },
        // Microseconds.
        DataType::Struct(fields) if *data_type == ColumnType::Interval.arrow() => {
            let keys = ints().map(|micros| micros.map(|micros| interval_key(0, 0, micros)));
            let keys: BinaryViewArray = keys.collect();
            let nulls = keys.nulls().cloned();
            Arc::new(StructArray::new(fields.clone(), vec![Arc::new(keys)], nulls))
        }
        _ => new_null_array(data_type, cells.len()),
    }
}
