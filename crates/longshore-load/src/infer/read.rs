//! The workers: each reads spans by the guess of the moment, and reads a span again when the guess proved too narrow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_csv::Rows;
use longshore_format::sniff::types::{Nulls, TypeSet, classify_column, verify};
use longshore_storage::{ARENA_BLOCK_BYTES, Arena, BufferPacking, Chunk, Memory, PartitionBuffer};

use super::again::{StreamTexts, Text};
use super::fit::{Fit, Tail};
use super::guess::{Guess, Guesses, Look};
use super::plan::Plan;
use super::{Keep, encoding, fit};
use crate::control::Control;
use crate::error::LoadError;
use crate::fields::{DecodeError, TextMemos};
use crate::files::{Files, OpenFile, SpanTask};
use crate::options::TextOptions;
use crate::piece::Piece;
use crate::position::bad_record;
use crate::reject::{RejectOrder, SpanRejects};
use crate::repair::SpanRepairs;
use crate::row_decoder::RowDecoder;
use crate::stop::{Failure, StopOnPanic};
use crate::worker::{Cursor, Scratch};

/// What the workers of an inference share.
pub(super) struct Inference<'a> {
    pub(super) files: &'a Files,
    pub(super) guesses: Guesses,
    /// Which fields of each column are NULL.
    pub(super) nulls: &'a [Nulls],
    pub(super) options: &'a TextOptions,
    pub(super) memory: &'a Arc<Memory>,
    pub(super) keep: Keep,
    /// What packs the rows, if they are kept.
    pub(super) packing: Option<BufferPacking>,
    /// Where rejects go; `None` if the first bad record ends everything, or rows are not kept.
    pub(super) rejects: Option<&'a RejectOrder>,
    /// Which repaired records are taken, if records are repaired.
    pub(super) fit: Option<&'a Fit>,
    pub(super) control: &'a Control,
    pub(super) failure: Failure,
    /// The number of the first span that failed, and its file where that was being read.
    pub(super) failed_file: Mutex<Option<(u64, Option<Arc<OpenFile>>)>>,
    /// Spans that were read.
    pub(super) spans: Mutex<Vec<Done>>,
    /// Spans that have to be read again and whose text is there.
    pub(super) stale: Mutex<VecDeque<SpanTask>>,
    /// The text of streams.
    pub(super) texts: StreamTexts,
}

/// A span that was read.
pub(super) struct Done {
    pub(super) task: SpanTask,
    guess: Arc<Guess>,
    pub(super) taken: Taken,
    text: Text,
}

/// What a span gave.
pub(super) struct Taken {
    /// The rows, if they are kept.
    pub(super) chunks: Vec<Chunk>,
    pub(super) rows: u64,
    pub(super) rejects: Option<SpanRejects>,
    pub(super) repairs: SpanRepairs,
    /// What is wrong at its end.
    pub(super) tail: Tail,
}

/// A span to be read.
struct Next {
    task: SpanTask,
    /// Whether its text is kept.
    keeps: bool,
    /// Whether it was read before.
    again: bool,
}

/// How the reading of a span ended.
enum Ending {
    Done(Box<Taken>),
    /// The guess was too narrow, and is wider now.
    Widened,
}

/// What a worker keeps.
struct Worker {
    arena: Arena,
    scratch: Scratch,
    memos: TextMemos,
    plan: Option<Plan>,
}

