//! What this version does not do, said by name.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, Select, SetExpr, Statement, Visit, Visitor};

use crate::Error;

/// The error for a statement that is understood but not supported.
pub(crate) fn statement(statement: &Statement) -> Error {
    let name = name(statement);
    Error::unsupported(match statement {
        Statement::Lock(_) => {
            format!("{name} is not supported: transactions that are in each other's way fail instead of waiting")
        }
        Statement::Set(_) | Statement::Reset(_) => format!(
            "{name} is not supported yet: threads and memory are set when the database is opened (--threads, \
             --memory-limit); COPY has an option THREADS"
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
        ControlFlow::Break(problem) => Err(Error::unsupported(problem)),
    }
}

struct ReadsOnly;

impl Visitor for ReadsOnly {
    type Break = String;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        if !query.locks.is_empty() {
            return ControlFlow::Break(
                "FOR UPDATE and FOR SHARE are not supported: nothing is locked, a transaction whose reads were changed by \
                 another one fails when it commits"
                    .to_owned(),
            );
        }
        match query.body.as_ref() {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                ControlFlow::Break(format!("{} inside a query is not supported", name(inner)))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        match &select.into {
            Some(into) => ControlFlow::Break(format!(
                "SELECT INTO is not supported; write CREATE TABLE {} AS SELECT ...",
                into.name
            )),
            None => ControlFlow::Continue(()),
        }
    }
}
