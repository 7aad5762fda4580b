//! A durable database on a simulated disk beside a model of it: what was committed, in order, and what of that is safe.
//!
//! Every transaction logs its number, so that what came back says up to which one it is; it must be all of these, and
//! nothing of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use longshore_simdisk::SimDisk;
use longshore_storage::data_directory::{DataDirectory, DirectoryError, DirectoryOptions, Recovered};
use longshore_storage::disk::Disk;
use longshore_storage::log::LogOptions;
use longshore_storage::{Commit, Memory, Relation, RelationId, RowId, Schema, Transaction, Transactions};
use longshore_testing::Random;

use crate::redo_support::rows_by_id;
use crate::support::{Row, check_statistics};

mod backups;
mod steps;

pub(crate) const PATH: &str = "/database";

pub(crate) type Rows = BTreeMap<RowId, Row>;

/// The relations after a transaction: columns, rows, and whether these are logged.
pub(crate) type State = BTreeMap<RelationId, Arc<Known>>;

type Known = (Arc<Schema>, Rows, bool);

/// A change of a row; without cells it goes.
type Change = (RelationId, RowId, Option<Row>);

/// A database that is open.
pub(crate) struct Open {
    // Transactions end before their database.
    /// A transaction that goes on while others come and go, and what it has done.
    pending: Option<(Transaction, Vec<Change>)>,
    pub(crate) relations: BTreeMap<RelationId, Relation>,
    pub(crate) transactions: Arc<Transactions>,
    pub(crate) directory: DataDirectory,
}

/// What comes back of rows that are not logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unlogged {
    /// All of them: the last checkpoint has them.
    Whole,
    /// All of them or none: it was on its way to be used.
    WholeOrEmpty,
    /// None: it was used.
    Empty,
}

/// What must come back.
pub(crate) struct World {
    pub(crate) random: Random,
    /// After each transaction that was committed; the first is before all of them.
    pub(crate) states: Vec<State>,
    /// All up to this one are safe.
    pub(crate) safe: usize,
    /// It was acknowledged that the database was made.
    is_created: bool,
    /// It was closed behind a checkpoint.
    is_clean: bool,
    /// What is left of rows that are not logged.
    unlogged: Unlogged,
    /// Why a wait for a commit has failed.
    wait_failed: Option<String>,
    next_id: i64,
    backups: backups::Backups,
    /// Whether backups are among what is done.
    pub(crate) backs_up: bool,
    /// Rows of a large append.
    pub(crate) append_rows: usize,
}

fn options(random: &mut Random) -> DirectoryOptions {
    let log = LogOptions {
        segment_bytes: random.pick(&[200, 1000, 20_000]),
        buffer_bytes: random.pick(&[1, 300, 2000]),
        spare_segments: random.below(3),
    };
    DirectoryOptions { log, write_delay: None, threads: 1 }
}

