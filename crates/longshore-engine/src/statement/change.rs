//! UPDATE and DELETE: which rows they change, found by a query over the table with a hidden column of row numbers.
//!
//! `DataFusion` has hooks for them, but these lose predicates (subqueries, constants) and would change other rows than
//! the statement says. So the statement becomes a query: the target under a name of its own, the other tables behind
//! it, the WHERE as it stands, and as columns the row number and the new values. All rows are found before the first
//! is changed, so that a statement never sees what it did itself. Not here: INSERT (`insert`).

mod returning;
mod target;

use std::time::Instant;

use arrow_array::RecordBatch;
use longshore_storage::RowId;
use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, SelectItem, TableWithJoins, Update, UpdateTableFromKind,
};

pub(crate) use returning::{Returned, returning};
pub(crate) use target::{Search, Target, is_default, rows_of_target};

use target::names_of;

use crate::datafusion::FoundRows;
use crate::sql::{build, rows, subscripts};
use crate::statement::Context;
use crate::statement::rows as changed_rows;
use crate::statement::rows::Updating;
use crate::statement::updatable::Verb;
use crate::{Error, ErrorKind, Outcome, Report};

/// UPDATE.
pub(crate) async fn update(context: &Context<'_>, update: Update) -> Result<Outcome, Error> {
    refuse_update_clauses(&update)?;
    let started = Instant::now();
    let target = Target::new(context, &update.table, Verb::Update)?;
    let from = match update.from {
        None => Vec::new(),
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
    };
    let search = Search {
        with_others: update.returning.is_some(),
        from: from.clone(),
        selection: update.selection,
        ..Search::default()
    };
    let setting = Setting::new(context, &target, update.assignments)?;
    let found = setting.find(context, &target, search).await?;
    let changed = setting.update(context, &target, &found).await?;
    target.check_view(context, &changed).await?;
    let returned = match update.returning {
        Some(items) => {
            let images = target.fetch_rows(context, &changed)?;
            Some((items, to_return(&target, images, &from, &found)?))
        }
        None => None,
    };
    finish(context, "UPDATE", changed.len(), started, &target, returned).await
}

/// Columns that are set, and to what.
pub(crate) struct Setting {
    columns: Vec<usize>,
    values: Vec<Expr>,
    updating: Updating,
}

impl Setting {
    pub(crate) fn new(context: &Context<'_>, target: &Target, set: Vec<Assignment>) -> Result<Self, Error> {
        let (columns, values): (Vec<usize>, Vec<Expr>) = assignments(target, set)?.into_iter().unzip();
        let updating = Updating::new(context, &target.table, &target.table.rules(), &columns)?;
        Ok(Self { columns, values, updating })
    }

    /// The rows that `search` is about, with their new values.
    pub(crate) async fn find(
        &self,
        context: &Context<'_>,
        target: &Target,
        search: Search<'_>,
    ) -> Result<FoundRows, Error> {
        let also = self.updating.also(&self.columns);
        let values = self.values.clone();
        target.find(context, Search { columns: &self.columns, values, also: &also, ..search }).await
    }

    /// Sets the columns of the rows that were found. Returns the rows as they are now.
    pub(crate) async fn update(
        &self,
        context: &Context<'_>,
        target: &Target,
        found: &FoundRows,
    ) -> Result<Vec<RowId>, Error> {
        self.updating.update(context, &target.table, &self.columns, found).await
    }
}

/// DELETE.
pub(crate) async fn delete(context: &Context<'_>, delete: Delete) -> Result<Outcome, Error> {
    refuse_delete_clauses(&delete)?;
    let started = Instant::now();
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    let [table] = tables.as_slice() else {
        return Err(Error::unsupported("DELETE takes one table; name others behind USING"));
    };
    let target = Target::new(context, table, Verb::Delete)?;
    let from = delete.using.unwrap_or_default();
    let search = Search {
        with_others: delete.returning.is_some(),
        from: from.clone(),
        selection: delete.selection,
        ..Search::default()
    };
    let found = target.find(context, search).await?;
    let rows = found.row_ids();
    let returned = match delete.returning {
        Some(items) => {
            let images = target.fetch_rows(context, &rows)?;
            Some((items, to_return(&target, images, &from, &found)?))
        }
        None => None,
    };
    changed_rows::delete(context, &target.table, &rows).await?;
    finish(context, "DELETE", rows.len(), started, &target, returned).await
}

