//! Foreign keys of a table that is altered: its own, and those by which others refer to it.
//!
//! Storage holds both ends of a foreign key by their relations, and an altered table has another relation. So all of them
//! are made anew ([`bind`]), beside those of the table as it was, which end when the new relation takes its place. Rows
//! are looked at where a foreign key is new, or a column of it got other values; the rest is trusted.
//!
//! What depends on what is PostgreSQL's: with a column go the foreign keys that it is part of, but those that refer to it,
//! or to a key, are in the way unless CASCADE is said.

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::ForeignKey;
use sqlparser::ast::DropBehavior;

use super::draft::{Draft, DraftKey, DraftReference, Referring};
use crate::catalog::{Change, Commented, Entry, Key, Owner, Reference, Table};
use crate::sql::names;
use crate::sql::sequence::SequenceOptions;
use crate::statement::sequence::define_anew;
use crate::statement::{Context, foreign, renames};
use crate::{Error, ErrorKind, blocking};

impl Draft {
    /// Gives every foreign key that refers to the table, its own included, to a closure.
    pub(super) fn each_reference_to_it(&mut self, mut change: impl FnMut(&mut Reference)) {
        let name = &self.name;
        let own = self.references.iter_mut().map(|own| &mut own.reference).filter(|own| own.table == *name);
        own.chain(self.referring.iter_mut().map(|referring| &mut referring.reference)).for_each(&mut change);
    }

    /// Has all rows looked at by the foreign keys that a column is part of, or is referred to by.
    pub(super) fn doubt_references(&mut self, column: usize) {
        let name = &self.columns[column].column.name;
        for own in &mut self.references {
            let refers_to_it = own.reference.table == self.name && own.reference.referenced.contains(name);
            own.is_trusted &= !(refers_to_it || own.reference.columns.contains(&column));
        }
        for referring in &mut self.referring {
            referring.is_trusted &= !referring.reference.referenced.contains(name);
        }
    }

    /// Drops the foreign keys that refer to keys which are dropped with `what`, or refuses because of them.
    pub(super) fn release(
        &mut self,
        what: &str,
        keys: &[DraftKey],
        behavior: Option<DropBehavior>,
    ) -> Result<(), Error> {
        let cascades = behavior == Some(DropBehavior::Cascade);
        let needs = |bound: &&Arc<ForeignKey>| keys.iter().any(|key| key.from.as_deref() == Some(bound.index_name()));
        let incoming = self.before.relation.referenced_by();
        for bound in incoming.iter().filter(needs) {
            let (name, is_own) = (bound.name(), bound.is_of(&self.before.relation));
            let own = self.references.iter().position(|own| is_own && own.reference.name == name);
            let other = self.referring.iter_mut().find(|referring| {
                !referring.is_dropped && referring.reference.name == name && bound.is_of(&referring.table.relation)
            });
            let from = match (own, &other) {
                (Some(_), _) => &self.before.name,
                (None, Some(other)) => &other.table.name,
                // It went before.
                (None, None) => continue,
            };
            if !cascades {
                return Err(Error::new(
                    ErrorKind::Dependent,
                    format!(
                        "cannot drop {what} of table {} because other objects depend on it: constraint {name} on table \
                         {from} depends on index {}; drop that first, or use CASCADE to drop both",
                        self.before.name,
                        bound.index_name()
                    ),
                ));
            }
            if let Some(own) = own {
                self.references.remove(own);
            } else if let Some(other) = other {
                other.is_dropped = true;
            }
        }
        Ok(())
    }

