//! What one query may take: `query_memory_limit` and `temp_file_limit`, as a role or a session has them.
//!
//! What a query takes within its own limit it still takes of what there is for all (`memory`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;

use super::spill::NamelessFiles;
use crate::transaction::QueryLimits;

/// What the tasks of a query know, with its limits.
pub(in crate::datafusion) fn limited(context: Arc<TaskContext>, limits: QueryLimits) -> Arc<TaskContext> {
    let mut runtime = RuntimeEnv::clone(&context.runtime_env());
    if let Some(limit) = limits.memory {
        let all = Arc::clone(&runtime.memory_pool);
        runtime.memory_pool = Arc::new(QueryPool { all, limit, taken: AtomicUsize::new(0) });
    }
    if let Some(limit) = limits.temp_file {
        let files = Arc::new(NamelessFiles::up_to(limit));
        if let Ok(disk) = DiskManagerBuilder::default().with_temp_file_factory(files).build() {
            runtime.disk_manager = Arc::new(disk);
        }
    }
    match Arc::try_unwrap(context) {
        Ok(own) => Arc::new(own.with_runtime(Arc::new(runtime))),
        Err(shared) => shared,
    }
}

/// The memory of one query.
#[derive(Debug)]
struct QueryPool {
    /// Where it is taken of.
    all: Arc<dyn MemoryPool>,
    limit: usize,
    taken: AtomicUsize,
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query with a limit of {} bytes within {}", self.limit, self.all)
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &'static str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.all.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.taken.fetch_add(additional, Ordering::Relaxed);
        self.all.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.taken.fetch_sub(shrink, Ordering::Relaxed);
        self.all.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = |taken: usize| taken.checked_add(additional).filter(|grown| *grown <= self.limit);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).map_err(|taken| {
            let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
            // Operators know by this kind of error that they shall spill.
            DataFusionError::ResourcesExhausted(format!(
                "the query needs {:.1} MiB beside {:.1} MiB that it has, beyond its query_memory_limit of {:.1} MiB",
                mebibytes(additional),
                mebibytes(taken),
                mebibytes(self.limit)
            ))
        })?;
        self.all.try_grow(reservation, additional).inspect_err(|_| {
            self.taken.fetch_sub(additional, Ordering::Relaxed);
        })
    }

    fn reserved(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        match self.all.memory_limit() {
            MemoryLimit::Finite(all) => MemoryLimit::Finite(all.min(self.limit)),
            _ => MemoryLimit::Finite(self.limit),
        }
    }
}
