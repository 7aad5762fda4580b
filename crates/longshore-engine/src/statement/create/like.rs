//! `LIKE u [INCLUDING ...]` among the columns of CREATE TABLE: the columns of `u` with their types and NOT NULL, and on demand
//! their defaults, identities and generated values, and the checks, keys, indexes and comments of `u`.

use std::collections::BTreeSet;

use longshore_storage::Column;
use sqlparser::ast::{ColumnDef, CreateIndex, CreateTable, Statement, TableConstraint};

use super::keys::of_index;
use crate::catalog::{Catalog, Check, Commented, Entry, Origin, Role, Rules, Table, kind_name};
use crate::sql::like::{self, Like};
use crate::sql::{self, Parsed, names};
use crate::statement::{Context, own_types};
use crate::{Error, ErrorKind};

/// What of a table that is like others cannot be said in CREATE TABLE.
#[derive(Default)]
pub(super) struct Further {
    indexes: Vec<CreateIndex>,
    comments: Vec<(Commented, String)>,
}

/// What LIKE includes beyond columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Comments,
    Constraints,
    Defaults,
    Generated,
    Identity,
    Indexes,
}

const PARTS: [(&str, Part); 6] = [
    ("comments", Part::Comments),
    ("constraints", Part::Constraints),
    ("defaults", Part::Defaults),
    ("generated", Part::Generated),
    ("identity", Part::Identity),
    ("indexes", Part::Indexes),
];

/// What there is of columns in PostgreSQL and not here.
const OTHER_PARTS: [&str; 3] = ["compression", "statistics", "storage"];

/// `create` with the columns that each LIKE stands for.
pub(super) fn written_out(context: &Context<'_>, create: &mut CreateTable) -> Result<Further, Error> {
    let mut further = Further::default();
    if create.columns.iter().all(|column| like::of_column(column).is_none()) {
        return Ok(further);
    }
    let name = names::quoted(&names::relation(&create.name)?);
    for column in std::mem::take(&mut create.columns) {
        match like::of_column(&column) {
            Some(like) => {
                let (columns, constraints) = copied(context, &name, &like, &mut further)?;
                create.columns.extend(columns);
                create.constraints.extend(constraints);
            }
            None => create.columns.push(column),
        }
    }
    Ok(further)
}

fn included(like: &Like<'_>) -> Result<BTreeSet<Part>, Error> {
    let mut parts = BTreeSet::new();
    for option in like.options {
        let (is_included, what) = match option.split_once('_') {
            Some(("including", what)) => (true, what),
            Some((_, what)) => (false, what),
            None => continue,
        };
        let of: Vec<Part> = match PARTS.iter().find(|(name, _)| *name == what) {
            Some((_, part)) => vec![*part],
            None if what == "all" => PARTS.iter().map(|(_, part)| *part).collect(),
            None if OTHER_PARTS.contains(&what) => Vec::new(),
            None => return Err(Error::syntax(format!("LIKE includes no {}", what.to_uppercase()))),
        };
        for part in of {
            let _ = if is_included { parts.insert(part) } else { parts.remove(&part) };
        }
    }
    Ok(parts)
}

