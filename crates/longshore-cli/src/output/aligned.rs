//! Rows in aligned columns, as psql shows them or as a Markdown table.
//!
//! The widths are those of the first [`SAMPLE_ROWS`] rows, which are held back; a longer value further down pushes
//! the rest of its line to the right. A line break in a value continues its row on the next line, marked by `+`.

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::style::{Style, clean, set_apart};
use super::vertical::Vertical;
use super::{
    Expanded, Look, Screen, cut, footer, not_shown,
    text::{Column, is_number},
};

/// Rows that decide the widths of columns.
const SAMPLE_ROWS: usize = 1000;

/// Writes aligned columns.
pub(crate) struct Aligned {
    style: Style,
    look: Look,
    screen: Screen,
    schema: SchemaRef,
    right: Vec<bool>,
    state: State,
    rows: u64,
}

enum State {
    /// Rows held back until there are enough.
    Sampling(Vec<RecordBatch>),
    /// The widths are known and the header is written.
    Streaming(Vec<usize>),
    /// The result is too wide.
    Turned(Vertical),
}

impl Aligned {
    pub(super) fn new(style: Style, look: &Look, screen: Screen, schema: SchemaRef) -> Self {
        let right = schema.fields().iter().map(|field| is_number(field.data_type())).collect();
        Self { style, look: look.clone(), screen, schema, right, state: State::Sampling(Vec::new()), rows: 0 }
    }

