//! The memory limit, shared by tables and queries.
//!
//! A query may take what tables leave of the limit; operators that get no more spill to temporary files or fail. What
//! operators ask for is less than what they allocate: rows between them, copies while they spill, and functions are not
//! told. Where the program's allocator counts what it hands out ([`Config::heap_bytes`](crate::Config)), an operator
//! gets no more either when that count has reached the limit, so that it spills for the others, and a scan that finds
//! the limit passed by more than [`SharedPool::overshoot`] ends its statement. Not here: what tables take
//! (`longshore_storage::Memory`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, UnboundedMemoryPool,
};
use datafusion::execution::{SessionState, TaskContext};
use datafusion::prelude::SessionConfig;
use longshore_storage::Memory;

use super::shares::Shares;

/// Bytes by which the limit may be passed in any case before a statement is ended: what lies between operators.
const OVERSHOOT_BYTES: usize = 32 << 20;

/// The least rows of a batch where memory is limited.
const BATCH_ROWS_MIN: usize = 512;
/// Bytes of a thread's share of a memory limit for each row of a batch.
const BYTES_PER_BATCH_ROW: usize = 64 << 10;

/// Bytes of a thread's share of a memory limit for each run that a sort merges at once, and the most runs.
const BYTES_PER_RUN: usize = 1 << 20;
const RUNS_MAX: usize = 16;

/// How many runs that a sort has spilled it merges at once, so that it leaves memory to the other operators of its query.
pub(in crate::datafusion) fn merged_runs(limit: usize, threads: usize) -> usize {
    (limit / threads.max(1) / BYTES_PER_RUN).clamp(2, RUNS_MAX)
}

/// Lets queries work within so many bytes.
pub(in crate::datafusion) fn fit(session: &mut SessionConfig, limit: usize) {
    let options = session.options_mut();
    let part = limit / options.execution.target_partitions.max(1);
    // A merge has a few batches of every run in memory, so that small ones let it merge more runs at once.
    let rows = (part / BYTES_PER_BATCH_ROW).next_power_of_two().max(BATCH_ROWS_MIN);
    // What a sort keeps for the merge by which it spills.
    let kept = (part / 32).min(options.execution.sort_spill_reservation_bytes);
    options.execution.sort_spill_reservation_bytes = kept;
    let fewer = ConfigNonZeroUsize::try_new(rows.min(options.execution.batch_size.get()));
    // A file for each batch that an exchange spills: where several tasks write to files of several batches, its reader may wait
    // at one file for a batch that is in another (apache/datafusion#24883, mended behind 55.2).
    let (fewer, alone) = (fewer.expect("it is not 0"), ConfigNonZeroUsize::try_new(1).expect("1 is not 0"));
    options.execution.batch_size = fewer;
    options.execution.max_spill_file_size_bytes = alone;
}

/// Gives queries what tables leave of the memory limit: first come first served, but for operators that can
/// spill ([`Shares`]).
#[derive(Debug)]
pub(in crate::datafusion) struct SharedPool {
    tables: Arc<Memory>,
    limit: usize,
    queries: AtomicUsize,
    shares: Shares,
    heap: Option<Heap>,
}

/// The program's allocator, which says how much it has handed out.
#[derive(Debug)]
struct Heap {
    bytes: fn() -> usize,
    /// What it had handed out when the database was opened.
    before: usize,
}

impl SharedPool {
    /// A pool for queries beside the tables in `tables`, `limit` bytes for both; `heap_bytes` says how much the
    /// allocator has handed out.
    pub(in crate::datafusion) fn new(tables: Arc<Memory>, limit: usize, heap_bytes: Option<fn() -> usize>) -> Self {
        let heap = heap_bytes.map(|bytes| Heap { bytes, before: bytes() });
        Self { tables, limit, queries: AtomicUsize::new(0), shares: Shares::default(), heap }
    }

    /// What tables leave to queries.
    fn share(&self) -> usize {
        self.limit.saturating_sub(self.tables.used())
    }

    /// What was allocated for queries, as far as anyone knows.
    fn allocated(&self) -> usize {
        self.heap.as_ref().map_or(0, |heap| (heap.bytes)().saturating_sub(heap.before))
    }

