//! Rows in aligned columns, as psql shows them or as a Markdown table.
//!
//! The widths are those of the first [`SAMPLE_ROWS`] rows, which are held back; a longer value further down pushes
//! the rest of its line to the right. A line break in a value continues its row on the next line, marked by `+`.

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::style::{Style, clean};
use super::vertical::Vertical;
use super::{
    footer, not_shown,
    text::{Column, is_number},
};

/// Rows that decide the widths of columns.
const SAMPLE_ROWS: usize = 1000;

/// Writes aligned columns.
pub(crate) struct Aligned {
    style: Style,
    /// Turn wider results on their side.
    turn_beyond: Option<usize>,
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
    pub(super) fn new(style: Style, turn_beyond: Option<usize>, schema: SchemaRef) -> Self {
        let right = schema.fields().iter().map(|field| is_number(field.data_type())).collect();
        Self { style, turn_beyond, schema, right, state: State::Sampling(Vec::new()), rows: 0 }
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
            State::Streaming(widths) => write_rows(self.style, &self.right, widths, batch, out),
            State::Turned(vertical) => vertical.batch(batch, out),
        }
    }

    pub(super) fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        match (self.state, self.style) {
            (State::Turned(vertical), _) => vertical.finish(out),
            (_, Style::Table) => footer(self.rows, out),
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
        if self.turn_beyond.is_some_and(|limit| line > limit) {
            let mut vertical = Vertical::new(self.schema.clone());
            for batch in &held {
                vertical.batch(batch, out)?;
            }
            self.state = State::Turned(vertical);
            return Ok(());
        }
        self.header(&widths, out)?;
        for batch in &held {
            write_rows(self.style, &self.right, &widths, batch, out)?;
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
                    let value = cell(&column, row, self.style)?;
                    let widest = value.split('\n').map(UnicodeWidthStr::width).max();
                    *width = (*width).max(widest.unwrap_or(0));
                }
            }
        }
        Ok(widths)
    }

    fn header(&self, widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
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
}

fn write_rows(
    style: Style,
    right: &[bool],
    widths: &[usize],
    batch: &RecordBatch,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns: Vec<Column<'_>> =
        batch.columns().iter().map(Column::new).collect::<Result<_, _>>().map_err(|error| not_shown(&error))?;
    let mut text = String::new();
    for row in 0..batch.num_rows() {
        text.clear();
        let cells = columns.iter().map(|column| cell(column, row, style)).collect::<io::Result<Vec<String>>>()?;
        match style {
            Style::Table => table_row(&cells, right, widths, &mut text),
            Style::Markdown => markdown_row(&cells, right, widths, &mut text),
        }
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn table_row(cells: &[String], right: &[bool], widths: &[usize], text: &mut String) {
    let lines: Vec<Vec<&str>> = cells.iter().map(|cell| cell.split('\n').collect()).collect();
    let height = lines.iter().map(Vec::len).max().unwrap_or(1);
    for level in 0..height {
        let start = text.len();
        for (index, cell) in lines.iter().enumerate() {
            let value = cell.get(level).copied().unwrap_or("");
            let space = widths[index].saturating_sub(value.width());
            text.push_str(if index == 0 { " " } else { "| " });
            spaces(if right[index] { space } else { 0 }, text);
            text.push_str(value);
            spaces(if right[index] { 0 } else { space }, text);
            text.push(if level + 1 < cell.len() { '+' } else { ' ' });
        }
        text.truncate(start + text[start..].trim_end_matches(' ').len());
        text.push('\n');
    }
}

fn markdown_row(cells: &[String], right: &[bool], widths: &[usize], text: &mut String) {
    for (index, value) in cells.iter().enumerate() {
        let space = widths[index].saturating_sub(value.width());
        text.push_str("| ");
        spaces(if right[index] { space } else { 0 }, text);
        text.push_str(value);
        spaces(if right[index] { 1 } else { space + 1 }, text);
    }
    text.push_str("|\n");
}

/// The value of a row as it is shown.
fn cell(column: &Column<'_>, row: usize, style: Style) -> io::Result<String> {
    if column.is_null(row) {
        return Ok(String::from("NULL"));
    }
    let mut value = String::new();
    column.write(row, &mut value).map_err(|error| not_shown(&error))?;
    Ok(clean(&value, style))
}

fn spaces(count: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', count));
}
