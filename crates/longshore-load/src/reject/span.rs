//! What a worker gathers of one span: its rejects in order, and how many lines it has.

use std::cmp::Ordering;
use std::sync::Arc;

use longshore_csv::decode::{Advice, Reason};
use longshore_csv::{Defect, DefectKind};
use longshore_storage::{Memory, Reservation};

use super::RejectSummary;
use crate::error::{LoadError, REJECT_RECORD_BYTES_MAX, REJECT_VALUE_BYTES_MAX, Reject, RejectedColumn};
use crate::fields::BadValue;
use crate::files::SpanTask;
use crate::options::RowViolation;
use crate::piece::Piece;

/// The rejects of one span.
pub(crate) struct SpanRejects {
    /// Those that are wanted; lines count from the start of the span.
    pub(super) rejects: Vec<Reject>,
    /// Counts of all.
    pub(super) summary: RejectSummary,
    /// Memory of `rejects`.
    pub(super) reserved: Reservation,
    /// Line feeds of the file before the span, where they do not follow from the span before.
    pub(super) lines_before: Option<u64>,
    lines: Lines,
    file: Arc<str>,
    rejects_max: usize,
    records_max: u64,
}

/// What is wrong with a row.
enum Fault<'a> {
    /// These fields of it.
    Bad(&'a [BadValue]),
    Violation(&'a RowViolation),
}

/// Which column a field belongs to, and what is wrong with its text.
pub(crate) type Explain<'a> = dyn Fn(usize, &[u8], Reason) -> (RejectedColumn, Advice) + 'a;

/// Line feeds of a text before a position that mostly moves forward.
#[derive(Clone, Copy, Default)]
struct Lines {
    position: usize,
    count: u64,
}

impl Lines {
    fn at(&mut self, text: &[u8], position: usize) -> u64 {
        let feeds = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
        match position.cmp(&self.position) {
            Ordering::Equal => {}
            Ordering::Greater => self.count += feeds(&text[self.position..position]),
            Ordering::Less => self.count -= feeds(&text[position..self.position]),
        }
        self.position = position;
        self.count
    }

    /// Moves on by a text that has that many line feeds.
    fn skip(&mut self, bytes: usize, feeds: usize) {
        self.position += bytes;
        self.count += feeds as u64;
    }
}

impl SpanRejects {
    /// None yet, of the span of `task`. Of those that come, up to `rejects_max` are kept, and more than `records_max`
    /// records are too many.
    pub(super) fn new(task: &SpanTask, memory: &Arc<Memory>, rejects_max: usize, records_max: u64) -> Self {
        Self {
            rejects: Vec::new(),
            summary: RejectSummary::default(),
            reserved: Reservation::new(memory),
            lines_before: task.lines_before(),
            lines: Lines::default(),
            file: Arc::from(task.file.name.as_str()),
            rejects_max,
            records_max,
        }
    }

    /// Line feeds of the span, once all its pieces were added.
    pub(super) fn lines(&self) -> u64 {
        self.lines.count
    }

    /// Whether this span alone has more rejected records than all files may have.
    pub(crate) fn are_too_many(&self) -> bool {
        self.summary.records > self.records_max
    }

    /// Records that were rejected.
    pub(crate) fn records(&self) -> u64 {
        self.summary.records
    }

    /// Takes in the next piece: its defects, and the bad values of its rows, which are in order of row and position.
    pub(crate) fn add(
        &mut self,
        task: &SpanTask,
        piece: &Piece<'_>,
        bad: &[BadValue],
        violations: &[RowViolation],
    ) -> Result<(), LoadError> {
        let explain = |position: usize, raw: &[u8], reason: Reason| {
            let column = task.file.fields[position].as_ref().expect("only fields with a column are decoded");
            (RejectedColumn::of(column), task.file.advice(position, raw, reason))
        };
        self.add_explained(task, piece, bad, violations, &explain)
    }

    /// The same where the file's own plans are not those that the fields were read by.
    pub(crate) fn add_explained(
        &mut self,
        task: &SpanTask,
        piece: &Piece<'_>,
        bad: &[BadValue],
        violations: &[RowViolation],
        explain: &Explain<'_>,
    ) -> Result<(), LoadError> {
        let rows = bad.chunk_by(|a, b| a.error.row == b.error.row).map(|bad| (bad[0].error.row, Fault::Bad(bad)));
        let violated = violations.iter().map(|violation| (violation.row, Fault::Violation(violation)));
        let mut faults: Vec<(usize, Fault<'_>)> = rows.chain(violated).collect();
        faults.sort_by_key(|(row, _)| *row);
        let mut faults = faults.into_iter().peekable();
        for (defects_before, defect) in piece.defects.iter().enumerate() {
            while let Some((_, fault)) = faults.next_if(|(row, _)| *row < defect.row) {
                self.add_fault(task, piece, &fault, defects_before, explain)?;
            }
            self.add_defect(task, piece, defect, defects_before)?;
        }
        for (_, fault) in faults {
            self.add_fault(task, piece, &fault, piece.defects.len(), explain)?;
        }
        if piece.has_a_line_per_record() {
            self.lines.skip(piece.bytes, piece.rows.count() + piece.defects.len());
        } else {
            self.lines.at(task.text(), piece.start + piece.bytes);
        }
        Ok(())
    }

    /// The line of the span in which `at` lies: in a record of `piece` that has so many records of the piece before it.
    fn line(&mut self, task: &SpanTask, piece: &Piece<'_>, at: usize, records_before: usize) -> u64 {
        let before = if piece.has_a_line_per_record() {
            self.lines.count + records_before as u64
        } else {
            self.lines.at(task.text(), at)
        };
        before + 1
    }

    fn add_fault(
        &mut self,
        task: &SpanTask,
        piece: &Piece<'_>,
        fault: &Fault<'_>,
        defects_before: usize,
        explain: &Explain<'_>,
    ) -> Result<(), LoadError> {
        match fault {
            Fault::Bad(bad) => self.add_row(task, piece, bad, defects_before, explain),
            Fault::Violation(violation) => {
                let (start, end) = piece.record(violation.row);
                let &RowViolation { row, kind, ref reason, remedy } = *violation;
                let (start, end) = (start as u32, end as u32);
                let (reason, remedy) = (reason.clone(), remedy.to_owned());
                let defect = Defect { row, start, end, kind, reason, remedy };
                self.add_defect(task, piece, &defect, defects_before)
            }
        }
    }

    fn add_defect(
        &mut self,
        task: &SpanTask,
        piece: &Piece<'_>,
        defect: &Defect,
        defects_before: usize,
    ) -> Result<(), LoadError> {
        self.summary.records += 1;
        self.summary.count(defect.kind, 1);
        if self.rejects.len() >= self.rejects_max {
            return Ok(());
        }
        let (start, end) = (piece.start + defect.start as usize, piece.start + defect.end as usize);
        let record = self.record(task, start, end)?;
        let line = self.line(task, piece, start, defect.row + defects_before);
        self.push(Reject {
            file: Arc::clone(&self.file),
            line,
            byte: task.span.offset + start as u64,
            column: None,
            value: None,
            kind: defect.kind,
            reason: defect.reason.clone(),
            remedy: defect.remedy.clone(),
            record_byte: task.span.offset + start as u64,
            record,
        })
    }

    /// Takes in the bad fields of one row.
    fn add_row(
        &mut self,
        task: &SpanTask,
        piece: &Piece<'_>,
        bad: &[BadValue],
        defects_before: usize,
        explain: &Explain<'_>,
    ) -> Result<(), LoadError> {
        self.summary.records += 1;
        let mut record = None;
        for BadValue { position, error } in bad {
            let kind = DefectKind::from(error.reason);
            self.summary.count(kind, 1);
            if self.rejects.len() >= self.rejects_max {
                continue;
            }
            let (start, end) = piece.record(error.row);
            let (start, end) = (piece.start + start, piece.start + end);
            let record = match &record {
                Some(record) => Arc::clone(record),
                None => Arc::clone(record.insert(self.record(task, start, end)?)),
            };
            let value = &piece.rows.text().text()[error.start as usize..error.end as usize];
            let (column, advice) = explain(*position, value, error.reason);
            let at = piece.start + piece.origin(error.start);
            let line = self.line(task, piece, at, error.row + defects_before);
            self.push(Reject {
                file: Arc::clone(&self.file),
                line,
                byte: task.span.offset + at as u64,
                column: Some(column),
                value: Some(value[..value.len().min(REJECT_VALUE_BYTES_MAX)].to_vec()),
                kind,
                reason: advice.reason,
                remedy: advice.remedy,
                record_byte: task.span.offset + start as u64,
                record,
            })?;
        }
        Ok(())
    }

    fn record(&mut self, task: &SpanTask, start: usize, end: usize) -> Result<Arc<[u8]>, LoadError> {
        let record = &task.text()[start..end.min(start + REJECT_RECORD_BYTES_MAX)];
        self.reserved.grow(record.len())?;
        Ok(Arc::from(record))
    }

    fn push(&mut self, reject: Reject) -> Result<(), LoadError> {
        self.reserved.grow(reject.bytes())?;
        self.rejects.push(reject);
        Ok(())
    }
}
