//! Sequences as the statements of a transaction use them: with the privileges of who executes them.
//!
//! Not here: sequences (`catalog/sequence`), what a session took last (`last_numbers`).

use std::sync::Arc;

use super::StatementTransaction;
use crate::catalog::{Catalog, Privileges, Sequence};
use crate::{Error, ErrorKind};

/// The privileges on a sequence of which one is needed to take its numbers.
pub(crate) const TO_TAKE: Privileges = Privileges(Privileges::USAGE.0 | Privileges::UPDATE.0);

impl StatementTransaction {
    /// The sequence of this name, if one has any of these privileges on it. Who takes numbers of it needs none to fill an identity
    /// column.
    pub(crate) fn sequence(
        &self,
        catalog: &Catalog,
        name: &str,
        privileges: Privileges,
    ) -> Result<Arc<Sequence>, Error> {
        if let Some(sequence) = catalog.sequence(name) {
            let role = self.numbers().checked_role(catalog);
            if !(privileges == TO_TAKE && catalog.fills_identity(role, &sequence)) {
                catalog.permit(role, name, privileges)?;
            }
            return Ok(sequence);
        }
        Err(match catalog.get(name) {
            Some(entry) => Error::new(ErrorKind::WrongObject, format!("{name} is a {}, not a sequence", entry.kind())),
            None => Error::not_found(format!("sequence {name} does not exist; CREATE SEQUENCE makes it")),
        })
    }

    /// Takes the next number of a sequence, as `nextval` does.
    pub(crate) fn next_number(&self, catalog: &Catalog, name: &str) -> Result<i64, Error> {
        let last = self.numbers_to_change("nextval")?;
        let sequence = self.sequence(catalog, name, TO_TAKE)?;
        let number = sequence.take(1)?.last();
        last.taken(&sequence, number);
        self.numbers_are_taken(catalog.log())?;
        Ok(number)
    }
}
