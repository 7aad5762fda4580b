//! The names of a database: tables, views and sequences in one namespace for each schema, as in PostgreSQL.
//!
//! Names are compared as they are; folding unquoted names to lower case is done where they are parsed
//! (`sql::names`). What changes is logged where the database has a log (`change`).
//!
//! Not here: what a table holds (`longshore-storage`).

mod access;
mod access_path;
mod acl;
mod change;
mod definitions;
mod describe;
mod described;
mod fork;
mod granted;
mod image;
mod key;
mod ledger;
mod loads;
mod log;
mod oids;
mod operations;
mod restore;
mod retype;
mod roles;
mod rules;
mod search_path;
mod sequence;
mod user_types;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock, Weak};

use longshore_load::Control;
use longshore_storage::{Relation, Time};
use tokio::sync::{Mutex, MutexGuard};

pub(crate) use access::{Access, DefaultsFor, DefaultsOf, ObjectClass};
pub(crate) use access_path::AccessPath;
pub(crate) use acl::{Acl, AclItem, Behavior, Privileges};
pub(crate) use change::Change;
pub(crate) use definitions::{Commented, Definitions, SYSTEM_SCHEMAS, is_temporary};
pub(crate) use describe::describe;
pub(crate) use fork::ForkMark;
pub(crate) use image::{Image, TableImage};
pub(crate) use key::{IndexDefinition, Key, Role, kind_name};
pub(crate) use ledger::{LOADS, Ledger, LoadRecord, LoadStatus, shown_time};
pub(crate) use loads::{Loads, RunningLoad, signed};
pub(crate) use log::CatalogLog;
pub(crate) use oids::{ObjectId, Oids};
pub(crate) use operations::Operations;
pub(crate) use restore::fits;
pub(crate) use roles::{Membership, RoleDefinition, RoleId, Roles, SettingsOf};
pub(crate) use rules::{Check, ColumnRule, Origin, Reference, Rules, columns_read, next_of, rename_sequence};
pub(crate) use search_path::SearchPath;
pub(crate) use sequence::{Definition as SequenceDefinition, Owner, Sequence};
pub(crate) use user_types::{
    Domain, ELEMENT, UserType, about, array_of, constraint_of_domain, every_element, innermost,
};

use crate::Error;

/// A table: a name, a relation, and its rules.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) relation: Arc<Relation>,
    rules: RwLock<Arc<Rules>>,
    /// What it was before it was altered, as long as somebody may see that.
    before: Weak<Table>,
    /// What tells it from all other tables where it has no number in the log.
    identity: i64,
}

/// The last identity that a table was given: below 0, and none of another process.
static LAST_IDENTITY: LazyLock<AtomicI64> = LazyLock::new(|| AtomicI64::new(-loads::now()));

impl Table {
    /// A table with these rules. The indexes of its keys are built from the rows that there are; nothing else is
    /// checked.
    pub(crate) fn new(name: &str, relation: Arc<Relation>, mut rules: Rules) -> Result<Self, Error> {
        rules.columns.resize_with(relation.schema().all_columns().len(), Default::default);
        let identity = LAST_IDENTITY.fetch_sub(1, Ordering::Relaxed);
        let table = Self { name: name.to_owned(), relation, rules: RwLock::default(), before: Weak::new(), identity };
        for key in &rules.keys {
            debug_assert!(key.hides().is_none() || !key.columns.is_empty(), "{} has its hidden columns", key.name);
            table.build_index(key, &Control::new())?;
        }
        *table.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(table)
    }

    /// What `before` becomes by being altered: of a relation that has the indexes of all keys.
    pub(crate) fn altered(before: &Arc<Self>, name: &str, relation: Arc<Relation>, rules: Rules) -> Arc<Self> {
        let (before, identity) = (Arc::downgrade(before), before.identity);
        Arc::new(Self { name: name.to_owned(), relation, rules: RwLock::new(Arc::new(rules)), before, identity })
    }

    /// The number by which the ledger knows it: it keeps that when it is altered or renamed.
    pub(crate) fn number(&self) -> i64 {
        self.relation.relation_id().map_or(self.identity, |id| id.0.into())
    }

    /// What tells it from all other tables of the process, also when it was altered or renamed.
    pub(crate) fn identity(&self) -> i64 {
        self.identity
    }

    /// Whether it takes the place of a table of this name.
    pub(crate) fn replaces(&self, name: &str) -> bool {
        self.before.upgrade().is_some_and(|before| before.name == name)
    }

    /// What the table is to who sees what was committed up to `time`.
    pub(crate) fn at(self: &Arc<Self>, time: Time) -> Arc<Self> {
        let mut table = Arc::clone(self);
        while !table.relation.is_current_at(time)
            && let Some(before) = table.before.upgrade()
        {
            table = before;
        }
        table
    }

    /// What it demands of its rows now. A statement asks once.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Builds the index of a key from the rows that there are.
    fn build_index(&self, key: &Key, control: &Control) -> Result<(), Error> {
        if key.columns.is_empty() {
            return Ok(());
        }
        let is_cancelled = || control.is_cancelled();
        self.relation.create_index_unless(&key.name, &key.columns, key.index, key.uniqueness(), &is_cancelled)?;
        Ok(())
    }

    /// What it was before it was altered, as long as somebody may see that.
    fn before(&self) -> Option<Arc<Table>> {
        self.before.upgrade()
    }
}

