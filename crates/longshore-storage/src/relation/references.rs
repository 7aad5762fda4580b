//! Keeps the foreign keys of relations: which rows must be there because others refer to them.
//!
//! Both relations know of a foreign key; whoever changes rows of either of them sees to it (`transaction/references.rs`).
//! It begins at a time of the clock: a transaction that began before it and has changed rows of one of the relations
//! cannot commit, so that nobody has to wait for a foreign key to be added, and none is overlooked.
//!
//! When a relation is altered, what takes its place has foreign keys of its own, which were added while it was pending;
//! those of the relation before end with the same commit ([`Table::end_references`]).
//!
//! Not here: names of tables, which columns may be referred to (the engine).

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

use super::Relation;
use super::table::Table;
use crate::datum::Datum;
use crate::index::{ForeignLayout, Index, Uniqueness};
use crate::sync::{Rank, Ranked};
use crate::transaction::{Time, TransactionError};
use crate::types::{Column, ColumnType};

/// What becomes of rows whose key is deleted, or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    /// They must be gone, or the key there again, when the statement ends.
    #[default]
    NoAction,
    /// There must not be any.
    Restrict,
    /// They are deleted, or get the new key.
    Cascade,
    /// Their columns become NULL.
    SetNull,
    /// Their columns get their defaults.
    SetDefault,
}

/// What NULL in a column that refers means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferenceMatch {
    /// The row refers to nothing.
    #[default]
    Simple,
    /// All columns must be NULL then.
    Full,
}

/// Gives the default of a column to a closure; an error says why there is none.
pub type Defaults = dyn Fn(usize, &mut dyn FnMut(Datum<'_>)) -> Result<(), String> + Send + Sync;

/// What a foreign key demands.
#[derive(Clone)]
pub struct ReferenceRules {
    /// Its name.
    pub name: String,
    /// The columns that refer, each with the column that it refers to.
    pub columns: Vec<(usize, usize)>,
    /// What NULL means.
    pub matching: ReferenceMatch,
    /// What becomes of rows whose key is deleted.
    pub on_delete: ReferenceAction,
    /// What becomes of rows whose key is changed.
    pub on_update: ReferenceAction,
    /// Where [`ReferenceAction::SetDefault`] takes values from; without it they are NULL.
    pub defaults: Option<Arc<Defaults>>,
}

/// A foreign key of a relation.
pub struct ForeignKey {
    rules: ReferenceRules,
    child: (u64, Weak<Table>),
    parent: (u64, Weak<Table>),
    /// That of the columns that are referred to.
    index: Arc<Index>,
    /// The columns that refer, in the order of the index.
    columns: Vec<usize>,
    layout: ForeignLayout,
}

/// The foreign keys that concern a relation.
#[derive(Default)]
pub(crate) struct References {
    /// By which its rows refer to others.
    pub(crate) outgoing: Vec<Arc<ForeignKey>>,
    /// By which others, or its own, refer to its rows.
    pub(crate) incoming: Vec<Arc<ForeignKey>>,
}

impl fmt::Debug for ReferenceRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReferenceRules")
            .field("name", &self.name)
            .field("columns", &self.columns)
            .field("on_delete", &self.on_delete)
            .field("on_update", &self.on_update)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ForeignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules.fmt(f)
    }
}

