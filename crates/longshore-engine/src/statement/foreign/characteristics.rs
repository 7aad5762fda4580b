//! When foreign keys are checked: what their definitions say, and SET CONSTRAINTS.

use std::sync::Arc;

use longshore_storage::{ForeignKey, ReferenceTiming};
use sqlparser::ast::{ConstraintCharacteristics, DeferrableInitial, ObjectName, ObjectNamePart};

use crate::catalog::{Entry, Table};
use crate::sql::names;
use crate::statement::Context;
use crate::{Error, ErrorKind, Outcome};

/// When a foreign key is checked of which this is said. One that is not to be enforced is refused.
pub(crate) fn timing(said: Option<&ConstraintCharacteristics>) -> Result<ReferenceTiming, Error> {
    let Some(ConstraintCharacteristics { deferrable, initially, enforced }) = said else {
        return Ok(ReferenceTiming::Immediate);
    };
    if *enforced == Some(false) {
        return Err(Error::unsupported(
            "a foreign key that is NOT ENFORCED is not supported: what is not checked need not be said",
        ));
    }
    match (deferrable, initially) {
        (Some(false), Some(DeferrableInitial::Deferred)) => {
            Err(Error::syntax("constraint declared INITIALLY DEFERRED must be DEFERRABLE"))
        }
        (_, Some(DeferrableInitial::Deferred)) => Ok(ReferenceTiming::Deferred),
        (Some(true), _) => Ok(ReferenceTiming::Deferrable),
        _ => Ok(ReferenceTiming::Immediate),
    }
}

/// What a definition says of it, with a space before it.
pub(super) fn described(timing: ReferenceTiming) -> &'static str {
    match timing {
        ReferenceTiming::Immediate => "",
        ReferenceTiming::Deferrable => " DEFERRABLE",
        ReferenceTiming::Deferred => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// SET CONSTRAINTS, of all that can be deferred or of those with these names.
pub(crate) fn set_constraints(
    context: &Context<'_>,
    constraints: Option<&[ObjectName]>,
    deferred: bool,
) -> Result<Outcome, Error> {
    let keys = match constraints {
        None => vec![None],
        Some(constraints) => {
            let mut keys = Vec::new();
            for constraint in constraints {
                keys.extend(named(context, constraint)?.into_iter().map(Some));
            }
            keys
        }
    };
    context.transaction.with(|transaction| {
        let is_cancelled = || context.control.is_cancelled();
        keys.iter().try_for_each(|key| transaction.set_deferred(key.as_ref(), deferred, &is_cancelled))
    })?;
    Ok(Outcome::done("SET CONSTRAINTS"))
}

/// The foreign keys of a name, of the first schema that has a constraint of that name.
fn named(context: &Context<'_>, constraint: &ObjectName) -> Result<Vec<Arc<ForeignKey>>, Error> {
    let (schemas, own) = match constraint.0.as_slice() {
        [ObjectNamePart::Identifier(own)] => {
            let path = context.transaction.numbers().path();
            (path.schemas(&context.database.catalog, true), names::identifier(own)?)
        }
        [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(own)] => {
            (vec![names::identifier(schema)?], names::identifier(own)?)
        }
        _ => return Err(Error::syntax(format!("{constraint} is not the name of a constraint"))),
    };
    let tables: Vec<Arc<Table>> = context.entries().iter().filter_map(Entry::table).collect();
    for schema in schemas {
        let is_in = |table: &&Arc<Table>| names::parts(&table.name).0 == schema && table.rules().has_constraint(&own);
        let found: Vec<&Arc<Table>> = tables.iter().filter(is_in).collect();
        if found.is_empty() {
            continue;
        }
        let mut keys = Vec::new();
        for table in found {
            let rules = table.rules();
            let reference = rules.references.iter().find(|reference| reference.name == own);
            if reference.is_none_or(|reference| reference.timing == ReferenceTiming::Immediate) {
                return Err(Error::new(ErrorKind::WrongObject, format!("constraint \"{own}\" is not deferrable")));
            }
            keys.extend(table.relation.foreign_keys().into_iter().filter(|key| key.name() == own));
        }
        return Ok(keys);
    }
    Err(Error::no_object(format!("constraint \"{own}\" does not exist")))
}
