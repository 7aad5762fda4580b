//! DROP TABLE, DROP VIEW and TRUNCATE.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::{CascadeOption, ObjectName, ObjectType, Truncate, TruncateIdentityOption};

use crate::catalog::{Catalog, Change, Entry, Table};
use crate::sql::names;
use crate::statement::foreign::{self, dependents};
use crate::statement::{Context, sequence};
use crate::{Error, ErrorKind, Outcome};

/// Drops all of `names` or none. Views that read them hinder it unless they are dropped as well, or all with CASCADE.
pub(crate) fn drop_objects(
    context: &Context<'_>,
    object_type: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
    temporary: bool,
) -> Result<Outcome, Error> {
    if temporary {
        return Err(Error::syntax("DROP TEMPORARY is no statement; a temporary table is dropped as others are"));
    }
    let kind = if object_type == ObjectType::View { "view" } else { "table" };
    let names = names.iter().map(names::relation).collect::<Result<Vec<_>, _>>()?;
    // What is dropped is freed after the catalog is open to others again.
    let catalog = &context.database.catalog;
    let mut notices = Vec::new();
    let dropped = catalog.change(|change| {
        let entries = &mut change.entries;
        let mut dropped = Vec::new();
        for name in &names {
            match entries.get(name) {
                Some(entry) if entry.kind() == kind => dropped.extend(entries.remove(name)),
                Some(entry) => {
                    let (found, other) = (entry.kind(), entry.kind().to_uppercase());
                    let problem = format!("{name} is a {found}, not a {kind}; use DROP {other}");
                    return Err(Error::new(ErrorKind::WrongObject, problem));
                }
                None if dropped.iter().any(|entry: &Entry| entry.name() == name) => {}
                None if if_exists => {
                    notices.push(format!("{kind} \"{}\" does not exist, skipping", names::shown_name(name)));
                }
                None => {
                    return Err(Error::not_found(format!(
                        "{kind} {name} does not exist; DROP {} IF EXISTS ignores that",
                        kind.to_uppercase()
                    )));
                }
            }
        }
        finish(catalog, change, &mut dropped, cascade)?;
        Ok(dropped)
    })?;
    empty_in_block(context, dropped.iter())?;
    Ok(Outcome::done(format!("DROP {}", kind.to_uppercase())).with_notices(notices))
}

/// Deletes the rows of what a transaction block has dropped: for the block they are gone, and so are their foreign keys, while
/// others have the table until it commits.
pub(crate) fn empty_in_block<'a>(context: &Context<'_>, dropped: impl Iterator<Item = &'a Entry>) -> Result<(), Error> {
    if !context.database.catalog.is_fork() {
        return Ok(());
    }
    let tables: Vec<Arc<Table>> = dropped.filter_map(Entry::table).collect();
    if tables.is_empty() {
        return Ok(());
    }
    context
        .transaction
        .with(|transaction| tables.iter().try_for_each(|table| transaction.truncate(&table.relation)))?;
    foreign::run_actions(context)
}

/// Drops what depends on entries that were taken out of the catalog, or refuses because of that.
pub(crate) fn finish(
    catalog: &Catalog,
    change: &mut Change,
    dropped: &mut Vec<Entry>,
    cascade: bool,
) -> Result<(), Error> {
    drop_dependents(&mut change.entries, dropped, cascade)?;
    let tables: Vec<Arc<Table>> = dropped.iter().filter_map(Entry::table).collect();
    if !cascade {
        for table in &tables {
            dependents::check_unreferenced(change.entries.values(), &table.name)?;
        }
    }
    let own: Vec<_> = tables.iter().flat_map(|table| catalog.sequences_of(&table.name, None)).collect();
    if !own.is_empty() {
        sequence::release(change, &own, cascade)?;
    }
    for table in tables {
        dependents::drop_referring(change, &table.name);
        change.then(move || foreign::unbind_all(&table));
    }
    Ok(())
}

/// Drops the views that read what is in `dropped`, or refuses because of them.
pub(crate) fn drop_dependents(
    entries: &mut BTreeMap<String, Entry>,
    dropped: &mut Vec<Entry>,
    cascade: bool,
) -> Result<(), Error> {
    let mut next = 0;
    while next < dropped.len() {
        let name = dropped[next].name().to_owned();
        let dependents: Vec<String> = readers_of(entries, &name);
        if let Some(view) = dependents.first()
            && !cascade
        {
            return Err(Error::new(
                ErrorKind::Dependent,
                format!(
                    "{} {name} cannot be dropped because view {view} reads it; drop the view first, or use CASCADE \
                     to drop both",
                    dropped[next].kind()
                ),
            ));
        }
        dropped.extend(dependents.iter().filter_map(|view| entries.remove(view)));
        next += 1;
    }
    Ok(())
}

/// Names of the views that read `name`.
fn readers_of(entries: &BTreeMap<String, Entry>, name: &str) -> Vec<String> {
    let reads = |entry: &&Entry| matches!(entry, Entry::View(view) if view.reads.iter().any(|read| read == name));
    entries.values().filter(reads).map(|entry| entry.name().to_owned()).collect()
}

/// Empties tables.
pub(crate) fn truncate(context: &Context<'_>, truncate: &Truncate) -> Result<Outcome, Error> {
    let refused = match truncate {
        Truncate { partitions: Some(_), .. } => "PARTITION",
        _ => "",
    };
    if !refused.is_empty() {
        return Err(Error::unsupported(format!("TRUNCATE with {refused} is not supported; leave it out")));
    }
    let mut tables = Vec::new();
    for target in &truncate.table_names {
        let name = names::relation(&target.name)?;
        match context.entry(&name) {
            Some(Entry::Table(table)) => tables.push(table),
            Some(Entry::View(_)) => {
                return Err(Error::new(ErrorKind::WrongObject, format!("{name} is a view, not a table")));
            }
            None if truncate.if_exists => {}
            None => return Err(Error::not_found(format!("table {name} does not exist"))),
        }
    }
    let cascade = truncate.cascade == Some(CascadeOption::Cascade);
    let tables = dependents::emptied_with(&context.database.catalog.entries(), tables, cascade)?;
    context
        .transaction
        .with(|transaction| tables.iter().try_for_each(|table| transaction.truncate(&table.relation)))?;
    if let Some(ledger) = context.database.catalog.ledger() {
        context
            .transaction
            .with(|transaction| tables.iter().try_for_each(|table| ledger.forget(transaction, table.number())))?;
    }
    if truncate.identity == Some(TruncateIdentityOption::Restart) {
        for sequence in tables.iter().flat_map(|table| context.database.catalog.sequences_of(&table.name, None)) {
            context.transaction.restart(&sequence)?;
        }
    }
    Ok(Outcome::done("TRUNCATE TABLE"))
}
