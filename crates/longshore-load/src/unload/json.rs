//! Rows as JSON objects.
//!
//! Numbers of every type are JSON numbers with all their digits; NaN and the infinities are strings. Lists and structs are
//! arrays and objects, JSON is what it says. Every other type is the string that CSV has for it.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::{DataType, SchemaRef};
use longshore_storage::ColumnType;

use super::columns::{Values, values};
use crate::error::LoadError;

/// How objects stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonLayout {
    /// Each on a line of its own.
    Lines,
    /// In one array.
    Array,
}

/// What is the same for all rows of an unload.
pub(super) struct JsonRows {
    layout: JsonLayout,
    /// The names with quotes and a colon.
    keys: Vec<Vec<u8>>,
}

impl JsonRows {
    pub(super) fn new(layout: JsonLayout, schema: &SchemaRef) -> Self {
        let key = |name: &String| {
            let mut key = Vec::new();
            string(name.as_bytes(), &mut key);
            key.push(b':');
            key
        };
        Self { layout, keys: schema.fields().iter().map(|field| key(field.name())).collect() }
    }

    /// Appends the rows of a batch, which is the first one or not.
    ///
    /// # Errors
    /// When a column has a type that has no JSON here.
    pub(super) fn write(&self, batch: &RecordBatch, is_first: bool, out: &mut Vec<u8>) -> Result<(), LoadError> {
        let columns = batch.columns().iter().zip(batch.schema_ref().fields());
        let columns = columns.map(|(array, field)| JsonValues::new(array, field.name()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            if self.layout == JsonLayout::Array {
                out.extend_from_slice(if is_first && row == 0 { b"[" } else { b",\n " });
            }
            for (index, (key, column)) in self.keys.iter().zip(&columns).enumerate() {
                out.push(if index == 0 { b'{' } else { b',' });
                out.extend_from_slice(key);
                column.write(row, out)?;
            }
            out.extend_from_slice(if columns.is_empty() { b"{}" } else { b"}" });
            if self.layout == JsonLayout::Lines {
                out.push(b'\n');
            }
        }
        Ok(())
    }

    /// What stands behind all rows.
    pub(super) fn end(&self, is_empty: bool) -> &'static [u8] {
        match self.layout {
            JsonLayout::Lines => b"",
            JsonLayout::Array if is_empty => b"[]\n",
            JsonLayout::Array => b"]\n",
        }
    }
}

/// The values of one column.
struct JsonValues<'a> {
    array: &'a ArrayRef,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Number(Values<'a>),
    /// A number, unless it is NaN or infinite.
    Float(Values<'a>),
    Boolean,
    Text(Values<'a>),
    /// JSON as it is.
    Json(&'a StringViewArray),
    List(String),
    Object(Vec<(Vec<u8>, JsonValues<'a>)>),
}

impl<'a> JsonValues<'a> {
    fn new(array: &'a ArrayRef, name: &str) -> Result<Self, LoadError> {
        let of_values = |kind: fn(Values<'a>) -> Kind<'a>| {
            values(array).map(kind).ok_or_else(|| {
                let data_type = array.data_type();
                LoadError::Query(format!(
                    "column {name}: values of type {data_type} have no JSON here; cast the column to TEXT in the query"
                ))
            })
        };
        let kind = match array.data_type() {
            DataType::Boolean => Kind::Boolean,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Kind::List(name.to_owned()),
            data_type @ DataType::Struct(fields) => {
                match ColumnType::from_arrow(data_type) {
                    Some(ColumnType::Numeric(_)) => return Ok(Self { array, kind: of_values(Kind::Float)? }),
                    Some(ColumnType::Json | ColumnType::Jsonb) => {
                        return Ok(Self { array, kind: Kind::Json(array.as_struct().column(0).as_string_view()) });
                    }
                    _ => {}
                }
                let members = fields.iter().zip(array.as_struct().columns()).map(|(field, column)| {
                    let mut key = Vec::new();
                    string(field.name().as_bytes(), &mut key);
                    key.push(b':');
                    Ok((key, JsonValues::new(column, name)?))
                });
                Kind::Object(members.collect::<Result<_, LoadError>>()?)
            }
            data_type if data_type.is_floating() => of_values(Kind::Float)?,
            data_type if data_type.is_numeric() => of_values(Kind::Number)?,
            _ => of_values(Kind::Text)?,
        };
        Ok(Self { array, kind })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), LoadError> {
        if self.array.is_null(row) || self.array.data_type() == &DataType::Null {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.kind {
            Kind::Number(values) => values.write(row, out),
            Kind::Float(values) => {
                let start = out.len();
                values.write(row, out);
                if out.last().is_some_and(u8::is_ascii_alphabetic) {
                    out.insert(start, b'"');
                    out.push(b'"');
                }
            }
            Kind::Boolean => out.extend_from_slice(if self.array.as_boolean().value(row) { b"true" } else { b"false" }),
            Kind::Text(values) => {
                let mut text = Vec::new();
                values.write(row, &mut text);
                string(&text, out);
            }
            Kind::Json(texts) if texts.is_null(row) => out.extend_from_slice(b"null"),
            Kind::Json(texts) => {
                // Line ends are white space there: strings hold none. A line is one object.
                let plain = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
                out.extend(texts.value(row).bytes().map(plain));
            }
            Kind::List(name) => {
                let items = match self.array.data_type() {
                    DataType::LargeList(_) => self.array.as_list::<i64>().value(row),
                    DataType::FixedSizeList(..) => self.array.as_fixed_size_list().value(row),
                    _ => self.array.as_list::<i32>().value(row),
                };
                out.extend_from_slice(&JsonValues::new(&items, name)?.all()?);
            }
            Kind::Object(members) => {
                out.push(b'{');
                for (index, (key, member)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(key);
                    member.write(row, out)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }

    /// All values as an array.
    fn all(&self) -> Result<Vec<u8>, LoadError> {
        let mut out = vec![b'['];
        for row in 0..self.array.len() {
            if row > 0 {
                out.push(b',');
            }
            self.write(row, &mut out)?;
        }
        out.push(b']');
        Ok(out)
    }
}

/// Appends a JSON string.
fn string(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{BooleanArray, Decimal128Array, Float64Array, ListArray};

    use super::*;

    #[test]
    fn every_kind_of_value() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
        let decimals =
            Decimal128Array::from(vec![Some(-5), None]).with_precision_and_scale(10, 2).expect("a precision");
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n", Arc::new(decimals)),
            ("f", Arc::new(Float64Array::from(vec![f64::NAN, 0.5]))),
            ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("t\"", Arc::new(StringViewArray::from(vec!["a\"\\\n\u{1}é", ""]))),
            ("l", Arc::new(lists)),
        ];
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a batch");
        let mut out = Vec::new();
        let rows = JsonRows::new(JsonLayout::Array, &batch.schema());
        rows.write(&batch, true, &mut out).expect("JSON");
        rows.write(&batch.slice(1, 1), false, &mut out).expect("JSON");
        out.extend_from_slice(rows.end(false));
        let second = "{\"n\":null,\"f\":0.5,\"b\":null,\"t\\\"\":\"\",\"l\":null}";
        let first = "{\"n\":-0.05,\"f\":\"NaN\",\"b\":true,\"t\\\"\":\"a\\\"\\\\\\n\\u0001é\",\"l\":[1,null]}";
        assert_eq!(String::from_utf8(out).expect("UTF-8"), format!("[{first},\n {second},\n {second}]\n"));
    }
}
