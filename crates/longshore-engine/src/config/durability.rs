//! How a durable database is kept.

use std::time::Duration;

use super::Naptime;

/// How the directory of a durable database is kept. The names are those of PostgreSQL's settings.
#[derive(Clone, Debug)]
pub struct Durability {
    /// Whether the database is only read: nothing is written, and nobody else is kept from it. It shows what was safe when it
    /// was opened.
    pub read_only: bool,
    /// Bytes of the log that are not exceeded, as far as checkpoints keep up.
    pub max_wal_size: u64,
    /// How long it is from one checkpoint to the next at most.
    pub checkpoint_timeout: Naptime,
    /// After so long at most, what nobody waits for is written: with `synchronous_commit = off` a crash loses no more than
    /// what was committed since, and what the disk takes to write it.
    pub wal_writer_delay: Duration,
}

impl Durability {
    /// The least `max_wal_size`. A log is at least so long before a checkpoint pays.
    pub const MAX_WAL_SIZE_MIN: u64 = 2 << 20;
}

impl Default for Durability {
    /// What PostgreSQL has.
    fn default() -> Self {
        Self {
            read_only: false,
            max_wal_size: 1 << 30,
            checkpoint_timeout: Naptime::new(Duration::from_mins(5)),
            wal_writer_delay: Duration::from_millis(200),
        }
    }
}
