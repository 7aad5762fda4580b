//! What statements do to the block that they stand in, and which ones a transaction that only reads takes.

use super::Modes;
use crate::{Error, ErrorKind};

/// What a statement does to a block that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// It only reads.
    Reads,
    /// It locks tables, and reads nothing.
    Locks,
    /// It changes rows of tables.
    Writes,
    /// It makes or drops something, which a block does in a catalog of its own.
    Ddl,
    /// The same, of what is there already: outside of a block it takes effect step by step, and never runs again.
    Alters,
    /// It takes effect at once and cannot be rolled back: what the statement is called.
    NonTransactionalDdl(&'static str),
    /// It writes what there is elsewhere, which cannot be rolled back: what the statement is called.
    Export(&'static str),
}

impl Nature {
    /// Whether it changes the database.
    pub(super) fn changes(self) -> bool {
        matches!(self, Nature::Writes | Nature::Ddl | Nature::Alters | Nature::NonTransactionalDdl(_))
    }
}

/// Refuses a statement that changes something in a transaction that only reads.
pub(super) fn check_access(nature: Nature, modes: Modes) -> Result<(), Error> {
    if modes.read_only && nature.changes() {
        return Err(Error::new(
            ErrorKind::ReadOnly,
            "a read-only transaction changes nothing; begin one that is READ WRITE",
        ));
    }
    Ok(())
}
