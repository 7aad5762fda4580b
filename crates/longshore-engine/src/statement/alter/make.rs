//! Makes the relation of a draft, looks whether all rows are as it says, and puts the new table in the place of the old
//! one.

mod in_block;

use std::sync::Arc;
use std::time::Duration;

use longshore_storage::{Alteration, Commit, CommitError, Datum, KeptIndex, NewColumn, Relation, Schema, Transaction};
use sqlparser::ast::{Expr, LimitClause, Statement, UnaryOperator};

use super::draft::{Draft, Values};
use super::{references, views};
use crate::catalog::{Catalog, Change, Check, Entry, Key, Table};
use crate::datafusion::{ExecutionContext, FoundRows, NamedInputs, ROW_COLUMN};
use crate::sql::{build, names};
use crate::statement::Context;
use crate::statement::change::rows_of_target;
use crate::statement::drop::drop_dependents;
use crate::statement::renames::follow_rename;
use crate::statement::rows::ROWS_AT_A_TIME;
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind, RowStream, blocking};

/// How long those who have written to the table, and not committed, are waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Puts what a draft says in the place of the table that it is of.
pub(super) async fn replace(context: &Context<'_>, mut draft: Draft) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    draft.settle_hidden_columns(context)?;
    if catalog.is_new_in_block(&draft.before) {
        return Box::pin(in_block::replace_new(context, draft)).await;
    }
    let before = Arc::clone(&draft.before);
    draft.resolve_references(context)?;
    let (relation, own) = (Arc::clone(&before.relation), context.block_transaction().map(|block| block.owner()));
    let begun = blocking::run(context.control, move |_| Ok(relation.begin_alteration_of(own, PATIENCE)?)).await;
    let alteration = begun.map_err(|error| in_the_way(&before, error))?;
    // Begun while nobody writes, it sees all that was written.
    let look = context.transaction.beside(&context.database.transactions, None);
    let schema = Arc::new(draft.schema());
    let (alteration, relation) = if in_block::has_changed(context, &before)? {
        in_block::rewrite(context, &draft, &schema, alteration).await?
    } else {
        let (alteration, relation) = reshape(context, &draft, &schema, alteration).await?;
        let alteration = compute(context, &draft, &schema, alteration, &relation, &look).await?;
        let new = draft.rules().keys.into_iter().zip(&draft.keys).filter(|(_, key)| key.from.is_none());
        add_keys(context, new.map(|(key, _)| key).collect(), &relation).await?;
        draft.storage.apply(&relation);
        in_block::join(context, &alteration, &before, &relation)?;
        (alteration, relation)
    };
    let seen = Table::altered(&before, &draft.name, Arc::clone(&relation), draft.rules());
    let as_altered = context.transaction.beside(&context.database.transactions, Some(Arc::clone(&seen)));
    for check in draft.checks.iter().filter(|check| check.is_new && check.check.is_valid) {
        // In a block it may have changed the rows itself.
        let reader = context.block_transaction().unwrap_or(&as_altered);
        validate(context, &seen, &check.check, reader).await?;
    }
    // Views follow the table to another name.
    let views = if draft.name == before.name {
        views::dependents(context, &draft, &look, &as_altered).await?
    } else {
        Vec::new()
    };
    drop((look, as_altered));
    let bound = references::bind(context, &draft, &seen).await?;
    if catalog.is_fork() {
        return in_block::swap(context, &draft, &seen, &views, (alteration, bound));
    }
    swap(context, &draft, &seen, &views, |transaction| alteration.commit_in(&relation, before.clone(), transaction))?;
    bound.keep();
    Ok(())
}

