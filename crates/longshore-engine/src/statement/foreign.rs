//! FOREIGN KEY: what the constraints of a statement mean, and how tables come to obey them.
//!
//! What is written is a [`Reference`] among the rules of the table, by names; what is enforced is a foreign key of its
//! relation, by columns and the index of the key that is referred to (`longshore-storage`). The two have the same name,
//! and are made and given up together ([`bind`], [`unbind`]).
//!
//! Not here: which rows obey (`longshore_storage::Transaction::run_foreign_key_actions`), dropping and emptying tables
//! that others refer to ([`dependents`]).

mod actions;
mod binding;
mod characteristics;
pub(crate) mod dependents;

use std::fmt::Write as _;
use std::sync::Arc;

use longshore_storage::{Column, ReferenceMatch, Relation};
use sqlparser::ast::{
    ColumnDef, ColumnOption, ConstraintReferenceMatchKind, ForeignKeyConstraint, Ident, ReferentialAction,
    TableConstraint,
};

pub(crate) use actions::{check_action_rows, run_actions};
pub(crate) use binding::{ColumnDefaults, bind, bind_all, defaults, unbind, unbind_all};
pub(crate) use characteristics::{set_constraints, timing};

use crate::catalog::{Entry, Key, Reference, Role, Rules, Table, is_temporary};
use crate::sql::names;
use crate::statement::Context;
use crate::{Error, ErrorKind};

/// The foreign keys that column definitions and constraints of the table `table` describe; `rules` are its others. Which
/// columns they refer to, where that is not said, is found out by [`resolve`].
pub(crate) fn of_definitions(
    table: &str,
    columns: &[Column],
    definitions: &[ColumnDef],
    constraints: &[TableConstraint],
    rules: &mut Rules,
) -> Result<(), Error> {
    let of_columns = definitions.iter().flat_map(|definition| {
        definition.options.iter().filter_map(|option| match &option.option {
            ColumnOption::ForeignKey(key) => {
                Some((option.name.as_ref().or(key.name.as_ref()), std::slice::from_ref(&definition.name), key))
            }
            _ => None,
        })
    });
    let of_table = constraints.iter().filter_map(|constraint| match constraint {
        TableConstraint::ForeignKey(key) => Some((key.name.as_ref(), key.columns.as_slice(), key)),
        _ => None,
    });
    let all: Vec<(Option<&Ident>, &[Ident], &ForeignKeyConstraint)> = of_columns.chain(of_table).collect();
    // Names that were given come first, so that no other constraint takes one of them.
    let (named, unnamed): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, ..)| name.is_some());
    for (name, own, key) in named.into_iter().chain(unnamed) {
        let reference = reference_of(table, columns, name, own, key, |name| rules.has_constraint(name))?;
        check_generated(&reference, rules)?;
        rules.references.push(reference);
    }
    Ok(())
}

/// Refuses a foreign key that would give a generated column a value.
fn check_generated(reference: &Reference, rules: &Rules) -> Result<(), Error> {
    if !reference.columns.iter().any(|column| rules.is_generated(*column)) {
        return Ok(());
    }
    let sets = |action| matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault);
    let event = if sets(reference.on_delete) {
        "ON DELETE"
    } else if sets(reference.on_update) || reference.on_update == ReferentialAction::Cascade {
        "ON UPDATE"
    } else {
        return Ok(());
    };
    Err(Error::syntax(format!("invalid {event} action for foreign key constraint containing generated column")))
}

