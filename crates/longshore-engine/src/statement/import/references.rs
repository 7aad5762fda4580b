//! The foreign keys of an import: read behind the tables, and checked when all rows are there, since a file may have been
//! changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::{AlterTable, AlterTableOperation, TableConstraint};

use super::Schemas;
use crate::Error;
use crate::catalog::Table;
use crate::sql::names;
use crate::statement::{Context, blocking, foreign};

/// Adds the foreign keys that `ALTER TABLE ... ADD CONSTRAINT ... FOREIGN KEY` names to those of a table made so far.
pub(super) fn add(schemas: &mut Schemas, alter: &AlterTable) -> Result<(), Error> {
    let name = names::relation(&alter.name)?;
    let definition = schemas.get_mut(&name).ok_or_else(|| Error::not_found(format!("table {name} does not exist")))?;
    for operation in &alter.operations {
        let AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(key), not_valid: false } =
            operation
        else {
            return Err(Error::unsupported(format!(
                "ALTER TABLE {name} {operation} does not belong here; only ADD CONSTRAINT ... FOREIGN KEY does"
            )));
        };
        let rules = &mut definition.rules;
        let own_name = key.name.as_ref();
        let columns = definition.schema.columns();
        let reference =
            foreign::reference_of(&name, columns, own_name, &key.columns, key, |name| rules.has_constraint(name))?;
        rules.references.push(reference);
    }
    Ok(())
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
        }
        if let Some(definition) = schemas.get_mut(&name) {
            definition.rules.references = references;
        }
    }
    Ok(())
}

/// Lets the tables obey their foreign keys, which all rows are checked by.
pub(super) async fn bind(context: &Context<'_>, tables: &BTreeMap<String, Arc<Table>>) -> Result<(), Error> {
    for table in tables.values() {
        let rules = table.rules();
        let defaults = foreign::defaults(context, table.relation.schema().columns(), &rules)?;
        for reference in rules.references.iter().cloned() {
            let parent = tables.get(&reference.table).ok_or_else(|| foreign::no_table(&reference.table))?;
            let (table, parent, defaults) = (Arc::clone(table), Arc::clone(parent), defaults.clone());
            let is_trusted = false;
            blocking::run(context.control, move |_| {
                foreign::bind(&table, &reference, &parent, defaults, is_trusted).map(drop)
            })
            .await?;
        }
    }
    Ok(())
}
