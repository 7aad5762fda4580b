//! What names stand for to a transaction: a table that was altered since it began is what it was before.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use longshore_storage::{Isolation, Transactions};

use super::StatementTransaction;
use crate::catalog::{Catalog, Entry, Table};

impl StatementTransaction {
    /// Begins a transaction that sees what is committed by now and reads only; with `instead` in the place of the table
    /// of this name.
    pub(crate) fn beside(&self, transactions: &Arc<Transactions>, instead: Option<Arc<Table>>) -> Arc<Self> {
        let transaction = transactions.begin_read_only(Isolation::Snapshot);
        Self::of(transaction, instead, &self.numbers, &self.time, self.forbids_changes.load(Ordering::Relaxed))
    }

    /// What `name` stands for in `catalog`; a table that was altered since it began is what it was before.
    pub(crate) fn entry(&self, catalog: &Catalog, name: &str) -> Option<Entry> {
        match &self.instead {
            Some(instead) if instead.name == name => Some(Entry::Table(Arc::clone(instead))),
            Some(instead) if instead.replaces(name) => None,
            _ => catalog.get(name).map(|entry| self.seen(catalog, entry)),
        }
    }

    /// The table of a name.
    pub(crate) fn table(&self, catalog: &Catalog, name: &str) -> Option<Arc<Table>> {
        match self.entry(catalog, name) {
            Some(Entry::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// What an entry of the catalog is to it: what its own block has made or altered is that already.
    pub(crate) fn seen(&self, catalog: &Catalog, entry: Entry) -> Entry {
        match entry {
            Entry::Table(table) if !catalog.is_of_block(&table) => Entry::Table(table.at(self.start)),
            other => other,
        }
    }
}
