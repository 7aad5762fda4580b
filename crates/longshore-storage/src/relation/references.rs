//! Adds and drops the foreign keys of relations.
//!
//! Not here: what a foreign key is, and when it holds (`table/references.rs`); who sees to it that it does when rows
//! change (`transaction/references.rs`).

use std::sync::Arc;

use super::Relation;
use super::violations::first_violation;
use crate::error::TransactionError;
use crate::index::{Index, IsCancelled};
use crate::table::{ForeignKey, ReferenceRules, Table};
use crate::types::{Column, ColumnType};
use crate::visibility::Time;

impl ForeignKey {
    /// Whether the rows of a relation refer by it.
    #[must_use]
    pub fn is_of(&self, relation: &Relation) -> bool {
        self.child_id() == relation.table().id()
    }

    /// Gives it up at both ends.
    pub fn detach(self: &Arc<Self>) {
        self.at_both_ends(|known| known.retain(|known| !Arc::ptr_eq(known, self)));
    }

    /// Lets it hold again that was given up.
    pub fn attach_again(self: &Arc<Self>) {
        self.at_both_ends(|known| {
            if !known.iter().any(|known| Arc::ptr_eq(known, self)) {
                known.push(Arc::clone(self));
            }
        });
    }

    fn at_both_ends(&self, change: impl Fn(&mut Vec<Arc<ForeignKey>>)) {
        if let Some(child) = self.child() {
            child.change_references(|references| change(&mut references.outgoing));
        }
        if let Some(parent) = self.parent() {
            parent.change_references(|references| change(&mut references.incoming));
        }
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
        let key = self.attach(rules, parent, index, &mut |_, _, _| {});
        if !is_trusted && let Err(error) = self.verify(&key, is_cancelled) {
            self.drop_foreign_key(&key);
            return Err(error);
        }
        Ok(key)
    }

    /// Adds a foreign key at a time of its own, and tells of each relation whose changes it concerns since when its foreign
    /// keys had been what they were.
    pub(crate) fn attach(
        &self,
        rules: ReferenceRules,
        parent: &Relation,
        index: &Arc<Index>,
        told: &mut dyn FnMut(&Arc<Table>, Time, Time),
    ) -> Arc<ForeignKey> {
        assert!(index.uniqueness().is_unique(), "only what is unique can be referred to");
        assert_eq!(index.columns().len(), rules.columns.len(), "as many columns as the index has");
        let of = |&wanted: &usize| {
            let found = rules.columns.iter().find(|(_, referred)| *referred == wanted);
            let &(column, _) = found.expect("a column for each of the index");
            let (own, others) = (&self.schema().all_columns()[column], &parent.schema().all_columns()[wanted]);
            assert!(Relation::can_refer(own, others), "a column has the type of the one that it refers to");
            column
        };
        let columns: Vec<usize> = index.columns().iter().map(of).collect();
        let key = Arc::new(ForeignKey::new(rules, &self.table, &parent.table, index, columns));
        self.transactions().at_a_new_time(|time| {
            self.table.change_references(|references| references.outgoing.push(Arc::clone(&key)));
            parent.table.change_references(|references| references.incoming.push(Arc::clone(&key)));
            for table in [&self.table, &parent.table] {
                told(table, table.references_since(), time);
                table.references_change_at(time);
            }
        });
        key
    }

    /// Gives a foreign key of this relation up.
    pub fn drop_foreign_key(&self, key: &Arc<ForeignKey>) {
        debug_assert!(key.is_of(self), "a foreign key of this relation");
        key.detach();
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
            (ColumnType::Char(_), ColumnType::Char(_)) | (ColumnType::Numeric(_), ColumnType::Numeric(_)) => true,
            (one, other) => one.unrounded() == other.unrounded() || is_text(one) && is_text(other),
        }
    }

    /// Checks that all rows obey a foreign key.
    fn verify(&self, key: &ForeignKey, is_cancelled: IsCancelled<'_>) -> Result<(), TransactionError> {
        let (Some(child), Some(parent)) = (key.child(), key.parent()) else { return Ok(()) };
        let reader = self.transactions.begin_reader();
        match first_violation(key, &child, &parent, reader.view(), self.transactions.stamps(), is_cancelled)? {
            None => Ok(()),
            Some(missing) => Err(missing.error(key, &child, &parent).into()),
        }
    }
}
