//! A database: its catalog, its memory and its way to run queries.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use longshore_storage::checksum::{Checksum, checksum};
use longshore_storage::{Memory, Relation, Schema, Transactions};

use crate::activity::Activities;
use crate::catalog::{Catalog, Check, Entry, Table, is_temporary};
use crate::datafusion::Queries;
use crate::report::{Function, TableBytes};
use crate::sql::{in_text, names};
use crate::{Config, Error};
use autovacuum::Autovacuum;
pub(crate) use autovacuum::AutovacuumSettings;
use durable::Checkpointer;
pub(crate) use durable::{CheckpointSettings, Durable};
pub use logins::Login;
pub(crate) use logins::OpenSession;
use logins::Sessions;
pub use statistics::{DatabaseStatistics, DurableStatistics};

mod autovacuum;
mod durable;
mod logins;
mod statistics;

/// A main-memory database. It lives as long as someone holds it. One that was opened in a directory comes back from there; of
/// another one nothing is written to disk unless a statement says so.
pub struct Database {
    pub(crate) config: Config,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) transactions: Arc<Transactions>,
    pub(crate) queries: Queries,
    pub(crate) autovacuum: Arc<Autovacuum>,
    sessions: Arc<Sessions>,
    pub(crate) activities: Arc<Activities>,
    durable: OnceLock<(Arc<Durable>, Checkpointer)>,
    is_read_only: AtomicBool,
    /// What it is with the catalog of a transaction block in the place of its own.
    base: Option<Arc<Database>>,
}

impl Database {
    /// Opens an empty database in memory. [`Database::open_directory`] opens one that is durable.
    ///
    /// # Errors
    /// When the configuration cannot be met: no threads, or a kernel that this machine lacks.
    pub fn open(config: Config) -> Result<Arc<Self>, Error> {
        if config.threads == 0 {
            return Err(Error::invalid("threads must be at least 1; leave the setting out to use all processors"));
        }
        if let Some(kernel) = config.kernel
            && !kernel.is_available()
        {
            return Err(Error::invalid(format!(
                "this machine cannot run the kernel {kernel}; leave the setting out to use the best there is"
            )));
        }
        let memory = Memory::new(config.memory_limit);
        let catalog = Arc::new(Catalog::default());
        catalog.name_superuser(&config.superuser)?;
        let queries = Queries::new(&config, Arc::clone(&catalog), Arc::clone(&memory))?;
        let transactions = Transactions::new();
        let autovacuum = Arc::new(Autovacuum::start(&catalog, AutovacuumSettings::of(&config)));
        let (durable, is_read_only) = (OnceLock::new(), AtomicBool::new(false));
        let (sessions, activities, base) = (Arc::default(), Arc::default(), None);
        Ok(Arc::new(Self {
            config,
            catalog,
            memory,
            transactions,
            queries,
            autovacuum,
            sessions,
            activities,
            durable,
            is_read_only,
            base,
        }))
    }

    /// The same database as a transaction block sees it that has `catalog` to itself.
    pub(crate) fn with_catalog(self: &Arc<Self>, catalog: &Arc<Catalog>) -> Arc<Self> {
        let base = self.base();
        Arc::new(Self {
            config: base.config.clone(),
            catalog: Arc::clone(catalog),
            memory: Arc::clone(&base.memory),
            transactions: Arc::clone(&base.transactions),
            queries: base.queries.with_catalog(catalog),
            autovacuum: Arc::clone(&base.autovacuum),
            sessions: Arc::clone(&base.sessions),
            activities: Arc::clone(&base.activities),
            durable: OnceLock::new(),
            is_read_only: AtomicBool::new(base.is_read_only()),
            base: Some(Arc::clone(base)),
        })
    }

    /// The database with the catalog that all sessions see.
    pub(crate) fn base(self: &Arc<Self>) -> &Arc<Self> {
        self.base.as_ref().unwrap_or(self)
    }

    /// Its directory, if it is durable.
    pub(crate) fn durable(&self) -> Option<&Arc<Durable>> {
        match &self.base {
            Some(base) => base.durable(),
            None => self.durable.get().map(|(durable, _)| durable),
        }
    }

    /// It is kept in a directory from now on.
    pub(crate) fn set_durable(&self, (durable, checkpointer): (Arc<Durable>, Checkpointer)) {
        let is_first = self.durable.set((durable, checkpointer)).is_ok();
        assert!(is_first, "a database has one directory");
    }

