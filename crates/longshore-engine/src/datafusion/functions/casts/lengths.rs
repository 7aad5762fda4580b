//! Casts to types that have a length: they cut, as in PostgreSQL, where an assignment would fail.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_value::text::trim_char;

use crate::datafusion::functions::element_wise::map_values;

/// Among the metadata of the field that a cast names: the type and its length.
pub(in crate::datafusion) const CAST: &str = "longshore.cast";

/// Bytes of a name, at most.
const NAME_BYTES_MAX: usize = 63;

/// A type that has a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) enum Length {
    Varchar(u32),
    /// Without trailing blanks.
    Char(u32),
    Name,
    /// `"char"`: one byte.
    InternalChar,
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Varchar(length) => write!(f, "varchar {length}"),
            Self::Char(length) => write!(f, "char {length}"),
            Self::Name => f.write_str("name"),
            Self::InternalChar => f.write_str("\"char\""),
        }
    }
}

impl Length {
    /// That of the type that a cast names.
    pub(super) fn of(field: &Field) -> Option<Self> {
        let text = field.metadata().get(CAST)?;
        Some(match text.split_once(' ') {
            Some(("varchar", length)) => Self::Varchar(length.parse().ok()?),
            Some((_, length)) => Self::Char(length.parse().ok()?),
            None if text == "name" => Self::Name,
            None => Self::InternalChar,
        })
    }

    /// As much of `text` as there is room for.
    fn cut(self, text: &str) -> &str {
        let first =
            |characters: u32| text.char_indices().nth(characters as usize).map_or(text, |(end, _)| &text[..end]);
        match self {
            Self::Varchar(characters) => first(characters),
            Self::Char(characters) => trim_char(first(characters)),
            Self::Name => &text[..text.floor_char_boundary(NAME_BYTES_MAX)],
            Self::InternalChar => first(1),
        }
    }
}

/// The text `expr`, cut to `length`.
pub(super) fn cut(expr: Expr, length: Length) -> Expr {
    let function = Arc::new(ScalarUDF::new_from_impl(Cut::new(length)));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

/// A text, cut to a length.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Cut {
    length: Length,
    name: String,
    signature: Signature,
}

impl Cut {
    fn new(length: Length) -> Self {
        Self { length, name: format!("as {length}"), signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Cut {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match types {
            [list @ DataType::List(_)] => list.clone(),
            _ => DataType::Utf8View,
        })
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{} takes one argument", self.name) };
        map_values(value, |array| cut_texts(array, self.length))
    }
}

/// Texts, or arrays of them, cut to `length`.
fn cut_texts(array: &ArrayRef, length: Length) -> Result<ArrayRef> {
    if let (DataType::List(item), Some(lists)) = (array.data_type(), array.as_list_opt::<i32>()) {
        let values = cut_texts(lists.values(), length)?;
        let offsets = lists.offsets().clone();
        return Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, lists.nulls().cloned())?));
    }
    let texts = cast(array, &DataType::Utf8View)?;
    let cut = texts.as_string_view().iter().map(|text| text.map(|text| length.cut(text)));
    Ok(Arc::new(cut.collect::<StringViewArray>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_characters_and_names_by_bytes() {
        for (length, text, expected) in [
            (Length::Varchar(3), "äöüß", "äöü"),
            (Length::Varchar(3), "ab ", "ab "),
            (Length::Char(3), "ab  c", "ab"),
            (Length::Char(3), "ab", "ab"),
            (Length::InternalChar, "", ""),
            (Length::InternalChar, "abc", "a"),
        ] {
            assert_eq!(length.cut(text), expected, "{length} of {text}");
        }
        let long = "ä".repeat(40);
        assert_eq!(Length::Name.cut(&long).chars().count(), 31);
    }
}
