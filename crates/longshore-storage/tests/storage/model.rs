//! Histories of several transactions, one step at a time, against a model: for each transaction the map of the rows that
//! it must see, and for each row who wrote it last.
//!
//! What one thread interleaves here, several do at once in `stress.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::{Cell, Row, all_types, buffers, datum, id_and_text, random_rows, relation, rows_in, rows_of};
use arrow_array::{RecordBatch, RecordBatchOptions};
use longshore_storage::{
    Arena, Chunk, Datum, Freeze, Index, IndexKind, Isolation, MergeKind, PackedAs, Relation, RowId, Savepoint, Schema,
    Snapshot, Transaction, TransactionError, Uniqueness, key,
};
use longshore_testing::{Random, share};

const KINDS: [MergeKind; 3] = [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk];

pub(crate) type Rows = BTreeMap<RowId, Row>;

/// A transaction under way, and what it must see.
struct Active {
    transaction: Transaction,
    start: u64,
    sees: Rows,
    wrote: BTreeSet<RowId>,
    savepoints: Vec<(Savepoint, Rows, BTreeSet<RowId>)>,
}

pub(crate) struct World {
    random: Random,
    schema: Arc<Schema>,
    pub(crate) relation: Relation,
    pk: Arc<Index>,
    committed: Rows,
    /// After each commit that has changed something, if its relation is logged: its time, and the rows.
    pub(crate) states: Vec<(u64, Rows)>,
    /// Commits that have changed something.
    commits: u64,
    /// The last commit that has changed a row.
    changed: BTreeMap<RowId, u64>,
    active: Vec<Active>,
    held: Vec<(Arc<Snapshot>, Rows)>,
    next_id: i64,
    rows_max: usize,
}

/// The rows that a snapshot's pieces show, in ranges of any size.
fn scanned(snapshot: &Snapshot, random: &mut Random) -> Rows {
    let schema = snapshot.schema();
    let mut rows = Rows::new();
    for piece in snapshot.pieces() {
        let mut offset = 0;
        while offset < piece.rows() {
            let len = (1 + random.below(900)).min(piece.rows() - offset);
            let arrays = (0..schema.columns().len()).map(|column| piece.array(column, offset, len)).collect();
            let options = RecordBatchOptions::new().with_row_count(Some(len));
            // What is not seen may be NULL where the column is not.
            let visible = piece.visible(offset, len);
            let batch = RecordBatch::try_new_with_options(schema.arrow(), arrays, &options).unwrap();
            let found = rows_of(schema, &batch).into_iter().enumerate();
            let seen = found.filter(|(row, _)| visible.as_ref().is_none_or(|bits| bits.value(*row)));
            rows.extend(seen.map(|(row, cells)| (piece.row_id(offset + row), cells)));
            offset += len;
        }
    }
    rows
}

pub(crate) fn check_snapshot(snapshot: &Snapshot, expected: &Rows, random: &mut Random) {
    assert!(scanned(snapshot, random) == *expected, "the pieces show what is to be seen");
    // Places that were vacant are used again, so the order of the rows need not be that of their ids.
    let ids = snapshot.pieces().iter().flat_map(|piece| {
        let visible = piece.visible(0, piece.rows());
        let is_visible = move |row: &usize| visible.as_ref().is_none_or(|bits| bits.value(*row));
        (0..piece.rows()).filter(is_visible).map(|row| piece.row_id(row))
    });
    let in_order: Vec<&Row> = ids.map(|id| &expected[&id]).collect();
    assert!(rows_in(snapshot).iter().eq(in_order), "the settled chunks show the same");
    crate::support::check_statistics(snapshot, &expected.values().cloned().collect::<Vec<_>>());
}

/// The columns of a world.
pub(crate) fn world_schema(seed: u64) -> Arc<Schema> {
    if seed.is_multiple_of(2) { all_types() } else { id_and_text() }
}

impl World {
    pub(crate) fn new(seed: u64, relation: Relation) -> World {
        let rows_max = if seed.is_multiple_of(2) { 30 } else { 3000 };
        let schema = Arc::clone(relation.schema());
        let id = schema.index_of("id").unwrap();
        let kind = [IndexKind::Hash, IndexKind::Art][seed as usize / 2 % 2];
        let pk = relation.create_index("pk", &[id], kind, Uniqueness::Unique).unwrap();
        World {
            random: Random::new(seed),
            schema,
            relation,
            pk,
            committed: Rows::new(),
            states: Vec::new(),
            commits: 0,
            changed: BTreeMap::new(),
            active: Vec::new(),
            held: Vec::new(),
            next_id: 0,
            rows_max,
        }
    }

    fn id(row: &Row, schema: &Schema) -> i64 {
        match row[schema.index_of("id").unwrap()] {
            Cell::Integer(id) => id,
            _ => panic!("an id is an integer"),
        }
    }

    fn begin(&mut self) {
        let transaction = self.relation.transactions().begin(Isolation::Snapshot);
        let (start, sees) = (self.commits, self.committed.clone());
        self.active.push(Active { transaction, start, sees, wrote: BTreeSet::new(), savepoints: Vec::new() });
    }

