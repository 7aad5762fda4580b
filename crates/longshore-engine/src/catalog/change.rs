//! How the catalog changes: in one step, which others see whole or not at all, and which is logged before it is seen.
//!
//! A change is made to a draft: copies of what the names stand for, and of the rules of tables. Then the log is told what is
//! different, in one record together with the relations that join and go. Then the draft takes the place of what there was.
//! One change is made at a time; who reads the catalog waits for none.
//!
//! What a change does to relations beside that is done afterwards, when it cannot fail any more ([`Change::then`]), or
//! before, and undone if there is no change after all ([`Change::otherwise`]).

use std::collections::{BTreeMap, HashSet};
use std::iter::successors;
use std::mem::swap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use longshore_storage::{Commit, CommitError, Isolation, Owner, Relation, RelationId, Transaction, Transactions};

use super::image::TableImage;
use super::log::CatalogLog;
use super::operations::Operations;
use super::{Catalog, Definitions, Entry, LOADS, RoleId, Rules, Sequence, Table, is_temporary, next_version};
use crate::Error;

/// What is done once it is known what becomes of a change.
pub(super) type Act = Box<dyn FnOnce() + Send>;

/// A change that is not made yet.
#[derive(Default)]
pub(crate) struct Change {
    /// All tables and views.
    pub(crate) entries: BTreeMap<String, Entry>,
    /// All sequences.
    pub(crate) sequences: BTreeMap<String, Arc<Sequence>>,
    /// Schemas and comments.
    pub(crate) definitions: Definitions,
    /// What was loaded.
    pub(super) ledger: Option<Arc<Table>>,
    /// To whom belongs what is new.
    pub(super) creator: Option<RoleId>,
    /// The rules of tables that get others.
    pub(super) rules: Vec<(Arc<Table>, Arc<Rules>)>,
    pub(super) then: Vec<Act>,
    pub(super) otherwise: Vec<Act>,
}

impl Change {
    /// The rules of a table, to be changed.
    pub(crate) fn rules(&mut self, table: &Arc<Table>) -> &mut Rules {
        let known = self.rules.iter().position(|(of, _)| Arc::ptr_eq(of, table));
        let at = known.unwrap_or_else(|| {
            self.rules.push((Arc::clone(table), table.rules()));
            self.rules.len() - 1
        });
        Arc::make_mut(&mut self.rules[at].1)
    }

    /// The rules that a table is going to have.
    pub(super) fn rules_of(&self, table: &Arc<Table>) -> Arc<Rules> {
        let changed = self.rules.iter().find(|(of, _)| Arc::ptr_eq(of, table));
        changed.map_or_else(|| table.rules(), |(_, rules)| Arc::clone(rules))
    }

    /// What is to be done once the change is made.
    pub(crate) fn then(&mut self, act: impl FnOnce() + Send + 'static) {
        self.then.push(Box::new(act));
    }

    /// What is to be done if the change is not made after all.
    pub(crate) fn otherwise(&mut self, undo: impl FnOnce() + Send + 'static) {
        self.otherwise.push(Box::new(undo));
    }

    /// Puts another sequence under the name `to` in the place of one, for the transaction block of `holder` alone, which has let
    /// it begin anew so many times. Others wait for it.
    pub(crate) fn take_over(
        &mut self,
        sequence: &Arc<Sequence>,
        to: &str,
        (holder, restarts): (Owner, u32),
    ) -> Result<Arc<Sequence>, Error> {
        let own = Arc::new(sequence.take_over(to, holder, restarts)?);
        let (undone, done, next) = (Arc::clone(sequence), Arc::clone(sequence), Arc::clone(&own));
        self.otherwise(move || undone.release());
        self.then(move || done.hand_on(next));
        self.sequences.remove(&sequence.name);
        self.sequences.insert(to.to_owned(), Arc::clone(&own));
        Ok(own)
    }

    /// The change is made.
    pub(super) fn keep(mut self) {
        self.otherwise.clear();
        self.then.drain(..).for_each(|act| act());
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        self.otherwise.drain(..).rev().for_each(|undo| undo());
    }
}

