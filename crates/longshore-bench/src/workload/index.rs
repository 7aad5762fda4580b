//! Both kinds of index by themselves: built from chunks by one and by more threads, filled row by row, merged with what
//! was built beside them, and read, for keys that are dense and for keys that are random.

use std::hint::black_box;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_storage::{
    Chunk, Column, ColumnType, Datum, Direction, Index, IndexKind, IndexParts, Memory, OutOfMemory, Relation, RowId,
    Schema, Scratch, Source, Uniqueness, Values,
};

use super::fill::Fill;
use super::random::Random;
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::{Failure, Settings};

/// Rows at scale factor 1, and the fewest.
const ROWS: f64 = 10e6;
const ROWS_MIN: f64 = 10e3;

/// Lookups, ranges and single insertions of a run, as shares of the rows.
const LOOKUPS_SHARE: usize = 10;
const RANGES_SHARE: usize = 1_000;

/// Keys of a range.
const RANGE_KEYS: usize = 100;

/// The columns, by what their values are like.
const COLUMNS: [(&str, usize); 2] = [("dense", 0), ("random", 1)];

const KINDS: [(&str, IndexKind); 2] = [("tree", IndexKind::Art), ("hash table", IndexKind::Hash)];

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let bench = Bench::new((ROWS * settings.scale).max(ROWS_MIN) as usize)?;
    let mut cases = Vec::new();
    for (kind_name, kind) in KINDS {
        for (keys, column) in COLUMNS {
            let name = format!("{kind_name}, {keys} keys");
            let bench = &bench;
            let of = |rows: usize| Amount::Operations(rows as u64);
            for threads in settings.thread_counts() {
                cases.push(Case::new(format!("{name}: built, {}", threads_of(threads)), of(bench.rows), move || {
                    bench.built(kind, column, threads)
                }));
            }
            for threads in settings.thread_counts() {
                cases.push(Case::new(
                    format!("{name}: half of it merged, {}", threads_of(threads)),
                    of(bench.rows / 2),
                    move || bench.merged(kind, column, threads),
                ));
            }
            let lookups = bench.rows / LOOKUPS_SHARE;
            cases.push(Case::new(format!("{name}: inserted row by row"), of(lookups), move || {
                bench.inserted(kind, column, lookups)
            }));
            let index = Arc::new(bench.index(kind, column)?);
            let looked_up = Arc::clone(&index);
            cases.push(Case::new(format!("{name}: looked up"), of(lookups), move || {
                bench.looked_up(&looked_up, column, lookups)
            }));
            if kind == IndexKind::Art {
                let ranges = (bench.rows / RANGES_SHARE).max(1);
                cases.push(Case::new(format!("{name}: ranges of {RANGE_KEYS}"), of(ranges * RANGE_KEYS), move || {
                    bench.ranges(&index, column, ranges)
                }));
            }
        }
    }
    measure(cases, settings)
}

/// The rows that are indexed, and in which order they are looked up.
struct Bench {
    rows: usize,
    relation: Relation,
    chunks: Vec<Arc<Chunk>>,
    order: Vec<u32>,
}

impl Bench {
    fn new(rows: usize) -> Result<Bench, Failure> {
        let columns = COLUMNS.map(|(name, _)| Column::new(name, ColumnType::BigInt, false));
        let relation = Relation::new(Arc::new(Schema::new(columns.to_vec())), Memory::new(None));
        let mut random = Random::new(1);
        let mut fill = Fill::new(&relation)?;
        for row in 0..rows as i64 {
            // Distinct, for a multiplication by an odd number loses nothing.
            let spread = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
            fill.push(&[Datum::I64(row), Datum::I64(spread)])?;
        }
        fill.finish()?;
        let mut order: Vec<u32> = (0..rows as u32).collect();
        random.shuffle(&mut order);
        let chunks = relation.snapshot().chunks().to_vec();
        Ok(Bench { rows, relation, chunks, order })
    }

    fn empty(&self, kind: IndexKind, column: usize) -> Index {
        Index::new("index", self.relation.schema(), &[column], kind, Uniqueness::Unique, self.relation.memory())
    }

