//! CREATE TABLE, empty or AS a query.
//!
//! Everything is taken from the syntax tree: `DataFusion` would drop lengths and ignore some constraints. What a table
//! cannot keep is refused. To be sure that no clause is overlooked, the statement is built again from the parts that
//! were understood; if that is not the statement that was parsed, something else was in it.

mod keys;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use longshore_storage::{Column, ColumnType, Schema};
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{ColumnDef, ColumnOption, CreateTable, DataType, Query, Statement, TableConstraint};

use keys::Keys;
pub(crate) use keys::{Key, Role, kind_name, of_index};

use crate::catalog::{Catalog, Entry, Table};
use crate::sql::{names, types};
use crate::statement::{Context, refuse};
use crate::{Error, Outcome, Report};

pub(crate) async fn create_table(context: &Context<'_>, create: CreateTable) -> Result<Outcome, Error> {
    refuse_clauses(&create)?;
    let name = names::relation(&create.name)?;
    let replace = Replace { or_replace: create.or_replace, if_not_exists: create.if_not_exists };
    if create.or_replace && create.if_not_exists {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS contradict each other; leave one out"));
    }
    if replace.is_done(&context.database.catalog, &name)? {
        return Ok(Outcome::done("CREATE TABLE"));
    }
    if let Some(query) = &create.query {
        refuse::unless_reads_only(query)?;
        return create_as(context, &name, &create, query, replace).await;
    }
    let Definition { schema, keys } = definition(&name, &create.columns, &create.constraints)?;
    let table = Table::new(&name, context.database.relation(&name, schema).into(), keys)?;
    replace.insert(&context.database.catalog, table)?;
    Ok(Outcome::done("CREATE TABLE"))
}

async fn create_as(
    context: &Context<'_>,
    name: &str,
    create: &CreateTable,
    query: &Query,
    replace: Replace,
) -> Result<Outcome, Error> {
    if create.columns.iter().any(|column| column.data_type != DataType::Unspecified || !column.options.is_empty()) {
        return Err(Error::unsupported(
            "CREATE TABLE ... AS takes names of columns only; their types come from the query, use CAST there",
        ));
    }
    let started = std::time::Instant::now();
    let queries = &context.database.queries;
    let rows = queries.query(Statement::Query(Box::new(query.clone())), context.work, context.control).await?;
    let given = create.columns.iter().map(|column| names::identifier(&column.name)).collect::<Result<Vec<_>, _>>()?;
    let schema = schema_of_query(name, rows.schema(), given)?;
    let relation = Arc::new(context.database.relation(name, schema));
    let rows = queries.append(rows, &relation, context.control).await?;
    replace.insert(&context.database.catalog, Table::new(name, relation, Vec::new())?)?;
    Ok(Outcome::Done {
        tag: format!("SELECT {rows}"),
        report: Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() },
        notice: None,
    })
}

/// What to do when the name is taken.
#[derive(Clone, Copy)]
pub(crate) struct Replace {
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
}

impl Replace {
    /// Whether there is nothing to do because the table exists. An error if it must not exist.
    pub(crate) fn is_done(self, catalog: &Catalog, name: &str) -> Result<bool, Error> {
        match catalog.get(name) {
            None => Ok(false),
            Some(_) if self.if_not_exists => Ok(true),
            Some(existing) => self.check(&existing).map(|()| false),
        }
    }

    fn check(self, existing: &Entry) -> Result<(), Error> {
        let name = existing.name();
        match existing {
            Entry::Table(_) if self.or_replace => Ok(()),
            Entry::Table(_) => Err(Error::exists(format!(
                "table {name} exists already; drop it first, or use CREATE OR REPLACE TABLE or IF NOT EXISTS"
            ))),
            Entry::View(_) => Err(Error::exists(format!(
                "{name} is a view; choose another name for the table, or drop the view first"
            ))),
        }
    }

    /// Enters the table; another session may have been faster.
    pub(crate) fn insert(self, catalog: &Catalog, table: Table) -> Result<(), Error> {
        let table = Arc::new(table);
        // What is replaced is freed after the catalog is open to others again.
        let _replaced = catalog.change(|entries| {
            if let Some(existing) = entries.get(&table.name) {
                if self.if_not_exists {
                    return Ok(None);
                }
                self.check(existing)?;
            }
            Ok(entries.insert(table.name.clone(), Entry::Table(table)))
        })?;
        Ok(())
    }
}

/// What CREATE TABLE says of a table.
pub(crate) struct Definition {
    pub(crate) schema: Schema,
    pub(crate) keys: Vec<Key>,
}

/// The table with these column definitions and constraints.
pub(crate) fn definition(
    table: &str,
    definitions: &[ColumnDef],
    constraints: &[TableConstraint],
) -> Result<Definition, Error> {
    if definitions.is_empty() {
        return Err(Error::invalid(format!("table {table}: a table must have at least one column")));
    }
    let mut columns = definitions.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    check_names(table, &columns)?;
    let options = definitions.iter().enumerate().flat_map(|(column, definition)| {
        definition.options.iter().map(move |option| (column, &option.option, option.name.as_ref()))
    });
    let options: Vec<_> = options.collect();
    let Keys { keys } = Keys::new(table, &mut columns, &options, constraints)?;
    Ok(Definition { schema: Schema::new(columns), keys })
}

