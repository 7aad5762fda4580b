//! Queries over files: record batches straight from text, with projection, predicate and limit in the parse.
//!
//! Nothing is loaded: each worker makes small batches in memory that is recycled as soon as the query lets go of them.
//! Where the first bad record ends the query, fields that it does not read are not decoded and so not checked; the shape
//! of every record is. Where bad records are rejected, every field is checked, so that it does not depend on the query
//! which they are. A query that stops early (LIMIT) tells of the rejects that it met.
//!
//! Not here: SQL expressions (the engine hands in a [`RowFilter`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use longshore_csv::Rows;
use longshore_storage::{Arena, Memory, Schema};

use crate::control::Control;
use crate::error::LoadError;
use crate::fields::{BadValue, DecodeError, FieldPlan, Output};
use crate::files::{Files, SpanTask};
use crate::input::InputFile;
use crate::options::{TextOptions, Tuning};
use crate::piece::Piece;
use crate::position::bad_record;
use crate::reject::{RejectOrder, RejectSummary, SpanRejects};
use crate::repair::SpanRepairs;
use crate::stop::Failure;
use crate::worker::{Cursor, Scratch};

mod lenient;

use lenient::{Buffers, Rejects};

/// Rows of a batch at most: what DataFusion's operators are tuned for.
const BATCH_ROWS_MAX: usize = 8192;
/// Bytes of the blocks that batches lie in: one huge page, so that few are in use at a time and stay in cache.
const BLOCK_BYTES: usize = 2 << 20;

/// A predicate evaluated on some columns before the others are decoded.
pub trait RowFilter: Send + Sync {
    /// The columns that the predicate reads, as positions in the schema of the scan.
    fn columns(&self) -> &[usize];

    /// Which rows to keep; a null counts as no.
    ///
    /// # Errors
    /// The message of an evaluation that failed.
    fn select(&self, batch: &RecordBatch) -> Result<BooleanArray, String>;
}

/// What a [`TextScan`] shall read.
pub struct ScanRequest {
    /// Name and type of every column; the files say which of their fields goes where.
    pub schema: Arc<Schema>,
    /// The columns to return, in this order.
    pub projection: Vec<usize>,
    /// Rows to keep.
    pub filter: Option<Arc<dyn RowFilter>>,
    /// Each worker returns no more rows than this.
    pub limit: Option<usize>,
    /// How the text is to be read.
    pub options: TextOptions,
    /// How the machine is used.
    pub tuning: Tuning,
    /// Where batches take their memory from.
    pub memory: Arc<Memory>,
    /// Progress and cancellation.
    pub control: Arc<Control>,
}

/// One pass over files, shared by workers.
pub struct TextScan {
    files: Files,
    filter: Option<Arc<dyn RowFilter>>,
    limit: usize,
    rejects: Option<Rejects>,
    memory: Arc<Memory>,
    control: Arc<Control>,
    failure: Failure,
    /// Workers that are not finished. The last one to finish reports the failure: then no span before the failed one
    /// can still fail, so that the first error of the file is the one reported.
    active: AtomicUsize,
}

/// Place of the columns to return among the pass's outputs.
const RETURNED: usize = 0;
/// Place of the columns that the filter reads.
const FILTERED: usize = 1;

impl Output {
    fn decode(
        &self,
        plan: &FieldPlan,
        rows: Rows<'_>,
        piece: &Piece<'_>,
        arena: &mut Arena,
    ) -> Result<RecordBatch, DecodeError> {
        let count = rows.count();
        if self.columns.is_empty() {
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            let batch = RecordBatch::try_new_with_options(self.schema.arrow(), vec![], &options);
            return Ok(batch.expect("a batch without columns fits a schema without columns"));
        }
        let mut buffer = self.buffer(plan, rows, arena)?;
        plan.decode(rows, piece, &mut buffer, None)?;
        Ok(buffer.seal().batch(&(0..self.columns.len()).collect::<Vec<_>>(), 0, count))
    }
}

impl TextScan {
    /// Prepares the scan: opens the first file, but decodes no row.
    ///
    /// # Errors
    /// When the file cannot be read or its header does not fit.
    pub fn new(inputs: Vec<InputFile>, request: ScanRequest) -> Result<Arc<Self>, LoadError> {
        let ScanRequest { schema, projection, filter, limit, options, tuning, memory, control } = request;
        let mut outputs = vec![Output::of(&schema, &projection)];
        outputs.extend(filter.as_ref().map(|filter| Output::of(&schema, filter.columns())));
        let order = RejectOrder::new(&options, &memory)?;
        let rejects = order.map(|order| Rejects::new(order, outputs.len()));
        if rejects.is_some() {
            outputs.push(Output::of(&schema, &(0..schema.columns().len()).collect::<Vec<_>>()));
        }
        let files = Files::new(inputs, schema, outputs, options, tuning, &memory, &control)?;
        Ok(Arc::new(Self {
            files,
            filter,
            limit: limit.unwrap_or(usize::MAX),
            rejects,
            memory,
            control,
            failure: Failure::default(),
            active: AtomicUsize::new(0),
        }))
    }

