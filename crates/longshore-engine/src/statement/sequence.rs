//! CREATE SEQUENCE, ALTER SEQUENCE and DROP SEQUENCE. Not here: their syntax (`sql::sequence`), what sequences do
//! (`catalog::sequence`), `nextval` (`datafusion::sequences`).

use std::sync::Arc;

use longshore_storage::ColumnType;
use sqlparser::ast::ObjectName;

use crate::catalog::{Catalog, Change, Entry, ObjectId, Origin, Owner, Sequence, SequenceDefinition, Table};
use crate::sql::names;
use crate::sql::sequence::{SequenceOptions, SequenceStatement, Verb};
use crate::statement::Context;
use crate::{Error, ErrorKind, Outcome};

/// CREATE SEQUENCE or ALTER SEQUENCE.
pub(crate) fn run(context: &Context<'_>, statement: &SequenceStatement) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let SequenceStatement { name, verb, options } = statement;
    let owner = options.owned_by.as_ref().map(|owner| owner.as_ref().map(|owner| owner_of(catalog, owner)).transpose());
    let owner = owner.transpose()?;
    match verb {
        Verb::Create { if_not_exists, .. } => {
            if *if_not_exists && catalog.sequence(name).is_some() {
                return Ok(Outcome::done("CREATE SEQUENCE"));
            }
            let definition = SequenceDefinition::new(name, options, ColumnType::BigInt)?;
            add(context, &Arc::new(Sequence::new(name.clone(), definition, owner.flatten())))?;
            Ok(Outcome::done("CREATE SEQUENCE"))
        }
        Verb::Alter { if_exists } => {
            match (catalog.sequence(name), if_exists) {
                (Some(sequence), _) => alter(context, &sequence, options, owner)?,
                (None, true) => {}
                (None, false) => return Err(missing(catalog, name)),
            }
            Ok(Outcome::done("ALTER SEQUENCE"))
        }
    }
}

#[expect(clippy::option_option, reason = "nothing is said of the owner, or that there is none")]
fn alter(
    context: &Context<'_>,
    sequence: &Arc<Sequence>,
    options: &SequenceOptions,
    owner: Option<Option<Owner>>,
) -> Result<(), Error> {
    if owner.is_some()
        && let Some(table) = identity_of(&context.database.catalog, &sequence.name)
    {
        return Err(Error::unsupported(format!(
            "sequence {} belongs to an identity column of table {table} and stays with it",
            sequence.name
        )));
    }
    define_anew(context, sequence, options, owner)
}

/// Alters a sequence: at once, or in a transaction block for that alone.
#[expect(clippy::option_option, reason = "nothing is said of the owner, or that there is none")]
pub(in crate::statement) fn define_anew(
    context: &Context<'_>,
    sequence: &Arc<Sequence>,
    options: &SequenceOptions,
    owner: Option<Option<Owner>>,
) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    if !catalog.is_fork() {
        return sequence.alter(options, owner);
    }
    catalog.change(|change| take_over(context, change, sequence, &sequence.name)?.alter(options, owner))
}

/// Lets the block that a statement stands in go on with another sequence, called `to`, in the place of one; others wait for it.
pub(in crate::statement) fn take_over(
    context: &Context<'_>,
    change: &mut Change,
    sequence: &Arc<Sequence>,
    to: &str,
) -> Result<Arc<Sequence>, Error> {
    let locks = context.transaction.numbers().advisory();
    locks.take_object(&context.database.catalog, ObjectId::Sequence(sequence.name.clone()))?;
    change.take_over(sequence, to, (locks.session()?, context.transaction.restarts_of(sequence)))
}

/// The table with an identity column that takes its numbers from a sequence.
fn identity_of(catalog: &Catalog, sequence: &str) -> Option<String> {
    let is_its = |origin: &Origin| matches!(origin, Origin::Identity { sequence: name, .. } if name == sequence);
    catalog.entries().into_iter().find_map(|entry| match entry {
        Entry::Table(table) => {
            table.rules().columns.iter().any(|rule| is_its(&rule.origin)).then(|| table.name.clone())
        }
        Entry::View(_) => None,
    })
}

/// The column that OWNED BY names, which must exist.
fn owner_of(catalog: &Catalog, (table, column): &(String, String)) -> Result<Owner, Error> {
    let Some(found) = catalog.table(table) else {
        return Err(Error::not_found(format!("table {table} does not exist")));
    };
    if found.relation.schema().index_of(column).is_none() {
        return Err(Error::no_column(format!("column {column} of table {table} does not exist")));
    }
    Ok(Owner { table: table.clone(), column: column.clone() })
}

/// Enters a sequence, whose name must be free.
fn add(context: &Context<'_>, sequence: &Arc<Sequence>) -> Result<(), Error> {
    context.database.catalog.change(|change| {
        change.created_by(context.creator());
        let name = &sequence.name;
        if let Some(existing) = change.entries.get(name) {
            return Err(Error::exists(format!("{name} is a {}; choose another name", existing.kind())));
        }
        match change.sequences.insert(name.clone(), Arc::clone(sequence)) {
            None => Ok(()),
            Some(_) => {
                Err(Error::exists(format!("sequence {name} exists already; drop it first, or use IF NOT EXISTS")))
            }
        }
    })
}

fn missing(catalog: &Catalog, name: &str) -> Error {
    match catalog.get(name) {
        Some(entry) => Error::new(ErrorKind::WrongObject, format!("{name} is a {}, not a sequence", entry.kind())),
        None => Error::not_found(format!("sequence {name} does not exist; IF EXISTS ignores that")),
    }
}

/// Drops all of `names` or none.
pub(crate) fn drop_sequences(
    context: &Context<'_>,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let mut found: Vec<Arc<Sequence>> = Vec::new();
    for name in names {
        let name = names::relation(name)?;
        match catalog.sequence(&name) {
            Some(sequence) => {
                if let Some(table) = identity_of(catalog, &name) {
                    return Err(Error::new(
                        ErrorKind::Dependent,
                        format!(
                            "sequence {name} serves an identity column of table {table}, and stays as long as that does"
                        ),
                    ));
                }
                found.push(sequence);
            }
            None if if_exists => {}
            None => return Err(missing(catalog, &name)),
        }
    }
    catalog.change(|change| release(change, &found, cascade))?;
    Ok(Outcome::done("DROP SEQUENCE"))
}

/// Drops sequences, together with the defaults that take numbers of them in the tables that stay; without `cascade` these
/// hinder it.
pub(crate) fn release(change: &mut Change, dropped: &[Arc<Sequence>], cascade: bool) -> Result<(), Error> {
    let is_dropped = |name: &str| dropped.iter().any(|sequence| sequence.name == name);
    let mut users: Vec<(Arc<Table>, usize)> = Vec::new();
    for entry in change.entries.values() {
        let Entry::Table(table) = entry else { continue };
        for (column, rule) in table.rules().columns.iter().enumerate() {
            let Some(name) = rule.origin.sequences().into_iter().find(|name| is_dropped(name)) else { continue };
            if !cascade {
                return Err(Error::new(
                    ErrorKind::Dependent,
                    format!(
                        "sequence {name} cannot be dropped because the default of column {} of table {} takes its numbers; \
                         use CASCADE to drop that default as well",
                        table.relation.schema().columns()[column].name,
                        table.name
                    ),
                ));
            }
            users.push((Arc::clone(table), column));
        }
    }
    for (table, column) in users {
        change.rules(&table).columns[column].origin = Origin::Null;
    }
    change.sequences.retain(|_, sequence| !dropped.iter().any(|dropped| Arc::ptr_eq(dropped, sequence)));
    Ok(())
}
