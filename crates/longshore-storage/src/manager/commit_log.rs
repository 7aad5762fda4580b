//! What a database with a log asks of it: to take the record of each commit, in the order of the commits.
//!
//! A record is encoded before commits are ordered: nobody else changes what its transaction has changed. Under the mutex
//! that orders them it is handed over, so that the log has the order of the commits; who needs it safe on disk waits for
//! its position afterwards, without any lock.
//!
//! Not here: what a record says (`redo`), how the log reaches the disk.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError};

use super::write_set::SchemaChanges;
use super::{Reader, Transactions, WriteSet};
use crate::block_ref::{LoadFile, StoredBlock};
use crate::chunk::Chunk;
use crate::error::TransactionError;
use crate::log::{LogError, Lsn, WhenSafe};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::brief::{Mutex, MutexGuard};
use crate::table::{RelationId, Table};
use crate::visibility::Time;

impl From<LogError> for TransactionError {
    fn from(error: LogError) -> TransactionError {
        TransactionError::NotLogged { reason: error.to_string() }
    }
}

/// Takes the records of commits. What a log in memory need not do, does nothing unless it says otherwise.
pub trait RedoLog: Send + Sync {
    /// Keeps room for a record of so many bytes, until one is appended with it or it is released. It may wait for the disk,
    /// so it is called before the order of commits is decided, without any lock, and once at a time by a thread.
    ///
    /// # Errors
    ///
    /// When it takes no more, or not so long a record.
    fn reserve(&self, _bytes: usize) -> Result<(), LogError> {
        Ok(())
    }

    /// Gives back the room that was kept for a record of so many bytes.
    fn release(&self, _bytes: usize) {}

    /// Takes a record behind all others, in the room that was kept for one of `reserved` bytes, at least as many; says the
    /// position behind it. It is called for one commit after the other, while all others wait: so it copies the record, and
    /// waits for nothing. The room is given back, whatever comes of it.
    ///
    /// # Errors
    ///
    /// When it takes no more; then the transaction is rolled back.
    fn append(&self, record: &[u8], reserved: usize) -> Result<Lsn, LogError>;

    /// Waits until everything before a position is safe.
    ///
    /// # Errors
    ///
    /// When the log has failed before that.
    fn wait(&self, _lsn: Lsn) -> Result<(), LogError> {
        Ok(())
    }

    /// Has something done once everything before a position is safe, by whatever thread.
    fn when_safe(&self, lsn: Lsn, then: WhenSafe) {
        then(self.wait(lsn));
    }

    /// Asks for everything before a position to be written soon.
    fn request(&self, _lsn: Lsn) {}
}

/// When a transaction was committed, and where its record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Since when what it did is visible.
    pub time: Time,
    /// The log has to be safe up to here for the commit to be safe; `None` if nothing of it was logged. A ticket:
    /// [`Transactions::wait_until_safe`] waits for it, at once or later.
    pub lsn: Option<Lsn>,
}

/// Writes the record of a transaction behind what a vector holds: nothing, if it has changed nothing that is logged.
/// Files of loads that it names, which are safe then, go to the other vector.
pub(crate) type EncodeRecord = fn(&WriteSet, &mut Vec<u8>, &mut Vec<Arc<dyn LoadFile>>) -> Result<(), TransactionError>;

/// Where loads write their chunks, past the log.
pub(crate) trait BlockStore: Send + Sync {
    /// Begins a load.
    fn begin_load(self: Arc<Self>) -> Box<dyn LoadWriter>;
}

/// Writes the chunks of a load. Threads may do so side by side.
pub(crate) trait LoadWriter: Send + Sync {
    /// Writes a chunk, and says where it is.
    ///
    /// # Errors
    ///
    /// When memory runs out or the disk refuses: then the load has failed.
    fn write(&self, chunk: &Chunk) -> Result<StoredBlock, TransactionError>;

    /// Makes what was written safe. It waits for the disk. Nothing is written behind it.
    ///
    /// # Errors
    ///
    /// When the disk refuses: then the load has failed.
    fn finish(&self) -> Result<(), TransactionError>;
}

/// The log of a database, if it has one, and what checkpoints of it need to know.
pub(crate) struct CommitLog {
    log: OnceLock<Log>,
    blocks: OnceLock<Arc<dyn BlockStore>>,
    /// The relations that have joined, as the last commit left them.
    relations: Mutex<BTreeMap<RelationId, Arc<Table>>>,
    /// Counts the periods between checkpoints, from 1 on.
    period: AtomicU64,
}

