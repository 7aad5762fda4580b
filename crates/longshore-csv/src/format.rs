//! What any text format must do to be loaded: cut its text into records, and rewrite these as plain rows.
//!
//! The SIMD scan reads one language, that of [`crate::Dialect`]. Every other format implements [`RecordFormat`]: it
//! turns a stretch of text into a [`RowText`], which the same decoders read, so that types, NULL and errors are the
//! same for all formats. Not here: the formats themselves (`longshore-format`).

pub mod dense;
mod row_text;

use std::fmt;

pub use row_text::{Missing, RowText};

use crate::{Reason, ShapeError, ShapeErrorKind};

/// A text format that is read record by record.
pub trait RecordFormat: fmt::Debug + Send + Sync {
    /// How many bytes at the start of `text`, which begins where a record begins, are whole records. With `at_end` no
    /// text follows, and all of it counts. Called by one worker at a time with a text of some megabytes, so it should
    /// look no closer than it must: where a line end always ends a record, the last one tells.
    fn complete(&self, text: &[u8], at_end: bool) -> usize;

    /// Rewrites the records of `text`, which is what [`RecordFormat::complete`] cut off or a rest of it that begins
    /// where a record begins, as rows, until the text ends or `rows` [is full](RowText::is_full). Returns the bytes
    /// taken: at least one record, or all where there is none.
    ///
    /// A record that cannot be rewritten is put into `defects` and left out of `rows`; the ones behind it are read
    /// all the same.
    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize;

    /// The first record of `text` taken apart, where the format has records that may be a header; `None` where it has
    /// none or no record is complete. With `at_end` no text follows.
    fn first_record(&self, text: &[u8], at_end: bool) -> Option<FirstRecord>;

    /// Just behind the mark that ends the data, where the format has one and it stands in `records`, which
    /// [`RecordFormat::complete`] cut off; what follows it in the file is not read. [`RecordFormat::read`] takes no
    /// record from the mark.
    fn end_of_data(&self, _records: &[u8]) -> Option<usize> {
        None
    }

    /// What is wrong with the end of a whole text, `last` being what [`RecordFormat::complete`] cut off last: something
    /// that goes on around records and that no more text can end, such as the array in which they stand. What is wrong
    /// with the last record is found by [`RecordFormat::read`].
    fn unfinished(&self, _last: &[u8]) -> Option<Defect> {
        None
    }
}

/// The most bytes that a record may take where nothing else is said.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// The first record of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRecord {
    /// Bytes it takes, with what stands before it (comments) and its line end.
    pub bytes: usize,
    /// The contents of its fields, quotes and escapes taken away.
    pub fields: Vec<Vec<u8>>,
}

/// A record that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// How many rows of the same call stand before it.
    pub row: usize,
    /// Its first byte in the text.
    pub start: u32,
    /// The byte behind its last one, line end excluded.
    pub end: u32,
    /// What is wrong.
    pub kind: DefectKind,
    /// What is wrong, as a part of a sentence.
    pub reason: String,
    /// What the user can do.
    pub remedy: String,
}

impl From<ShapeError> for Defect {
    fn from(error: ShapeError) -> Defect {
        let kind = match error.kind {
            ShapeErrorKind::ExtraFields { .. } => DefectKind::ExtraFields,
            ShapeErrorKind::MissingFields { .. } | ShapeErrorKind::TrailingDelimiterMissing => {
                DefectKind::MissingFields
            }
            ShapeErrorKind::StrayCarriageReturn { .. } => DefectKind::LineEnd,
        };
        Defect {
            row: error.row,
            start: error.start,
            end: error.end,
            kind,
            reason: error.kind.reason(),
            remedy: error.kind.remedy(),
        }
    }
}

/// What is done about a record that is not quite what its format asks for, where that is allowed: nothing of it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RepairKind {
    /// It has too few fields; those that it lacks are missing values.
    Short,
    /// It has too many fields, and those beyond are empty; they are dropped.
    Long,
    /// A quote stands within a field, where it quotes nothing; it is a character like any other.
    StrayQuote,
}

/// The kinds of defects that users tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefectKind {
    /// A value that is not one of its column's type.
    Value,
    /// NULL where none may be.
    Null,
    /// Too few fields.
    MissingFields,
    /// Too many fields.
    ExtraFields,
    /// A quote that is never closed, or stands where none may.
    Quote,
    /// A field that speaks against the dialect that the text was taken to be of.
    Dialect,
    /// A carriage return that is not part of a line end.
    LineEnd,
    /// Bytes that are not text in the encoding of the file.
    Encoding,
    /// Longer than a record may be.
    TooLong,
    /// Not of the format at all: no JSON object, a line that a pattern does not match.
    Syntax,
    /// A row that violates a CHECK of its table.
    Check,
    /// A key that there can only be one of, and that is there already.
    DuplicateKey,
    /// A row that the record refers to is not there.
    ForeignKey,
}

impl DefectKind {
    /// The name that users see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DefectKind::Value => "value",
            DefectKind::Null => "null",
            DefectKind::MissingFields => "missing fields",
            DefectKind::ExtraFields => "extra fields",
            DefectKind::Quote => "quote",
            DefectKind::Dialect => "dialect",
            DefectKind::LineEnd => "line end",
            DefectKind::Encoding => "encoding",
            DefectKind::TooLong => "too long",
            DefectKind::Syntax => "syntax",
            DefectKind::Check => "check",
            DefectKind::DuplicateKey => "duplicate key",
            DefectKind::ForeignKey => "foreign key",
        }
    }
}

impl From<Reason> for DefectKind {
    fn from(reason: Reason) -> DefectKind {
        match reason {
            Reason::Null => DefectKind::Null,
            Reason::InvalidUtf8 { .. } => DefectKind::Encoding,
            _ => DefectKind::Value,
        }
    }
}

impl fmt::Display for DefectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
