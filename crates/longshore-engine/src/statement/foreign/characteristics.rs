//! When foreign keys are checked, and that they are.

use sqlparser::ast::{ColumnDef, ColumnOption, ConstraintCharacteristics, DeferrableInitial, TableConstraint};

use crate::Error;
use crate::statement::Context;

/// Refuses a foreign key that is not to be enforced. One that may be checked when the transaction ends is checked when the
/// statement ends, which is told ([`tell_deferred`]).
pub(super) fn refuse_characteristics(characteristics: Option<&ConstraintCharacteristics>) -> Result<(), Error> {
    match characteristics {
        Some(ConstraintCharacteristics { enforced: Some(false), .. }) => Err(Error::unsupported(
            "a foreign key that is NOT ENFORCED is not supported: what is not checked need not be said",
        )),
        _ => Ok(()),
    }
}

/// Says that foreign keys which were to be checked when the transaction ends are checked when the statement ends.
pub(crate) fn tell_deferred(context: &Context<'_>, columns: &[ColumnDef], constraints: &[TableConstraint]) {
    let of_columns = columns.iter().flat_map(|column| &column.options).filter_map(|option| match &option.option {
        ColumnOption::ForeignKey(key) => Some(key),
        _ => None,
    });
    let of_table = constraints.iter().filter_map(|constraint| match constraint {
        TableConstraint::ForeignKey(key) => Some(key),
        _ => None,
    });
    for key in of_columns.chain(of_table) {
        let is_deferred = |of: &ConstraintCharacteristics| of.initially == Some(DeferrableInitial::Deferred);
        if key.characteristics.as_ref().is_some_and(is_deferred) {
            let name = key.name.as_ref().map_or_else(|| format!("to {}", key.foreign_table), ToString::to_string);
            context.control.notice(format!(
                "foreign key {name} is checked when each statement ends, not when the transaction ends: it is not deferred"
            ));
        }
    }
}