/// The foreign key that a constraint of the table describes; `is_taken` says of names whether another constraint has
/// them.
pub(crate) fn reference_of(
    table: &str,
    columns: &[Column],
    name: Option<&Ident>,
    own: &[Ident],
    key: &ForeignKeyConstraint,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Reference, Error> {
    let timing = timing(key.characteristics.as_ref())?;
    let matching = match key.match_kind {
        None | Some(ConstraintReferenceMatchKind::Simple) => ReferenceMatch::Simple,
        Some(ConstraintReferenceMatchKind::Full) => ReferenceMatch::Full,
        Some(ConstraintReferenceMatchKind::Partial) => {
            return Err(Error::unsupported("MATCH PARTIAL is not supported; there are MATCH SIMPLE and MATCH FULL"));
        }
    };
    if key.index_name.is_some() {
        return Err(Error::unsupported("FOREIGN KEY takes no name of an index; write CONSTRAINT name before it"));
    }
    let mut positions = Vec::with_capacity(own.len());
    for ident in own {
        let name = names::identifier(ident)?;
        let position = columns.iter().position(|column| column.name == name).ok_or_else(|| {
            Error::no_column(format!("column {name} of table {table} does not exist, but is named in a foreign key"))
        })?;
        if positions.contains(&position) {
            return Err(invalid(format!("column {name} stands twice in a foreign key of table {table}; name it once")));
        }
        positions.push(position);
    }
    let referenced = key.referred_columns.iter().map(names::identifier).collect::<Result<Vec<_>, _>>()?;
    let name = if let Some(name) = name {
        let name = names::identifier(name)?;
        if is_taken(&name) {
            return Err(Error::new(
                ErrorKind::DuplicateObject,
                format!("constraint {name} of table {table} exists already; choose another name"),
            ));
        }
        name
    } else {
        let of_columns: Vec<&str> = positions.iter().map(|column| columns[*column].name.as_str()).collect();
        names::unused(&format!("{}_{}_fkey", names::own(table), of_columns.join("_")), is_taken)
    };
    Ok(Reference {
        name,
        columns: positions,
        table: names::relation(&key.foreign_table)?,
        referenced,
        matching,
        timing,
        on_delete: key.on_delete.unwrap_or(ReferentialAction::NoAction),
        on_update: key.on_update.unwrap_or(ReferentialAction::NoAction),
        is_valid: true,
    })
}

/// Finds out which columns a foreign key of the table `table` refers to, and refuses one that cannot be: `columns` are
/// those of the table, `parent` and `keys` those of the table that it refers to.
pub(crate) fn resolve(
    reference: &mut Reference,
    table: &str,
    columns: &[Column],
    parent: &[Column],
    keys: &[Key],
) -> Result<(), Error> {
    let to = &reference.table;
    if reference.referenced.is_empty() {
        let primary = keys.iter().find(|key| key.role == Role::Primary);
        let Some(primary) = primary else {
            return Err(invalid(format!(
                "there is no primary key for referenced table \"{to}\"; name the columns of a UNIQUE constraint, as in \
                 REFERENCES {to} (a)"
            )));
        };
        reference.referenced = primary.columns.iter().map(|column| parent[*column].name.clone()).collect();
    }
    let positions = positions(reference, parent)?;
    if positions.len() != reference.columns.len() {
        return Err(invalid(format!(
            "number of referencing and referenced columns for foreign key disagree: {} of table {table} refer to {} of \
             table {to}",
            reference.columns.len(),
            positions.len()
        )));
    }
    if key_of(&positions, keys).is_none() {
        return Err(invalid(format!(
            "there is no unique constraint matching given keys for referenced table \"{to}\"; make ({}) its PRIMARY KEY \
             or UNIQUE",
            reference.referenced.join(", ")
        )));
    }
    for (own, referenced) in reference.columns.iter().zip(&positions) {
        let (own, referenced) = (&columns[*own], &parent[*referenced]);
        if !Relation::can_refer(own, referenced) {
            return Err(Error::new(
                ErrorKind::TypeMismatch,
                format!(
                    "foreign key constraint \"{}\" cannot be implemented: Key columns \"{}\" of the referencing table and \
                     \"{}\" of the referenced table are of incompatible types: {} and {}; give them the same type",
                    reference.name, own.name, referenced.name, own.column_type, referenced.column_type
                ),
            ));
        }
    }
    Ok(())
}

/// Refuses a foreign key of a table that is logged to one that is not, which may lose the rows that are referred to.
pub(crate) fn check_logged(is_logged: bool, is_parent_logged: bool) -> Result<(), Error> {
    if is_parent_logged || !is_logged {
        return Ok(());
    }
    Err(invalid(
        "constraints on permanent tables may reference only permanent tables; make the one UNLOGGED as well, or the other one \
         SET LOGGED"
            .to_owned(),
    ))
}

/// Refuses a foreign key between a temporary table and one that is not.
fn check_temporary(table: &str, parent: &str) -> Result<(), Error> {
    let kind = match (is_temporary(table), is_temporary(parent)) {
        (true, false) => "temporary",
        (false, true) => "permanent",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidTable, format!("constraints on {kind} tables may reference only {kind} tables")))
}

