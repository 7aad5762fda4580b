//! What a transaction logs beside its changes of rows: relations that join and go, and bytes of the layer above. They
//! stand in its record in front of its changes, and are lost with it.

use std::sync::Arc;

use super::item::{ItemKind, OpenItem, put_item};
use super::whole;
use super::wire::put_number;
use crate::chunk::hot::{HotChunk, RowVisibility};
use crate::error::TransactionError;
use crate::relation::Relation;
use crate::table::RelationId;
use crate::transaction::Transaction;

impl Relation {
    /// What the log of its database calls it; `None` if its changes are not logged.
    #[must_use]
    pub fn relation_id(&self) -> Option<RelationId> {
        self.table().relation_id()
    }
}

impl Transaction {
    /// Logs that a relation joins, which nobody else knows yet: its columns, the rows that it has, and from now on its
    /// changes. It gets the number that [`Relation::relation_id`] says. Without a log nothing is done.
    ///
    /// # Errors
    ///
    /// When the transaction only reads, memory runs out, or rows cannot be written to the file that they go to.
    ///
    /// # Panics
    ///
    /// When the relation has joined before.
    pub fn log_created(&mut self, relation: &Relation) -> Result<(), TransactionError> {
        let (view, transactions) = (self.view(), relation.transactions());
        let Some(changes) = self.logged_changes_of(relation)? else { return Ok(()) };
        let table = relation.table();
        assert!(table.relation_id().is_none(), "a relation joins once");
        let id = transactions.new_relation_id();
        changes.created.push((changes.items.len(), Arc::clone(table)));
        // Rows that it has written itself come with its changes; of others they were always there.
        let others = view.without_own();
        let is_gone =
            |slot: &HotChunk, row: usize| slot.visibility(row, others, transactions.stamps()) == RowVisibility::Hidden;
        let (at, mut files) = (changes.items.len(), Vec::new());
        whole::encode(table, id, transactions.log(), &is_gone, (&mut changes.items, &mut files))?;
        changes.files.extend(files.into_iter().map(|file| (at, file)));
        table.set_relation_id(Some(id));
        Ok(())
    }

    /// Logs that a relation goes. What others have written to it and not committed yet is not logged any more from the
    /// commit on. Without a log nothing is done.
    ///
    /// # Errors
    ///
    /// When the transaction only reads.
    pub fn log_dropped(&mut self, relation: &Relation) -> Result<(), TransactionError> {
        let Some(changes) = self.logged_changes_of(relation)? else { return Ok(()) };
        let Some(id) = relation.table().relation_id() else { return Ok(()) };
        changes.dropped.push((changes.items.len(), Arc::clone(relation.table())));
        let item = OpenItem::begin(&mut changes.items, ItemKind::Dropped);
        put_number(&mut changes.items, id.0.into());
        item.end(&mut changes.items);
        Ok(())
    }

    /// Logs bytes that mean something to the layer above, such as a change of a catalog: they come back in the order of
    /// the commits. Without a log nothing is done.
    ///
    /// # Errors
    ///
    /// When the transaction only reads.
    pub fn log_payload(&mut self, payload: &[u8]) -> Result<(), TransactionError> {
        if let Some(changes) = self.logged_changes()? {
            put_item(&mut changes.items, ItemKind::Payload, payload);
        }
        Ok(())
    }
}
