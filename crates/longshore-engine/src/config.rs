//! What a database may use of the machine.

use longshore_load::{Kernel, Tuning};

mod durability;
mod naptime;
mod wal_size;

pub use durability::Durability;
pub use naptime::Naptime;
pub use wal_size::WalSize;

/// What the first superuser is called if nothing else is said.
pub(crate) const SUPERUSER: &str = "longshore";

/// What a database may use of the machine, when it is opened. `SET` changes `autovacuum` and `autovacuum_naptime`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Workers of a load, a query or an unload, at least 1.
    pub threads: usize,
    /// Bytes that tables and queries may hold together; `None` sets no limit.
    pub memory_limit: Option<usize>,
    /// How many bytes the allocator of the program has handed out, where it counts them. With it, the memory limit also
    /// holds for what queries allocate without telling.
    pub heap_bytes: Option<fn() -> usize>,
    /// Instruction set of the text scan; `None` takes the best that the machine has.
    pub kernel: Option<Kernel>,
    /// Whether chunks that were changed, and then left alone until the next look, are packed again. Without, that is left to
    /// VACUUM.
    pub autovacuum: bool,
    /// How long it is from one look to the next.
    pub autovacuum_naptime: Naptime,
    /// Whether plans of queries are optimized. Without, they give the same rows, only later: tests compare both.
    pub optimizer: bool,
    /// What the first superuser is called, who owns the database and whatever nobody else owns, and whom [`Database::session`]
    /// belongs to. It is not kept in the directory of a durable database: say it each time.
    ///
    /// [`Database::session`]: crate::Database::session
    pub superuser: String,
}

impl Default for Config {
    /// All processors, no memory limit, the best kernel, a look for what can be packed each minute, optimized plans.
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_limit: None,
            heap_bytes: None,
            kernel: None,
            autovacuum: true,
            autovacuum_naptime: Naptime::DEFAULT,
            optimizer: true,
            superuser: SUPERUSER.to_owned(),
        }
    }
}

impl Config {
    /// How loads run when a statement says nothing else.
    pub(crate) fn tuning(&self) -> Tuning {
        let mut tuning = Tuning::new(self.threads);
        if let Some(kernel) = self.kernel {
            tuning.kernel = kernel;
        }
        tuning
    }
}
