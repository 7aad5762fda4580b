//! COPY FROM: spans to partition buffers to the relation, on all workers (Instant Loading, 3.2).
//!
//! Not here: what becomes of rows whose key is there already (`load/commit`).

mod commit;
mod references;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use longshore_storage::{
    ARENA_BLOCK_BYTES, Append, Arena, Isolation, Memory, MergeKind, PartitionBuffer, ReferenceChecks, Relation, Schema,
    Transaction, TransactionError,
};

use crate::check::{BLOCK_BYTES, CHECKED, Checker};
use crate::control::Control;
use crate::error::LoadError;
use crate::fields::{BadValue, Output, TextMemos};
use crate::files::{Files, SpanTask};
use crate::input::InputFile;
use crate::options::{Conflicts, RowCheck, RowViolation, TextOptions, Tuning};
use crate::position::{bad_record, violated};
use crate::reject::{RejectOrder, RejectSummary, SpanRejects};
use crate::repair::SpanRepairs;
use crate::row_decoder::RowDecoder;
use crate::row_provenance::RowProvenance;
use crate::stop::{Failure, StopOnPanic};
use crate::worker::{Cursor, Scratch};
use references::{Filled, first_missing, take_missing};

/// What a load did, or would do.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Rows that the relation gained, or would gain.
    pub rows: u64,
    /// Rows that were there and that records took the place of, or gave values to.
    pub updated: u64,
    /// Records that were left out because of their key, rejected ones included.
    pub left_out: u64,
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
/// that is too many. When all fields are good, the first record with a key that is there already.
pub fn copy_from(
    inputs: Vec<InputFile>,
    relation: &Relation,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<LoadReport, LoadError> {
    let loaded = load_into(inputs, relation, options, tuning, control)?;
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    let is_cancelled = || control.is_cancelled();
    let run_actions =
        |transaction: &mut Transaction| transaction.run_foreign_key_actions_unless(&is_cancelled).map(drop);
    let report = loaded.commit_in(&mut transaction, run_actions)?;
    let commit = transaction.commit_unless(&is_cancelled).map_err(TransactionError::from)?;
    relation.transactions().wait_until_safe(commit)?;
    Ok(report)
}

/// Rows of files that were read and decoded, and that [`Loaded::commit_in`] makes part of their relation.
#[must_use = "rows that are not committed are lost"]
pub struct Loaded<'a> {
    relation: &'a Relation,
    append: Append<'a>,
    files: Files,
    /// Where the rows come from, if the relation has keys, or foreign keys that are checked in the end.
    provenance: Option<RowProvenance>,
    rejects: Option<RejectOrder>,
    conflicts: Conflicts,
    check: Option<Arc<dyn RowCheck>>,
    rows: u64,
    begin: Instant,
    control: &'a Control,
}

/// Reads files as [`copy_from`] does, and leaves it to the caller to commit them to `relation`.
///
/// # Errors
/// As [`copy_from`], but for keys.
pub fn load_into<'a>(
    inputs: Vec<InputFile>,
    relation: &'a Relation,
    options: &TextOptions,
    tuning: &Tuning,
    control: &'a Control,
) -> Result<Loaded<'a>, LoadError> {
    load_by(relation.begin_append(tuning.merge), inputs, relation, options, tuning, control)
}

/// Loads files as part of a transaction that each chunk is merged into when it comes ([`Relation::begin_append_in`]), rather
/// than all of them in the end. `run_actions` is as for [`Loaded::commit_in`].
///
/// # Errors
/// As [`copy_from`]; when rows are to be merged in another way than by chunk. The transaction is to be rolled back then, to
/// a savepoint before at least.
pub fn load_interleaved(
    inputs: Vec<InputFile>,
    relation: &Relation,
    transaction: &mut Transaction,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
    run_actions: impl FnOnce(&mut Transaction) -> Result<(), TransactionError>,
) -> Result<LoadReport, LoadError> {
    if tuning.merge != MergeKind::Chunk {
        return Err(LoadError::Options("MERGE_MODE interleaved merges by chunk only; leave MERGE out".to_owned()));
    }
    let since = transaction.writes();
    load_by(relation.begin_append_in(transaction), inputs, relation, options, tuning, control)?
        .finish(since, run_actions)
}

