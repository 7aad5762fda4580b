//! Arguments of the functions: texts, lists of texts, and what was read of a text before.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use longshore_json::{JsonError, Value};

use crate::datafusion::functions::json_types::{failed, texts};
use crate::datafusion::functions::nested::array_text as text;

/// Lists of texts, which are arrays or their text form.
pub(super) enum Lists {
    Arrays(ListArray, StringViewArray),
    Texts(StringViewArray),
}

impl Lists {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                Self::Arrays(lists.clone(), texts(lists.values())?)
            }
            _ => Self::Texts(texts(array)?),
        })
    }

    /// The lengths of the dimensions of a list that is written as text.
    pub(super) fn shape(&self, row: usize) -> Result<Option<Vec<usize>>> {
        match self {
            Self::Texts(texts) => get(texts, row).map(text::shape).transpose(),
            Self::Arrays(..) => Ok(None),
        }
    }

    /// The list of `row`, unless it is NULL.
    pub(super) fn get(&self, row: usize) -> Result<Option<Vec<Option<String>>>> {
        match self {
            Self::Arrays(lists, items) => {
                if lists.is_null(row) {
                    return Ok(None);
                }
                let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
                Ok(Some(range.map(|at| get(items, at).map(str::to_owned)).collect()))
            }
            Self::Texts(texts) => match get(texts, row) {
                Some(list) => Ok(Some(text::flat_elements(list)?)),
                None => Ok(None),
            },
        }
    }
}

/// The text at `row`, unless it is NULL.
pub(super) fn get(texts: &StringViewArray, row: usize) -> Option<&str> {
    (!texts.is_null(row)).then(|| texts.value(row))
}

/// What is made of a text, kept for the next row, which often has the same one.
pub(super) struct Memo<T> {
    text: String,
    made: Option<T>,
}

impl<T> Memo<T> {
    pub(super) fn new() -> Self {
        Self { text: String::new(), made: None }
    }

    pub(super) fn get(&mut self, text: &str, make: impl FnOnce(&str) -> Result<T, JsonError>) -> Result<&T> {
        if self.made.is_none() || self.text != text {
            self.made = Some(make(text).map_err(failed)?);
            text.clone_into(&mut self.text);
        }
        // It was made just now, or before.
        self.made.as_ref().ok_or_else(|| crate::datafusion::functions::json_types::invalid("no value was made"))
    }
}

/// The texts that `make` gives for each row whose arguments are not NULL.
pub(super) fn strict(
    args: &[ArrayRef],
    mut make: impl FnMut(&[&str]) -> Result<Option<String>, JsonError>,
) -> Result<StringViewArray> {
    let args = args.iter().map(texts).collect::<Result<Vec<_>>>()?;
    let rows = args.first().map_or(0, Array::len);
    let mut builder = StringViewBuilder::with_capacity(rows);
    let mut values = Vec::with_capacity(args.len());
    for row in 0..rows {
        values.clear();
        values.extend(args.iter().filter_map(|arg| get(arg, row)));
        if values.len() < args.len() {
            builder.append_null();
        } else {
            builder.append_option(make(&values).map_err(failed)?);
        }
    }
    Ok(builder.finish())
}

/// A value of `jsonb`, or of a text that becomes one.
pub(super) fn value(text: &str) -> Result<Value, JsonError> {
    Value::parse(text)
}
