//! What an ALTER TABLE makes of a table: columns and rules, before there is a relation of them.
//!
//! Columns keep their numbers while the draft is worked on: those that are dropped stay in the list, marked, and new
//! ones come behind the others. Keys, checks and foreign keys refer to these numbers, and get the final ones in the end.

use std::sync::Arc;

use longshore_storage::{Column, ForeignKey, Schema};
use sqlparser::ast::{Expr, Ident};

use crate::Error;
use crate::catalog::{Check, ColumnRule, Entry, Key, Reference, Rules, Sequence, Table};
use crate::sql::names;
use crate::statement::Context;
use crate::statement::foreign::dependents;
use crate::statement::storage::TableStorage;

/// A table to come.
pub(super) struct Draft {
    pub(super) before: Arc<Table>,
    pub(super) name: String,
    pub(super) columns: Vec<DraftColumn>,
    pub(super) keys: Vec<DraftKey>,
    pub(super) checks: Vec<DraftCheck>,
    /// Its foreign keys.
    pub(super) references: Vec<DraftReference>,
    /// Those by which other tables refer to it.
    pub(super) referring: Vec<Referring>,
    /// All of them as storage enforces them for the table as it was.
    pub(super) bound: Vec<Arc<ForeignKey>>,
    /// Whether views that read what is dropped are dropped, too.
    pub(super) cascades: bool,
    pub(super) storage: TableStorage,
    /// Whether SET LOGGED or SET UNLOGGED was said.
    says_logged: bool,
    /// The sequences of columns that become identity columns, or come as such.
    pub(super) sequences: Vec<Arc<Sequence>>,
    /// The names of those that go.
    pub(super) lost_sequences: Vec<String>,
    /// Constraints that are renamed, with their new names.
    pub(super) renamed: Vec<(String, String)>,
}

pub(super) struct DraftColumn {
    pub(super) column: Column,
    pub(super) rule: ColumnRule,
    pub(super) values: Values,
    pub(super) is_dropped: bool,
}

/// Where the values of a column come from.
pub(super) enum Values {
    /// They are those of the table's column of the same number.
    Kept,
    /// NULL.
    New,
    /// An expression over the columns of the table as it was.
    Converted(Box<Expr>),
}

pub(super) struct DraftKey {
    pub(super) key: Key,
    /// The name of the table's index that it keeps.
    pub(super) from: Option<String>,
}

pub(super) struct DraftCheck {
    pub(super) check: Check,
    /// Whether all rows are to be looked at.
    pub(super) is_new: bool,
}

/// A foreign key of the table; its columns have the numbers of the draft.
pub(super) struct DraftReference {
    pub(super) reference: Reference,
    pub(super) is_trusted: bool,
    /// The other table that it refers to, once that is known.
    pub(super) parent: Option<Arc<Table>>,
}

/// A foreign key by which another table refers to this one.
pub(super) struct Referring {
    pub(super) table: Arc<Table>,
    pub(super) reference: Reference,
    pub(super) is_trusted: bool,
    pub(super) is_dropped: bool,
}

impl DraftReference {
    pub(super) fn new(reference: Reference) -> Self {
        Self { reference, is_trusted: false, parent: None }
    }

    pub(super) fn kept(reference: Reference) -> Self {
        Self { reference, is_trusted: true, parent: None }
    }
}

impl Referring {
    /// Those of all entries of the catalog that refer to the table `name`.
    pub(super) fn all(entries: &[Entry], name: &str) -> Vec<Self> {
        let all = dependents::referring(entries, name).into_iter();
        all.map(|(table, reference)| Self { table, reference, is_trusted: true, is_dropped: false }).collect()
    }
}

impl Draft {
    /// All foreign keys that storage knows of a table.
    pub(super) fn bound_of(table: &Table) -> Vec<Arc<ForeignKey>> {
        let mut bound = table.relation.foreign_keys();
        bound.extend(table.relation.referenced_by());
        bound
    }

