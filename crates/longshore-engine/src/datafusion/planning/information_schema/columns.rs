//! What the tables of `information_schema` have for columns, and how they are made of rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::MemTable;

/// A value of a table.
pub(super) enum Cell {
    Null,
    Text(String),
    Number(i32),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Number(i32::try_from(number).unwrap_or(i32::MAX))
    }
}

/// The columns of a table; those whose names end with `#` hold numbers.
pub(super) type Columns = &'static [&'static str];

pub(super) const TABLES: Columns =
    &["table_catalog", "table_schema", "table_name", "table_type", "is_insertable_into", "is_typed", "commit_action"];
pub(super) const VIEWS: Columns = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "view_definition",
    "check_option",
    "is_updatable",
    "is_insertable_into",
];
pub(super) const SCHEMATA: Columns = &["catalog_name", "schema_name", "schema_owner"];
pub(super) const COLUMNS: Columns = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "ordinal_position#",
    "column_default",
    "is_nullable",
    "data_type",
    "character_maximum_length#",
    "character_octet_length#",
    "numeric_precision#",
    "numeric_precision_radix#",
    "numeric_scale#",
    "datetime_precision#",
    "domain_catalog",
    "domain_schema",
    "domain_name",
    "udt_catalog",
    "udt_schema",
    "udt_name",
    "is_identity",
    "identity_generation",
    "is_generated",
    "generation_expression",
    "is_updatable",
];
pub(super) const TABLE_CONSTRAINTS: Columns = &[
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
    "table_catalog",
    "table_schema",
    "table_name",
    "constraint_type",
    "is_deferrable",
    "initially_deferred",
    "enforced",
    "nulls_distinct",
];
pub(super) const KEY_COLUMN_USAGE: Columns = &[
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "ordinal_position#",
    "position_in_unique_constraint#",
];
pub(super) const CONSTRAINT_COLUMN_USAGE: Columns = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
];
pub(super) const REFERENTIAL_CONSTRAINTS: Columns = &[
    "constraint_catalog",
    "constraint_schema",
    "constraint_name",
    "unique_constraint_catalog",
    "unique_constraint_schema",
    "unique_constraint_name",
    "match_option",
    "update_rule",
    "delete_rule",
];
pub(super) const CHECK_CONSTRAINTS: Columns =
    &["constraint_catalog", "constraint_schema", "constraint_name", "check_clause"];
pub(super) const SEQUENCES: Columns = &[
    "sequence_catalog",
    "sequence_schema",
    "sequence_name",
    "data_type",
    "numeric_precision#",
    "numeric_precision_radix#",
    "numeric_scale#",
    "start_value",
    "minimum_value",
    "maximum_value",
    "increment",
    "cycle_option",
];

/// A table of these rows.
pub(super) fn made(columns: Columns, rows: &[Vec<Cell>]) -> Result<Arc<dyn TableProvider>> {
    let is_number = |column: &&str| column.ends_with('#');
    let fields = columns.iter().map(|column| {
        let data_type = if is_number(column) { DataType::Int32 } else { DataType::Utf8 };
        Field::new(column.trim_end_matches('#'), data_type, true)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.iter().enumerate().map(|(at, column)| -> ArrayRef {
        if is_number(column) {
            let number = |row: &Vec<Cell>| if let Cell::Number(number) = &row[at] { Some(*number) } else { None };
            return Arc::new(rows.iter().map(number).collect::<Int32Array>());
        }
        let text = |row: &Vec<Cell>| if let Cell::Text(text) = &row[at] { Some(text.clone()) } else { None };
        Arc::new(rows.iter().map(text).collect::<StringArray>())
    });
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect())?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}
