//! The directory of a durable database: what its last checkpoint left, and the log behind it.
//!
//! Source: the thesis, 2.2.3 and 4.3.1 (redo log, consistent backups); the words are PostgreSQL's. `docs/format.md`
//! describes every byte.
//!
//! Definitions
//! - The **manifest** (`manifest`) names the chunks of all relations in **block files** (`block_file`), and the position of
//!   the log from which it is done again. A **checkpoint** (`checkpoint`) writes the chunks that have changed and switches the
//!   manifest; **recovery** (`recovery`) reads all of it.
//! - A relation is durable from the commit on with which it has joined ([`crate::Transaction::log_created`]). Others are in
//!   memory alone. Of one that is not *logged* ([`Relation::is_logged`]), the rows are not durable: only the last checkpoint
//!   before the database is closed writes them, and the manifest forgets them when it is opened to be written again.
//!
//! Invariants
//! - Who has the directory open for writing has locked it.
//! - A manifest takes the place of another one as a whole, after all that it names is safe.
//! - Files that no manifest names are litter, and go when the directory is opened.
//! - Who does not have the directory any more writes nothing to it: neither to the log nor to files of loads.
//!
//! Not here: what the log says (`redo`) and how it is written (`log`); tables, indexes and views (the layer above keeps them
//! in the catalog that it gives to checkpoints, and in payloads of transactions).

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::disk::{Disk, DiskLock};
use crate::log::{BackgroundWriter, Log, LogOptions, Lsn};
use crate::manager::{BlockStore, RedoLog, Transactions};
use crate::memory::Memory;
use crate::relation::Relation;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::brief::{Mutex, MutexGuard};
use crate::table::{RelationId, Table};

mod backup;
mod block;
mod block_file;
mod checkpoint;
mod damage;
mod error;
mod folder;
mod header;
mod loads;
mod log_dump;
mod manifest;
mod recovery;
mod salvage;

pub use backup::{BackupFiles, BackupReport, BackupTarget};
pub use checkpoint::{Checkpoint, CheckpointReport};
pub use error::DirectoryError;
pub use log_dump::{LogEnd, LogEntry};
pub use recovery::Recovered;
pub use salvage::Salvaged;

use backup::Kept;
use checkpoint::LastCheckpoint;
use folder::{Folder, Making, SwitchError};
use loads::Loads;
use manifest::Manifest;

/// How the directory of a database is kept.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryOptions {
    /// How the log is kept.
    pub log: LogOptions,
    /// After so long at most, a thread writes what nobody waits for. `None` for no such thread: then it is written when
    /// somebody waits.
    pub write_delay: Option<Duration>,
    /// Threads of recovery and checkpoints.
    pub threads: usize,
}

impl Default for DirectoryOptions {
    fn default() -> DirectoryOptions {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        DirectoryOptions { log: LogOptions::default(), write_delay: Some(Duration::from_millis(200)), threads }
    }
}

/// The directory of a database, open for writing.
pub struct DataDirectory {
    folder: Folder,
    /// What tells the database from all others.
    identity: u64,
    transactions: Arc<Transactions>,
    background: Option<BackgroundWriter>,
    log: Arc<Log>,
    threads: usize,
    /// The files of loads.
    loads: Arc<Loads>,
    /// From where the log is needed.
    checkpoint_lsn: AtomicU64,
    /// `None` while a checkpoint is under way.
    last: Mutex<Option<LastCheckpoint>>,
    /// The block files that backups read.
    kept: Kept,
    // Behind all that writes.
    _lock: Box<dyn DiskLock>,
}

impl fmt::Debug for DataDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataDirectory").field("path", &self.folder.path).finish_non_exhaustive()
    }
}

impl DataDirectory {
    /// Whether there is a database in a directory.
    ///
    /// # Errors
    ///
    /// When the disk refuses an operation.
    pub fn exists(disk: &Arc<dyn Disk>, path: &Path) -> Result<bool, DirectoryError> {
        Folder { disk: Arc::clone(disk), path: path.to_owned() }.has_manifest()
    }

    /// Makes a database in a directory, which is made if need be, in one that is there. The transactions log to it from now
    /// on.
    ///
    /// # Errors
    ///
    /// When there is a database, or anything else; when somebody else is at it; when the disk refuses an operation. Then the
    /// same may be tried again.
    ///
    /// # Panics
    ///
    /// When the transactions have a log already.
    pub fn create(
        disk: &Arc<dyn Disk>,
        path: &Path,
        transactions: &Arc<Transactions>,
        options: DirectoryOptions,
    ) -> Result<DataDirectory, DirectoryError> {
        let folder = Folder { disk: Arc::clone(disk), path: path.to_owned() };
        folder.make()?;
        folder.check_room(Making::Database)?;
        let lock = disk.lock(&folder.lock())?;
        folder.create(Making::Database)?;
        let identity = RandomState::new().hash_one(std::process::id());
        let log = Log::create(Arc::clone(disk), &folder.log(), identity, Lsn::default(), options.log)?;
        let manifest = Manifest {
            identity,
            number: 0,
            lsn: Lsn::default(),
            next_relation: RelationId(1),
            next_file: 0,
            relations: Vec::new(),
            catalog: Vec::new(),
        };
        folder.switch_manifest(&manifest.to_bytes()).map_err(SwitchError::into_error)?;
        folder.remove_litter(|_| false)?;
        let last = LastCheckpoint::of(&manifest, &BTreeMap::new(), BTreeMap::new());
        let loads = Arc::new(Loads::new(&folder, identity, 0));
        DataDirectory::start(folder, lock, &manifest, last, (log, loads), transactions, options)
    }

