//! CSV files as tables of a query: `FROM 'file.csv'` and `FROM read_csv('file.csv', ...)`.
//!
//! The columns of a file are given, not guessed: by `columns`, by a table that has the same ones, or by the alias.
//! `FROM 'lineitem.tbl'` takes the columns of the table of that name; `FROM 'f.csv' AS t (a INTEGER, b TEXT)` names
//! them. A file in FROM is met when its part of the statement is planned, in views as well. Not here: the options
//! (`options`), the scan (`source`).

mod options;
mod source;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use longshore_load::Tuning;
use longshore_storage::{Column, Memory, Schema};
use sqlparser::ast::{ObjectName, ObjectNamePart, TableAlias, TableFactor};

use super::columnar::{Columnar, FileKind};
use super::errors::external;
use crate::catalog::Catalog;
use crate::sql::{names, types};
use crate::{Error, ErrorKind};
use options::ReadCsv;
pub(super) use source::TextSource;
pub(crate) use text::{TextInput, TextTable};

/// Plans files in FROM.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) catalog: Arc<Catalog>,
    pub(super) memory: Arc<Memory>,
    pub(super) tuning: Tuning,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl RelationPlanner for Files {
    fn plan_relation(
        &self,
        relation: TableFactor,
        _context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Table { name, alias, args, .. } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let planned = match (args, file_name(name)) {
            (None, Some(path)) => self.named(Path::new(path), alias.as_ref()),
            (Some(args), None) => match name.to_string().to_ascii_lowercase().as_str() {
                "read_csv" => {
                    ReadCsv::of_call(args).and_then(|request| self.text(request, alias.as_ref())).map(Relation::from)
                }
                "read_parquet" | "read_arrow" => {
                    options::paths_of_call(name, args).and_then(|paths| columnar(&paths, alias.as_ref()))
                }
                _ => return Ok(RelationPlanning::Original(Box::new(relation))),
            },
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        let Relation { name, table, alias } = planned.map_err(external)?;
        let plan = LogicalPlanBuilder::scan(TableReference::bare(name), provider_as_source(table), None)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

/// A file as a relation of a query.
struct Relation {
    /// What columns are qualified with where no alias is given.
    name: String,
    table: Arc<dyn TableProvider>,
    /// What is left of the alias.
    alias: Option<TableAlias>,
}

impl From<(TextTable, Option<TableAlias>)> for Relation {
    fn from((table, alias): (TextTable, Option<TableAlias>)) -> Self {
        Self { name: stem(Path::new(&table.name)), table: Arc::new(table), alias }
    }
}

/// Parquet or Arrow files as a relation.
fn columnar(paths: &[PathBuf], alias: Option<&TableAlias>) -> Result<Relation, Error> {
    if let Some(typed) = alias.and_then(|alias| alias.columns.iter().find(|column| column.data_type.is_some())) {
        return Err(Error::invalid(format!(
            "{}: the columns of the file have types already; leave the type of {} out, and use CAST",
            paths.first().map_or_else(String::new, |path| path.display().to_string()),
            typed.name
        )));
    }
    for path in paths {
        check_exists(path)?;
    }
    let table = Columnar::open(paths)?;
    let name = paths.first().map_or_else(String::new, |path| stem(path));
    Ok(Relation { name, table: Arc::new(table), alias: alias.cloned() })
}

fn check_exists(path: &Path) -> Result<(), Error> {
    if path.exists() {
        return Ok(());
    }
    let path = path.display();
    Err(Error::not_found(format!("the file {path} does not exist; paths are relative to the working directory")))
}

impl Files {
    /// The file `path` in FROM.
    fn named(&self, path: &Path, alias: Option<&TableAlias>) -> Result<Relation, Error> {
        if path.is_file() && FileKind::of(path)? != FileKind::Text {
            return columnar(&[path.to_owned()], alias);
        }
        self.text(ReadCsv::of_name(path)?, alias).map(Relation::from)
    }

    /// The text that `request` describes, and what is left of its alias.
    fn text(&self, request: ReadCsv, alias: Option<&TableAlias>) -> Result<(TextTable, Option<TableAlias>), Error> {
        let mut alias = alias.cloned();
        let schema = match (&request.columns, &request.table) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("read_csv takes its columns from columns or from table, not from both"));
            }
            (Some(columns), None) => Arc::new(Schema::new(columns.clone())),
            (None, Some(table)) => self.columns_of(table)?,
            (None, None) => match columns_of_alias(alias.as_mut())? {
                Some(columns) => Arc::new(Schema::new(columns)),
                None => self.columns_by_stem(&request)?,
            },
        };
        request.check_columns(&schema)?;
        check_exists(&request.path)?;
        let table = TextTable::of_file(
            &request.path,
            schema,
            request.csv(),
            request.tuned(&self.tuning),
            Arc::clone(&self.memory),
        );
        Ok((table, alias))
    }

    fn columns_of(&self, table: &str) -> Result<Arc<Schema>, Error> {
        match self.catalog.table(table) {
            Some(table) => Ok(Arc::clone(table.relation.schema())),
            None => Err(Error::not_found(format!("table {table} does not exist; read_csv was to take its columns"))),
        }
    }

    /// The columns of the table that is named as the file.
    fn columns_by_stem(&self, request: &ReadCsv) -> Result<Arc<Schema>, Error> {
        let stem = stem(&request.path);
        let table = self.catalog.table(&stem).or_else(|| self.catalog.table(&stem.to_lowercase()));
        match table {
            Some(table) if !request.is_call => Ok(Arc::clone(table.relation.schema())),
            _ => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{}: the columns of a CSV file are not inferred yet: give read_csv columns => {{'a': 'INTEGER', ...}} or \
                     table => 't', or write FROM '{0}' AS t (a INTEGER, ...)",
                    request.path.display()
                ),
            )),
        }
    }
}

/// Takes column definitions out of an alias, as in `AS t (a INTEGER, b TEXT)`.
fn columns_of_alias(alias: Option<&mut TableAlias>) -> Result<Option<Vec<Column>>, Error> {
    let Some(alias) = alias else {
        return Ok(None);
    };
    if alias.columns.iter().all(|column| column.data_type.is_none()) {
        return Ok(None);
    }
    let columns = std::mem::take(&mut alias.columns).into_iter().map(|column| {
        let name = names::identifier(&column.name)?;
        let Some(data_type) = &column.data_type else {
            return Err(Error::syntax(format!(
                "column {name} has no type; give all columns of the file a type or none"
            )));
        };
        Ok(Column::new(name, types::column_type(data_type)?, true))
    });
    columns.collect::<Result<Vec<_>, _>>().map(Some)
}

/// The path, if `name` is a text in single quotes.
fn file_name(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if ident.quote_style == Some('\'') => Some(&ident.value),
        _ => None,
    }
}

/// The name of a file without its folder and extension.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
