//! Which sequences and types a statement alters or drops: it locks them before it begins, so that others that do the same wait,
//! and the statement finds what they have left.

use std::sync::Arc;

use longshore_load::Control;
use sqlparser::ast::{ObjectName, ObjectType, Statement};

use crate::Error;
use crate::catalog::{Catalog, ObjectId};
use crate::sql::Parsed;
use crate::sql::domain::DomainVerb;
use crate::sql::names::relation;
use crate::sql::objects::{AlterObject, ObjectKind, ObjectStatement};
use crate::sql::sequence::Verb;
use crate::transaction::Block;

/// Locks what a statement alters or drops to the end of its transaction.
///
/// # Errors
/// When it cannot be waited for.
pub(super) async fn lock(
    block: &mut Block,
    catalog: &Catalog,
    parsed: &Parsed,
    control: &Arc<Control>,
) -> Result<(), Error> {
    if !block.may_change() {
        return Ok(());
    }
    for object in objects(parsed, catalog)? {
        block.lock_object(catalog, object, control).await?;
    }
    Ok(())
}

/// The sequences and types, as far as there are such.
fn objects(parsed: &Parsed, catalog: &Catalog) -> Result<Vec<ObjectId>, Error> {
    let sequence = |name: &str| catalog.sequence(name).map(|_| ObjectId::Sequence(name.to_owned()));
    let user_type = |name: &str| catalog.user_type(name).map(|_| ObjectId::Type(name.to_owned()));
    let all = |names: &[ObjectName], find: &dyn Fn(&str) -> Option<ObjectId>| {
        let found = names.iter().map(|name| relation(name).map(|name| find(&name)));
        found.filter_map(Result::transpose).collect::<Result<Vec<_>, Error>>()
    };
    match parsed {
        Parsed::Sequence(statement) if matches!(statement.verb, Verb::Alter { .. }) => {
            Ok(sequence(&statement.name).into_iter().collect())
        }
        Parsed::Domain(statement) if !matches!(statement.verb, DomainVerb::Create { .. }) => {
            all(std::slice::from_ref(&statement.name), &user_type)
        }
        Parsed::Object(statement) => match statement.as_ref() {
            ObjectStatement::Alter(AlterObject { kind: ObjectKind::Sequence, name, .. }) => {
                all(std::slice::from_ref(name), &sequence)
            }
            ObjectStatement::Alter(AlterObject { kind: ObjectKind::Type | ObjectKind::Domain, name, .. }) => {
                all(std::slice::from_ref(name), &user_type)
            }
            _ => Ok(Vec::new()),
        },
        Parsed::Sql(statement) => match statement.as_ref() {
            Statement::AlterType(alter) => all(std::slice::from_ref(&alter.name), &user_type),
            Statement::DropDomain(drop) => all(std::slice::from_ref(&drop.name), &user_type),
            Statement::Drop { object_type: ObjectType::Type, names, .. } => all(names, &user_type),
            Statement::Drop { object_type: ObjectType::Sequence, names, .. } => all(names, &sequence),
            _ => Ok(Vec::new()),
        },
        _ => Ok(Vec::new()),
    }
}
