//! What this version does not do, said by name.

use std::ops::ControlFlow;

use sqlparser::ast::{Join, JoinConstraint, JoinOperator, Query, Select, SetExpr, Statement, TableFactor, Visitor};

use crate::Error;
use crate::sql::expressions::flow;
use crate::sql::visit::Visit;

/// The error for a statement that is understood but not supported.
pub(crate) fn statement(statement: &Statement) -> Error {
    let name = name(statement);
    Error::unsupported(match statement {
        Statement::Lock(_) => {
            format!("{name} is not supported: transactions that are in each other's way fail instead of waiting")
        }
        Statement::Set(_) | Statement::Reset(_) => format!(
            "{name} is not supported: there are settings of transactions, autovacuum and autovacuum_naptime; threads and \
             memory are set when the database is opened (--threads, --memory-limit); COPY has an option THREADS"
        ),
        _ => format!("{name} is not supported"),
    })
}

/// The leading keywords of a statement, as the user wrote them.
pub(crate) fn name(statement: &Statement) -> String {
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    let first = words.first().copied().unwrap_or("the statement").to_ascii_uppercase();
    let is_verb_of_many = ["CREATE", "ALTER", "DROP", "SHOW", "SET", "START", "RELEASE", "ATTACH", "COMMENT"];
    match words.get(1) {
        Some(second)
            if is_verb_of_many.contains(&first.as_str()) && second.chars().all(|c| c.is_ascii_alphabetic()) =>
        {
            format!("{first} {}", second.to_ascii_uppercase())
        }
        _ => first,
    }
}

/// Refuses queries that would change something, lock something, or that `DataFusion` would answer as if a clause
/// was not there.
pub(crate) fn unless_reads_only(query: &Query) -> Result<(), Error> {
    match query.visit(&mut ReadsOnly) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(problem) => Err(problem),
    }
}

struct ReadsOnly;

impl Visitor for ReadsOnly {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        if !query.locks.is_empty() {
            return ControlFlow::Break(Error::unsupported(
                "FOR UPDATE and FOR SHARE are not supported here; rows are locked by a query of its own, or within UPDATE, \
                 DELETE and INSERT",
            ));
        }
        match query.body.as_ref() {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                ControlFlow::Break(Error::unsupported(format!(
                    "{} inside a query is not supported: WITH clause containing a data-modifying statement must be at the top \
                     level",
                    name(inner)
                )))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        if let Some(into) = &select.into {
            return ControlFlow::Break(Error::syntax(format!(
                "SELECT ... INTO is not allowed here; write CREATE TABLE {} AS SELECT ...",
                into.name
            )));
        }
        flow(select.from.iter().try_for_each(|from| unless_conditional(&from.joins)))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        let numbers_rows = match factor {
            TableFactor::Table { name, args, with_ordinality, .. } => {
                *with_ordinality && (args.is_none() || is_of_files(&name.to_string()))
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                return flow(unless_conditional(&table_with_joins.joins));
            }
            _ => false,
        };
        if numbers_rows {
            return ControlFlow::Break(Error::unsupported(
                "WITH ORDINALITY numbers the rows of functions of values; write row_number() OVER () in the list of a SELECT here",
            ));
        }
        ControlFlow::Continue(())
    }
}

/// Whether it is a function whose rows are not made of values.
fn is_of_files(function: &str) -> bool {
    let function = function.to_ascii_lowercase();
    function.starts_with("read_") || ["sniff_csv", "storage", "range"].contains(&function.as_str())
}

/// Refuses a JOIN that says nothing of the rows that belong together: it would give all pairs.
fn unless_conditional(joins: &[Join]) -> Result<(), Error> {
    let is_forgotten = |join: &Join| {
        matches!(
            join.join_operator,
            JoinOperator::Join(JoinConstraint::None) | JoinOperator::Inner(JoinConstraint::None)
        )
    };
    match joins.iter().find(|join| is_forgotten(join)) {
        Some(join) => Err(Error::syntax(format!(
            "JOIN {} needs ON or USING; for all pairs of rows write CROSS JOIN",
            join.relation
        ))),
        None => Ok(()),
    }
}
