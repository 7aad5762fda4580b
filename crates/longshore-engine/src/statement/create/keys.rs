//! PRIMARY KEY and UNIQUE in CREATE TABLE, and CREATE INDEX: what they are called, their columns, their kind.

use longshore_storage::{Column, IndexKind};
use sqlparser::ast::{
    ColumnOption, ConstraintCharacteristics, CreateIndex, Expr, Ident, IndexColumn, IndexOption, IndexType,
    NullsDistinctOption, OrderByOptions, TableConstraint,
};

use crate::Error;
use crate::catalog::{Key, Role};
use crate::sql::names;

/// What a table demands of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<Key>,
}

impl Keys {
    /// The keys of a table with these column definitions' options and constraints. Columns of the primary key become
    /// NOT NULL.
    pub(crate) fn new(
        table: &str,
        columns: &mut [Column],
        options: &[(usize, &ColumnOption, Option<&Ident>)],
        constraints: &[TableConstraint],
    ) -> Result<Self, Error> {
        let mut keys = Self::default();
        for (column, option, name) in options {
            let (role, of_constraint, characteristics) = match option {
                ColumnOption::PrimaryKey(key) => (Role::Primary, &key.name, &key.characteristics),
                ColumnOption::Unique(key) => {
                    refuse_nulls(key.nulls_distinct)?;
                    (Role::Unique, &key.name, &key.characteristics)
                }
                _ => continue,
            };
            refuse_characteristics(characteristics.as_ref())?;
            let name = name.or(of_constraint.as_ref());
            keys.add(table, columns, role, name, vec![*column], IndexKind::Art)?;
        }
        for constraint in constraints {
            let (role, name, key_columns, kind, index_options, characteristics) = match constraint {
                TableConstraint::PrimaryKey(key) => {
                    (Role::Primary, &key.name, &key.columns, &key.index_type, &key.index_options, &key.characteristics)
                }
                TableConstraint::Unique(key) => {
                    refuse_nulls(key.nulls_distinct)?;
                    (Role::Unique, &key.name, &key.columns, &key.index_type, &key.index_options, &key.characteristics)
                }
                _ => continue,
            };
            refuse_characteristics(characteristics.as_ref())?;
            let kind = index_kind(kind.as_ref(), index_options)?;
            let key_columns = positions(table, columns, key_columns)?;
            keys.add(table, columns, role, name.as_ref(), key_columns, kind)?;
        }
        Ok(keys)
    }

    fn add(
        &mut self,
        table: &str,
        columns: &mut [Column],
        role: Role,
        name: Option<&Ident>,
        key_columns: Vec<usize>,
        index: IndexKind,
    ) -> Result<(), Error> {
        if role == Role::Primary {
            if self.keys.iter().any(|key| key.role == Role::Primary) {
                return Err(Error::invalid(format!("table {table} has two primary keys; make one of them UNIQUE")));
            }
            for column in &key_columns {
                columns[*column].nullable = false;
            }
        }
        let name = match name {
            Some(name) => names::identifier(name)?,
            None => self.unused(&default_name(table, columns, &key_columns, role)),
        };
        if self.keys.iter().any(|key| key.name == name) {
            return Err(Error::exists(format!("table {table}: two constraints have the name {name}; name them apart")));
        }
        self.keys.push(Key { name, columns: key_columns, index, role });
        Ok(())
    }

    fn unused(&self, name: &str) -> String {
        names::unused(name, |name| self.keys.iter().any(|key| key.name == name))
    }
}