    pub(super) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        self.rows += batch.num_rows() as u64;
        match &mut self.state {
            State::Sampling(held) => {
                held.push(batch.clone());
                if self.rows >= SAMPLE_ROWS as u64 {
                    self.start(out)?;
                }
                Ok(())
            }
            State::Streaming(widths) => {
                let widths = std::mem::take(widths);
                let written = self.write_rows(&widths, batch, out);
                self.state = State::Streaming(widths);
                written
            }
            State::Turned(vertical) => vertical.batch(batch, out),
        }
    }

    pub(super) fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        match (self.state, self.style) {
            (State::Turned(vertical), _) => vertical.finish(out),
            (_, Style::Table) => footer(self.rows, &self.look, out),
            (_, Style::Markdown) => Ok(()),
        }
    }

    /// Decides the widths by the rows held back and writes the header and these rows; nothing if that is done.
    fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let State::Sampling(held) = &mut self.state else {
            return Ok(());
        };
        let held = std::mem::take(held);
        let widths = self.measure(&held)?;
        let line = widths.iter().sum::<usize>() + 3 * widths.len();
        let is_turned = self.style == Style::Table && self.look.expanded == Expanded::Auto;
        if is_turned && line > self.screen.width {
            let mut vertical = Vertical::new(&self.look, self.screen, self.schema.clone());
            for batch in &held {
                vertical.batch(batch, out)?;
            }
            self.state = State::Turned(vertical);
            return Ok(());
        }
        self.header(&widths, out)?;
        for batch in &held {
            self.write_rows(&widths, batch, out)?;
        }
        self.state = State::Streaming(widths);
        Ok(())
    }

    fn measure(&self, held: &[RecordBatch]) -> io::Result<Vec<usize>> {
        let mut widths: Vec<usize> = self
            .schema
            .fields()
            .iter()
            .map(|field| {
                let least = if self.style == Style::Markdown { 3 } else { 0 };
                clean(field.name(), self.style).width().max(least)
            })
            .collect();
        let mut rows_left = SAMPLE_ROWS;
        for batch in held {
            let rows = batch.num_rows().min(rows_left);
            rows_left -= rows;
            for (width, array) in widths.iter_mut().zip(batch.columns()) {
                let column = Column::new(array).map_err(|error| not_shown(&error))?;
                for row in 0..rows {
                    let value = self.cell(&column, row)?.text;
                    let widest = value.split('\n').map(UnicodeWidthStr::width).max();
                    *width = (*width).max(widest.unwrap_or(0));
                }
            }
        }
        Ok(widths)
    }

    fn header(&self, widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
        if let (Some(title), Style::Table, false) = (&self.look.title, self.style, self.look.tuples_only) {
            let line = widths.iter().map(|width| width + 3).sum::<usize>().saturating_sub(1);
            writeln!(out, "{}{title}", " ".repeat(line.saturating_sub(title.width()) / 2))?;
        }
        if self.look.tuples_only && self.style == Style::Table {
            return Ok(());
        }
        let mut names = String::new();
        let mut rule = String::new();
        for (index, (field, &width)) in self.schema.fields().iter().zip(widths).enumerate() {
            let name = clean(field.name(), self.style);
            let space = width.saturating_sub(name.width());
            match self.style {
                Style::Table => {
                    // Centred, as psql does.
                    names.push_str(if index == 0 { " " } else { "| " });
                    spaces(space / 2, &mut names);
                    names.push_str(&name);
                    spaces(space - space / 2 + 1, &mut names);
                    rule.push_str(if index == 0 { "" } else { "+" });
                    rule.extend(std::iter::repeat_n('-', width + 2));
                }
                Style::Markdown => {
                    names.push_str("| ");
                    let right = self.right[index];
                    spaces(if right { space } else { 0 }, &mut names);
                    names.push_str(&name);
                    spaces(if right { 1 } else { space + 1 }, &mut names);
                    rule.push_str("| ");
                    rule.extend(std::iter::repeat_n('-', width - usize::from(right)));
                    rule.push_str(if right { ": " } else { " " });
                }
            }
        }
        if self.style == Style::Markdown {
            names.push('|');
            rule.push('|');
        }
        writeln!(out, "{}\n{rule}", names.trim_end())
    }

    fn write_rows(&self, widths: &[usize], batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        let columns: Vec<Column<'_>> =
            batch.columns().iter().map(Column::new).collect::<Result<_, _>>().map_err(|error| not_shown(&error))?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            text.clear();
            let cells = columns.iter().map(|column| self.cell(column, row)).collect::<io::Result<Vec<Cell>>>()?;
            match self.style {
                Style::Table => self.table_row(&cells, widths, &mut text),
                Style::Markdown => self.markdown_row(&cells, widths, &mut text),
            }
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn table_row(&self, cells: &[Cell], widths: &[usize], text: &mut String) {
        let lines: Vec<Vec<&str>> = cells.iter().map(|cell| cell.text.split('\n').collect()).collect();
        let height = lines.iter().map(Vec::len).max().unwrap_or(1);
        for level in 0..height {
            let start = text.len();
            for (index, cell) in lines.iter().enumerate() {
                let value = cell.get(level).copied().unwrap_or("");
                let space = widths[index].saturating_sub(value.width());
                text.push_str(if index == 0 { " " } else { "| " });
                spaces(if self.right[index] { space } else { 0 }, text);
                if cells[index].is_null {
                    text.push_str(&set_apart(value, self.screen.is_styled));
                } else {
                    text.push_str(value);
                }
                spaces(if self.right[index] { 0 } else { space }, text);
                text.push(if level + 1 < cell.len() { '+' } else { ' ' });
            }
            text.truncate(start + text[start..].trim_end_matches(' ').len());
            text.push('\n');
        }
    }

    fn markdown_row(&self, cells: &[Cell], widths: &[usize], text: &mut String) {
        for (index, Cell { text: value, .. }) in cells.iter().enumerate() {
            let (space, right) = (widths[index].saturating_sub(value.width()), self.right[index]);
            text.push_str("| ");
            spaces(if right { space } else { 0 }, text);
            text.push_str(value);
            spaces(if right { 1 } else { space + 1 }, text);
        }
        text.push_str("|\n");
    }

    /// The value of a row as it is shown.
    fn cell(&self, column: &Column<'_>, row: usize) -> io::Result<Cell> {
        if column.is_null(row) {
            let null = self.look.null.as_deref().unwrap_or("NULL");
            return Ok(Cell { text: clean(null, self.style), is_null: true });
        }
        let mut value = String::new();
        column.write(row, &mut value).map_err(|error| not_shown(&error))?;
        let shown = cut(&value, self.look.value_width).unwrap_or(value);
        Ok(Cell { text: clean(&shown, self.style), is_null: false })
    }
}

/// A value as it is shown.
struct Cell {
    text: String,
    is_null: bool,
}

fn spaces(count: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', count));
}
