//! Alters a table in a transaction block: what takes its place is in the catalog of the block alone until that commits.
//!
//! A table from before the block is altered as outside of one, and stays closed to others until the block ends. If the block
//! has changed rows of it, the rows are written anew, as those of a table are that the block has made itself: what it has
//! changed and not committed belongs to one relation.

use std::sync::{Arc, Mutex, PoisonError};

use longshore_storage::{Alteration, ForeignKey, Relation, Schema};
use sqlparser::ast::{Expr, Statement, Value};

use super::super::draft::{Draft, Values};
use super::super::references::{self, Bound};
use super::super::views;
use super::{add_keys, enter, query_altered};
use crate::Error;
use crate::catalog::{Change, Origin, Table};
use crate::sql::{build, names};
use crate::statement::Context;
use crate::statement::change::rows_of_target;

/// Whether the block has changed rows of a table from before it, and not undone that.
pub(super) fn has_changed(context: &Context<'_>, table: &Table) -> Result<bool, Error> {
    let Some(block) = context.block_transaction() else { return Ok(false) };
    block.with(|transaction| Ok(transaction.has_changed(&table.relation)))
}

/// Lets the transaction of the block, if there is one, go on with what takes the place of a table.
pub(super) fn join(
    context: &Context<'_>,
    alteration: &Alteration,
    before: &Arc<Table>,
    relation: &Relation,
) -> Result<(), Error> {
    let Some(block) = context.block_transaction() else { return Ok(()) };
    let keep = Arc::clone(before);
    block.with(|transaction| alteration.join(relation, keep, transaction))
}

/// Writes the rows as the block sees them to a relation of their own.
pub(super) async fn rewrite(
    context: &Context<'_>,
    draft: &Draft,
    schema: &Arc<Schema>,
    alteration: Alteration,
) -> Result<(Alteration, Arc<Relation>), Error> {
    let relation = Arc::new(alteration.renewed(&draft.name, schema));
    draft.storage.apply(&relation);
    add_keys(context, draft.rules().keys, &relation).await?;
    join(context, &alteration, &draft.before, &relation)?;
    write_rows(context, draft, &relation).await?;
    Ok((alteration, relation))
}

/// Writes the rows of the table that a draft is of, as the block sees them and the draft says, to another relation.
async fn write_rows(context: &Context<'_>, draft: &Draft, relation: &Arc<Relation>) -> Result<(), Error> {
    let name = build::quoted(names::own(&draft.before.name));
    let mut select = rows_of_target(&name);
    select.projection.clear();
    // No query sees hidden columns.
    let rules = draft.before.rules();
    for (position, at) in draft.left().into_iter().enumerate() {
        let column = &draft.columns[at];
        let value = match &column.values {
            Values::Kept => match rules.origin(at) {
                Origin::Generated(value) if column.column.is_hidden() => value.as_ref().clone(),
                _ => {
                    let before = &draft.before.relation.schema().columns()[at];
                    Expr::CompoundIdentifier(vec![name.clone(), build::quoted(&before.name)])
                }
            },
            Values::New => Expr::value(Value::Null),
            Values::Converted(value) => value.as_ref().clone(),
        };
        select.projection.push(build::named(value, &format!("{position} (new)")));
    }
    let statement = Statement::Query(Box::new(build::query_of(select)));
    let rows = query_altered(context, statement, &draft.before, context.transaction).await?;
    context.database.queries.append(rows, relation, Some(context.transaction.as_ref()), context.control).await?;
    Ok(())
}

/// Enters what takes the place of a table in the catalog of the block.
pub(super) fn swap(
    context: &Context<'_>,
    draft: &Draft,
    table: &Arc<Table>,
    views: &[String],
    (alteration, bound): (Alteration, Bound),
) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    // What is dropped is freed after the catalog is open to others again.
    let _dropped = catalog.change(|change| {
        let dropped = enter(catalog, draft, table, views, change)?;
        hold(change, (alteration, bound), |(alteration, bound)| {
            alteration.end();
            bound.keep();
        });
        Ok(dropped)
    })?;
    draft.tell_sequences(context)
}

/// Puts what a draft says in the place of a table that the block has made.
pub(super) async fn replace_new(context: &Context<'_>, mut draft: Draft) -> Result<(), Error> {
    let before = Arc::clone(&draft.before);
    let catalog = &context.database.catalog;
    draft.resolve_references(context)?;
    let relation = Arc::new(context.database.relation(&draft.name, draft.schema()));
    draft.storage.apply(&relation);
    let table = Arc::new(Table::new(&draft.name, Arc::clone(&relation), draft.rules())?);
    let has_rows = context.transaction.snapshot(&before.relation).rows() > 0;
    if has_rows {
        write_rows(context, &draft, &relation).await?;
        for check in draft.checks.iter().filter(|check| check.is_new && check.check.is_valid) {
            super::validate(context, &table, &check.check, context.transaction).await?;
        }
        // So that nothing refers to anything from there.
        context.transaction.with(|transaction| transaction.truncate(&before.relation))?;
    }
    let look = context.transaction.beside(&context.database.transactions, None);
    let as_altered = context.transaction.beside(&context.database.transactions, Some(Arc::clone(&table)));
    // Views follow the table to another name.
    let views = if draft.name == before.name {
        views::dependents(context, &draft, &look, &as_altered).await?
    } else {
        Vec::new()
    };
    drop((look, as_altered));
    let bound = references::bind(context, &draft, &table).await?;
    // What is dropped is freed after the catalog is open to others again.
    let _dropped = catalog.change(|change| {
        let dropped = enter(catalog, &draft, &table, &views, change)?;
        hold(change, bound, Bound::keep);
        // It has taken the foreign keys over, at both ends.
        draft.bound.iter().for_each(ForeignKey::detach);
        let before = draft.bound.clone();
        change.otherwise(move || before.iter().for_each(ForeignKey::attach_again));
        Ok(dropped)
    })?;
    draft.tell_sequences(context)
}

/// Gives something up when the block goes back to before this change, and keeps it when it commits.
fn hold<H: Send + 'static>(change: &mut Change, held: H, keep: impl FnOnce(H) + Send + 'static) {
    let held = Arc::new(Mutex::new(Some(held)));
    let take = move || held.lock().unwrap_or_else(PoisonError::into_inner).take();
    let give_up = take.clone();
    change.otherwise(move || drop(give_up()));
    change.then(move || {
        if let Some(held) = take() {
            keep(held);
        }
    });
}
