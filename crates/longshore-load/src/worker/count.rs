//! Counts the records of a span before they are parsed, where a column asks for their numbers.
//!
//! Not here: what the numbers are (`numbering`).

use super::{Cursor, Scratch};
use crate::error::LoadError;
use crate::files::{Files, SpanTask};
use crate::numbering::First;

/// The numbers of the first record of a span. What is wrong with the span is left for the parse to find.
///
/// # Errors
/// When a source has not as many numbers as the span has records.
pub(super) fn first_record(files: &Files, task: &SpanTask, scratch: &mut Scratch) -> Result<First, LoadError> {
    let mut cursor = Cursor::unnumbered(files, task, scratch);
    let mut count = 0;
    while let Ok(Some(piece)) = cursor.next(files, task, scratch) {
        count += piece.records();
        // Where bad records are errors, the load ends with this one, and the cursor does not get beyond it.
        if !piece.defects.is_empty() && !files.is_lenient() {
            break;
        }
    }
    files.record_counts().tell(task.sequence, count, files.numbers());
    if let Some(first) = files.record_counts().wait(task.sequence, task.file.first_span, files.stops()) {
        return first.map_err(LoadError::NoNumbers);
    }
    Ok(First::of_nothing(files.numbers().len()))
}
