//! What one worker does with a span: takes complete records piece by piece, each piece small enough to stay in cache.
//!
//! Not here: what becomes of the rows (`load` puts them into partition buffers, `scan` makes batches of them).

mod count;
mod quotes;

use longshore_csv::{
    Defect, DefectKind, Dialect, Marks, PADDING, Padded, RECORD_BYTES_MAX, RowText, Rows, Scanner, TextTraits,
};

use crate::error::{LoadError, UNCLOSED_QUOTE};
use crate::files::{Files, Language, SpanTask};
use crate::numbering::First;
use crate::options::Mode;
use crate::piece::Piece;
use crate::position::{bad_record, unclosed_quote};
use count::first_record;

/// What a worker keeps from piece to piece, so that nothing is allocated per piece.
#[derive(Default)]
pub(crate) struct Scratch {
    marks: Marks,
    /// A copy of the last piece of a text that has no padding or no last line end.
    tail: Vec<u8>,
    /// The rewritten rows of formats other than CSV.
    row_text: Option<RowText>,
}

/// How far the parse of one span is.
pub(crate) struct Cursor {
    position: usize,
    /// Numbers of the next record, if a column asks for them.
    next_record: Option<First>,
    reader: Reader,
}

enum Reader {
    Csv { scanner: Scanner, traits: TextTraits },
    Other,
}

impl Cursor {
    /// At the start of the span.
    ///
    /// # Errors
    /// When there are not as many numbers as records.
    pub(crate) fn new(files: &Files, task: &SpanTask, scratch: &mut Scratch) -> Result<Self, LoadError> {
        let next_record = if task.file.is_numbered { Some(first_record(files, task, scratch)?) } else { None };
        Ok(Self { next_record, ..Self::unnumbered(files, task, scratch) })
    }

    /// At the start of the span, without knowing the numbers of its records.
    pub(crate) fn unnumbered(files: &Files, task: &SpanTask, scratch: &mut Scratch) -> Self {
        let traits = task.span.traits;
        let reader = match &task.file.language {
            Language::Csv { dialect, .. } => {
                Reader::Csv { scanner: Scanner::new(files.kernel(), dialect, traits), traits }
            }
            Language::Other { .. } => {
                scratch.row_text = task.file.row_text();
                Reader::Other
            }
        };
        Self { position: 0, next_record: None, reader }
    }

    /// Bytes of the span that were not parsed yet.
    pub(crate) fn bytes_left(&self, task: &SpanTask) -> usize {
        task.text().len() - self.position
    }

    /// The next records; `None` at the end of the span.
    ///
    /// # Errors
    /// When no record ends in what is left of the span: a quote was not closed, or the fast mode split the file
    /// where it may not.
    pub(crate) fn next<'a>(
        &mut self,
        files: &Files,
        task: &'a SpanTask,
        scratch: &'a mut Scratch,
    ) -> Result<Option<Piece<'a>>, LoadError> {
        let start = self.position;
        if start == task.text().len() {
            return Ok(None);
        }
        let piece = match (&self.reader, &task.file.language) {
            (Reader::Csv { scanner, traits }, Language::Csv { dialect, shape }) => {
                let length = scan(scanner, dialect, files, task, start, scratch)?;
                let Scratch { marks, tail, .. } = scratch;
                let text = padded(task, start, length, tail);
                if marks.line_ends() == 0 {
                    let defects = vec![never_closed(length)];
                    let rows = Rows::new(text, marks, *shape, *traits, dialect).rows;
                    Piece {
                        start,
                        bytes: length,
                        rows,
                        defects,
                        first_record: self.next_record.clone(),
                        rewritten: None,
                        may_change: !task.span.owns_text(),
                    }
                } else {
                    let mut errors = Vec::new();
                    let records = if files.is_lenient() {
                        Rows::lenient(text, marks, *shape, *traits, dialect, &mut errors)
                    } else {
                        Rows::new(text, marks, *shape, *traits, dialect)
                    };
                    errors.extend(records.error);
                    let mut defects: Vec<Defect> = errors.into_iter().map(Defect::from).collect();
                    let bytes = records.consumed.min(length);
                    let mut rows = records.rows;
                    if let Some(defect) = quotes::contradiction(&rows, files.quote_check(), files.kernel()) {
                        rows = rows.truncated(defect.row);
                        defects = vec![defect];
                    }
                    Piece {
                        start,
                        bytes,
                        rows,
                        defects,
                        first_record: self.next_record.clone(),
                        rewritten: None,
                        may_change: !task.span.owns_text(),
                    }
                }
            }
            (_, Language::Other { format, .. }) => {
                let rows = scratch.row_text.as_mut().expect("the cursor made it");
                let mut defects = Vec::new();
                rows.clear();
                let bytes = format.read(&task.text()[start..], rows, &mut defects);
                assert!(bytes > 0, "{format:?} takes at least one record, or all of the text");
                if task.span.is_last && start + bytes == task.text().len() {
                    defects.extend(format.unfinished(task.text()).map(|defect| Defect {
                        row: rows.count(),
                        start: defect.start - start as u32,
                        end: defect.end - start as u32,
                        ..defect
                    }));
                }
                rows.seal();
                Piece {
                    start,
                    bytes,
                    rows: rows.rows(),
                    defects,
                    first_record: self.next_record.clone(),
                    rewritten: Some(rows),
                    may_change: false,
                }
            }
            (Reader::Other, Language::Csv { .. }) => unreachable!("the cursor is that of this file"),
        };
        // Where bad records are rejected, those of another dialect are not: they tell that the others are bad.
        if files.is_lenient()
            && let Some(defect) = piece.defects.iter().find(|defect| defect.kind == DefectKind::Dialect)
        {
            return Err(bad_record(task, &piece, defect));
        }
        if files.repairs_later() {
            check_whole(task, &piece)?;
        }
        self.position += piece.bytes;
        if let Some(next) = &mut self.next_record {
            next.advance(piece.records());
        }
        Ok(Some(piece))
    }
}