impl ForeignKey {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.rules.name
    }

    /// What it demands.
    #[must_use]
    pub fn rules(&self) -> &ReferenceRules {
        &self.rules
    }

    /// The name of the index of the columns that are referred to.
    #[must_use]
    pub fn index_name(&self) -> &str {
        self.index.name()
    }

    /// Whether the rows of a relation refer by it.
    #[must_use]
    pub fn is_of(&self, relation: &Relation) -> bool {
        self.child.0 == relation.table().id()
    }

    /// Whether the rows that it is about are those of one relation.
    pub(crate) fn is_reflexive(&self) -> bool {
        self.child.0 == self.parent.0
    }

    pub(crate) fn child_id(&self) -> u64 {
        self.child.0
    }

    pub(crate) fn parent_id(&self) -> u64 {
        self.parent.0
    }

    /// The relation whose rows refer; `None` when it is gone.
    pub(crate) fn child(&self) -> Option<Arc<Table>> {
        self.child.1.upgrade()
    }

    /// The relation that they refer to; `None` when it is gone.
    pub(crate) fn parent(&self) -> Option<Arc<Table>> {
        self.parent.1.upgrade()
    }

    pub(crate) fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The columns that refer, in the order of the index.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn layout(&self) -> &ForeignLayout {
        &self.layout
    }

    /// The columns of a relation, as messages name them.
    pub(crate) fn names(table: &Table, columns: &[usize]) -> String {
        let names = columns.iter().map(|&column| table.schema().columns()[column].name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Table {
    /// The foreign keys that concern it; `None` if there are none, which is soon said.
    #[inline]
    pub(crate) fn references(&self) -> Option<Arc<References>> {
        if !self.is_referencing.load(Ordering::Acquire) {
            return None;
        }
        let latched = Ranked::take(Rank::References, &self.references, |lock| {
            lock.read().unwrap_or_else(PoisonError::into_inner)
        });
        Some(Arc::clone(&latched))
    }

    /// Whether a column refers to another relation.
    #[inline]
    pub(crate) fn is_reference(&self, column: usize) -> bool {
        self.references().is_some_and(|references| references.outgoing.iter().any(|key| key.columns.contains(&column)))
    }

    /// Since when its foreign keys are what they are.
    pub(crate) fn references_since(&self) -> Time {
        Time(self.references_since.load(Ordering::Acquire))
    }

    /// Ends the foreign keys of a relation whose place another one takes at a time. Who has changed rows at their other
    /// ends held them against this relation, which nobody writes to any more: he cannot commit.
    pub(super) fn end_references(&self, time: Time) {
        let Some(references) = self.references() else { return };
        for key in references.outgoing.iter().chain(&references.incoming) {
            for other in [key.child(), key.parent()].into_iter().flatten().filter(|table| table.id() != self.id()) {
                other.change_references(|references| {
                    references.outgoing.retain(|known| !Arc::ptr_eq(known, key));
                    references.incoming.retain(|known| !Arc::ptr_eq(known, key));
                });
                other.references_since.fetch_max(time.0, Ordering::AcqRel);
            }
        }
    }

    fn change_references(&self, change: impl FnOnce(&mut References)) {
        let mut references = Ranked::take(Rank::References, &self.references, |lock| {
            lock.write().unwrap_or_else(PoisonError::into_inner)
        });
        let mut changed = References { outgoing: references.outgoing.clone(), incoming: references.incoming.clone() };
        change(&mut changed);
        let is_any = !(changed.outgoing.is_empty() && changed.incoming.is_empty());
        *references = Arc::new(changed);
        self.is_referencing.store(is_any, Ordering::Release);
    }
}

impl Relation {
    /// Adds a foreign key, which holds for all changes from now on, by which rows of this relation refer to those of
    /// `parent`. Unless `is_trusted`, the rows that there are must obey it.
    ///
    /// # Errors
    ///
    /// When a row refers to one that is not there; then the foreign key is not added.
    ///
    /// # Panics
    ///
    /// When `index` is no unique index of `parent` over just the columns that are referred to, or columns have other
    /// types than those they refer to ([`Relation::can_refer`]).
    pub fn add_foreign_key(
        &self,
        rules: ReferenceRules,
        parent: &Relation,
        index: &Arc<Index>,
        is_trusted: bool,
    ) -> Result<Arc<ForeignKey>, TransactionError> {
        self.add_foreign_key_unless(rules, parent, index, is_trusted, &|| false)
    }

    /// As [`Relation::add_foreign_key`], unless `is_cancelled`, which is asked now and then.
    ///
    /// # Errors
    ///
    /// As [`Relation::add_foreign_key`], and [`TransactionError::Cancelled`]; then the foreign key is not added.
    ///
    /// # Panics
    ///
    /// As [`Relation::add_foreign_key`].
    pub fn add_foreign_key_unless(
        &self,
        rules: ReferenceRules,
        parent: &Relation,
        index: &Arc<Index>,
        is_trusted: bool,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<ForeignKey>, TransactionError> {
        assert_eq!(index.uniqueness(), Uniqueness::Unique, "only what is unique can be referred to");
        assert_eq!(index.columns().len(), rules.columns.len(), "as many columns as the index has");
        let of = |&wanted: &usize| {
            let found = rules.columns.iter().find(|(_, referred)| *referred == wanted);
            let &(column, _) = found.expect("a column for each of the index");
            let (own, others) = (&self.schema().columns()[column], &parent.schema().columns()[wanted]);
            assert!(Relation::can_refer(own, others), "a column has the type of the one that it refers to");
            column
        };
        let columns: Vec<usize> = index.columns().iter().map(of).collect();
        let key = Arc::new(ForeignKey {
            child: (self.table.id(), Arc::downgrade(&self.table)),
            parent: (parent.table.id(), Arc::downgrade(&parent.table)),
            index: Arc::clone(index),
            layout: index.referred_by(&columns),
            columns,
            rules,
        });
        self.transactions().at_a_new_time(|time| {
            self.table.change_references(|references| references.outgoing.push(Arc::clone(&key)));
            parent.table.change_references(|references| references.incoming.push(Arc::clone(&key)));
            for table in [&self.table, &parent.table] {
                table.references_since.fetch_max(time.0, Ordering::AcqRel);
            }
        });
        if !is_trusted && let Err(error) = self.transactions().verify(&key, is_cancelled) {
            self.drop_foreign_key(&key);
            return Err(error);
        }
        Ok(key)
    }

    /// Gives a foreign key of this relation up.
    pub fn drop_foreign_key(&self, key: &Arc<ForeignKey>) {
        self.table.change_references(|references| references.outgoing.retain(|known| !Arc::ptr_eq(known, key)));
        if let Some(parent) = key.parent() {
            parent.change_references(|references| references.incoming.retain(|known| !Arc::ptr_eq(known, key)));
        }
    }

    /// The foreign keys by which its rows refer to others.
    #[must_use]
    pub fn foreign_keys(&self) -> Vec<Arc<ForeignKey>> {
        self.table.references().map_or_else(Vec::new, |references| references.outgoing.clone())
    }

    /// The foreign keys by which rows refer to its own.
    #[must_use]
    pub fn referenced_by(&self) -> Vec<Arc<ForeignKey>> {
        self.table.references().map_or_else(Vec::new, |references| references.incoming.clone())
    }

    /// Whether the values of a column can refer to those of another one: they must be stored and compared alike.
    #[must_use]
    pub fn can_refer(column: &Column, referred: &Column) -> bool {
        let is_text = |column_type| matches!(column_type, ColumnType::Varchar(_) | ColumnType::Text);
        match (column.column_type, referred.column_type) {
            (ColumnType::Decimal { scale, .. }, ColumnType::Decimal { scale: other, .. }) => {
                scale == other && column.column_type.physical() == referred.column_type.physical()
            }
            (ColumnType::Char(_), ColumnType::Char(_)) => true,
            (one, other) => one == other || is_text(one) && is_text(other),
        }
    }
}