    /// Whether somebody has changed a row whom a transaction does not see.
    fn is_contested(&self, at: usize, row: RowId) -> bool {
        let others = self.active.iter().enumerate().any(|(other, active)| other != at && active.wrote.contains(&row));
        others || self.changed.get(&row).is_some_and(|&commit| commit > self.active[at].start)
    }

    /// A row that a transaction sees.
    fn pick(&mut self, at: usize) -> Option<RowId> {
        let sees = &self.active[at].sees;
        let nth = self.random.below(sees.len().max(1));
        sees.keys().nth(nth).copied()
    }

    fn insert(&mut self, at: usize) {
        let id = if self.random.below(4) == 0 { self.random.below(30) as i64 } else { self.next_id };
        self.next_id = self.next_id.max(id + 1);
        let row = random_rows(&mut self.random, &self.schema, id, 1).remove(0);
        let types = self.schema.columns().iter().map(|column| column.column_type);
        let datums: Vec<Datum<'_>> =
            row.iter().zip(types).map(|(cell, column_type)| datum(cell, column_type)).collect();
        let is_mine = self.active[at].sees.values().any(|seen| World::id(seen, &self.schema) == id);
        let inserted = self.active[at].transaction.insert(&self.relation, &datums);
        let active = &mut self.active[at];
        match inserted {
            Ok(new) => {
                assert!(!is_mine, "the key {id} was there");
                active.wrote.insert(new);
                assert_eq!(active.sees.insert(new, row), None);
            }
            Err(TransactionError::Duplicate { .. }) => assert!(is_mine, "the key {id} was not there"),
            Err(error) => {
                assert!(error.is_conflict(), "{error}");
                // That may be one who has inserted the key and deleted it again.
                let mut others = self.active.iter().enumerate().filter(|(other, _)| *other != at);
                let by_others = others.any(|(_, active)| !active.wrote.is_empty());
                let start = self.active[at].start;
                let later = self.changed.values().any(|&commit| commit > start);
                assert!(by_others || later, "nobody has to do with the key {id}");
            }
        }
    }

    fn update(&mut self, at: usize) {
        let Some(row) = self.pick(at) else { return };
        let id = World::id(&self.active[at].sees[&row], &self.schema);
        let fresh = random_rows(&mut self.random, &self.schema, id, 1).remove(0);
        let columns = self.schema.columns();
        let column = self.random.below(columns.len());
        if columns[column].name == "id" {
            return;
        }
        let is_contested = self.is_contested(at, row);
        let value = datum(&fresh[column], columns[column].column_type);
        let active = &mut self.active[at];
        let set = active.transaction.set_datum(&self.relation, row, column, value);
        if is_contested {
            assert!(set.unwrap_err().is_conflict());
        } else {
            set.unwrap();
            active.wrote.insert(row);
            active.sees.get_mut(&row).unwrap()[column] = fresh[column].clone();
        }
    }

    fn delete(&mut self, at: usize) {
        let Some(row) = self.pick(at) else { return };
        let is_contested = self.is_contested(at, row);
        let active = &mut self.active[at];
        let deleted = active.transaction.delete(&self.relation, row);
        if is_contested {
            assert!(deleted.unwrap_err().is_conflict());
        } else {
            deleted.unwrap();
            active.wrote.insert(row);
            active.sees.remove(&row);
        }
    }

    fn read(&mut self, at: usize) {
        let Some(row) = self.pick(at) else { return };
        let column = self.random.below(self.schema.columns().len());
        let column_type = self.schema.columns()[column].column_type;
        let active = &mut self.active[at];
        let expected = &active.sees[&row];
        let is_equal = active
            .transaction
            .get_datum(&self.relation, row, column, |found| found == datum(&expected[column], column_type))
            .unwrap();
        assert!(is_equal, "row {row}, column {column}");
        let id = World::id(expected, &self.schema);
        assert_eq!(active.transaction.find(&self.relation, &self.pk, key![id]).unwrap(), Some(row));
    }

    fn append(&mut self, at: usize) {
        let count = if self.random.below(12) == 0 { 9_000 } else { self.random.below(self.rows_max) };
        let count = if self.rows_max < 100 { count.min(40) } else { count };
        // Of ids that nobody has used.
        self.next_id += 1_000_000;
        let rows = random_rows(&mut self.random, &self.schema, self.next_id, count);
        self.next_id += count as i64;
        let mut arena = Arena::new(Arc::clone(self.relation.memory()), 1 << 20);
        let append = self.relation.begin_append(KINDS[self.random.below(3)]);
        append.merge(0, buffers(&self.schema, &rows, &mut arena)).unwrap();
        let active = &mut self.active[at];
        assert_eq!(append.commit_in(&mut active.transaction), Ok(count as u64));
        let found = scanned(&active.transaction.snapshot(&self.relation), &mut self.random);
        let new: Vec<(RowId, Row)> = found.into_iter().filter(|(row, _)| !active.sees.contains_key(row)).collect();
        assert!(new.iter().map(|(_, row)| row).eq(&rows), "the rows are there in their order");
        active.wrote.extend(new.iter().map(|(row, _)| *row));
        active.sees.extend(new);
    }

