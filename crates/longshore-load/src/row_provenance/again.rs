//! Reads spans again to find records by the numbers of their rows.

use std::sync::Arc;

use longshore_storage::{ARENA_BLOCK_BYTES, Arena, Memory, Schema};

use super::{Origin, RowProvenance, SpanProvenance};
use crate::check::{BLOCK_BYTES, CHECKED, Checker};
use crate::control::Control;
use crate::error::{LoadError, RecordNumber, RecordPlace};
use crate::files::{Files, OpenFile, SpanTask};
use crate::options::RowCheck;
use crate::row_decoder::RowDecoder;
use crate::span::Spans;
use crate::worker::{Cursor, Scratch};

/// The record of a row.
pub(crate) struct Located<'a> {
    /// The number of the row in the load, from 0.
    pub(crate) row: u64,
    pub(crate) place: RecordPlace,
    /// Its text, line end excluded, if it could be read again.
    pub(crate) record: Option<&'a [u8]>,
}

/// What it takes to read again.
pub(crate) struct Reading<'a> {
    pub(crate) files: &'a Files,
    pub(crate) schema: &'a Arc<Schema>,
    pub(crate) memory: &'a Arc<Memory>,
    /// What rows were left out for.
    pub(crate) check: Option<&'a Arc<dyn RowCheck>>,
    pub(crate) control: &'a Control,
}

/// Gives the records of rows to a closure.
pub(crate) type Visit<'v> = dyn FnMut(Located<'_>) -> Result<(), LoadError> + 'v;

/// Records by their place in a span, that of its text, or how many there are up to them.
struct Found {
    /// Records of the span before it.
    before: u64,
    start: usize,
    end: usize,
}

impl RowProvenance {
    /// Gives the records of rows to `visit`; `rows` are their numbers in the load, ascending. All spans were noted.
    pub(crate) fn locate(
        &self,
        rows: impl IntoIterator<Item = u64>,
        reading: &Reading<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), LoadError> {
        let mut state = self.state();
        state.spans.sort_unstable_by_key(|place| place.sequence);
        let mut rows = rows.into_iter().peekable();
        let mut walk = Walk::new(reading);
        let (mut rows_before, mut records_before) = (0, 0);
        for at in 0..state.spans.len() {
            let place = &state.spans[at];
            if at > 0 && place.file() != state.spans[at - 1].file() {
                records_before = 0;
            }
            let end = rows_before + place.rows;
            let mut wanted = Vec::new();
            while let Some(row) = rows.next_if(|row| *row < end) {
                wanted.push(row - rows_before);
            }
            if !wanted.is_empty() {
                walk.span(place, &wanted, rows_before, records_before, visit)?;
            }
            rows_before = end;
            records_before += place.rows + place.rejected;
        }
        Ok(())
    }
}

/// Goes through spans in their order.
struct Walk<'a> {
    reading: &'a Reading<'a>,
    scratch: Scratch,
    arena: Arena,
    /// The stream that is read again, and its file.
    again: Option<(Arc<OpenFile>, Option<Spans>)>,
    /// Line feeds of a mapped file before a position, and the file.
    lines: Option<(Arc<OpenFile>, usize, u64)>,
}

impl<'a> Walk<'a> {
    fn new(reading: &'a Reading<'a>) -> Self {
        let arena = Arena::new(Arc::clone(reading.memory), ARENA_BLOCK_BYTES);
        Self { reading, scratch: Scratch::default(), arena, again: None, lines: None }
    }

