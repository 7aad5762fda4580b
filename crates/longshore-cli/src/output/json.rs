//! Rows as one JSON array of objects, or as one object per line, written as they come.
//!
//! Numbers of every type are JSON numbers with all their digits, NaN and the infinities are strings, lists and
//! structs are arrays and objects, and every other type is the string that the other formats show.

use std::io::{self, Write};
use std::iter;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;

use super::not_shown;
use super::text::{self, Column};

/// Text is handed on when it has grown to this.
const FLUSH_BYTES: usize = 64 << 10;

/// How objects stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// In an array.
    Array,
    /// Each on a line of its own.
    Lines,
}

/// Writes objects.
pub(crate) struct Json {
    layout: Layout,
    /// The names as JSON strings, each with its colon.
    keys: Vec<String>,
    rows: u64,
}

impl Json {
    pub(super) fn new(schema: SchemaRef, layout: Layout) -> Self {
        let mut names: Vec<String> = Vec::new();
        for field in schema.fields() {
            // An object has each key but once: `?column?`, `?column?_1`.
            let numbered = (1_u32..).map(|number| format!("{}_{number}", field.name()));
            let free = iter::once(field.name().clone()).chain(numbered).find(|name| !names.contains(name));
            names.push(free.unwrap_or_default());
        }
        let keys = names
            .iter()
            .map(|name| {
                let mut key = String::new();
                string(name, &mut key);
                key.push(':');
                key
            })
            .collect();
        drop(schema);
        Self { layout, keys, rows: 0 }
    }

    pub(super) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        let columns: Vec<JsonColumn<'_>> =
            batch.columns().iter().map(JsonColumn::new).collect::<Result<_, _>>().map_err(|error| not_shown(&error))?;
        let mut text = String::with_capacity(FLUSH_BYTES * 2);
        for row in 0..batch.num_rows() {
            text.push_str(match self.layout {
                Layout::Array if self.rows == 0 => "[{",
                Layout::Array => ",\n {",
                Layout::Lines => "{",
            });
            self.rows += 1;
            for (index, (key, column)) in self.keys.iter().zip(&columns).enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(key);
                column.write(row, &mut text).map_err(|error| not_shown(&error))?;
            }
            text.push_str(if self.layout == Layout::Lines { "}\n" } else { "}" });
            if text.len() >= FLUSH_BYTES {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        out.write_all(text.as_bytes())
    }

    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        match self.layout {
            Layout::Array => out.write_all(if self.rows == 0 { b"[]\n" } else { b"]\n" }),
            Layout::Lines => Ok(()),
        }
    }
}

enum JsonColumn<'a> {
    /// A number, or JSON: written as it is.
    Number(Column<'a>),
    /// A number, unless it is NaN or infinite.
    Float(Column<'a>),
    Boolean(Column<'a>),
    String(Column<'a>),
    List(&'a ArrayRef),
    Struct(&'a ArrayRef, Vec<(String, JsonColumn<'a>)>),
}

impl<'a> JsonColumn<'a> {
    fn new(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Self::List(array),
            DataType::Struct(fields) if matches!(fields.as_ref(), [field] if field.name().starts_with("$json")) => {
                Self::Number(Column::new(array)?)
            }
            data_type if text::is_unlimited(data_type) => Self::Float(Column::new(array)?),
            DataType::Struct(fields) if matches!(fields.as_ref(), [field] if field.name().starts_with("$json")) => {
                Self::Number(Column::new(array)?)
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns();
                let members = fields
                    .iter()
                    .zip(columns)
                    .map(|(field, column)| Ok((field.name().clone(), Self::new(column)?)))
                    .collect::<Result<_, ArrowError>>()?;
                Self::Struct(array, members)
            }
            DataType::Boolean => Self::Boolean(Column::new(array)?),
            data_type if data_type.is_floating() => Self::Float(Column::new(array)?),
            data_type if data_type.is_numeric() => Self::Number(Column::new(array)?),
            _ => Self::String(Column::new(array)?),
        })
    }

    fn write(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        match self {
            Self::Number(column) | Self::Float(column) | Self::Boolean(column) | Self::String(column)
                if column.is_null(row) =>
            {
                out.push_str("null");
            }
            Self::Number(column) | Self::Boolean(column) => column.write(row, out)?,
            Self::Float(column) => {
                let start = out.len();
                column.write(row, out)?;
                if out.ends_with(|c: char| c.is_ascii_alphabetic()) {
                    out.insert(start, '"');
                    out.push('"');
                }
            }
            Self::String(column) => {
                let mut value = String::new();
                column.write(row, &mut value)?;
                string(&value, out);
            }
            Self::List(array) => list(array, row, out)?,
            Self::Struct(array, members) => {
                if array.is_null(row) {
                    out.push_str("null");
                    return Ok(());
                }
                out.push('{');
                for (index, (name, member)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    string(name, out);
                    out.push(':');
                    member.write(row, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

fn list(array: &ArrayRef, row: usize, out: &mut String) -> Result<(), ArrowError> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    let items = match array.data_type() {
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        _ => array.as_list::<i32>().value(row),
    };
    let column = JsonColumn::new(&items)?;
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        column.write(item, out)?;
    }
    out.push(']');
    Ok(())
}

/// Appends `value` as a JSON string.
fn string(value: &str, out: &mut String) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                use std::fmt::Write as _;
                write!(out, "\\u{:04x}", c as u32).expect("writing to memory cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
