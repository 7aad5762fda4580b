//! ALTER TABLE and ALTER INDEX.
//!
//! All actions of a statement are done to a draft of the table ([`draft`]), in PostgreSQL's order: what drops first, then
//! types, new columns, constraints. Then a relation is made of the draft and of the rows that there are ([`make`]),
//! while nobody writes to the table; views are looked through ([`views`]); and in one step the new table takes the place
//! of the old one, which those who began before go on reading. If anything fails, the table stays what it was. Foreign
//! keys, at either end, are made anew for the new relation ([`references`]).
//!
//! Not here: how a relation is altered (`longshore_storage::Alteration`).

mod columns;
mod constraints;
mod draft;
pub(super) mod make;
mod references;
mod rename;
mod views;

use sqlparser::ast::{
    AlterColumnOperation, AlterIndexOperation, AlterTable, AlterTableOperation, ObjectName, RenameTableNameKind,
};

use draft::Draft;

use crate::catalog::Entry;
use crate::sql::names;
use crate::statement::Context;
use crate::statement::index::owner;
use crate::{Error, Outcome};

/// Alters a table.
pub(crate) async fn alter_table(context: &Context<'_>, mut alter: AlterTable) -> Result<Outcome, Error> {
    refuse_clauses(&alter)?;
    let name = names::relation(&alter.name)?;
    let _alone = context.database.catalog.lock_ddl().await;
    let table = match context.database.catalog.get(&name) {
        Some(Entry::Table(table)) => table,
        Some(Entry::View(_)) => {
            return Err(Error::invalid(format!("{name} is a view; use CREATE OR REPLACE VIEW to change it")));
        }
        None if alter.if_exists => return Ok(Outcome::done("ALTER TABLE")),
        None => {
            return Err(Error::not_found(format!("table {name} does not exist; ALTER TABLE IF EXISTS ignores that")));
        }
    };
    alter.operations.sort_by_key(pass);
    let mut draft = Draft::new(context, table);
    for operation in alter.operations {
        apply(context, &mut draft, operation)?;
    }
    make::replace(context, draft).await?;
    Ok(Outcome::done("ALTER TABLE"))
}

/// Renames an index, and with it the constraint that it serves.
pub(crate) async fn alter_index(
    context: &Context<'_>,
    name: &ObjectName,
    operation: &AlterIndexOperation,
) -> Result<Outcome, Error> {
    let AlterIndexOperation::RenameIndex { index_name } = operation;
    let (name, to) = (names::relation(name)?, names::relation(index_name)?);
    let _alone = context.database.catalog.lock_ddl().await;
    let Some(table) = owner(&context.database.catalog, &name) else {
        return Err(Error::no_object(format!("index {name} does not exist")));
    };
    let mut draft = Draft::new(context, table);
    draft.rename_key(context, &name, &to)?;
    make::replace(context, draft).await?;
    Ok(Outcome::done("ALTER INDEX"))
}

/// When PostgreSQL does an action: what is dropped makes room for what is added, and constraints find the new columns.
fn pass(operation: &AlterTableOperation) -> u8 {
    match operation {
        AlterTableOperation::DropColumn { .. } | AlterTableOperation::DropConstraint { .. } => 0,
        AlterTableOperation::AlterColumn { op, .. } => match op {
            AlterColumnOperation::DropNotNull | AlterColumnOperation::DropDefault => 0,
            AlterColumnOperation::SetDataType { .. } => 1,
            _ => 3,
        },
        AlterTableOperation::AddColumn { .. } => 2,
        _ => 4,
    }
}

fn apply(context: &Context<'_>, draft: &mut Draft, operation: AlterTableOperation) -> Result<(), Error> {
    match operation {
        AlterTableOperation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
            draft.add_column(context, &column_def, if_not_exists)
        }
        AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            column_names.iter().try_for_each(|name| draft.drop_column(name, if_exists, drop_behavior))
        }
        AlterTableOperation::AlterColumn { column_name, op } => draft.alter_column(context, &column_name, op),
        AlterTableOperation::AddConstraint { constraint, not_valid } => {
            draft.add_constraint(context, &constraint, !not_valid)
        }
        AlterTableOperation::ValidateConstraint { name } => draft.validate_constraint(&name),
        AlterTableOperation::DropConstraint { name, if_exists, drop_behavior } => {
            draft.drop_constraint(&name, if_exists, drop_behavior)
        }
        AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
            draft.rename_column(context, &old_column_name, &new_column_name)
        }
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            draft.rename_constraint(context, &old_name, &new_name)
        }
        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) } => {
            draft.rename_table(context, &name)
        }
        AlterTableOperation::SetOptionsParens { options } => draft.set_options(&options),
        other => Err(Error::unsupported(format!("ALTER TABLE ... {other} is not supported"))),
    }
}

/// Refuses whatever goes beyond `ALTER TABLE [IF EXISTS] t actions`, and RENAME beside other actions, as PostgreSQL
/// does.
fn refuse_clauses(alter: &AlterTable) -> Result<(), Error> {
    let is_rename = |operation: &AlterTableOperation| {
        matches!(
            operation,
            AlterTableOperation::RenameTable { .. }
                | AlterTableOperation::RenameColumn { .. }
                | AlterTableOperation::RenameConstraint { .. }
        )
    };
    if alter.operations.len() > 1 && alter.operations.iter().any(is_rename) {
        return Err(Error::syntax("RENAME stands alone in an ALTER TABLE; write a statement for each"));
    }
    let clause = if alter.only {
        "ONLY"
    } else if alter.location.is_some() {
        "LOCATION"
    } else if alter.on_cluster.is_some() {
        "ON CLUSTER"
    } else if alter.table_type.is_some() {
        "a kind of table"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("ALTER TABLE with {clause} is not supported; leave it out")))
}
