//! What a database counts of its work, for whoever watches it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Database;
use crate::activity::{Phase, Statements};

/// What a database counts since it was opened, and what it holds.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseStatistics {
    /// Transactions that have committed; statements outside of blocks are transactions, too.
    pub transactions_committed: u64,
    /// Transactions that were rolled back, also since they could not commit.
    pub transactions_rolled_back: u64,
    /// Waits for other transactions and for sessions.
    pub lock_waits: u64,
    /// Waits that failed, since all would have waited for each other.
    pub deadlocks: u64,
    /// Bytes that tables and queries hold.
    pub memory_used: u64,
    /// Bytes that they may hold, if that is limited.
    pub memory_limit: Option<u64>,
    /// How many sessions are about what.
    pub sessions: Vec<(Phase, u64)>,
    /// Of a durable database.
    pub durable: Option<DurableStatistics>,
}

/// What a durable database counts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DurableStatistics {
    /// Bytes of the log from its beginning, which is when the directory was made.
    pub log_bytes_written: u64,
    /// Bytes of the log behind the last checkpoint, which would be done again.
    pub log_bytes_to_redo: u64,
    /// How often the log was made safe on the disk since the database was opened.
    pub log_syncs: u64,
    /// Checkpoints that were made since the database was opened.
    pub checkpoints: u64,
    /// Checkpoints that failed.
    pub checkpoints_failed: u64,
    /// What they took in all.
    pub checkpoint_time: Duration,
}

/// Counts checkpoints.
#[derive(Debug, Default)]
pub(super) struct CheckpointCounts {
    made: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
}

impl CheckpointCounts {
    /// One has ended after so long.
    pub(super) fn add(&self, time: Duration, is_made: bool) {
        let count = if is_made { &self.made } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How many were made, how many failed, and what they took.
    pub(super) fn get(&self) -> (u64, u64, Duration) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.made), load(&self.failed), Duration::from_micros(load(&self.micros)))
    }
}

impl Database {
    /// What it counts, and what it holds.
    #[must_use]
    pub fn statistics(&self) -> DatabaseStatistics {
        let counts = self.transactions.counts();
        let phases =
            [Phase::Active, Phase::Idle, Phase::IdleInTransaction, Phase::IdleInFailedTransaction, Phase::Untold];
        let sessions = self.activities.all();
        let of = |phase: Phase| sessions.iter().filter(|session| session.phase() == phase).count() as u64;
        DatabaseStatistics {
            transactions_committed: counts.committed,
            transactions_rolled_back: counts.rolled_back,
            lock_waits: counts.waits,
            deadlocks: counts.deadlocks,
            memory_used: self.memory.used() as u64,
            memory_limit: self.memory.limit().map(|limit| limit as u64),
            sessions: phases.into_iter().map(|phase| (phase, of(phase))).collect(),
            durable: self.durable().and_then(|durable| durable.statistics()),
        }
    }

    /// What statements took, by their texts.
    #[must_use]
    pub fn statements(&self) -> &Statements {
        self.activities.statements()
    }
}
