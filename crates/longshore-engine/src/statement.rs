//! Statements: who does what.
//!
//! Every statement is dispatched here over its syntax tree. Queries and INSERT go to `datafusion`; the rest is ours,
//! because `DataFusion` would lose parts of it (lengths of texts, constraints, COPY FROM). What this version cannot do
//! is refused by name, never ignored.

pub(crate) mod blocking;
mod copy;
mod create;
mod create_from;
mod drop;
mod export;
mod import;
mod insert;
mod refuse;
mod rejects;
mod show;
mod unload;
mod view;

use std::sync::Arc;

use longshore_load::Control;
use sqlparser::ast::{ObjectType, Query, Statement};

use crate::session::Streams;
use crate::sql::{self, Parsed};
use crate::{Database, Error, Outcome};

/// What a statement works with.
pub(crate) struct Context<'a> {
    pub(crate) database: &'a Arc<Database>,
    pub(crate) control: &'a Arc<Control>,
}

/// Executes one statement.
pub(crate) async fn execute(
    database: &Arc<Database>,
    control: &Arc<Control>,
    streams: &mut Streams,
    sql: &str,
) -> Result<Outcome, Error> {
    let context = Context { database, control };
    match sql::parse(sql)? {
        Parsed::Empty => Ok(Outcome::done("")),
        Parsed::CopyFrom(copy) => copy::copy_from(&context, streams, *copy).await,
        Parsed::CopyTo(copy) => unload::copy_to(&context, streams, *copy).await,
        Parsed::CreateFrom(create) => create_from::create_from(&context, *create).await,
        Parsed::Export(export) => export::export(&context, &export).await,
        Parsed::Import(import) => import::import(&context, &import).await,
        Parsed::Sql(statement) => Box::pin(execute_tree(&context, *statement)).await,
    }
}

async fn execute_tree(context: &Context<'_>, statement: Statement) -> Result<Outcome, Error> {
    match statement {
        Statement::Query(query) => run_query(context, query).await,
        Statement::Explain { .. } => explain(context, statement).await,
        Statement::Insert(insert) => insert::insert(context, insert).await,
        Statement::CreateTable(table) => create::create_table(context, table).await,
        Statement::CreateView(view) => view::create_view(context, view).await,
        Statement::Drop {
            object_type: object_type @ (ObjectType::Table | ObjectType::View),
            if_exists,
            names,
            cascade,
            temporary,
            ..
        } => drop::drop_objects(context, object_type, if_exists, &names, cascade, temporary),
        Statement::Truncate(truncate) => drop::truncate(context, &truncate),
        Statement::ExplainTable { table_name, .. } => show::describe(context, &table_name).await,
        Statement::ShowTables { .. } | Statement::ShowViews { .. } => show::show_tables(context, &statement),
        Statement::ShowVariable { variable } => show::show_setting(context, &variable),
        other => Err(refuse::statement(&other)),
    }
}

async fn run_query(context: &Context<'_>, query: Box<Query>) -> Result<Outcome, Error> {
    refuse::unless_reads_only(&query)?;
    let statement = Statement::Query(query);
    let rows = context.database.queries.query(statement, context.control).await?;
    Ok(Outcome::Rows(rows))
}

async fn explain(context: &Context<'_>, explain: Statement) -> Result<Outcome, Error> {
    let Statement::Explain { statement, .. } = &explain else {
        return Err(Error::internal("EXPLAIN expected"));
    };
    match statement.as_ref() {
        Statement::Query(query) => refuse::unless_reads_only(query)?,
        other => {
            return Err(Error::unsupported(format!(
                "EXPLAIN of {} is not supported; explain the query in it",
                refuse::name(other)
            )));
        }
    }
    let rows = context.database.queries.query(explain, context.control).await?;
    Ok(Outcome::Rows(rows))
}
