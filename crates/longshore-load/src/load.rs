//! COPY FROM: spans to partition buffers to the relation, on all workers (Instant Loading, 3.2).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use longshore_storage::{ARENA_BLOCK_BYTES, Append, Arena, Memory, PartitionBuffer, Relation, Schema};
use std::sync::Arc;

use crate::check::{BLOCK_BYTES, Checker};
use crate::fields::BadValue;
use crate::files::{Files, Output, Work};
use crate::fill::Target;
use crate::position::{bad_record, violated};
use crate::reject::{RejectOrder, SpanRejects};
use crate::worker::{Cursor, Scratch};
use crate::{Control, InputFile, LoadError, RejectSummary, RowCheck, RowViolation, TextOptions, Tuning};

/// Place of the columns that are checked among the outputs of a pass.
const CHECKED: usize = 1;

/// What a load did, or would do.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Rows that the relation gained, or would gain.
    pub rows: u64,
    /// What was rejected.
    pub rejects: RejectSummary,
    /// Bytes of text read.
    pub bytes: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Loads files into `relation`, in their order: all of them, or nothing.
///
/// # Errors
/// The first bad field in the order of the files, whatever the thread count; where bad records are rejected, the first
/// that is too many.
pub fn copy_from(
    inputs: Vec<InputFile>,
    relation: &Relation,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<LoadReport, LoadError> {
    let append = relation.begin_append(tuning.merge);
    let mut report = load_into(inputs, relation, &append, options, tuning, control)?;
    report.rows = append.commit();
    Ok(report)
}

/// Loads files as [`copy_from`] does, but leaves it to the caller to commit the append to `relation`.
///
/// # Errors
/// As [`copy_from`].
pub fn load_into(
    inputs: Vec<InputFile>,
    relation: &Relation,
    append: &Append<'_>,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<LoadReport, LoadError> {
    load(inputs, relation.schema(), relation.memory(), Some(append), options, tuning, control)
}

/// Reads files as [`copy_from`] does into a relation of this schema, checks all of them, and keeps nothing of them.
///
/// # Errors
/// As [`copy_from`].
pub fn dry_run(
    inputs: Vec<InputFile>,
    schema: &Arc<Schema>,
    memory: &Arc<Memory>,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<LoadReport, LoadError> {
    load(inputs, schema, memory, None, options, tuning, control)
}

/// Reads files to `append`, if there is one, which is then ready to be committed.
fn load(
    inputs: Vec<InputFile>,
    schema: &Arc<Schema>,
    memory: &Arc<Memory>,
    append: Option<&Append<'_>>,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<LoadReport, LoadError> {
    let begin = Instant::now();
    let rejects = RejectOrder::new(options, memory)?;
    let mut outputs = vec![Output { schema: Arc::clone(schema), columns: (0..schema.columns().len()).collect() }];
    outputs.extend(options.check.as_ref().map(|check| Output::of(schema, check.columns())));
    let files = Files::new(inputs, Arc::clone(schema), outputs, options.clone(), tuning.clone(), memory, control)?;
    let load = Load {
        files: &files,
        schema,
        memory,
        append,
        rejects: rejects.as_ref(),
        check: options.check.as_ref(),
        rows: AtomicU64::new(0),
        control,
        failure: Failure::default(),
    };
    let threads = tuning.threads.clamp(1, files.span_count_max().max(1));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| load.work());
        }
        load.work();
    });
    if let Some(error) = load.failure.take_first() {
        return Err(error);
    }
    let rows = load.rows.load(Ordering::Relaxed);
    let rejects = match rejects {
        Some(order) => {
            order.finish(rows)?;
            order.summary()
        }
        None => RejectSummary::default(),
    };
    let bytes = control.progress.bytes_done();
    Ok(LoadReport { rows, rejects, bytes, seconds: begin.elapsed().as_secs_f64() })
}

/// What the workers of a load share.
struct Load<'a> {
    files: &'a Files,
    schema: &'a Arc<Schema>,
    memory: &'a Arc<Memory>,
    /// Where rows go; nowhere in a dry run.
    append: Option<&'a Append<'a>>,
    /// `None` if the first bad record ends the load.
    rejects: Option<&'a RejectOrder>,
    check: Option<&'a Arc<dyn RowCheck>>,
    /// Rows that were taken.
    rows: AtomicU64,
    control: &'a Control,
    failure: Failure,
}

