//! OIDs: the numbers by which system tables know objects.
//!
//! An object gets its number when it is first asked for, and keeps it as long as the process lives; a table keeps its own and
//! those of its parts when it is renamed. They are not kept on disk: after a restart they are others.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The first OID of an object of a user, as in PostgreSQL.
const FIRST: u32 = 16_384;

/// What has an OID. Tables are known by their identities, other things by their names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObjectId {
    Schema(String),
    Table(i64),
    View(String),
    Sequence(String),
    Type(String),
    /// Arrays of a type.
    ArrayType(String),
    /// The type of the rows of a table or view, by the OID of that.
    RowType(u32),
    /// Arrays of such rows.
    RowArrayType(u32),
    /// A label of an enumeration.
    Label(String, String),
    /// A constraint of a domain.
    DomainConstraint(String, String),
    /// An index of a table.
    Index(i64, String),
    /// A constraint of a table.
    Constraint(i64, String),
    /// The default of a column.
    Default(i64, String),
    /// The rule that a view is.
    Rule(String),
}

/// The OIDs of a database.
#[derive(Debug, Default)]
pub(crate) struct Oids(Mutex<HashMap<ObjectId, u32>>);

impl Oids {
    /// The OID of an object.
    pub(crate) fn of(&self, object: ObjectId) -> u32 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = FIRST.saturating_add(u32::try_from(known.len()).unwrap_or(u32::MAX));
        *known.entry(object).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_keeps_its_number() {
        let oids = Oids::default();
        let first = oids.of(ObjectId::Table(-1));
        assert_eq!(first, FIRST);
        assert_eq!(oids.of(ObjectId::View("v".to_owned())), FIRST + 1);
        assert_eq!(oids.of(ObjectId::Table(-1)), first);
    }
}
