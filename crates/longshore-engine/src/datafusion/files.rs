//! Files as tables of a query: `FROM 'file.csv'` and `FROM read_csv('file.csv', ...)`.
//!
//! The columns of a text are given by `columns`, by a table that has the same ones, or by the alias: `FROM
//! 'lineitem.tbl'` takes the columns of the table of that name, `FROM 'f.csv' AS t (a INTEGER, b TEXT)` names them.
//! Otherwise they are found out (`text::infer`). A file in FROM is met when its part of the statement is planned, in views
//! as well. Not here: the options (`text::read_csv`), the scan (`text_source`).

pub(super) mod columnar;
pub(super) mod known_types;
pub(super) mod named_source;
pub(super) mod parquet;
pub(super) mod plain;
mod prune;
mod report;
mod row_group;
pub(super) mod rows_once;
pub(super) mod text_source;
mod text_table;
pub(super) mod written;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use longshore_format::sniff::Sniffed;
use longshore_load::{Control, TextOptions, Tuning};
use longshore_source::{FoundFile, StoreOptions};
use longshore_storage::{Column, Memory, Schema, Storage};
use sqlparser::ast::{ObjectName, ObjectNamePart, TableAlias, TableFactor};

use super::errors::external;
use crate::Error;
use crate::catalog::Catalog;
use crate::sql::{names, types};
use crate::text::{
    ColumnMapping, FileRejects, Finder, FoundText, ReadCsv, TextInput, TextSources, check_not_read, files_of_call,
};
use columnar::Columnar;
pub(in crate::datafusion) use text_source::TextSource;
pub(crate) use text_table::TextTable;

