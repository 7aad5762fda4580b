//! Which system tables there are, and their columns: those of PostgreSQL 15.
//!
//! The files list a table a line: its name, its OID in PostgreSQL, `r` for a table and `v` for a view, and its columns with
//! their types; `!` stands behind what is never NULL.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};

use super::kind;
use super::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::builtin_types::PG_TYPE;

const FILES: [(&str, &str); 2] =
    [(PG_CATALOG, include_str!("pg_catalog.txt")), (INFORMATION_SCHEMA, include_str!("information_schema.txt"))];

/// A system table.
#[derive(Debug)]
pub(in crate::datafusion::planning) struct Definition {
    pub(in crate::datafusion::planning) schema: &'static str,
    pub(in crate::datafusion::planning) name: &'static str,
    pub(in crate::datafusion::planning) oid: u32,
    pub(super) is_view: bool,
    pub(super) columns: Vec<SystemColumn>,
    pub(super) arrow: SchemaRef,
}

/// A column of a system table.
#[derive(Debug)]
pub(super) struct SystemColumn {
    pub(super) name: &'static str,
    /// The type as `pg_type` names it.
    pub(super) type_name: &'static str,
    pub(super) not_null: bool,
}

impl Definition {
    fn read(schema: &'static str, line: &'static str) -> Option<Self> {
        let (head, columns) = line.split_once(": ")?;
        let mut head = head.split(' ');
        let (name, oid, of) = (head.next()?, head.next()?.parse().ok()?, head.next()?);
        let columns = columns.split(", ").map(SystemColumn::read).collect::<Option<Vec<_>>>()?;
        let field = |column: &SystemColumn| {
            let field = Field::new(column.name, kind::arrow(column.type_name), true);
            match kind::told(column.type_name) {
                Some(told) => field.with_metadata([(PG_TYPE.to_owned(), told.to_owned())].into()),
                None => field,
            }
        };
        let arrow = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Some(Self { schema, name, oid, is_view: of == "v", columns, arrow })
    }
}

impl SystemColumn {
    fn read(text: &'static str) -> Option<Self> {
        let (name, spelled) = text.split_once(' ')?;
        let not_null = spelled.ends_with('!');
        Some(Self { name, type_name: kind::type_name(spelled.trim_end_matches('!')), not_null })
    }
}

static DEFINITIONS: LazyLock<BTreeMap<&str, BTreeMap<&str, Definition>>> = LazyLock::new(|| {
    let tables = |schema, text: &'static str| {
        let read = text.lines().filter_map(|line| Definition::read(schema, line));
        read.map(|definition| (definition.name, definition)).collect()
    };
    FILES.into_iter().map(|(schema, text)| (schema, tables(schema, text))).collect()
});

/// The system table of this name.
pub(super) fn find(schema: &str, name: &str) -> Option<&'static Definition> {
    DEFINITIONS.get(schema)?.get(name)
}

/// All system tables.
pub(in crate::datafusion::planning) fn relations() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.values().flat_map(BTreeMap::values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let lines: usize = FILES.iter().map(|(_, text)| text.lines().count()).sum();
        assert_eq!(relations().count(), lines);
        let class = find(PG_CATALOG, "pg_class").unwrap();
        assert_eq!((class.oid, class.columns.len(), class.columns[0].type_name), (1259, 33, "oid"));
    }
}