pub(crate) fn dyn_disk(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// What has failed because the disk has.
fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World {
            random: Random::new(seed),
            states: vec![State::new()],
            safe: 0,
            is_created: false,
            is_clean: false,
            unlogged: Unlogged::Empty,
            wait_failed: None,
            next_id: 0,
            backups: backups::Backups::default(),
            backs_up: false,
            append_rows: 1100,
        }
    }

    /// Makes the database, or opens it and compares. Fails only if the disk does.
    pub(crate) fn open(&mut self, disk: &SimDisk) -> Result<Open, String> {
        let (dyn_disk, path) = (dyn_disk(disk), Path::new(PATH));
        let (options, memory, transactions) = (options(&mut self.random), Memory::new(None), Transactions::new());
        self.check_backups(disk)?;
        if self.is_created && self.random.once_in(3) {
            // Who only reads sees the same.
            let (memory, transactions) = (Memory::new(None), Transactions::new());
            let read = DataDirectory::read(&dyn_disk, path, &memory, &transactions, 2).map_err(failed)?;
            self.check(&read);
        }
        if self.unlogged == Unlogged::Whole {
            self.unlogged = Unlogged::WholeOrEmpty;
        }
        match DataDirectory::open(&dyn_disk, path, &memory, &transactions, options) {
            Ok((directory, recovered)) => {
                self.is_created = true;
                let number = self.check(&recovered);
                self.is_clean = false;
                self.states.truncate(number + 1);
                self.safe = number;
                self.unlogged = Unlogged::Empty;
                let is_empty = |relation: &Relation| relation.snapshot().rows() == 0;
                for (id, known) in &mut self.states[number] {
                    if !known.2 && is_empty(&recovered.relations[id]) {
                        Arc::make_mut(known).1.clear();
                    }
                }
                Ok(Open { directory, transactions, relations: recovered.relations, pending: None })
            }
            Err(DirectoryError::Missing { .. }) if !self.is_created => {
                let directory = DataDirectory::create(&dyn_disk, path, &transactions, options).map_err(failed)?;
                self.is_created = true;
                Ok(Open { directory, transactions, relations: BTreeMap::new(), pending: None })
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Compares what came back; says up to which transaction it is.
    fn check(&self, recovered: &Recovered) -> usize {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()) as usize;
        let first = if recovered.catalog.is_empty() { 0 } else { number(&recovered.catalog) };
        let numbers: Vec<usize> = recovered.payloads.iter().map(|(_, payload)| number(payload)).collect();
        assert!(numbers.iter().copied().eq(first + 1..=first + numbers.len()), "{first}, then {numbers:?}");
        assert!(recovered.payloads.is_sorted_by_key(|(lsn, _)| *lsn), "in the order of the log");
        let last = first + numbers.len();
        assert!(last >= self.safe, "{last} came back, {} are safe", self.safe);
        assert!(last < self.states.len(), "{last} came back of {}", self.states.len() - 1);
        if self.is_clean {
            assert!(numbers.is_empty() && recovered.replayed.changes == 0, "a clean exit leaves nothing to do again");
        }
        let (whole, emptied) = (&self.states[last], emptied(&self.states[last]));
        let is_empty = |(id, known): (&RelationId, &Arc<Known>)| {
            known.2 || recovered.relations.get(id).is_some_and(|relation| relation.snapshot().rows() == 0)
        };
        let expected = match self.unlogged {
            Unlogged::Whole => whole,
            Unlogged::WholeOrEmpty if !whole.iter().all(is_empty) => whole,
            Unlogged::WholeOrEmpty | Unlogged::Empty => &emptied,
        };
        check_state(&recovered.relations, expected);
        last
    }

    fn last(&self) -> State {
        self.states.last().unwrap().clone()
    }

    /// Commits a transaction, after which the relations are so, and waits for it or not.
    fn commit(&mut self, open: &Open, mut transaction: Transaction, after: State) -> Result<(), String> {
        transaction.log_payload(&(self.states.len() as u64).to_le_bytes()).unwrap();
        let commit = transaction.commit().map_err(failed)?;
        self.committed(open, commit, after);
        Ok(())
    }

    fn committed(&mut self, open: &Open, commit: Commit, after: State) {
        self.states.push(after);
        if self.random.once_in(2) {
            // A failure is told once what was done is known.
            match open.transactions.wait_until_safe(commit) {
                Ok(()) => self.safe = self.states.len() - 1,
                Err(error) => self.wait_failed = Some(failed(error)),
            }
        }
    }

    /// What a checkpoint begins with, after which a transaction may commit before it is written.
    pub(crate) fn checkpoint(&mut self, open: &mut Open) -> Result<(), String> {
        let catalog = ((self.states.len() - 1) as u64).to_le_bytes();
        let Open { pending, directory, .. } = open;
        let checkpoint = directory.begin_checkpoint().map_err(failed)?;
        let number = self.states.len() - 1;
        if self.random.once_in(3)
            && let Some((mut transaction, changes)) = pending.take()
        {
            // It changes slots that the checkpoint is yet to write.
            transaction.log_payload(&(self.states.len() as u64).to_le_bytes()).unwrap();
            transaction.commit().map_err(failed)?;
            self.states.push(applied(self.last(), &changes));
        }
        if self.random.once_in(10) {
            // Given up.
            return Ok(());
        }
        let report = checkpoint.write(&catalog).map_err(failed)?;
        assert!(report.lsn <= directory.log().durable());
        self.safe = self.safe.max(number);
        report.not_removed.map_or(Ok(()), |error| Err(failed(error)))
    }

    /// Ends the work in one of several ways.
    pub(crate) fn close(&mut self, mut open: Open) -> Result<(), String> {
        open.pending = None;
        match self.random.below(3) {
            0 => Ok(()),
            1 => {
                open.directory.close().map_err(failed)?;
                self.safe = self.states.len() - 1;
                Ok(())
            }
            _ => self.finish(open),
        }
    }

    /// Closes the database behind a checkpoint.
    pub(crate) fn finish(&mut self, mut open: Open) -> Result<(), String> {
        open.pending = None;
        let checkpoint = open.directory.begin_checkpoint().map_err(failed)?;
        let catalog = ((self.states.len() - 1) as u64).to_le_bytes();
        let writes_all = self.random.once_in(2);
        // From here on a crash may find them.
        self.unlogged = if writes_all { Unlogged::WholeOrEmpty } else { Unlogged::Empty };
        let written = if writes_all { checkpoint.write_last(&catalog) } else { checkpoint.write(&catalog) };
        let written = written.map_err(failed)?;
        if writes_all {
            self.unlogged = Unlogged::Whole;
        }
        self.safe = self.states.len() - 1;
        assert_eq!(open.directory.log_bytes(), 0);
        open.directory.close().map_err(failed)?;
        self.is_clean = true;
        written.not_removed.map_or(Ok(()), |error| Err(failed(error)))
    }
}

/// What a state is after some changes.
fn applied(mut state: State, changes: &[Change]) -> State {
    for (id, row, cells) in changes {
        let (_, rows, _) = Arc::make_mut(state.get_mut(id).unwrap());
        match cells {
            Some(cells) => drop(rows.insert(*row, cells.clone())),
            None => drop(rows.remove(row)),
        }
    }
    state
}

/// What is durable of a state.
pub(crate) fn emptied(state: &State) -> State {
    let mut emptied = state.clone();
    for known in emptied.values_mut().filter(|known| !known.2) {
        Arc::make_mut(known).1.clear();
    }
    emptied
}

/// That relations are as a state has them, every row at its place.
pub(crate) fn check_state(relations: &BTreeMap<RelationId, Relation>, state: &State) {
    let ids = |ids: Vec<&RelationId>| ids.into_iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(ids(relations.keys().collect()), ids(state.keys().collect()));
    for (relation, expected) in relations.values().zip(state.values()) {
        let (schema, rows, is_logged) = &**expected;
        assert_eq!(relation.schema(), schema);
        assert_eq!(relation.is_logged(), *is_logged);
        let snapshot = relation.snapshot();
        assert!(rows_by_id(&snapshot) == *rows, "the same rows under the same ids");
        check_statistics(&snapshot, &rows.values().cloned().collect::<Vec<_>>());
    }
}