    /// Gives the records of some rows of a span to `visit`.
    fn span(
        &mut self,
        place: &SpanProvenance,
        wanted: &[u64],
        rows_before: u64,
        records_before: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(), LoadError> {
        let fetched;
        let task = match &place.origin {
            Origin::Text(task) => Some(task),
            Origin::Forgotten(task, bytes) => {
                fetched = self.fetch(task, *bytes)?;
                fetched.as_ref()
            }
            Origin::Closed(_) => None,
        };
        let found = match task {
            Some(task) => self.find(task, wanted)?,
            None => None,
        };
        let (Some(task), Some(found)) = (task, found) else {
            let file: Arc<str> = Arc::from(place.file());
            for row in wanted {
                let number = records_before + row + 1;
                let number = match place.rejected {
                    0 => RecordNumber::Exactly(number),
                    rejected => RecordNumber::Between(number, number + rejected),
                };
                let place = RecordPlace { file: Arc::clone(&file), line_and_byte: None, number };
                visit(Located { row: rows_before + row, place, record: None })?;
            }
            return Ok(());
        };
        let text = task.text();
        let mut lines = self.lines_before(task);
        let mut counted = 0;
        let file: Arc<str> = Arc::from(task.file.name.as_str());
        for (row, found) in wanted.iter().zip(found) {
            lines += feeds(&text[counted..found.start]);
            counted = found.start;
            let place = RecordPlace {
                file: Arc::clone(&file),
                line_and_byte: Some((lines + 1, task.span.offset + found.start as u64)),
                number: RecordNumber::Exactly(records_before + found.before + 1),
            };
            visit(Located { row: rows_before + row, place, record: Some(&text[found.start..found.end]) })?;
        }
        Ok(())
    }

    /// A span of a stream with its text; `None` if it cannot be read again, or is another one now.
    fn fetch(&mut self, task: &SpanTask, bytes: usize) -> Result<Option<SpanTask>, LoadError> {
        let Reading { files, control, .. } = *self.reading;
        if !self.again.as_ref().is_some_and(|(file, _)| Arc::ptr_eq(file, &task.file)) {
            let spans = if task.file.input.reads_once { None } else { files.open_again(&task.file, control).ok() };
            self.again = Some((Arc::clone(&task.file), spans));
        }
        let Some((file, Some(spans))) = &self.again else { return Ok(None) };
        loop {
            if control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            // Whatever goes wrong, there is something to be told without the text.
            let Ok(Some(span)) = spans.claim(control) else { return Ok(None) };
            if span.sequence == task.span.sequence {
                let is_same = span.offset == task.span.offset;
                let again = SpanTask { file: Arc::clone(file), span, sequence: task.sequence };
                return Ok((is_same && again.text().len() == bytes).then_some(again));
            }
        }
    }

    /// The records of some rows of a span; `None` if there are not so many, since the text has changed.
    fn find(&mut self, task: &SpanTask, wanted: &[u64]) -> Result<Option<Vec<Found>>, LoadError> {
        let Reading { files, schema, memory, check, control } = *self.reading;
        let Ok(mut cursor) = Cursor::new(files, task, &mut self.scratch) else { return Ok(None) };
        let mut checker = check
            .filter(|_| files.is_lenient())
            .map(|check| Checker::new(check, files.output(CHECKED), Arena::new(Arc::clone(memory), BLOCK_BYTES)));
        let mut wanted = wanted.iter().copied().peekable();
        let mut found = Vec::with_capacity(wanted.len());
        let (mut buffers, mut bad) = (Vec::new(), Vec::new());
        let (mut rows_before, mut records_before) = (0, 0);
        while wanted.peek().is_some() {
            if control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            let Ok(Some(piece)) = cursor.next(files, task, &mut self.scratch) else { return Ok(None) };
            bad.clear();
            if files.is_lenient() {
                // Which rows were taken only shows when they are decoded again.
                let (plan, bytes_left) = (&task.file.plans[0], piece.bytes);
                let decoder = RowDecoder {
                    plan,
                    schema,
                    bytes_left,
                    buffers: &mut buffers,
                    packing: None,
                    arena: &mut self.arena,
                };
                if decoder.decode(piece.rows, &piece, Some(&mut bad)).is_err() {
                    return Ok(None);
                }
                buffers.clear();
            }
            let mut refused: Vec<usize> = bad.iter().map(|bad| bad.error.row).collect();
            if let Some(checker) = &mut checker {
                if checker.find(&task.file.plans[CHECKED], piece.rows, &piece).is_err() {
                    return Ok(None);
                }
                refused.extend(checker.found.iter().map(|violation| violation.row));
                refused.sort_unstable();
            }
            refused.dedup();
            let mut refused = refused.into_iter().peekable();
            for row in 0..piece.rows.count() {
                if refused.next_if(|refused| *refused == row).is_some() {
                    continue;
                }
                if wanted.next_if(|wanted| *wanted == rows_before).is_some() {
                    let (start, end) = piece.record(row);
                    let defects = piece.defects.partition_point(|defect| defect.row <= row);
                    found.push(Found {
                        before: records_before + (row + defects) as u64,
                        start: piece.start + start,
                        end: piece.start + end,
                    });
                }
                rows_before += 1;
            }
            records_before += piece.records();
        }
        Ok(Some(found))
    }

    /// Line feeds of the file before a span.
    fn lines_before(&mut self, task: &SpanTask) -> u64 {
        let Some(text) = task.file.spans.mapped() else {
            return task.file.spans.lines_before(&task.span, task.span.offset);
        };
        let (from, before) = match &self.lines {
            Some((file, from, before)) if Arc::ptr_eq(file, &task.file) => (*from, *before),
            _ => (0, 0),
        };
        let to = (task.span.offset as usize).min(text.len());
        let lines = before + feeds(&text[from..to]);
        self.lines = Some((Arc::clone(&task.file), to, lines));
        lines
    }
}

fn feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
