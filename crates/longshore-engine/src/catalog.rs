//! The names of a database: tables and views in one namespace, as in PostgreSQL.
//!
//! Names are compared as they are; folding unquoted names to lower case is done where they are parsed
//! (`sql::names`). Not here: what a table holds (`longshore-storage`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use longshore_storage::{Relation, Uniqueness};

use crate::Error;
use crate::statement::Key;

/// A table: a name, a relation, and what its keys are for.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) relation: Arc<Relation>,
    /// In the order in which they were made; each has an index of its name in the relation.
    keys: RwLock<Vec<Key>>,
}

impl Table {
    /// A table with these keys, whose indexes are built from the rows that there are.
    pub(crate) fn new(name: &str, relation: Arc<Relation>, keys: Vec<Key>) -> Result<Self, Error> {
        let table = Self { name: name.to_owned(), relation, keys: RwLock::default() };
        for key in keys {
            table.add_key(key)?;
        }
        Ok(table)
    }

    /// The keys, in the order in which they were made.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Builds the index of a key from the rows that there are, and keeps it from then on.
    pub(crate) fn add_key(&self, key: Key) -> Result<(), Error> {
        let uniqueness = if key.role.is_unique() { Uniqueness::Unique } else { Uniqueness::Multiple };
        self.relation.create_index(&key.name, &key.columns, key.index, uniqueness)?;
        self.keys.write().unwrap_or_else(PoisonError::into_inner).push(key);
        Ok(())
    }

    /// Drops the index `name`.
    pub(crate) fn drop_key(&self, name: &str) -> Result<(), Error> {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        self.relation.drop_index(name)?;
        keys.retain(|key| key.name != name);
        Ok(())
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

/// All tables and views. Every change is one step that other sessions see whole or not at all.
#[derive(Default)]
pub(crate) struct Catalog {
    entries: RwLock<BTreeMap<String, Entry>>,
}

impl Catalog {
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
        Ok(result)
    }
}
