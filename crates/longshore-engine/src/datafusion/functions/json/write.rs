//! Any value as JSON, as `to_json` writes it.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use longshore_json::escape;

use crate::datafusion::functions::json_types::{name_of, texts};
use crate::datafusion::functions::nested::text_out;

/// Values that are written as JSON.
pub(super) struct Writer {
    array: ArrayRef,
    form: Form,
}

enum Form {
    /// Text that is JSON already, or a number or a boolean.
    Plain(datafusion::arrow::array::StringViewArray),
    /// A float or numeric, which may be none in JSON.
    Number(datafusion::arrow::array::StringViewArray),
    /// Text in quotes.
    Quoted(datafusion::arrow::array::StringViewArray),
    List(Box<Writer>),
    Row(Vec<(String, Writer)>),
    Null,
}

impl Writer {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        let form = match array.data_type() {
            DataType::Null => Form::Null,
            DataType::Boolean => Form::Plain(texts(array)?),
            data_type if data_type.is_integer() => Form::Plain(texts(array)?),
            data_type if data_type.is_numeric() => Form::Number(text_out::texts(array)?),
            data_type if matches!(name_of(data_type), Some("json" | "jsonb")) => Form::Plain(texts(array)?),
            DataType::Struct(fields) if is_number(fields) => Form::Number(text_out::texts(array)?),
            DataType::Struct(fields) if !text_out::is_wrapper(array.data_type()) => {
                let columns = array.as_struct().columns().iter();
                let members = fields
                    .iter()
                    .zip(columns)
                    .map(|(field, column): (&FieldRef, &ArrayRef)| Ok((field.name().clone(), Self::new(column)?)));
                Form::Row(members.collect::<Result<_>>()?)
            }
            DataType::List(_) => Form::List(Box::new(Self::new(array.as_list::<i32>().values())?)),
            DataType::Timestamp(..) => Form::Quoted(text_out::iso_timestamps(array)?),
            _ => Form::Quoted(text_out::texts(array)?),
        };
        Ok(Self { array: ArrayRef::clone(array), form })
    }

    /// Whether elements stand on lines of their own where the format has lines.
    pub(super) fn is_nested(&self) -> bool {
        matches!(self.form, Form::List(_) | Form::Row(_))
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        matches!(self.form, Form::Null) || self.array.is_null(row)
    }

    /// Appends the value of `row`; `separator` stands between elements and members of the value itself.
    pub(super) fn write(&self, row: usize, separator: &str, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.form {
            Form::Null => out.push_str("null"),
            Form::Plain(texts) => out.push_str(texts.value(row)),
            Form::Number(texts) => {
                let text = texts.value(row);
                if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
                    out.push_str(text);
                } else {
                    escape(text, out);
                }
            }
            Form::Quoted(texts) => escape(texts.value(row), out),
            Form::List(items) => {
                let offsets = self.array.as_list::<i32>().value_offsets();
                out.push('[');
                for at in offsets[row]..offsets[row + 1] {
                    out.push_str(if at > offsets[row] { separator } else { "" });
                    items.write(at as usize, ",", out);
                }
                out.push(']');
            }
            Form::Row(members) => {
                out.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { separator } else { "" });
                    escape(name, out);
                    out.push(':');
                    member.write(row, ",", out);
                }
                out.push('}');
            }
        }
    }
}

fn is_number(fields: &datafusion::arrow::datatypes::Fields) -> bool {
    matches!(fields.as_ref(), [field] if field.name() == "$numeric")
}