impl Inference<'_> {
    /// Reads all spans until every one of them was read by the same types.
    pub(super) fn run(&self, threads: usize) {
        loop {
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(|| self.work());
                }
                self.work();
            });
            if self.failure.exists() {
                return;
            }
            self.guesses.drop_hints();
            let guess = self.guesses.current();
            let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut stale, good): (Vec<_>, Vec<_>) = spans.drain(..).partition(|span| !span.guess.agrees_with(&guess));
            *spans = good;
            if stale.is_empty() {
                return;
            }
            stale.sort_by_key(|span| span.task.sequence);
            let mut with_text = self.stale.lock().unwrap_or_else(PoisonError::into_inner);
            for Done { task, text, .. } in stale {
                match text {
                    Text::Forgotten(digest) => self.texts.forgotten(&task, digest),
                    Text::There => with_text.push_back(task),
                }
            }
        }
    }

    /// Takes spans until there is none left or one before them failed.
    fn work(&self) {
        let _stop_on_panic = StopOnPanic(self.files.stops());
        let arena = Arena::new(Arc::clone(self.memory), ARENA_BLOCK_BYTES);
        let mut worker = Worker { arena, scratch: Scratch::default(), memos: TextMemos::default(), plan: None };
        while !self.failure.exists() {
            let Next { mut task, keeps, again } = match self.next() {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err((sequence, error)) => return self.fail(sequence, error, None),
            };
            match self.read(&task, &mut worker) {
                Ok(Some((guess, taken))) => {
                    if !again {
                        self.control.progress.add(task.bytes_done(task.text().len()), taken.rows);
                    }
                    let text = Text::after(&mut task, keeps);
                    let done = Done { task, guess, taken, text };
                    self.spans.lock().unwrap_or_else(PoisonError::into_inner).push(done);
                }
                Ok(None) => return,
                // What was kept of the text may have left too little for anything else.
                Err(LoadError::OutOfMemory(error)) if task.file.input.reads_once || task.file.input.is_kept => {
                    let file = task.file.name.clone();
                    return self.fail(task.sequence, LoadError::TextOutOfMemory { file, error }, None);
                }
                Err(error) => return self.fail(task.sequence, error, Some(&task.file)),
            }
        }
    }

    /// The next span: one to be read again, or else a new one.
    fn next(&self) -> Result<Option<Next>, (u64, LoadError)> {
        let stale = self.stale.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        if let Some(task) = stale {
            return Ok(Some(Next { task, keeps: true, again: true }));
        }
        let fetched = self.texts.fetch(self.files, self.control)?;
        let again = fetched.is_some();
        let claimed = if again { fetched } else { self.claim()? };
        Ok(claimed.map(|task| Next {
            keeps: !self.guesses.current().is_final() && self.texts.keeps(&task),
            task,
            again,
        }))
    }

    /// A new span. All text of what can be read only once is kept until the types are known.
    fn claim(&self) -> Result<Option<SpanTask>, (u64, LoadError)> {
        let claimed = self.files.claim(self.control);
        claimed.map_err(|(sequence, error)| match (error, self.files.read_once_now()) {
            (LoadError::OutOfMemory(error), Some(file)) => (sequence, LoadError::TextOutOfMemory { file, error }),
            (error, _) => (sequence, error),
        })
    }

    fn fail(&self, sequence: u64, error: LoadError, file: Option<&Arc<OpenFile>>) {
        {
            let mut failed = self.failed_file.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.as_ref().is_none_or(|(first, _)| sequence < *first) {
                *failed = Some((sequence, file.map(Arc::clone)));
            }
        }
        self.failure.record(sequence, error);
        self.files.stop();
    }

    /// Reads a span until the guess is wide enough for it; `None` if an earlier one failed meanwhile.
    fn read(&self, task: &SpanTask, worker: &mut Worker) -> Result<Option<(Arc<Guess>, Taken)>, LoadError> {
        loop {
            if self.control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            if self.failure.is_before(task.sequence) {
                return Ok(None);
            }
            let guess = self.guesses.current();
            let is_current = |plan: &Plan| Arc::ptr_eq(&plan.file, &task.file) && Arc::ptr_eq(&plan.guess, &guess);
            if !worker.plan.as_ref().is_some_and(is_current) {
                worker.plan = Some(Plan::new(&task.file, guess, self.keep, self.options, self.files.kernel())?);
            }
            let Worker { arena, scratch, memos, plan } = worker;
            let plan = plan.as_ref().expect("it was just made");
            let ending = self.read_once(task, plan, arena, scratch, memos);
            task.finish()?;
            match ending? {
                Ending::Done(taken) => return Ok(Some((Arc::clone(&plan.guess), *taken))),
                Ending::Widened => {}
            }
        }
    }

    /// Reads a span by a plan.
    fn read_once(
        &self,
        task: &SpanTask,
        plan: &Plan,
        arena: &mut Arena,
        scratch: &mut Scratch,
        memos: &mut TextMemos,
    ) -> Result<Ending, LoadError> {
        let mut cursor = Cursor::new(self.files, task, scratch)?;
        let mut buffers: Vec<PartitionBuffer> = Vec::new();
        let mut found = vec![TypeSet::EVERY; plan.guess.len()];
        let mut rejects = self.rejects.map(|order| order.span(task));
        let mut bad = Vec::new();
        let (mut left, mut selected) = (Vec::new(), Vec::new());
        let (mut repairs, mut tail) = (SpanRepairs::default(), Tail::default());
        let mut rows_read = 0;
        loop {
            if self.control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            let bytes_left = cursor.bytes_left(task);
            let Some(piece) = cursor.next(self.files, task, scratch)? else { break };
            // Rows that are not kept need room for their piece alone.
            let bytes_left = if self.keep == Keep::Rows { bytes_left } else { piece.bytes };
            if self.keep == Keep::Types && !self.files.is_lenient() && !encoding::is_text(&piece) {
                encoding::check(self.options, self.files.kernel(), task, plan.columns(), &piece, arena)?;
            }
            bad.clear();
            tail.add(task, &piece);
            let lenient = self.files.is_lenient();
            let misfits = match self.fit {
                Some(fit) if !piece.repairs().is_empty() => {
                    fit.misfits(task, &piece, plan, self.nulls, &self.guesses.readings, &mut left)
                }
                _ => Vec::new(),
            };
            let misfit = misfits.first().filter(|_| !lenient);
            let rows = if lenient { piece.rows } else { piece.sound_rows() };
            let rows = misfit.map_or(rows, |misfit| rows.truncated(misfit.row.min(rows.count())));
            let kept: Vec<u32> = match left.as_slice() {
                [] => Vec::new(),
                left => (0..rows.count() as u32).filter(|row| !left.contains(&(*row as usize))).collect(),
            };
            let rows = if left.is_empty() { rows } else { rows.select(&kept, &mut selected) };
            let wanted = lenient.then_some(&mut bad);
            let (fields, schema, buffers) = (&plan.fields, &plan.schema, &mut buffers);
            let packing = self.packing.as_ref().map(|packing| (packing, &mut *memos));
            let decoder = RowDecoder { plan: fields, schema, bytes_left, buffers, packing, arena };
            // Without columns, rows are only counted.
            let taken =
                if plan.schema.columns().is_empty() { Ok(rows.count()) } else { decoder.decode(rows, &piece, wanted) };
            let taken = match taken {
                Ok(taken) => taken,
                Err(error) => return self.widen_or_fail(task, plan, &piece, &rows, error),
            };
            if let Some(misfit) =
                misfit.filter(|misfit| piece.defects.first().is_none_or(|first| misfit.row < first.row))
            {
                return Err(fit::error(task, &piece, misfit));
            }
            // A value that is bad whatever the column may become is one to reject.
            if let Some(column) = bad.iter().map(|bad| plan.column(bad.position)).find(|column| plan.may_widen(*column))
            {
                self.guesses.widen(&self.classify(plan, &rows), &plan.guess, column);
                return Ok(Ending::Widened);
            }
            let sampled = Self::is_sampled(task, &piece);
            for (column, found) in found.iter_mut().enumerate() {
                let Some(position) = plan.positions[column] else { continue };
                match if sampled { plan.guess.column(column).look(true) } else { plan.looks[column] } {
                    Look::Decode => {}
                    Look::Verify => {
                        let value_type = &plan.guess.column(column).decision.value_type;
                        if !verify(&rows, position, value_type, &self.nulls[column], &self.guesses.readings[column]) {
                            self.guesses.widen(&self.classify(plan, &rows), &plan.guess, column);
                            return Ok(Ending::Widened);
                        }
                    }
                    Look::Classify => {
                        let types =
                            classify_column(&rows, position, &self.nulls[column], &self.guesses.readings[column]);
                        *found = found.join(types);
                    }
                }
            }
            if !left.is_empty() {
                for bad in &mut bad {
                    bad.error.row = kept[bad.error.row] as usize;
                }
            }
            let is_left = |row: usize| left.contains(&row) || bad.iter().any(|bad| bad.error.row == row);
            repairs.add(task, &piece, |row| !is_left(row));
            left.clear();
            if let Some(rejects) = &mut rejects {
                rejects.add_explained(task, &piece, &bad, &misfits, &|position, raw, reason| {
                    plan.explain(position, raw, reason)
                })?;
            } else if let (Some(defect), false) = (piece.defects.first(), lenient) {
                return Err(bad_record(task, &piece, defect));
            }
            if self.keep != Keep::Rows {
                buffers.clear();
            }
            rows_read += taken as u64;
        }
        if found.iter().any(|types| *types != TypeSet::EVERY) {
            self.guesses.join(&found);
        }
        // Rows wait until the types of all of them are known, in little memory.
        let chunks = self.packing.as_ref().map_or(Ok(Vec::new()), |packing| packing.pack(buffers))?;
        Ok(Ending::Done(Box::new(Taken { chunks, rows: rows_read, rejects, repairs, tail })))
    }

    /// Whether a piece overlaps a place of its file that hints came from.
    fn is_sampled(task: &SpanTask, piece: &Piece<'_>) -> bool {
        let start = task.span.offset + piece.start as u64;
        let end = start + piece.bytes as u64;
        task.file.input.sampled.iter().any(|place| start < place.end && place.start < end)
    }

    /// A value that could not be decoded widens the guess if its column may be something else.
    fn widen_or_fail(
        &self,
        task: &SpanTask,
        plan: &Plan,
        piece: &Piece<'_>,
        rows: &Rows<'_>,
        error: DecodeError,
    ) -> Result<Ending, LoadError> {
        match error {
            DecodeError::Value(bad) if plan.may_widen(plan.column(bad.position)) => {
                let found = self.classify(plan, rows);
                self.guesses.widen(&found, &plan.guess, plan.column(bad.position));
                Ok(Ending::Widened)
            }
            DecodeError::Value(bad) => {
                let column = &plan.guess.schema.columns()[plan.column(bad.position)];
                let (start, end) = (bad.error.start as usize, bad.error.end as usize);
                let raw = &piece.rows.text().text()[start..end];
                let advice = plan.fields.advice(bad.position, raw, bad.error.reason);
                let mut error = DecodeError::Value(bad).explain(task, piece);
                // The file was opened with the first guess, which may have been another.
                if let (LoadError::Bad(field) | LoadError::Null(field), Some(advice)) = (&mut error, advice) {
                    field.column = Some((column.name.clone(), column.column_type.to_string()));
                    (field.reason, field.remedy) = (advice.reason, advice.remedy);
                }
                Err(error)
            }
            refused @ (DecodeError::Changed | DecodeError::Other(_)) => Err(refused.explain(task, piece)),
        }
    }

    /// The types of all columns that may still become wider.
    fn classify(&self, plan: &Plan, rows: &Rows<'_>) -> Vec<TypeSet> {
        let types = |column: usize| match plan.positions[column] {
            Some(position) if plan.guess.column(column).may_widen() => {
                classify_column(rows, position, &self.nulls[column], &self.guesses.readings[column])
            }
            _ => TypeSet::EVERY,
        };
        (0..plan.guess.len()).map(types).collect()
    }
}