fn load_by<'a>(
    append: Append<'a>,
    inputs: Vec<InputFile>,
    relation: &'a Relation,
    options: &TextOptions,
    tuning: &Tuning,
    control: &'a Control,
) -> Result<Loaded<'a>, LoadError> {
    let (schema, memory) = (relation.schema(), relation.memory());
    let conflicts = options.conflicts.clone();
    if conflicts.rejects && options.on_error.stops() {
        return Err(LoadError::Options(
            "ON_CONFLICT reject needs a place for rejects; set ON_ERROR to table, file or ignore".to_owned(),
        ));
    }
    let checked = options.references.as_ref().map_or(0, |checks| checks.count());
    let needs_provenance = append.is_keyed() || relation.foreign_keys().len() > checked;
    let provenance = needs_provenance.then(|| RowProvenance::new(conflicts.rejects, memory));
    let begin = Instant::now();
    let into = Destination { append: Some(&append), provenance: provenance.as_ref() };
    let (files, rejects, rows) = load(inputs, schema, memory, into, options, tuning, control)?;
    let check = options.check.clone();
    Ok(Loaded { relation, append, files, provenance, rejects, conflicts, check, rows, begin, control })
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
    let begin = Instant::now();
    let nowhere = Destination { append: None, provenance: None };
    let (_, rejects, rows) = load(inputs, schema, memory, nowhere, options, tuning, control)?;
    let rejects = match rejects {
        Some(order) => {
            order.finish(rows)?;
            order.summary()
        }
        None => RejectSummary::default(),
    };
    let bytes = control.progress.bytes_done();
    Ok(LoadReport { rows, rejects, bytes, seconds: begin.elapsed().as_secs_f64(), ..LoadReport::default() })
}

/// Where a load puts rows.
struct Destination<'a, 'r> {
    /// Nowhere in a dry run.
    append: Option<&'a Append<'r>>,
    /// What notes where they come from.
    provenance: Option<&'a RowProvenance>,
}