/// A view: a name for a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) name: String,
    /// The query, as SQL text.
    pub(crate) sql: String,
    /// Names of its columns where the statement gave them; empty otherwise. May be fewer than the query has.
    pub(crate) columns: Vec<String>,
    /// Tables and views that the query reads.
    pub(crate) reads: Vec<String>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a name stands for.
#[derive(Clone)]
pub(crate) enum Entry {
    Table(Arc<Table>),
    View(Arc<View>),
}

impl Entry {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Table(table) => &table.name,
            Self::View(view) => &view.name,
        }
    }

    pub(crate) fn table(&self) -> Option<Arc<Table>> {
        match self {
            Self::Table(table) => Some(Arc::clone(table)),
            Self::View(_) => None,
        }
    }

    /// "table" or "view".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "table",
            Self::View(_) => "view",
        }
    }
}

/// The right to change the shape of tables.
pub(crate) struct DdlLock<'a> {
    _alone: MutexGuard<'a, ()>,
    version: &'a AtomicU64,
}

impl Drop for DdlLock<'_> {
    fn drop(&mut self) {
        self.version.store(next_version(), Ordering::Release);
    }
}

/// The number of a state of a catalog, which no other state of any catalog has: a transaction block may have a catalog of its
/// own beside that of the database.
fn next_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// All tables, views and sequences. Every change is one step that other sessions see whole or not at all.
#[derive(Default)]
pub(crate) struct Catalog {
    entries: RwLock<BTreeMap<String, Entry>>,
    /// Locked behind the entries, where both are.
    sequences: RwLock<BTreeMap<String, Arc<Sequence>>>,
    /// Schemas and comments.
    definitions: RwLock<Definitions>,
    /// What was loaded, once anything was.
    ledger: RwLock<Option<Arc<Table>>>,
    /// What is being loaded.
    pub(crate) loads: Loads,
    /// Held by who changes what the names stand for, or the rules of tables.
    changing: std::sync::Mutex<()>,
    /// The number of its state.
    version: AtomicU64,
    /// The number of the last state in which roles had changed.
    roles_version: AtomicU64,
    /// Where changes are logged.
    log: OnceLock<Arc<CatalogLog>>,
    /// Held by who changes the shape of a table: its columns, constraints or indexes.
    ddl: Mutex<()>,
    /// The numbers of its objects.
    oids: Arc<Oids>,
    /// Of which catalog it is a copy, if a transaction block has it for itself.
    fork: Option<fork::Fork>,
}

impl Catalog {
    /// Where changes are logged, if they are.
    pub(crate) fn log(&self) -> Option<&Arc<CatalogLog>> {
        self.log.get()
    }

    /// The number by which system tables know an object.
    pub(crate) fn oid(&self, object: ObjectId) -> u32 {
        self.oids.of(object)
    }

    /// Whether a table, view or sequence has this name, or none may.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        name == LOADS || self.get(name).is_some() || self.sequence(name).is_some()
    }

    /// Keeps others from changing the shape of a table; what was changed counts as a change of the catalog.
    pub(crate) async fn lock_ddl(&self) -> DdlLock<'_> {
        DdlLock { _alone: self.ddl.lock().await, version: &self.version }
    }

    fn read<R>(&self, act: impl FnOnce(&BTreeMap<String, Entry>) -> R) -> R {
        act(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What `name` stands for.
    pub(crate) fn get(&self, name: &str) -> Option<Entry> {
        self.read(|entries| entries.get(name).cloned())
    }

    /// The table `name`.
    pub(crate) fn table(&self, name: &str) -> Option<Arc<Table>> {
        match self.get(name) {
            Some(Entry::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// Names of all tables and views, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.read(|entries| entries.keys().cloned().collect())
    }

    /// All tables and views, sorted by name.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.read(|entries| entries.values().cloned().collect())
    }

    fn read_sequences<R>(&self, act: impl FnOnce(&BTreeMap<String, Arc<Sequence>>) -> R) -> R {
        act(&self.sequences.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The sequence `name`.
    pub(crate) fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All sequences, sorted by name.
    pub(crate) fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.sequences.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The sequences that are dropped with a table, or with one column of it.
    pub(crate) fn sequences_of(&self, table: &str, column: Option<&str>) -> Vec<Arc<Sequence>> {
        let is_its = |sequence: &Arc<Sequence>| {
            let owner = sequence.owner();
            owner.is_some_and(|owner| owner.table == table && column.is_none_or(|column| owner.column == column))
        };
        self.sequences().into_iter().filter(is_its).collect()
    }

    /// Builds the index of a key of a table from the rows that there are, and keeps it from then on.
    pub(crate) fn add_key(&self, table: &Arc<Table>, key: &Key, control: &Control) -> Result<(), Error> {
        table.build_index(key, control)?;
        self.change(|change| {
            let (relation, name) = (Arc::clone(&table.relation), key.name.clone());
            change.otherwise(move || drop(relation.drop_index(&name)));
            if control.is_cancelled() {
                return Err(Error::cancelled());
            }
            change.rules(table).keys.push(key.clone());
            Ok(())
        })
    }

    /// A number that is another one after every change of roles, once it is done.
    pub(crate) fn roles_version(&self) -> u64 {
        self.roles_version.load(Ordering::Acquire)
    }

    /// A number that is another one after every change of tables, their indexes and views, once it is done.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}
