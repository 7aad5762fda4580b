//! PRIMARY KEY and UNIQUE in CREATE TABLE, and CREATE INDEX: what they are called, their columns, their kind.

use longshore_storage::{Column, IndexKind};
use sqlparser::ast::{
    BinaryOperator, ColumnOption, ConstraintCharacteristics, CreateIndex, DeferrableInitial, Expr, Ident, IndexColumn,
    IndexOption, IndexType, NullsDistinctOption, TableConstraint,
};

use crate::catalog::{IndexDefinition, Key, Role};
use crate::sql::names;
use crate::{Error, ErrorKind};

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
            let (role, of_constraint, characteristics, nulls) = match option {
                ColumnOption::PrimaryKey(key) => {
                    (Role::Primary, &key.name, &key.characteristics, NullsDistinctOption::None)
                }
                ColumnOption::Unique(key) => (Role::Unique, &key.name, &key.characteristics, key.nulls_distinct),
                _ => continue,
            };
            refuse_characteristics(characteristics.as_ref())?;
            let name = name.or(of_constraint.as_ref());
            let key = Key::of_columns(String::new(), vec![*column], IndexKind::Art, role);
            keys.add(table, columns, name, with_nulls(key, nulls))?;
        }
        for constraint in constraints {
            let (role, name, key_columns, kind, index_options, characteristics) = match constraint {
                TableConstraint::PrimaryKey(key) => {
                    (Role::Primary, &key.name, &key.columns, &key.index_type, &key.index_options, &key.characteristics)
                }
                TableConstraint::Unique(key) => {
                    (Role::Unique, &key.name, &key.columns, &key.index_type, &key.index_options, &key.characteristics)
                }
                _ => continue,
            };
            refuse_characteristics(characteristics.as_ref())?;
            let nulls = match constraint {
                TableConstraint::Unique(key) => key.nulls_distinct,
                _ => NullsDistinctOption::None,
            };
            let kind = index_kind(kind.as_ref(), index_options)?;
            let key = Key::of_columns(String::new(), positions(table, columns, key_columns)?, kind, role);
            keys.add(table, columns, name.as_ref(), with_nulls(key, nulls))?;
        }
        Ok(keys)
    }

    /// Adds a key, which has no name yet.
    fn add(&mut self, table: &str, columns: &mut [Column], name: Option<&Ident>, mut key: Key) -> Result<(), Error> {
        if key.role == Role::Primary {
            if self.keys.iter().any(|key| key.role == Role::Primary) {
                let problem = format!("table {table} has two primary keys; make one of them UNIQUE");
                return Err(Error::new(ErrorKind::InvalidTable, problem));
            }
            for column in &key.columns {
                columns[*column].nullable = false;
            }
        }
        let name = match name {
            Some(name) => names::identifier(name)?,
            None => self.unused(&default_name(table, columns, &key.columns, key.role)),
        };
        if self.keys.iter().any(|key| key.name == name) {
            return Err(Error::exists(format!("table {table}: two constraints have the name {name}; name them apart")));
        }
        key.name = name;
        self.keys.push(key);
        Ok(())
    }

    fn unused(&self, name: &str) -> String {
        names::unused(name, |name| self.keys.iter().any(|key| key.name == name))
    }
}

