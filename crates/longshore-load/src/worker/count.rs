//! Counts the records of a span before they are parsed, where a column asks for their numbers.
//!
//! Not here: what the numbers are (`numbering`).

use super::{Cursor, Scratch};
use crate::error::LoadError;
use crate::files::{Files, Work};
use crate::numbering::First;

/// The numbers of the first record of a span. What is wrong with the span is left for the parse to find.
///
/// # Errors
/// When a source has not as many numbers as the span has records.
pub(super) fn first_record(files: &Files, work: &Work, scratch: &mut Scratch) -> Result<First, LoadError> {
    let mut cursor = Cursor::unnumbered(files, work, scratch);
    let mut count = 0;
    while let Ok(Some(piece)) = cursor.next(files, work, scratch) {
        count += piece.records();
    }
    files.record_counts().tell(work.sequence, count, files.numbers());
    if let Some(first) = files.record_counts().wait(work.sequence, work.file.first_span, files.stops()) {
        return first.map_err(LoadError::NoNumbers);
    }
    Ok(First::of_nothing(files.numbers().len()))
}
