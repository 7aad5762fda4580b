//! CSV files as tables of a query: `FROM 'file.csv'` and `FROM read_csv('file.csv', ...)`.
//!
//! The columns of a file are given, not guessed: by `columns`, by a table that has the same ones, or by the alias.
//! `FROM 'lineitem.tbl'` takes the columns of the table of that name; `FROM 'f.csv' AS t (a INTEGER, b TEXT)` names
//! them. A file in FROM is met when its part of the statement is planned, in views as well. Not here: the options
//! (`options`), the scan (`source`).

mod options;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, TableReference};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{TableType, provider_as_source};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::{TextOptions, Tuning};
use longshore_storage::{Column, Memory, Schema};
use sqlparser::ast::{ObjectName, ObjectNamePart, TableAlias, TableFactor};

use super::errors::external;
use super::pushdown::Projection;
use crate::catalog::Catalog;
use crate::sql::{names, types};
use crate::{Error, ErrorKind};
use options::ReadCsv;
use source::CsvSource;

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
        let request = match (args, file_name(name)) {
            (None, Some(path)) => ReadCsv::of_name(path),
            (Some(args), None) if is_read_csv(name) => ReadCsv::of_call(args),
            (Some(_), None) if name.to_string().eq_ignore_ascii_case("read_parquet") => Err(parquet_refused()),
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        let planned = request.and_then(|request| self.table(request, alias.as_ref())).map_err(external)?;
        let (table, alias) = planned;
        let reference = TableReference::bare(table.stem());
        let plan = LogicalPlanBuilder::scan(reference, provider_as_source(Arc::new(table)), None)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

impl Files {
    /// The table that `request` describes, and what is left of its alias.
    fn table(&self, request: ReadCsv, alias: Option<&TableAlias>) -> Result<(CsvTable, Option<TableAlias>), Error> {
        let has_extension =
            |wanted: &str| request.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted));
        if has_extension("parquet") {
            return Err(parquet_refused());
        }
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
        if !request.path.exists() {
            let path = request.path.display();
            return Err(Error::not_found(format!(
                "the file {path} does not exist; paths are relative to the working directory"
            )));
        }
        let table = CsvTable {
            arrow: schema.arrow(),
            schema,
            options: request.csv(),
            tuning: request.tuned(&self.tuning),
            memory: Arc::clone(&self.memory),
            path: request.path,
        };
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

fn is_read_csv(name: &ObjectName) -> bool {
    name.to_string().eq_ignore_ascii_case("read_csv")
}

fn parquet_refused() -> Error {
    Error::unsupported(
        "queries over Parquet files are not supported yet; IMPORT DATABASE reads those that EXPORT DATABASE wrote",
    )
}

/// The name of a file without its folder and extension.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A CSV file as a table of one statement.
pub(super) struct CsvTable {
    path: PathBuf,
    schema: Arc<Schema>,
    arrow: SchemaRef,
    options: TextOptions,
    tuning: Tuning,
    memory: Arc<Memory>,
}

impl CsvTable {
    fn stem(&self) -> String {
        stem(&self.path)
    }
}

impl fmt::Debug for CsvTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvTable").field("path", &self.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for CsvTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = Projection::new(&self.arrow, projection)?;
        Ok(DataSourceExec::from_data_source(CsvSource::new(self, projection, limit)))
    }
}
