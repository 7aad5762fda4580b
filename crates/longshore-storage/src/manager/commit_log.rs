//! What a database with a log asks of it: to take the record of each commit, in the order of the commits.
//!
//! A record is encoded before commits are ordered: nobody else changes what its transaction has changed. Under the mutex
//! that orders them it is handed over, so that the log has the order of the commits; who needs it safe on disk waits for
//! its position afterwards, without any lock.
//!
//! Not here: what a record says (`redo`), how the log reaches the disk.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::WriteSet;
use crate::error::TransactionError;
use crate::memory::OutOfMemory;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::visibility::Time;

/// A place in a log: that behind a record. Positions grow with every record, and never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(pub u64);

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A log takes no more records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogClosed {
    /// Why.
    pub reason: String,
}

impl fmt::Display for LogClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log takes no more changes: {}", self.reason)
    }
}

impl Error for LogClosed {}

impl From<LogClosed> for TransactionError {
    fn from(error: LogClosed) -> TransactionError {
        TransactionError::NotLogged { reason: error.reason }
    }
}

/// Takes the records of commits.
pub trait RedoLog: Send + Sync {
    /// Takes a record behind all others; says the position behind it. It is called for one commit after the other, while
    /// all others wait: so it copies the record, and waits for nothing.
    ///
    /// # Errors
    ///
    /// When it takes no more; then the transaction is rolled back.
    fn append(&self, record: &[u8]) -> Result<LogPosition, LogClosed>;
}

/// When a transaction was committed, and where its record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Since when what it did is visible.
    pub time: Time,
    /// The log has to be safe up to here for the commit to be safe; `None` if nothing of it was logged.
    pub position: Option<LogPosition>,
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
    pub(crate) fn record(&self, set: &WriteSet) -> Result<Record<'_>, OutOfMemory> {
        match self.0.get() {
            None => Ok(Record(None)),
            Some(log) => log.encoded(set),
        }
    }
}

impl Log {
    fn encoded(&self, set: &WriteSet) -> Result<Record<'_>, OutOfMemory> {
        let mut record = Encoded { bytes: SPARE.take(), drops: 0, log: self };
        record.encode(set)?;
        Ok(Record(Some(record)))
    }
}

/// The record of a transaction, on its way to the log, if there is one.
pub(crate) struct Record<'l>(Option<Encoded<'l>>);

struct Encoded<'l> {
    bytes: Vec<u8>,
    /// How many commits had dropped relations when it was encoded.
    drops: u64,
    log: &'l Log,
}

impl Record<'_> {
    /// Hands it over. Nobody else commits meanwhile.
    #[inline]
    pub(crate) fn append(&mut self, set: &WriteSet) -> Result<Option<LogPosition>, TransactionError> {
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

    fn append(&mut self, set: &WriteSet) -> Result<Option<LogPosition>, TransactionError> {
        // Of a relation that was dropped since, nothing may come behind the record that says so.
        if self.drops != self.log.drops.load(Ordering::Acquire) {
            self.encode(set)?;
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let position = self.log.sink.append(&self.bytes)?;
        if set.dropped().inspect(|table| table.set_relation_id(None)).count() > 0 {
            self.log.drops.fetch_add(1, Ordering::AcqRel);
        }
        Ok(Some(position))
    }
}

impl Drop for Encoded<'_> {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() <= SPARE_RECORD_BYTES_MAX {
            SPARE.set(bytes);
        }
    }
}
