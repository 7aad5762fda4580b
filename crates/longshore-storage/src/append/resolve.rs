//! Makes an append part of a transaction although keys of it are there already: rows are left out, or take the place of
//! others.
//!
//! But for a few rows, nothing is looked for until an index has met a key twice: an append without duplicates is what it
//! always is. Then all keys that are shared are found in parallel, what becomes of their rows is decided in the order of
//! the append, chunks that lose rows are copied without them, and the append is made anew. Keys that others insert
//! meanwhile are conflicts, as for any insert.

use std::sync::{Arc, PoisonError};

use super::conflict::{Clash, ConflictAction, Decision, Merged, OnConflict, keep_first, keep_last};
use super::destination::{Destination, heap_bytes_of};
use super::interleave::Interleaved;
use super::{Append, Ready, is_small};
use crate::arena::{ARENA_BLOCK_BYTES, Arena};
use crate::chunk::Chunk;
use crate::chunk::hot::{HotChunk, KeyConflict};
use crate::datum::Datum;
use crate::error::{AppendedPair, Holder, TransactionError};
use crate::index::{Index, Numbered, SharedKeys, firsts};
use crate::memory::OutOfMemory;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, thread};
use crate::table::{Table, threads};
use crate::transaction::{Failure, KEYS_LOGGED_MAX, Transaction};
use crate::values::TextRoom;

/// Rows of a chunk that are looked up before all are tried.
const PROBES_PER_CHUNK: usize = 4;

/// Rows of an append that are left out, in their order.
pub struct Clashes<'a> {
    relation: String,
    decision: &'a Decision,
    action: &'a ConflictAction,
    indexes: &'a [Arc<Index>],
    numbered: Numbered<'a>,
}

impl Clashes<'_> {
    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Clash] {
        &self.decision.left_out
    }

    /// All rows that do not become rows of the relation, ascending: beside these, those that give values to others.
    #[must_use]
    pub fn dropped(&self) -> Vec<u64> {
        self.decision.dropped(self.action)
    }

    /// The key of a row that others have, as text.
    #[must_use]
    pub fn key(&self, clash: &Clash) -> String {
        let (chunk, row) = self.numbered.place(clash.row);
        self.indexes[clash.index].describe_row(chunk, row)
    }

    /// The index of the key.
    #[must_use]
    pub fn index_name(&self, clash: &Clash) -> &str {
        self.indexes[clash.index].name()
    }

    /// The relation.
    #[must_use]
    pub fn relation(&self) -> &str {
        &self.relation
    }
}

impl std::fmt::Debug for Clashes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clashes").field("rows", &self.rows()).finish_non_exhaustive()
    }
}