/// What RETURNING is about: rows of the table that is changed, and those that they were found beside.
fn to_return(
    target: &Target,
    images: RecordBatch,
    from: &[TableWithJoins],
    found: &FoundRows,
) -> Result<Returned, Error> {
    let others = names_of(from).into_iter().zip(found.others()?).collect();
    Ok(Returned { others, ..Returned::of(&target.alias, images) })
}

async fn finish(
    context: &Context<'_>,
    verb: &'static str,
    rows: usize,
    started: Instant,
    target: &Target,
    returned: Option<(Vec<SelectItem>, Returned)>,
) -> Result<Outcome, Error> {
    if let Some((items, returned)) = returned {
        return returning(context, verb, items, returned, target.view.as_ref()).await;
    }
    let report = Report { rows: rows as u64, seconds: started.elapsed().as_secs_f64(), ..Report::default() };
    Ok(Outcome::Done { tag: format!("{verb} {rows}"), report, notice: None })
}

/// The columns that are set, and the expressions of their values.
pub(crate) fn assignments(target: &Target, assignments: Vec<Assignment>) -> Result<Vec<(usize, Expr)>, Error> {
    let mut set: Vec<(usize, Expr)> = Vec::new();
    let add = |set: &mut Vec<(usize, Expr)>, column: usize, value: Expr| {
        if set.iter().any(|(before, _)| *before == column) {
            let name = &target.table.relation.schema().columns()[column].name;
            let message = format!("column {name} is set twice; keep one of the assignments");
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        set.push((column, value));
        Ok(())
    };
    for Assignment { target: place, value } in assignments {
        match (place, value) {
            (AssignmentTarget::ColumnName(name), value) if subscripts::is_put(&value) => {
                let column = target.column(&name)?;
                // Several elements of a column are put into one array.
                let before = set.iter().position(|(before, array)| *before == column && subscripts::is_put(array));
                let array = match before {
                    Some(before) => set.remove(before).1,
                    None => Expr::CompoundIdentifier(vec![target.alias.clone(), build::last_name(&name)?]),
                };
                let put = subscripts::into_array(&value, || array);
                add(&mut set, column, put.ok_or_else(|| Error::internal("an element is expected"))?)?;
            }
            (AssignmentTarget::ColumnName(name), value) => add(&mut set, target.column(&name)?, value)?,
            (AssignmentTarget::Tuple(places), Expr::Subquery(query)) => {
                for (number, place) in places.iter().enumerate() {
                    let value = rows::column_of(query.as_ref().clone(), number, places.len());
                    add(&mut set, target.column(place)?, value)?;
                }
            }
            (AssignmentTarget::Tuple(places), value) => {
                let values = rows::parts(&value).ok_or_else(|| {
                    Error::syntax("source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
                })?;
                if values.len() != places.len() {
                    return Err(Error::syntax("number of columns does not match number of values"));
                }
                for (place, value) in places.iter().zip(values) {
                    add(&mut set, target.column(place)?, value)?;
                }
            }
        }
    }
    Ok(set)
}

/// Refuses whatever goes beyond `UPDATE t [AS a] SET ... [FROM ...] [WHERE ...] [RETURNING ...]`.
fn refuse_update_clauses(update: &Update) -> Result<(), Error> {
    let clause = if update.limit.is_some() {
        "LIMIT"
    } else if !update.order_by.is_empty() {
        "ORDER BY"
    } else if update.or.is_some() {
        "OR"
    } else if update.output.is_some() {
        "OUTPUT"
    } else if !update.optimizer_hints.is_empty() {
        "hints"
    } else {
        return Ok(());
    };
    Err(refused("UPDATE", clause))
}

/// Refuses whatever goes beyond `DELETE FROM t [AS a] [USING ...] [WHERE ...] [RETURNING ...]`.
fn refuse_delete_clauses(delete: &Delete) -> Result<(), Error> {
    let clause = if delete.limit.is_some() {
        "LIMIT"
    } else if !delete.order_by.is_empty() {
        "ORDER BY"
    } else if !delete.tables.is_empty() {
        "several tables"
    } else if delete.output.is_some() {
        "OUTPUT"
    } else if !delete.optimizer_hints.is_empty() {
        "hints"
    } else {
        return Ok(());
    };
    Err(refused("DELETE", clause))
}

fn refused(verb: &str, clause: &str) -> Error {
    Error::unsupported(format!(
        "{verb} with {clause} is not supported; choose the rows by WHERE, for instance with key IN (SELECT ...)"
    ))
}
