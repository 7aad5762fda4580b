//! Rows that predicates find on packed columns and on plain ones, one thread: ranges of columns of lineitem, and ranges,
//! lists and functions of made columns by the width of their codes and the share of rows that is found; words in comments.
//!
//! The rate is one of rows; the note says what that is in bytes of plain values.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use longshore_load::Tuning;
use longshore_storage::{
    Arena, Chunk, CodeSet, Freeze, Memory, PackedColumn, Packer, RangeSet, Scratch, Snapshot, Values,
};
use memchr::memmem;

use crate::lineitem::{self, StoredAs};
use crate::measure::{Amount, Case, Measured, measure};
use crate::text::{self, NAMES, Text};
use crate::workload::random::Random;
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

/// Rows that a scan reads at a time.
const BATCH_ROWS: usize = 8192;

/// Rows of a made column that are packed together.
const CHUNK_ROWS: usize = 1 << 16;

/// What made values are above.
const BASE: i64 = 1 << 40;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let file = text::lineitem(&settings.data, settings.scale, Text::Plain)?;
    let memory = Memory::new(None);
    let tuning = Tuning::new(settings.threads);
    let loaded = lineitem::load(&file.path, Text::Plain, StoredAs::PLAIN, &tuning, &memory)?;
    let snapshot = loaded.relation.snapshot();
    let chunks: Vec<Arc<Chunk>> = snapshot.chunks().to_vec();
    let rows: usize = chunks.iter().map(|chunk| chunk.rows()).sum();
    let made = Made::all(rows.next_multiple_of(CHUNK_ROWS), &memory)?;
    let packed = lineitem::load(&file.path, Text::Plain, StoredAs::PACKED, &tuning, &memory)?.relation;
    let texts = packed.snapshot();
    packed.freeze(Freeze::All, 0, &|| false)?;
    let comments = [("plain", snapshot), ("texts", texts), ("fsst", packed.snapshot())];
    let mut cases = Cases::default();
    for (name, low, high) in RANGES {
        of_lineitem(&chunks, name, (low, high), &memory, &mut cases)?;
    }
    for column in &made {
        column.cases(&mut cases);
    }
    for (stored_as, snapshot) in &comments {
        of_comments(stored_as, snapshot, &mut cases);
    }
    let mut measured = measure(cases.cases, settings)?;
    for measured in &mut measured {
        if let Some((_, width)) = cases.widths.iter().find(|(name, _)| *name == measured.case) {
            measured.note = format!("{:.1} GB/s", measured.rate * *width as f64 / 1e3);
        }
    }
    Ok(measured)
}

/// Cases, and how many bytes a plain value takes in each.
#[derive(Default)]
struct Cases<'a> {
    cases: Vec<Case<'a>>,
    widths: Vec<(String, usize)>,
}

impl<'a> Cases<'a> {
    /// A case in which `find` looks at so many rows, and must find as many as are expected.
    fn push(&mut self, name: String, width: usize, rows: usize, expected: usize, mut find: impl FnMut() -> usize + 'a) {
        self.widths.push((name.clone(), width));
        self.cases.push(Case::new(name, Amount::Operations(rows as u64), move || {
            let started = Instant::now();
            let found = find();
            checked(found, expected, started.elapsed())
        }));
    }
}

/// Comments with a word in them, in batches as a scan reads them.
fn of_comments<'a>(stored_as: &str, snapshot: &'a Snapshot, cases: &mut Cases<'a>) {
    let column = NAMES.iter().position(|column| *column == "l_comment").expect("a column of lineitem");
    let find = move || {
        let finder = memmem::Finder::new(b"express");
        let mut found = 0;
        for chunk in snapshot.chunks() {
            for from in (0..chunk.rows()).step_by(BATCH_ROWS) {
                let comments = chunk.array(column, from, BATCH_ROWS.min(chunk.rows() - from));
                let comments = comments.as_string_view();
                let has_it = |row: &usize| finder.find(comments.value(*row).as_bytes()).is_some();
                found += (0..comments.len()).filter(has_it).count();
            }
        }
        found
    };
    let bytes: usize = snapshot.chunks().iter().map(|chunk| chunk.text_bytes()).sum();
    let (rows, expected) = (snapshot.rows() as usize, find());
    cases.push(format!("l_comment LIKE '%express%', {stored_as}"), bytes / rows.max(1), rows, expected, find);
}

fn checked(found: usize, expected: usize, time: Duration) -> Result<Duration, Failure> {
    if found == expected { Ok(time) } else { Err(format!("{found} rows where {expected} are right").into()) }
}

fn of_lineitem<'a>(
    chunks: &'a [Arc<Chunk>],
    name: &str,
    (low, high): (i128, i128),
    memory: &Arc<Memory>,
    cases: &mut Cases<'a>,
) -> Result<(), Failure> {
    let column = NAMES.iter().position(|column| *column == name).expect("a column of lineitem");
    let rows: usize = chunks.iter().map(|chunk| chunk.rows()).sum();
    let mut arena = Arena::new(Arc::clone(memory), ARENA_BYTES);
    let mut packer = Packer::default();
    let mut packed: Vec<PackedColumn> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let mut scratch = Scratch::default();
        let (values, texts) = chunk.values_with_texts(column, 0..chunk.rows(), &mut scratch);
        packed.push(packer.pack(values, chunk.validity(column), texts, &mut arena)?);
    }
    let find = move || {
        let found = chunks
            .iter()
            .map(|chunk| count(&in_range(chunk.values(column, 0..chunk.rows(), &mut Scratch::default()), low, high)));
        found.sum()
    };
    let expected = find();
    let width = match chunks[0].values(column, 0..0, &mut Scratch::default()) {
        Values::I32(_) => 4,
        _ => 8,
    };
    let packed_as = packed[0].packed_as();
    let wanted = RangeSet::between(low, high);
    cases.push(format!("{name} packed, {packed_as:?}"), width, rows, expected, move || {
        packed.iter().map(|packed| by_ranges(packed, &wanted)).sum()
    });
    cases.push(format!("{name} plain"), width, rows, expected, find);
    Ok(())
}