impl Default for CommitLog {
    fn default() -> CommitLog {
        CommitLog {
            log: OnceLock::new(),
            blocks: OnceLock::new(),
            relations: Mutex::default(),
            period: AtomicU64::new(1),
        }
    }
}

/// A database between two commits, kept for a checkpoint.
pub(crate) struct CheckpointMoment<'t> {
    /// Sees what was committed before.
    pub(crate) reader: Reader<'t>,
    /// Up to here the log has what it sees, and no more.
    pub(crate) lsn: Lsn,
    /// The relations that have joined.
    pub(crate) relations: BTreeMap<RelationId, Arc<Table>>,
    /// What the next relation is called that joins.
    pub(crate) next_relation: RelationId,
    /// The period that ends here.
    pub(crate) period: u64,
}

struct Log {
    encode: EncodeRecord,
    sink: Arc<dyn RedoLog>,
    /// How many commits have dropped relations.
    drops: AtomicU64,
}

/// A record larger than this gives its memory back.
const SPARE_RECORD_BYTES_MAX: usize = 1 << 20;

thread_local! {
    /// Memory for the next record of a thread.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Transactions {
    /// Waits until a commit is safe on disk. No lock is held meanwhile. Without a log there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotSafe`] when the log has failed before that: the commit is visible, and may be there after a
    /// crash, as a whole, or not.
    pub fn wait_until_safe(&self, commit: Commit) -> Result<(), TransactionError> {
        let (Some(log), Some(lsn)) = (self.log().log.get(), commit.lsn) else { return Ok(()) };
        log.sink.wait(lsn).map_err(|error| not_safe(&error))
    }

    /// Has something done once a commit is safe on disk, with what [`Transactions::wait_until_safe`] says: by the thread that
    /// makes it safe, so that it must wait for nothing; or at once, if there is nothing to wait for or no thread that writes
    /// behind the commits.
    pub fn when_safe(&self, commit: Commit, then: impl FnOnce(Result<(), TransactionError>) + Send + 'static) {
        match (self.log().log.get(), commit.lsn) {
            (Some(log), Some(lsn)) => {
                log.sink.when_safe(lsn, Box::new(|safe| then(safe.map_err(|error| not_safe(&error)))));
            }
            _ => then(Ok(())),
        }
    }

    /// Has a commit made safe soon, and waits for nothing.
    pub fn make_safe_soon(&self, commit: Commit) {
        if let (Some(log), Some(lsn)) = (self.log().log.get(), commit.lsn) {
            log.sink.request(lsn);
        }
    }
}

fn not_safe(error: &LogError) -> TransactionError {
    TransactionError::NotSafe { reason: error.to_string() }
}

impl Transactions {
    /// Keeps the database as it is between two commits, of which `end` says up to where they are logged. From here on
    /// changes are those of the next period.
    pub(crate) fn begin_checkpoint(&self, end: impl FnOnce() -> Lsn) -> CheckpointMoment<'_> {
        let mut state = self.lock();
        let reader = self.reader(&mut state);
        let (lsn, relations) = (end(), self.log().relations().clone());
        let period = self.log().period.fetch_add(1, Ordering::AcqRel);
        let moment = CheckpointMoment { reader, lsn, relations, next_relation: self.next_relation_id(), period };
        drop(state);
        moment
    }
}

impl CommitLog {
    /// Logs from now on.
    ///
    /// # Panics
    ///
    /// When there is a log already.
    pub(crate) fn set(&self, encode: EncodeRecord, log: Arc<dyn RedoLog>) {
        let is_first = self.log.set(Log { encode, sink: log, drops: AtomicU64::new(0) }).is_ok();
        assert!(is_first, "a database has one log");
    }

    /// Lets loads write their chunks past the log from now on.
    ///
    /// # Panics
    ///
    /// When they do so already.
    pub(crate) fn set_blocks(&self, blocks: Arc<dyn BlockStore>) {
        assert!(self.blocks.set(blocks).is_ok(), "a database has one place for blocks");
    }

    /// Begins a load that may write its chunks past the log, if it may.
    pub(crate) fn begin_load(&self) -> Option<Box<dyn LoadWriter>> {
        self.blocks.get().map(|blocks| Arc::clone(blocks).begin_load())
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.log.get().is_some()
    }

