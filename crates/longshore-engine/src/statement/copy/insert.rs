//! COPY FROM by the planner: rows of a query, of text with a condition or with values that are computed, of Parquet and
//! Arrow files.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use longshore_load::RepairLog;
use longshore_storage::{Column, ColumnType, Merged, OnConflict};
use sqlparser::ast::{Expr, Ident, Query, SelectItem, Statement, Visitor};

use super::conflict;
use super::copied::Copied;
use super::settings::Settings;
use super::target::Target;
use crate::datafusion::{Appended, Appending, NamedSource};
use crate::sql::assigned::is_number;
use crate::sql::build;
use crate::sql::visit::Visit;
use crate::statement::Context;
use crate::statement::rejects::{self, Rejects};
use crate::text::tell_repairs;
use crate::{Error, Report};

/// An INSERT that COPY FROM comes to.
pub(super) struct InsertPlan {
    pub(super) target: Target,
    pub(super) query: Box<Query>,
    /// What the query reads under a name of ours.
    pub(super) source: Option<(String, NamedSource)>,
    /// The repairs of texts among it.
    pub(super) repairs: Option<Arc<RepairLog>>,
    pub(super) settings: Settings,
    pub(super) rejects: Rejects,
    /// What becomes of rows whose key is there already.
    pub(super) conflict: OnConflict,
}

impl InsertPlan {
    /// Appends the rows of the query: says how many, and what is to be told of it.
    pub(super) async fn run(self, context: &Context<'_>) -> Result<Copied, Error> {
        let repairs = self.repairs.clone();
        let Some((_, NamedSource::Columnar(files))) = &self.source else {
            let appended = self.append(context).await?;
            if let Some(repairs) = repairs {
                tell_repairs(&repairs.summary(), context.control);
            }
            return Ok(appended);
        };
        let (bytes, shown) = (files.bytes(), files.shown());
        context.control.progress.start(bytes);
        let mut copied = self.append(context).await.map_err(|error| error.of_file(&shown))?;
        copied.report.bytes_read = bytes;
        Ok(copied)
    }

    async fn append(self, context: &Context<'_>) -> Result<Copied, Error> {
        let Self { target, query, source, settings, rejects, conflict, .. } = self;
        target.check_rejects(rejects.on_error.stops())?;
        let started = Instant::now();
        let dry_run = settings.rejects.dry_run;
        let appending = Appending {
            merge: settings.merge,
            threads: settings.threads,
            source,
            rejects: rejects.of_file(&settings.rejects),
            dry_run,
            conflict,
        };
        let statement = Statement::Insert(build::insert(&target.table.name, &target.names(), query.clone()));
        let queries = &context.database.queries;
        let inserted = match queries.insert(statement, &target.table, appending, &context.execution()).await {
            Ok(inserted) => inserted,
            Err(error) => return Err(target.with_column_count(context, &query, error).await),
        };
        rejects.keep(context)?;
        let Appended { rows, updated, left_out, rejects } = inserted;
        let notice = rejects::notice(&rejects, &settings.rejects, rows, Some(&target.table.relation));
        let notice = conflict::notice(Merged { inserted: rows, updated, left_out }, &settings.conflict, notice);
        let rows = if dry_run { 0 } else { rows + updated };
        let report = Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() };
        Ok(Copied { report, notice, rejects: rejects.records, counts: Vec::new() })
    }
}

impl Target {
    /// The error of an INSERT of the rows of `query`: that it has another number of columns, if that is so.
    async fn with_column_count(&self, context: &Context<'_>, query: &Query, error: Error) -> Error {
        match context.database.queries.query_schema(query, &context.execution()).await {
            Ok(schema) if schema.fields().len() != self.fields.len() => Error::invalid(format!(
                "the query has not as many columns as are to be copied, {}: {}",
                self.fields.len(),
                self.names().join(", ")
            )),
            _ => error,
        }
    }
}

/// The query of those rows of a source for which `condition` is true, whose `fields` are the columns that are copied, and
/// the name of the source in it. Numbers, truth values, bytes and moments are cast to their types, whatever type they have there, and so
/// are those of which `is_text` is true.
pub(super) fn rows_of_source(
    target: &Target,
    fields: &[String],
    condition: Option<Expr>,
    is_text: impl Fn(&Column) -> bool,
) -> Result<(Box<Query>, String), Error> {
    let source = format!("{} (the file)", target.table.name);
    let columns = target.names();
    let renamed = fields.iter().zip(&columns);
    let schema = target.table.relation.schema();
    let renamed = renamed.zip(&target.fields).map(|((field, column), place)| {
        let of_table = &schema.columns()[*place];
        let value = Expr::Identifier(build::quoted(field));
        let is_cast = is_text(of_table) || is_cast_from_any(of_table.column_type);
        let value = if is_cast { build::cast(value, of_table.column_type) } else { value };
        build::named(value, column)
    });
    let renamed = renamed.collect();
    let rows = build::select(renamed, vec![build::alone(build::table(&source, None))]);
    let rows = build::derived(build::query_of(rows), &Ident::with_quote('"', &target.table.name));
    let column = |column: &&str| SelectItem::UnnamedExpr(Expr::Identifier(build::quoted(column)));
    let mut select = build::select(columns.iter().map(column).collect(), vec![build::alone(rows)]);
    select.selection = condition.map(without_queries).transpose()?;
    Ok((Box::new(build::query_of(select)), source))
}

/// Whether values of a type are cast from whatever type a source has them in, which a statement would have to write.
fn is_cast_from_any(column_type: ColumnType) -> bool {
    use ColumnType::{Boolean, Bytea, Date, Time, Timestamp, TimestampTz};
    is_number(column_type) || matches!(column_type, Boolean | Bytea | Date | Time | Timestamp | TimestampTz)
}

/// Refuses a condition that reads other tables: it is about one row, as in PostgreSQL.
fn without_queries(condition: Expr) -> Result<Expr, Error> {
    struct NoQuery;
    impl Visitor for NoQuery {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    match condition.visit(&mut NoQuery) {
        ControlFlow::Continue(()) => Ok(condition),
        ControlFlow::Break(()) => Err(Error::unsupported(
            "COPY ... WHERE cannot hold a query; write COPY table FROM (SELECT ... FROM read_csv(...) WHERE ...)",
        )),
    }
}
