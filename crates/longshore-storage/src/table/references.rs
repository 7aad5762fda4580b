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

use super::Table;
use crate::datum::Datum;
use crate::index::{ForeignLayout, Index};
use crate::sync::{Rank, Ranked};
use crate::visibility::Time;

/// What becomes of rows whose key is deleted, or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    /// They must be gone, or the key there again, when the foreign key is checked.
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

/// When a foreign key is checked; its actions are taken when the statement ends, whatever it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferenceTiming {
    /// When the statement ends.
    #[default]
    Immediate,
    /// When the statement ends, unless the transaction says otherwise.
    Deferrable,
    /// When the transaction ends, unless the transaction says otherwise.
    Deferred,
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
    /// When it is checked.
    pub timing: ReferenceTiming,
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
    /// A foreign key by which rows of `child` refer to those of `parent`, of the columns of a unique index there. `columns`
    /// are those that refer, in the order of the index.
    pub(crate) fn new(
        rules: ReferenceRules,
        child: &Arc<Table>,
        parent: &Arc<Table>,
        index: &Arc<Index>,
        columns: Vec<usize>,
    ) -> ForeignKey {
        ForeignKey {
            rules,
            child: (child.id(), Arc::downgrade(child)),
            parent: (parent.id(), Arc::downgrade(parent)),
            index: Arc::clone(index),
            layout: index.referred_by(&columns),
            columns,
        }
    }

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
        let names = columns.iter().map(|&column| table.schema().all_columns()[column].name.as_str());
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
                other.references_change_at(time);
            }
        }
    }

    /// The foreign keys are other ones from a time on.
    pub(crate) fn references_change_at(&self, time: Time) {
        self.references_since.fetch_max(time.0, Ordering::AcqRel);
    }

    pub(crate) fn change_references(&self, change: impl FnOnce(&mut References)) {
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
