//! Statements that change rows within WITH: `WITH gone AS (DELETE FROM t ... RETURNING *) INSERT INTO u SELECT * FROM gone`.
//!
//! They are executed in their order, and what they return becomes rows that are there, under a name of ours, for what
//! stands behind them. All parts of the statement, and its query, see the tables as they were before it: what one part
//! changes, another one learns only by what it returns. A part that fails undoes all of them.

use futures::TryStreamExt;
use sqlparser::ast::{Cte, Ident, Query, SelectItem, SetExpr, Statement, WildcardAdditionalOptions, With};

use crate::catalog::Entry;
use crate::datafusion::{NamedRows, concat};
use crate::sql::references::{relations_named, relations_read};
use crate::sql::{build, is_change, names};
use crate::statement::{Context, execute_tree, refuse};
use crate::{Error, Outcome};

/// Executes `query`, in whose WITH rows are changed.
pub(crate) async fn execute(context: &Context<'_>, query: Box<Query>) -> Result<Outcome, Error> {
    let mut statement = Statement::Query(query);
    if let Some(parameters) = context.parameters {
        // Plans are not kept of queries over rows that are there.
        parameters.bind(&mut statement)?;
    }
    let relations = read_relations(context, relations_named(&statement));
    let Statement::Query(query) = statement else { return Err(Error::internal("a query expected")) };
    let frozen = context.transaction.freeze(relations.iter().map(|table| &table.relation));
    let outcome = parts(context, query).await;
    drop(frozen);
    outcome
}

async fn parts(context: &Context<'_>, mut query: Box<Query>) -> Result<Outcome, Error> {
    let Some(with) = query.with.take() else { return Err(Error::internal("WITH expected")) };
    let mut before = With { cte_tables: Vec::new(), ..with.clone() };
    let mut named: Vec<NamedRows> = context.named.to_vec();
    let mut silent: Vec<String> = Vec::new();
    for definition in with.cte_tables {
        refuse_silent(&definition.query, &silent)?;
        if !is_change(&definition.query) {
            before.cte_tables.push(definition);
            continue;
        }
        let Cte { alias, query, .. } = definition.clone();
        let change = statement(behind(&before, *query));
        let context = Context { parameters: None, with: None, named: &named, ..*context };
        let outcome = Box::pin(execute_tree(&context, change)).await?;
        match outcome {
            Outcome::Done { .. } => silent.push(names::identifier(&alias.name)?),
            Outcome::Rows(rows) => {
                let schema = rows.schema().clone();
                let batches: Vec<_> = rows.try_collect().await?;
                let rows =
                    if batches.is_empty() { arrow_array::RecordBatch::new_empty(schema) } else { concat(&batches)? };
                let name = format!("{} {} (hidden)", alias.name.value, named.len());
                named.push(NamedRows::new(&name, rows)?);
                before.cte_tables.push(Cte { query: Box::new(all_of(&name)), ..definition });
            }
        }
    }
    refuse_silent(&query, &silent)?;
    let main = statement(behind(&before, *query));
    let context = Context { parameters: None, with: None, named: &named, ..*context };
    match Box::pin(execute_tree(&context, main)).await? {
        // A query that fails undoes the changes.
        Outcome::Rows(rows) => Ok(Outcome::Rows(rows.made().await?)),
        done @ Outcome::Done { .. } => Ok(done),
    }
}

/// The query behind the definitions of `before`, and those of its own.
pub(super) fn behind(before: &With, mut query: Query) -> Query {
    let mut with = before.clone();
    if let Some(own) = query.with.take() {
        with.recursive |= own.recursive;
        with.cte_tables.extend(own.cte_tables);
    }
    query.with = (!with.cte_tables.is_empty()).then_some(with);
    query
}

/// The statement that a query is: without WITH, one that changes rows stands by itself.
pub(super) fn statement(mut query: Query) -> Statement {
    if query.with.is_some() || !is_change(&query) {
        return Statement::Query(Box::new(query));
    }
    match *query.body {
        SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change) => change,
        body => {
            query.body = Box::new(body);
            Statement::Query(Box::new(query))
        }
    }
}

fn all_of(name: &str) -> Query {
    let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    build::query_of(build::select(vec![everything], vec![build::alone(build::table(name, None::<&Ident>))]))
}

/// Refuses to read what a change without RETURNING gives.
fn refuse_silent(query: &Query, silent: &[String]) -> Result<(), Error> {
    let read = relations_read(query);
    match silent.iter().find(|name| read.contains(*name)) {
        Some(name) => Err(Error::unsupported(format!("WITH query \"{name}\" does not have a RETURNING clause"))),
        None => Ok(()),
    }
}

/// Whether rows are changed in the WITH of `query` itself.
pub(crate) fn has_changes(query: &Query) -> bool {
    query.with.as_ref().is_some_and(|with| with.cte_tables.iter().any(|definition| is_change(&definition.query)))
}

/// The tables of these names, and those that views of these names read.
fn read_relations(context: &Context<'_>, mut names: Vec<String>) -> Vec<std::sync::Arc<crate::catalog::Table>> {
    let mut seen: Vec<String> = Vec::new();
    let mut tables = Vec::new();
    while let Some(name) = names.pop() {
        if seen.contains(&name) {
            continue;
        }
        match context.entry(&name) {
            Some(Entry::Table(table)) => tables.push(table),
            Some(Entry::View(view)) => names.extend(view.reads.iter().cloned()),
            None => {}
        }
        seen.push(name);
    }
    tables
}

/// A statement that changes rows and the WITH before it; the query, if it is none.
pub(super) fn with_change(mut query: Box<Query>) -> Result<(With, Statement), Box<Query>> {
    if !is_change(&query) {
        return Err(query);
    }
    match (query.with.take(), *query.body) {
        (
            Some(with),
            SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change),
        ) => Ok((with, change)),
        (with, body) => {
            query.with = with;
            query.body = Box::new(body);
            Err(query)
        }
    }
}

/// Executes a statement that changes rows, behind WITH.
pub(super) async fn change_behind(context: &Context<'_>, with: &With, mut change: Statement) -> Result<Outcome, Error> {
    for cte in &with.cte_tables {
        refuse::unless_reads_only(&cte.query)?;
    }
    if let Statement::Insert(insert) = &mut change {
        // Only its rows are a query.
        if let Some(source) = &mut insert.source {
            let within = source.with.take();
            let mut outer = with.clone();
            if let Some(within) = within {
                outer.recursive |= within.recursive;
                outer.cte_tables.extend(within.cte_tables);
            }
            source.with = Some(outer);
        }
    }
    let context = Context { with: Some(with), ..*context };
    Box::pin(execute_tree(&context, change)).await
}