    /// Opens the database in a directory for writing: brings it back in memory, for transactions that have done nothing yet
    /// and log to it from now on. What a crash has left behind goes.
    ///
    /// # Errors
    ///
    /// When there is none, somebody else has it open, a file is damaged or of a version that is not known, memory runs out, or
    /// the disk refuses an operation.
    ///
    /// # Panics
    ///
    /// When the transactions have a log already.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        memory: &Arc<Memory>,
        transactions: &Arc<Transactions>,
        options: DirectoryOptions,
    ) -> Result<(DataDirectory, Recovered), DirectoryError> {
        let folder = Folder { disk: Arc::clone(disk), path: path.to_owned() };
        if !folder.has_manifest()? {
            return Err(folder.missing());
        }
        let lock = disk.lock(&folder.lock())?;
        // A manifest whose name is not safe yet must not go once files go that only the one before it names.
        folder.sync()?;
        let mut restored = recovery::recover(&folder, memory, transactions, options.threads, None)?;
        if restored.manifest.has_unlogged_rows() {
            // What is changed of them from here on, no log says.
            restored.begin_use();
            folder.switch_manifest(&restored.manifest.to_bytes()).map_err(SwitchError::into_error)?;
        }
        folder.remove_litter(|number| restored.is_needed(number))?;
        let (manifest, recovered) = (restored.manifest, restored.recovered);
        let reader = restored.reader.expect("without its log a database does not come back");
        let log = Log::open(reader, options.log)?;
        log.remove_below(manifest.lsn)?;
        let table = |(id, relation): (&RelationId, &Relation)| (*id, Arc::clone(relation.table()));
        let tables: BTreeMap<RelationId, Arc<Table>> = recovered.relations.iter().map(table).collect();
        let last = LastCheckpoint::of(&manifest, &tables, restored.files);
        let directory =
            DataDirectory::start(folder, lock, &manifest, last, (log, restored.loads), transactions, options)?;
        Ok((directory, recovered))
    }

    /// Brings back the database in a directory that nobody writes, in memory. Nothing is written, and nobody is kept from
    /// writing.
    ///
    /// # Errors
    ///
    /// As [`DataDirectory::open`].
    pub fn read(
        disk: &Arc<dyn Disk>,
        path: &Path,
        memory: &Arc<Memory>,
        transactions: &Arc<Transactions>,
        threads: usize,
    ) -> Result<Recovered, DirectoryError> {
        let folder = Folder { disk: Arc::clone(disk), path: path.to_owned() };
        Ok(recovery::recover(&folder, memory, transactions, threads, None)?.recovered)
    }

    fn start(
        folder: Folder,
        lock: Box<dyn DiskLock>,
        manifest: &Manifest,
        last: LastCheckpoint,
        (log, loads): (Log, Arc<Loads>),
        transactions: &Arc<Transactions>,
        options: DirectoryOptions,
    ) -> Result<DataDirectory, DirectoryError> {
        let log = Arc::new(log);
        let background = options.write_delay.map(|delay| BackgroundWriter::start(&log, delay)).transpose();
        let background = background.map_err(DirectoryError::Thread)?;
        transactions.log().set_blocks(Arc::clone(&loads) as Arc<dyn BlockStore>);
        transactions.log_to(Arc::clone(&log) as Arc<dyn RedoLog>);
        Ok(DataDirectory {
            folder,
            identity: manifest.identity,
            transactions: Arc::clone(transactions),
            background,
            log,
            threads: options.threads.max(1),
            loads,
            checkpoint_lsn: AtomicU64::new(manifest.lsn.get()),
            last: Mutex::new(Some(last)),
            kept: Kept::default(),
            _lock: lock,
        })
    }

    /// The log that the transactions of the database write to.
    #[must_use]
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// What tells the database from all others.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Bytes of the log that would be done again if the database were opened now: none after a checkpoint behind which
    /// nothing was logged.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        let end = self.log.end().get();
        let bytes = end.saturating_sub(self.checkpoint_lsn.load(Ordering::Acquire));
        // What fills a frame up is no record.
        if bytes < PADDING_BYTES_MAX { 0 } else { bytes }
    }

    /// Whether there are rows that are not durable, which only [`Checkpoint::write_last`] writes.
    #[must_use]
    pub fn has_unlogged_rows(&self) -> bool {
        self.transactions.log().has_unlogged_rows()
    }

    /// Makes everything safe, and takes nothing more. After a checkpoint behind which nothing was logged, nothing is done
    /// again when the database is opened.
    ///
    /// # Errors
    ///
    /// When the log fails.
    pub fn close(mut self) -> Result<(), DirectoryError> {
        drop(self.background.take());
        Ok(self.log.close()?)
    }

    fn last(&self) -> MutexGuard<'_, Option<LastCheckpoint>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DataDirectory {
    /// Nobody writes to it any more. What its thread was to write is written; of the rest of the log, what nobody waited for is
    /// lost.
    fn drop(&mut self) {
        drop(self.background.take());
        self.log.abandon();
        self.loads.end();
    }
}

/// A frame is filled up with fewer bytes.
const PADDING_BYTES_MAX: u64 = 8;
