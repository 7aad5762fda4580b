//! The table that COPY FROM fills: which of its columns take fields, and what goes into the others.

use std::sync::Arc;

use longshore_load::Conflicts;
use longshore_storage::{Column, OnConflict, Schema};

use super::conflict;
use crate::catalog::{Origin, Rules, Table};
use crate::datafusion::Columnar;
use crate::sql::names;
use crate::sql::options::{ConflictChoice, MergeMode, Options};
use crate::text::{ColumnMapping, ComputedColumn};
use crate::{Error, ErrorKind};

/// Where COPY puts rows.
pub(super) struct Target {
    pub(super) table: Arc<Table>,
    /// The column of each field.
    pub(super) fields: Vec<usize>,
    /// What goes into columns that no field goes to.
    pub(super) computed: Vec<(usize, ComputedColumn)>,
    /// Whether the statement names columns.
    pub(super) names_columns: bool,
    pub(super) rules: Arc<Rules>,
}

impl Target {
    /// The table's `columns`, or all of them if none is named; `further` are what the options ask for beside the fields
    /// of the files.
    pub(super) fn new(
        table: Arc<Table>,
        columns: &[String],
        options: &Options,
        further: Vec<(Column, ComputedColumn)>,
    ) -> Result<Self, Error> {
        let (name, schema) = (&table.name, table.relation.schema());
        let mut fields = copied_positions(&table, columns)?;
        let mut computed = Vec::new();
        let place_of = |column: &str, computed_column: &ComputedColumn| {
            position(name, schema, column).map_err(|error| {
                error.reworded(|message| format!("{column} is to take {}: {message}", computed_column.described()))
            })
        };
        for (column, computed_column) in further {
            let place = place_of(&column.name, &computed_column)?;
            if !columns.is_empty() && fields.contains(&place) {
                return Err(Error::invalid(format!(
                    "column {} is among the columns to copy, but it is to take {}; leave it out there",
                    column.name,
                    computed_column.described()
                )));
            }
            fields.retain(|field| *field != place);
            computed.push((place, computed_column));
        }
        for (column, value) in options.defaults() {
            let computed_column = ComputedColumn::Value(value.to_owned());
            let place = place_of(column, &computed_column)?;
            if !fields.contains(&place) && !computed.iter().any(|(filled, _)| *filled == place) {
                computed.push((place, computed_column));
            }
        }
        let rules = table.rules();
        check_fields(name, schema, &rules, &fields, &computed)?;
        Ok(Self { fields, computed, names_columns: !columns.is_empty(), table, rules })
    }

    /// The columns that are copied.
    pub(super) fn names(&self) -> Vec<&str> {
        let columns = self.table.relation.schema().columns();
        self.fields.iter().map(|field| columns[*field].name.as_str()).collect()
    }

    /// What becomes of rows whose key is there already.
    pub(super) fn conflicts(&self, options: &Options) -> Result<Conflicts, Error> {
        let filled = self.computed.iter().map(|(column, _)| *column);
        let columns: Vec<usize> = self.fields.iter().copied().chain(filled).collect();
        conflict::conflicts(&options.conflict, (&self.table, &self.rules), &columns)
    }

    /// The same for rows that are no records of a text.
    pub(super) fn conflicts_of_rows(&self, options: &Options) -> Result<OnConflict, Error> {
        if options.conflict.choice == ConflictChoice::Reject {
            return Err(Error::unsupported(
                "option ON_CONFLICT: reject is for texts that are loaded without a condition; keep_first leaves the same \
                 rows out",
            ));
        }
        if options.merge_mode == MergeMode::Interleaved {
            return Err(Error::unsupported(
                "option MERGE_MODE: interleaved is for texts that are loaded without a condition; leave it out",
            ));
        }
        Ok(self.conflicts(options)?.on)
    }

    /// The columns that fields go to, which stand at `places`.
    pub(super) fn mapping<'a>(
        &'a self,
        places: &'a [usize],
        computed: &'a [(usize, ComputedColumn)],
    ) -> ColumnMapping<'a> {
        let columns = self.table.relation.schema().columns();
        let columns = self.fields.iter().map(|field| &columns[*field]).collect();
        ColumnMapping { columns, places, computed, are_listed: self.names_columns }
    }

    /// The column of the file that each copied column takes its values from: the one of its name.
    pub(super) fn fields_of(&self, files: &Columnar) -> Result<Vec<String>, Error> {
        let found: Vec<&str> = files.names().collect();
        let mut fields: Vec<String> = Vec::new();
        for name in self.names() {
            let alike: Vec<&&str> = found.iter().filter(|field| field.eq_ignore_ascii_case(name)).collect();
            let field = match (found.iter().find(|field| **field == name), alike.as_slice()) {
                (Some(exact), _) => exact,
                (None, [only]) => only,
                _ => {
                    return Err(Error::no_column(format!(
                        "{} has no column {name}; its columns are {}: name the columns to load, as in COPY {} (a, b) FROM",
                        files.shown(),
                        found.join(", "),
                        names::quoted(&self.table.name)
                    )));
                }
            };
            fields.push((*field).to_owned());
        }
        let left_over = found.iter().find(|field| !fields.iter().any(|used| used == **field));
        match left_over {
            Some(field) if !self.names_columns => Err(Error::invalid(format!(
                "{} has a column {field}, which table {} lacks; name the columns to load, as in COPY {} (a, b) FROM",
                files.shown(),
                self.table.name,
                names::quoted(&self.table.name)
            ))),
            _ => Ok(fields),
        }
    }
}

/// The positions of the columns that COPY is about: those that are named, or all that are not generated.
pub(crate) fn copied_positions(table: &Table, columns: &[String]) -> Result<Vec<usize>, Error> {
    let (schema, rules) = (table.relation.schema(), table.rules());
    let mut found = positions(&table.name, schema, columns)?;
    if columns.is_empty() {
        found.retain(|column| !rules.is_generated(*column));
    } else if let Some(generated) = found.iter().find(|column| rules.is_generated(**column)) {
        return Err(Error::new(
            ErrorKind::InvalidColumn,
            format!(
                "column \"{}\" is a generated column: generated columns cannot be used in COPY",
                schema.columns()[*generated].name
            ),
        ));
    }
    Ok(found)
}

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
fn position(table: &str, schema: &Schema, column: &str) -> Result<usize, Error> {
    schema.index_of(column).ok_or_else(|| {
        let known: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
        Error::no_column(format!("table {table} has no column {column}; its columns are {}", known.join(", ")))
    })
}

/// A column that is not in the file and has no other origin becomes NULL, so it must be allowed to.
fn check_fields(
    table: &str,
    schema: &Schema,
    rules: &Rules,
    fields: &[usize],
    computed: &[(usize, ComputedColumn)],
) -> Result<(), Error> {
    let is_filled = |position: usize| computed.iter().any(|(filled, _)| *filled == position);
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
