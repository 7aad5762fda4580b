//! What a durable database has beside its memory: its directory, and the thread that makes checkpoints by themselves.
//!
//! The words and the settings are PostgreSQL's. A checkpoint begins when the log behind the last one has half of
//! `max_wal_size`, so that it stays below that while the checkpoint is written, or when `checkpoint_timeout` is over and
//! there is any log. One that fails is tried again later; until one succeeds, the log keeps everything.
//!
//! Not here: how a database is opened (`durable`), what is in the directory (`longshore-storage`).

use std::fmt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use longshore_storage::data_directory::{BackupReport, Checkpoint, DataDirectory};

use super::statistics::{CheckpointCounts, DurableStatistics};
use crate::catalog::Catalog;
use crate::config::{Durability, Naptime};
use crate::{Error, ErrorKind, panics};

/// How often the thread looks whether a checkpoint is due.
const LOOK: Duration = Duration::from_millis(100);

/// How long it waits after a checkpoint that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// When checkpoints are made by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointSettings {
    pub(crate) max_wal_size: u64,
    pub(crate) checkpoint_timeout: Naptime,
}

impl CheckpointSettings {
    fn of(durability: &Durability) -> Self {
        Self { max_wal_size: durability.max_wal_size, checkpoint_timeout: durability.checkpoint_timeout }
    }
}

/// The directory of a database.
pub(crate) struct Durable {
    /// `None` once it is closed.
    directory: RwLock<Option<DataDirectory>>,
    catalog: Arc<Catalog>,
    /// What the database was opened with.
    durability: Durability,
    settings: Mutex<CheckpointSettings>,
    /// Held by who makes a checkpoint: others wait.
    checkpointing: Mutex<()>,
    counts: CheckpointCounts,
}

impl Durable {
    /// Takes a directory over, and lets checkpoints be made by themselves. They end with what is returned beside it.
    pub(crate) fn start(
        directory: DataDirectory,
        catalog: &Arc<Catalog>,
        durability: &Durability,
    ) -> Result<(Arc<Self>, Checkpointer), Error> {
        let durable = Arc::new(Self {
            directory: RwLock::new(Some(directory)),
            catalog: Arc::clone(catalog),
            durability: durability.clone(),
            settings: Mutex::new(CheckpointSettings::of(durability)),
            checkpointing: Mutex::new(()),
            counts: CheckpointCounts::default(),
        });
        let checkpointer = Checkpointer::start(&durable)?;
        Ok((durable, checkpointer))
    }

    /// What the database was opened with.
    pub(crate) fn durability(&self) -> &Durability {
        &self.durability
    }

    pub(crate) fn settings(&self) -> CheckpointSettings {
        *self.lock_settings()
    }

    /// Changes the settings.
    pub(crate) fn set(&self, change: impl FnOnce(&mut CheckpointSettings)) {
        change(&mut self.lock_settings());
    }