/// A column of 64-bit numbers.
struct Made {
    name: &'static str,
    values: Vec<i64>,
    packed: Vec<PackedColumn>,
    /// The numbers above [`BASE`] that it has are below this.
    distinct: u64,
    /// How far they are apart.
    step: fn(u64) -> i64,
}

impl Made {
    fn all(rows: usize, memory: &Arc<Memory>) -> Result<Vec<Made>, Failure> {
        let close: fn(u64) -> i64 = |number| number as i64;
        // Neither near each other nor multiples of anything.
        let far: fn(u64) -> i64 = |number| (number * number * number * 65_537 + number) as i64;
        let columns = [
            ("offset of 1 byte", 1 << 8, close),
            ("offset of 2 bytes", 1 << 16, close),
            ("offset of 4 bytes", 1 << 32, close),
            ("dictionary of 200", 200, far),
            ("dictionary of 500", 500, far),
        ];
        let mut random = Random::new(14);
        let mut made = Vec::new();
        for (name, distinct, step) in columns {
            let values: Vec<i64> = (0..rows).map(|_| BASE + step(random.below(distinct))).collect();
            let (mut packer, mut arena) = (Packer::default(), Arena::new(Arc::clone(memory), ARENA_BYTES));
            let mut packed = Vec::new();
            for values in values.chunks(CHUNK_ROWS) {
                packed.push(packer.pack(Values::I64(values), None, &[], &mut arena)?);
            }
            made.push(Made { name, values, packed, distinct, step });
        }
        Ok(made)
    }

    fn cases<'a>(&'a self, cases: &mut Cases<'a>) {
        let value = |number: u64| BASE + (self.step)(number);
        for percent in [1, 50] {
            let (low, high) = (value(self.distinct / 4), value(self.distinct / 4 + self.distinct * percent / 100));
            let plain = move || {
                self.values
                    .chunks(CHUNK_ROWS)
                    .map(|values| count(&selected(values, |at| low <= at && at <= high)))
                    .sum()
            };
            let wanted = RangeSet::between(low.into(), high.into());
            self.pair(&format!("BETWEEN, {percent} %"), plain, move |packed| by_ranges(packed, &wanted), cases);
        }
        for length in [5, 100] {
            let list: Vec<i64> = (0..length).map(|at| value(at * 2 * (self.distinct / 256).max(1))).collect();
            let wanted = RangeSet::of(list.iter().map(|&value| value.into()));
            let set: HashSet<i64> = list.iter().copied().collect();
            let plain = move || {
                let found = self.values.chunks(CHUNK_ROWS).map(|values| {
                    let words = if list.len() > 8 {
                        selected(values, |value| set.contains(&value))
                    } else {
                        selected(values, |value| list.contains(&value))
                    };
                    count(&words)
                });
                found.sum()
            };
            self.pair(&format!("IN of {length}"), plain, move |packed| by_ranges(packed, &wanted), cases);
        }
        if self.distinct <= 500 {
            let says = |value: i64| value % 7 == 0;
            let plain = move || self.values.chunks(CHUNK_ROWS).map(|values| count(&selected(values, says))).sum();
            let mut entries: Vec<i64> = (0..self.distinct).map(value).collect();
            entries.sort_unstable();
            self.pair(
                "% 7 = 0",
                plain,
                move |packed| {
                    let said: Vec<bool> = entries.iter().map(|&value| says(value)).collect();
                    by_codes(packed, &CodeSet::of(&said))
                },
                cases,
            );
        }
    }

    /// The same predicate on both.
    fn pair<'a>(
        &'a self,
        predicate: &str,
        plain: impl Fn() -> usize + 'a,
        on_packed: impl Fn(&PackedColumn) -> usize + 'a,
        cases: &mut Cases<'a>,
    ) {
        let (expected, rows) = (plain(), self.values.len());
        let packed = move || self.packed.iter().map(&on_packed).sum();
        cases.push(format!("{}, {predicate}, packed", self.name), size_of::<i64>(), rows, expected, packed);
        cases.push(format!("{}, {predicate}, plain", self.name), size_of::<i64>(), rows, expected, plain);
    }
}

/// Rows that a packed column has of some numbers.
fn by_ranges(packed: &PackedColumn, wanted: &RangeSet) -> usize {
    by_codes(packed, &packed.codes_of(wanted).expect("it has codes"))
}

fn by_codes(packed: &PackedColumn, wanted: &CodeSet) -> usize {
    packed.select(0..packed.rows(), wanted).map_or(packed.rows(), |bits| bits.count_set_bits())
}

fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

fn in_range(values: Values<'_>, low: i128, high: i128) -> Vec<u64> {
    match values {
        Values::I32(values) => selected(values, |value| low as i32 <= value && value <= high as i32),
        Values::I64(values) => selected(values, |value| low as i64 <= value && value <= high as i64),
        _ => unreachable!("columns of whole numbers"),
    }
}

/// What a compiler makes of a predicate on 64 plain values at a time.
fn selected<T: Copy>(values: &[T], is_wanted: impl Fn(T) -> bool) -> Vec<u64> {
    let words = values
        .chunks(64)
        .map(|values| values.iter().enumerate().fold(0, |word, (at, &value)| word | u64::from(is_wanted(value)) << at));
    words.collect()
}
