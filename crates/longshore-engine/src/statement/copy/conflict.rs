//! What COPY does about rows whose key is there already, in terms of the table.

use longshore_load::{Conflicts, LoadReport};
use longshore_storage::{ConflictAction, Merged, OnConflict, Schema};

use crate::Error;
use crate::catalog::{Rules, Table, columns_read};
use crate::sql::options::{ConflictChoice, ConflictOptions};

/// What `options` mean for a table of which `columns` are copied.
pub(crate) fn conflicts(
    options: &ConflictOptions,
    (table, rules): (&Table, &Rules),
    columns: &[usize],
) -> Result<Conflicts, Error> {
    let (relation, table) = (&table.relation, &table.name);
    let indexes = relation.indexes();
    let unique: Vec<&str> =
        indexes.iter().filter(|index| index.uniqueness().is_unique()).map(|index| index.name()).collect();
    let name = options.choice.name();
    if let Some(key) = &options.key
        && !unique.contains(&key.as_str())
    {
        return Err(Error::no_object(match unique.as_slice() {
            [] => format!("option ON_CONFLICT_KEY: table {table} has no PRIMARY KEY or UNIQUE constraint"),
            keys => format!(
                "option ON_CONFLICT_KEY: {key} is no PRIMARY KEY, UNIQUE constraint or unique index of table {table}; there \
                 are {}",
                keys.join(", ")
            ),
        }));
    }
    let replaces = matches!(options.choice, ConflictChoice::KeepLast | ConflictChoice::Update);
    if replaces && options.key.is_none() && unique.len() != 1 {
        return Err(Error::invalid(match unique.as_slice() {
            [] => format!(
                "option ON_CONFLICT: {name} replaces rows by their key, but table {table} has no PRIMARY KEY or UNIQUE \
                 constraint; give it one, or leave the option out"
            ),
            keys => format!(
                "option ON_CONFLICT: {name} replaces rows by one key, but table {table} has {}; name one of them with \
                 ON_CONFLICT_KEY",
                keys.join(", ")
            ),
        }));
    }
    let action = match options.choice {
        ConflictChoice::Stop => ConflictAction::Stop,
        ConflictChoice::Reject | ConflictChoice::KeepFirst => ConflictAction::KeepFirst,
        ConflictChoice::KeepLast => ConflictAction::KeepLast,
        ConflictChoice::Update => ConflictAction::Update(updated(rules, relation.schema(), columns)?),
    };
    let on = OnConflict { action, index: options.key.clone() };
    Ok(Conflicts { on, rejects: options.choice == ConflictChoice::Reject })
}

/// The columns that change with `columns`: these, and those that are generated from them alone.
fn updated(rules: &Rules, schema: &Schema, columns: &[usize]) -> Result<Vec<usize>, Error> {
    let mut updated = columns.to_vec();
    for (generated, expr) in rules.generated() {
        let reads = columns_read(expr, schema.columns());
        if !reads.iter().any(|read| updated.contains(read)) {
            continue;
        }
        if let Some(kept) = reads.iter().find(|read| !updated.contains(read)) {
            return Err(Error::unsupported(format!(
                "option ON_CONFLICT: update leaves column {} as it is, and a generated column or an index is computed from it \
                 and from others: {expr}; copy all of them, or set ON_CONFLICT keep_last",
                schema.columns()[*kept].name
            )));
        }
        updated.push(generated);
    }
    Ok(updated)
}

/// What is to be said of rows whose key was there, behind what else there is to say.
pub(crate) fn notice(merged: Merged, options: &ConflictOptions, notice: Option<String>) -> Option<String> {
    let Merged { inserted, updated, left_out } = merged;
    // Rejects speak for themselves.
    if (updated == 0 && left_out == 0) || options.choice == ConflictChoice::Reject {
        return notice;
    }
    let rows = |count: u64, what: &str| match count {
        1 => format!("1 row {what}"),
        count => format!("{count} rows {what}"),
    };
    let told = format!(
        "{}, {updated} updated, {left_out} left out (ON_CONFLICT {})",
        rows(inserted, "inserted"),
        options.choice.name()
    );
    Some(match notice {
        Some(notice) => format!("{told}; {notice}"),
        None => told,
    })
}

/// What a load did with rows by their keys.
pub(crate) fn merged(report: &LoadReport) -> Merged {
    Merged { inserted: report.rows, updated: report.updated, left_out: report.left_out }
}
