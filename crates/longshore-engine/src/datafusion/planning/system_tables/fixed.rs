//! Rows of system tables that are the same in every database: types, operators, casts, languages and their like.
//!
//! The files have the rows as COPY writes them, with all columns in their order.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use datafusion::arrow::datatypes::DataType;

use super::PG_CATALOG;
use super::definition::{self, Definition};
use super::rows::Cell;

const FILES: [(&str, &str); 12] = [
    ("pg_aggregate", include_str!("rows/pg_aggregate.txt")),
    ("pg_am", include_str!("rows/pg_am.txt")),
    ("pg_cast", include_str!("rows/pg_cast.txt")),
    ("pg_collation", include_str!("rows/pg_collation.txt")),
    ("pg_language", include_str!("rows/pg_language.txt")),
    ("pg_opclass", include_str!("rows/pg_opclass.txt")),
    ("pg_operator", include_str!("rows/pg_operator.txt")),
    ("pg_opfamily", include_str!("rows/pg_opfamily.txt")),
    ("pg_proc", include_str!("rows/pg_proc.txt")),
    ("pg_tablespace", include_str!("rows/pg_tablespace.txt")),
    ("pg_type", include_str!("rows/pg_type.txt")),
    ("pg_description", include_str!("rows/pg_description.txt")),
];

/// The rows of a table that are fixed.
pub(super) struct Fixed {
    pub(super) rows: Vec<Vec<Cell>>,
}

static TABLES: LazyLock<BTreeMap<&str, Fixed>> = LazyLock::new(|| {
    let read = FILES.into_iter().filter_map(|(name, text)| {
        let definition = definition::find(PG_CATALOG, name)?;
        Some((name, Fixed { rows: text.lines().map(|line| row(definition, line)).collect() }))
    });
    read.collect()
});

/// The fixed rows of a table of `pg_catalog`, as COPY writes them.
pub(super) fn text(name: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// The fixed rows of a table of `pg_catalog`.
pub(super) fn table(name: &str) -> Option<&'static Fixed> {
    TABLES.get(name)
}

/// The same, none for a table without any.
pub(super) fn rows(definition: &Definition) -> &'static [Vec<Cell>] {
    let found = (definition.schema == PG_CATALOG).then(|| table(definition.name)).flatten();
    found.map_or(&[], |table| &table.rows)
}

/// The place of a column of a table of `pg_catalog`.
pub(super) fn place(table: &str, column: &str) -> usize {
    let definition = definition::find(PG_CATALOG, table);
    let place = definition.and_then(|of| of.columns.iter().position(|known| known.name == column));
    place.unwrap_or_default()
}

fn row(definition: &Definition, line: &str) -> Vec<Cell> {
    let cells = line.split('\t').zip(definition.arrow.fields());
    cells.map(|(text, field)| cell(text, field.data_type())).collect()
}

/// A value as COPY writes it. None of the texts here has a character that COPY escapes.
fn cell(text: &str, data_type: &DataType) -> Cell {
    if text == "\\N" {
        return Cell::Null;
    }
    let elements = || {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let separator = if inner.is_some() { ',' } else { ' ' };
        inner.unwrap_or(text).split(separator).filter(|text| !text.is_empty()).map(|text| text.trim_matches('"'))
    };
    match data_type {
        DataType::Boolean => Cell::Bool(text == "t"),
        DataType::Int16 | DataType::Int32 | DataType::Int64 => text.parse::<i64>().map_or(Cell::Null, Cell::Int),
        DataType::Float32 | DataType::Float64 => text.parse::<f64>().map_or(Cell::Null, Cell::Float),
        DataType::List(item) if item.data_type().is_integer() => {
            Cell::Ints(elements().filter_map(|text| text.parse().ok()).collect())
        }
        DataType::List(_) => Cell::Texts(elements().map(str::to_owned).collect()),
        _ => Cell::Text(text.to_owned().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_all_columns() {
        for (name, text) in FILES {
            let columns = definition::find(PG_CATALOG, name).unwrap().columns.len();
            for line in text.lines() {
                assert_eq!(line.split('\t').count(), columns, "{name}: {line}");
            }
        }
    }
}
