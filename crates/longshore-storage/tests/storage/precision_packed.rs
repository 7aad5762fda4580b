//! Precision locking takes packed columns for what they stand for: the same scans beside the same changes find the same
//! rows, and are stopped by the same predicates, whether a relation is packed or plain.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use longshore_storage::{
    Arena, ColumnRange, CommitError, Field, Freeze, IndexKind, Isolation, Memory, MergeKind, Relation, Schema, Storage,
    Transaction, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

use crate::support::{Cell, Row, all_types, buffers, datum, random_rows};

/// Rows at first; what is appended later has as many at most.
const ROWS: usize = 300;

struct Twin {
    transactions: Arc<Transactions>,
    rows: Relation,
    /// What readers write to.
    log: Relation,
    id: Field<i64>,
}

impl Twin {
    fn new(schema: &Arc<Schema>, storage: Storage) -> Twin {
        let transactions = Transactions::new();
        let relation =
            |name: &str| Relation::in_database(Arc::clone(schema), Memory::new(None), &transactions).with_name(name);
        let (rows, log) = (relation("rows"), relation("log"));
        rows.set_storage(storage);
        rows.create_index("by_id", &[schema.columns().len() - 1], IndexKind::Art, Uniqueness::Unique).unwrap();
        let id = rows.column("id").unwrap();
        Twin { transactions, rows, log, id }
    }

    fn append(&self, rows: &[Row]) {
        let mut arena = Arena::new(Arc::clone(self.rows.memory()), 1 << 16);
        let append = self.rows.begin_append(MergeKind::Chunk);
        append.merge(0, buffers(self.rows.schema(), rows, &mut arena)).unwrap();
        append.commit().unwrap();
    }

    /// The ids of the rows in some ranges; of each, a column is read.
    fn scan(&self, reader: &mut Transaction, ranges: &[ColumnRange<'_>]) -> Vec<i64> {
        let mut ids = Vec::new();
        let scanned = reader.scan(&self.rows, ranges, |reader, row| {
            ids.push(reader.get(&self.rows, row, self.id)?);
            Ok(ControlFlow::Continue(()))
        });
        scanned.unwrap();
        ids.sort_unstable();
        ids
    }

    /// What somebody else does, and commits, while a reader is at work.
    fn change(&self, change: &Change) {
        if let Change::Append(rows) = change {
            return self.append(rows);
        }
        let (index, columns) = (self.rows.indexes().remove(0), self.rows.schema().columns());
        let value = |column: usize, cell| datum(cell, columns[column].column_type);
        let mut writer = self.transactions.begin(Isolation::Snapshot);
        match change {
            Change::Insert(row) => {
                let values: Vec<_> = row.iter().enumerate().map(|(column, cell)| value(column, cell)).collect();
                writer.insert(&self.rows, &values).unwrap();
            }
            Change::Update(id, column, cell) => {
                if let Some(row) = writer.find(&self.rows, &index, key![*id]).unwrap() {
                    writer.update(&self.rows, row, &[(*column, value(*column, cell))]).unwrap();
                }
            }
            Change::Delete(id) => {
                if let Some(row) = writer.find(&self.rows, &index, key![*id]).unwrap() {
                    writer.delete(&self.rows, row).unwrap();
                }
            }
            Change::Truncate => writer.truncate(&self.rows).unwrap(),
            Change::Append(_) => unreachable!("it is done above"),
        }
        writer.commit().unwrap();
    }

    /// Commits what a reader did; says what stopped it.
    fn commit(&self, mut reader: Transaction, row: &[Cell]) -> Option<String> {
        let columns = self.log.schema().columns();
        let values: Vec<_> = row.iter().zip(columns).map(|(cell, column)| datum(cell, column.column_type)).collect();
        reader.insert(&self.log, &values).unwrap();
        reader.commit().err().map(|error| match error {
            // Rows may lie elsewhere: inserts pass packed chunks by.
            CommitError::Conflict { relation, predicate, .. } => format!("{relation}: {predicate}"),
            CommitError::Failed(error) => panic!("{error}"),
        })
    }
}

enum Change {
    Insert(Row),
    Update(i64, usize, Cell),
    Delete(i64),
    Append(Vec<Row>),
    Truncate,
}

/// Rows whose values come from a few, so that scans and changes meet.
struct Source {
    schema: Arc<Schema>,
    pool: Vec<Row>,
    next_id: i64,
}

impl Source {
    fn cell(&self, random: &mut Random, column: usize) -> Cell {
        self.pool[random.below(self.pool.len())][column].clone()
    }

