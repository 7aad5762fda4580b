//! Rows of lineitem whose value lies in a range, found by packed columns and by plain ones, one thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::Tuning;
use longshore_storage::{Arena, Chunk, Memory, PackedColumn, Packer, Scratch, Values, Wanted};

use crate::lineitem::{self, StoredAs};
use crate::measure::{Amount, Case, Measured, measure};
use crate::text::{self, NAMES, Text};
use crate::{Failure, Settings};

/// Columns of whole numbers, and the range that is looked for in each.
const RANGES: [(&str, i128, i128); 5] = [
    ("l_orderkey", 1000, 60_000),
    ("l_partkey", 10, 9_000),
    ("l_discount", 5, 7),
    ("l_extendedprice", 1_000_000, 2_000_000),
    // 1994, as days.
    ("l_shipdate", 8766, 9130),
];

/// Blocks of the arena that columns are packed into.
const ARENA_BYTES: usize = 32 << 20;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let file = text::lineitem(&settings.data, settings.scale, Text::Plain)?;
    let memory = Memory::new(None);
    let tuning = Tuning::new(settings.threads);
    let loaded = lineitem::load(&file.path, Text::Plain, StoredAs::PLAIN, &tuning, &memory)?;
    let snapshot = loaded.relation.snapshot();
    let chunks: Vec<Arc<Chunk>> = snapshot.chunks().to_vec();
    let rows: usize = chunks.iter().map(|chunk| chunk.rows()).sum();
    let mut cases = Vec::new();
    for (name, low, high) in RANGES {
        let column = NAMES.iter().position(|column| *column == name).expect("a column of lineitem");
        let mut arena = Arena::new(Arc::clone(&memory), ARENA_BYTES);
        let mut packer = Packer::default();
        let mut packed: Vec<PackedColumn> = Vec::with_capacity(chunks.len());
        for chunk in &chunks {
            packed.push(packer.pack(
                chunk.values(column, 0..chunk.rows(), &mut Scratch::default()),
                chunk.validity(column),
                chunk.heap(column),
                &mut arena,
            )?);
        }
        let expected: usize = chunks
            .iter()
            .map(|chunk| count(&plain(chunk.values(column, 0..chunk.rows(), &mut Scratch::default()), low, high)))
            .sum();
        let checked = move |found: usize, time: Duration| -> Result<Duration, Failure> {
            if found == expected { Ok(time) } else { Err(format!("{found} rows where {expected} are right").into()) }
        };
        let width = format!("{:?}", packed[0].packed_as());
        cases.push(Case::new(format!("{name} packed, {width}"), Amount::Operations(rows as u64), move || {
            let mut found = 0;
            let started = Instant::now();
            for packed in &packed {
                let selected = packed.select(0..packed.rows(), Wanted::Whole(low, high));
                found += selected.map_or(packed.rows(), |words| count(&words));
            }
            checked(found, started.elapsed())
        }));
        let chunks = &chunks;
        cases.push(Case::new(format!("{name} plain"), Amount::Operations(rows as u64), move || {
            let started = Instant::now();
            let found = chunks
                .iter()
                .map(|chunk| count(&plain(chunk.values(column, 0..chunk.rows(), &mut Scratch::default()), low, high)))
                .sum();
            checked(found, started.elapsed())
        }));
    }
    measure(cases, settings)
}

fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// The same of plain values: what a compiler makes of a comparison of 64 at a time.
fn plain(values: Values<'_>, low: i128, high: i128) -> Vec<u64> {
    match values {
        Values::I32(values) => selected(values, low as i32, high as i32),
        Values::I64(values) => selected(values, low as i64, high as i64),
        _ => unreachable!("columns of whole numbers"),
    }
}

fn selected<T: PartialOrd + Copy>(values: &[T], low: T, high: T) -> Vec<u64> {
    let is_wanted = |value: &T| low <= *value && *value <= high;
    let words = values
        .chunks(64)
        .map(|values| values.iter().enumerate().fold(0, |word, (at, value)| word | u64::from(is_wanted(value)) << at));
    words.collect()
}
