//! SELECT ... FOR UPDATE and its like: the rows that a query finds are locked before they are given back.
//!
//! The tables whose rows are locked give the numbers of their rows beside their columns, which are left out again in the end.
//! A row that another transaction has locked or is changing keeps the statement from going on, as a row that it is to
//! change itself does (`transaction/run`): it is undone, waits and runs again. With SKIP LOCKED the query is asked for more
//! rows than it wants, and again without those that were skipped if that was not enough. Queries within a statement
//! (`WHERE id = (SELECT ... FOR UPDATE SKIP LOCKED)`) run first, and are rows that are there for the rest of it.
//!
//! Not here: the locks themselves (`longshore-storage`), how they are written (`sql/row_locks`).

mod targets;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use futures::TryStreamExt;
use longshore_storage::{Contention, RowId};
use sqlparser::ast::{
    BinaryOperator, Expr, Ident, LimitClause, Query, SelectItem, SetExpr, Statement, Value, VisitorMut,
    WildcardAdditionalOptions,
};

use self::targets::{Target, WhenHeld, targets};
use crate::datafusion::{NamedInputs, NamedRows, ROW_COLUMN, concat, take};
use crate::sql::visit::VisitMut;
use crate::sql::{build, repeated};
use crate::statement::{Context, execute_tree, refuse};
use crate::{Error, ErrorKind, Outcome, RowStream, TypeId};

/// Rows that a query with SKIP LOCKED is asked for beyond those that it wants.
const SPARE_ROWS: u64 = 16;

/// Executes a statement within which rows are locked.
pub(super) async fn execute(context: &Context<'_>, mut statement: Statement) -> Result<Outcome, Error> {
    if let Some(parameters) = context.parameters {
        // Plans are not kept of queries over rows that are there.
        parameters.bind(&mut statement)?;
    }
    let own_locks = match &mut statement {
        Statement::Query(query) => std::mem::take(&mut query.locks),
        _ => Vec::new(),
    };
    let mut named: Vec<NamedRows> = context.named.to_vec();
    let mut taken = Taken { before: named.len(), queries: Vec::new() };
    let _ = VisitMut::visit(&mut statement, &mut taken);
    for (name, query) in taken.queries {
        let context = Context { parameters: None, named: &named, ..*context };
        let inner = Statement::Query(Box::new(query));
        let rows = match Box::pin(execute_tree(&context, inner)).await? {
            Outcome::Rows(rows) => rows,
            Outcome::Done { .. } => return Err(Error::internal("a query gives rows")),
        };
        named.push(NamedRows::new(&name, gathered(rows).await?)?);
    }
    if let Statement::Query(query) = &mut statement {
        query.locks = own_locks;
    }
    let context = Context { parameters: None, named: &named, ..*context };
    match Box::pin(execute_tree(&context, statement)).await? {
        Outcome::Rows(rows) => Ok(Outcome::Rows(rows.made().await?)),
        done @ Outcome::Done { .. } => Ok(done),
    }
}

/// Takes queries that lock rows out of a statement, the outermost of each.
struct Taken {
    /// Rows that have names already.
    before: usize,
    queries: Vec<(String, Query)>,
}

impl VisitorMut for Taken {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if !query.locks.is_empty() {
            let name = format!("locked rows {} (hidden)", self.before + self.queries.len());
            let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
            let from = build::alone(build::table(&name, None::<&Ident>));
            let taken = std::mem::replace(query, build::query_of(build::select(vec![everything], vec![from])));
            self.queries.push((name, taken));
        }
        ControlFlow::Continue(())
    }
}

/// All rows of a query, as one batch.
async fn gathered(rows: RowStream) -> Result<RecordBatch, Error> {
    let schema = rows.schema().clone();
    let batches: Vec<RecordBatch> = rows.try_collect().await?;
    if batches.is_empty() { Ok(RecordBatch::new_empty(schema)) } else { concat(&batches) }
}

/// The rows that a query gives, which locks them.
pub(super) async fn run_query(context: &Context<'_>, query: Box<Query>) -> Result<Outcome, Error> {
    let mut statement = Statement::Query(query);
    if let Some(parameters) = context.parameters {
        parameters.bind(&mut statement)?;
    }
    let Statement::Query(mut query) = statement else { return Err(Error::internal("a query expected")) };
    let targets = targets(context, &mut query)?;
    query.locks.clear();
    refuse::unless_reads_only(&query)?;
    repeated::name_apart(&mut query);
    for (number, target) in targets.iter().enumerate() {
        let row = build::named(target.number.clone(), &format!("{ROW_COLUMN} {number}"));
        select_of(&mut query)?.projection.push(row);
    }
    let wanted = if targets.iter().any(|target| target.waits == WhenHeld::Skips) { limit(&query) } else { None };
    let mut skipped: Vec<HashSet<u64>> = vec![HashSet::new(); targets.len()];
    loop {
        let mut asked = query.clone();
        if let Some(wanted) = wanted {
            set_limit(&mut asked, wanted + SPARE_ROWS);
        }
        without(&mut asked, &targets, &skipped)?;
        let (rows, types) = found(context, *asked, &targets).await?;
        let locked = lock(context, &targets, &rows, wanted, &mut skipped)?;
        let may_be_more = wanted
            .is_some_and(|wanted| (locked.len() as u64) < wanted && rows.num_rows() as u64 == wanted + SPARE_ROWS);
        if !may_be_more {
            return shown(&rows, &types, &locked).map(Outcome::Rows);
        }
    }
}