    fn rows(&mut self, random: &mut Random, count: usize) -> Vec<Row> {
        let id_at = self.schema.columns().len() - 1;
        let row = |id| (0..id_at).map(|column| self.cell(random, column)).chain([Cell::Integer(id)]).collect();
        let rows = (self.next_id..).take(count).map(row).collect();
        self.next_id += count as i64;
        rows
    }

    fn change(&mut self, random: &mut Random) -> Change {
        let id = random.below(self.next_id as usize) as i64;
        match random.below(20) {
            0..9 => {
                let column = random.below(self.schema.columns().len() - 1);
                Change::Update(id, column, self.cell(random, column))
            }
            9..13 => Change::Delete(id),
            13..17 => Change::Insert(self.rows(random, 1).remove(0)),
            17 if random.once_in(5) => Change::Truncate,
            _ => {
                let count = 1 + random.below(ROWS);
                Change::Append(self.rows(random, count))
            }
        }
    }

    /// Ends of ranges of up to three columns.
    fn scan(&self, random: &mut Random) -> Vec<(usize, u64, Cell, Cell)> {
        let mut columns: Vec<usize> = (0..self.schema.columns().len() - 1).collect();
        random.shuffle(&mut columns);
        columns.truncate(random.below(4));
        let range = |column: usize| (column, random.next(), self.cell(random, column), self.cell(random, column));
        columns.into_iter().map(range).collect()
    }

    fn ranges<'a>(&self, scan: &'a [(usize, u64, Cell, Cell)]) -> Vec<ColumnRange<'a>> {
        let range = |(column, shape, one, other): &'a (usize, u64, Cell, Cell)| {
            let column_type = self.schema.columns()[*column].column_type;
            let (one, other) = (datum(one, column_type), datum(other, column_type));
            match shape % 8 {
                0 => ColumnRange::is_null(*column),
                1 => ColumnRange::is_not_null(*column),
                2 => ColumnRange::between(*column, Bound::Excluded(one), Bound::Unbounded),
                3 => ColumnRange::between(*column, Bound::Unbounded, Bound::Included(one)),
                4 | 5 => ColumnRange::between(*column, Bound::Included(one), Bound::Excluded(other)),
                _ => ColumnRange::equal(*column, one),
            }
        };
        scan.iter().map(range).collect()
    }
}

#[test]
fn packed_rows_stop_whom_plain_ones_stop() {
    let mut random = Random::new(12);
    let (mut stopped, mut passed) = (0, 0);
    for _ in 0..longshore_testing::share(40) {
        let schema = all_types();
        let pool = random_rows(&mut random, &schema, 0, 8);
        let mut source = Source { schema: Arc::clone(&schema), pool, next_id: 0 };
        let twins = [Storage::Packed, Storage::Plain].map(|storage| Twin::new(&schema, storage));
        let rows = source.rows(&mut random, ROWS);
        for twin in &twins {
            twin.append(&rows);
        }
        for _ in 0..60 {
            if random.once_in(4) {
                twins[0].rows.freeze(Freeze::All, 1, &|| false).unwrap();
            }
            let scans: Vec<_> = (0..=random.below(4)).map(|_| source.scan(&mut random)).collect();
            let changes: Vec<_> = (0..=random.below(3)).map(|_| source.change(&mut random)).collect();
            let row = source.rows(&mut random, 1).remove(0);
            let [packed, plain] = twins.each_ref().map(|twin| {
                // A reader for each scan, all at a time.
                let readers: Vec<_> = scans
                    .iter()
                    .map(|scan| {
                        let mut reader = twin.transactions.begin(Isolation::Serializable);
                        let found = twin.scan(&mut reader, &source.ranges(scan));
                        (reader, found)
                    })
                    .collect();
                for change in &changes {
                    twin.change(change);
                }
                let ended = readers.into_iter().map(|(reader, found)| (found, twin.commit(reader, &row)));
                ended.collect::<Vec<_>>()
            });
            assert_eq!(packed, plain, "{scans:?}");
            let are_stopped = packed.iter().filter(|(_, conflict)| conflict.is_some()).count();
            stopped += are_stopped;
            passed += packed.len() - are_stopped;
        }
    }
    assert!(stopped > passed / 10 && passed > stopped / 10, "{stopped} are stopped, {passed} are not");
}
