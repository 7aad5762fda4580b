//! Decides how the rows of a query are written.
//!
//! A [`Printer`] takes the batches of one result as they come and writes them at once, so a result of any length
//! passes in bounded memory; only the aligned formats hold back the first rows, to learn the widths of columns.
//!
//! Not here: where the bytes go (`run`), values as text (`output::text`).

mod aligned;
mod csv;
mod json;
mod style;
mod text;
mod vertical;

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::human;

/// How the rows of a query are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people
    #[default]
    Table,
    /// Comma-separated values with a header line; NULL is empty, the empty string is ""
    Csv,
    /// One array of objects per result
    Json,
    /// A Markdown table
    Markdown,
    /// One line per value
    Vertical,
}

/// Whether a table result is turned on its side, as `\x` sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expanded {
    /// Rows are lines.
    #[default]
    Off,
    /// Values are lines.
    On,
    /// Values are lines if rows would be wider than the terminal.
    Auto,
}

/// Writes the rows of one result.
pub(crate) enum Printer {
    /// Aligned columns, for people or as Markdown.
    Aligned(aligned::Aligned),
    /// One line per value.
    Vertical(vertical::Vertical),
    /// Comma-separated values.
    Csv(csv::Csv),
    /// An array of objects.
    Json(json::Json),
}

impl Printer {
    /// A printer for one result with columns `schema`; `terminal_width` is in character cells.
    pub(crate) fn new(format: Format, expanded: Expanded, terminal_width: usize, schema: SchemaRef) -> Self {
        match (format, expanded) {
            (Format::Table, Expanded::On) | (Format::Vertical, _) => Self::Vertical(vertical::Vertical::new(schema)),
            (Format::Table, Expanded::Off) => Self::Aligned(aligned::Aligned::new(style::Style::Table, None, schema)),
            (Format::Table, Expanded::Auto) => {
                Self::Aligned(aligned::Aligned::new(style::Style::Table, Some(terminal_width), schema))
            }
            (Format::Markdown, _) => Self::Aligned(aligned::Aligned::new(style::Style::Markdown, None, schema)),
            (Format::Csv, _) => Self::Csv(csv::Csv::new(schema)),
            (Format::Json, _) => Self::Json(json::Json::new(schema)),
        }
    }

    /// Takes the next rows.
    ///
    /// # Errors
    ///
    /// What `out` says.
    pub(crate) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Aligned(printer) => printer.batch(batch, out),
            Self::Vertical(printer) => printer.batch(batch, out),
            Self::Csv(printer) => printer.batch(batch, out),
            Self::Json(printer) => printer.batch(batch, out),
        }
    }

    /// Writes what is held back and what ends a result.
    ///
    /// # Errors
    ///
    /// What `out` says.
    pub(crate) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Aligned(printer) => printer.finish(out),
            Self::Vertical(printer) => printer.finish(out),
            Self::Csv(printer) => printer.finish(out),
            Self::Json(printer) => printer.finish(out),
        }
    }
}

/// The footer of the formats for people: `(1 row)`, `(42 rows)`.
fn footer(rows: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "({})\n", human::count(rows, "row"))
}

/// A value that arrow cannot show is an error of the output.
fn not_shown(error: &ArrowError) -> io::Error {
    io::Error::other(format!("a value cannot be written: {error}"))
}

#[cfg(test)]
mod tests;
