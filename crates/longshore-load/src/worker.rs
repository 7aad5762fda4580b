//! What one worker does with a span: takes complete records piece by piece, each piece small enough to stay in cache.
//!
//! Not here: what becomes of the rows (`load` puts them into partition buffers, `scan` makes batches of them).

use longshore_csv::{Dialect, Kernel, Marks, PADDING, Padded, Records, Rows, Scanner, Shape, TextTraits};
use longshore_storage::Column;

use crate::position::unclosed_quote;
use crate::span::{Span, Spans};
use crate::{LoadError, Mode};

/// A record longer than this is refused: it is more likely a quote that was never closed than data.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 30;

/// What is common to all workers of a pass over a source.
pub(crate) struct Pass {
    pub(crate) spans: Spans,
    pub(crate) dialect: Dialect,
    pub(crate) kernel: Kernel,
    pub(crate) mode: Mode,
    pub(crate) shape: Shape,
    pub(crate) piece_bytes: usize,
    /// What each field of the file is, for messages.
    pub(crate) columns: Vec<Column>,
}

/// What a worker keeps from piece to piece, so that nothing is allocated per piece.
#[derive(Default)]
pub(crate) struct Scratch {
    marks: Marks,
    /// A copy of the last piece of a text that has no padding or no last line end.
    tail: Vec<u8>,
}

/// How far the parse of one span is.
pub(crate) struct Cursor {
    position: usize,
    scanner: Scanner,
    traits: TextTraits,
}

/// Complete records of a piece.
pub(crate) struct Piece<'a> {
    /// Records; positions count from `start`.
    pub(crate) records: Records<'a>,
    /// Where the piece begins in its span.
    pub(crate) start: usize,
    /// Bytes that the records take.
    pub(crate) bytes: usize,
}

impl Cursor {
    /// At the start of `span`.
    pub(crate) fn new(pass: &Pass, span: &Span) -> Self {
        Self { position: 0, scanner: Scanner::new(pass.kernel, &pass.dialect, span.traits), traits: span.traits }
    }

    /// Bytes of the span that were not parsed yet.
    pub(crate) fn bytes_left(&self, pass: &Pass, span: &Span) -> usize {
        pass.spans.text(span).len() - self.position
    }

    /// The next records; `None` at the end of the span.
    ///
    /// # Errors
    /// When no record ends in what is left of the span: a quote was not closed, or the fast mode split the file
    /// where it may not.
    pub(crate) fn next<'a>(
        &mut self,
        pass: &'a Pass,
        span: &'a Span,
        scratch: &'a mut Scratch,
    ) -> Result<Option<Piece<'a>>, LoadError> {
        let text = pass.spans.text(span);
        let start = self.position;
        let mut length = pass.piece_bytes.min(text.len() - start);
        if length == 0 {
            return Ok(None);
        }
        loop {
            let at_end = start + length == text.len();
            stage_tail(pass, span, start, length, at_end, &mut scratch.tail);
            let padded = padded(pass, span, start, length, &scratch.tail);
            self.scanner.scan(padded, &mut scratch.marks);
            if scratch.marks.line_ends() > 0 {
                break;
            }
            if at_end {
                return Err(unfinished(pass, span, start));
            }
            length = length.saturating_mul(2).min(text.len() - start);
            if length > RECORD_BYTES_MAX {
                return Err(record_too_long(pass.spans.name()));
            }
        }
        let padded = padded(pass, span, start, length, &scratch.tail);
        let records = Rows::new(padded, &mut scratch.marks, pass.shape, self.traits, &pass.dialect);
        let bytes = records.consumed.min(length);
        self.position += bytes;
        Ok(Some(Piece { records, start, bytes }))
    }
}

/// Copies the piece to `tail` if it cannot be parsed where it stands: when it lacks the file's last line end, or when
/// too few bytes behind it can be read. Otherwise leaves `tail` empty.
fn stage_tail(pass: &Pass, span: &Span, start: usize, length: usize, at_end: bool, tail: &mut Vec<u8>) {
    let readable = &pass.spans.readable(span)[start..];
    let lacks_line_end = at_end && readable[length - 1] != b'\n';
    tail.clear();
    if lacks_line_end || readable.len() < length + PADDING {
        tail.extend_from_slice(&readable[..length]);
        if lacks_line_end {
            tail.push(b'\n');
        }
        tail.resize(tail.len() + PADDING, 0);
    }
}

/// The text of a piece with readable bytes behind it, after [`stage_tail`].
fn padded<'a>(pass: &'a Pass, span: &'a Span, start: usize, length: usize, tail: &'a [u8]) -> Padded<'a> {
    if tail.is_empty() {
        Padded::new(&pass.spans.readable(span)[start..], length)
    } else {
        Padded::new(tail, tail.len() - PADDING)
    }
}

/// Why a span ends within a record.
fn unfinished(pass: &Pass, span: &Span, start: usize) -> LoadError {
    let end = span.offset + pass.spans.text(span).len() as u64;
    if pass.mode == Mode::Fast && end < pass.spans.bytes_total() {
        LoadError::Unfit {
            file: pass.spans.name().to_owned(),
            problem: format!(
                "MODE fast split the file at byte {end}, inside a quoted field with an unescaped line break; \
                 use MODE exact"
            ),
        }
    } else {
        unclosed_quote(pass, span, start)
    }
}

pub(crate) fn record_too_long(name: &str) -> LoadError {
    LoadError::Unfit {
        file: name.to_owned(),
        problem: format!(
            "a record is longer than {RECORD_BYTES_MAX} bytes; a quote may never be closed: check QUOTE and ESCAPE, \
             or set QUOTE NONE"
        ),
    }
}