/// Reads files; gives what they are, what was rejected, and how many rows were not.
fn load(
    inputs: Vec<InputFile>,
    schema: &Arc<Schema>,
    memory: &Arc<Memory>,
    into: Destination<'_, '_>,
    options: &TextOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<(Files, Option<RejectOrder>, u64), LoadError> {
    let rejects = RejectOrder::new(options, memory)?;
    let mut outputs = vec![Output { schema: Arc::clone(schema), columns: (0..schema.columns().len()).collect() }];
    outputs.extend(options.check.as_ref().map(|check| Output::of(schema, check.columns())));
    let files = Files::new(inputs, Arc::clone(schema), outputs, options.clone(), tuning.clone(), memory, control)?;
    let load = Load {
        files: &files,
        schema,
        memory,
        into,
        references: options.references.as_deref(),
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
    Ok((files, rejects, rows))
}

/// What is to be told of a span.
#[derive(Default)]
struct SpanReport {
    /// `None` if the first bad record ends the load.
    rejects: Option<SpanRejects>,
    repairs: SpanRepairs,
}

/// What the workers of a load share.
struct Load<'a, 'r> {
    files: &'a Files,
    schema: &'a Arc<Schema>,
    memory: &'a Arc<Memory>,
    into: Destination<'a, 'r>,
    /// The foreign keys to check rows by.
    references: Option<&'a ReferenceChecks>,
    /// `None` if the first bad record ends the load.
    rejects: Option<&'a RejectOrder>,
    check: Option<&'a Arc<dyn RowCheck>>,
    /// Rows that were taken.
    rows: AtomicU64,
    control: &'a Control,
    failure: Failure,
}

impl Load<'_, '_> {
    /// Takes spans until there is none left or one before them failed.
    fn work(&self) {
        let _stop_on_panic = StopOnPanic(self.files.stops());
        let mut arena = Arena::new(Arc::clone(self.memory), ARENA_BLOCK_BYTES);
        let (mut scratch, mut memos) = (Scratch::default(), TextMemos::default());
        let mut checker = self.check.map(|check| {
            let arena = Arena::new(Arc::clone(self.memory), BLOCK_BYTES);
            Checker::new(check, self.files.output(CHECKED), arena)
        });
        while !self.failure.exists() {
            let task = match self.files.claim(self.control) {
                Ok(Some(task)) => task,
                Ok(None) => return,
                Err((sequence, error)) => return self.fail(sequence, error),
            };
            let sequence = task.sequence;
            let mut report =
                SpanReport { rejects: self.rejects.map(|order| order.span(&task)), ..SpanReport::default() };
            let filled = self.fill(&task, &mut arena, &mut scratch, &mut memos, &mut report, checker.as_mut());
            let SpanReport { rejects, repairs } = report;
            let sound = task.finish();
            let kept = sound.and(filled).map_err(|error| (sequence, error)).and_then(|buffers| {
                let rejected = rejects.as_ref().map_or(0, SpanRejects::records);
                if let Some((order, rejects)) = self.rejects.zip(rejects) {
                    order.deliver(sequence, rejects)?;
                }
                if let Some(log) = self.files.repair_log() {
                    repairs.note(&task, log);
                }
                self.keep(task, buffers, rejected).map_err(|error| (sequence, error))
            });
            if let Err((sequence, error)) = kept {
                return self.fail(sequence, error);
            }
        }
    }

    fn keep(&self, task: SpanTask, buffers: Vec<PartitionBuffer>, rejected: u64) -> Result<(), LoadError> {
        let sequence = task.sequence;
        let rows: u64 = buffers.iter().map(|buffer| buffer.rows() as u64).sum();
        self.rows.fetch_add(rows, Ordering::Relaxed);
        if let Some(counts) = &task.file.input.counts {
            counts.add(rows, rejected);
        }
        if let Some(provenance) = self.into.provenance {
            provenance.note(task, rows, rejected);
        }
        if let Some(append) = self.into.append {
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
        task: &SpanTask,
        arena: &mut Arena,
        scratch: &mut Scratch,
        memos: &mut TextMemos,
        report: &mut SpanReport,
        mut checker: Option<&mut Checker<'_>>,
    ) -> Result<Vec<PartitionBuffer>, LoadError> {
        let mut buffers: Vec<PartitionBuffer> = Vec::new();
        let mut bad: Vec<BadValue> = Vec::new();
        let SpanReport { rejects, repairs } = report;
        let mut selected = Vec::new();
        let mut cursor = Cursor::new(self.files, task, scratch)?;
        loop {
            if self.control.is_cancelled() {
                return Err(LoadError::Cancelled);
            }
            let are_too_many = rejects.as_ref().is_some_and(SpanRejects::are_too_many);
            if are_too_many || self.failure.is_before(task.sequence) {
                return Ok(Vec::new());
            }
            let bytes_left = cursor.bytes_left(task);
            let Some(piece) = cursor.next(self.files, task, scratch)? else {
                return Ok(buffers);
            };
            let (plan, schema) = (&task.file.plans[0], self.schema);
            let mut violations: &[RowViolation] = &[];
            let mut kept: &[u32] = &[];
            if let Some(checker) = &mut checker {
                let rows = if rejects.is_some() { piece.rows } else { piece.sound_rows() };
                let found = checker.find(&task.file.plans[CHECKED], rows, &piece);
                found.map_err(|error| error.explain(task, &piece))?;
                (violations, kept) = (&checker.found, &checker.kept);
            }
            let before = Filled::of(&buffers);
            let packing = self.into.append.map(|append| (append.packing(), &mut *memos));
            let decoder = RowDecoder { plan, schema, bytes_left, buffers: &mut buffers, packing, arena };
            let rows = if let Some(rejects) = rejects {
                bad.clear();
                let rows = if violations.is_empty() { piece.rows } else { piece.rows.select(kept, &mut selected) };
                let taken = decoder.decode(rows, &piece, Some(&mut bad));
                let mut taken = taken.map_err(|error| error.explain(task, &piece))?;
                if !violations.is_empty() {
                    for bad in &mut bad {
                        bad.error.row = kept[bad.error.row] as usize;
                    }
                }
                let missing = match self.references {
                    Some(checks) => take_missing(checks, &mut buffers, before, &piece, &bad, violations),
                    None => Vec::new(),
                };
                taken -= missing.len();
                let is_kept = |row| {
                    let is_violated = violations.iter().chain(&missing).any(|violation| violation.row == row);
                    !is_violated && !bad.iter().any(|bad| bad.error.row == row)
                };
                repairs.add(task, &piece, is_kept);
                if missing.is_empty() {
                    rejects.add(task, &piece, &bad, violations)?;
                } else {
                    let mut all: Vec<RowViolation> = missing.into_iter().chain(violations.iter().cloned()).collect();
                    all.sort_by_key(|violation| violation.row);
                    rejects.add(task, &piece, &bad, &all)?;
                }
                taken
            } else {
                let sound = piece.sound_rows();
                let first = violations.first();
                let rows = first.map_or(sound, |violation| sound.truncated(violation.row));
                let taken = match decoder.decode(rows, &piece, None) {
                    Ok(taken) => taken,
                    Err(error) => {
                        self.check_before(&error, task, &piece, arena)?;
                        return Err(error.explain(task, &piece));
                    }
                };
                if let Some(checks) = self.references {
                    first_missing(checks, &buffers, before, task, &piece)?;
                }
                if let Some(violation) = first {
                    return Err(violated(task, &piece, violation));
                }
                if let Some(defect) = piece.defects.first() {
                    return Err(bad_record(task, &piece, defect));
                }
                repairs.add(task, &piece, |_| true);
                taken
            };
            self.control.progress.add(task.bytes_done(piece.bytes), rows as u64);
        }
    }
}
