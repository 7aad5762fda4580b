//! Rows turned on their side: one line per value, for rows wider than a terminal.

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr as _;

use super::style::{Style, clean, set_apart};
use super::{Look, Screen, cut, footer, not_shown, text::Column};

/// Length of the line over a record, beyond the column names.
const RULE_WIDTH: usize = 40;

/// Writes one line per value.
pub(crate) struct Vertical {
    look: Look,
    is_styled: bool,
    names: Vec<String>,
    name_width: usize,
    rows: u64,
}

impl Vertical {
    pub(super) fn new(look: &Look, screen: Screen, schema: SchemaRef) -> Self {
        let names: Vec<String> =
            schema.fields().iter().map(|field| clean(field.name(), Style::Table).replace('\n', " ")).collect();
        drop(schema);
        let name_width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        Self { look: look.clone(), is_styled: screen.is_styled, names, name_width, rows: 0 }
    }

    pub(super) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        let columns: Vec<Column<'_>> =
            batch.columns().iter().map(Column::new).collect::<Result<_, _>>().map_err(|error| not_shown(&error))?;
        let width = self.name_width + RULE_WIDTH;
        for row in 0..batch.num_rows() {
            self.rows += 1;
            if !self.look.tuples_only {
                let title = format!("-[ RECORD {} ]", self.rows);
                writeln!(out, "{title:-<width$}")?;
            } else if self.rows > 1 {
                writeln!(out)?;
            }
            for (name, column) in self.names.iter().zip(&columns) {
                self.value(name, column, row, out)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        footer(self.rows, &self.look, out)
    }

    fn value(&self, name: &str, column: &Column<'_>, row: usize, out: &mut dyn Write) -> io::Result<()> {
        let mut value = String::new();
        if column.is_null(row) {
            value = set_apart(self.look.null.as_deref().unwrap_or("NULL"), self.is_styled);
        } else {
            column.write(row, &mut value).map_err(|error| not_shown(&error))?;
            value = clean(cut(&value, self.look.value_width).as_deref().unwrap_or(&value), Style::Table);
        }
        let lines = value.split('\n').count();
        for (level, line) in value.split('\n').enumerate() {
            let label = if level == 0 { name } else { "" };
            let space = " ".repeat(self.name_width - label.width());
            let more = if level + 1 < lines { "+" } else { "" };
            let text = format!("{label}{space} | {line}{more}");
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}
