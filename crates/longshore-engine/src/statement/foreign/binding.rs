//! Lets relations obey foreign keys, and no longer.

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::{Column, Datum, ForeignKey, Index, ReferenceAction, ReferenceRules, lists};
use sqlparser::ast::ReferentialAction;

use super::{key_of, no_table, positions};
use crate::Error;
use crate::catalog::{Entry, Reference, Rules, Table};
use crate::datafusion::datum;
use crate::statement::Context;
use crate::transaction::StatementTransaction;

/// The default of each of some columns, for SET DEFAULT; `None` where no action asks for them.
pub(crate) type ColumnDefaults = Option<Vec<(usize, Default)>>;

/// What a column gets by SET DEFAULT.
#[derive(Clone, Debug)]
pub(crate) enum Default {
    /// One value, in the only row of an array.
    Value(arrow_array::ArrayRef, longshore_storage::ColumnType),
    /// Another one in every row.
    Volatile,
}

/// Lets the relation of a table obey a foreign key that is among its rules, or is going to be. Its columns are known
/// ([`super::resolve`]). Unless `is_trusted`, all rows are checked, on all threads, unless `is_cancelled`.
/// With a transaction, it goes on with the foreign key, and is told if its own rows do not obey it.
pub(crate) fn bind(
    (table, parent): (&Table, &Table),
    reference: &Reference,
    defaults: ColumnDefaults,
    is_trusted: bool,
    transaction: Option<&StatementTransaction>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Arc<ForeignKey>, Error> {
    let (rules, index) = bound(reference, parent, defaults)?;
    let Some(transaction) = transaction else {
        return Ok(table.relation.add_foreign_key_unless(rules, &parent.relation, &index, is_trusted, is_cancelled)?);
    };
    let both = (&*table.relation, &*parent.relation);
    transaction.with(|transaction| transaction.add_foreign_key(rules, both, &index, is_trusted, is_cancelled))
}

/// What a foreign key is to storage, and the index that it refers by.
fn bound(
    reference: &Reference,
    parent: &Table,
    defaults: ColumnDefaults,
) -> Result<(ReferenceRules, Arc<Index>), Error> {
    let positions = positions(reference, parent.relation.schema().columns())?;
    let rules = parent.rules();
    let key = key_of(&positions, &rules.keys)
        .ok_or_else(|| Error::internal(format!("the key that {} refers to is not there", reference.name)))?;
    let index = parent.relation.indexes().into_iter().find(|index| index.name() == key.name);
    let index = index.ok_or_else(|| Error::internal(format!("the index of {} is not there", key.name)))?;
    let rules = ReferenceRules {
        name: reference.name.clone(),
        columns: reference.columns.iter().copied().zip(positions).collect(),
        matching: reference.matching,
        timing: reference.timing,
        on_delete: action(reference.on_delete),
        on_update: action(reference.on_update),
        defaults: defaults.map(|defaults| -> Arc<longshore_storage::Defaults> {
            Arc::new(move |column, take| match defaults.iter().find(|(of, _)| *of == column) {
                Some((_, Default::Value(array, column_type))) => {
                    take(datum(&lists::encode_array(array), *column_type, 0));
                    Ok(())
                }
                Some((_, Default::Volatile)) => {
                    Err("it is another one for every row, which SET DEFAULT does not support".to_owned())
                }
                None => {
                    take(Datum::Null);
                    Ok(())
                }
            })
        }),
    };
    Ok((rules, index))
}

/// Lets the relation of a table no longer obey the foreign key of a name.
pub(crate) fn unbind(table: &Table, name: &str) {
    for key in table.relation.foreign_keys().iter().filter(|key| key.name() == name) {
        table.relation.drop_foreign_key(key);
    }
}

/// Lets a table that is not in the catalog yet obey its foreign keys, to the tables of the catalog and to itself: as an empty
/// one does, or one whose rows are known to, if they are trusted.
/// If one cannot be, none is. A transaction block that has the catalog to itself goes on with them.
pub(crate) fn bind_all(
    context: &Context<'_>,
    entries: &BTreeMap<String, Entry>,
    table: &Table,
    defaults: &ColumnDefaults,
    is_trusted: bool,
) -> Result<(), Error> {
    let transaction = context.block_transaction().map(Arc::as_ref);
    let bind = |reference: &Reference, parent: &Table| {
        bind((table, parent), reference, defaults.clone(), is_trusted, transaction, &|| false).map(|_| ())
    };
    let rules = table.rules();
    for (at, reference) in rules.references.iter().enumerate() {
        let bound = if reference.table == table.name {
            bind(reference, table)
        } else {
            match entries.get(&reference.table) {
                Some(Entry::Table(parent)) => bind(reference, parent),
                _ => Err(no_table(&reference.table)),
            }
        };
        if let Err(error) = bound {
            rules.references[..at].iter().for_each(|bound| unbind(table, &bound.name));
            return Err(error);
        }
    }
    Ok(())
}

/// Lets the relation of a table that is dropped no longer obey any foreign key.
pub(crate) fn unbind_all(table: &Table) {
    for key in table.relation.foreign_keys() {
        table.relation.drop_foreign_key(&key);
    }
}

/// The defaults of the columns that refer, as far as a foreign key asks for them.
pub(crate) fn defaults(context: &Context<'_>, columns: &[Column], rules: &Rules) -> Result<ColumnDefaults, Error> {
    let sets_default =
        |reference: &&Reference| [reference.on_delete, reference.on_update].contains(&ReferentialAction::SetDefault);
    let mut wanted: Vec<usize> =
        rules.references.iter().filter(sets_default).flat_map(|reference| reference.columns.clone()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(wanted.len());
    for column in wanted {
        let described = &columns[column];
        let queries = &context.database.queries;
        let value = queries.default_value(described, rules.origin(column), &context.execution())?;
        found.push((
            column,
            match value {
                Some(array) => Default::Value(array, described.column_type),
                None => Default::Volatile,
            },
        ));
    }
    Ok(Some(found))
}

fn action(action: ReferentialAction) -> ReferenceAction {
    match action {
        ReferentialAction::NoAction => ReferenceAction::NoAction,
        ReferentialAction::Restrict => ReferenceAction::Restrict,
        ReferentialAction::Cascade => ReferenceAction::Cascade,
        ReferentialAction::SetNull => ReferenceAction::SetNull,
        ReferentialAction::SetDefault => ReferenceAction::SetDefault,
    }
}