/// The rows of the query with those of the tables that are locked.
async fn found(context: &Context<'_>, query: Query, targets: &[Target]) -> Result<(RecordBatch, Arc<[TypeId]>), Error> {
    let tables = targets.iter().map(|target| (target.name.clone(), &*target.table)).collect();
    let inputs = NamedInputs { numbered: tables, ..NamedInputs::default() };
    let context = Context { parameters: None, ..*context };
    let (statement, execution) = (Statement::Query(Box::new(query)), context.execution());
    let rows = context.database.queries.query_with(statement, inputs, &execution);
    let rows = Box::pin(rows).await.map_err(|error| match error.kind() {
        // The numbers of rows are not grouped by.
        ErrorKind::Grouping => Error::unsupported("FOR UPDATE is not allowed with aggregate functions"),
        _ => error,
    })?;
    let types = rows.types();
    Ok((gathered(rows).await?, types))
}

/// Locks the rows that were found; says which of them are given back. Those of tables that are `skipped` because of others
/// are noted.
fn lock(
    context: &Context<'_>,
    targets: &[Target],
    rows: &RecordBatch,
    wanted: Option<u64>,
    skipped: &mut [HashSet<u64>],
) -> Result<Vec<usize>, Error> {
    let first = rows.num_columns() - targets.len();
    let numbers: Vec<_> = (0..targets.len()).map(|at| rows.column(first + at).as_primitive::<UInt64Type>()).collect();
    let mut locked: Vec<HashSet<u64>> = vec![HashSet::new(); targets.len()];
    let mut kept = Vec::new();
    context.transaction.with_any(|transaction| {
        'rows: for row in 0..rows.num_rows() {
            if context.control.is_cancelled() {
                return Err(Error::cancelled());
            }
            if wanted.is_some_and(|wanted| kept.len() as u64 >= wanted) {
                break;
            }
            for (at, target) in targets.iter().enumerate() {
                if numbers[at].is_null(row) {
                    continue;
                }
                let number = numbers[at].value(row);
                if skipped[at].contains(&number) {
                    continue 'rows;
                }
                if !locked[at].insert(number) {
                    continue;
                }
                let taken = transaction.lock_row(&target.table.relation, RowId(number), target.lock);
                let Err(error) = taken else { continue };
                let is_held = matches!(error.contention(), Some(Contention::Changing(_) | Contention::Locked(_)));
                match target.waits {
                    WhenHeld::Skips if is_held => {
                        locked[at].remove(&number);
                        skipped[at].insert(number);
                        continue 'rows;
                    }
                    WhenHeld::Fails if is_held => {
                        return Err(Error::new(
                            ErrorKind::LockNotAvailable,
                            format!("could not obtain lock on row in relation \"{}\"", target.table.name),
                        ));
                    }
                    _ => return Err(error.into()),
                }
            }
            kept.push(row);
        }
        Ok(())
    })?;
    Ok(kept)
}

/// The rows `kept`, as they are shown.
fn shown(rows: &RecordBatch, types: &[TypeId], kept: &[usize]) -> Result<RowStream, Error> {
    let internal = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
    let schema = rows.schema();
    let columns: Vec<usize> =
        (0..rows.num_columns()).filter(|column| !schema.field(*column).name().starts_with(ROW_COLUMN)).collect();
    let types = columns.iter().filter_map(|column| types.get(*column).copied()).collect();
    let mut rows = rows.project(&columns).map_err(internal)?;
    if kept.len() != rows.num_rows() {
        rows = take(&rows, kept)?;
    }
    Ok(RowStream::from_batch(rows).with_types(types))
}

fn select_of(query: &mut Query) -> Result<&mut sqlparser::ast::Select, Error> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(Error::internal("a SELECT expected")),
    }
}

/// Leaves out the rows that were skipped.
fn without(query: &mut Query, targets: &[Target], skipped: &[HashSet<u64>]) -> Result<(), Error> {
    for (target, skipped) in targets.iter().zip(skipped).filter(|(_, skipped)| !skipped.is_empty()) {
        let list = skipped.iter().map(|row| build::value(Value::Number(row.to_string(), false))).collect();
        let row = Box::new(target.number.clone());
        let others = Expr::InList { expr: row, list, negated: true };
        let select = select_of(query)?;
        select.selection = Some(match select.selection.take() {
            Some(selection) => build::binary(Expr::Nested(Box::new(selection)), BinaryOperator::And, others),
            None => others,
        });
    }
    Ok(())
}

/// How many rows a query wants, if it says so by a number alone.
fn limit(query: &Query) -> Option<u64> {
    let Some(LimitClause::LimitOffset { limit: Some(Expr::Value(limit)), offset: None, limit_by }) =
        &query.limit_clause
    else {
        return None;
    };
    match &limit.value {
        Value::Number(digits, false) if limit_by.is_empty() && query.fetch.is_none() => digits.parse().ok(),
        _ => None,
    }
}

fn set_limit(query: &mut Query, rows: u64) {
    let limit = Some(build::value(Value::Number(rows.to_string(), false)));
    query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
}
