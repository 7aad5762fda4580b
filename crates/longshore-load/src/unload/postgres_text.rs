//! Rows as PostgreSQL's text format: fields between delimiters, and a backslash before what would be taken for one.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::columns::{Values, values};
use crate::error::LoadError;

/// How the text format is to be written.
#[derive(Clone, Debug)]
pub struct PostgresTextLayout {
    /// What stands between fields: a byte that is no letter, digit, backslash or line end.
    pub delimiter: u8,
    /// The text that stands for NULL, written as it is.
    pub null: String,
    /// Whether the first record holds the column names.
    pub header: bool,
}

impl PostgresTextLayout {
    /// Appends the record of the column names, if one is due.
    pub(super) fn write_header(&self, schema: &SchemaRef, out: &mut Vec<u8>) {
        if !self.header {
            return;
        }
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                out.push(self.delimiter);
            }
            self.escaped(field.name().as_bytes(), out);
        }
        out.push(b'\n');
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// When a column has a type that has no text.
    pub(super) fn write_rows(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), LoadError> {
        let columns = batch.columns().iter().zip(batch.schema_ref().fields());
        let columns = columns.map(|(array, field)| {
            let no_text = || LoadError::Query(format!("column {}: {} has no text", field.name(), array.data_type()));
            Ok((array, values(array).ok_or_else(no_text)?))
        });
        let columns = columns.collect::<Result<Vec<_>, LoadError>>()?;
        let mut value = Vec::new();
        for row in 0..batch.num_rows() {
            for (index, (array, values)) in columns.iter().enumerate() {
                if index > 0 {
                    out.push(self.delimiter);
                }
                if array.is_null(row) || matches!(values, Values::Null) {
                    out.extend_from_slice(self.null.as_bytes());
                    continue;
                }
                value.clear();
                values.write(row, &mut value);
                self.escaped(&value, out);
            }
            out.push(b'\n');
        }
        Ok(())
    }

    /// Appends a value.
    fn escaped(&self, value: &[u8], out: &mut Vec<u8>) {
        let mut rest = value;
        while let Some(at) = rest.iter().position(|&byte| self.letter(byte).is_some()) {
            out.extend_from_slice(&rest[..at]);
            out.push(b'\\');
            out.extend(self.letter(rest[at]));
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
    }

    /// What stands behind a backslash for this byte, if the byte does not stand for itself.
    fn letter(&self, byte: u8) -> Option<u8> {
        match byte {
            _ if byte == self.delimiter && byte != b'\t' => Some(byte),
            b'\\' => Some(b'\\'),
            0x08 => Some(b'b'),
            0x0b => Some(b'v'),
            0x0c => Some(b'f'),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            b'\t' => Some(b't'),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, StringViewArray};

    use super::*;

    #[test]
    fn special_bytes_have_a_backslash() {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n|", Arc::new(Int32Array::from(vec![Some(-5), None]))),
            ("t", Arc::new(StringViewArray::from(vec!["a\\|\t\n\r\u{8}\u{b}\u{c}é", "\\N"]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("a batch");
        let layout = PostgresTextLayout { delimiter: b'|', null: "\\N".to_owned(), header: true };
        let mut out = Vec::new();
        layout.write_header(&batch.schema(), &mut out);
        layout.write_rows(&batch, &mut out).expect("text");
        let expected = "n\\||t\n-5|a\\\\\\|\\t\\n\\r\\b\\v\\fé\n\\N|\\\\N\n";
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }
}
