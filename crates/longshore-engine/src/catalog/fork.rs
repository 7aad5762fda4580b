//! The catalog that a transaction block has to itself from its first statement that makes or drops something: a copy, which its
//! session alone looks at, and which becomes that of the database in the transaction that the block commits.
//!
//! Tables that the block makes are no part of the database before that. What others have is never changed: a table from before
//! the block that gets other rules is another entry of the same relation ([`Fork::divide`]), and one that is altered has
//! another relation. What a change does beside the catalog is kept for the end of the block, or for its return to a savepoint
//! ([`Fork::put_off`]).
//!
//! Others may change the catalog of the database meanwhile. The commit fails if that concerns what the block has changed, or
//! what this depends on.
//!
//! Not here: which statements there are for that (`statement/nature`), the block itself (`transaction`), how definitions of
//! both are put together (`merge`).

mod merge;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use longshore_storage::{Commit, Transaction};

use super::change::Act;
use super::{Catalog, Change, Definitions, Entry, Rules, Sequence, Table, is_temporary, next_version};
use crate::{Error, ErrorKind};

/// All that a catalog knows at one moment.
#[derive(Clone)]
struct Contents {
    entries: BTreeMap<String, Entry>,
    /// The rules that its tables had.
    rules: BTreeMap<String, Arc<Rules>>,
    sequences: BTreeMap<String, Arc<Sequence>>,
    definitions: Definitions,
    ledger: Option<Arc<Table>>,
}

/// What a catalog is a copy of, and what is to be done when the block ends.
pub(super) struct Fork {
    origin: Arc<Catalog>,
    began: Contents,
    acts: Mutex<Acts>,
}

#[derive(Default)]
struct Acts {
    /// When the block commits.
    then: Vec<Act>,
    /// When what has been done is undone.
    otherwise: Vec<Act>,
}

/// A state of such a catalog that a savepoint goes back to.
pub(crate) struct ForkMark {
    contents: Contents,
    then: usize,
    otherwise: usize,
}

impl Contents {
    fn of(catalog: &Catalog) -> Self {
        let mut draft = catalog.draft();
        let entries = std::mem::take(&mut draft.entries);
        let tables = entries.values().filter_map(Entry::table);
        let rules = tables.map(|table| (table.name.clone(), table.rules())).collect();
        Self {
            entries,
            rules,
            sequences: std::mem::take(&mut draft.sequences),
            definitions: std::mem::take(&mut draft.definitions),
            ledger: draft.ledger.take(),
        }
    }

    fn has(&self, table: &Arc<Table>) -> bool {
        matches!(self.entries.get(&table.name), Some(Entry::Table(known)) if Arc::ptr_eq(known, table))
    }

    /// Whether a name means the same here and there.
    fn agrees(&self, other: &Self, name: &str) -> bool {
        let is_same = match (self.entries.get(name), other.entries.get(name)) {
            (None, None) => true,
            (Some(one), Some(another)) => is_same(one, another),
            _ => false,
        };
        let has_same_rules = match (self.rules.get(name), other.rules.get(name)) {
            (None, None) => true,
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            _ => false,
        };
        let is_same_sequence = match (self.sequences.get(name), other.sequences.get(name)) {
            (None, None) => true,
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            _ => false,
        };
        is_same && has_same_rules && is_same_sequence
    }

    /// The names of what there is here or there and that do not mean the same.
    fn differences(&self, other: &Self) -> BTreeSet<String> {
        let (of_entries, of_sequences) = (self.entries.keys(), self.sequences.keys());
        let names = of_entries.chain(of_sequences).chain(other.entries.keys()).chain(other.sequences.keys());
        names.filter(|name| !self.agrees(other, name)).cloned().collect()
    }

    /// Whether a table of this name has columns of one of these types.
    fn has_one_of(&self, name: &str, types: &[&str]) -> bool {
        let rules = self.rules.get(name);
        rules.is_some_and(|rules| types.iter().any(|of| !rules.columns_of_type(of).is_empty()))
    }

    /// The names that what is called `name` depends on.
    fn depends_on(&self, name: &str) -> Vec<String> {
        match self.entries.get(name) {
            Some(Entry::View(view)) => view.reads.clone(),
            Some(Entry::Table(_)) => {
                let Some(rules) = self.rules.get(name) else { return Vec::new() };
                let references = rules.references.iter().map(|reference| reference.table.clone());
                let sequences = rules.columns.iter().flat_map(|rule| rule.origin.sequences());
                references.chain(sequences).collect()
            }
            None => Vec::new(),
        }
    }
}