/// The relation with the columns of the draft, those that are computed still without values, and the indexes that it
/// keeps.
async fn reshape(
    context: &Context<'_>,
    draft: &Draft,
    schema: &Arc<Schema>,
    alteration: Alteration,
) -> Result<(Alteration, Arc<Relation>), Error> {
    enum Given {
        Kept(usize),
        Nothing,
        Computed,
    }
    let left = draft.left();
    let mut given = Vec::with_capacity(left.len());
    for at in &left {
        let column = &draft.columns[*at];
        given.push(match &column.values {
            Values::Kept => Given::Kept(*at),
            Values::New => Given::Nothing,
            Values::Converted(_) => Given::Computed,
        });
    }
    let keys = draft.keys.iter().filter(|key| !key.key.columns.is_empty()).filter_map(|key| {
        let columns = key.key.columns.iter().map(|at| left.iter().position(|left| left == at));
        Some((key.from.clone()?, key.key.name.clone(), columns.collect::<Option<Vec<_>>>()?))
    });
    let keys: Vec<(String, String, Vec<usize>)> = keys.collect();
    let (name, schema) = (draft.name.clone(), Arc::clone(schema));
    blocking::run(context.control, move |_| {
        let columns: Vec<NewColumn<'_>> = given
            .iter()
            .map(|given| match given {
                Given::Kept(at) => NewColumn::Kept(*at),
                Given::Nothing => NewColumn::Filled(Datum::Null),
                Given::Computed => NewColumn::Computed,
            })
            .collect();
        let kept: Vec<KeptIndex<'_>> =
            keys.iter().map(|(from, name, columns)| KeptIndex { from, name, columns }).collect();
        let relation = alteration.reshape(&name, &schema, &columns, &kept)?;
        Ok((alteration, Arc::new(relation)))
    })
    .await
}

/// Gives the columns of the draft their values that are computed row by row.
async fn compute(
    context: &Context<'_>,
    draft: &Draft,
    schema: &Arc<Schema>,
    alteration: Alteration,
    relation: &Arc<Relation>,
    look: &Arc<StatementTransaction>,
) -> Result<Alteration, Error> {
    let mut select = rows_of_target(&build::quoted(names::own(&draft.before.name)));
    let mut columns = Vec::new();
    for (position, at) in draft.left().into_iter().enumerate() {
        let column = &draft.columns[at];
        let value = match &column.values {
            Values::Converted(value) => value.as_ref().clone(),
            Values::New | Values::Kept => continue,
        };
        select.projection.push(build::named(value, &format!("{position} (new)")));
        columns.push(position);
    }
    if columns.is_empty() {
        return Ok(alteration);
    }
    let statement = Statement::Query(Box::new(build::query_of(select)));
    let rows = query_altered(context, statement, &draft.before, look).await?;
    let found = FoundRows::read(rows, schema, &columns, &[]).await?;
    let relation = Arc::clone(relation);
    blocking::run(context.control, move |control| {
        for part in found.parts(ROWS_AT_A_TIME) {
            if control.is_cancelled() {
                return Err(Error::cancelled());
            }
            part.each(|row, values| {
                let mut values = columns.iter().zip(values);
                values.try_for_each(|(column, value)| alteration.compute(&relation, row, *column, value))
            })?;
        }
        Ok(alteration)
    })
    .await
}

/// Builds the indexes of keys.
async fn add_keys(context: &Context<'_>, keys: Vec<Key>, relation: &Arc<Relation>) -> Result<(), Error> {
    let relation = Arc::clone(relation);
    blocking::run(context.control, move |control| {
        let is_cancelled = || control.is_cancelled();
        for key in keys.into_iter().filter(|key| !key.columns.is_empty()) {
            relation.create_index_unless(&key.name, &key.columns, key.index, key.uniqueness(), &is_cancelled)?;
        }
        Ok(())
    })
    .await
}

