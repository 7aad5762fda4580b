//! OWNER TO. Not here: all that belongs to a role (`owners`).

use crate::Error;
use crate::catalog::{Commented, ObjectClass, Privileges, RoleId};
use crate::sql::names;
use crate::sql::roles::RoleSpec;
use crate::statement::Context;
use crate::statement::role_names::{denied, named};

/// Gives something to a role, with the sequences of its columns.
pub(crate) fn change(context: &Context<'_>, what: &Commented, owner: &RoleSpec) -> Result<(), Error> {
    let owner = named(context, owner)?;
    let catalog = &context.database.catalog;
    if *what == Commented::Database {
        return if owner == RoleId::SUPERUSER {
            Ok(())
        } else {
            Err(Error::unsupported("the database belongs to the first superuser"))
        };
    }
    let by = context.transaction.numbers().identity().current;
    let sequences = match what {
        Commented::Relation(name) => {
            if let Some(owner) = catalog.sequence(name).and_then(|sequence| sequence.owner()) {
                return Err(Error::unsupported(format!(
                    "cannot change owner of sequence \"{name}\": it is linked to table \"{}\"",
                    owner.table
                )));
            }
            catalog.sequences_of(name, None)
        }
        _ => Vec::new(),
    };
    catalog.change(|change| {
        let definitions = &mut change.definitions;
        if definitions.owner(what) == owner {
            return Ok(());
        }
        if !definitions.roles.is_superuser(by) {
            if !definitions.roles.is_member_of(by, owner) {
                return Err(denied(format!("must be member of role \"{}\"", definitions.roles.name(owner))));
            }
            if let Commented::Relation(name) | Commented::Type(name) = what {
                let schema = names::parts(name).0;
                let on = Commented::Schema(schema.to_owned());
                if !definitions.may(owner, &on, ObjectClass::Schema, Privileges::CREATE) {
                    return Err(denied(format!("permission denied for schema {schema}")));
                }
            }
        }
        definitions.set_owner(what, owner);
        for sequence in &sequences {
            definitions.set_owner(&Commented::Relation(sequence.name.clone()), owner);
        }
        Ok(())
    })
}