impl Catalog {
    /// Changes the catalog in one step: if `change` fails, or the log does not take it, nothing has changed.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Change) -> Result<R, Error>) -> Result<R, Error> {
        let _alone = self.alone();
        let mut draft = self.draft();
        let result = change(&mut draft)?;
        draft.own_new(self);
        draft.drop_lost_comments();
        self.check_names(&draft)?;
        if let Some(fork) = &self.fork {
            fork.divide(&mut draft);
            self.exchange(&mut draft);
            fork.put_off(&mut draft);
            return Ok(result);
        }
        if let Some(log) = self.log.get() {
            let mut transaction = log.begin();
            self.describe(&draft, log, &mut transaction)?;
            log.note(transaction.commit()?);
        }
        self.exchange(&mut draft);
        draft.keep();
        Ok(result)
    }

    /// The same, with a relation that takes the place of another one: `commit` does that, with what the transaction has to
    /// log beside it. Who begins before that goes on with the other one.
    pub(crate) fn change_relation<R>(
        &self,
        transactions: &Arc<Transactions>,
        change: impl FnOnce(&mut Change) -> Result<R, Error>,
        commit: impl FnOnce(Transaction) -> Result<Commit, CommitError>,
    ) -> Result<R, Error> {
        if self.fork.is_some() {
            return Err(Error::internal("a transaction block puts no relation in the place of another one"));
        }
        let _alone = self.alone();
        let mut draft = self.draft();
        let result = change(&mut draft)?;
        draft.own_new(self);
        draft.drop_lost_comments();
        self.check_names(&draft)?;
        let mut transaction = transactions.begin(Isolation::Snapshot);
        if let Some(log) = self.log.get() {
            self.describe(&draft, log, &mut transaction)?;
        }
        // Before the commit, so that who begins behind it finds the table.
        self.exchange(&mut draft);
        match commit(transaction) {
            Ok(commit) => {
                if let Some(log) = self.log.get() {
                    log.note(commit);
                }
                draft.keep();
                Ok(result)
            }
            Err(error) => {
                self.exchange(&mut draft);
                Err(error.into())
            }
        }
    }

    /// Keeps others from changing the catalog.
    pub(super) fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a draft in which something gets the name that loads are shown by. What has had it before there was such a name
    /// may keep it.
    fn check_names(&self, draft: &Change) -> Result<(), Error> {
        let is_new = draft.entries.contains_key(LOADS) && self.get(LOADS).is_none();
        if is_new || draft.sequences.contains_key(LOADS) && self.sequence(LOADS).is_none() {
            return Err(Error::exists(format!(
                "{LOADS} is the name by which the database shows its loads; choose another one"
            )));
        }
        Ok(())
    }

    pub(super) fn draft(&self) -> Change {
        let mut draft = Change::default();
        draft.entries = self.read(Clone::clone);
        draft.sequences = self.sequences.read().unwrap_or_else(PoisonError::into_inner).clone();
        draft.definitions = self.definitions(Clone::clone);
        draft.ledger.clone_from(&self.ledger.read().unwrap_or_else(PoisonError::into_inner));
        draft
    }

    /// Lets the draft and what there is change places.
    pub(super) fn exchange(&self, draft: &mut Change) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut sequences = self.sequences.write().unwrap_or_else(PoisonError::into_inner);
        swap(&mut *entries, &mut draft.entries);
        swap(&mut *sequences, &mut draft.sequences);
        let mut definitions = self.definitions.write().unwrap_or_else(PoisonError::into_inner);
        swap(&mut *definitions, &mut draft.definitions);
        if !Arc::ptr_eq(&definitions.roles, &draft.definitions.roles) {
            self.roles_version.store(next_version(), Ordering::Release);
        }
        drop(definitions);
        swap(&mut *self.ledger.write().unwrap_or_else(PoisonError::into_inner), &mut draft.ledger);
        for (table, rules) in &mut draft.rules {
            swap(&mut *table.rules.write().unwrap_or_else(PoisonError::into_inner), rules);
        }
        self.version.store(next_version(), Ordering::Release);
    }

    /// Says in a transaction what a draft changes.
    pub(super) fn describe(
        &self,
        draft: &Change,
        log: &Arc<CatalogLog>,
        transaction: &mut Transaction,
    ) -> Result<(), Error> {
        let mut operations = Operations::new();
        let is_kept = |entry: &Entry| !is_temporary(entry.name());
        let entries: Vec<Entry> = self.entries().into_iter().filter(is_kept).collect();
        let tables_now: Vec<Arc<Table>> = entries.iter().filter_map(Entry::table).collect();
        let known: HashSet<*const Table> = tables_now.iter().map(Arc::as_ptr).collect();
        // A table that is altered, once or by and by, has its rows in what takes its place.
        let stays: HashSet<*const Table> = draft
            .entries
            .values()
            .filter_map(Entry::table)
            .flat_map(|table| successors(Some(table), |table| table.before()).map(|table| Arc::as_ptr(&table)))
            .collect();
        for gone in tables_now.iter().filter(|table| !stays.contains(&Arc::as_ptr(table))) {
            transaction.log_dropped(&gone.relation)?;
        }
        for entry in entries.iter().filter(|entry| !draft.entries.contains_key(entry.name())) {
            operations.name_free(entry.name());
        }
        self.definitions(|now| operations.definitions(now, &draft.definitions));
        for entry in draft.entries.values().filter(|entry| is_kept(entry)) {
            match (entry, self.get(entry.name())) {
                (Entry::Table(table), _) => {
                    let is_new = !known.contains(&Arc::as_ptr(table));
                    if is_new || draft.rules.iter().any(|(of, _)| Arc::ptr_eq(of, table)) {
                        let relation = joined(table, transaction)?;
                        let (storage, rules) = (table.relation.storage(), draft.rules_of(table));
                        operations
                            .table(&table.name, &TableImage { relation, storage, rules: Rules::clone(&rules) })?;
                    }
                }
                (Entry::View(view), Some(Entry::View(now))) if Arc::ptr_eq(view, &now) => {}
                (Entry::View(view), _) => operations.view(view),
            }
        }
        self.describe_sequences(draft, log, &mut operations);
        if let (Some(ledger), None) = (&draft.ledger, self.ledger()) {
            operations.ledger(joined(ledger, transaction)?);
        }
        if let Some(payload) = operations.into_payload() {
            transaction.log_payload(&payload)?;
        }
        Ok(())
    }

    fn describe_sequences(&self, draft: &Change, log: &Arc<CatalogLog>, operations: &mut Operations) {
        let pointers = |list: &[Arc<Sequence>]| list.iter().map(Arc::as_ptr).collect::<HashSet<*const Sequence>>();
        let (now, then) = (self.sequences(), draft.sequences.values().cloned().collect::<Vec<_>>());
        let (known, stays) = (pointers(&now), pointers(&then));
        for gone in now.iter().filter(|sequence| !stays.contains(&Arc::as_ptr(sequence))) {
            if let Some(number) = gone.number() {
                operations.sequence_gone(number);
            }
        }
        let is_new =
            |sequence: &&Arc<Sequence>| !known.contains(&Arc::as_ptr(sequence)) && !is_temporary(&sequence.name);
        for new in then.iter().filter(is_new) {
            new.log_to(log.new_sequence(), log);
            if let Some(image) = new.image(false) {
                operations.sequence(&new.name, &image);
            }
        }
    }
}

/// The number of the relation of a table, which joins if it is new.
fn joined(table: &Table, transaction: &mut Transaction) -> Result<RelationId, Error> {
    let relation: &Relation = &table.relation;
    // What takes the place of a relation takes its number, too.
    let before = table.before().and_then(|before| before.relation.relation_id());
    if relation.relation_id().is_none() && before.is_none() {
        transaction.log_created(relation)?;
    }
    relation.relation_id().or(before).ok_or_else(|| Error::internal(format!("table {} is not logged", table.name)))
}
