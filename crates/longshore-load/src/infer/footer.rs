//! The end of a file that is no part of its table, as it is told.
//!
//! Not here: which records are a footer (`fit`).

use std::fmt;

use crate::error::Excerpt;
use crate::files::SpanTask;
use crate::piece::Piece;
use crate::repair::SHOWN_BYTES_MAX;

/// The end of a file that is no part of its table: short records that are not of its types, and what follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Number of the file among those that were given.
    pub number: usize,
    /// Its name.
    pub file: String,
    /// Where its table ends.
    pub byte: u64,
    /// The line that begins there, from 1.
    pub line: u64,
    /// The text of that line, cut if it is long.
    pub record: Vec<u8>,
}

impl Footer {
    /// That begins with a row of a piece.
    pub(crate) fn at(task: &SpanTask, piece: &Piece<'_>, row: usize) -> Self {
        let (start, end) = piece.record(row);
        let (start, end) = (piece.start + start, piece.start + end);
        let byte = task.span.offset + start as u64;
        Self {
            number: task.file.input.number,
            file: task.file.name.clone(),
            byte,
            line: task.file.spans.lines_before(&task.span, byte) + 1,
            record: task.text()[start..end.min(start + SHOWN_BYTES_MAX)].to_vec(),
        }
    }
}

impl fmt::Display for Footer {
    /// As a part of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, record, .. } = self;
        write!(
            f,
            "the end of {file} from line {line} on is no part of the table and was left out ({})",
            Excerpt(record)
        )
    }
}