    /// Finds out what the foreign keys refer to, and refuses what cannot be, once all actions are done to the draft.
    pub(super) fn resolve_references(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (columns, keys) = (self.described(), self.keys.iter().map(|key| key.key.clone()).collect::<Vec<Key>>());
        let is_turned = self.storage.is_logged != self.before.relation.is_logged();
        for DraftReference { reference, parent, .. } in &mut self.references {
            if reference.table == self.name {
                foreign::resolve(reference, &self.name, &columns, &columns, &keys)?;
                continue;
            }
            let found = foreign::parent_of(context, reference)?;
            let (schema, rules) = (found.relation.schema(), found.rules());
            foreign::resolve(reference, &self.name, &columns, schema.columns(), &rules.keys)?;
            let is_parent_logged = found.relation.is_logged();
            if is_turned && self.storage.is_logged && !is_parent_logged {
                return Err(Error::new(
                    ErrorKind::InvalidForeignKey,
                    format!(
                        "could not change table \"{}\" to logged because it references unlogged table \"{}\"; change that \
                         one first",
                        self.name, found.name
                    ),
                ));
            }
            foreign::check_logged(self.storage.is_logged, is_parent_logged)?;
            *parent = Some(found);
        }
        for Referring { table, reference, .. } in self.referring.iter_mut().filter(|referring| !referring.is_dropped) {
            foreign::resolve(reference, &table.name, table.relation.schema().columns(), &columns, &keys)?;
            if is_turned && !self.storage.is_logged && table.relation.is_logged() {
                return Err(Error::new(
                    ErrorKind::InvalidForeignKey,
                    format!(
                        "could not change table \"{}\" to unlogged because logged table \"{}\" references it; change that one \
                         first",
                        self.name, table.name
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses if the table has other foreign keys than in the beginning, or refers to tables that are not there any
    /// more: sessions create and drop tables meanwhile.
    pub(super) fn check_bound(&self, entries: &BTreeMap<String, Entry>) -> Result<(), Error> {
        let now = Self::bound_of(&self.before);
        let is_same = now.len() == self.bound.len() && now.iter().zip(&self.bound).all(|(a, b)| Arc::ptr_eq(a, b));
        let is_there = |parent: &Arc<Table>| matches!(entries.get(&parent.name), Some(Entry::Table(found)) if Arc::ptr_eq(found, parent));
        if is_same && self.references.iter().filter_map(|own| own.parent.as_ref()).all(is_there) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "a table that table {} refers to, or that refers to it, was created or dropped meanwhile; try again",
                self.before.name
            ),
        ))
    }

    /// Changes the rules of the tables that refer to this one as it is now called, and drops what goes.
    pub(super) fn tell_referring(&self, change: &mut Change) {
        for Referring { table, reference, is_dropped, .. } in &self.referring {
            change.rules(table).references.retain_mut(|known| {
                if known.name == reference.name {
                    known.clone_from(reference);
                }
                !(*is_dropped && known.name == reference.name)
            });
        }
    }
}

impl Draft {
    /// Lets comments on columns and constraints follow them to other names.
    pub(super) fn tell_comments(&self, change: &mut Change) {
        let before = self.before.relation.schema();
        let columns = before.columns().iter().zip(&self.columns);
        let columns: Vec<(&str, &str)> = columns
            .filter(|(before, now)| before.name != now.column.name)
            .map(|(before, now)| (before.name.as_str(), now.column.name.as_str()))
            .collect();
        if columns.is_empty() && self.renamed.is_empty() {
            return;
        }
        let renamed = |name: String| {
            let found = self.renamed.iter().find(|(from, _)| *from == name);
            found.map_or(name, |(_, to)| to.clone())
        };
        change.map_comments(|on| match on {
            Commented::Column(of, name) if of == self.name => {
                let found = columns.iter().find(|(from, _)| *from == name);
                Commented::Column(of, found.map_or(name, |(_, to)| (*to).to_owned()))
            }
            Commented::Constraint(of, name) if of == self.name => Commented::Constraint(of, renamed(name)),
            Commented::Index(of, name) if of == self.name => Commented::Index(of, renamed(name)),
            other => other,
        });
    }

    /// Tells sequences that belong to columns of the table what it and they are called now, and moves them to its schema.
    pub(super) fn tell_sequences(&self, context: &Context<'_>) -> Result<(), Error> {
        let (catalog, before) = (&context.database.catalog, &self.before);
        for sequence in catalog.sequences_of(&before.name, None) {
            let Some(owner) = sequence.owner() else { continue };
            let at = before.relation.schema().index_of(&owner.column);
            let Some(column) = at.and_then(|at| self.columns.get(at)) else { continue };
            let now = Owner { table: self.name.clone(), column: column.column.name.clone() };
            if now != owner {
                define_anew(context, &sequence, &SequenceOptions::default(), Some(Some(now)))?;
            }
            let (schema, _) = names::parts(&self.name);
            if schema != names::parts(&before.name).0
                && let Some(sequence) = catalog.sequence(&sequence.name)
            {
                renames::rename_sequence(context, &sequence, &names::in_schema(schema, names::own(&sequence.name)))?;
            }
        }
        Ok(())
    }
}

/// Foreign keys of a table that may yet not be altered; given up when it is not.
#[derive(Default)]
pub(super) struct Bound {
    keys: Vec<(Arc<Table>, Arc<ForeignKey>)>,
}

impl Bound {
    /// The table is altered.
    pub(super) fn keep(mut self) {
        self.keys.clear();
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.keys.iter().for_each(|(table, key)| table.relation.drop_foreign_key(key));
    }
}

/// Lets what the table becomes obey its foreign keys, and others those by which they refer to it.
pub(super) async fn bind(context: &Context<'_>, draft: &Draft, after: &Arc<Table>) -> Result<Bound, Error> {
    struct Task {
        table: Arc<Table>,
        reference: Reference,
        parent: Arc<Table>,
        defaults: foreign::ColumnDefaults,
        is_trusted: bool,
    }
    let rules = after.rules();
    let defaults = foreign::defaults(context, after.relation.schema().columns(), &rules)?;
    let mut tasks = Vec::new();
    for (own, reference) in draft.references.iter().zip(&rules.references) {
        tasks.push(Task {
            table: Arc::clone(after),
            reference: reference.clone(),
            parent: Arc::clone(own.parent.as_ref().unwrap_or(after)),
            defaults: defaults.clone(),
            is_trusted: own.is_trusted || !reference.is_valid,
        });
    }
    for Referring { table, reference, is_trusted, is_dropped } in &draft.referring {
        if *is_dropped {
            continue;
        }
        tasks.push(Task {
            table: Arc::clone(table),
            reference: reference.clone(),
            parent: Arc::clone(after),
            defaults: foreign::defaults(context, table.relation.schema().columns(), &table.rules())?,
            is_trusted: *is_trusted || !reference.is_valid,
        });
    }
    if tasks.is_empty() {
        return Ok(Bound::default());
    }
    let block = context.block_transaction().map(Arc::clone);
    blocking::run(context.control, move |control| {
        let mut bound = Bound::default();
        let is_cancelled = || control.is_cancelled();
        for Task { table, reference, parent, defaults, is_trusted } in tasks {
            let key =
                foreign::bind((&table, &parent), &reference, defaults, is_trusted, block.as_deref(), &is_cancelled)?;
            bound.keys.push((table, key));
        }
        Ok(bound)
    })
    .await
}