    pub(super) fn new(context: &Context<'_>, before: Arc<Table>) -> Self {
        let bound = Self::bound_of(&before);
        let rules = before.rules();
        let columns = before.relation.schema().all_columns().iter().zip(&rules.columns).map(|(column, rule)| {
            DraftColumn { column: column.clone(), rule: rule.clone(), values: Values::Kept, is_dropped: false }
        });
        let keys = rules.keys.iter().map(|key| DraftKey { from: Some(key.name.clone()), key: key.clone() });
        let checks = rules.checks.iter().map(|check| DraftCheck { check: check.clone(), is_new: false });
        let references = rules.references.iter().map(|reference| DraftReference::kept(reference.clone()));
        let entries = context.database.catalog.entries();
        Self {
            name: before.name.clone(),
            columns: columns.collect(),
            keys: keys.collect(),
            checks: checks.collect(),
            references: references.collect(),
            referring: Referring::all(&entries, &before.name),
            bound,
            cascades: false,
            storage: TableStorage::of(&before.relation),
            says_logged: false,
            sequences: Vec::new(),
            lost_sequences: Vec::new(),
            renamed: Vec::new(),
            before,
        }
    }

    /// SET LOGGED or SET UNLOGGED.
    pub(super) fn set_logged(&mut self, is_logged: bool) -> Result<(), Error> {
        if std::mem::replace(&mut self.says_logged, true) {
            return Err(Error::syntax("cannot change persistence setting twice; say SET LOGGED or SET UNLOGGED once"));
        }
        self.storage.is_logged = is_logged;
        Ok(())
    }

    /// The number of the column of a name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| !column.is_dropped && column.column.name == name)
    }

    /// The number and the name of a column that there must be.
    pub(super) fn column(&self, ident: &Ident) -> Result<(usize, String), Error> {
        let name = names::identifier(ident)?;
        match self.position(&name) {
            Some(at) => Ok((at, name)),
            None => Err(Error::no_column(format!("column {name} of table {} does not exist", self.name))),
        }
    }

    /// All columns as a constraint may name them; those that are dropped have a name that no statement can write.
    pub(super) fn described(&self) -> Vec<Column> {
        let described = self.columns.iter().map(|column| {
            if column.is_dropped {
                Column { name: String::new(), ..column.column.clone() }
            } else {
                column.column.clone()
            }
        });
        described.collect()
    }

    /// Whether a constraint of the table has this name.
    pub(super) fn has_constraint(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.key.name == name)
            || self.checks.iter().any(|check| check.check.name == name)
            || self.references.iter().any(|own| own.reference.name == name)
    }

    /// The columns that are left, by their numbers here, in the order that they will have: hidden ones come last.
    pub(super) fn left(&self) -> Vec<usize> {
        let left = (0..self.columns.len()).filter(|at| !self.columns[*at].is_dropped);
        let (hidden, mut left): (Vec<usize>, Vec<usize>) = left.partition(|at| self.columns[*at].column.is_hidden());
        left.extend(hidden);
        left
    }

    pub(super) fn schema(&self) -> Schema {
        Schema::new(self.left().into_iter().map(|at| self.columns[at].column.clone()).collect())
    }

    /// The rules with the final numbers of columns.
    pub(super) fn rules(&self) -> Rules {
        let left = self.left();
        let renumber = |columns: &[usize]| -> Vec<usize> {
            columns.iter().filter_map(|column| left.iter().position(|at| at == column)).collect()
        };
        let keys = self.keys.iter().map(|key| Key { columns: renumber(&key.key.columns), ..key.key.clone() });
        let checks = self.checks.iter().map(|DraftCheck { check, .. }| Check {
            name: check.name.clone(),
            condition: check.condition.clone(),
            columns: renumber(&check.columns),
            is_valid: check.is_valid,
        });
        let references = self.references.iter().map(|DraftReference { reference, .. }| Reference {
            columns: renumber(&reference.columns),
            ..reference.clone()
        });
        let mut checks: Vec<Check> = checks.collect();
        checks.sort_by(|one, other| one.name.cmp(&other.name));
        Rules {
            keys: keys.collect(),
            columns: left.iter().map(|at| self.columns[*at].rule.clone()).collect(),
            checks,
            references: references.collect(),
        }
    }
}
