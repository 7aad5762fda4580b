//! Hands rejects on in the order of the files, however the workers come by them, and stops where they are too many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_csv::DefectKind;
use longshore_storage::Memory;

use super::{RejectSummary, SpanRejects};
use crate::error::{LoadError, REJECTS_SHOWN_MAX, Reject, RejectLimit, TooManyRejects};
use crate::files::SpanTask;
use crate::options::{OnError, TextOptions};

/// The rejects of all spans of a load or a scan.
pub(crate) struct RejectOrder {
    on_error: OnError,
    limit: RejectLimit,
    memory: Arc<Memory>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The span whose turn it is.
    next: u64,
    /// Spans whose turn has not come.
    waiting: BTreeMap<u64, SpanRejects>,
    /// Line feeds of the current file before the next span.
    lines: u64,
    summary: RejectSummary,
    failed: bool,
}

impl RejectOrder {
    /// What `options` ask for; `None` if the first bad record ends everything.
    ///
    /// # Errors
    /// When the limit is none.
    pub(crate) fn new(options: &TextOptions, memory: &Arc<Memory>) -> Result<Option<Self>, LoadError> {
        let (on_error, limit) = (options.on_error.clone(), options.reject_limit);
        if on_error.stops() {
            return match limit {
                RejectLimit::None => Ok(None),
                _ => Err(LoadError::Options(
                    "REJECT_LIMIT needs records that are rejected; set ON_ERROR to ignore, table or file".to_owned(),
                )),
            };
        }
        if let RejectLimit::Percent(percent) = limit
            && !(0.0..=100.0).contains(&percent)
        {
            return Err(LoadError::Options(format!(
                "REJECT_LIMIT {percent}% is not a share; give a percentage from 0 to 100, or a number of records"
            )));
        }
        Ok(Some(Self { on_error, limit, memory: Arc::clone(memory), state: Mutex::default() }))
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// None yet, of the span of `task`.
    pub(crate) fn span(&self, task: &SpanTask) -> SpanRejects {
        let rejects_max = if self.wants_all() { usize::MAX } else { REJECTS_SHOWN_MAX };
        let records_max = if let RejectLimit::Records(records) = self.limit { records } else { u64::MAX };
        SpanRejects::new(task, &self.memory, rejects_max, records_max)
    }

    /// Whether all rejects are wanted, not only the first ones.
    pub(crate) fn wants_all(&self) -> bool {
        matches!(self.on_error, OnError::Collect(_))
    }

    /// Takes the rejects of the span `sequence`: of every span once, in any order, numbers counting from 0 without gaps.
    ///
    /// # Errors
    /// When a span whose turn came has a reject too many, or its rejects cannot be kept: the number of that span, and
    /// why.
    pub(crate) fn deliver(&self, sequence: u64, span: SpanRejects) -> Result<(), (u64, LoadError)> {
        let mut state = self.state();
        state.waiting.insert(sequence, span);
        while !state.failed {
            let turn = state.next;
            let Some(span) = state.waiting.remove(&turn) else { break };
            state.next += 1;
            if let Err(error) = self.take(&mut state, span) {
                state.failed = true;
                return Err((turn, error));
            }
        }
        Ok(())
    }

    /// Takes the rejects of the span whose turn it is.
    fn take(&self, state: &mut State, mut span: SpanRejects) -> Result<(), LoadError> {
        let lines_before = span.lines_before.unwrap_or(state.lines);
        state.lines = lines_before + span.lines();
        if span.summary.records == 0 {
            return Ok(());
        }
        for reject in &mut span.rejects {
            reject.line += lines_before;
        }
        state.summary.records += span.summary.records;
        for (kind, count) in &span.summary.kinds {
            state.summary.count(*kind, *count);
        }
        let missing = REJECTS_SHOWN_MAX - state.summary.first.len();
        state.summary.first.extend(span.rejects.iter().take(missing).cloned());
        if let RejectLimit::Records(limit) = self.limit
            && state.summary.records > limit
        {
            return Err(self.too_many(state));
        }
        match &self.on_error {
            OnError::Collect(sink) => sink.take(&span.rejects),
            OnError::Stop | OnError::Ignore => Ok(()),
        }
    }

    /// Takes records that were rejected when all spans were delivered: so many, of which all that are wanted are told. They
    /// come behind all others.
    ///
    /// # Errors
    /// When they are too many, or cannot be kept.
    pub(crate) fn add(&self, rejects: &[Reject], kind: DefectKind, records: u64) -> Result<(), LoadError> {
        let mut state = self.state();
        state.summary.records += records;
        state.summary.count(kind, records);
        let missing = REJECTS_SHOWN_MAX - state.summary.first.len();
        state.summary.first.extend(rejects.iter().take(missing).cloned());
        if let RejectLimit::Records(limit) = self.limit
            && state.summary.records > limit
        {
            return Err(self.too_many(&mut state));
        }
        match &self.on_error {
            OnError::Collect(sink) => sink.take(rejects),
            OnError::Stop | OnError::Ignore => Ok(()),
        }
    }

    /// What was delivered in order so far.
    pub(crate) fn summary(&self) -> RejectSummary {
        self.state().summary.clone()
    }

    /// To be called when the work failed: nobody wants the rejects any more.
    pub(crate) fn abandon(&self) {
        self.state().failed = true;
    }

    /// To be called when all rejects were delivered and `rows` rows are to be kept.
    ///
    /// # Errors
    /// When too large a share was rejected, or the rejects cannot be kept.
    pub(crate) fn finish(&self, rows: u64) -> Result<(), LoadError> {
        self.check_share(rows)?;
        self.close()
    }

    /// Checks that no larger a share was rejected than may be, where `rows` rows were not.
    pub(crate) fn check_share(&self, rows: u64) -> Result<(), LoadError> {
        let mut state = self.state();
        if let RejectLimit::Percent(percent) = self.limit
            && !state.failed
        {
            let rejected = state.summary.records as f64;
            if rejected * 100.0 > percent * (rejected + rows as f64) {
                return Err(self.too_many(&mut state));
            }
        }
        Ok(())
    }

    /// Tells that no more rejects come.
    pub(crate) fn close(&self) -> Result<(), LoadError> {
        let state = self.state();
        match &self.on_error {
            OnError::Collect(sink) if !state.failed => sink.finish(),
            _ => Ok(()),
        }
    }

    fn too_many(&self, state: &mut State) -> LoadError {
        let first = std::mem::take(&mut state.summary.first);
        LoadError::TooManyRejects(Box::new(TooManyRejects { limit: self.limit, first }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
