//! Both kinds of index against a map, under random inserts, removals and ranges, with keys that are hard to tell apart.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use longshore_storage::{
    Column, ColumnType, Datum, Direction, Index, IndexKind, Key, Memory, OutOfMemory, RowId, Schema, Uniqueness,
};
use longshore_testing::{Random, share};

/// Values that the columns of a key are drawn from: few, so that keys meet often; alike, so that they are close.
struct Values {
    column_type: ColumnType,
    nullable: bool,
    drawn: Vec<Datum<'static>>,
}

fn texts() -> Vec<Datum<'static>> {
    let long = "the same beginning of a text that is longer than any node's prefix, ";
    let mut texts = vec!["", "\0", "\0\0", "\u{1}", "a", "aa", "a\0", "ab", "abcdefghijklmno", "abcdefghijklmnopq"];
    for end in ["", "a", "b", "aa", "\u{7f}", "zz", "the end"] {
        texts.push(Box::leak(format!("{long}{end}").into_boxed_str()));
        texts.push(Box::leak(format!("{long}{long}{end}").into_boxed_str()));
    }
    texts.into_iter().map(Datum::Text).collect()
}

fn values(column_type: ColumnType, nullable: bool) -> Values {
    let values = match column_type {
        ColumnType::SmallInt => [i16::MIN, -257, -256, -1, 0, 1, 255, 256, i16::MAX].map(Datum::I16).to_vec(),
        ColumnType::Integer => (0..300).map(Datum::I32).chain([i32::MIN, i32::MAX].map(Datum::I32)).collect(),
        ColumnType::BigInt => {
            let spread = (0..200_i64).map(|at| Datum::I64(at.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)));
            spread.chain((0..200).map(Datum::I64)).chain([i64::MIN, i64::MAX].map(Datum::I64)).collect()
        }
        ColumnType::Double => [f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 1.0, f64::NAN].map(Datum::F64).to_vec(),
        _ => texts(),
    };
    Values { column_type, nullable, drawn: values }
}

/// The layouts that are tested: short and long, fixed and of any length, with NULL and without.
fn layouts() -> Vec<Vec<Values>> {
    vec![
        vec![values(ColumnType::Integer, false)],
        vec![values(ColumnType::BigInt, false)],
        vec![values(ColumnType::BigInt, true)],
        vec![values(ColumnType::Text, false)],
        vec![values(ColumnType::SmallInt, false), values(ColumnType::Integer, true)],
        vec![values(ColumnType::Integer, false), values(ColumnType::Text, true), values(ColumnType::SmallInt, false)],
        vec![values(ColumnType::Double, true), values(ColumnType::BigInt, false), values(ColumnType::BigInt, false)],
    ]
}

fn schema(layout: &[Values]) -> Schema {
    let columns = layout.iter().enumerate();
    Schema::new(columns.map(|(at, part)| Column::new(format!("c{at}"), part.column_type, part.nullable)).collect())
}

fn index(layout: &[Values], kind: IndexKind, uniqueness: Uniqueness) -> Index {
    let columns: Vec<usize> = (0..layout.len()).collect();
    Index::new("i", &schema(layout), &columns, kind, uniqueness, &Memory::new(None))
}

fn draw(layout: &[Values], random: &mut Random) -> Vec<Datum<'static>> {
    let draw = |part: &Values| {
        if part.nullable && random.below(8) == 0 { Datum::Null } else { part.drawn[random.below(part.drawn.len())] }
    };
    layout.iter().map(draw).collect()
}

/// Whatever keeps a row from being inserted.
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

type Model = BTreeMap<Vec<u8>, BTreeSet<RowId>>;

fn rows_of(model: &Model, key: &Key) -> Vec<RowId> {
    model.get(&key.to_bytes()).into_iter().flatten().copied().collect()
}

#[test]
fn rows_are_found_by_their_keys_whatever_came_and_went() {
    for (seed, layout) in layouts().iter().enumerate() {
        for kind in [IndexKind::Hash, IndexKind::Art] {
            let index = index(layout, kind, Uniqueness::Multiple);
            let (mut model, mut random) = (Model::new(), Random::new(seed as u64));
            for step in 0..share(12_000) {
                let key = index.key(&draw(layout, &mut random)).expect("a key");
                let row = RowId(random.next() >> 61 << 30 | random.next() >> 58);
                // The index grows for a while, then shrinks.
                if random.below(10) < if step % 6_000 < 3_000 { 8 } else { 2 } {
                    index.insert(&key, row, |_| Err(Refused::Memory)).expect("nothing is in the way");
                    model.entry(key.to_bytes()).or_default().insert(row);
                } else {
                    let rows = rows_of(&model, &key);
                    let row = if rows.is_empty() { row } else { rows[random.below(rows.len())] };
                    let is_there = rows.contains(&row);
                    assert_eq!(index.remove(&key, row), is_there);
                    if is_there {
                        let left = model.get_mut(&key.to_bytes()).expect("it is there");
                        left.remove(&row);
                    }
                    model.retain(|_, rows| !rows.is_empty());
                }
                let key = index.key(&draw(layout, &mut random)).expect("a key");
                let found: Vec<RowId> = index.find(&key).iter().collect();
                assert_eq!(found, rows_of(&model, &key), "{kind:?}, layout {seed}, step {step}");
            }
            assert_eq!(index.rows(), model.values().map(BTreeSet::len).sum::<usize>());
            index.clear();
            assert_eq!(index.rows(), 0);
        }
    }
}

