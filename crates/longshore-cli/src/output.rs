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
mod unaligned;
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
    /// Values with a bar between them
    Unaligned,
    /// Comma-separated values with a header line; NULL is empty, the empty string is ""
    Csv,
    /// The same with tabs
    Tsv,
    /// One array of objects per result
    Json,
    /// One object per row, each on a line of its own
    Jsonl,
    /// A Markdown table
    Markdown,
    /// One line per value
    Vertical,
}

impl Format {
    /// The format of a name that people know from psql, sqlite3 or DuckDB.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "table" | "aligned" | "column" => Self::Table,
            "unaligned" | "list" => Self::Unaligned,
            "csv" => Self::Csv,
            "tsv" | "tabs" => Self::Tsv,
            "json" => Self::Json,
            "jsonl" | "jsonlines" | "ndjson" => Self::Jsonl,
            "markdown" => Self::Markdown,
            "vertical" | "line" => Self::Vertical,
            _ => return None,
        })
    }

    /// Its first name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Unaligned => "unaligned",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Markdown => "markdown",
            Self::Vertical => "vertical",
        }
    }
}

/// How results look.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) format: Format,
    pub(crate) expanded: Expanded,
    /// Rows without headings and their number.
    pub(crate) tuples_only: bool,
    /// Whether the number of rows stands below them.
    pub(crate) footer: bool,
    /// What stands for NULL, where it is not that of the format.
    pub(crate) null: Option<String>,
    /// What stands between unaligned values.
    pub(crate) field_separator: String,
    /// Characters of a value that are shown in formats for people.
    pub(crate) value_width: Option<usize>,
    /// A line above the rows, in formats for people.
    pub(crate) title: Option<String>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            format: Format::default(),
            expanded: Expanded::default(),
            tuples_only: false,
            footer: true,
            null: None,
            field_separator: "|".to_owned(),
            value_width: None,
            title: None,
        }
    }
}

/// What results are shown on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// In character cells.
    pub(crate) width: usize,
    /// In lines.
    pub(crate) height: usize,
    /// Whether NULL is set apart from the text `NULL`.
    pub(crate) is_styled: bool,
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
    /// Values with a separator between them.
    Unaligned(unaligned::Unaligned),
    /// Comma-separated values.
    Csv(csv::Csv),
    /// An array of objects, or an object per line.
    Json(json::Json),
}

impl Printer {
    /// A printer for one result with columns `schema`.
    pub(crate) fn new(look: &Look, screen: Screen, schema: SchemaRef) -> Self {
        match (look.format, look.expanded) {
            (Format::Table, Expanded::On) | (Format::Vertical, _) => {
                Self::Vertical(vertical::Vertical::new(look, screen, schema))
            }
            (Format::Table, _) => Self::Aligned(aligned::Aligned::new(style::Style::Table, look, screen, schema)),
            (Format::Markdown, _) => Self::Aligned(aligned::Aligned::new(style::Style::Markdown, look, screen, schema)),
            (Format::Unaligned, _) => Self::Unaligned(unaligned::Unaligned::new(look, schema)),
            (Format::Csv, _) => Self::Csv(csv::Csv::new(b',', look, schema)),
            (Format::Tsv, _) => Self::Csv(csv::Csv::new(b'\t', look, schema)),
            (Format::Json, _) => Self::Json(json::Json::new(schema, json::Layout::Array)),
            (Format::Jsonl, _) => Self::Json(json::Json::new(schema, json::Layout::Lines)),
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
            Self::Unaligned(printer) => printer.batch(batch, out),
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
            Self::Unaligned(printer) => printer.finish(out),
            Self::Csv(printer) => printer.finish(out),
            Self::Json(printer) => printer.finish(out),
        }
    }
}

/// The footer of the formats for people: `(1 row)`, `(42 rows)`.
fn footer(rows: u64, look: &Look, out: &mut dyn Write) -> io::Result<()> {
    if look.footer && !look.tuples_only {
        writeln!(out, "({})", human::count(rows, "row"))?;
    }
    writeln!(out)
}

/// The values of a row as every format writes them.
///
/// # Errors
///
/// A value that arrow cannot show.
pub(crate) fn texts(rows: &RecordBatch, row: usize) -> io::Result<Vec<Option<String>>> {
    let text = |array| {
        let column = text::Column::new(array)?;
        if column.is_null(row) {
            return Ok(None);
        }
        let mut value = String::new();
        column.write(row, &mut value).map(|()| Some(value))
    };
    rows.columns().iter().map(text).collect::<Result<_, _>>().map_err(|error| not_shown(&error))
}

/// `value` cut to `width` characters, with a word about it.
fn cut(value: &str, width: Option<usize>) -> Option<String> {
    let (end, _) = value.char_indices().nth(width?)?;
    Some(format!("{}… ({} characters)", &value[..end], value.chars().count()))
}

/// A value that arrow cannot show is an error of the output.
fn not_shown(error: &ArrowError) -> io::Error {
    io::Error::other(format!("a value cannot be written: {error}"))
}

#[cfg(test)]
mod tests;
