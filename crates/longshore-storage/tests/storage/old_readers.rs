//! Transactions that stay active for long while others commit: whatever is given up beside them, each goes on seeing what
//! was there at its start, by scans and by both kinds of index, and can write only what nobody has changed since. The
//! slow twin is a copy of the rows at every start.
//!
//! `LONGSHORE_HISTORY=20` makes twenty times as many steps.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::support::Cell;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Direction, Index, IndexKind, Isolation, Memory, MergeKind, Relation, RowId,
    Schema, Transaction, TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

/// Id, value, text.
type Rows = BTreeMap<i64, (i64, String)>;

const IDS: usize = 60;

struct Database {
    transactions: Arc<Transactions>,
    t: Relation,
    indexes: [Arc<Index>; 2],
    /// What has been committed.
    rows: Rows,
}

struct Old {
    transaction: Transaction,
    rows: Rows,
    ids: BTreeMap<i64, RowId>,
}

impl Database {
    fn new() -> Database {
        let columns = vec![
            Column::new("id", ColumnType::BigInt, false),
            Column::new("value", ColumnType::BigInt, false),
            Column::new("text", ColumnType::Text, false),
        ];
        let transactions = Transactions::new();
        let t = Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions).with_name("t");
        let index = |name, kind| t.create_index(name, &[0], kind, Uniqueness::Unique).unwrap();
        let indexes = [index("tree", IndexKind::Art), index("table", IndexKind::Hash)];
        Database { transactions, t, indexes, rows: Rows::new() }
    }

    fn row_of(&self, t: &mut Transaction, id: i64) -> Option<RowId> {
        t.find(&self.t, &self.indexes[id as usize % 2], key![id]).unwrap()
    }

    /// What a transaction sees by every way there is.
    fn check(&self, t: &mut Transaction, rows: &Rows) -> BTreeMap<i64, RowId> {
        let snapshot = t.snapshot(&self.t);
        let mut seen = Rows::new();
        for chunk in snapshot.chunks() {
            let integers = |column| chunk.array(column, 0, chunk.rows()).as_primitive::<Int64Type>().clone();
            let (ids, values, texts) = (integers(0), integers(1), chunk.array(2, 0, chunk.rows()));
            for row in 0..chunk.rows() {
                let text = texts.as_string_view().value(row).to_owned();
                assert!(seen.insert(ids.value(row), (values.value(row), text)).is_none(), "an id is there once");
            }
        }
        assert_eq!(seen, *rows);
        let (id, value) = (self.t.column::<i64>("id").unwrap(), self.t.column::<i64>("value").unwrap());
        let text = self.t.column::<&str>("text").unwrap();
        let mut found = BTreeMap::new();
        for index in &self.indexes {
            for at in 0..IDS as i64 {
                let row = t.find(&self.t, index, key![at]).unwrap();
                assert_eq!(row.is_some(), rows.contains_key(&at), "{} {at}", index.name());
                let Some(row) = row else { continue };
                let mut own = String::new();
                assert!(t.get_text(&self.t, row, text, &mut own).unwrap());
                assert_eq!((t.get(&self.t, row, value).unwrap(), own), rows[&at]);
                found.insert(at, row);
            }
        }
        let mut ids = Vec::new();
        let all = (Bound::<&[Datum<'_>]>::Unbounded, Bound::Unbounded);
        t.range(&self.t, &self.indexes[0], all, Direction::Forward, |t, row| {
            ids.push(t.get(&self.t, row, id)?);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert!(ids.iter().eq(rows.keys()), "{ids:?}");
        found
    }

    /// Some changes by one transaction, which commits them, or not.
    fn change(&mut self, random: &mut Random) {
        let mut t = self.transactions.begin(Isolation::Snapshot);
        let mut rows = self.rows.clone();
        for _ in 0..=random.below(4) {
            let (id, number) = (random.below(IDS) as i64, random.next() as i64);
            let text = "long enough to lie in the heap".repeat(random.below(2)) + &number.to_string();
            let savepoint = (random.below(6) == 0).then(|| (t.savepoint(), rows.clone()));
            match (self.row_of(&mut t, id), random.below(8)) {
                (None, _) => {
                    t.insert(&self.t, &[Datum::I64(id), Datum::I64(number), Datum::Text(&text)]).unwrap();
                    rows.insert(id, (number, text));
                }
                (Some(row), 0..3) => {
                    t.set_datum(&self.t, row, 1, Datum::I64(number)).unwrap();
                    rows.get_mut(&id).unwrap().0 = number;
                }
                (Some(row), 3..5) => {
                    t.set_datum(&self.t, row, 2, Datum::Text(&text)).unwrap();
                    rows.get_mut(&id).unwrap().1 = text;
                }
                (Some(row), 5) => {
                    let other = random.below(IDS) as i64;
                    let updated = t.update(&self.t, row, &[(0, Datum::I64(other))]);
                    match updated {
                        Ok(_) => {
                            let before = rows.remove(&id).unwrap();
                            rows.insert(other, before);
                        }
                        Err(TransactionError::Duplicate { .. }) => assert!(rows.contains_key(&other) && other != id),
                        Err(error) => panic!("{error}"),
                    }
                }
                (Some(row), _) => {
                    t.delete(&self.t, row).unwrap();
                    rows.remove(&id);
                }
            }
            if let Some((savepoint, before)) = savepoint.filter(|_| random.below(2) == 0) {
                t.rollback_to(savepoint);
                rows = before;
            }
        }
        match random.below(30) {
            0 => {
                t.truncate(&self.t).unwrap();
                rows.clear();
            }
            1..6 => self.append(&mut t, &mut rows, random),
            _ => {}
        }
        if random.below(6) == 0 {
            t.rollback();
        } else {
            t.commit().unwrap();
            self.rows = rows;
        }
    }

    /// Appends the ids that are not there yet from one on, or fails with one that is.
    fn append(&self, t: &mut Transaction, rows: &mut Rows, random: &mut Random) {
        let from = random.below(IDS) as i64;
        let ids: Vec<i64> = (from..IDS as i64).filter(|id| !rows.contains_key(id)).take(1 + random.below(8)).collect();
        let clash = rows.keys().next().copied().filter(|_| random.below(3) == 0);
        let cells = ids.iter().copied().chain(clash);
        let cells: Vec<Vec<Cell>> =
            cells.map(|id| vec![Cell::Integer(id), Cell::Integer(-id), Cell::Text(format!("appended {id}"))]).collect();
        if cells.is_empty() {
            return;
        }
        let mut arena = Arena::new(Arc::clone(self.t.memory()), 1 << 16);
        let append = self.t.begin_append(MergeKind::Chunk);
        append.merge(0, crate::support::buffers(self.t.schema(), &cells, &mut arena)).unwrap();
        match append.commit_in(t) {
            Ok(_) => {
                assert!(clash.is_none());
                rows.extend(ids.iter().map(|&id| (id, (-id, format!("appended {id}")))));
            }
            Err(TransactionError::Duplicate { .. }) => assert!(clash.is_some()),
            Err(error) => panic!("{error}"),
        }
    }

    /// The last thing that an old transaction does: it may change what nobody has changed since it began.
    fn end(&mut self, mut old: Old, random: &mut Random) {
        let id = random.below(IDS) as i64;
        let is_same = old.rows.get(&id) == self.rows.get(&id);
        if old.transaction.is_read_only() {
            return;
        }
        let number = random.next() as i64;
        let result = match old.ids.get(&id) {
            Some(&row) => old.transaction.set_datum(&self.t, row, 1, Datum::I64(number)),
            None => old.transaction.insert(&self.t, key![id, number, "old"]).map(|_| ()),
        };
        match result {
            // Rows may have been changed and changed back.
            Err(TransactionError::Conflict { .. }) => return,
            Err(error) => panic!("{error}"),
            Ok(()) => assert!(is_same, "{id} was changed meanwhile"),
        }
        if old.transaction.commit().is_ok() {
            let row = self.rows.entry(id).or_insert_with(|| (0, "old".to_owned()));
            row.0 = number;
        }
    }
}

#[test]
fn who_is_active_for_long_sees_what_was_there_at_his_start() {
    let times: usize = std::env::var("LONGSHORE_HISTORY").map_or(1, |times| times.parse().unwrap());
    for seed in 0..4 * times as u64 {
        let (mut database, mut random) = (Database::new(), Random::new(seed));
        let mut active: Vec<Old> = Vec::new();
        for step in 0..3_000 {
            database.change(&mut random);
            if random.below(50) == 0 && active.len() < 4 {
                let mut transaction = match random.below(3) {
                    0 => database.transactions.begin(Isolation::Snapshot),
                    _ => database.transactions.begin_read_only(Isolation::Snapshot),
                };
                let ids = database.check(&mut transaction, &database.rows);
                active.push(Old { transaction, rows: database.rows.clone(), ids });
            }
            if step % 25 == 0 {
                for old in &mut active {
                    let ids = database.check(&mut old.transaction, &old.rows);
                    assert!(ids == old.ids, "rows stay where they are, seed {seed}, step {step}");
                }
            }
            if random.below(100) == 0 && !active.is_empty() {
                let old = active.swap_remove(random.below(active.len()));
                database.end(old, &mut random);
            }
        }
        active.clear();
        let mut last = database.transactions.begin_read_only(Isolation::Snapshot);
        database.check(&mut last, &database.rows);
        drop(last);
        for index in &database.indexes {
            assert_eq!(index.rows(), database.rows.len(), "{} keeps nothing", index.name());
        }
    }
}

/// What comes and goes beside somebody who began before, and after whom others begin and end, leaves no more than is there
/// at a time: no places of slots, rows of a key, or memory.
#[test]
fn what_came_and_went_leaves_nothing_beside_an_old_reader() {
    for is_writer in [false, true] {
        let database = Database::new();
        let Database { transactions, t, indexes, .. } = &database;
        let mut w = transactions.begin(Isolation::Snapshot);
        w.insert(t, key![0_i64, 0_i64, "first"]).unwrap();
        w.commit().unwrap();
        let old = if is_writer {
            transactions.begin(Isolation::Serializable)
        } else {
            transactions.begin_read_only(Isolation::Serializable)
        };
        let mut random = Random::new(3);
        for round in 0..1_500 {
            let mut w = transactions.begin(Isolation::Serializable);
            w.truncate(t).unwrap();
            w.commit().unwrap();
            let mut w = transactions.begin(Isolation::Serializable);
            let mut rows = Rows::new();
            database.append(&mut w, &mut rows, &mut random);
            w.commit().unwrap();
            let mut w = transactions.begin(Isolation::Serializable);
            for (id, _) in rows {
                let row = database.row_of(&mut w, id).unwrap();
                w.set_datum(t, row, 1, Datum::I64(round)).unwrap();
                w.delete(t, row).unwrap();
            }
            w.insert(t, key![1_i64, round, "a text that is too long for its view"]).unwrap();
            w.commit().unwrap();
        }
        for index in indexes {
            let rows = index.find(&index.key(&[Datum::I64(1)]).unwrap()).len();
            assert!(rows < 100, "{rows} rows of a key");
        }
        let places = format!("{t:?}");
        let places: usize =
            places.split("slots: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().parse().unwrap();
        assert!(places < 100, "{places} places of slots");
        assert!(t.memory().used() < 32 << 20, "{} bytes", t.memory().used());
        assert_eq!(old.snapshot(t).rows(), 1);
        drop(old);
        assert!(indexes.iter().all(|index| index.rows() == 1));
    }
}
