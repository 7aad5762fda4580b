//! Says where in the file something is wrong: from positions in a piece to line, byte, column and value.
//!
//! Lines are counted when an error is reported, not before.

use longshore_csv::reference::ReferenceError;
use longshore_csv::unclosed_quote as position_of_unclosed_quote;
use longshore_csv::{ShapeError, ShapeErrorKind};

use crate::fields::{BadValue, value_type};
use crate::span::Span;
use crate::worker::{Pass, Piece};
use crate::{BadField, LoadError};

/// The error for a bad field of a piece.
pub(crate) fn bad_value(pass: &Pass, span: &Span, piece: &Piece<'_>, bad: &BadValue) -> LoadError {
    let column = &pass.columns[bad.position];
    let BadValue { error, .. } = bad;
    report(pass, span, piece.start, piece.records.rows.text().text(), error.start, error.end, |field| {
        field.column = Some((column.name.clone(), column.column_type.to_string()));
        field.reason = error.reason.to_string();
        field.remedy = error.reason.remedy(&value_type(&column.column_type));
    })
}

/// The error for a misshapen record of a piece.
pub(crate) fn bad_record(pass: &Pass, span: &Span, piece: &Piece<'_>, error: &ShapeError) -> LoadError {
    report(pass, span, piece.start, piece.records.rows.text().text(), error.start, error.end, |field| {
        field.reason = error.kind.reason();
        field.remedy = error.kind.remedy();
    })
}

/// The error for a quote that is open at the end of the file; the record that holds it begins at or after `start` in
/// the span.
pub(crate) fn unclosed_quote(pass: &Pass, span: &Span, start: usize) -> LoadError {
    let text = &pass.spans.text(span)[start..];
    let quote = position_of_unclosed_quote(&pass.dialect, text).unwrap_or(0) as u32;
    report(pass, span, start, text, quote, text.len() as u32, explain_unclosed_quote)
}

/// The error for a header that begins at `start` of the head of the file `name` and cannot be taken apart.
pub(crate) fn malformed(name: &str, head: &[u8], start: usize, error: ReferenceError) -> LoadError {
    let at = start
        + match error {
            ReferenceError::UnterminatedQuote(at) | ReferenceError::StrayCarriageReturn(at) => at,
        };
    let mut field = BadField {
        file: name.to_owned(),
        line: memchr::memchr_iter(b'\n', &head[..at]).count() as u64 + 1,
        byte: at as u64,
        column: None,
        value: head[at..].to_vec(),
        reason: String::new(),
        remedy: String::new(),
    };
    match error {
        ReferenceError::UnterminatedQuote(_) => explain_unclosed_quote(&mut field),
        ReferenceError::StrayCarriageReturn(_) => {
            let kind = ShapeErrorKind::StrayCarriageReturn { at: at as u32 };
            field.reason = kind.reason();
            field.remedy = kind.remedy();
        }
    }
    LoadError::Bad(Box::new(field))
}

fn explain_unclosed_quote(field: &mut BadField) {
    "opens a quote that is never closed".clone_into(&mut field.reason);
    "close it, or set QUOTE to another character or NONE".clone_into(&mut field.remedy);
}

/// An error about `text[from..to]`, where `text` begins at `start` in the span.
fn report(
    pass: &Pass,
    span: &Span,
    start: usize,
    text: &[u8],
    from: u32,
    to: u32,
    describe: impl FnOnce(&mut BadField),
) -> LoadError {
    let byte = span.offset + (start + from as usize) as u64;
    let mut field = BadField {
        file: pass.spans.name().to_owned(),
        line: pass.spans.lines_before(span, byte) + 1,
        byte,
        column: None,
        value: text[from as usize..to as usize].to_vec(),
        reason: String::new(),
        remedy: String::new(),
    };
    describe(&mut field);
    LoadError::Bad(Box::new(field))
}
