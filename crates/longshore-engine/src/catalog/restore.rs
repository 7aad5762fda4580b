//! How a catalog comes back from its log, and how all of it is said at once.
//!
//! Not here: foreign keys, which are bound when all tables are there (`statement/restore`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_storage::data_directory::Recovered;
use longshore_storage::{Relation, RelationId, in_threads};

use super::image::{Image, TableImage};
use super::log::CatalogLog;
use super::operations::Operations;
use super::wire::damaged;
use super::{Catalog, Definitions, Entry, Sequence, Table, is_temporary};
use crate::Error;

/// A table to come: its name, what was logged of it, and its relation.
type Part = (String, TableImage, Relation);

impl Image {
    /// What was logged of the catalog of a database that comes back.
    pub(crate) fn of(recovered: &Recovered) -> Result<Self, Error> {
        let mut image = Self::default();
        if !recovered.catalog.is_empty() {
            image.apply(&recovered.catalog)?;
        }
        for (_, payload) in &recovered.payloads {
            image.apply(payload)?;
        }
        Ok(image)
    }
}

impl Catalog {
    /// Takes in what an image says, with the relations that the log has. Indexes are built on so many threads.
    ///
    /// # Errors
    /// When image and relations do not fit each other, keys occur twice, or memory runs out.
    pub(crate) fn restore(
        &self,
        image: Image,
        mut relations: BTreeMap<RelationId, Relation>,
        threads: usize,
    ) -> Result<(), Error> {
        let Image { tables, views, sequences, definitions, ledger, next_sequence: _ } = image;
        let mut parts: Vec<Part> = Vec::with_capacity(tables.len());
        for (name, image) in tables {
            let relation = relations.remove(&image.relation);
            let relation = relation.ok_or_else(|| damaged(&format!("table {name} has no rows {}", image.relation)))?;
            fits(&name, &image, &relation)?;
            parts.push((name, image, relation));
        }
        if let Some(id) = ledger {
            let relation = relations.remove(&id).ok_or_else(|| damaged(&format!("the ledger has no rows {id}")))?;
            if !Table::is_ledger(&relation) {
                return Err(damaged("the ledger of loads has columns that this program does not know"));
            }
            let ledger = Arc::new(Table::of_ledger(relation)?);
            *self.ledger.write().unwrap_or_else(PoisonError::into_inner) = Some(ledger);
        }
        if let Some(lost) = relations.keys().next() {
            return Err(damaged(&format!("no table has the rows {lost}")));
        }
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for table in built(parts, threads)? {
            entries.insert(table.name.clone(), Entry::Table(Arc::new(table)));
        }
        entries.extend(views.into_iter().map(|(name, view)| (name, Entry::View(Arc::new(view)))));
        let log = self.log.get();
        let sequences = sequences.into_iter().map(|(name, image)| {
            let number = image.number;
            let sequence = Sequence::restored(name.clone(), image);
            if let Some(log) = log {
                sequence.log_to(number, log);
            }
            (name, Arc::new(sequence))
        });
        *self.definitions.write().unwrap_or_else(PoisonError::into_inner) = definitions;
        *self.sequences.write().unwrap_or_else(PoisonError::into_inner) = sequences.collect();
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = entries;
        Ok(())
    }

    /// Logs all changes from now on. The catalog is empty.
    pub(crate) fn log_to(&self, log: Arc<CatalogLog>) {
        let is_first = self.log.set(log).is_ok();
        assert!(is_first, "a catalog has one log");
    }

    /// Does something while nothing changes what names stand for, and then says all of that in one payload. If nobody changes
    /// anything any more (`is_last`), sequences are what they are to the number.
    pub(crate) fn image_behind<R>(&self, act: impl FnOnce() -> R, is_last: bool) -> Result<(R, Vec<u8>), Error> {
        let _alone = self.alone();
        let done = act();
        let mut operations = Operations::new();
        self.definitions(|now| operations.definitions(&Definitions::default(), now));
        for entry in self.entries().into_iter().filter(|entry| !is_temporary(entry.name())) {
            match entry {
                Entry::Table(table) => {
                    let relation = table.relation.relation_id();
                    let relation = relation.ok_or_else(|| Error::internal("a table of the catalog is not logged"))?;
                    let (storage, rules) = (table.relation.storage(), table.rules().as_ref().clone());
                    operations.table(&table.name, &TableImage { relation, storage, rules })?;
                }
                Entry::View(view) => operations.view(&view),
            }
        }
        if let Some(ledger) = self.ledger() {
            let relation = ledger.relation().relation_id();
            operations.ledger(relation.ok_or_else(|| Error::internal("the ledger is not logged"))?);
        }
        for sequence in self.sequences() {
            if let Some(image) = sequence.image(is_last) {
                operations.sequence(&sequence.name, &image);
            }
        }
        Ok((done, operations.into_payload().unwrap_or_default()))
    }
}

/// Refuses an image that does not fit its relation.
pub(crate) fn fits(name: &str, image: &TableImage, relation: &Relation) -> Result<(), Error> {
    let (count, rules) = (relation.schema().all_columns().len(), &image.rules);
    let keys = rules.keys.iter().map(|key| &key.columns);
    let checks = rules.checks.iter().map(|check| &check.columns);
    let references = rules.references.iter().map(|reference| &reference.columns);
    let mut named = keys.chain(checks).chain(references).flatten();
    if rules.columns.len() == count && named.all(|column| *column < count) {
        return Ok(());
    }
    Err(damaged(&format!("table {name} has {count} columns, and its rules are about others")))
}

/// The tables with their indexes.
fn built(mut parts: Vec<Part>, threads: usize) -> Result<Vec<Table>, Error> {
    // The largest first, so that no thread is left with it in the end.
    parts.sort_by_key(|(_, _, relation)| relation.snapshot().rows());
    let threads = threads.clamp(1, parts.len().max(1));
    let waiting = Mutex::new(parts);
    let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let run = || {
        let mut tables = Vec::new();
        while let Some((name, image, relation)) = take() {
            let relation = relation.with_name(&name);
            relation.set_storage(image.storage);
            tables.push(Table::new(&name, Arc::new(relation), image.rules));
        }
        tables
    };
    in_threads(threads, run).into_iter().flatten().collect()
}
