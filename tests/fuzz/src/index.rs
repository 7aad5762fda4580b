//! Both kinds of index hold what a map holds, whatever is inserted, removed, added in bulk and read, with keys of any
//! bytes: beginnings of each other, long ones that differ late, NULL.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::Choices;
use longshore_storage::{
    BulkError, Chunk, Column, ColumnType, Datum, Direction, Index, IndexKind, IndexParts, Isolation, Key, Memory,
    OutOfMemory, Relation, RowId, Schema, Source, Uniqueness,
};

/// Operations of a run.
const OPERATIONS_MAX: usize = 400;

/// Rows that are inserted one by one have lower numbers of chunks than those that come in bulk.
const FIRST_BULK_CHUNK: usize = 8;

/// A value of a key.
#[derive(Clone, Debug)]
enum Cell {
    Null,
    Small(i16),
    Big(i64),
    Bytes(Vec<u8>),
}

impl Cell {
    fn datum(&self) -> Datum<'_> {
        match self {
            Cell::Null => Datum::Null,
            Cell::Small(value) => Datum::I16(*value),
            Cell::Big(value) => Datum::I64(*value),
            Cell::Bytes(value) => Datum::Bytes(value),
        }
    }
}

fn datums(cells: &[Cell]) -> Vec<Datum<'_>> {
    cells.iter().map(Cell::datum).collect()
}

/// The columns of keys: types, and whether they may be NULL.
const LAYOUTS: [&[(ColumnType, bool)]; 5] = [
    &[(ColumnType::Bytea, false)],
    &[(ColumnType::SmallInt, false), (ColumnType::Bytea, true)],
    &[(ColumnType::Bytea, false), (ColumnType::BigInt, false)],
    &[(ColumnType::BigInt, true)],
    &[(ColumnType::BigInt, false), (ColumnType::SmallInt, true), (ColumnType::SmallInt, false)],
];

/// By the bytes of a key, its values and its rows.
type Model = BTreeMap<Vec<u8>, (Vec<Cell>, BTreeSet<RowId>)>;

/// Why a row was not inserted.
#[derive(Debug, PartialEq)]
enum Refused {
    By(RowId),
    Memory,
}

impl From<OutOfMemory> for Refused {
    fn from(_: OutOfMemory) -> Refused {
        Refused::Memory
    }
}

struct Run<'i> {
    choices: Choices<'i>,
    layout: &'static [(ColumnType, bool)],
    schema: Arc<Schema>,
    uniqueness: Uniqueness,
    indexes: [Arc<Index>; 2],
    model: Model,
    /// Texts that keys had, for others that begin so.
    drawn: Vec<Vec<u8>>,
    next_chunk: usize,
}

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let layout = choices.pick(&LAYOUTS);
    let uniqueness = choices.pick(&[Uniqueness::Multiple, Uniqueness::Unique]);
    let columns = layout.iter().enumerate();
    let columns = columns.map(|(at, &(column_type, nullable))| Column::new(format!("c{at}"), column_type, nullable));
    let schema = Arc::new(Schema::new(columns.collect()));
    let memory = Memory::new(None);
    let index = |kind| {
        let columns: Vec<usize> = (0..layout.len()).collect();
        Arc::new(Index::new("i", &schema, &columns, kind, uniqueness, &memory))
    };
    let indexes = [index(IndexKind::Art), index(IndexKind::Hash)];
    let (model, drawn, next_chunk) = (Model::new(), Vec::new(), FIRST_BULK_CHUNK);
    let mut run = Run { choices, layout, schema, uniqueness, indexes, model, drawn, next_chunk };
    for _ in 0..OPERATIONS_MAX {
        if run.choices.is_done() {
            break;
        }
        run.step();
    }
    run.check_all();
}

