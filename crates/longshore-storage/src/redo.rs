//! What the log of a durable database says, and how a database comes back from it.
//!
//! Source: the thesis, 2.2.3 and 4.3.1: redo only, in the order of the commits. A record has the after-images of one
//! transaction, which has committed: rows that came as a whole, of others the values that changed, and which went. What
//! was undone is in no record, and so replay undoes nothing. `docs/format.md` describes every byte.
//!
//! Definitions
//! - A **record** is what one transaction says: *items* one behind the other (`item`), each about one relation, or bytes of
//!   the layer above. The log keeps it whole.
//! - A relation that **joins** the database (`join`) gets a number, by which records name it from then on.
//! - Rows are named by their ids, which are the same after a replay: later records rely on them.
//!
//! Invariants
//! - The records are in the order of the commits. Two records name the same row only if the second transaction saw the
//!   first, or the row's place was free.
//! - Replay needs no record of what was not committed, nor of what was frozen, indexed or reclaimed.
//! - A record is read by its relation's columns, so that it needs no types of its own.
//!
//! Operations
//! - [`Transactions::log_to`]: from then on each commit hands its record over (`encode`).
//! - [`Replay`]: does records again.
//! - [`Describer`]: says what records have, in words.
//!
//! Not here: how records reach the disk, where one begins and whether it is sound (`log`).

use std::sync::Arc;

use crate::log::{Log, LogError, Lsn, Reserved, WhenSafe};
use crate::manager::{RedoLog, Transactions};

mod altered;
mod describe;
mod encode;
mod error;
mod item;
mod join;
mod replay;
mod row;
mod rows;
mod whole;
mod wire;

pub use describe::Described;
pub(crate) use describe::Describer;
pub use error::{ReplayError, ReplayProblem};
pub(crate) use replay::BlockSource;
pub use replay::{Payloads, Replay, Replayed};

/// The version of what records say. The log has it as the kind of its records.
pub const RECORD_VERSION: u8 = 2;

/// The first version, which is still read.
pub(crate) const RECORD_VERSION_MIN: u8 = 1;

impl RedoLog for Log {
    fn reserve(&self, bytes: usize) -> Result<(), LogError> {
        Log::reserve(self, bytes).map(Reserved::keep)
    }

    fn release(&self, bytes: usize) {
        drop(Reserved::of(self, bytes));
    }

    fn append(&self, record: &[u8], reserved: usize) -> Result<Lsn, LogError> {
        Reserved::of(self, reserved).append(RECORD_VERSION, &[record])
    }

    fn wait(&self, lsn: Lsn) -> Result<(), LogError> {
        Log::wait(self, lsn)
    }

    fn when_safe(&self, lsn: Lsn, then: WhenSafe) {
        Log::when_safe(self, lsn, then);
    }

    fn request(&self, lsn: Lsn) {
        Log::request(self, lsn);
    }
}

impl Transactions {
    /// Hands the records of all commits from now on to a log. Relations that are to be logged join by
    /// [`crate::Transaction::log_created`], or have come back by [`Replay::finish`].
    ///
    /// # Panics
    ///
    /// When there is a log already.
    pub fn log_to(&self, log: Arc<dyn RedoLog>) {
        self.log().set(encode::encode, log);
    }
}