    /// Every so manieth chunk, from one on.
    fn sources(&self, first: usize, step: usize) -> Vec<Source<'_>> {
        let chunks = self.chunks.iter().enumerate().skip(first).step_by(step);
        chunks.map(|(number, chunk)| Source { number, chunk, rows: None }).collect()
    }

    fn index(&self, kind: IndexKind, column: usize) -> Result<Index, Failure> {
        let index = self.empty(kind, column);
        index.insert_chunks(&self.sources(0, 1), 1, |_| false)?;
        Ok(index)
    }

    fn built(&self, kind: IndexKind, column: usize, threads: usize) -> Result<Duration, Failure> {
        let (index, sources) = (self.empty(kind, column), self.sources(0, 1));
        let started = Instant::now();
        index.insert_chunks(&sources, threads, |_| false)?;
        let time = started.elapsed();
        self.check(&index, column, self.rows)?;
        Ok(time)
    }

    /// The time that it takes to merge an index of every other chunk with one of those between.
    fn merged(&self, kind: IndexKind, column: usize, threads: usize) -> Result<Duration, Failure> {
        let (before, between) = (self.sources(0, 2), self.sources(1, 2));
        let index = Arc::new(self.empty(kind, column));
        index.insert_chunks(&before, 1, |_| false)?;
        let parts = IndexParts::new(&index);
        let orders: Vec<u32> = (0..between.len() as u32).collect();
        for (&order, source) in orders.iter().zip(&between) {
            parts.add(order, source.chunk)?;
        }
        let started = Instant::now();
        parts.finish(&between, &orders, threads, |_| false)?;
        let time = started.elapsed();
        self.check(&index, column, self.rows)?;
        Ok(time)
    }

    fn inserted(&self, kind: IndexKind, column: usize, count: usize) -> Result<Duration, Failure> {
        let index = self.empty(kind, column);
        let rows = &self.order[..count];
        let started = Instant::now();
        for &row in rows {
            let (id, value) = self.value(row as usize, column);
            index.insert(&index.key(&[Datum::I64(value)])?, id, |_| Ok::<(), OutOfMemory>(()))?;
        }
        let time = started.elapsed();
        if index.rows() == count {
            Ok(time)
        } else {
            Err(format!("{} rows where {count} are right", index.rows()).into())
        }
    }

    fn looked_up(&self, index: &Index, column: usize, count: usize) -> Result<Duration, Failure> {
        // Drawn before the time counts, so that no value has to be fetched.
        let wanted: Vec<(RowId, i64)> =
            self.order[..count].iter().map(|&row| self.value(row as usize, column)).collect();
        let mut wrong = 0;
        let started = Instant::now();
        for (id, value) in &wanted {
            let found = index.find(&index.key(&[Datum::I64(*value)])?);
            wrong += usize::from(!found.iter().eq([*id]));
        }
        let time = started.elapsed();
        if wrong == 0 { Ok(time) } else { Err(format!("{wrong} of {count} keys have another row").into()) }
    }

    fn ranges(&self, index: &Index, column: usize, count: usize) -> Result<Duration, Failure> {
        let lows: Vec<i64> = self.order[..count].iter().map(|&row| self.value(row as usize, column).1).collect();
        let mut found = 0;
        let mut rows = Vec::with_capacity(4 * RANGE_KEYS);
        let started = Instant::now();
        for &low in &lows {
            rows.clear();
            let low = index.key(&[Datum::I64(low)])?;
            let mut range = index.range(Bound::Included(&low), Bound::Unbounded, Direction::Forward);
            loop {
                let before = rows.len();
                index.next_batch(&mut range, &mut rows);
                if rows.len() == before || rows.len() >= RANGE_KEYS {
                    break;
                }
            }
            found += rows.len().min(RANGE_KEYS);
            black_box(&rows);
        }
        let time = started.elapsed();
        let mut sorted: Vec<i64> = (0..self.rows).map(|row| self.value(row, column).1).collect();
        sorted.sort_unstable();
        let right = |low: &i64| (self.rows - sorted.partition_point(|value| value < low)).min(RANGE_KEYS);
        let right: usize = lows.iter().map(right).sum();
        if found == right { Ok(time) } else { Err(format!("{found} rows where {right} are right").into()) }
    }

    /// The place of a row, and its value.
    fn value(&self, row: usize, column: usize) -> (RowId, i64) {
        let per_chunk = self.chunks[0].rows();
        let (chunk, at) = (row / per_chunk, row % per_chunk);
        let value = match self.chunks[chunk].values(column, at..at + 1, &mut Scratch::default()) {
            Values::I64(values) => values[0],
            _ => 0,
        };
        (RowId::new(chunk, at), value)
    }

    /// Checks the number of rows, and some of them.
    fn check(&self, index: &Index, column: usize, rows: usize) -> Result<(), Failure> {
        if index.rows() != rows {
            return Err(format!("{} rows where {rows} are right", index.rows()).into());
        }
        self.looked_up(index, column, self.rows.min(1_000)).map(drop)
    }
}
