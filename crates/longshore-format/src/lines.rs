//! Lines: what records of most formats are.

use longshore_csv::{Defect, DefectKind, RECORD_BYTES_MAX, RowText};
use memchr::{memchr, memchr2, memrchr, memrchr2};

/// What ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnds {
    /// `\n` and `\r\n`, also mixed.
    #[default]
    Standard,
    /// `\n`, `\r\n` and `\r`, also mixed.
    Any,
}

/// Which lines are records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOptions {
    /// What ends a line. Where `\r` alone does not, it is a character like any other.
    pub line_ends: LineEnds,
    /// A line that begins with this is no record.
    pub comment: Option<String>,
    /// Whether a line of blanks or nothing is no record.
    pub skip_blank_lines: bool,
    /// The most bytes that a line may have.
    pub record_bytes_max: usize,
}

impl Default for LineOptions {
    /// Standard line ends, no comments, blank lines skipped.
    fn default() -> LineOptions {
        LineOptions {
            line_ends: LineEnds::Standard,
            comment: None,
            skip_blank_lines: true,
            record_bytes_max: RECORD_BYTES_MAX,
        }
    }
}

/// A line that is a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its first byte.
    pub(crate) start: usize,
    /// Behind its last byte, line end excluded.
    pub(crate) end: usize,
    /// Behind its line end.
    pub(crate) next: usize,
}

impl Line {
    /// Ends the record under construction, which is this line, or drops it for what is wrong with it; `first_row` rows
    /// stood before the first record of the call.
    #[inline]
    pub(crate) fn end_record(
        self,
        outcome: Result<(), Fault>,
        first_row: usize,
        rows: &mut RowText,
        defects: &mut Vec<Defect>,
    ) {
        match outcome {
            Ok(()) => rows.end_record(self.start as u32, self.end as u32),
            Err(fault) => {
                rows.cancel_record();
                defects.push(fault.at(rows.count() - first_row, self.start, self.end));
            }
        }
    }
}

impl LineEnds {
    /// Behind the last line end of `text`, or 0.
    pub(crate) fn complete(self, text: &[u8]) -> usize {
        let last = match self {
            LineEnds::Standard => memrchr(b'\n', text),
            // A line feed may follow a carriage return at the very end.
            LineEnds::Any => memrchr2(b'\n', b'\r', text.strip_suffix(b"\r").unwrap_or(text)),
        };
        last.map_or(0, |at| at + 1)
    }

    /// The line that begins at `start`.
    #[inline]
    pub(crate) fn line(self, text: &[u8], start: usize) -> Line {
        let found = match self {
            LineEnds::Standard => memchr(b'\n', &text[start..]),
            LineEnds::Any => memchr2(b'\n', b'\r', &text[start..]),
        };
        let Some(at) = found.map(|offset| start + offset) else {
            // The last line of a text; its line end may lack the last byte.
            let end = if text[start..].ends_with(b"\r") { text.len() - 1 } else { text.len() };
            return Line { start, end, next: text.len() };
        };
        if text[at] == b'\r' {
            return Line { start, end: at, next: at + 1 + usize::from(text.get(at + 1) == Some(&b'\n')) };
        }
        Line { start, end: if text[start..at].ends_with(b"\r") { at - 1 } else { at }, next: at + 1 }
    }
}

impl LineOptions {
    /// The first record at or behind `start`, if there is one.
    pub(crate) fn record(&self, text: &[u8], mut start: usize) -> Option<Line> {
        while start < text.len() {
            let line = self.line_ends.line(text, start);
            let content = &text[start..line.end];
            let is_comment = self.comment.as_ref().is_some_and(|comment| content.starts_with(comment.as_bytes()));
            let is_blank = self.skip_blank_lines && content.iter().all(|byte| is_blank(*byte));
            if !is_comment && !is_blank {
                return Some(line);
            }
            start = line.next;
        }
        None
    }

    /// Reads records until the text ends or the rows are full; `read` puts the fields of a line into the rows, or says
    /// what is wrong with it.
    pub(crate) fn read(
        &self,
        text: &[u8],
        rows: &mut RowText,
        defects: &mut Vec<Defect>,
        mut read: impl FnMut(Line, &mut RowText) -> Result<(), Fault>,
    ) -> usize {
        let first_row = rows.count();
        let mut at = 0;
        while let Some(line) = self.record(text, at) {
            at = line.next;
            let bytes = line.end - line.start;
            let outcome = if bytes > self.record_bytes_max {
                Err(Fault::too_long(bytes, self.record_bytes_max))
            } else {
                read(line, rows)
            };
            line.end_record(outcome, first_row, rows, defects);
            if rows.is_full() {
                return at;
            }
        }
        text.len()
    }
}

/// Spaces and tabs.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The bytes without the blanks around them.
pub(crate) fn trimmed(mut raw: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = raw
        && is_blank(*first)
    {
        raw = rest;
    }
    while let [rest @ .., last] = raw
        && is_blank(*last)
    {
        raw = rest;
    }
    raw
}

/// What is wrong with a record, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong.
    pub(crate) kind: DefectKind,
    /// What is wrong, as a part of a sentence.
    pub(crate) reason: String,
    /// What the user can do.
    pub(crate) remedy: String,
}

impl Fault {
    pub(crate) fn new(kind: DefectKind, reason: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault { kind, reason: reason.into(), remedy: remedy.into() }
    }

    /// A record of `bytes` where `bytes_max` are the most.
    pub(crate) fn too_long(bytes: usize, bytes_max: usize) -> Fault {
        let reason = format!("takes {bytes} bytes where {bytes_max} are the most");
        Fault::new(DefectKind::TooLong, reason, "check QUOTE and LINE_ENDS, or raise MAX_RECORD_SIZE")
    }

    /// The defect of the record at `start..end`, before which `row` rows stand.
    pub(crate) fn at(self, row: usize, start: usize, end: usize) -> Defect {
        let Fault { kind, reason, remedy } = self;
        Defect { row, start: start as u32, end: end as u32, kind, reason, remedy }
    }
}
