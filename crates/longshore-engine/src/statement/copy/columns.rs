//! Which columns of a table COPY FROM fills.

use longshore_storage::Schema;

use crate::Error;
use crate::catalog::{Origin, Rules};
use crate::datafusion::Filling;
use crate::sql::options::Options;

/// The positions of `columns` in the table; all positions if no column is named.
pub(crate) fn positions(table: &str, schema: &Schema, columns: &[String]) -> Result<Vec<usize>, Error> {
    if columns.is_empty() {
        return Ok((0..schema.columns().len()).collect());
    }
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let position = position(table, schema, column)?;
        if found.contains(&position) {
            return Err(Error::invalid(format!("column {column} is named twice; name it once")));
        }
        found.push(position);
    }
    Ok(found)
}

/// The position of `column` in the table.
pub(super) fn position(table: &str, schema: &Schema, column: &str) -> Result<usize, Error> {
    schema.index_of(column).ok_or_else(|| {
        let known: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
        Error::no_column(format!("table {table} has no column {column}; its columns are {}", known.join(", ")))
    })
}

/// A column that is not in the file and has no other origin becomes NULL, so it must be allowed to.
pub(super) fn check_fields(
    table: &str,
    schema: &Schema,
    rules: &Rules,
    fields: &[usize],
    fillings: &[(usize, Filling)],
) -> Result<(), Error> {
    let is_filled = |position: usize| fillings.iter().any(|(filled, _)| *filled == position);
    for (position, column) in schema.columns().iter().enumerate() {
        let is_null = matches!(rules.origin(position), Origin::Null);
        if !column.nullable && is_null && !fields.contains(&position) && !is_filled(position) {
            return Err(Error::invalid(format!(
                "column {} of table {table} is NOT NULL, but it is not among the columns to load; name it",
                column.name
            )));
        }
    }
    Ok(())
}

/// Columns that options name must be among those that are copied.
pub(crate) fn check_named(options: &Options, copied: &[&str]) -> Result<(), Error> {
    for (option, column) in options.named_columns() {
        if !copied.contains(&column) {
            return Err(Error::no_column(format!(
                "option {option}: column {column} is not among the columns to copy, {}",
                copied.join(", ")
            )));
        }
    }
    Ok(())
}
