//! Alters a table that the same transaction block has made, and that has no rows yet: another one takes its place in the
//! catalog of the block.

use std::sync::Arc;

use super::super::draft::Draft;
use super::super::views;
use super::enter;
use crate::Error;
use crate::catalog::Table;
use crate::statement::{Context, foreign};

/// Puts what a draft says in the place of the table that it is of.
pub(super) async fn replace(context: &Context<'_>, mut draft: Draft) -> Result<(), Error> {
    let before = Arc::clone(&draft.before);
    let catalog = &context.database.catalog;
    if context.transaction.snapshot(&before.relation).rows() > 0 {
        return Err(unsupported(&before, "over rows that it has written"));
    }
    if draft.referring.iter().any(|referring| !Arc::ptr_eq(&referring.table, &before)) {
        return Err(unsupported(&before, "that others refer to"));
    }
    if draft.name != before.name && !catalog.sequences_of(&before.name, None).is_empty() {
        return Err(unsupported(&before, "with sequences of its own to another name"));
    }
    draft.resolve_references(context)?;
    let relation = context.database.relation(&draft.name, draft.schema());
    draft.storage.apply(&relation);
    let table = Arc::new(Table::new(&draft.name, relation.into(), draft.rules())?);
    let look = context.transaction.beside(&context.database.transactions, None);
    let as_altered = context.transaction.beside(&context.database.transactions, Some(Arc::clone(&table)));
    // Views follow the table to another name.
    let views = if draft.name == before.name {
        views::dependents(context, &draft, &look, &as_altered).await?
    } else {
        Vec::new()
    };
    drop((look, as_altered));
    let defaults = foreign::defaults(context, table.relation.schema().columns(), &table.rules())?;
    // What is dropped is freed after the catalog is open to others again.
    let _dropped = catalog.change(|change| {
        let dropped = enter(catalog, &draft, &table, &views, change)?;
        foreign::bind_all(context, &change.entries, &table, &defaults)?;
        let bound = Arc::clone(&table);
        change.otherwise(move || foreign::unbind_all(&bound));
        change.then(move || foreign::unbind_all(&before));
        Ok(dropped)
    })?;
    draft.tell_sequences(catalog)
}

fn unsupported(table: &Table, what: &str) -> Error {
    Error::unsupported(format!(
        "a transaction block does not alter a table {what}, such as {}; alter it before that, or after COMMIT",
        table.name
    ))
}
