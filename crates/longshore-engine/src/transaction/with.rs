//! Work on the transaction of a statement.

use longshore_load::Control;
use longshore_storage::{Transaction, TransactionError};

use super::StatementTransaction;
use crate::Error;

impl StatementTransaction {
    /// Works on the transaction, which no other thread of the statement sees meanwhile.
    pub(crate) fn with<R>(
        &self,
        act: impl FnOnce(&mut Transaction) -> Result<R, TransactionError>,
    ) -> Result<R, Error> {
        match self.lock().as_mut() {
            Some(transaction) => Ok(act(transaction)?),
            None => Err(Error::internal("the transaction has ended")),
        }
    }

    /// As [`StatementTransaction::with`], for what fails in other ways, too.
    pub(crate) fn with_any<R, E: Into<Error>>(
        &self,
        act: impl FnOnce(&mut Transaction) -> Result<R, E>,
    ) -> Result<R, Error> {
        match self.lock().as_mut() {
            Some(transaction) => act(transaction).map_err(E::into),
            None => Err(Error::internal("the transaction has ended")),
        }
    }

    /// As [`StatementTransaction::with_any`], on behalf of a statement that may have been given up meanwhile: then nothing is done. Who has
    /// given it up may go back to a savepoint at once, so the transaction is looked at only by who holds it already.
    pub(crate) fn with_unless_cancelled<R, E: Into<Error>>(
        &self,
        control: &Control,
        act: impl FnOnce(&mut Transaction) -> Result<R, E>,
    ) -> Result<R, Error> {
        self.with_any(|transaction| {
            if control.is_cancelled() {
                return Err(Error::cancelled());
            }
            act(transaction).map_err(E::into)
        })
    }
}
