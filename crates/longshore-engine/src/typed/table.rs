//! Tables, indexes and columns, found by name once.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use longshore_storage::{Field, FieldType, Relation, Schema};

use super::Row;
use crate::catalog;
use crate::catalog::Role;
use crate::{Database, Error};

/// A table of a database. It stands for the table that had its name when it was asked for: when that is dropped or
/// replaced, transactions refuse it.
#[derive(Clone)]
pub struct Table {
    pub(super) database: Arc<Database>,
    pub(super) entry: Arc<catalog::Table>,
}

impl Database {
    /// The table `name`, for transactions.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn table(self: &Arc<Self>, name: &str) -> Result<Table, Error> {
        let entry = self.catalog.table(name);
        let entry = entry.ok_or_else(|| Error::not_found(format!("table {name} does not exist")))?;
        Ok(Table { database: Arc::clone(self), entry })
    }
}

impl Table {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        self.relation().schema()
    }

    /// The column `name`, as one that holds values of a Rust type. A DATE is `i32`, the days since 1970; a TIME or
    /// TIMESTAMP `i64`, its microseconds; a DECIMAL of up to 18 digits `i64`, and of more `i128`, without the point.
    ///
    /// # Errors
    /// When there is none, or it holds another type.
    pub fn column<T: FieldType>(&self, name: &str) -> Result<Field<T>, Error> {
        Ok(self.relation().column(name)?)
    }

    /// Columns as a tuple of Rust types, those that may be NULL as `Option`s.
    ///
    /// # Errors
    /// When one does not exist, or does not hold its type, or there are not as many as the tuple has values.
    pub fn columns<R: Row>(&self, names: &[&str]) -> Result<Columns<R>, Error> {
        if names.len() != R::WIDTH {
            return Err(Error::invalid(format!(
                "{} columns of {} are named for a row of {} values",
                names.len(),
                self.name(),
                R::WIDTH
            )));
        }
        let mut positions = Vec::with_capacity(names.len());
        for &name in names {
            let position = self.schema().index_of(name);
            positions
                .push(position.ok_or_else(|| Error::no_column(format!("table {} has no column {name}", self.name())))?);
        }
        let columns: Vec<_> = positions.iter().map(|&position| &self.schema().columns()[position]).collect();
        R::check(self.name(), &columns)?;
        Ok(Columns { table: self.clone(), positions, holds: PhantomData })
    }

    /// The index `name`, which is also the name of the key that it serves.
    ///
    /// # Errors
    /// When there is none.
    pub fn index(&self, name: &str) -> Result<Index, Error> {
        let index = self.relation().indexes().into_iter().find(|index| index.name() == name);
        let index = index.ok_or_else(|| Error::no_object(format!("table {} has no index {name}", self.name())))?;
        Ok(Index { table: self.clone(), index })
    }

    /// The index of the primary key.
    ///
    /// # Errors
    /// When the table has none.
    pub fn primary_key(&self) -> Result<Index, Error> {
        let primary = self.entry.rules().keys.iter().find(|key| key.role == Role::Primary).cloned();
        let primary = primary.ok_or_else(|| Error::no_object(format!("table {} has no primary key", self.name())))?;
        self.index(&primary.name)
    }

    /// That it has no rules which only statements keep: expressions that are to be evaluated, and numbers that nobody may
    /// give. Keys, NOT NULL and foreign keys are kept by storage, and defaults are for values that are not given.
    pub(super) fn check_rules(&self) -> Result<(), Error> {
        let (name, rules) = (self.name(), self.entry.rules());
        if let Some(check) = rules.checks.first() {
            return Err(Error::unsupported(format!(
                "table {name} has the CHECK {}, which only statements evaluate; change its rows by SQL",
                check.name
            )));
        }
        if let Some(key) = rules.keys.iter().find(|key| key.hides().is_some()) {
            return Err(Error::unsupported(format!(
                "table {name} has the unique index {} over expressions or with WHERE, which only statements evaluate; change \
                 its rows by SQL",
                key.name
            )));
        }
        let columns = self.schema().columns().iter().enumerate();
        let mut generated = columns.filter(|(at, _)| rules.origin(*at).is_always());
        match generated.next() {
            Some((_, column)) => Err(Error::unsupported(format!(
                "column {} of {name} is GENERATED ALWAYS, whose values only statements make; change its rows by SQL",
                column.name
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn relation(&self) -> &Relation {
        &self.entry.relation
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// An index of a table.
#[derive(Clone)]
pub struct Index {
    pub(super) table: Table,
    pub(super) index: Arc<longshore_storage::Index>,
}

impl Index {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.index.name()
    }

    /// Its table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("table", &self.table.name()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Columns of a table that are read together, as a tuple.
pub struct Columns<R> {
    pub(super) table: Table,
    pub(super) positions: Vec<usize>,
    holds: PhantomData<fn() -> R>,
}

impl<R> Clone for Columns<R> {
    fn clone(&self) -> Columns<R> {
        Columns { table: self.table.clone(), positions: self.positions.clone(), holds: PhantomData }
    }
}

impl<R> fmt::Debug for Columns<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").field("table", &self.table.name()).field("positions", &self.positions).finish()
    }
}