/// Finds the marks of a piece from `start` on in which at least one record ends; returns its length. In a lenient pass,
/// no record ends in it if it is the rest of the file, and inside quotes.
fn scan(
    scanner: &Scanner,
    dialect: &Dialect,
    files: &Files,
    task: &SpanTask,
    start: usize,
    scratch: &mut Scratch,
) -> Result<usize, LoadError> {
    let text = task.text();
    let mut length = task.file.piece_bytes.min(text.len() - start);
    loop {
        let at_end = start + length == text.len();
        stage_tail(task, start, length, at_end, &mut scratch.tail);
        scanner.scan(padded(task, start, length, &scratch.tail), &mut scratch.marks);
        if scratch.marks.line_ends() > 0 {
            return Ok(length);
        }
        if at_end {
            return match unfinished(files, task, dialect, start) {
                LoadError::Bad(_) if files.is_lenient() => Ok(length),
                error => Err(error),
            };
        }
        length = length.saturating_mul(2).min(text.len() - start);
        if length > RECORD_BYTES_MAX {
            return Err(LoadError::record_too_long(&task.file.name));
        }
    }
}

/// Ends a pass over a piece with a record that a repair might make whole: of too few or too many fields.
fn check_whole(task: &SpanTask, piece: &Piece<'_>) -> Result<(), LoadError> {
    let is_shape = |defect: &&Defect| matches!(defect.kind, DefectKind::MissingFields | DefectKind::ExtraFields);
    match piece.defects.iter().find(is_shape).map(|defect| bad_record(task, piece, defect)) {
        None => Ok(()),
        Some(LoadError::Bad(field)) => Err(LoadError::Misshapen(field)),
        Some(error) => Err(error),
    }
}

/// Copies the piece to `tail` if it cannot be parsed where it stands: when it lacks the file's last line end, or when
/// too few bytes behind it can be read. Otherwise leaves `tail` empty.
fn stage_tail(task: &SpanTask, start: usize, length: usize, at_end: bool, tail: &mut Vec<u8>) {
    let readable = &task.readable()[start..];
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
fn padded<'a>(task: &'a SpanTask, start: usize, length: usize, tail: &'a [u8]) -> Padded<'a> {
    if tail.is_empty() {
        Padded::new(&task.readable()[start..], length)
    } else {
        Padded::new(tail, tail.len() - PADDING)
    }
}

/// The defect of a record of `length` bytes that a quote holds open to the end of the file.
fn never_closed(length: usize) -> Defect {
    let end = u32::try_from(length).expect("a record is no longer than may be");
    let (reason, remedy) = UNCLOSED_QUOTE;
    Defect { row: 0, start: 0, end, kind: DefectKind::Quote, reason: reason.to_owned(), remedy: remedy.to_owned() }
}

/// Why a span ends within a record.
fn unfinished(files: &Files, task: &SpanTask, dialect: &Dialect, start: usize) -> LoadError {
    let end = task.span.offset + task.text().len() as u64;
    if files.mode() == Mode::Fast && end < task.file.spans.bytes_total() {
        LoadError::Unfit {
            file: task.file.name.clone(),
            problem: format!(
                "MODE fast split the file at byte {end}, inside a quoted field with an unescaped line break; \
                 use MODE exact"
            ),
        }
    } else {
        unclosed_quote(task, dialect, start)
    }
}
