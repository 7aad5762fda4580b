//! How tables keep their rows: `CREATE TABLE ... WITH (storage = packed | plain)`, `ALTER TABLE ... SET (storage = ...)`,
//! and VACUUM, which packs what has become plain. UNLOGGED is one of the options as well (`sql::persistence`).

use std::sync::Arc;

use longshore_storage::{Freeze, Relation, Storage};
use sqlparser::ast::{CreateTableOptions, Expr, ObjectName, SqlOption, Value};

use crate::catalog::{Entry, Table};
use crate::sql::{names, persistence};
use crate::statement::Context;
use crate::{Error, Outcome, blocking};

/// Rows that a chunk has at least for VACUUM to pack it: of fewer it would save next to nothing.
const ROWS_WORTH_PACKING: usize = 1024;

/// Options of PostgreSQL's tables that are about its files and its upkeep: they mean nothing here.
const LAYOUT: [&str; 8] = [
    "fillfactor",
    "toast_tuple_target",
    "parallel_workers",
    "autovacuum_enabled",
    "autovacuum_vacuum_threshold",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_analyze_threshold",
    "autovacuum_analyze_scale_factor",
];

/// How a table keeps its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableStorage {
    pub(crate) storage: Storage,
    /// Whether it is not UNLOGGED.
    pub(crate) is_logged: bool,
}

impl Default for TableStorage {
    fn default() -> Self {
        Self { storage: Storage::default(), is_logged: true }
    }
}

impl TableStorage {
    /// That of a table.
    pub(crate) fn of(relation: &Relation) -> Self {
        Self { storage: relation.storage(), is_logged: relation.is_logged() }
    }

    /// Has a relation that nobody knows yet keep its rows so.
    pub(crate) fn apply(self, relation: &Relation) {
        relation.set_storage(self.storage);
        relation.set_logged(self.is_logged);
    }

    /// What WITH says in CREATE TABLE.
    pub(crate) fn of_table_options(options: &CreateTableOptions) -> Result<Self, Error> {
        let mut storage = Self::default();
        match options {
            CreateTableOptions::None => {}
            CreateTableOptions::With(options) => storage.set(options)?,
            other => {
                return Err(Error::unsupported(format!(
                    "CREATE TABLE with {other} is not supported yet; leave it out"
                )));
            }
        }
        Ok(storage)
    }

    /// Does what a list of options says.
    pub(crate) fn set(&mut self, options: &[SqlOption]) -> Result<(), Error> {
        let mut storage = None;
        for option in options {
            if persistence::is_unlogged(option) {
                self.is_logged = false;
                continue;
            }
            let SqlOption::KeyValue { key, value } = option else { return Err(unknown(option)) };
            if LAYOUT.iter().any(|known| key.value.eq_ignore_ascii_case(known)) {
                continue;
            }
            if !key.value.eq_ignore_ascii_case("storage") {
                return Err(unknown(option));
            }
            let word = match value {
                Expr::Identifier(word) => word.value.clone(),
                Expr::Value(value) => match &value.value {
                    Value::SingleQuotedString(word) => word.clone(),
                    other => other.to_string(),
                },
                other => other.to_string(),
            };
            let given = match word.to_ascii_lowercase().as_str() {
                "packed" => Storage::Packed,
                "plain" => Storage::Plain,
                _ => return Err(Error::invalid(format!("storage is packed or plain, not {word}"))),
            };
            if storage.replace(given).is_some() {
                return Err(Error::invalid("parameter \"storage\" specified more than once"));
            }
        }
        self.storage = storage.unwrap_or(self.storage);
        Ok(())
    }
}

fn unknown(option: &SqlOption) -> Error {
    let name = match option {
        SqlOption::KeyValue { key, .. } => key.value.clone(),
        other => other.to_string(),
    };
    Error::invalid(format!("unrecognized parameter \"{name}\"; tables have one, storage, which is packed or plain"))
}

/// Packs what has become plain of tables, or of all whose storage is packed, beside those who work on them.
pub(crate) async fn vacuum(context: &Context<'_>, named: &[&ObjectName]) -> Result<Outcome, Error> {
    let mut entries = context.database.catalog.entries();
    if !named.is_empty() {
        entries.clear();
        for name in named {
            let name = names::relation(name)?;
            entries.push(context.entry(&name).ok_or_else(|| Error::not_found(format!("table {name} does not exist")))?);
        }
    }
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Table(table) => tables.push(table),
            Entry::View(_) if named.is_empty() => {}
            Entry::View(view) => return Err(Error::invalid(format!("{} is a view, not a table", view.name))),
        }
    }
    blocking::run(context.control, move |control| {
        for table in tables.iter().filter(|table| table.relation.storage() == Storage::Packed) {
            table.relation.freeze(Freeze::All, ROWS_WORTH_PACKING, &|| control.is_cancelled())?;
        }
        if control.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    })
    .await?;
    Ok(Outcome::done("VACUUM"))
}
