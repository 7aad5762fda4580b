//! Rows as comma-separated values that `COPY ... FROM (HEADER)` reads back.

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Look, not_shown, text::Column};

/// Text is handed on when it has grown to this.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes comma-separated values: a header line, then one line per row.
pub(crate) struct Csv {
    delimiter: u8,
    null: String,
    schema: SchemaRef,
    header_written: bool,
}

impl Csv {
    pub(super) fn new(delimiter: u8, look: &Look, schema: SchemaRef) -> Self {
        let null = look.null.clone().unwrap_or_default();
        Self { delimiter, null, schema, header_written: look.tuples_only }
    }

    pub(super) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        self.header(out)?;
        let columns: Vec<Column<'_>> =
            batch.columns().iter().map(Column::new).collect::<Result<_, _>>().map_err(|error| not_shown(&error))?;
        let mut lines = String::with_capacity(FLUSH_BYTES * 2);
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    lines.push(char::from(self.delimiter));
                }
                if column.is_null(row) {
                    lines.push_str(&self.null);
                    continue;
                }
                let start = lines.len();
                column.write(row, &mut lines).map_err(|error| not_shown(&error))?;
                self.quote_from(&mut lines, start);
            }
            lines.push('\n');
            if lines.len() >= FLUSH_BYTES {
                out.write_all(lines.as_bytes())?;
                lines.clear();
            }
        }
        out.write_all(lines.as_bytes())
    }

    pub(super) fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.header(out)
    }

    fn header(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.header_written {
            return Ok(());
        }
        self.header_written = true;
        let mut line = String::new();
        for (index, field) in self.schema.fields().iter().enumerate() {
            if index > 0 {
                line.push(char::from(self.delimiter));
            }
            let start = line.len();
            line.push_str(field.name());
            self.quote_from(&mut line, start);
        }
        line.push('\n');
        out.write_all(line.as_bytes())
    }

    /// Puts the value that starts at `start` into quotes where a reader would else take it for something other.
    fn quote_from(&self, line: &mut String, start: usize) {
        let value = &line[start..];
        let is_special = |byte: u8| byte == self.delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        let needed = value.is_empty() || value == self.null || value == "\\." || value.bytes().any(is_special);
        if needed {
            let quoted = format!("\"{}\"", value.replace('"', "\"\""));
            line.truncate(start);
            line.push_str(&quoted);
        }
    }
}
