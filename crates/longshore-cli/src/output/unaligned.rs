//! Rows as psql shows them unaligned: values with a separator between them, nothing quoted.

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Expanded, Look, not_shown, text::Column};
use crate::human;

/// Text is handed on when it has grown to this.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes unaligned rows.
pub(crate) struct Unaligned {
    look: Look,
    names: Vec<String>,
    rows: u64,
    header_written: bool,
}

impl Unaligned {
    pub(super) fn new(look: &Look, schema: SchemaRef) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        drop(schema);
        Self { look: look.clone(), names, rows: 0, header_written: false }
    }

    pub(super) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        self.header(out)?;
        let columns: Vec<Column<'_>> =
            batch.columns().iter().map(Column::new).collect::<Result<_, _>>().map_err(|error| not_shown(&error))?;
        let mut lines = String::with_capacity(FLUSH_BYTES * 2);
        for row in 0..batch.num_rows() {
            self.rows += 1;
            if self.is_turned() && self.rows > 1 {
                lines.push('\n');
            }
            for (index, column) in columns.iter().enumerate() {
                if self.is_turned() {
                    lines.push_str(&self.names[index]);
                    lines.push_str(&self.look.field_separator);
                } else if index > 0 {
                    lines.push_str(&self.look.field_separator);
                }
                if column.is_null(row) {
                    lines.push_str(self.look.null.as_deref().unwrap_or_default());
                } else {
                    column.write(row, &mut lines).map_err(|error| not_shown(&error))?;
                }
                if self.is_turned() {
                    lines.push('\n');
                }
            }
            if !self.is_turned() {
                lines.push('\n');
            }
            if lines.len() >= FLUSH_BYTES {
                out.write_all(lines.as_bytes())?;
                lines.clear();
            }
        }
        out.write_all(lines.as_bytes())
    }

    pub(super) fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.header(out)?;
        if self.look.footer && !self.look.tuples_only && !self.is_turned() {
            writeln!(out, "({})", human::count(self.rows, "row"))?;
        }
        Ok(())
    }

    fn is_turned(&self) -> bool {
        self.look.expanded == Expanded::On
    }

    fn header(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.header_written || self.is_turned() || self.look.tuples_only {
            return Ok(());
        }
        self.header_written = true;
        writeln!(out, "{}", self.names.join(&self.look.field_separator))
    }
}