impl Run<'_> {
    fn step(&mut self) {
        match self.choices.byte() % 16 {
            0..=5 => self.insert(),
            6..=9 => self.remove(),
            10 => self.find(),
            11..=12 => self.range(),
            13 => self.range_among_changes(),
            14 => self.bulk(),
            _ if self.choices.byte() == 0 => {
                self.indexes.iter().for_each(|index| index.clear());
                self.model.clear();
            }
            _ => self.check_all(),
        }
    }

    fn cells(&mut self) -> Vec<Cell> {
        self.layout.iter().map(|&(column_type, nullable)| self.cell(column_type, nullable)).collect()
    }

    fn cell(&mut self, column_type: ColumnType, nullable: bool) -> Cell {
        if nullable && self.choices.byte().is_multiple_of(8) {
            return Cell::Null;
        }
        match column_type {
            ColumnType::SmallInt => Cell::Small(i16::from(self.choices.byte()) - 128),
            ColumnType::BigInt => {
                let low = i64::from(self.choices.byte());
                Cell::Big(self.choices.pick(&[low, -low, low << 8, low << 32 | low, i64::MIN + low, i64::MAX - low]))
            }
            _ => Cell::Bytes(self.text()),
        }
    }

    /// Bytes; often those of another key, some of them, or with some behind them.
    fn text(&mut self) -> Vec<u8> {
        let kind = self.choices.byte();
        let mut text = match self.drawn.len() {
            0 => Vec::new(),
            drawn => self.drawn[self.choices.below(drawn)].clone(),
        };
        match kind % 6 {
            0 => text.clear(),
            1 => text.truncate(self.choices.below(text.len() + 1)),
            2 if !text.is_empty() => {
                let at = self.choices.below(text.len());
                text[at] = self.choices.byte();
            }
            // Longer than the bytes that a node skips at once.
            3 => text.extend(std::iter::repeat_n(self.choices.byte(), self.choices.below(40))),
            _ => return text,
        }
        for _ in 0..self.choices.byte() % 4 {
            text.push(self.choices.byte());
        }
        text.truncate(200);
        if self.drawn.len() < 64 {
            self.drawn.push(text.clone());
        }
        text
    }

    fn key(&self, cells: &[Cell]) -> Key {
        self.indexes[0].key(&datums(cells)).expect("values of the columns' types")
    }

    fn rows_of(&self, key: &Key) -> Vec<RowId> {
        self.model.get(&key.to_bytes()).into_iter().flat_map(|(_, rows)| rows).copied().collect()
    }

    fn insert(&mut self) {
        let cells = self.cells();
        let key = self.key(&cells);
        let row = RowId::new(self.choices.below(FIRST_BULK_CHUNK), self.choices.below(300));
        let rows = self.rows_of(&key);
        // Of a unique index a row is in the way unless it is one of an old version.
        let is_in_the_way = |row: RowId| row.row().is_multiple_of(2);
        let is_checked = self.uniqueness == Uniqueness::Unique && !key.has_null();
        let expected = rows.iter().copied().find(|&row| is_checked && is_in_the_way(row));
        let expected = expected.map_or(Ok(()), |row| Err(Refused::By(row)));
        for index in &self.indexes {
            let check = |row| if is_in_the_way(row) { Err(Refused::By(row)) } else { Ok(()) };
            let inserted = index.insert(&key, row, check);
            assert_eq!(inserted, expected, "{:?}: insert {row} with {cells:?} beside {rows:?}", index.kind());
        }
        if expected == Ok(()) {
            self.note(&cells, row);
        }
    }

    fn note(&mut self, cells: &[Cell], row: RowId) {
        let entry = self.model.entry(self.key(cells).to_bytes());
        entry.or_insert_with(|| (cells.to_vec(), BTreeSet::new())).1.insert(row);
    }

    /// Removes a row, mostly one that is there.
    fn remove(&mut self) {
        let at = self.choices.below(1 << 16);
        let known = self.model.values().nth(at % self.model.len().max(1)).map(|(cells, _)| cells.clone());
        let cells = match known {
            Some(cells) if !at.is_multiple_of(5) => cells,
            _ => self.cells(),
        };
        let key = self.key(&cells);
        let rows = self.rows_of(&key);
        let row = if rows.is_empty() { RowId::new(0, at) } else { rows[at % rows.len()] };
        for index in &self.indexes {
            let removed = index.remove(&key, row);
            assert_eq!(removed, !rows.is_empty(), "{:?}: remove {row} of {cells:?}", index.kind());
        }
        if let Some((_, left)) = self.model.get_mut(&key.to_bytes()) {
            left.remove(&row);
            if left.is_empty() {
                self.model.remove(&key.to_bytes());
            }
        }
    }

    fn find(&mut self) {
        let cells = self.cells();
        let key = self.key(&cells);
        for index in &self.indexes {
            let found: Vec<RowId> = index.find(&key).iter().collect();
            assert_eq!(found, self.rows_of(&key), "{:?}: find {cells:?}", index.kind());
        }
    }

    /// The end of a range: a key, or the beginning of one.
    fn end(&mut self) -> Bound<Key> {
        let mut cells = self.cells();
        cells.truncate(1 + self.choices.below(self.layout.len()));
        let key = self.indexes[0].prefix(&datums(&cells)).expect("values of the columns' types");
        match self.choices.byte() % 5 {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    }

    fn range(&mut self) {
        let (lower, upper) = (self.end(), self.end());
        let within = self.model.iter().filter(|(key, _)| is_within(key, &lower, &upper));
        let mut expected: Vec<RowId> = within.flat_map(|(_, (_, rows))| rows).copied().collect();
        for direction in [Direction::Forward, Direction::Backward] {
            let mut range = self.indexes[0].range(lower.as_ref(), upper.as_ref(), direction);
            let mut found = Vec::new();
            while next_batch(&self.indexes[0], &mut range, &mut found) {}
            assert_eq!(found, expected, "{direction:?}: {lower:?} to {upper:?}");
            expected.reverse();
        }
    }

    /// A range that is read while rows come and go: those that were there all the time are read, each once, and none
    /// that never was.
    fn range_among_changes(&mut self) {
        let (lower, upper) = (self.end(), self.end());
        let direction = self.choices.pick(&[Direction::Forward, Direction::Backward]);
        let within = |model: &Model| -> BTreeSet<(Vec<u8>, RowId)> {
            let within = model.iter().filter(|(key, _)| is_within(key, &lower, &upper));
            within.flat_map(|(key, (_, rows))| rows.iter().map(|&row| (key.clone(), row))).collect()
        };
        let mut always = within(&self.model);
        let mut ever = always.clone();
        let mut range = self.indexes[0].range(lower.as_ref(), upper.as_ref(), direction);
        let mut found = Vec::new();
        while next_batch(&self.indexes[0], &mut range, &mut found) {
            for _ in 0..self.choices.byte() % 8 {
                if self.choices.byte().is_multiple_of(2) {
                    self.insert();
                } else {
                    self.remove();
                }
                let now = within(&self.model);
                always.retain(|entry| now.contains(entry));
                ever.extend(now);
            }
        }
        for (key, row) in &always {
            assert!(found.contains(row), "{direction:?}: row {row} with key {key:?} is passed over");
        }
        for row in &found {
            assert!(ever.iter().any(|(_, known)| known == row), "{direction:?}: row {row} was never there");
        }
        assert!(found.len() <= ever.len(), "{direction:?}: {} rows of {}", found.len(), ever.len());
    }

    /// Rows of chunks, added in parts that are built beside the index and merged, or at once.
    fn bulk(&mut self) {
        let mut chunks: Vec<(usize, Arc<Chunk>, Vec<Vec<Cell>>)> = Vec::new();
        for _ in 0..=self.choices.below(4) {
            let rows: Vec<Vec<Cell>> = (0..=self.choices.below(24)).map(|_| self.cells()).collect();
            let chunk = chunk(&self.schema, &rows);
            chunks.push((self.next_chunk, chunk, rows));
            self.next_chunk += 1 + self.choices.below(3);
        }
        let sources: Vec<Source<'_>> =
            chunks.iter().map(|(number, chunk, _)| Source { number: *number, chunk, rows: None }).collect();
        let rows = chunks.iter().flat_map(|(number, _, rows)| {
            rows.iter().enumerate().map(|(row, cells)| (RowId::new(*number, row), cells))
        });
        let rows: Vec<(RowId, &Vec<Cell>)> = rows.collect();
        let threads = 1 + self.choices.below(3);
        let in_parts = self.choices.byte().is_multiple_of(2);
        let expected = self.duplicate(&rows);
        for index in &self.indexes {
            let is_in_the_way = |row: RowId| row.row().is_multiple_of(2);
            let added = if in_parts {
                let parts = IndexParts::new(index);
                // Chunks are ready in any order.
                std::thread::scope(|scope| {
                    for (order, (_, chunk, _)) in chunks.iter().enumerate().rev() {
                        let parts = &parts;
                        scope.spawn(move || parts.add(order as u32, chunk).expect("there is memory"));
                    }
                });
                let orders: Vec<u32> = (0..chunks.len() as u32).collect();
                parts.finish(&sources, &orders, threads, is_in_the_way)
            } else {
                index.insert_chunks(&sources, threads, is_in_the_way)
            };
            let found = added.map_err(|error| match error {
                BulkError::Duplicate { first, second, .. } => (first, second),
                error @ (BulkError::OutOfMemory(_) | BulkError::Cancelled) => panic!("{error}"),
            });
            assert_eq!(found, expected, "{:?}: {rows:?}", index.kind());
        }
        if expected.is_ok() {
            for (row, cells) in rows {
                self.note(cells, row);
            }
        }
    }

    /// The first row, in order, that has a key which a row has that is in the way: one of the index, or one before it.
    fn duplicate(&self, rows: &[(RowId, &Vec<Cell>)]) -> Result<(), (RowId, RowId)> {
        if self.uniqueness == Uniqueness::Multiple {
            return Ok(());
        }
        let mut new: BTreeMap<Vec<u8>, RowId> = BTreeMap::new();
        for &(row, cells) in rows {
            let key = self.key(cells);
            if key.has_null() {
                continue;
            }
            let old = self.rows_of(&key).into_iter().find(|row| row.row().is_multiple_of(2));
            if let Some(first) = old.or(new.get(&key.to_bytes()).copied()) {
                return Err((first, row));
            }
            new.insert(key.to_bytes(), row);
        }
        Ok(())
    }

    fn check_all(&mut self) {
        for index in &self.indexes {
            let rows: usize = self.model.values().map(|(_, rows)| rows.len()).sum();
            assert_eq!(index.rows(), rows, "{:?}", index.kind());
            for (cells, rows) in self.model.values() {
                let found: BTreeSet<RowId> = index.find(&self.key(cells)).iter().collect();
                assert_eq!(found, *rows, "{:?}: {cells:?}", index.kind());
            }
        }
        let mut range = self.indexes[0].range(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let mut found = Vec::new();
        while next_batch(&self.indexes[0], &mut range, &mut found) {}
        let expected: Vec<RowId> = self.model.values().flat_map(|(_, rows)| rows).copied().collect();
        assert_eq!(found, expected, "all rows in order");
    }
}

/// Whether there were more rows.
fn next_batch(index: &Index, range: &mut longshore_storage::Range, rows: &mut Vec<RowId>) -> bool {
    let before = rows.len();
    index.next_batch(range, rows);
    rows.len() > before
}

/// Whether a key is in a range, whose ends stand for all keys that begin so.
fn is_within(key: &[u8], lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
    let first = |bound: &Key| key[..key.len().min(bound.to_bytes().len())].to_vec();
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => first(bound) >= bound.to_bytes(),
        Bound::Excluded(bound) => first(bound) > bound.to_bytes(),
    };
    above
        && match upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => first(bound) <= bound.to_bytes(),
            Bound::Excluded(bound) => first(bound) < bound.to_bytes(),
        }
}

/// A chunk of these rows.
fn chunk(schema: &Arc<Schema>, rows: &[Vec<Cell>]) -> Arc<Chunk> {
    let relation = Relation::new(Arc::clone(schema), Memory::new(None));
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    for cells in rows {
        transaction.insert(&relation, &datums(cells)).expect("the columns take their values");
    }
    transaction.commit().expect("there is nobody else");
    let snapshot = relation.snapshot();
    let [chunk] = snapshot.chunks() else { panic!("few rows are one chunk") };
    Arc::clone(chunk)
}
