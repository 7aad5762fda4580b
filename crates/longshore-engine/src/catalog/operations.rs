//! What a change of the catalog says in the log, as a list of operations (`image`).

use super::wire::{Reader, Writer, damaged};
use crate::{Error, ErrorKind};

/// The version of the operations.
const VERSION: u8 = 1;

/// What an operation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A name stands for a table.
    Table,
    /// A name stands for a view.
    View,
    /// A name stands for a sequence.
    Sequence,
    /// A name stands for no table and no view.
    NameFree,
    /// A sequence is gone.
    SequenceGone,
    /// Where a sequence goes on.
    SequenceState,
    /// A sequence has other properties.
    SequenceAltered,
    /// A relation is the ledger of loads.
    Ledger,
    /// There is a schema.
    Schema,
    /// A schema is gone.
    SchemaGone,
    /// What is said of something.
    Comment,
    /// There is a type that a user made.
    Type,
    /// Such a type is gone.
    TypeGone,
    /// There is a role, or none any more.
    Role,
    /// Somebody is a member of a role, or not any more.
    Membership,
    /// What sessions begin with.
    RoleSettings,
    /// What new objects grant.
    DefaultPrivileges,
    /// Who owns something, and who may do what with it.
    Access,
}

impl Operation {
    const ALL: [(u8, Operation); 18] = [
        (1, Operation::Table),
        (2, Operation::View),
        (3, Operation::Sequence),
        (4, Operation::NameFree),
        (5, Operation::SequenceGone),
        (6, Operation::SequenceState),
        (7, Operation::SequenceAltered),
        (8, Operation::Ledger),
        (9, Operation::Schema),
        (10, Operation::SchemaGone),
        (11, Operation::Comment),
        (12, Operation::Type),
        (13, Operation::TypeGone),
        (14, Operation::Role),
        (15, Operation::Membership),
        (16, Operation::RoleSettings),
        (17, Operation::DefaultPrivileges),
        (18, Operation::Access),
    ];

    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let byte = reader.byte()?;
        let found = Self::ALL.into_iter().find(|(of, _)| *of == byte);
        found.map(|(_, operation)| operation).ok_or_else(|| damaged(&format!("there is no operation {byte}")))
    }

    fn byte(self) -> u8 {
        // Every operation stands in the list.
        Self::ALL.into_iter().find(|(_, operation)| *operation == self).map_or(0, |(byte, _)| byte)
    }
}

/// Operations to be logged.
pub(crate) struct Operations {
    bytes: Writer,
    is_empty: bool,
}

impl Operations {
    pub(crate) fn new() -> Self {
        let mut bytes = Writer::default();
        bytes.byte(VERSION);
        Self { bytes, is_empty: true }
    }

    /// The payload; `None` if there are none.
    pub(crate) fn into_payload(self) -> Option<Vec<u8>> {
        (!self.is_empty).then(|| self.bytes.into_bytes())
    }

    /// Begins an operation, whose contents are then written.
    pub(crate) fn begin(&mut self, operation: Operation) -> &mut Writer {
        self.is_empty = false;
        self.bytes.byte(operation.byte());
        &mut self.bytes
    }

    /// A name stands for no table and no view.
    pub(crate) fn name_free(&mut self, name: &str) {
        self.begin(Operation::NameFree).text(name);
    }

    /// A sequence is gone.
    pub(crate) fn sequence_gone(&mut self, number: u64) {
        self.begin(Operation::SequenceGone).number(number);
    }

    /// Where a sequence goes on.
    pub(crate) fn sequence_state(&mut self, number: u64, last: i64, is_called: bool) {
        let writer = self.begin(Operation::SequenceState);
        writer.number(number);
        writer.signed(last);
        writer.flag(is_called);
    }
}

/// Refuses a payload of another version.
pub(crate) fn take_version(reader: &mut Reader<'_>) -> Result<(), Error> {
    match reader.byte()? {
        VERSION => Ok(()),
        other => Err(Error::new(
            ErrorKind::Damaged,
            format!("the log describes the catalog in version {other}, and this program knows {VERSION} only"),
        )),
    }
}