    fn truncate(&mut self, at: usize) {
        let others = self.active.iter().enumerate().any(|(other, active)| other != at && !active.wrote.is_empty());
        let later = self.changed.values().any(|&commit| commit > self.active[at].start);
        let active = &mut self.active[at];
        let truncated = active.transaction.truncate(&self.relation);
        if let Err(error) = truncated {
            assert!(error.is_conflict() && (others || later), "{error}");
            return;
        }
        active.wrote.extend(active.sees.keys());
        active.wrote.extend(self.committed.keys());
        active.sees.clear();
    }

    fn end(&mut self, at: usize, commits: bool) {
        let active = self.active.swap_remove(at);
        if !commits {
            active.transaction.rollback();
            return;
        }
        let commit = active.transaction.commit().unwrap();
        if active.wrote.is_empty() {
            return;
        }
        self.commits += 1;
        for row in active.wrote {
            self.changed.insert(row, self.commits);
            match active.sees.get(&row) {
                Some(cells) => drop(self.committed.insert(row, cells.clone())),
                None => drop(self.committed.remove(&row)),
            }
        }
        if self.relation.relation_id().is_some() {
            self.states.push((commit.time.get(), self.committed.clone()));
        }
    }

    /// As many steps as are worth it, and the end of all transactions.
    pub(crate) fn run(&mut self) {
        let (steps, check_every) = if self.rows_max > 100 { (250, 25) } else { (900, 15) };
        for step in 0..steps {
            self.step();
            if step % check_every == 0 {
                self.check();
            }
        }
        while let Some(at) = self.active.len().checked_sub(1) {
            self.end(at, at % 2 == 0);
            self.check();
        }
    }

    fn step(&mut self) {
        if self.active.len() < 2 || self.active.len() < 5 && self.random.below(8) == 0 {
            self.begin();
        }
        if self.random.below(8) == 0 {
            let scope = self.random.pick(&[Freeze::All, Freeze::Unchanged]);
            self.relation.freeze(scope, self.random.below(20), &|| false).unwrap();
        }
        let at = self.random.below(self.active.len());
        match self.random.below(64) {
            0..14 => self.insert(at),
            14..32 => self.update(at),
            32..40 => self.delete(at),
            40..48 => self.read(at),
            48..51 => self.append(at),
            51 => self.truncate(at),
            52..55 => {
                let active = &mut self.active[at];
                let savepoint = active.transaction.savepoint();
                active.savepoints.push((savepoint, active.sees.clone(), active.wrote.clone()));
            }
            55..57 => {
                let active = &mut self.active[at];
                if let Some((savepoint, sees, wrote)) = active.savepoints.pop() {
                    active.transaction.rollback_to(savepoint);
                    (active.sees, active.wrote) = (sees, wrote);
                }
            }
            57..61 => self.end(at, true),
            61 => self.end(at, false),
            62 => self.held.push((self.relation.snapshot(), self.committed.clone())),
            _ => {
                let active = &self.active[at];
                self.held.push((active.transaction.snapshot(&self.relation), active.sees.clone()));
            }
        }
    }

    /// Compares what one of the transactions sees, what is committed, and what a reader holds.
    fn check(&mut self) {
        check_snapshot(&self.relation.snapshot(), &self.committed, &mut self.random);
        if !self.active.is_empty() {
            let active = &self.active[self.random.below(self.active.len())];
            check_snapshot(&active.transaction.snapshot(&self.relation), &active.sees, &mut self.random);
        }
        if self.held.len() > 3 || !self.held.is_empty() && self.random.below(3) == 0 {
            let (snapshot, expected) = self.held.swap_remove(self.random.below(self.held.len()));
            check_snapshot(&snapshot, &expected, &mut self.random);
        }
    }
}

#[test]
fn interleaved_transactions_see_what_the_model_says() {
    let mut compressed = false;
    for seed in 0..share(12) {
        let mut world = World::new(seed as u64, relation(&world_schema(seed as u64)));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.run();
            world.relation.freeze(Freeze::All, 0, &|| false).unwrap();
            world.check();
            let packed_as = |chunk: &Arc<Chunk>| chunk.packed(1).expect("it is frozen").packed_as();
            compressed |= world.relation.snapshot().chunks().iter().any(|chunk| packed_as(chunk) == PackedAs::Fsst);
            assert!(world.relation.snapshot().chunks().iter().all(|chunk| chunk.packed(0).is_some()), "all is at rest");
            assert_eq!(world.pk.rows(), world.committed.len(), "the index has the rows that there are, no others");
        }));
        assert!(result.is_ok(), "seed {seed}");
    }
    assert!(compressed || share(12) < 12, "some texts are compressed");
}