fn copied(
    context: &Context<'_>,
    name: &str,
    like: &Like<'_>,
    further: &mut Further,
) -> Result<(Vec<ColumnDef>, Vec<TableConstraint>), Error> {
    let parts = included(like)?;
    let source = names::relation(like.table)?;
    let table = match context.entry(&source) {
        None if context.database.catalog.sequence(&source).is_some() => {
            return Err(Error::new(
                ErrorKind::WrongObject,
                format!("relation \"{source}\" is invalid in LIKE clause: it is a sequence"),
            ));
        }
        None => return Err(Error::not_found(format!("relation \"{source}\" does not exist"))),
        Some(Entry::View(_)) => {
            return Err(Error::unsupported(format!(
                "LIKE takes a table, and {source} is a view; write CREATE TABLE ... AS SELECT * FROM {source} LIMIT 0"
            )));
        }
        Some(Entry::Table(table)) => table,
    };
    let catalog = &context.database.catalog;
    let rules = table.rules();
    let mut texts = column_texts(catalog, &table, &rules, &parts);
    if texts.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    if parts.contains(&Part::Constraints) {
        texts.extend(rules.checks.iter().filter(|check| check.user_type().is_none()).map(Check::sql));
    }
    if parts.contains(&Part::Indexes) {
        let columns = table.relation.schema().columns();
        for key in &rules.keys {
            let list = key.parts(columns);
            match key.role {
                Role::Primary => texts.push(format!("PRIMARY KEY {list}")),
                Role::Unique => texts.push(format!("UNIQUE {list}")),
                Role::UniqueIndex | Role::Index => {
                    let unique = if key.role.is_unique() { "UNIQUE " } else { "" };
                    let text = format!("CREATE {unique}INDEX ON {name} USING {} {list}", kind_name(key.index));
                    if let Parsed::Sql(statement) = sql::parse(&text)?
                        && let Statement::CreateIndex(create) = *statement
                    {
                        further.indexes.push(create);
                    }
                }
            }
        }
    }
    if parts.contains(&Part::Comments) {
        further.comments_of(catalog, &source);
    }
    let text = format!("CREATE TABLE t ({})", texts.join(", "));
    let Parsed::Sql(statement) = sql::parse(&text)? else { return Err(Error::internal(text)) };
    let Statement::CreateTable(made) = *statement else { return Err(Error::internal(text)) };
    let mut columns = made.columns;
    for (at, column) in columns.iter_mut().enumerate() {
        if let Some(key) = rules.user_type(at)
            && let Some(user_type) = catalog.user_type(key)
        {
            own_types::expand(column, Some((key.to_owned(), (*user_type).clone())))?;
        }
    }
    Ok((columns, made.constraints))
}

fn column_texts(catalog: &Catalog, table: &Table, rules: &Rules, parts: &BTreeSet<Part>) -> Vec<String> {
    let columns = table.relation.schema().columns().iter().enumerate();
    let text = columns.map(|(index, column)| {
        let not_null = if column.nullable { "" } else { " NOT NULL" };
        let origin = rules.origin(index);
        let part = match origin {
            Origin::Null => None,
            Origin::Default(_) => Some(Part::Defaults),
            Origin::Identity { .. } => Some(Part::Identity),
            Origin::Generated(_) => Some(Part::Generated),
        };
        let is_included = part.is_some_and(|part| parts.contains(&part));
        let origin = if is_included { origin.sql(catalog, column.column_type) } else { String::new() };
        format!("{} {}{not_null}{origin}", names::quoted(&column.name), column.column_type)
    });
    text.collect()
}

impl Further {
    fn comments_of(&mut self, catalog: &Catalog, source: &str) {
        let comments = catalog.definitions(|definitions| definitions.comments.clone());
        for (on, text) in comments {
            if matches!(&on, Commented::Column(of, _) | Commented::Constraint(of, _) if of == source) {
                self.comments.push((on, text));
            }
        }
    }

    /// Adds the indexes to the rules of the table `name`, which is about to be made.
    pub(super) fn add_indexes(
        &self,
        catalog: &Catalog,
        name: &str,
        columns: &[Column],
        rules: &mut Rules,
    ) -> Result<(), Error> {
        let (schema, _) = names::parts(name);
        for create in &self.indexes {
            let is_taken = |index: &str| {
                rules.keys.iter().any(|key| key.name == index)
                    || catalog.owner_of_index(&names::in_schema(schema, index)).is_some()
            };
            let key = of_index(name, columns, create, is_taken)?;
            rules.keys.push(key);
        }
        Ok(())
    }

    /// Says of the table `name` what was said of those that it is like.
    pub(super) fn comment(self, catalog: &Catalog, name: &str) -> Result<(), Error> {
        if self.comments.is_empty() {
            return Ok(());
        }
        let about = |on| match on {
            Commented::Column(_, column) => Commented::Column(name.to_owned(), column),
            Commented::Constraint(_, constraint) => Commented::Constraint(name.to_owned(), constraint),
            other => other,
        };
        catalog.change(|change| {
            change.definitions.comments.extend(self.comments.into_iter().map(|(on, text)| (about(on), text)));
            Ok(())
        })
    }
}
