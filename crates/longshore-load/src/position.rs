//! Says where in the file something is wrong: from positions in a piece to line, byte, column and value.
//!
//! Lines are counted when an error is reported, not before.

use longshore_csv::unclosed_quote as position_of_unclosed_quote;
use longshore_csv::{Defect, Dialect, Reason};

use crate::error::{BadField, Fault, LoadError};
use crate::fields::{BadValue, DecodeError};
use crate::files::SpanTask;
use crate::options::RowViolation;
use crate::piece::Piece;

impl DecodeError {
    /// The error for the user, where the rows are those of `piece`.
    pub(crate) fn explain(self, task: &SpanTask, piece: &Piece<'_>) -> LoadError {
        match self {
            Self::Value(bad) => bad_value(task, piece, &bad),
            Self::Changed => LoadError::Changed { file: task.file.name.clone() },
            Self::Other(error) => error,
        }
    }
}

/// The error for a bad field of a piece.
fn bad_value(task: &SpanTask, piece: &Piece<'_>, bad: &BadValue) -> LoadError {
    let BadValue { position, error } = bad;
    let column = task.file.fields[*position].as_ref().expect("only fields with a column are decoded");
    let value = &piece.rows.text().text()[error.start as usize..error.end as usize];
    let mut field = report(task, piece.start + piece.origin(error.start), value);
    field.column = Some((column.name.clone(), column.column_type.to_string()));
    let advice = task.file.advice(*position, value, error.reason);
    (field.reason, field.remedy) = (advice.reason, advice.remedy);
    field.fault = error.reason.into();
    let field = Box::new(field);
    if matches!(error.reason, Reason::Null) { LoadError::Null(field) } else { LoadError::Bad(field) }
}

/// The error for a record of a piece that is none.
pub(crate) fn bad_record(task: &SpanTask, piece: &Piece<'_>, defect: &Defect) -> LoadError {
    let (start, end) = (piece.start + defect.start as usize, piece.start + defect.end as usize);
    let mut field = report(task, start, &task.text()[start..end]);
    field.reason.clone_from(&defect.reason);
    field.remedy.clone_from(&defect.remedy);
    LoadError::Bad(Box::new(field))
}

/// The error for a row of a piece that violates a check.
pub(crate) fn violated(task: &SpanTask, piece: &Piece<'_>, violation: &RowViolation) -> LoadError {
    let (start, end) = piece.record(violation.row);
    let (start, end) = (piece.start + start, piece.start + end);
    let mut field = report(task, start, &task.text()[start..end]);
    field.reason.clone_from(&violation.reason);
    violation.remedy.clone_into(&mut field.remedy);
    LoadError::Violated(Box::new(field))
}

/// The error for a quote that is open at the end of the file; the record that holds it begins at or after `start` in
/// the span.
pub(crate) fn unclosed_quote(task: &SpanTask, dialect: &Dialect, start: usize) -> LoadError {
    let text = &task.text()[start..];
    let quote = position_of_unclosed_quote(dialect, text).unwrap_or(0);
    let mut field = report(task, start + quote, &text[quote..]);
    field.explain_unclosed_quote();
    LoadError::Bad(Box::new(field))
}

/// An error about `value`, which begins at `start` in the span.
pub(crate) fn report(task: &SpanTask, start: usize, value: &[u8]) -> BadField {
    let byte = task.span.offset + start as u64;
    BadField {
        file: task.file.name.clone(),
        line: task.file.spans.lines_before(&task.span, byte) + 1,
        byte,
        column: None,
        value: value.to_vec(),
        reason: String::new(),
        remedy: String::new(),
        fault: Fault::default(),
    }
}