fn column(definition: &ColumnDef) -> Result<Column, Error> {
    let name = names::identifier(&definition.name)?;
    let column_type = types::column_type(&definition.data_type)
        .map_err(|error| Error::new(error.kind(), format!("column {name}: {error}")))?;
    let mut nullable = None;
    for option in &definition.options {
        let says = match &option.option {
            ColumnOption::Null => true,
            ColumnOption::NotNull => false,
            // Of these, `Keys` takes care.
            ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_) => continue,
            other => {
                return Err(Error::unsupported(format!(
                    "column {name}: {} is not supported yet; leave it out",
                    constraint_name(other)
                )));
            }
        };
        if nullable.is_some_and(|earlier| earlier != says) {
            return Err(Error::invalid(format!("column {name} is both NULL and NOT NULL; keep one of them")));
        }
        nullable = Some(says);
    }
    let is_key = definition.options.iter().any(|option| matches!(option.option, ColumnOption::PrimaryKey(_)));
    if is_key && nullable == Some(true) {
        return Err(Error::invalid(format!(
            "column {name} is both NULL and PRIMARY KEY, which is NOT NULL; leave NULL out"
        )));
    }
    Ok(Column::new(name, column_type, nullable.unwrap_or(true)))
}

fn constraint_name(option: &ColumnOption) -> String {
    match option {
        ColumnOption::ForeignKey(_) => "REFERENCES".to_owned(),
        ColumnOption::Check(_) => "CHECK".to_owned(),
        ColumnOption::Default(_) => "DEFAULT".to_owned(),
        ColumnOption::Generated { .. } => "GENERATED".to_owned(),
        ColumnOption::Collation(_) => "COLLATE".to_owned(),
        other => other.to_string(),
    }
}

fn schema_of_query(table: &str, schema: &SchemaRef, given: Vec<String>) -> Result<Schema, Error> {
    if given.len() > schema.fields().len() {
        return Err(Error::invalid(format!(
            "table {table}: {} column names are given, but the query has {} columns",
            given.len(),
            schema.fields().len()
        )));
    }
    if schema.fields().is_empty() {
        return Err(Error::invalid(format!("table {table}: the query has no column")));
    }
    let mut given = given.into_iter();
    let mut columns = Vec::new();
    for field in schema.fields() {
        let name = given.next().unwrap_or_else(|| field.name().clone());
        let Some(column_type) = ColumnType::from_arrow(field.data_type()) else {
            return Err(Error::unsupported(format!(
                "table {table}: column {name} of the query has the type {}, which a table cannot hold; use CAST",
                field.data_type()
            )));
        };
        columns.push(Column::new(name, column_type, true));
    }
    check_names(table, &columns)?;
    Ok(Schema::new(columns))
}

fn check_names(table: &str, columns: &[Column]) -> Result<(), Error> {
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].iter().any(|earlier| earlier.name == column.name) {
            return Err(Error::invalid(format!(
                "table {table}: two columns have the name {}; name them apart",
                column.name
            )));
        }
    }
    Ok(())
}

/// Refuses every clause but those of `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t (columns, keys) [AS query]`.
pub(crate) fn refuse_clauses(create: &CreateTable) -> Result<(), Error> {
    let is_key = |constraint: &&TableConstraint| {
        matches!(constraint, TableConstraint::PrimaryKey(_) | TableConstraint::Unique(_))
    };
    let understood = CreateTableBuilder::new(create.name.clone())
        .or_replace(create.or_replace)
        .if_not_exists(create.if_not_exists)
        .columns(create.columns.clone())
        .constraints(create.constraints.iter().filter(is_key).cloned().collect())
        .query(create.query.clone())
        .build();
    if *create == understood {
        return Ok(());
    }
    let clause = if create.temporary {
        "TEMPORARY".to_owned()
    } else if let Some(constraint) = create.constraints.iter().find(|constraint| !is_key(constraint)) {
        let text = constraint.to_string();
        let known = ["FOREIGN KEY", "CHECK"];
        known.into_iter().find(|name| text.contains(name)).map_or(text.clone(), ToOwned::to_owned)
    } else if create.like.is_some() {
        "LIKE".to_owned()
    } else if create.inherits.is_some() {
        "INHERITS".to_owned()
    } else if create.partition_by.is_some() || create.partition_of.is_some() {
        "PARTITION".to_owned()
    } else if create.on_commit.is_some() {
        "ON COMMIT".to_owned()
    } else if create.external {
        "EXTERNAL".to_owned()
    } else {
        "such a clause".to_owned()
    };
    Err(Error::unsupported(format!("CREATE TABLE with {clause} is not supported yet; leave it out")))
}