fn is_same(one: &Entry, other: &Entry) -> bool {
    match (one, other) {
        (Entry::Table(one), Entry::Table(other)) => Arc::ptr_eq(one, other),
        (Entry::View(one), Entry::View(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

impl Fork {
    fn acts(&self) -> MutexGuard<'_, Acts> {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets tables that others see keep their rules: the block has others of the same rows.
    pub(super) fn divide(&self, draft: &mut Change) {
        for (table, rules) in draft.rules.extract_if(.., |(table, _)| self.began.has(table)) {
            if let Some(Entry::Table(entry)) = draft.entries.get_mut(&table.name)
                && Arc::ptr_eq(entry, &table)
            {
                *entry = Table::altered(&table, &table.name, Arc::clone(&table.relation), Rules::clone(&rules));
            }
        }
    }

    /// Keeps what is to be done about a change for the end of the block.
    pub(super) fn put_off(&self, draft: &mut Change) {
        let mut acts = self.acts();
        acts.then.append(&mut draft.then);
        acts.otherwise.append(&mut draft.otherwise);
    }

    /// Undoes what has been done since there was so much to be done.
    fn undo(&self, then: usize, otherwise: usize) {
        let undone = {
            let mut acts = self.acts();
            acts.then.truncate(then);
            let from = otherwise.min(acts.otherwise.len());
            acts.otherwise.split_off(from)
        };
        undone.into_iter().rev().for_each(|undo| undo());
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        self.undo(0, 0);
    }
}

impl Catalog {
    /// A copy for a transaction block.
    pub(crate) fn fork(self: &Arc<Self>) -> Arc<Self> {
        let began = Contents::of(self);
        let copy = began.clone();
        Arc::new(Self {
            entries: RwLock::new(copy.entries),
            sequences: RwLock::new(copy.sequences),
            definitions: RwLock::new(copy.definitions),
            ledger: RwLock::new(copy.ledger),
            loads: self.loads.clone(),
            changing: Mutex::default(),
            version: AtomicU64::new(next_version()),
            roles_version: AtomicU64::new(self.roles_version()),
            log: OnceLock::new(),
            ddl: tokio::sync::Mutex::default(),
            oids: Arc::clone(&self.oids),
            fork: Some(Fork { origin: Arc::clone(self), began, acts: Mutex::default() }),
        })
    }

    /// Whether a transaction block has it to itself.
    pub(crate) fn is_fork(&self) -> bool {
        self.fork.is_some()
    }

    /// The catalog of the database, if it is a copy of that.
    pub(super) fn origin(&self) -> Option<&Arc<Self>> {
        self.fork.as_ref().map(|fork| &fork.origin)
    }

    /// Whether a label that is added to an enumeration is kept back: the transaction block has not made the type itself.
    pub(crate) fn keeps_labels_back(&self, name: &str) -> bool {
        self.fork.as_ref().is_some_and(|fork| fork.began.definitions.types.contains_key(name))
    }

    /// Whether a table is one that the transaction block has made or altered which has the catalog to itself.
    pub(crate) fn is_of_block(&self, table: &Arc<Table>) -> bool {
        self.fork.as_ref().is_some_and(|fork| !fork.began.has(table))
    }

    /// Whether it is one that the block has made.
    pub(crate) fn is_new_in_block(&self, table: &Arc<Table>) -> bool {
        self.is_of_block(table) && table.before().is_none()
    }

    /// The state of a copy, to go back to.
    pub(crate) fn mark(&self) -> ForkMark {
        let (then, otherwise) = self.fork.as_ref().map_or((0, 0), |fork| {
            let acts = fork.acts();
            (acts.then.len(), acts.otherwise.len())
        });
        ForkMark { contents: Contents::of(self), then, otherwise }
    }

    /// Goes back to an earlier state of a copy.
    pub(crate) fn go_back(&self, mark: &ForkMark) {
        let Some(fork) = &self.fork else { return };
        let contents = mark.contents.clone();
        for (name, rules) in contents.rules {
            if let Some(Entry::Table(table)) = contents.entries.get(&name)
                && !fork.began.has(table)
            {
                *table.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
            }
        }
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = contents.entries;
        *self.sequences.write().unwrap_or_else(PoisonError::into_inner) = contents.sequences;
        *self.definitions.write().unwrap_or_else(PoisonError::into_inner) = contents.definitions;
        self.roles_version.store(next_version(), Ordering::Release);
        self.version.store(next_version(), Ordering::Release);
        fork.undo(mark.then, mark.otherwise);
    }

    /// Gives up what the block has changed.
    pub(crate) fn give_up(&self) {
        if let Some(fork) = &self.fork {
            fork.undo(0, 0);
        }
    }

    /// Makes the copy that of the database, in the transaction of the block, which `commit` commits.
    ///
    /// # Errors
    /// That of the commit; or a conflict with what others have changed. Then nothing has changed.
    pub(crate) fn publish(
        &self,
        mut transaction: Transaction,
        commit: impl FnOnce(Transaction) -> Result<Commit, Error>,
    ) -> Result<Commit, Error> {
        let Some(fork) = &self.fork else { return Err(Error::internal("the catalog is that of the database")) };
        self.admit_labels()?;
        let origin = &fork.origin;
        let _alone = origin.alone();
        let mut draft = fork.merged(&Contents::of(origin), &Contents::of(self))?;
        if let Some(log) = origin.log() {
            origin.describe(&draft, log, &mut transaction)?;
        }
        // Before the commit, so that who begins behind it finds the tables.
        origin.exchange(&mut draft);
        let commit = match commit(transaction) {
            Ok(commit) => commit,
            Err(error) => {
                origin.exchange(&mut draft);
                return Err(error);
            }
        };
        if let Some(log) = origin.log() {
            log.note(commit);
        }
        let acts = std::mem::take(&mut *fork.acts());
        acts.then.into_iter().for_each(|act| act());
        Ok(commit)
    }
}

impl Fork {
    /// What there is now, with the changes of the block.
    fn merged(&self, now: &Contents, own: &Contents) -> Result<Change, Error> {
        let changed = self.began.differences(own);
        let mut concerned: BTreeSet<String> = changed.iter().flat_map(|name| own.depends_on(name)).collect();
        concerned.extend(changed.iter().cloned());
        let by_others = self.began.differences(now);
        let by_others: Vec<&String> = by_others.iter().filter(|name| !is_temporary(name)).collect();
        let depends = |name: &str| now.depends_on(name).iter().any(|on| changed.contains(on));
        if let Some(name) = by_others.iter().find(|name| concerned.contains(**name) || depends(name)) {
            return Err(conflict(&format!("has changed what {name} stands for")));
        }
        // Nobody says of a new view which types it needs, or in which schema it is.
        let (before, after) = (&self.began.definitions, &own.definitions);
        let altered = altered_types(before, after);
        if let Some(name) = by_others.iter().find(|name| loses(before, after) || now.has_one_of(name, &altered)) {
            return Err(conflict(&format!("has changed what {name} stands for")));
        }
        let is_changed = before != after;
        let altered = altered_types(before, &now.definitions);
        if loses(before, &now.definitions) || changed.iter().any(|name| own.has_one_of(name, &altered)) {
            return Err(conflict("has changed schemas or types"));
        }
        let mut merged = Change::default();
        let Contents { mut entries, mut sequences, ledger, .. } = now.clone();
        for name in &changed {
            match own.entries.get(name) {
                Some(entry) => drop(entries.insert(name.clone(), entry.clone())),
                None => drop(entries.remove(name)),
            }
            match own.sequences.get(name) {
                Some(sequence) => drop(sequences.insert(name.clone(), Arc::clone(sequence))),
                None => drop(sequences.remove(name)),
            }
        }
        merged.entries = entries;
        merged.sequences = sequences;
        merged.definitions =
            if is_changed { merge::definitions(before, after, &now.definitions)? } else { now.definitions.clone() };
        merged.ledger = ledger;
        Ok(merged)
    }
}

/// The types that are others.
fn altered_types<'d>(before: &'d Definitions, after: &Definitions) -> Vec<&'d str> {
    let is_other = |name: &&String| after.types.get(*name).is_some_and(|of| before.types.get(*name) != Some(of));
    before.types.keys().filter(is_other).map(String::as_str).collect()
}

/// Whether a schema or a type is gone.
fn loses(before: &Definitions, after: &Definitions) -> bool {
    before.types.keys().any(|name| !after.types.contains_key(name))
        || !before.schemas.is_subset(&after.schemas)
        || !before.lacks_public && after.lacks_public
}

pub(super) fn conflict(what: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("another session {what} since this transaction block changed definitions; nothing was kept: try again"),
    )
}