    /// A worker of this scan; drain each of them. Any number may be made at any time.
    #[must_use]
    pub fn worker(self: &Arc<Self>) -> ScanWorker {
        self.active.fetch_add(1, Ordering::AcqRel);
        ScanWorker {
            arena: Arena::new(Arc::clone(&self.memory), BLOCK_BYTES),
            scan: Arc::clone(self),
            scratch: Scratch::default(),
            selected: Vec::new(),
            bad: Vec::new(),
            current: None,
            ready: VecDeque::new(),
            rows_left: self.limit,
            exhausted: false,
            left: false,
        }
    }

    /// What was rejected, as far as the files were read.
    #[must_use]
    pub fn rejects(&self) -> RejectSummary {
        self.rejects.as_ref().map_or_else(RejectSummary::default, |rejects| rejects.order.summary())
    }

    /// To be called when what is made of the rows failed: then the rejects are not kept either.
    pub fn abandon(&self) {
        if let Some(rejects) = &self.rejects {
            rejects.order.abandon();
        }
        self.files.stop();
    }

    /// The rows of a piece as batches, behind `ready`.
    fn batches(
        &self,
        piece: &Piece<'_>,
        plans: &[FieldPlan],
        arena: &mut Arena,
        selected: &mut Vec<u32>,
        ready: &mut VecDeque<RecordBatch>,
    ) -> Result<(), DecodeError> {
        let mut rows = piece.sound_rows();
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.count().min(BATCH_ROWS_MAX));
            rows = later;
            let returned = self.files.output(RETURNED);
            let batch = match &self.filter {
                None => Some(returned.decode(&plans[RETURNED], now, piece, arena)?),
                Some(filter) => {
                    let batch = self.files.output(FILTERED).decode(&plans[FILTERED], now, piece, arena)?;
                    let keep =
                        filter.select(&batch).map_err(|problem| DecodeError::Other(LoadError::Filter(problem)))?;
                    let kept = kept_rows(&keep);
                    match kept.len() {
                        0 => None,
                        all if all == now.count() => Some(returned.decode(&plans[RETURNED], now, piece, arena)?),
                        _ => Some(returned.decode(&plans[RETURNED], now.select(&kept, selected), piece, arena)?),
                    }
                }
            };
            ready.extend(batch);
        }
        Ok(())
    }
}

impl TextScan {
    /// What the last worker to finish has to say.
    fn end(&self) -> Result<(), LoadError> {
        match (self.failure.take_first(), &self.rejects) {
            (Some(error), _) => Err(error),
            (None, Some(rejects)) => rejects.order.finish(rejects.rows.load(Ordering::Relaxed)),
            (None, None) => Ok(()),
        }
    }
}

fn kept_rows(keep: &BooleanArray) -> Vec<u32> {
    let bits = match keep.nulls() {
        None => keep.values().clone(),
        Some(nulls) => keep.values() & nulls.inner(),
    };
    bits.set_indices_u32().collect()
}

/// All rows of a span.
#[derive(Debug)]
pub struct SpanRows {
    /// Number of the span, in the order of the files, from 0 without gaps.
    pub sequence: u64,
    /// Its rows in their order.
    pub batches: Vec<RecordBatch>,
}

/// Batches of the spans that one worker claims.
pub struct ScanWorker {
    scan: Arc<TextScan>,
    arena: Arena,
    scratch: Scratch,
    /// Marks of the rows that passed the filter.
    selected: Vec<u32>,
    /// Bad fields of the current piece.
    bad: Vec<BadValue>,
    current: Option<Current>,
    ready: VecDeque<RecordBatch>,
    rows_left: usize,
    /// No more batches will become ready.
    exhausted: bool,
    /// This worker no longer counts among the active ones.
    left: bool,
}

/// The span that a worker is at.
struct Current {
    task: SpanTask,
    cursor: Cursor,
    rejects: Option<SpanRejects>,
    repairs: SpanRepairs,
}

