//! INSERT: checked here, planned and run by `datafusion`.

use sqlparser::ast::{Insert, Statement, TableObject};

use crate::catalog::Entry;
use crate::datafusion::{Appended, Appending};
use crate::sql::names;
use crate::statement::{Context, refuse};
use crate::{Error, Outcome, Report};

pub(crate) async fn insert(context: &Context<'_>, insert: Insert) -> Result<Outcome, Error> {
    refuse_clauses(&insert)?;
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported("INSERT INTO takes the name of a table"));
    };
    let name = names::relation(name)?;
    let table = match context.database.catalog.get(&name) {
        None => return Err(Error::not_found(format!("table {name} does not exist"))),
        Some(Entry::View(_)) => {
            return Err(Error::unsupported(format!("{name} is a view; rows are inserted into tables only")));
        }
        Some(Entry::Table(table)) => table,
    };
    if let Some(source) = &insert.source {
        refuse::unless_reads_only(source)?;
    }
    let started = std::time::Instant::now();
    let statement = Statement::Insert(insert);
    let queries = &context.database.queries;
    let Appended { rows, .. } = queries.insert(statement, &table, Appending::default(), context.control).await?;
    Ok(Outcome::Done {
        tag: format!("INSERT 0 {rows}"),
        report: Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() },
        notice: None,
    })
}

/// Refuses whatever goes beyond `INSERT INTO t [(columns)] VALUES ... | SELECT ...`.
fn refuse_clauses(insert: &Insert) -> Result<(), Error> {
    let clause = if insert.on.is_some() {
        "ON CONFLICT"
    } else if insert.returning.is_some() {
        "RETURNING"
    } else if insert.table_alias.is_some() {
        "an alias for the table"
    } else if insert.source.is_none() {
        "DEFAULT VALUES"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("INSERT with {clause} is not supported yet; leave it out")))
}