impl Load<'_> {
    /// Takes spans until there is none left or one before them failed.
    fn work(&self) {
        let _stop_on_panic = StopOnPanic(self.files);
        let mut arena = Arena::new(Arc::clone(self.memory), ARENA_BLOCK_BYTES);
        let mut scratch = Scratch::default();
        let mut checker = self.check.map(|check| {
            let arena = Arena::new(Arc::clone(self.memory), BLOCK_BYTES);
            Checker::new(check, self.files.output(CHECKED), arena)
        });
        while !self.failure.exists() {
            let work = match self.files.claim(self.control) {
                Ok(Some(work)) => work,
                Ok(None) => return,
                Err((sequence, error)) => return self.fail(sequence, error),
            };
            let mut rejects = self.rejects.map(|order| SpanRejects::new(order, &work));
            let filled = self.fill(&work, &mut arena, &mut scratch, rejects.as_mut(), checker.as_mut());
            let sound = work.finish();
            let kept = sound.and(filled).map_err(|error| (work.sequence, error)).and_then(|buffers| {
                if let Some((order, rejects)) = self.rejects.zip(rejects) {
                    order.deliver(work.sequence, rejects)?;
                }
                self.keep(work.sequence, buffers).map_err(|error| (work.sequence, error))
            });
            if let Err((sequence, error)) = kept {
                return self.fail(sequence, error);
            }
        }
    }

    fn keep(&self, sequence: u64, buffers: Vec<PartitionBuffer>) -> Result<(), LoadError> {
        let rows: usize = buffers.iter().map(PartitionBuffer::rows).sum();
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        if let Some(append) = self.append {
            append.merge(sequence, buffers)?;
        }
        Ok(())
    }

    fn fail(&self, sequence: u64, error: LoadError) {
        self.failure.record(sequence, error);
        self.files.stop();
    }

    /// Parses a span into partition buffers.
    fn fill(
        &self,
        work: &Work,
        arena: &mut Arena,
        scratch: &mut Scratch,
        mut rejects: Option<&mut SpanRejects>,
        mut checker: Option<&mut Checker<'_>>,
    ) -> Result<Vec<PartitionBuffer>, LoadError> {
        let mut buffers: Vec<PartitionBuffer> = Vec::new();
        let mut bad: Vec<BadValue> = Vec::new();
        let mut selected = Vec::new();
        let mut cursor = Cursor::new(self.files, work, scratch)?;
        loop {
            if self.control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            let are_too_many = rejects.as_ref().is_some_and(|rejects| rejects.are_too_many());
            if are_too_many || self.failure.is_before(work.sequence) {
                return Ok(Vec::new());
            }
            let bytes_left = cursor.bytes_left(work);
            let Some(piece) = cursor.next(self.files, work, scratch)? else {
                return Ok(buffers);
            };
            let (plan, schema) = (&work.file.plans[0], self.schema);
            let mut violations: &[RowViolation] = &[];
            let mut kept: &[u32] = &[];
            if let Some(checker) = &mut checker {
                let rows = if rejects.is_some() { piece.rows } else { piece.sound_rows() };
                let found = checker.find(&work.file.plans[CHECKED], rows, &piece);
                found.map_err(|refusal| refusal.explain(work, &piece))?;
                (violations, kept) = (&checker.found, &checker.kept);
            }
            let target = Target { plan, schema, bytes_left, buffers: &mut buffers, arena };
            let rows = if let Some(rejects) = &mut rejects {
                bad.clear();
                let rows = if violations.is_empty() { piece.rows } else { piece.rows.select(kept, &mut selected) };
                let taken = target.take(rows, &piece, Some(&mut bad));
                let taken = taken.map_err(|refusal| refusal.explain(work, &piece))?;
                if !violations.is_empty() {
                    for bad in &mut bad {
                        bad.error.row = kept[bad.error.row] as usize;
                    }
                }
                rejects.add(work, &piece, &bad, violations)?;
                taken
            } else {
                let sound = piece.sound_rows();
                let first = violations.first();
                let rows = first.map_or(sound, |violation| sound.truncated(violation.row));
                let taken = target.take(rows, &piece, None);
                let taken = taken.map_err(|refusal| refusal.explain(work, &piece))?;
                if let Some(violation) = first {
                    return Err(violated(work, &piece, violation));
                }
                if let Some(defect) = piece.defects.first() {
                    return Err(bad_record(work, &piece, defect));
                }
                taken
            };
            self.control.progress.add(work.bytes_done(piece.bytes), rows as u64);
        }
    }
}

/// The failure that counts: of the first span in the order of the file.
#[derive(Default)]
pub(crate) struct Failure {
    first: Mutex<Option<(u64, LoadError)>>,
    /// One more than the number of the span that failed; 0 while none did.
    sequence: AtomicU64,
}

impl Failure {
    pub(crate) fn record(&self, sequence: u64, error: LoadError) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(earlier, _)| sequence < *earlier) {
            *first = Some((sequence, error));
            self.sequence.store(sequence + 1, Ordering::Release);
        }
    }

    /// Whether any span failed: then no further one needs to be claimed.
    pub(crate) fn exists(&self) -> bool {
        self.sequence.load(Ordering::Acquire) != 0
    }

    /// Whether a span before `sequence` failed: then this one does not count.
    pub(crate) fn is_before(&self, sequence: u64) -> bool {
        let failed = self.sequence.load(Ordering::Acquire);
        failed != 0 && failed - 1 < sequence
    }

    pub(crate) fn take_first(&self) -> Option<LoadError> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map(|(_, error)| error)
    }
}

/// Frees workers that wait for this one's span when it panics, so that the panic is seen.
pub(crate) struct StopOnPanic<'a>(pub(crate) &'a Files);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}