/// Plans files in FROM.
#[derive(Clone)]
pub(in crate::datafusion) struct Files {
    pub(in crate::datafusion) catalog: Arc<Catalog>,
    pub(in crate::datafusion) memory: Arc<Memory>,
    pub(in crate::datafusion) tuning: Tuning,
    /// Progress and cancellation of the statement.
    pub(in crate::datafusion) control: Arc<Control>,
    /// What becomes of records that cannot be taken, where the statement says it for its text.
    pub(in crate::datafusion) rejects: Option<FileRejects>,
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
            (None, Some(name)) => self.named(name, alias.as_ref()),
            (Some(args), None) => match name.to_string().to_ascii_lowercase().replace('"', "").as_str() {
                function @ ("read_csv" | "read_json" | "read_text") => {
                    let format = match function {
                        "read_json" => Some("json"),
                        "read_text" => Some("text"),
                        _ => None,
                    };
                    ReadCsv::of_call(args, format)
                        .and_then(|request| self.text(&request, alias.as_ref()))
                        .map(Relation::from)
                }
                "sniff_csv" => ReadCsv::of_call(args, None)
                    .and_then(|request| self.sniffed(&request))
                    .map(|table| Relation { name: "sniff_csv".to_owned(), table, alias: alias.clone() }),
                "read_parquet" | "read_arrow" => files_of_call(name, args)
                    .and_then(|(files, store)| columnar(&files, &store, &self.memory, alias.as_ref())),
                _ => return Ok(RelationPlanning::Original(Box::new(relation))),
            },
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        let Relation { name, table, alias } = planned.map_err(external)?;
        let plan = LogicalPlanBuilder::scan(TableReference::bare(name), provider_as_source(table), None)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

/// The text that `request` describes, whose columns it gives, for a reader that has no database.
pub(crate) fn text_with_columns(
    request: &ReadCsv,
    tuning: &Tuning,
    memory: &Arc<Memory>,
    control: &Arc<Control>,
    rejects: Option<FileRejects>,
) -> Result<TextTable, Error> {
    let (memory, tuning, control) = (Arc::clone(memory), tuning.clone(), Arc::clone(control));
    let files = Files { catalog: Arc::default(), memory, tuning, control, rejects };
    files.text(request, None).map(|(table, _)| table)
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
fn columnar(
    files: &[FoundFile],
    store: &StoreOptions,
    memory: &Arc<Memory>,
    alias: Option<&TableAlias>,
) -> Result<Relation, Error> {
    let first = files.first().map_or_else(String::new, |file| file.location.to_string());
    if let Some(typed) = alias.and_then(|alias| alias.columns.iter().find(|column| column.data_type.is_some())) {
        return Err(Error::invalid(format!(
            "{first}: the columns of the file have types already; leave the type of {} out, and use CAST",
            typed.name
        )));
    }
    let table = Columnar::open(files, store, memory)?;
    Ok(Relation { name: stem(Path::new(&first)), table: Arc::new(table), alias: alias.cloned() })
}

impl Files {
    /// The file `path` in FROM.
    fn named(&self, name: &str, alias: Option<&TableAlias>) -> Result<Relation, Error> {
        let request = ReadCsv::of_name(name)?;
        if request.is_columnar()? {
            columnar(&request.files, &StoreOptions::default(), &self.memory, alias)
        } else {
            self.text(&request, alias).map(Relation::from)
        }
    }

    /// The text that `request` describes, and what is left of its alias.
    fn text(&self, request: &ReadCsv, alias: Option<&TableAlias>) -> Result<(TextTable, Option<TableAlias>), Error> {
        let mut alias = alias.cloned();
        let schema = match (&request.columns, &request.table) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("read_csv takes its columns from columns or from table, not from both"));
            }
            (Some(columns), None) => Arc::new(Schema::new(columns.clone())),
            (None, Some(table)) => self.columns_of(table)?,
            (None, None) => match columns_of_alias(alias.as_mut())? {
                Some(columns) => Arc::new(Schema::new(columns)),
                None => match self.columns_by_stem(request) {
                    Some(columns) => columns,
                    None => return Ok((self.found(request)?, alias)),
                },
            },
        };
        request.check_columns(&schema)?;
        let has_type = |name: &&String| schema.index_of(name).is_some();
        if let Some(name) = request.options().types.iter().map(|(name, _)| name).find(has_type) {
            return Err(Error::invalid(format!(
                "read_csv: types gives column {name} a type, and so do columns, table or the alias; leave it out there"
            )));
        }
        let texts = TextSources::Files(request.files.clone());
        let mut columns = schema.columns().to_vec();
        let mut computed = Vec::new();
        for (column, value) in texts.further_columns(request.options())? {
            // A table or a list of columns may have it already.
            let place = schema.index_of(&column.name).unwrap_or(columns.len());
            if place == columns.len() {
                columns.push(column);
            }
            computed.push((place, value));
        }
        let is_filled = |place: &usize| computed.iter().any(|(filled, _)| filled == place);
        let places: Vec<usize> = (0..schema.columns().len()).filter(|place| !is_filled(place)).collect();
        let wanted = ColumnMapping {
            columns: places.iter().map(|place| &schema.columns()[*place]).collect(),
            places: &places,
            computed: &computed,
            are_listed: false,
        };
        let (inputs, options) = texts.plan(request.options(), &wanted, &self.control)?;
        Ok((self.table(request, inputs, Arc::new(Schema::new(columns)), options)?, alias))
    }

    /// `inputs` as a table of these columns.
    fn table(
        &self,
        request: &ReadCsv,
        inputs: Vec<TextInput>,
        schema: Arc<Schema>,
        mut options: TextOptions,
    ) -> Result<TextTable, Error> {
        if let Some(rejects) = &self.rejects {
            if request.options().is_given("ON_ERROR") {
                return Err(Error::invalid(
                    "ON_ERROR is given to read_csv and to the statement that it is in; keep one of them",
                ));
            }
            if let Some(path) = &rejects.path {
                check_not_read(path, &request.files)?;
            }
            options.on_error = rejects.on_error.clone();
            options.reject_limit = rejects.limit;
        }
        if let Some(column) = schema.columns().iter().find(|column| column.column_type.is_inserted()) {
            return Err(Error::unsupported(format!(
                "column {}: files in FROM have no columns of type {}; take it as TEXT, and cast it",
                column.name, column.column_type
            )));
        }
        let tuning = request.tuned(&self.tuning);
        Ok(TextTable::new(request.name(), inputs, schema, options, tuning, &self.memory))
    }

    fn columns_of(&self, table: &str) -> Result<Arc<Schema>, Error> {
        match self.catalog.table(table) {
            Some(table) => Ok(Arc::clone(table.relation.schema())),
            None => Err(Error::not_found(format!("table {table} does not exist; read_csv was to take its columns"))),
        }
    }

    /// The columns of the table that is named as the file, if there is one.
    fn columns_by_stem(&self, request: &ReadCsv) -> Option<Arc<Schema>> {
        let stem = stem(Path::new(&request.name()));
        let table = self.catalog.table(&stem).or_else(|| self.catalog.table(&stem.to_lowercase()))?;
        (!request.is_call).then(|| Arc::clone(table.relation.schema()))
    }

    /// What the text is that `request` describes, which is read for it.
    fn find(&self, request: &ReadCsv) -> Result<FoundText, Error> {
        self.find_or_tell(request, &mut None)
    }

    /// The same; where it cannot be read by what was found of its dialect, that goes to `told`.
    fn find_or_tell(&self, request: &ReadCsv, told: &mut Option<Sniffed>) -> Result<FoundText, Error> {
        let finder = Finder {
            options: request.options(),
            types: &request.options().types,
            tuning: request.tuned(&self.tuning),
            memory: &self.memory,
            control: &self.control,
            rejects: self.rejects.as_ref(),
            storage: Storage::default(),
        };
        finder.find_or_tell(TextSources::Files(request.files.clone()), told)
    }

    /// The text that `request` describes, whose columns are found out.
    fn found(&self, request: &ReadCsv) -> Result<TextTable, Error> {
        let FoundText { inputs, schema, options, .. } = self.find(request)?;
        self.table(request, inputs, schema, options)
    }

    /// What is found out of the text that `request` describes, and why.
    fn sniffed(&self, request: &ReadCsv) -> Result<Arc<dyn TableProvider>, Error> {
        let mut told = None;
        let batch = match (self.find_or_tell(request, &mut told), told) {
            (Ok(found), _) => report::report(&found, request)?,
            (Err(error), Some(sniffed)) if error.kind().is_of_data() => report::unread(&sniffed, &error)?,
            (Err(error), _) => return Err(error),
        };
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).map_err(super::errors::from_datafusion)?;
        Ok(Arc::new(table))
    }

    /// The columns of the file `path`: name, type and why.
    pub(in crate::datafusion) fn describe(&self, name: &str) -> Result<Vec<(String, String, String)>, Error> {
        let request = ReadCsv::of_name(name)?;
        if request.is_columnar()? {
            let store = StoreOptions::default();
            return Columnar::open(&request.files, &store, &self.memory).map(|files| files.described());
        }
        let found = self.find(&request)?;
        let columns = found.columns.into_iter();
        Ok(columns.map(|column| (column.name, column.column_type.to_string(), column.reason)).collect())
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