impl<'r> Append<'r> {
    /// Makes the rows part of a transaction, as far as no keys are in the way. Before that, if rows are to be left out or
    /// to replace others, `tell` is told of those that are left out.
    ///
    /// # Errors
    ///
    /// As [`Append::commit_in`], also when a key of another index is there already; the first of `tell`. The transaction
    /// has none of the rows then.
    ///
    /// # Panics
    ///
    /// When a merge has failed, or rows are to replace others by the keys of several indexes.
    pub fn commit_resolving<E: From<TransactionError>>(
        self,
        transaction: &mut Transaction,
        on: &OnConflict,
        tell: impl FnOnce(&Clashes<'_>) -> Result<(), E>,
    ) -> Result<Merged, E> {
        let relation = self.relation;
        commit(relation, self.ready()?, transaction, on, tell)
    }

    /// The same for an append that is part of a transaction since it began ([`Relation::begin_append_in`]), which it gives
    /// back.
    ///
    /// # Errors
    ///
    /// As [`Append::commit_resolving`].
    ///
    /// # Panics
    ///
    /// As [`Append::commit_resolving`], and when it was not begun so.
    pub fn finish<E: From<TransactionError>>(
        mut self,
        on: &OnConflict,
        tell: impl FnOnce(&Clashes<'_>) -> Result<(), E>,
    ) -> Result<(Merged, &'r mut Transaction), E> {
        let relation = self.relation;
        let interleave = self.interleave.take().expect("it was begun as part of a transaction");
        let mut ready = self.ready()?;
        let (transaction, interleaved) = interleave.finish()?;
        let merged = match interleaved {
            Interleaved::Merged if ready.is_few() => commit(relation, ready, transaction, on, tell)?,
            Interleaved::Merged => Merged { inserted: ready.rows, ..Merged::default() },
            Interleaved::Undone(mut chunks) => {
                // What came out of turn, when no more was merged.
                chunks.extend(ready.chunks());
                commit(relation, Ready::of_chunks(&chunks), transaction, on, tell)?
            }
        };
        Ok((merged, transaction))
    }
}

/// Makes rows part of a transaction, as far as no keys are in the way.
fn commit<E: From<TransactionError>>(
    relation: &Relation,
    mut ready: Ready,
    transaction: &mut Transaction,
    on: &OnConflict,
    tell: impl FnOnce(&Clashes<'_>) -> Result<(), E>,
) -> Result<Merged, E> {
    let inserted = ready.rows;
    let arbiters = arbiters(relation.table(), on)?;
    if on.action == ConflictAction::Stop || arbiters.is_empty() {
        ready.append_to(relation, transaction, Failure::IsLogged)?;
        return Ok(Merged { inserted, ..Merged::default() });
    }
    let chunks = ready.chunks();
    let firsts = firsts(&chunks);
    let rows = Numbered { chunks: &chunks, firsts: &firsts };
    let resolve = Resolve { relation, arbiters: &arbiters, rows };
    if !ready.has_duplicates() && !resolve.meets_soon(transaction) {
        match ready.append_to(relation, transaction, Failure::IsRetried) {
            Ok(()) => return Ok(Merged { inserted, ..Merged::default() }),
            Err(TransactionError::Duplicate { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let decision = resolve.decide(transaction, &on.action)?;
    let (relation, action) = (relation.name(), &on.action);
    tell(&Clashes { relation, decision: &decision, action, indexes: &arbiters, numbered: rows })?;
    let savepoint = transaction.savepoint();
    let merged = resolve.apply(transaction, &on.action, &decision);
    if merged.is_err() {
        transaction.rollback_to(savepoint);
    }
    Ok(merged?)
}

/// The indexes whose keys decide.
fn arbiters(table: &Arc<Table>, on: &OnConflict) -> Result<Vec<Arc<Index>>, TransactionError> {
    let indexes = table.indexes();
    let unique = indexes.iter().filter(|index| index.uniqueness().is_unique());
    let Some(name) = &on.index else { return Ok(unique.map(Arc::clone).collect()) };
    let named: Vec<Arc<Index>> = unique.filter(|index| index.name() == name).map(Arc::clone).collect();
    if named.is_empty() {
        return Err(TransactionError::IndexName { relation: table.name(), index: name.clone(), exists: false });
    }
    Ok(named)
}

struct Resolve<'a> {
    relation: &'a Relation,
    arbiters: &'a [Arc<Index>],
    rows: Numbered<'a>,
}

impl Resolve<'_> {
    /// Whether a few rows have keys already that are there. An append of which many do would enter all its rows into the
    /// indexes and then take them out again, which costs more than all that follows.
    fn meets_soon(&self, transaction: &Transaction) -> bool {
        let (table, view, stamps) = (self.relation.table(), transaction.view(), self.relation.transactions().stamps());
        let is_taken = |row: RowId| table.key_conflict(row, view, stamps) == KeyConflict::Duplicate;
        let meets = |chunk: &Arc<Chunk>, row| {
            self.arbiters.iter().any(|index| index.rows() > 0 && index.find_stored(chunk, row).iter().any(is_taken))
        };
        let step = |chunk: &Chunk| chunk.rows().div_ceil(PROBES_PER_CHUNK).max(1);
        self.rows.chunks.iter().any(|chunk| (0..chunk.rows()).step_by(step(chunk)).any(|row| meets(chunk, row)))
    }

    fn decide(&self, transaction: &Transaction, action: &ConflictAction) -> Result<Decision, TransactionError> {
        let (table, view, stamps) = (self.relation.table(), transaction.view(), self.relation.transactions().stamps());
        let is_in_the_way = |row: RowId| match table.key_conflict(row, view, stamps) {
            KeyConflict::None => Ok(false),
            KeyConflict::Duplicate => Ok(true),
            KeyConflict::Concurrent(kind) => Err(table.conflict(row, kind)),
        };
        let shared: Vec<SharedKeys> = self
            .arbiters
            .iter()
            .map(|index| index.shared_keys(self.rows, threads(), is_in_the_way))
            .collect::<Result<_, _>>()?;
        Ok(match (action, &shared[..]) {
            (ConflictAction::Stop | ConflictAction::KeepFirst, shared) => keep_first(shared),
            (ConflictAction::KeepLast | ConflictAction::Update(_), [shared]) => keep_last(shared),
            (ConflictAction::KeepLast | ConflictAction::Update(_), shared) => {
                panic!("rows replace others by the keys of one index, not of {}", shared.len())
            }
        })
    }

    fn apply(
        &self,
        transaction: &mut Transaction,
        action: &ConflictAction,
        decision: &Decision,
    ) -> Result<Merged, TransactionError> {
        let Decision { left_out, replaced } = decision;
        self.log_holders(transaction, left_out);
        let dropped = decision.dropped(action);
        let updated = replaced.len() as u64;
        match action {
            ConflictAction::Update(columns) => {
                self.update(transaction, columns, replaced)?;
            }
            _ => replaced.iter().try_for_each(|&(row, _)| transaction.delete(self.relation, row))?,
        }
        let slots = self.without(&dropped)?;
        let rows: u64 = slots.iter().map(|slot| slot.len() as u64).sum();
        let result = append(self.relation, transaction, slots, rows);
        result.map_err(|error| numbered_as_before(error, &dropped))?;
        let inserted = if matches!(action, ConflictAction::Update(_)) { rows } else { rows - updated };
        Ok(Merged { inserted, updated, left_out: left_out.len() as u64 })
    }

    /// To leave out a row because of one that is there is to read that one.
    fn log_holders(&self, transaction: &mut Transaction, left_out: &[Clash]) {
        let held = || left_out.iter().filter(|clash| matches!(clash.holder, Holder::Relation(_)));
        if held().count() > KEYS_LOGGED_MAX {
            let mut columns: Vec<usize> = self.arbiters.iter().flat_map(|index| index.columns()).copied().collect();
            columns.sort_unstable();
            columns.dedup();
            return transaction.log_scan(self.relation, &[], &columns);
        }
        for clash in held() {
            let (chunk, row) = self.rows.place(clash.row);
            let slot = HotChunk::of_chunk(Arc::clone(chunk));
            let columns = self.arbiters[clash.index].columns();
            let room = TextRoom::default();
            let key: Vec<Datum<'_>> = columns.iter().map(|&column| slot.datum(row, column, &room)).collect();
            transaction.log_key(self.relation.table(), columns, &key);
        }
    }

    /// Gives values of rows of the append to rows of the relation.
    fn update(
        &self,
        transaction: &mut Transaction,
        columns: &[usize],
        replaced: &[(RowId, u64)],
    ) -> Result<(), TransactionError> {
        // What is equal need not be set.
        let key = self.arbiters[0].columns();
        let columns: Vec<usize> = columns.iter().copied().filter(|column| !key.contains(column)).collect();
        let mut values: Option<(*const Chunk, HotChunk)> = None;
        for &(old, new) in replaced {
            let (chunk, row) = self.rows.place(new);
            let known = values.take().filter(|(known, _)| *known == Arc::as_ptr(chunk));
            let (_, slot) =
                values.insert(known.unwrap_or_else(|| (Arc::as_ptr(chunk), HotChunk::of_chunk(Arc::clone(chunk)))));
            let room = TextRoom::default();
            let set: Vec<(usize, Datum<'_>)> =
                columns.iter().map(|&column| (column, slot.datum(row, column, &room))).collect();
            transaction.update(self.relation, old, &set).map_err(|mut error| {
                if let TransactionError::Duplicate { row, appended: appended @ None, .. } = &mut error {
                    *appended = Some(Box::new(AppendedPair { first: Holder::Relation(*row), second: new }));
                }
                error
            })?;
        }
        Ok(())
    }

    /// All rows but some, which ascend. Chunks that lose none stay what they are.
    fn without(&self, dropped: &[u64]) -> Result<Vec<HotChunk>, OutOfMemory> {
        let Numbered { chunks, firsts } = self.rows;
        let made: Vec<Mutex<Option<HotChunk>>> = chunks.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut arena = Arena::new(Arc::clone(self.relation.memory()), ARENA_BLOCK_BYTES);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = chunks.get(at) else { return Ok(()) };
                let from = dropped.partition_point(|row| *row < firsts[at]);
                let to = dropped.partition_point(|row| *row < firsts[at + 1]);
                let slot = match dropped[from..to].len() {
                    0 => Some(HotChunk::of_chunk(Arc::clone(chunk))),
                    all if all == chunk.rows() => None,
                    _ => Some(copied_without(chunk, firsts[at], &dropped[from..to], &mut arena)?),
                };
                *made[at].lock().unwrap_or_else(PoisonError::into_inner) = slot;
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads().min(chunks.len())).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others =
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            others.fold(own, Result::and)
        })?;
        Ok(made.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
    }
}

/// The rows of a chunk but some, whose numbers count from `first`.
fn copied_without(chunk: &Arc<Chunk>, first: u64, dropped: &[u64], arena: &mut Arena) -> Result<HotChunk, OutOfMemory> {
    let (rows, heap) = (chunk.rows() - dropped.len(), heap_bytes_of(chunk, 0, chunk.rows()));
    let mut destination = Destination::new(chunk.schema(), rows, heap, arena)?;
    let mut from = 0;
    let ends = dropped.iter().map(|row| (row - first) as usize).chain([chunk.rows()]);
    for end in ends {
        if end > from {
            let heap_bytes = heap_bytes_of(chunk, from, end - from);
            let task = destination.reserve(Arc::clone(chunk), from, end - from, heap_bytes);
            let copied = task.copy();
            destination.finish(&task, &copied);
        }
        from = end + 1;
    }
    destination.close();
    Ok(destination.to_hot_chunk())
}

/// Appends slots of rows, few ones behind those that there are.
fn append(
    relation: &Relation,
    transaction: &mut Transaction,
    mut slots: Vec<HotChunk>,
    rows: u64,
) -> Result<(), TransactionError> {
    let chunks: Vec<Arc<Chunk>> = slots.iter_mut().map(HotChunk::chunk).collect();
    if is_small(rows, chunks.iter().map(|chunk| chunk.bytes()).sum()) {
        return transaction.append_rows(relation, &chunks, Failure::IsLogged);
    }
    drop(chunks);
    transaction.append_slots(relation, slots, None, Failure::IsLogged)
}

/// The error about rows that were appended without some, with the numbers that they had with them.
fn numbered_as_before(mut error: TransactionError, dropped: &[u64]) -> TransactionError {
    let number = |row: u64| {
        let (mut low, mut high) = (0, dropped.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if dropped[middle] - middle as u64 <= row { low = middle + 1 } else { high = middle }
        }
        row + low as u64
    };
    if let TransactionError::Duplicate { appended: Some(pair), .. } = &mut error {
        pair.second = number(pair.second);
        if let Holder::Append(first) = pair.first {
            pair.first = Holder::Append(number(first));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_numbers_that_they_had() {
        let error = |first, second| TransactionError::Duplicate {
            relation: String::new(),
            index: String::new(),
            key: String::new(),
            row: RowId(0),
            appended: Some(Box::new(AppendedPair { first: Holder::Append(first), second })),
        };
        // Of 0 to 9 are left 0, 3, 4, 7, 8.
        for (first, second, expected) in [(0, 1, (0, 3)), (2, 3, (4, 7)), (3, 4, (7, 8))] {
            assert_eq!(numbered_as_before(error(first, second), &[1, 2, 5, 6, 9]), error(expected.0, expected.1));
        }
    }
}