    /// Whether it is durable: what was committed is on disk.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.durable().is_some()
    }

    /// Whether it was opened to be read only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// Nothing is changed from now on.
    pub(crate) fn set_read_only(&self) {
        self.is_read_only.store(true, Ordering::Relaxed);
    }

    /// Closes its directory.
    pub(crate) fn shut_down(&mut self) -> Result<(), Error> {
        let Some((durable, checkpointer)) = self.durable.take() else { return Ok(()) };
        drop(checkpointer);
        durable.close()
    }

    /// What the database was opened with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How much memory tables and queries hold.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// An empty relation of this database, for the table `name`.
    pub(crate) fn relation(&self, name: &str, schema: impl Into<Arc<Schema>>) -> Relation {
        Relation::in_database(schema.into(), Arc::clone(&self.memory), &self.transactions).with_name(name)
    }

    /// A relation that was made by itself as one of this database, for the table `name`.
    pub(crate) fn adopt(&self, name: &str, relation: Relation) -> Result<Relation, Error> {
        Ok(relation.into_database(&self.transactions, self.config.threads)?.with_name(name))
    }

    /// Names of all tables and views, sorted.
    #[must_use]
    pub fn table_names(&self) -> Vec<String> {
        self.catalog.names().iter().filter(|name| !is_temporary(name)).map(|name| names::shown_name(name)).collect()
    }

    /// The table that a text names: `t`, or `schema.t`.
    fn named(&self, table: &str) -> Option<Arc<Table>> {
        let written = || in_text::relation(table).ok().and_then(|name| self.catalog.table(&name));
        self.catalog.table(table).or_else(written)
    }

    /// Whether there is a table `name`, and not a view or nothing.
    #[must_use]
    pub fn is_table(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// What the committed rows of all tables take of memory.
    #[must_use]
    pub fn table_bytes(&self) -> TableBytes {
        let mut total = TableBytes::default();
        for entry in self.catalog.entries() {
            let Entry::Table(table) = entry else { continue };
            let snapshot = table.relation.snapshot();
            total.stored += snapshot.bytes() as u64;
            total.if_plain += snapshot.bytes_if_plain() as u64;
        }
        total
    }

    /// Number of rows and order-independent checksum of the table `table`: equal for equal rows in any order.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn checksum(&self, table: &str) -> Result<Checksum, Error> {
        let found = self.named(table);
        let found = found.ok_or_else(|| Error::not_found(format!("table {table} does not exist")))?;
        Ok(checksum(&found.relation.snapshot(), self.config.threads))
    }

    /// The keys and indexes of the table `table` as SQL describes them, in the order in which they were made; empty if
    /// there is none.
    #[must_use]
    pub fn keys(&self, table: &str) -> Vec<String> {
        let Some(table) = self.named(table) else { return Vec::new() };
        let columns = table.relation.schema().columns();
        table.rules().keys.iter().map(|key| key.described(columns)).collect()
    }

    /// The CHECK constraints of the table `table` as SQL describes them, in the order of their names; empty if there is
    /// none.
    #[must_use]
    pub fn checks(&self, table: &str) -> Vec<String> {
        let Some(table) = self.named(table) else { return Vec::new() };
        table.rules().checks.iter().filter(|check| check.user_type().is_none()).map(Check::described).collect()
    }

    /// The foreign keys of the table `table` as SQL describes them, in the order in which they were made; empty if there
    /// is none.
    #[must_use]
    pub fn foreign_keys(&self, table: &str) -> Vec<String> {
        let Some(table) = self.named(table) else { return Vec::new() };
        let columns = table.relation.schema().columns();
        table.rules().references.iter().map(|reference| reference.described(columns)).collect()
    }

    /// The foreign keys by which tables refer to the table `table`, each behind the name of its table, sorted by these;
    /// empty if there is none.
    #[must_use]
    pub fn referenced_by(&self, table: &str) -> Vec<String> {
        let mut found = Vec::new();
        let Some(named) = self.named(table) else { return found };
        for entry in self.catalog.entries() {
            let Entry::Table(from) = entry else { continue };
            let columns = from.relation.schema().columns();
            let rules = from.rules();
            let to_it = rules.references.iter().filter(|reference| reference.table == named.name);
            found.extend(to_it.map(|reference| {
                format!("TABLE {} CONSTRAINT {}", names::quoted(&from.name), reference.described(columns))
            }));
        }
        found
    }

    /// The names of all sequences, sorted.
    #[must_use]
    pub fn sequence_names(&self) -> Vec<String> {
        let sequences = self.catalog.sequences();
        let kept = sequences.iter().filter(|sequence| !is_temporary(&sequence.name));
        kept.map(|sequence| names::shown_name(&sequence.name)).collect()
    }

    /// All functions that statements may call, sorted by name.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        self.queries.functions()
    }

    /// Names of the columns of the table `table`, in order; empty if there is none.
    #[must_use]
    pub fn column_names(&self, table: &str) -> Vec<String> {
        self.named(table).map_or_else(Vec::new, |table| {
            let columns = table.relation.schema().columns();
            columns.iter().map(|column| column.name.clone()).collect()
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Whatever comes of it, what was committed is safe.
        let _ = self.shut_down();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("config", &self.config)
            .field("tables", &self.table_names())
            .finish_non_exhaustive()
    }
}