    fn lock_settings(&self) -> MutexGuard<'_, CheckpointSettings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a checkpoint, after one that is under way.
    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        self.checkpoint_as(|checkpoint| checkpoint)
    }

    /// The same for one that nobody waits for: it leaves cores to those who work.
    fn checkpoint_beside_others(&self) -> Result<(), Error> {
        self.checkpoint_as(|checkpoint| checkpoint.in_threads(1))
    }

    fn checkpoint_as(&self, change: impl FnOnce(Checkpoint<'_>) -> Checkpoint<'_>) -> Result<(), Error> {
        let _one = self.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.directory.read().unwrap_or_else(PoisonError::into_inner);
        let directory = directory.as_ref().ok_or_else(closed)?;
        let (bytes, began) = (directory.log_bytes(), Instant::now());
        let write = || {
            let (checkpoint, catalog) = self.begin(directory, false)?;
            change(checkpoint).write(&catalog)?;
            Ok(())
        };
        let written: Result<(), Error> = write();
        let seconds = began.elapsed().as_secs_f64();
        self.counts.add(began.elapsed(), written.is_ok());
        match &written {
            Ok(()) => {
                tracing::info!(target: "longshore::checkpoint", seconds, log_bytes = bytes, "checkpoint complete");
            }
            Err(error) => tracing::error!(target: "longshore::checkpoint", seconds, %error, "checkpoint failed"),
        }
        written
    }

    /// What it counts; `None` once it is closed.
    pub(super) fn statistics(&self) -> Option<DurableStatistics> {
        let directory = self.directory.read().unwrap_or_else(PoisonError::into_inner);
        let directory = directory.as_ref()?;
        let (checkpoints, checkpoints_failed, checkpoint_time) = self.counts.get();
        Some(DurableStatistics {
            log_bytes_written: directory.log().end().get(),
            log_bytes_to_redo: directory.log_bytes(),
            log_syncs: directory.log().syncs(),
            checkpoints,
            checkpoints_failed,
            checkpoint_time,
        })
    }

    /// Makes a last checkpoint, so that nothing is done again when the database is opened, and closes the directory. Nobody
    /// works on the database any more.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let _one = self.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.directory.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(directory) = directory else { return Ok(()) };
        // If it fails, the log has everything.
        let is_ahead = self.catalog.sequences().iter().any(|sequence| sequence.is_logged_ahead());
        let is_needed = directory.log_bytes() > 0 || is_ahead || directory.has_unlogged_rows();
        let written = if is_needed { self.write_last(&directory) } else { Ok(()) };
        let closed = directory.close().map_err(Error::from);
        written.and(closed)
    }

    /// Writes a backup of the database as it is now to a directory: another checkpoint may begin as soon as its own is made.
    /// With an earlier one, it shares files. `watch` gets the bytes that were dealt with, and says whether to go on.
    pub(crate) fn backup(
        &self,
        path: &Path,
        previous: Option<&Path>,
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<BackupReport, Error> {
        let one = self.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
        // Held to the end: the directory is not closed meanwhile.
        let directory = self.directory.read().unwrap_or_else(PoisonError::into_inner);
        let directory = directory.as_ref().ok_or_else(closed)?;
        let target = directory.begin_backup(path, previous)?;
        let (checkpoint, catalog) = self.begin(directory, false)?;
        let files = checkpoint.write_for_backup(&catalog)?;
        drop(one);
        Ok(target.write(&files, watch)?)
    }

    fn write_last(&self, directory: &DataDirectory) -> Result<(), Error> {
        let (checkpoint, catalog) = self.begin(directory, true)?;
        checkpoint.write_last(&catalog)?;
        Ok(())
    }

    /// Begins a checkpoint, with the catalog at the same moment.
    fn begin<'d>(&self, directory: &'d DataDirectory, is_last: bool) -> Result<(Checkpoint<'d>, Vec<u8>), Error> {
        // It says at least what the checkpoint sees, and may say more of sequences: that has to be safe before.
        let (checkpoint, catalog) = self.catalog.image_behind(|| directory.begin_checkpoint(), is_last)?;
        let checkpoint = checkpoint?;
        self.catalog.log().map_or(Ok(()), |log| log.wait())?;
        Ok((checkpoint, catalog))
    }

    /// Whether a checkpoint is due, so long after the last one.
    fn is_due(&self, elapsed: Duration) -> bool {
        let directory = self.directory.read().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = directory.as_ref().map(DataDirectory::log_bytes) else { return false };
        let settings = self.settings();
        bytes >= settings.max_wal_size / 2 || (bytes > 0 && elapsed >= settings.checkpoint_timeout.duration())
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::State, "the database is closed")
}

impl fmt::Debug for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Durable").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

/// The thread that makes checkpoints. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Checkpointer(Option<(Sender<()>, std::thread::JoinHandle<()>)>);

impl Checkpointer {
    fn start(durable: &Arc<Durable>) -> Result<Self, Error> {
        let (running, ended) = mpsc::channel();
        let durable = Arc::downgrade(durable);
        let work = move || {
            let (mut last, mut wait) = (Instant::now(), LOOK);
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = LOOK;
                // A bug costs one checkpoint, and nobody a statement.
                match panics::caught(|| look(&durable, last)) {
                    Ok(true) => last = Instant::now(),
                    Ok(false) => {}
                    Err(_) => wait = PAUSE_AFTER_FAILURE,
                }
            }
        };
        let thread = std::thread::Builder::new().name("checkpointer".to_owned()).spawn(work);
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Io, format!("the thread that makes checkpoints cannot be started: {error}"))
        })?;
        Ok(Self(Some((running, thread))))
    }
}

/// Makes a checkpoint if one is due.
fn look(durable: &Weak<Durable>, last: Instant) -> Result<bool, Error> {
    let Some(durable) = durable.upgrade() else { return Ok(false) };
    let is_due = durable.is_due(last.elapsed());
    if is_due {
        durable.checkpoint_beside_others()?;
    }
    Ok(is_due)
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        if let Some((running, thread)) = self.0.take() {
            drop(running);
            // One that is under way comes to its end.
            let _ = thread.join();
        }
    }
}