impl ScanWorker {
    /// Parses on until a batch is ready or nothing is left.
    fn advance(&mut self) -> Result<(), (u64, LoadError)> {
        let Some(Current { task, mut cursor, mut rejects, mut repairs }) = self.current.take() else {
            return self.claim();
        };
        let scan = &*self.scan;
        let fail = |error| Err((task.sequence, error));
        if scan.control.is_cancelled() {
            return fail(LoadError::Cancelled);
        }
        let piece = match cursor.next(&scan.files, &task, &mut self.scratch) {
            Ok(Some(piece)) => piece,
            Ok(None) => {
                task.finish().map_err(|error| (task.sequence, error))?;
                if let Some(log) = scan.files.repair_log() {
                    repairs.note(&task, log);
                }
                return match scan.rejects.as_ref().zip(rejects) {
                    Some((all, rejects)) => all.order.deliver(task.sequence, rejects),
                    None => Ok(()),
                };
            }
            Err(error) => return fail(error),
        };
        let Self { arena, selected, bad, ready, .. } = self;
        if let Some((all, rejects)) = scan.rejects.as_ref().zip(rejects.as_mut()) {
            bad.clear();
            let mut buffers = Buffers { arena, selected, bad, ready };
            let made = scan.sound_batches(all, &piece, &task.file.plans, &mut buffers);
            let told =
                made.map_err(|error| error.explain(&task, &piece)).and_then(|()| rejects.add(&task, &piece, bad, &[]));
            if let Err(error) = told {
                return fail(error);
            }
            repairs.add(&task, &piece, |row| !bad.iter().any(|bad| bad.error.row == row));
        } else {
            let made = scan.batches(&piece, &task.file.plans, arena, selected, ready);
            if let Err(error) = made {
                return fail(error.explain(&task, &piece));
            }
            if let Some(defect) = piece.defects.first() {
                return fail(bad_record(&task, &piece, defect));
            }
            repairs.add(&task, &piece, |_| true);
        }
        scan.control.progress.add(task.bytes_done(piece.bytes), piece.rows.count() as u64);
        self.current = Some(Current { task, cursor, rejects, repairs });
        Ok(())
    }

    fn claim(&mut self) -> Result<(), (u64, LoadError)> {
        let scan = &*self.scan;
        if scan.failure.exists() {
            self.exhausted = true;
            return Ok(());
        }
        match scan.files.claim(&scan.control)? {
            Some(task) => {
                let cursor =
                    Cursor::new(&scan.files, &task, &mut self.scratch).map_err(|error| (task.sequence, error))?;
                let rejects = scan.rejects.as_ref().map(|all| all.order.span(&task));
                self.current = Some(Current { task, cursor, rejects, repairs: SpanRepairs::default() });
            }
            None => self.exhausted = true,
        }
        Ok(())
    }

    /// All rows of the next span that this worker claims; a caller takes rows either this way or from the iterator.
    ///
    /// # Errors
    /// Why that span cannot be read, with its number: of several, the one with the lowest number is the first in the
    /// order of the file, once every worker has returned.
    pub fn next_span(&mut self) -> Result<Option<SpanRows>, (u64, LoadError)> {
        while !self.left {
            let sequence = self.current.as_ref().map(|current| current.task.sequence);
            if self.exhausted {
                if self.leave() {
                    self.scan.end().map_err(|error| (u64::MAX, error))?;
                }
            } else if let Err(error) = self.advance() {
                self.scan.abandon();
                self.exhausted = true;
                self.leave();
                return Err(error);
            } else if let (Some(sequence), None) = (sequence, &self.current) {
                return Ok(Some(SpanRows { sequence, batches: self.ready.drain(..).collect() }));
            }
        }
        Ok(None)
    }

    /// Whether this was the last worker.
    fn leave(&mut self) -> bool {
        self.left = true;
        self.scan.active.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl Iterator for ScanWorker {
    type Item = Result<RecordBatch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.left {
            if let Some(batch) = self.ready.pop_front() {
                let batch = batch.slice(0, batch.num_rows().min(self.rows_left));
                self.rows_left -= batch.num_rows();
                if batch.num_rows() > 0 {
                    return Some(Ok(batch));
                }
            } else if self.exhausted || self.rows_left == 0 {
                if self.leave() {
                    return self.scan.end().err().map(Err);
                }
            } else if let Err((sequence, error)) = self.advance() {
                self.scan.failure.record(sequence, error);
                self.scan.files.stop();
                self.exhausted = true;
            }
        }
        None
    }
}

impl Drop for ScanWorker {
    fn drop(&mut self) {
        if !self.left {
            self.leave();
        }
        if std::thread::panicking() {
            self.scan.files.abandon();
        }
    }
}
