//! The names of a database: tables, views and sequences in one namespace, as in PostgreSQL.
//!
//! Names are compared as they are; folding unquoted names to lower case is done where they are parsed
//! (`sql::names`). Not here: what a table holds (`longshore-storage`).

mod access_path;
mod key;
mod rules;
mod sequence;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use longshore_load::Control;
use longshore_storage::{Relation, Time, Uniqueness};
use tokio::sync::{Mutex, MutexGuard};

pub(crate) use access_path::AccessPath;
pub(crate) use key::{Key, Role, kind_name};
pub(crate) use rules::{Check, ColumnRule, Origin, Reference, Rules, columns_read, next_of};
pub(crate) use sequence::{Definition as SequenceDefinition, Owner, Sequence};

use crate::Error;

/// A table: a name, a relation, and its rules.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) relation: Arc<Relation>,
    rules: RwLock<Arc<Rules>>,
    /// What it was before it was altered, as long as somebody may see that.
    before: Weak<Table>,
}

impl Table {
    /// A table with these rules. The indexes of its keys are built from the rows that there are; nothing else is
    /// checked.
    pub(crate) fn new(name: &str, relation: Arc<Relation>, mut rules: Rules) -> Result<Self, Error> {
        rules.columns.resize_with(relation.schema().columns().len(), Default::default);
        let keys = std::mem::take(&mut rules.keys);
        let rules = RwLock::new(Arc::new(rules));
        let table = Self { name: name.to_owned(), relation, rules, before: Weak::new() };
        for key in keys {
            table.add_key(key, &Control::new())?;
        }
        Ok(table)
    }

    /// What `before` becomes by being altered: of a relation that has the indexes of all keys.
    pub(crate) fn altered(before: &Arc<Self>, name: &str, relation: Arc<Relation>, rules: Rules) -> Arc<Self> {
        let before = Arc::downgrade(before);
        Arc::new(Self { name: name.to_owned(), relation, rules: RwLock::new(Arc::new(rules)), before })
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

    /// Puts changed rules in the place of the present ones, in one step: if `change` fails, nothing has changed.
    /// Statements that run keep those that they have.
    pub(crate) fn change_rules<R>(&self, change: impl FnOnce(&mut Rules) -> Result<R, Error>) -> Result<R, Error> {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Rules::clone(&rules);
        let result = change(&mut changed)?;
        *rules = Arc::new(changed);
        Ok(result)
    }

    /// Builds the index of a key from the rows that there are, and keeps it from then on.
    pub(crate) fn add_key(&self, key: Key, control: &Control) -> Result<(), Error> {
        let uniqueness = if key.role.is_unique() { Uniqueness::Unique } else { Uniqueness::Multiple };
        let is_cancelled = || control.is_cancelled();
        self.relation.create_index_unless(&key.name, &key.columns, key.index, uniqueness, &is_cancelled)?;
        self.change_rules(|rules| {
            rules.keys.push(key);
            Ok(())
        })
    }

    /// Drops the index `name`.
    pub(crate) fn drop_key(&self, name: &str) -> Result<(), Error> {
        self.change_rules(|rules| {
            self.relation.drop_index(name)?;
            rules.keys.retain(|key| key.name != name);
            Ok(())
        })
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
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// All tables, views and sequences. Every change is one step that other sessions see whole or not at all.
#[derive(Default)]
pub(crate) struct Catalog {
    entries: RwLock<BTreeMap<String, Entry>>,
    /// Locked behind the entries, where both are.
    sequences: RwLock<BTreeMap<String, Arc<Sequence>>>,
    /// Changes so far.
    version: AtomicU64,
    /// Held by who changes the shape of a table: its columns, constraints or indexes.
    ddl: Mutex<()>,
}

impl Catalog {
    /// Whether a table, view or sequence has this name.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.get(name).is_some() || self.sequence(name).is_some()
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

    /// Changes the catalog in one step: if `change` fails, nothing has changed.
    pub(crate) fn change<R>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Entry>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = entries.clone();
        let result = change(&mut changed)?;
        *entries = changed;
        self.version.fetch_add(1, Ordering::Release);
        Ok(result)
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

    /// Changes the sequences in one step: if `change` fails, nothing has changed.
    pub(crate) fn change_sequences<R>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Arc<Sequence>>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut sequences = self.sequences.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = sequences.clone();
        let result = change(&mut changed)?;
        *sequences = changed;
        Ok(result)
    }

    /// A number that every change of tables, their indexes and views raises, once it is done.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}
