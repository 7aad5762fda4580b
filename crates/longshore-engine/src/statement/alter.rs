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
pub(super) mod domains;
mod draft;
mod hidden_columns;
mod identity;
pub(super) mod make;
mod references;
mod rename;
mod views;

use std::sync::Arc;

use sqlparser::ast::{AlterColumnOperation, AlterIndexOperation, AlterTableOperation, ObjectName, RenameTableNameKind};

use draft::{Draft, DraftKey};

use crate::catalog::{Commented, Entry, Key, Sequence, Table};
use crate::sql::alter::{Action, AlterTable};
use crate::sql::names;
use crate::sql::objects::{ObjectChange, ObjectKind};
use crate::sql::roles::RoleSpec;
use crate::statement::{Context, owner, renames, role_names};
use crate::{Error, Outcome};

/// Alters a table; or a view, sequence or index, as far as that is altered as tables are.
pub(crate) async fn alter_table(context: &Context<'_>, mut alter: AlterTable) -> Result<Outcome, Error> {
    refuse_rename_among_others(&alter)?;
    let name = names::relation(&alter.name)?;
    let _alone = context.database.catalog.lock_ddl().await;
    let table = match context.database.catalog.get(&name) {
        Some(Entry::Table(table)) => table,
        Some(Entry::View(_)) => return of_other(context, &alter, &name, ObjectKind::View).await,
        None if context.database.catalog.sequence(&name).is_some() => {
            return of_other(context, &alter, &name, ObjectKind::Sequence).await;
        }
        None if alter.if_exists => {
            let notice = format!("relation \"{}\" does not exist, skipping", names::shown_name(&name));
            return Ok(Outcome::done("ALTER TABLE").with_notices(vec![notice]));
        }
        None => {
            return Err(Error::not_found(format!("table {name} does not exist; ALTER TABLE IF EXISTS ignores that")));
        }
    };
    let mut notices = Vec::new();
    alter.actions.sort_by_key(pass);
    let mut draft = Draft::new(context, table);
    let is_about_rows = |action: &Action| match action {
        Action::Layout(_) => false,
        Action::Plain(operation) => !matches!(operation.as_ref(), AlterTableOperation::OwnerTo { .. }),
        _ => true,
    };
    let makes_table = alter.actions.iter().any(is_about_rows);
    for action in alter.actions {
        apply(context, &mut draft, action, &mut notices)?;
    }
    if makes_table {
        replace(context, draft).await?;
    }
    Ok(Outcome::done("ALTER TABLE").with_notices(notices))
}

/// Makes what the draft says, with the sequences that it has for itself.
async fn replace(context: &Context<'_>, draft: Draft) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    let new: Vec<Arc<Sequence>> = draft.sequences.clone();
    if new.is_empty() {
        return make::replace(context, draft).await;
    }
    // Rows that are there take numbers of them.
    catalog.change(|change| {
        change.created_by(context.creator());
        change.sequences.extend(new.iter().map(|sequence| (sequence.name.clone(), Arc::clone(sequence))));
        Ok(())
    })?;
    let made = make::replace(context, draft).await;
    if made.is_err() {
        catalog.change(|change| {
            for sequence in &new {
                change.sequences.remove(&sequence.name);
            }
            Ok(())
        })?;
    }
    made
}

/// Does what ALTER TABLE says of something that is no table.
async fn of_other(context: &Context<'_>, alter: &AlterTable, name: &str, kind: ObjectKind) -> Result<Outcome, Error> {
    for action in &alter.actions {
        let change = match action {
            Action::Schema(schema) => ObjectChange::Schema(schema.clone()),
            Action::Plain(operation) => match operation.as_ref() {
                AlterTableOperation::OwnerTo { new_owner } => {
                    owner::change(context, &Commented::Relation(name.to_owned()), &owner_of(new_owner)?)?;
                    continue;
                }
                AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(to) } => {
                    let to = names::relation(to)?;
                    ObjectChange::Rename(crate::sql::build::quoted(names::own(&to)))
                }
                AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                    ObjectChange::RenameColumn(old_column_name.clone(), new_column_name.clone())
                }
                _ => return Err(not_on(name, kind)),
            },
            _ => return Err(not_on(name, kind)),
        };
        renames::change(context, kind, name, &change).await?;
    }
    Ok(Outcome::done("ALTER TABLE"))
}

