//! Foreign keys as bytes.

use longshore_storage::{ReferenceMatch, ReferenceTiming};
use sqlparser::ast::ReferentialAction;

use super::{put_columns, take_columns};
use crate::Error;
use crate::catalog::Reference;
use crate::catalog::wire::{Reader, Writer, damaged};

/// How the byte that says how a foreign key matches says when it is checked.
const DEFERRABLE: u8 = 2;
const DEFERRED: u8 = 4;

pub(super) fn put(writer: &mut Writer, reference: &Reference) {
    writer.text(&reference.name);
    put_columns(writer, &reference.columns);
    writer.text(&reference.table);
    writer.list(&reference.referenced, |writer, column| writer.text(column));
    let matching = match reference.matching {
        ReferenceMatch::Simple => 0,
        ReferenceMatch::Full => 1,
    };
    let timing = match reference.timing {
        ReferenceTiming::Immediate => 0,
        ReferenceTiming::Deferrable => DEFERRABLE,
        ReferenceTiming::Deferred => DEFERRED,
    };
    writer.byte(matching | timing);
    put_action(writer, reference.on_delete);
    put_action(writer, reference.on_update);
    writer.flag(reference.is_valid);
}

pub(super) fn take(reader: &mut Reader<'_>) -> Result<Reference, Error> {
    let (name, columns, table) = (reader.text()?, take_columns(reader)?, reader.text()?);
    let referenced = reader.list(Reader::text)?;
    let byte = reader.byte()?;
    let timing = match byte & (DEFERRABLE | DEFERRED) {
        0 => ReferenceTiming::Immediate,
        DEFERRABLE => ReferenceTiming::Deferrable,
        DEFERRED => ReferenceTiming::Deferred,
        other => return Err(damaged(&format!("{name} is a foreign key that is checked by {other}"))),
    };
    let matching = match byte & !(DEFERRABLE | DEFERRED) {
        0 => ReferenceMatch::Simple,
        1 => ReferenceMatch::Full,
        other => return Err(damaged(&format!("{name} is a foreign key that matches by {other}"))),
    };
    let (on_delete, on_update) = (take_action(reader)?, take_action(reader)?);
    let is_valid = reader.flag()?;
    Ok(Reference { name, columns, table, referenced, matching, timing, on_delete, on_update, is_valid })
}

fn put_action(writer: &mut Writer, action: ReferentialAction) {
    writer.byte(match action {
        ReferentialAction::NoAction => 0,
        ReferentialAction::Restrict => 1,
        ReferentialAction::Cascade => 2,
        ReferentialAction::SetNull => 3,
        ReferentialAction::SetDefault => 4,
    });
}

fn take_action(reader: &mut Reader<'_>) -> Result<ReferentialAction, Error> {
    Ok(match reader.byte()? {
        0 => ReferentialAction::NoAction,
        1 => ReferentialAction::Restrict,
        2 => ReferentialAction::Cascade,
        3 => ReferentialAction::SetNull,
        4 => ReferentialAction::SetDefault,
        other => return Err(damaged(&format!("a foreign key has the action {other}"))),
    })
}