/// Looks whether all rows are as a check wants them.
pub(in crate::statement) async fn validate(
    context: &Context<'_>,
    table: &Table,
    check: &Check,
    transaction: &Arc<StatementTransaction>,
) -> Result<(), Error> {
    let name = build::quoted(names::own(&table.name));
    let mut select = rows_of_target(&name);
    let condition = Box::new(Expr::Nested(Box::new(check.condition.clone())));
    select.selection = Some(Expr::UnaryOp { op: UnaryOperator::Not, expr: condition });
    let mut query = build::query_of(select);
    query.order_by = Some(build::order_by(build::column(&name, ROW_COLUMN)));
    query.limit_clause =
        Some(LimitClause::LimitOffset { limit: Some(build::number(1)), offset: None, limit_by: Vec::new() });
    let statement = Statement::Query(Box::new(query));
    let rows = query_altered(context, statement, table, transaction).await?;
    let found = FoundRows::read(rows, table.relation.schema(), &[], &[]).await?.row_ids();
    let Some(row) = found.first() else { return Ok(()) };
    Err(Error::new(
        ErrorKind::Check,
        format!(
            "check constraint {} of table {} is violated by row {row}, {}; CHECK ({})",
            check.name,
            table.name,
            table.relation.described(*row)?,
            check.condition
        ),
    ))
}

/// Enters the new table in the catalog, which `commit` makes the one that new transactions see, and lets what knows the
/// table by name follow.
fn swap(
    context: &Context<'_>,
    draft: &Draft,
    table: &Arc<Table>,
    views: &[String],
    commit: impl FnOnce(Transaction) -> Result<Commit, CommitError>,
) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    // What is dropped is freed after the catalog is open to others again.
    let change = |change: &mut Change| enter(catalog, draft, table, views, change);
    let _dropped = catalog.change_relation(&context.database.transactions, change, commit)?;
    draft.tell_sequences(context)
}

/// Enters the new table in a draft of the catalog, and lets what knows the table by name follow; says what is dropped for it.
fn enter(
    catalog: &Catalog,
    draft: &Draft,
    table: &Arc<Table>,
    views: &[String],
    change: &mut Change,
) -> Result<Vec<Entry>, Error> {
    let before = &draft.before;
    let entries = &mut change.entries;
    match entries.get(&before.name) {
        Some(Entry::Table(found)) if Arc::ptr_eq(found, before) => {}
        _ => {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("table {} was dropped or replaced meanwhile; try again", before.name),
            ));
        }
    }
    if table.name != before.name && entries.contains_key(&table.name) {
        return Err(Error::exists(format!("the name {} is taken; choose another one", table.name)));
    }
    draft.check_bound(entries)?;
    let mut dropped: Vec<Entry> = views.iter().filter_map(|view| entries.remove(view)).collect();
    drop_dependents(entries, &mut dropped, true)?;
    dropped.extend(entries.remove(&before.name));
    let gone = draft.columns.iter().filter(|column| column.is_dropped);
    let mut gone: Vec<_> = gone.flat_map(|of| catalog.sequences_of(&before.name, Some(&of.column.name))).collect();
    gone.extend(draft.lost_sequences.iter().filter_map(|name| catalog.sequence(name)));
    change.sequences.retain(|_, sequence| !gone.iter().any(|gone| Arc::ptr_eq(gone, sequence)));
    entries.insert(table.name.clone(), Entry::Table(Arc::clone(table)));
    if table.name != before.name {
        follow_rename(entries, &before.name, &table.name)?;
        change.move_comments(&before.name, &table.name);
    }
    draft.tell_referring(change);
    draft.tell_comments(change);
    Ok(dropped)
}

/// Why a table cannot be altered now.
fn in_the_way(table: &Table, error: Error) -> Error {
    if error.kind() != ErrorKind::Conflict {
        return error;
    }
    Error::new(
        ErrorKind::Conflict,
        format!(
            "table {} cannot be altered while another transaction changes it ({error}); end that, then try again",
            table.name
        ),
    )
}

/// Starts the query `statement` in `transaction`, which reads `table` under the name `TARGET`, and the numbers of its rows. It
/// has no parameters.
pub(in crate::statement) async fn query_altered(
    context: &Context<'_>,
    statement: Statement,
    table: &Table,
    transaction: &Arc<StatementTransaction>,
) -> Result<RowStream, Error> {
    let inputs = NamedInputs { target: Some(table), ..NamedInputs::default() };
    let execution = ExecutionContext { transaction, parameters: None, ..context.execution() };
    context.database.queries.query_with(statement, inputs, &execution).await
}
