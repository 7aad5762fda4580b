//! A sequence as the log has it.

use std::sync::Arc;

use longshore_storage::ColumnType;

use super::{Definition, Owner, Sequence, State};
use crate::Error;
use crate::catalog::log::CatalogLog;
use crate::catalog::operations::{Operation, Operations};
use crate::catalog::wire::{Reader, Writer, damaged};

/// A sequence as the log has it, without its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceImage {
    /// Its number in the log.
    pub(crate) number: u64,
    pub(crate) definition: Definition,
    pub(crate) last: i64,
    pub(crate) is_called: bool,
    pub(crate) owner: Option<Owner>,
}

impl Sequence {
    /// A sequence that comes back from the log.
    pub(crate) fn restored(name: String, image: SequenceImage) -> Self {
        Self::at(name, image.definition, (image.last, image.is_called), image.owner)
    }

    /// Logs from now on, under this number: at first what it is now, since nobody has been told what was taken of it before.
    pub(crate) fn log_to(&self, number: u64, log: &Arc<CatalogLog>) {
        let mut state = self.state();
        state.said = (state.last, state.is_called);
        let is_first = self.log.set((number, Arc::clone(log))).is_ok();
        assert!(is_first, "a sequence joins its log once");
    }

    /// Its number in the log.
    pub(crate) fn number(&self) -> Option<u64> {
        self.log.get().map(|(number, _)| *number)
    }

    /// Whether the log says that more numbers were given out than were.
    pub(crate) fn is_logged_ahead(&self) -> bool {
        let state = self.state();
        self.log.get().is_some() && state.said != (state.last, state.is_called)
    }

    /// What the log says of it, if it is logged: numbers that were not given out yet may count as such. If nobody takes any
    /// more (`is_last`), it is what it is to the number.
    pub(crate) fn image(&self, is_last: bool) -> Option<SequenceImage> {
        let (number, _) = self.log.get()?;
        let state = self.state();
        let mut image = state.image(*number);
        if is_last && state.restarts == 0 {
            (image.last, image.is_called) = (state.last, state.is_called);
        }
        Some(image)
    }
}

impl State {
    /// What the log says, or is about to say.
    pub(super) fn image(&self, number: u64) -> SequenceImage {
        let Self { definition, said: (last, is_called), ref owner, .. } = *self;
        SequenceImage { number, definition, last, is_called, owner: owner.clone() }
    }
}

impl Operations {
    /// A name stands for a sequence.
    pub(crate) fn sequence(&mut self, name: &str, sequence: &SequenceImage) {
        let writer = self.begin(Operation::Sequence);
        writer.text(name);
        sequence.put(writer);
    }

    /// A sequence has other properties.
    pub(super) fn sequence_altered(&mut self, sequence: &SequenceImage) {
        sequence.put(self.begin(Operation::SequenceAltered));
    }
}

impl SequenceImage {
    fn put(&self, writer: &mut Writer) {
        let Definition { column_type, increment, min, max, start, cache, cycle } = self.definition;
        writer.number(self.number);
        writer.byte(match column_type {
            ColumnType::SmallInt => 2,
            ColumnType::Integer => 4,
            _ => 8,
        });
        for number in [increment, min, max, start, cache] {
            writer.signed(number);
        }
        writer.flag(cycle);
        writer.signed(self.last);
        writer.flag(self.is_called);
        writer.optional(self.owner.as_ref(), |writer, owner| {
            writer.text(&owner.table);
            writer.text(&owner.column);
        });
    }

    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let number = reader.number()?;
        let column_type = match reader.byte()? {
            2 => ColumnType::SmallInt,
            4 => ColumnType::Integer,
            8 => ColumnType::BigInt,
            other => return Err(damaged(&format!("a sequence has numbers of {other} bytes"))),
        };
        let mut numbers = [0; 5];
        for number in &mut numbers {
            *number = reader.signed()?;
        }
        let [increment, min, max, start, cache] = numbers;
        let definition = Definition { column_type, increment, min, max, start, cache, cycle: reader.flag()? };
        let definition = definition.checked("in the log").map_err(|error| damaged(&error.to_string()))?;
        let (last, is_called) = (reader.signed()?, reader.flag()?);
        if last < min || last > max {
            return Err(damaged(&format!("a sequence is at {last}, which is not one of its numbers")));
        }
        let owner = reader.optional(|reader| Ok(Owner { table: reader.text()?, column: reader.text()? }))?;
        Ok(Self { number, definition, last, is_called, owner })
    }
}