/// The role that OWNER TO names.
fn owner_of(owner: &sqlparser::ast::Owner) -> Result<RoleSpec, Error> {
    match owner {
        sqlparser::ast::Owner::Ident(name) => role_names::owner_named(name),
        sqlparser::ast::Owner::CurrentRole | sqlparser::ast::Owner::CurrentUser => Ok(RoleSpec::CurrentUser),
        sqlparser::ast::Owner::SessionUser => Ok(RoleSpec::SessionUser),
    }
}

fn not_on(name: &str, kind: ObjectKind) -> Error {
    Error::new(
        crate::ErrorKind::WrongObject,
        format!("ALTER action cannot be performed on relation \"{name}\": it is a {}", kind.name()),
    )
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
    let Some(table) = context.database.catalog.owner_of_index(&name) else {
        return Err(Error::no_object(format!("index {name} does not exist")));
    };
    let mut draft = Draft::new(context, table);
    draft.rename_key(context, names::own(&name), names::own(&to))?;
    make::replace(context, draft).await?;
    Ok(Outcome::done("ALTER INDEX"))
}

/// Adds an index to a table, in a transaction block or with hidden columns.
pub(crate) async fn add_index(context: &Context<'_>, table: Arc<Table>, key: Key) -> Result<(), Error> {
    let mut draft = Draft::new(context, table);
    draft.keys.push(DraftKey { key, from: None });
    make::replace(context, draft).await
}

/// Drops an index of a table, in a transaction block or with its hidden columns.
pub(crate) async fn drop_index(context: &Context<'_>, table: Arc<Table>, name: &str) -> Result<(), Error> {
    let mut draft = Draft::new(context, table);
    draft.keys.retain(|key| key.key.name != name);
    make::replace(context, draft).await
}

/// When PostgreSQL does an action: what is dropped makes room for what is added, and constraints find the new columns.
fn pass(action: &Action) -> u8 {
    let operation = match action {
        Action::Plain(operation) => operation.as_ref(),
        Action::DropIdentity { .. } | Action::DropExpression { .. } => return 0,
        Action::AddIdentity { .. } | Action::SetIdentity { .. } => return 3,
        Action::Logged(_) | Action::Schema(_) | Action::Layout(_) | Action::Timing { .. } => return 4,
    };
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

fn apply(context: &Context<'_>, draft: &mut Draft, action: Action, notices: &mut Vec<String>) -> Result<(), Error> {
    let operation = match action {
        Action::Plain(operation) => *operation,
        Action::Logged(is_logged) => return draft.set_logged(is_logged),
        Action::Schema(schema) => return draft.set_schema(context, &schema),
        Action::AddIdentity { column, always, sequence, options } => {
            return draft.add_identity(context, &column, always, sequence.as_ref(), &options);
        }
        Action::SetIdentity { column, always, options } => {
            return draft.set_identity(context, &column, always, &options);
        }
        Action::Timing { constraint, said } => return draft.set_timing(&constraint, said.as_ref()),
        Action::DropIdentity { column, if_exists } => return draft.drop_identity(&column, if_exists, notices),
        Action::DropExpression { column, if_exists } => return draft.drop_expression(&column, if_exists, notices),
        Action::Layout(column) => return column.map_or(Ok(()), |column| draft.column(&column).map(drop)),
    };
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
            draft.rename_column(&old_column_name, &new_column_name)
        }
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            draft.rename_constraint(context, &old_name, &new_name)
        }
        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) } => {
            let to = names::relation(&name)?;
            draft.rename_table(context, to)
        }
        AlterTableOperation::SetOptionsParens { options } => draft.storage.set(&options),
        AlterTableOperation::OwnerTo { new_owner } => {
            owner::change(context, &Commented::Relation(draft.before.name.clone()), &owner_of(&new_owner)?)
        }
        other => Err(Error::unsupported(format!("ALTER TABLE ... {other} is not supported"))),
    }
}

/// Refuses RENAME beside other actions, as PostgreSQL does.
fn refuse_rename_among_others(alter: &AlterTable) -> Result<(), Error> {
    let is_rename = |action: &Action| match action {
        Action::Plain(operation) => matches!(
            operation.as_ref(),
            AlterTableOperation::RenameTable { .. }
                | AlterTableOperation::RenameColumn { .. }
                | AlterTableOperation::RenameConstraint { .. }
        ),
        Action::Schema(_) => true,
        _ => false,
    };
    if alter.actions.len() > 1 && alter.actions.iter().any(is_rename) {
        return Err(Error::syntax(
            "RENAME stands alone in an ALTER TABLE, and so does SET SCHEMA; write a statement for each",
        ));
    }
    Ok(())
}