/// The places of the columns that are referred to.
fn positions(reference: &Reference, parent: &[Column]) -> Result<Vec<usize>, Error> {
    let mut positions = Vec::with_capacity(reference.referenced.len());
    for name in &reference.referenced {
        let position = parent.iter().position(|column| column.name == *name).ok_or_else(|| {
            Error::no_column(format!(
                "column \"{name}\" referenced in foreign key constraint does not exist in table {}",
                reference.table
            ))
        })?;
        if positions.contains(&position) {
            return Err(invalid(format!("column {name} stands twice in a foreign key; name it once")));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// The unique key over just these columns.
fn key_of<'k>(positions: &[usize], keys: &'k [Key]) -> Option<&'k Key> {
    keys.iter().find(|key| {
        key.role.is_unique()
            && key.columns.len() == positions.len()
            && key.columns.iter().all(|column| positions.contains(column))
    })
}

/// Resolves the foreign keys of a table to come, whose rules are complete otherwise.
pub(crate) fn resolve_all(
    context: &Context<'_>,
    table: &str,
    (columns, is_logged): (&[Column], bool),
    rules: &mut Rules,
) -> Result<(), Error> {
    let mut references = std::mem::take(&mut rules.references);
    for reference in &mut references {
        if reference.table == table {
            resolve(reference, table, columns, columns, &rules.keys)?;
            continue;
        }
        let parent = parent_of(context, reference)?;
        resolve(reference, table, columns, parent.relation.schema().columns(), &parent.rules().keys)?;
        check_logged(is_logged, parent.relation.is_logged())?;
        check_temporary(table, &parent.name)?;
    }
    rules.references = references;
    Ok(())
}

/// The table that a foreign key refers to.
pub(crate) fn parent_of(context: &Context<'_>, reference: &Reference) -> Result<Arc<Table>, Error> {
    match context.database.catalog.get(&reference.table) {
        Some(Entry::Table(parent)) => Ok(parent),
        Some(Entry::View(_)) => Err(invalid(format!("referenced relation \"{}\" is not a table", reference.table))),
        None => Err(no_table(&reference.table)),
    }
}

pub(crate) fn no_table(name: &str) -> Error {
    Error::not_found(format!("table {name}, which a foreign key refers to, does not exist; create it first"))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidForeignKey, message)
}

impl Reference {
    /// As a constraint says it, for the columns of its table: `CONSTRAINT n FOREIGN KEY (a) REFERENCES t (b) ...`.
    pub(crate) fn sql(&self, columns: &[Column]) -> String {
        format!("CONSTRAINT {}", self.described(columns))
    }

    /// As the shell shows it: the name, then what it demands.
    pub(crate) fn described(&self, columns: &[Column]) -> String {
        let own: Vec<String> = self.columns.iter().map(|column| names::quoted(&columns[*column].name)).collect();
        let referenced: Vec<String> = self.referenced.iter().map(|name| names::quoted(name)).collect();
        let mut sql = format!(
            "{} FOREIGN KEY ({}) REFERENCES {} ({})",
            names::quoted(&self.name),
            own.join(", "),
            names::quoted(&self.table),
            referenced.join(", ")
        );
        if self.matching == ReferenceMatch::Full {
            sql.push_str(" MATCH FULL");
        }
        for (event, action) in [("UPDATE", self.on_update), ("DELETE", self.on_delete)] {
            if action != ReferentialAction::NoAction {
                // Writing to a string cannot fail.
                let _ = write!(sql, " ON {event} {action}");
            }
        }
        sql.push_str(characteristics::described(self.timing));
        if !self.is_valid {
            sql.push_str(" NOT VALID");
        }
        sql
    }
}
