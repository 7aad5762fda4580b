//! The columns of a relation, those that statements see and those that its indexes have for themselves.

use std::sync::Arc;

use arrow_schema::{Field, SchemaRef};

use super::ColumnType;

/// Begins the names of hidden columns; no other name has it.
const HIDDEN: char = '\0';

/// Begins the names of those that say which rows a key is about.
const FILTER: &str = "\0where ";

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, as the catalog knows it.
    pub name: String,
    /// The type.
    pub column_type: ColumnType,
    /// Whether it may hold NULL.
    pub nullable: bool,
}

impl Column {
    /// A column.
    #[must_use]
    pub fn new(name: impl Into<String>, column_type: ColumnType, nullable: bool) -> Column {
        Column { name: name.into(), column_type, nullable }
    }

    /// A hidden column, which holds a part of a key that is no column.
    #[must_use]
    pub fn hidden(number: usize, column_type: ColumnType) -> Column {
        Column::new(format!("{HIDDEN}key {number}"), column_type, true)
    }

    /// A hidden column that says which rows a key is about: TRUE in these, NULL in all others, which have no key then.
    #[must_use]
    pub fn filter(number: usize) -> Column {
        Column::new(format!("{FILTER}{number}"), ColumnType::Boolean, true)
    }

    /// Whether no statement sees it.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.name.starts_with(HIDDEN)
    }

    /// Whether it says which rows a key is about.
    pub(crate) fn is_filter(&self) -> bool {
        self.name.starts_with(FILTER)
    }

    /// The name, as messages show it.
    pub(crate) fn shown_name(&self) -> &str {
        self.name.trim_start_matches(HIDDEN)
    }

    /// What it is to readers.
    #[must_use]
    pub fn field(&self) -> Field {
        Field::new(&self.name, self.column_type.arrow(), self.nullable)
    }
}

/// The columns of a relation, in order. Behind those that statements see there may be hidden ones, which its indexes have for
/// themselves.
#[derive(Clone, Debug)]
pub struct Schema {
    columns: Vec<Column>,
    /// How many of them are not hidden.
    visible: usize,
    /// Of those that are not hidden.
    arrow: SchemaRef,
    all: SchemaRef,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.columns == other.columns
    }
}

impl Eq for Schema {}

impl Schema {
    /// A schema of these columns, the hidden ones behind the others. That names differ is the caller's concern.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Schema {
        let visible = columns.iter().take_while(|column| !column.is_hidden()).count();
        debug_assert!(columns[visible..].iter().all(Column::is_hidden), "hidden columns are behind all others");
        let of = |columns: &[Column]| {
            let fields: Vec<Field> = columns.iter().map(Column::field).collect();
            Arc::new(arrow_schema::Schema::new(fields))
        };
        let all = of(&columns);
        let arrow = if visible == columns.len() { Arc::clone(&all) } else { of(&columns[..visible]) };
        Schema { columns, visible, arrow, all }
    }

    /// The columns, in order, but for the hidden ones.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns[..self.visible]
    }

    /// The columns with the hidden ones, in order: what a row is stored as.
    #[must_use]
    pub fn all_columns(&self) -> &[Column] {
        &self.columns
    }

    /// The same without hidden columns.
    #[must_use]
    pub fn visible(&self) -> Schema {
        Schema::new(self.columns().to_vec())
    }

    /// The position of the first column with this very name.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// The schema of the batches that readers get, without hidden columns.
    #[must_use]
    pub fn arrow(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    /// The schema of the batches that are appended.
    pub(crate) fn all_arrow(&self) -> SchemaRef {
        Arc::clone(&self.all)
    }
}
