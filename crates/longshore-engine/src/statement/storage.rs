//! How tables keep their rows: `CREATE TABLE ... WITH (storage = packed | plain)`, `ALTER TABLE ... SET (storage = ...)`,
//! and VACUUM, which packs what has become plain.

use std::sync::Arc;

use longshore_storage::{Freeze, Storage};
use sqlparser::ast::{CreateTableOptions, Expr, SqlOption, VacuumStatement, Value};

use crate::catalog::{Entry, Table};
use crate::sql::names;
use crate::statement::Context;
use crate::{Error, Outcome, blocking};

/// Rows that a chunk has at least for VACUUM to pack it: of fewer it would save next to nothing.
const ROWS_WORTH_PACKING: usize = 1024;

/// What WITH says in CREATE TABLE.
pub(crate) fn of_table_options(options: &CreateTableOptions) -> Result<Storage, Error> {
    match options {
        CreateTableOptions::None => Ok(Storage::default()),
        CreateTableOptions::With(options) => of_options(options),
        other => Err(Error::unsupported(format!("CREATE TABLE with {other} is not supported yet; leave it out"))),
    }
}

/// What a list of options says.
pub(crate) fn of_options(options: &[SqlOption]) -> Result<Storage, Error> {
    let mut storage = None;
    for option in options {
        let SqlOption::KeyValue { key, value } = option else { return Err(unknown(option)) };
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
    Ok(storage.unwrap_or_default())
}

fn unknown(option: &SqlOption) -> Error {
    let name = match option {
        SqlOption::KeyValue { key, .. } => key.value.clone(),
        other => other.to_string(),
    };
    Error::invalid(format!("unrecognized parameter \"{name}\"; tables have one, storage, which is packed or plain"))
}

/// Packs what has become plain of a table, or of all whose storage is packed, beside those who work on them.
pub(crate) async fn vacuum(context: &Context<'_>, vacuum: VacuumStatement) -> Result<Outcome, Error> {
    let VacuumStatement { table_name, .. } = &vacuum;
    let understood = VacuumStatement {
        full: false,
        sort_only: false,
        delete_only: false,
        reindex: false,
        recluster: false,
        table_name: table_name.clone(),
        threshold: None,
        boost: false,
    };
    if vacuum != understood {
        return Err(Error::unsupported("VACUUM takes nothing but the name of a table; leave the rest out"));
    }
    let entries = match table_name {
        None => context.database.catalog.entries(),
        Some(name) => {
            let name = names::relation(name)?;
            vec![context.entry(&name).ok_or_else(|| Error::not_found(format!("table {name} does not exist")))?]
        }
    };
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Table(table) => tables.push(table),
            Entry::View(_) if table_name.is_none() => {}
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
