//! INSERT. Rows of a query are gathered and appended in bulk, as a load would; VALUES, and whatever asks what became
//! of each row (ON CONFLICT, RETURNING), goes row by row, so that it waits for no load. Not here: planning
//! (`datafusion`).

mod conflict;
pub(super) mod values;

use std::time::Instant;

use sqlparser::ast::{Ident, Insert, Query, SetExpr, Statement, TableObject};

use conflict::{Action, OnConflict};

use crate::datafusion::{Appended, Appending, fetch_rows};
use crate::sql::{names, repeated};
use crate::statement::change::{Returned, Target, returning};
use crate::statement::rows::{self, Inserted};
use crate::statement::updatable::{Verb, ViewPath};
use crate::statement::{Context, refuse};
use crate::{Error, Outcome, Report};

pub(crate) async fn insert(context: &Context<'_>, mut insert: Insert) -> Result<Outcome, Error> {
    refuse_clauses(&insert)?;
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported("INSERT INTO takes the name of a table"));
    };
    let name = names::relation(name)?;
    let started = Instant::now();
    let alias =
        insert.table_alias.take().map_or_else(|| Ident::with_quote('"', names::own(&name)), |alias| alias.alias);
    let target = Target::named(context, &name, alias, Verb::Insert)?;
    if let Some(view) = &target.view {
        view.insert_into(&mut insert, &target.table)?;
    }
    let on_conflict = OnConflict::take(context, &target, &mut insert)?;
    let returned = insert.returning.take();
    if let Some(source) = &mut insert.source {
        refuse::unless_reads_only(source)?;
        repeated::number_apart(source);
    }
    values::complete(&mut insert, &target)?;
    let is_checked = target.view.as_ref().is_some_and(ViewPath::checks);
    let in_bulk =
        on_conflict.is_none() && returned.is_none() && !is_checked && !insert.source.as_deref().is_some_and(is_values);
    let statement = Statement::Insert(insert);
    let queries = &context.database.queries;
    if in_bulk {
        let appending = Appending::default();
        let Appended { rows, .. } = queries.insert(statement, &target.table, appending, &context.execution()).await?;
        return Ok(done(rows, started));
    }
    let given = queries.rows_to_insert(statement, &target.table, &context.execution()).await?;
    let is_conflict = |index: &str| on_conflict.as_ref().is_some_and(|on_conflict| on_conflict.is_about(index));
    let Inserted { mut rows_now, conflicts } = rows::insert(context, &target.table, &given, is_conflict).await?;
    if let Some(OnConflict { action: Action::Update(update), .. }) = on_conflict {
        rows_now.extend(Box::pin(update.run(context, &target, &given, &conflicts, &rows_now)).await?);
    }
    target.check_view(context, &rows_now).await?;
    match returned {
        Some(items) => {
            let images = fetch_rows(&context.transaction.snapshot(&target.table.relation), &rows_now)?;
            returning(context, "INSERT 0", items, Returned::of(&target.alias, images), target.view.as_ref()).await
        }
        None => Ok(done(rows_now.len() as u64, started)),
    }
}

fn done(rows: u64, started: Instant) -> Outcome {
    Outcome::Done {
        tag: format!("INSERT 0 {rows}"),
        report: Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() },
        notice: None,
    }
}

fn is_values(query: &Query) -> bool {
    matches!(query.body.as_ref(), SetExpr::Values(_)) && query.with.is_none()
}

/// Refuses whatever goes beyond `INSERT INTO t [AS a] [(columns)] [OVERRIDING ...] VALUES ... | SELECT ... | DEFAULT
/// VALUES [ON CONFLICT ...] [RETURNING ...]`.
fn refuse_clauses(insert: &Insert) -> Result<(), Error> {
    let clause = if insert.overwrite {
        "OVERWRITE"
    } else if insert.or.is_some() || insert.ignore || insert.replace_into {
        "OR, IGNORE or REPLACE"
    } else if insert.output.is_some() {
        "OUTPUT"
    } else if !insert.assignments.is_empty() {
        "SET"
    } else if insert.partitioned.is_some() || !insert.after_columns.is_empty() {
        "PARTITION"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!(
        "INSERT with {clause} is not supported; ON CONFLICT says what to do with keys that are there"
    )))
}
