//! A relation as a whole in a record: its columns, and all rows that it has, if these are logged. It joins so, and so it is
//! logged when most of what it has is new.
//!
//! Large chunks are not in the record, which would have to hold all of them: they go to a file of the database, as those of
//! loads do, if they are not in one already, and the record names them.

use std::sync::Arc;

use super::item::{ItemKind, OpenItem};
use super::rows::{RowWriter, RowsPastLog};
use super::wire::{put_bytes, put_number};
use crate::block_ref::LoadFile;
use crate::chunk::hot::HotChunk;
use crate::error::TransactionError;
use crate::manager::CommitLog;
use crate::native::embedded::schema_to_bytes;
use crate::row_id::RowId;
use crate::table::{RelationId, Table};

/// Writes a relation, but for the rows that are gone, into a record, and the files that this names into a list.
pub(super) fn encode(
    table: &Table,
    id: RelationId,
    log: &CommitLog,
    is_gone: &dyn Fn(&HotChunk, usize) -> bool,
    (record, files): (&mut Vec<u8>, &mut Vec<Arc<dyn LoadFile>>),
) -> Result<(), TransactionError> {
    let kind = if table.is_logged() { ItemKind::Created } else { ItemKind::CreatedUnlogged };
    let item = OpenItem::begin(record, kind);
    put_number(record, id.0.into());
    put_bytes(record, table.name().as_bytes());
    put_bytes(record, &schema_to_bytes(table.schema()));
    item.end(record);
    if !table.is_logged() {
        return Ok(());
    }
    let past_log = RowsPastLog::new(log);
    let mut rows = RowWriter::begin(table, id, record, files).past_log(&past_log);
    for (at, slot) in table.slots.iter() {
        let (count, gone) = {
            let slot = slot.read();
            let gone = (0..slot.len()).filter(|&row| is_gone(&slot, row)).map(|row| RowId::new(at, row));
            (slot.len(), gone.collect::<Vec<_>>())
        };
        if gone.len() < count {
            rows.rows_together(RowId::new(at, 0), count, &gone)?;
        }
    }
    rows.end();
    past_log.finish()
}
