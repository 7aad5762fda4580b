//! LOCK TABLE: tables are locked to the end of the transaction. Reading takes no lock, so nobody is kept from that.

use longshore_storage::TableLock;
use sqlparser::ast::{Lock, LockTableMode, Statement};

use super::Context;
use crate::catalog::Entry;
use crate::sql::names;
use crate::transaction::Block;
use crate::{Error, ErrorKind, Outcome};

/// Refuses LOCK TABLE outside of a block, where its lock would be gone at once.
pub(super) fn check_block(statement: &Statement, block: &Block) -> Result<(), Error> {
    if matches!(statement, Statement::Lock(_)) && !block.is_open() {
        return Err(Error::new(ErrorKind::NoTransaction, "LOCK TABLE can only be used in transaction blocks"));
    }
    Ok(())
}

/// Locks the tables, in their order.
pub(super) fn lock(context: &Context<'_>, lock: &Lock) -> Result<Outcome, Error> {
    let mode = match lock.lock_mode {
        Some(LockTableMode::AccessShare) => TableLock::AccessShare,
        Some(LockTableMode::RowShare) => TableLock::RowShare,
        Some(LockTableMode::RowExclusive) => TableLock::RowExclusive,
        Some(LockTableMode::ShareUpdateExclusive) => TableLock::ShareUpdateExclusive,
        Some(LockTableMode::Share) => TableLock::Share,
        Some(LockTableMode::ShareRowExclusive) => TableLock::ShareRowExclusive,
        Some(LockTableMode::Exclusive) => TableLock::Exclusive,
        Some(LockTableMode::AccessExclusive) | None => TableLock::AccessExclusive,
    };
    for target in &lock.tables {
        let name = names::relation(&target.name)?;
        let table = match context.entry(&name) {
            Some(Entry::Table(table)) => table,
            Some(Entry::View(_)) => {
                return Err(Error::unsupported(format!(
                    "LOCK TABLE of the view \"{name}\" is not supported; lock the tables that it reads"
                )));
            }
            None => return Err(Error::not_found(format!("relation \"{name}\" does not exist"))),
        };
        let locked = context.transaction.with(|transaction| transaction.lock_table(&table.relation, mode));
        locked.map_err(|error| match error.contention() {
            Some(_) if lock.nowait => {
                Error::new(ErrorKind::LockNotAvailable, format!("could not obtain lock on relation \"{}\"", table.name))
            }
            _ => error,
        })?;
    }
    Ok(Outcome::done("LOCK TABLE"))
}
