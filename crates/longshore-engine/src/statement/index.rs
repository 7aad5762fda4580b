//! CREATE INDEX and DROP INDEX.

use std::sync::Arc;

use sqlparser::ast::{CreateIndex, ObjectName};

use crate::catalog::{Entry, Role, Table};
use crate::sql::names;
use crate::statement::foreign::dependents;
use crate::statement::{Context, alter, create};
use crate::{Error, ErrorKind, Outcome, blocking};

pub(crate) async fn create_index(context: &Context<'_>, statement: &CreateIndex) -> Result<Outcome, Error> {
    let name = names::relation(&statement.table_name)?;
    let _alone = context.database.catalog.lock_ddl().await;
    let table = match context.database.catalog.get(&name) {
        Some(Entry::Table(table)) => table,
        Some(Entry::View(_)) => {
            return Err(Error::new(ErrorKind::WrongObject, format!("{name} is a view; index the tables it reads")));
        }
        None => return Err(Error::not_found(format!("table {name} does not exist"))),
    };
    let catalog = &context.database.catalog;
    let (schema, _) = names::parts(&name);
    let owner = |index: &str| catalog.owner_of_index(&names::in_schema(schema, index));
    let key = create::of_index(&name, table.relation.schema().columns(), statement, |name| owner(name).is_some())?;
    if let Some(owner) = owner(&key.name) {
        if statement.if_not_exists {
            let notice = format!("relation \"{}\" already exists, skipping", key.name);
            return Ok(Outcome::done("CREATE INDEX").with_notices(vec![notice]));
        }
        return Err(Error::exists(format!(
            "index {} exists already, on table {}; choose another name, or drop it first",
            key.name, owner.name
        )));
    }
    create::check_index(context, &table, &key)?;
    if catalog.is_fork() || key.hides().is_some() {
        alter::add_index(context, table, key).await?;
        return Ok(Outcome::done("CREATE INDEX"));
    }
    let database = Arc::clone(context.database);
    blocking::run(context.control, move |control| database.catalog.add_key(&table, &key, control)).await?;
    Ok(Outcome::done("CREATE INDEX"))
}

pub(crate) async fn drop_indexes(
    context: &Context<'_>,
    if_exists: bool,
    names: &[ObjectName],
) -> Result<Outcome, Error> {
    let _alone = context.database.catalog.lock_ddl().await;
    let mut found: Vec<(Arc<Table>, String)> = Vec::new();
    for name in names {
        let name = names::relation(name)?;
        match context.database.catalog.owner_of_index(&name) {
            Some(table) => found.push((table, names::own(&name).to_owned())),
            None if if_exists => {}
            None => {
                return Err(Error::no_object(format!(
                    "index {name} does not exist; DROP INDEX IF EXISTS ignores that"
                )));
            }
        }
    }
    for (table, name) in &found {
        let of_constraint =
            table.rules().keys.iter().any(|key| key.name == *name && matches!(key.role, Role::Primary | Role::Unique));
        if of_constraint {
            return Err(Error::new(
                ErrorKind::Dependent,
                format!("index {name} serves a constraint of table {}, and stays as long as that does", table.name),
            ));
        }
    }
    let has_hidden = |(table, name): &(Arc<Table>, String)| {
        table.rules().keys.iter().any(|key| key.name == *name && key.hides().is_some())
    };
    if context.database.catalog.is_fork() || found.iter().any(has_hidden) {
        for (table, name) in found {
            // The one before may have been of the same table.
            let table = context.database.catalog.table(&table.name).unwrap_or(table);
            dependents::check_key_free(&table, &name)?;
            alter::drop_index(context, table, &name).await?;
        }
        return Ok(Outcome::done("DROP INDEX"));
    }
    context.database.catalog.change(|change| {
        for (table, name) in found {
            dependents::check_key_free(&table, &name)?;
            change.rules(&table).keys.retain(|key| key.name != name);
            // It is there, since nobody else drops it meanwhile.
            change.then(move || drop(table.relation.drop_index(&name)));
        }
        Ok(())
    })?;
    Ok(Outcome::done("DROP INDEX"))
}