/// The index that a CREATE INDEX describes, on a table with these columns; `is_taken` says of names whether another
/// index has them.
pub(crate) fn of_index(
    table: &str,
    columns: &[Column],
    create: &CreateIndex,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Key, Error> {
    refuse_index_clauses(create)?;
    let role = if create.unique { Role::UniqueIndex } else { Role::Index };
    let index = index_kind(create.using.as_ref(), &create.index_options)?;
    let key_columns = positions(table, columns, &create.columns)?;
    let name = match &create.name {
        Some(name) => names::own(&names::relation(name)?).to_owned(),
        None => names::unused(&default_name(table, columns, &key_columns, role), is_taken),
    };
    Ok(Key { name, columns: key_columns, index, role })
}

fn default_name(table: &str, columns: &[Column], key_columns: &[usize], role: Role) -> String {
    let table = names::own(table);
    let of_columns: Vec<&str> = key_columns.iter().map(|column| columns[*column].name.as_str()).collect();
    match role {
        Role::Primary => format!("{table}_pkey"),
        Role::Unique => format!("{table}_{}_key", of_columns.join("_")),
        Role::UniqueIndex | Role::Index => format!("{table}_{}_idx", of_columns.join("_")),
    }
}

fn index_kind(using: Option<&IndexType>, options: &[IndexOption]) -> Result<IndexKind, Error> {
    let in_options = options.iter().find_map(|option| match option {
        IndexOption::Using(kind) => Some(kind),
        IndexOption::Comment(_) => None,
    });
    match using.or(in_options) {
        None | Some(IndexType::BTree) => Ok(IndexKind::Art),
        Some(IndexType::Hash) => Ok(IndexKind::Hash),
        Some(IndexType::Custom(name)) if name.value.eq_ignore_ascii_case("art") => Ok(IndexKind::Art),
        Some(other) => Err(Error::unsupported(format!(
            "an index USING {other} is not supported; there are art (the default, ordered, also spelled btree) and hash"
        ))),
    }
}

fn positions(table: &str, columns: &[Column], key: &[IndexColumn]) -> Result<Vec<usize>, Error> {
    let mut positions = Vec::with_capacity(key.len());
    for IndexColumn { column, operator_class } in key {
        let plain = column.options == OrderByOptions::default() && column.with_fill.is_none();
        let Expr::Identifier(ident) = &column.expr else {
            return Err(Error::unsupported(format!("a key over {} is not supported; name columns only", column.expr)));
        };
        if operator_class.is_some() || !(plain || column.options.asc == Some(true)) {
            return Err(Error::unsupported(format!(
                "a key takes the names of columns only; leave out what stands behind {ident}"
            )));
        }
        let name = names::identifier(ident)?;
        let position = columns.iter().position(|column| column.name == name).ok_or_else(|| {
            Error::no_column(format!("column {name} of table {table} does not exist, but is named in a key"))
        })?;
        if positions.contains(&position) {
            return Err(Error::invalid(format!("column {name} stands twice in a key of table {table}; name it once")));
        }
        positions.push(position);
    }
    Ok(positions)
}

fn refuse_characteristics(characteristics: Option<&ConstraintCharacteristics>) -> Result<(), Error> {
    match characteristics {
        None => Ok(()),
        Some(characteristics) => Err(Error::unsupported(format!(
            "keys with {characteristics} are not supported; they are checked row by row"
        ))),
    }
}

fn refuse_nulls(nulls: NullsDistinctOption) -> Result<(), Error> {
    if nulls == NullsDistinctOption::NotDistinct {
        return Err(Error::unsupported("UNIQUE NULLS NOT DISTINCT is not supported; NULLs differ from each other"));
    }
    Ok(())
}

fn refuse_index_clauses(create: &CreateIndex) -> Result<(), Error> {
    let clause = if create.predicate.is_some() {
        "WHERE"
    } else if !create.include.is_empty() {
        "INCLUDE"
    } else if !create.with.is_empty() {
        "WITH"
    } else if create.concurrently {
        "CONCURRENTLY"
    } else if create.nulls_distinct == Some(false) {
        "NULLS NOT DISTINCT"
    } else if !create.alter_options.is_empty() {
        "such options"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("CREATE INDEX with {clause} is not supported; leave it out")))
}
