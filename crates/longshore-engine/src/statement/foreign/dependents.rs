//! Tables that others refer to: what keeps them from being dropped or emptied, and what goes with them.

use std::sync::Arc;

use super::unbind;
use crate::catalog::{Change, Entry, Reference, Table};
use crate::{Error, ErrorKind};

/// The foreign keys by which other tables refer to the table `name`, with these tables.
pub(crate) fn referring<'e>(entries: impl IntoIterator<Item = &'e Entry>, name: &str) -> Vec<(Arc<Table>, Reference)> {
    let mut found = Vec::new();
    for entry in entries {
        let Entry::Table(table) = entry else { continue };
        if table.name == name {
            continue;
        }
        let rules = table.rules();
        let to_it = rules.references.iter().filter(|reference| reference.table == name);
        found.extend(to_it.map(|reference| (Arc::clone(table), reference.clone())));
    }
    found
}

/// Refuses to drop or replace the table `name` if one of `entries` refers to it.
pub(crate) fn check_unreferenced<'e>(entries: impl IntoIterator<Item = &'e Entry>, name: &str) -> Result<(), Error> {
    match referring(entries, name).first() {
        None => Ok(()),
        Some((from, reference)) => Err(Error::new(
            ErrorKind::Dependent,
            format!(
                "table {name} cannot be dropped because constraint {} on table {} depends on it; drop that first, or use \
                 DROP TABLE {name} CASCADE to drop the constraint, too",
                reference.name, from.name
            ),
        )),
    }
}

/// Drops the foreign keys by which tables refer to the table `name`, which is dropped.
pub(crate) fn drop_referring(change: &mut Change, name: &str) {
    for (from, reference) in referring(change.entries.values(), name) {
        change.rules(&from).references.retain(|known| known.name != reference.name);
        change.then(move || unbind(&from, &reference.name));
    }
}

/// Refuses to drop a key of a table that foreign keys refer to.
pub(crate) fn check_key_free(table: &Table, key: &str) -> Result<(), Error> {
    let referring = table.relation.referenced_by();
    let dependent = referring.iter().find(|reference| reference.index_name() == key);
    match dependent {
        None => Ok(()),
        Some(reference) => Err(Error::new(
            ErrorKind::Dependent,
            format!(
                "{key} of table {} cannot be dropped because foreign key {} depends on it; drop that first",
                table.name,
                reference.name()
            ),
        )),
    }
}

/// The tables to be emptied with `tables`, these included: with `cascade` all those whose rows refer to one of them,
/// which hinder it otherwise.
pub(crate) fn emptied_with(
    entries: &[Entry],
    tables: Vec<Arc<Table>>,
    cascade: bool,
) -> Result<Vec<Arc<Table>>, Error> {
    let mut all = tables;
    let mut next = 0;
    while next < all.len() {
        for (from, reference) in referring(entries, &all[next].name.clone()) {
            if all.iter().any(|table| table.name == from.name) {
                continue;
            }
            if !cascade {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "cannot truncate a table referenced in a foreign key constraint: Table \"{}\" references \"{}\" by \
                         {}; truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE",
                        from.name, all[next].name, reference.name, from.name
                    ),
                ));
            }
            all.push(from);
        }
        next += 1;
    }
    Ok(all)
}