/// The index that a CREATE INDEX describes, on a table with these columns; `is_taken` says of names whether another
/// index has them. It has no columns yet if the table needs hidden ones for it.
pub(crate) fn of_index(
    table: &str,
    columns: &[Column],
    create: &CreateIndex,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Key, Error> {
    refuse_index_clauses(create)?;
    let nulls_are_equal = create.unique && create.nulls_distinct == Some(false);
    let role = if create.unique { Role::UniqueIndex } else { Role::Index };
    let index = index_kind(create.using.as_ref(), &create.index_options)?;
    let is_column = |part: &IndexColumn| matches!(part.column.expr, Expr::Identifier(_));
    let is_plain = create.columns.iter().all(is_column) && create.predicate.is_none() && create.include.is_empty();
    if is_plain {
        let key_columns = positions(table, columns, &create.columns)?;
        let name = index_name(create, &default_name(table, columns, &key_columns, role), is_taken)?;
        return Ok(Key { nulls_are_equal, ..Key::of_columns(name, key_columns, index, role) });
    }
    create.columns.iter().try_for_each(refuse_options)?;
    // The rows of the first columns are found by an index, whatever else is said. What it takes to keep others out is hidden
    // (`statement::hidden_columns`).
    let first: Vec<IndexColumn> = create.columns.iter().take_while(|part| is_column(part)).cloned().collect();
    let key_columns = positions(table, columns, &first)?;
    let include = create.include.iter().map(|name| Expr::Identifier(name.clone()));
    let definition = IndexDefinition {
        parts: create.columns.iter().map(|part| unnested(&part.column.expr)).collect(),
        predicate: create.predicate.as_ref().map(unnested),
        include: include.collect(),
    };
    check_columns(table, columns, &definition)?;
    let parts: Vec<&str> = definition.parts.iter().map(|part| name_of_part(part, columns)).collect();
    let name = index_name(create, &format!("{}_{}_idx", names::own(table), parts.join("_")), is_taken)?;
    let mut key = Key::of_columns(name, key_columns, index, role);
    (key.nulls_are_equal, key.definition) = (nulls_are_equal, Some(Box::new(definition)));
    if key.hides().is_some() {
        key.columns.clear();
    }
    Ok(key)
}

fn index_name(create: &CreateIndex, usual: &str, is_taken: impl Fn(&str) -> bool) -> Result<String, Error> {
    match &create.name {
        Some(name) => Ok(names::own(&names::relation(name)?).to_owned()),
        None => Ok(names::unused(usual, is_taken)),
    }
}

/// An expression without parentheses around it.
fn unnested(expr: &Expr) -> Expr {
    match expr {
        Expr::Nested(inner) => unnested(inner),
        other => other.clone(),
    }
}

/// What an index is called for the sake of one of its parts: the column, or the function, as in PostgreSQL.
fn name_of_part<'a>(part: &'a Expr, columns: &'a [Column]) -> &'a str {
    match part {
        Expr::Identifier(name) => {
            let known = columns.iter().find(|column| names::identifier(name).is_ok_and(|name| name == column.name));
            known.map_or("expr", |column| column.name.as_str())
        }
        Expr::Function(function) => {
            function.name.0.last().and_then(|part| part.as_ident()).map_or("expr", |name| name.value.as_str())
        }
        _ => "expr",
    }
}

/// Refuses names of columns that the table does not have.
fn check_columns(table: &str, columns: &[Column], definition: &IndexDefinition) -> Result<(), Error> {
    let named = definition.parts.iter().chain(&definition.include);
    for name in named.filter_map(|expr| if let Expr::Identifier(name) = expr { Some(name) } else { None }) {
        let name = names::identifier(name)?;
        if !columns.iter().any(|column| column.name == name) {
            return Err(Error::no_column(format!("column \"{name}\" of table {table} does not exist")));
        }
    }
    Ok(())
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

/// Classes of operators that order as a key does anyway: bytes of texts, values of numbers.
const OPERATOR_CLASSES: [&str; 20] = [
    "text_ops",
    "varchar_ops",
    "bpchar_ops",
    "text_pattern_ops",
    "varchar_pattern_ops",
    "bpchar_pattern_ops",
    "int2_ops",
    "int4_ops",
    "int8_ops",
    "float4_ops",
    "float8_ops",
    "numeric_ops",
    "date_ops",
    "time_ops",
    "timestamp_ops",
    "timestamptz_ops",
    "bool_ops",
    "uuid_ops",
    "bytea_ops",
    "name_ops",
];

/// Refuses what an index cannot heed behind a column or expression. Which way it is ordered makes no difference: it is read both
/// ways.
fn refuse_options(part: &IndexColumn) -> Result<(), Error> {
    let class = part.operator_class.as_ref().map(ToString::to_string);
    let is_known =
        class.as_ref().is_none_or(|class| OPERATOR_CLASSES.iter().any(|known| class.eq_ignore_ascii_case(known)));
    if !is_known || part.column.with_fill.is_some() {
        return Err(Error::unsupported(format!(
            "an index over {part} is not supported: keys are ordered by bytes of texts and values of numbers; leave the \
             operator class out"
        )));
    }
    Ok(())
}

fn positions(table: &str, columns: &[Column], key: &[IndexColumn]) -> Result<Vec<usize>, Error> {
    let mut positions = Vec::with_capacity(key.len());
    for part in key {
        refuse_options(part)?;
        let Expr::Identifier(ident) = &part.column.expr else {
            return Err(Error::unsupported(format!(
                "a key over {} is not supported; name columns only",
                part.column.expr
            )));
        };
        let name = names::identifier(ident)?;
        let position = columns.iter().position(|column| column.name == name).ok_or_else(|| {
            Error::no_column(format!("column {name} of table {table} does not exist, but is named in a key"))
        })?;
        if positions.contains(&position) {
            let problem = format!("column {name} stands twice in a key of table {table}; name it once");
            return Err(Error::new(ErrorKind::DuplicateColumn, problem));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Refuses a key that is to be checked later than row by row. NOT DEFERRABLE, which keys are, says nothing.
fn refuse_characteristics(characteristics: Option<&ConstraintCharacteristics>) -> Result<(), Error> {
    match characteristics {
        Some(characteristics)
            if characteristics.deferrable == Some(true)
                || characteristics.initially == Some(DeferrableInitial::Deferred)
                || characteristics.enforced == Some(false) =>
        {
            Err(Error::unsupported(format!(
                "keys with {characteristics} are not supported; they are checked row by row"
            )))
        }
        _ => Ok(()),
    }
}

/// The key with what is said of NULLs in it.
fn with_nulls(key: Key, nulls: NullsDistinctOption) -> Key {
    Key { nulls_are_equal: nulls == NullsDistinctOption::NotDistinct, ..key }
}

/// CONCURRENTLY says how PostgreSQL goes about it, and WITH (fillfactor = ...) how its pages are filled: neither means
/// anything here.
fn refuse_index_clauses(create: &CreateIndex) -> Result<(), Error> {
    let is_layout = |option: &Expr| match option {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, .. } => {
            let name = left.to_string().to_ascii_lowercase();
            ["fillfactor", "deduplicate_items"].contains(&name.as_str())
        }
        _ => false,
    };
    let clause = if !create.with.iter().all(is_layout) {
        "WITH"
    } else if !create.alter_options.is_empty() {
        "such options"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("CREATE INDEX with {clause} is not supported; leave it out")))
}
