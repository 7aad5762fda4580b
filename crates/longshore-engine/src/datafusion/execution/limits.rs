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

use super::memory;
use super::shares::Shares;
use super::spill::NamelessFiles;
use crate::activity::TempFiles;
use crate::transaction::QueryLimits;

/// What the tasks of a query know, with its limits.
pub(in crate::datafusion) fn limited(
    context: Arc<TaskContext>,
    limits: QueryLimits,
    temp_files: &Arc<TempFiles>,
) -> Arc<TaskContext> {
    let mut runtime = RuntimeEnv::clone(&context.runtime_env());
    let mut session = None;
    if let Some(limit) = limits.memory {
        let all = Arc::clone(&runtime.memory_pool);
        let (taken, shares) = (AtomicUsize::new(0), Shares::default());
        runtime.memory_pool = Arc::new(QueryPool { all, limit, taken, shares });
        let mut config = context.session_config().clone();
        memory::fit(&mut config, limit);
        session = Some(config);
    }
    let files = match limits.temp_file {
        Some(limit) => NamelessFiles::up_to(limit, temp_files),
        None => NamelessFiles::new(temp_files),
    };
    let threads = context.session_config().target_partitions();
    let all = runtime.disk_manager.max_spill_merge_fan_in();
    let runs = limits.memory.map_or(all, |limit| memory::merged_runs(limit, threads));
    let disk = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(files)).with_max_spill_merge_fan_in(runs);
    if let Ok(disk) = disk.build() {
        runtime.disk_manager = Arc::new(disk);
    }
    let own = match Arc::try_unwrap(context) {
        Ok(own) => own.with_runtime(Arc::new(runtime)),
        Err(shared) => return shared,
    };
    Arc::new(match session {
        Some(session) => own.with_session_config(session),
        None => own,
    })
}

/// The memory of one query.
#[derive(Debug)]
struct QueryPool {
    /// Where it is taken of.
    all: Arc<dyn MemoryPool>,
    limit: usize,
    taken: AtomicUsize,
    shares: Shares,
}

impl QueryPool {
    fn refused(&self, additional: usize) -> DataFusionError {
        let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        // Operators know by this kind of error that they shall spill.
        DataFusionError::ResourcesExhausted(format!(
            "the query needs {:.1} MiB beside {:.1} MiB that it has, beyond its query_memory_limit of {:.1} MiB",
            mebibytes(additional),
            mebibytes(self.reserved()),
            mebibytes(self.limit)
        ))
    }
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
        self.shares.register(consumer);
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.shares.unregister(consumer);
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
        if additional > 0 && !self.shares.allow(reservation, additional, self.limit) {
            return Err(self.refused(additional));
        }
        let grown = |taken: usize| taken.checked_add(additional).filter(|grown| *grown <= self.limit);
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        taken.map_err(|_| self.refused(additional))?;
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
