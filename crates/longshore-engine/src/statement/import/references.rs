//! The foreign keys of an import, and checks that are NOT VALID: read behind the tables. All but those that are NOT VALID
//! are held against all rows when these are there, since a file may have been changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::{AlterTableOperation, TableConstraint};

use super::Schemas;
use crate::catalog::{Check, Reference, Table};
use crate::sql::alter::{Action, AlterTable};
use crate::sql::names;
use crate::statement::create::check_of;
use crate::statement::{Context, foreign};
use crate::{Error, blocking};

/// Adds what `ALTER TABLE ... ADD CONSTRAINT` says to a table made so far.
pub(super) fn add(schemas: &mut Schemas, alter: &AlterTable) -> Result<(), Error> {
    let name = names::relation(&alter.name)?;
    let definition = schemas.get_mut(&name).ok_or_else(|| Error::not_found(format!("table {name} does not exist")))?;
    for action in &alter.actions {
        let (rules, columns) = (&mut definition.rules, definition.schema.columns());
        let operation = match action {
            Action::Plain(operation) => operation.as_ref(),
            _ => return Err(foreign_action(&name)),
        };
        match operation {
            AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(key), not_valid } => {
                let is_taken = |name: &str| rules.has_constraint(name);
                let reference = foreign::reference_of(&name, columns, key.name.as_ref(), &key.columns, key, is_taken)?;
                rules.references.push(Reference { is_valid: !not_valid, ..reference });
            }
            AlterTableOperation::AddConstraint { constraint: TableConstraint::Check(check), not_valid } => {
                let check = check_of(&name, columns, check.name.as_ref(), check, rules)?;
                rules.add_check(Check { is_valid: !not_valid, ..check });
            }
            _ => return Err(foreign_action(&name)),
        }
    }
    Ok(())
}

fn foreign_action(table: &str) -> Error {
    Error::unsupported(format!(
        "this ALTER TABLE {table} does not belong here; only ADD CONSTRAINT ... FOREIGN KEY and CHECK do"
    ))
}

/// Finds out what the foreign keys of all tables refer to.
pub(super) fn resolve(schemas: &mut Schemas) -> Result<(), Error> {
    let names: Vec<String> = schemas.keys().cloned().collect();
    for name in names {
        let Some(definition) = schemas.get_mut(&name) else { continue };
        let mut references = std::mem::take(&mut definition.rules.references);
        for reference in &mut references {
            let (Some(child), Some(parent)) = (schemas.get(&name), schemas.get(&reference.table)) else {
                return Err(foreign::no_table(&reference.table));
            };
            let (columns, keys) = (parent.schema.columns(), &parent.rules.keys);
            foreign::resolve(reference, &name, child.schema.columns(), columns, keys)?;
            foreign::check_logged(child.storage.is_logged, parent.storage.is_logged)?;
        }
        if let Some(definition) = schemas.get_mut(&name) {
            definition.rules.references = references;
        }
    }
    Ok(())
}

/// Lets the tables obey their foreign keys, which all rows are checked by but for those that are NOT VALID.
pub(super) async fn bind(context: &Context<'_>, tables: &BTreeMap<String, Arc<Table>>) -> Result<(), Error> {
    for table in tables.values() {
        let rules = table.rules();
        let defaults = foreign::defaults(context, table.relation.schema().columns(), &rules)?;
        for reference in rules.references.iter().cloned() {
            let parent = tables.get(&reference.table).ok_or_else(|| foreign::no_table(&reference.table))?;
            let (table, parent, defaults) = (Arc::clone(table), Arc::clone(parent), defaults.clone());
            let is_trusted = !reference.is_valid;
            blocking::run(context.control, move |control| {
                let is_cancelled = || control.is_cancelled();
                foreign::bind((&table, &parent), &reference, defaults, is_trusted, None, &is_cancelled).map(drop)
            })
            .await?;
        }
    }
    Ok(())
}