    /// The record of a transaction that is about to commit, if there is a log.
    #[inline]
    pub(crate) fn record(&self, set: &WriteSet) -> Result<Record<'_>, TransactionError> {
        match self.log.get() {
            None => Ok(Record(None)),
            Some(log) => log.encoded(set, self),
        }
    }

    /// Takes note of a relation that has joined, which came back.
    pub(crate) fn register(&self, id: RelationId, table: &Arc<Table>) {
        self.relations().insert(id, Arc::clone(table));
    }

    /// Whether a relation that has joined has rows that are not durable.
    pub(crate) fn has_unlogged_rows(&self) -> bool {
        let tables: Vec<Arc<Table>> = self.relations().values().filter(|table| !table.is_logged()).cloned().collect();
        tables.iter().any(|table| table.slots.iter().any(|(_, slot)| slot.read().len() > 0))
    }

    fn relations(&self) -> MutexGuard<'_, BTreeMap<RelationId, Arc<Table>>> {
        self.relations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the relations that a transaction lets join, alters or drops, now that it commits.
    fn take_over(&self, changes: &SchemaChanges) {
        let mut relations = self.relations();
        let joined = changes.created.iter().filter_map(|(_, table)| Some((table.relation_id()?, table)));
        let swapped = changes.table_swaps.iter().filter_map(|swap| Some((swap.before().relation_id()?, swap.after())));
        for (id, table) in joined.chain(swapped) {
            relations.insert(id, Arc::clone(table));
        }
        for (_, table) in &changes.dropped {
            if let Some(id) = table.relation_id() {
                relations.remove(&id);
            }
        }
    }
}

impl Log {
    fn encoded<'l>(&'l self, set: &WriteSet, commits: &'l CommitLog) -> Result<Record<'l>, TransactionError> {
        let period = commits.period.load(Ordering::Acquire);
        let mut record =
            Encoded { bytes: SPARE.take(), files: Vec::new(), drops: 0, reserved: 0, period, log: self, commits };
        record.encode(set)?;
        set.mark_changed(period);
        if !record.bytes.is_empty() {
            self.sink.reserve(record.bytes.len())?;
            record.reserved = record.bytes.len();
        }
        Ok(Record(Some(record)))
    }
}

/// The record of a transaction, on its way to the log, if there is one.
pub(crate) struct Record<'l>(Option<Encoded<'l>>);

struct Encoded<'l> {
    bytes: Vec<u8>,
    /// Files of loads that it names.
    files: Vec<Arc<dyn LoadFile>>,
    /// How many commits had dropped relations when it was encoded.
    drops: u64,
    /// Bytes for which the log keeps room.
    reserved: usize,
    /// The period in which the slots were marked that it changes.
    period: u64,
    log: &'l Log,
    commits: &'l CommitLog,
}

impl Record<'_> {
    /// Hands it over. Nobody else commits meanwhile.
    #[inline]
    pub(crate) fn append(&mut self, set: &WriteSet) -> Result<Option<Lsn>, TransactionError> {
        match &mut self.0 {
            None => Ok(None),
            Some(record) => record.append(set),
        }
    }
}

impl Encoded<'_> {
    fn encode(&mut self, set: &WriteSet) -> Result<(), TransactionError> {
        self.bytes.clear();
        self.files.clear();
        self.drops = self.log.drops.load(Ordering::Acquire);
        (self.log.encode)(set, &mut self.bytes, &mut self.files)
    }

    fn append(&mut self, set: &WriteSet) -> Result<Option<Lsn>, TransactionError> {
        // Of a relation that was dropped since, nothing may come behind the record that says so. It becomes shorter.
        if self.drops != self.log.drops.load(Ordering::Acquire) {
            self.encode(set)?;
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let position = self.log.sink.append(&self.bytes, std::mem::take(&mut self.reserved))?;
        self.files.iter().for_each(|file| file.named_by(position));
        // A checkpoint that has begun since does not see it.
        let period = self.commits.period.load(Ordering::Acquire);
        if period != self.period {
            set.mark_changed(period);
        }
        if let Some(changes) = &set.schema_changes {
            self.commits.take_over(changes);
        }
        if set.dropped().inspect(|table| table.set_relation_id(None)).count() > 0 {
            self.log.drops.fetch_add(1, Ordering::AcqRel);
        }
        Ok(Some(position))
    }
}

impl Drop for Encoded<'_> {
    fn drop(&mut self) {
        if self.reserved > 0 {
            self.log.sink.release(self.reserved);
        }
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() <= SPARE_RECORD_BYTES_MAX {
            SPARE.set(bytes);
        }
    }
}
