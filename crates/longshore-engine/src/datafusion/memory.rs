//! The memory limit, shared by tables and queries.
//!
//! A query may take what tables leave of the limit; sorts, joins and aggregations that get no more spill to
//! temporary files or fail. Not here: what tables take (`longshore_storage::Memory`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{Result, resources_datafusion_err};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use longshore_storage::Memory;

/// Gives queries what tables leave of the memory limit, first come first served.
#[derive(Debug)]
pub(super) struct SharedPool {
    tables: Arc<Memory>,
    limit: usize,
    queries: AtomicUsize,
}

impl SharedPool {
    /// A pool for queries beside the tables in `tables`, `limit` bytes for both.
    pub(super) fn new(tables: Arc<Memory>, limit: usize) -> Self {
        Self { tables, limit, queries: AtomicUsize::new(0) }
    }

    /// What tables leave to queries.
    fn share(&self) -> usize {
        self.limit.saturating_sub(self.tables.used())
    }
}

impl fmt::Display for SharedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "memory limit of {} bytes (tables hold {}, queries {})",
            self.limit,
            self.tables.used(),
            self.reserved()
        )
    }
}

impl MemoryPool for SharedPool {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn grow(&self, _reservation: &MemoryReservation, additional: usize) {
        self.queries.fetch_add(additional, Ordering::Relaxed);
    }

    fn shrink(&self, _reservation: &MemoryReservation, shrink: usize) {
        self.queries.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let share = self.share();
        self.queries
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(additional).filter(|&grown| grown <= share)
            })
            .map(|_| ())
            .map_err(|_| {
                resources_datafusion_err!(
                    "the query needs {additional} more bytes for {}, beyond the {self}; raise --memory-limit or drop tables",
                    reservation.consumer().name()
                )
            })
    }

    fn reserved(&self) -> usize {
        self.queries.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.share())
    }
}