fn read_all(index: &Index, lower: Bound<&Key>, upper: Bound<&Key>, direction: Direction) -> Vec<RowId> {
    let mut range = index.range(lower, upper, direction);
    let mut rows = Vec::new();
    loop {
        let before = rows.len();
        index.next_batch(&mut range, &mut rows);
        if rows.len() == before {
            return rows;
        }
    }
}

#[test]
fn ranges_are_read_in_order_from_both_ends() {
    for (seed, layout) in layouts().iter().enumerate() {
        let index = index(layout, IndexKind::Art, Uniqueness::Multiple);
        let (mut model, mut random) = (Model::new(), Random::new(77 + seed as u64));
        for row in 0..3_000 {
            let key = index.key(&draw(layout, &mut random)).expect("a key");
            index.insert(&key, RowId(row), |_| Err(Refused::Memory)).expect("nothing is in the way");
            model.entry(key.to_bytes()).or_default().insert(RowId(row));
        }
        for round in 0..600 {
            let ends = [draw(layout, &mut random), draw(layout, &mut random)];
            let mut end = |values: &[Datum<'_>]| {
                let key = index.prefix(&values[..=random.below(values.len())]).expect("a prefix");
                (key, random.below(5))
            };
            // Every other time the ends are those of the keys that begin alike.
            let lower = end(&ends[0]);
            let upper = end(&ends[round % 2]);
            let bound = |(key, kind): &'_ (Key, usize)| match kind {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(key.clone()),
                _ => Bound::Excluded(key.clone()),
            };
            let (lower, upper) = (bound(&lower), bound(&upper));
            let is_within = |key: &[u8]| {
                let first = |bound: &Key| key[..key.len().min(bound.to_bytes().len())].to_vec();
                let above = match &lower {
                    Bound::Unbounded => true,
                    Bound::Included(bound) => first(bound) >= bound.to_bytes(),
                    Bound::Excluded(bound) => first(bound) > bound.to_bytes(),
                };
                let below = match &upper {
                    Bound::Unbounded => true,
                    Bound::Included(bound) => first(bound) <= bound.to_bytes(),
                    Bound::Excluded(bound) => first(bound) < bound.to_bytes(),
                };
                above && below
            };
            let within = model.iter().filter(|(key, _)| is_within(key)).flat_map(|(_, rows)| rows.iter().copied());
            let mut expected: Vec<RowId> = within.collect();
            assert_eq!(read_all(&index, lower.as_ref(), upper.as_ref(), Direction::Forward), expected, "layout {seed}");
            expected.reverse();
            assert_eq!(read_all(&index, lower.as_ref(), upper.as_ref(), Direction::Backward), expected);
        }
    }
}

#[test]
fn a_unique_key_is_refused_while_a_row_is_in_the_way() {
    for kind in [IndexKind::Hash, IndexKind::Art] {
        let index = index(&layouts()[2], kind, Uniqueness::Unique);
        let key = index.key(&[Datum::I64(7)]).expect("a key");
        let alive = |row: RowId| if row == RowId(1) { Err(Refused::By(row)) } else { Ok(()) };
        assert_eq!(index.insert(&key, RowId(0), alive), Ok(()));
        // Row 0 is an old version, nobody's any more but for readers.
        assert_eq!(index.insert(&key, RowId(1), alive), Ok(()));
        assert_eq!(index.insert(&key, RowId(2), alive), Err(Refused::By(RowId(1))));
        assert_eq!(index.find(&key).iter().collect::<Vec<_>>(), [RowId(0), RowId(1)]);
        assert!(index.remove(&key, RowId(1)) && index.remove(&key, RowId(0)) && !index.remove(&key, RowId(0)));
        assert!(index.find(&key).is_empty());
        let null = index.key(&[Datum::Null]).expect("a key");
        for row in 0..3 {
            assert_eq!(index.insert(&null, RowId(row), |row| Err(Refused::By(row))), Ok(()), "NULL equals nothing");
        }
        assert_eq!(index.find(&null).len(), 3);
    }
}
