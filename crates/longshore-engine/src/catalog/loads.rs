//! The loads that run at the moment, for who asks how far they are, and so that two of them do not load one file.
//!
//! Not here: what they have loaded in the end (`ledger`).

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use longshore_load::Control;

use super::ledger::{LoadRecord, LoadStatus};
use crate::{Error, ErrorKind};

/// Names of files that are shown of a load, at most.
const SHOWN_MAX: usize = 8;

/// All loads that run.
#[derive(Clone, Default)]
pub(crate) struct Loads(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: BTreeMap<i64, Running>,
    /// The number of the last load; 0 before it is known.
    last: i64,
}

struct Running {
    table: i64,
    table_name: String,
    /// What the statement names.
    files: String,
    control: Arc<Control>,
    started: i64,
    since: Instant,
    /// The files that it alone may load into the table.
    claims: HashSet<String>,
}

/// A load that runs, as long as this is held.
pub(crate) struct RunningLoad {
    loads: Arc<Mutex<State>>,
    /// Its number.
    pub(crate) load: i64,
}

impl Loads {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// A load begins: of what the statement names as `files` into a table. Numbers go on behind what `last` gives the first
    /// time.
    pub(crate) fn begin<E>(
        &self,
        (table, table_name): (i64, &str),
        files: &[String],
        control: &Arc<Control>,
        last: impl FnOnce() -> Result<i64, E>,
    ) -> Result<RunningLoad, E> {
        let mut state = self.state();
        if state.last == 0 {
            state.last = last()?;
        }
        state.last += 1;
        let load = state.last;
        let running = Running {
            table,
            table_name: table_name.to_owned(),
            files: shown(files),
            control: Arc::clone(control),
            started: now(),
            since: Instant::now(),
            claims: HashSet::new(),
        };
        state.running.insert(load, running);
        Ok(RunningLoad { loads: Arc::clone(&self.0), load })
    }

    /// What runs, and how far it is.
    pub(crate) fn records(&self) -> Vec<LoadRecord> {
        let state = self.state();
        state.running.iter().map(|(load, running)| running.record(*load, LoadStatus::Running)).collect()
    }
}

impl RunningLoad {
    /// Keeps others with claims from loading these files into its table.
    ///
    /// # Errors
    /// When another one has claimed one of them.
    pub(crate) fn claim(&self, files: impl Iterator<Item = String>) -> Result<(), Error> {
        let mut state = lock(&self.loads);
        let claims: HashSet<String> = files.collect();
        let Some(table) = state.running.get(&self.load).map(|own| own.table) else { return Ok(()) };
        for (load, other) in state.running.iter().filter(|(_, other)| other.table == table) {
            if let Some(file) = claims.intersection(&other.claims).min() {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "{file}: load {load} is loading it into {} at the moment; nothing was loaded: run the statement \
                         again when that has ended",
                        other.table_name
                    ),
                ));
            }
        }
        if let Some(own) = state.running.get_mut(&self.load) {
            own.claims = claims;
        }
        Ok(())
    }

    /// What is to be noted of it, as `status` says.
    pub(crate) fn record(&self, status: LoadStatus) -> Option<LoadRecord> {
        lock(&self.loads).running.get(&self.load).map(|running| running.record(self.load, status))
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        lock(&self.loads).running.remove(&self.load);
    }
}

impl Running {
    fn record(&self, load: i64, status: LoadStatus) -> LoadRecord {
        let progress = &self.control.progress;
        let total = Some(progress.bytes_total()).filter(|total| *total > 0);
        LoadRecord {
            load,
            table: self.table,
            table_name: self.table_name.clone(),
            file: self.files.clone(),
            ordinal: None,
            status,
            size: total.map(signed),
            modified: None,
            version: None,
            hash: None,
            rows: Some(signed(progress.rows())),
            rejects: None,
            bytes: Some(signed(progress.bytes_done())),
            seconds: self.since.elapsed().as_secs_f64(),
            started: self.started,
            error: None,
        }
    }
}

impl fmt::Debug for Loads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loads").finish_non_exhaustive()
    }
}

/// What a statement names, of many files the first.
fn shown(files: &[String]) -> String {
    match files {
        [first, others @ ..] if files.len() > SHOWN_MAX => format!("{first} and {} others", others.len()),
        files => files.join(", "),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A count as a column has it.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Microseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
