//! What a database with a log asks of it: to take the record of each commit, in the order of the commits.
//!
//! A record is encoded before commits are ordered: nobody else changes what its transaction has changed. Under the mutex
//! that orders them it is handed over, so that the log has the order of the commits; who needs it safe on disk waits for
//! its position afterwards, without any lock.
//!
//! Not here: what a record says (`redo`), how the log reaches the disk.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use super::{Transactions, WriteSet};
use crate::error::TransactionError;
use crate::log::{LogError, Lsn};
use crate::memory::OutOfMemory;
use crate::sync::atomic::{AtomicU64, Ordering};
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
pub(crate) type EncodeRecord = fn(&WriteSet, &mut Vec<u8>) -> Result<(), OutOfMemory>;

/// The log of a database, if it has one.
#[derive(Default)]
pub(crate) struct CommitLog(OnceLock<Log>);

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
        let (Some(log), Some(lsn)) = (self.log().0.get(), commit.lsn) else { return Ok(()) };
        log.sink.wait(lsn).map_err(|error| TransactionError::NotSafe { reason: error.to_string() })
    }

    /// Has a commit made safe soon, and waits for nothing.
    pub fn make_safe_soon(&self, commit: Commit) {
        if let (Some(log), Some(lsn)) = (self.log().0.get(), commit.lsn) {
            log.sink.request(lsn);
        }
    }
}

impl CommitLog {
    /// Logs from now on.
    ///
    /// # Panics
    ///
    /// When there is a log already.
    pub(crate) fn set(&self, encode: EncodeRecord, log: Arc<dyn RedoLog>) {
        let is_first = self.0.set(Log { encode, sink: log, drops: AtomicU64::new(0) }).is_ok();
        assert!(is_first, "a database has one log");
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// The record of a transaction that is about to commit, if there is a log.
    #[inline]
    pub(crate) fn record(&self, set: &WriteSet) -> Result<Record<'_>, TransactionError> {
        match self.0.get() {
            None => Ok(Record(None)),
            Some(log) => log.encoded(set),
        }
    }
}

impl Log {
    fn encoded(&self, set: &WriteSet) -> Result<Record<'_>, TransactionError> {
        let mut record = Encoded { bytes: SPARE.take(), drops: 0, reserved: 0, log: self };
        record.encode(set)?;
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
    /// How many commits had dropped relations when it was encoded.
    drops: u64,
    /// Bytes for which the log keeps room.
    reserved: usize,
    log: &'l Log,
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
    fn encode(&mut self, set: &WriteSet) -> Result<(), OutOfMemory> {
        self.bytes.clear();
        self.drops = self.log.drops.load(Ordering::Acquire);
        (self.log.encode)(set, &mut self.bytes)
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