    /// Bytes by which the limit may be passed before a statement is ended.
    fn overshoot(&self) -> usize {
        OVERSHOOT_BYTES + self.limit / 20
    }

    fn refused(&self, consumer: &MemoryConsumer, additional: usize) -> DataFusionError {
        let (tables, queries) = (self.tables.used(), self.reserved().max(self.allocated()));
        let who = operator(consumer.name());
        let wanted = if additional == 0 { who } else { format!("{who} needs {} more", mebibytes(additional)) };
        // What a query reads a file with is counted with the tables.
        let holders = if tables > queries {
            format!("tables and loads hold {}, queries {}", mebibytes(tables), mebibytes(queries))
        } else {
            format!("queries hold {}", mebibytes(queries + tables))
        };
        let remedy = if tables > self.limit / 2 {
            "drop tables or raise --memory-limit"
        } else {
            "raise --memory-limit, or use fewer --threads"
        };
        let limit = mebibytes(self.limit);
        // Operators know by this kind of error that they shall spill.
        DataFusionError::ResourcesExhausted(format!(
            "{wanted}, beyond the memory limit of {limit} ({holders}); {remedy}"
        ))
    }
}

/// Asks, batch by batch, whether what a query has allocated without telling is still within bounds.
pub(in crate::datafusion) struct LimitCheck(MemoryReservation);

impl LimitCheck {
    pub(in crate::datafusion) fn new(context: &TaskContext) -> Self {
        Self(MemoryConsumer::new("the query has allocated more").register(context.memory_pool()))
    }

    /// Of no limit.
    pub(in crate::datafusion) fn none() -> Self {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        Self(MemoryConsumer::new("a few rows").register(&pool))
    }

    /// # Errors
    /// When the limit is passed by more than may be.
    pub(in crate::datafusion) fn check(&self) -> Result<()> {
        self.0.try_grow(0)
    }
}

/// Whether the queries of a database may take so much memory and no more.
pub(in crate::datafusion) fn is_limited(state: &SessionState) -> bool {
    !matches!(state.runtime_env().memory_pool.memory_limit(), MemoryLimit::Infinite)
}

/// What the operator is called that names itself `consumer`.
fn operator(consumer: &str) -> String {
    let known = [
        ("ExternalSorter", "a sort"),
        ("TopK", "a sort with LIMIT"),
        ("SortPreservingMerge", "the merge of a sort"),
        ("HashJoin", "a hash join"),
        ("SMJStream", "a merge join"),
        ("NestedLoopJoin", "a join without an equality"),
        ("CrossJoin", "a join without an equality"),
        ("Repartition", "the exchange of rows between threads"),
    ];
    if let Some((_, name)) = known.iter().find(|(prefix, _)| consumer.starts_with(prefix)) {
        (*name).to_owned()
    } else if consumer.contains("Aggregate") {
        "an aggregate (GROUP BY, DISTINCT)".to_owned()
    } else {
        consumer.to_owned()
    }
}

fn mebibytes(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Bytes that the system can give without taking them from other programs, if it says so.
pub(in crate::datafusion) fn machine_bytes_left() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
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

    fn register(&self, consumer: &MemoryConsumer) {
        self.shares.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.shares.unregister(consumer);
    }

    fn grow(&self, _reservation: &MemoryReservation, additional: usize) {
        self.queries.fetch_add(additional, Ordering::Relaxed);
    }

    fn shrink(&self, _reservation: &MemoryReservation, shrink: usize) {
        self.queries.fetch_sub(shrink, Ordering::Relaxed);
    }

    /// Nothing more is what a scan asks for that wants to know whether the limit holds.
    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let share = self.share();
        let most = if additional == 0 { share + self.overshoot() } else { share };
        let refused = || self.refused(reservation.consumer(), additional);
        if self.allocated() > most {
            return Err(refused());
        }
        if additional == 0 {
            return Ok(());
        }
        if !self.shares.allow(reservation, additional, share) {
            return Err(refused());
        }
        self.queries
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(additional).filter(|&grown| grown <= share)
            })
            .map(|_| ())
            .map_err(|_| refused())
    }

    fn reserved(&self) -> usize {
        self.queries.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.share())
    }
}
