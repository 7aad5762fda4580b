//! Log and tree against a naive evaluator that compares the values themselves.

use std::cmp::Ordering;
use std::ops::Bound;

use longshore_testing::Random;

use super::log::{BOXES_MAX, COARSE_BOXES, POINTS_MAX};
use super::*;
use crate::types::Physical;

#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    Integer(i64),
    Wide(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

const PHYSICAL: [Physical; 6] =
    [Physical::I32, Physical::I64, Physical::I128, Physical::F64, Physical::View, Physical::I64];

impl Cell {
    fn comparand(&self) -> Comparand<'_> {
        match self {
            Cell::Null => Comparand::Null,
            &Cell::Integer(value) => Comparand::Integer(value),
            &Cell::Wide(value) => Comparand::Wide(value),
            &Cell::Float(value) => Comparand::Float(value),
            Cell::Bytes(bytes) => Comparand::Bytes(bytes),
        }
    }

    /// Both orders of floats: numerically, and by all their bits.
    fn compare(&self, other: &Cell) -> Vec<Ordering> {
        match (self, other) {
            (Cell::Integer(a), Cell::Integer(b)) => vec![a.cmp(b)],
            (Cell::Wide(a), Cell::Wide(b)) => vec![a.cmp(b)],
            (Cell::Float(a), Cell::Float(b)) => a.partial_cmp(b).into_iter().chain([a.total_cmp(b)]).collect(),
            (Cell::Bytes(a), Cell::Bytes(b)) => vec![a.cmp(b)],
            _ => Vec::new(),
        }
    }
}

fn cell(random: &mut Random, column: usize) -> Cell {
    if random.below(8) == 0 {
        return Cell::Null;
    }
    match PHYSICAL[column] {
        Physical::I32 => Cell::Integer(random.below(6) as i64 - 3),
        Physical::I64 => Cell::Integer(random.pick(&[i64::MIN, i64::MIN + 1, -1, 0, 1, 2, i64::MAX - 1, i64::MAX])),
        Physical::I128 => {
            let near = random.below(3) as i128 - 1;
            let far = random.pick(&[0, 5, 1 << 61, 1 << 62, 1 << 63, 1 << 100, i128::MAX - 1]);
            Cell::Wide(if random.below(2) == 0 { far + near.min(0) } else { -far + near })
        }
        Physical::F64 => Cell::Float(random.pick(&[
            f64::NEG_INFINITY,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            1e300,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ])),
        _ => {
            let length = random.pick(&[0, 1, 2, 7, 8, 9, 20]);
            Cell::Bytes((0..length).map(|_| random.pick(b"\0aab\xff")).collect())
        }
    }
}

/// What one attribute is asked, by values.
#[derive(Clone, Debug)]
enum Asked {
    Equal(Cell),
    Range(Bound<Cell>, Bound<Cell>),
    Null,
    NotNull,
}

impl Asked {
    fn random(random: &mut Random, column: usize) -> Asked {
        let bound = |random: &mut Random| match random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(cell(random, column)),
            _ => Bound::Excluded(cell(random, column)),
        };
        match random.below(6) {
            0..3 => match cell(random, column) {
                Cell::Null => Asked::Null,
                value => Asked::Equal(value),
            },
            3 => Asked::Range(bound(random), bound(random)),
            4 => Asked::Null,
            _ => Asked::NotNull,
        }
    }

    fn restriction(&self, column: usize) -> Restriction {
        match self {
            Asked::Equal(value) => Restriction::equal(column, value.comparand()),
            Asked::Range(low, high) => {
                Restriction::range(column, low.as_ref().map(Cell::comparand), high.as_ref().map(Cell::comparand))
            }
            Asked::Null => Restriction::is_null(column),
            Asked::NotNull => Restriction::is_not_null(column),
        }
    }

    fn holds(&self, value: &Cell) -> bool {
        let null = *value == Cell::Null;
        let above =
            |low: &Cell, open: bool| value.compare(low).iter().any(|order| order.is_gt() || order.is_eq() && !open);
        let below =
            |high: &Cell, open: bool| value.compare(high).iter().any(|order| order.is_lt() || order.is_eq() && !open);
        match self {
            Asked::Null => null,
            Asked::NotNull => !null,
            Asked::Equal(other) => value.compare(other).iter().any(|order| order.is_eq()),
            Asked::Range(low, high) => {
                !null
                    && match low {
                        Bound::Unbounded => true,
                        Bound::Included(low) => above(low, false),
                        Bound::Excluded(low) => above(low, true),
                    }
                    && match high {
                        Bound::Unbounded => true,
                        Bound::Included(high) => below(high, false),
                        Bound::Excluded(high) => below(high, true),
                    }
            }
        }
    }
}

struct Row(Vec<Cell>);

impl Image for Row {
    fn span(&self, attribute: Attribute) -> Span {
        self.0[attribute.column()].comparand().span(attribute)
    }
}

/// All rows of a chunk: known by bounds only, and texts by hash not at all.
struct Bounds<'a>(&'a [Row]);

impl Image for Bounds<'_> {
    fn span(&self, attribute: Attribute) -> Span {
        if attribute.is_hash() {
            return Span::ALL;
        }
        self.0.iter().map(|row| row.span(attribute)).reduce(Span::cover).expect("there are rows")
    }
}

fn row(random: &mut Random) -> Row {
    Row((0..PHYSICAL.len()).map(|column| cell(random, column)).collect())
}

/// A conjunction over some columns, in any order.
fn conjunction(random: &mut Random) -> Vec<(usize, Asked)> {
    let mut columns: Vec<usize> = (0..PHYSICAL.len()).collect();
    for at in (1..columns.len()).rev() {
        columns.swap(at, random.below(at + 1));
    }
    columns.truncate(1 + random.below(3));
    columns.into_iter().map(|column| (column, Asked::random(random, column))).collect()
}

fn log_of(predicates: &[Vec<(usize, Asked)>]) -> PredicateLog {
    let mut log = PredicateLog::default();
    for predicate in predicates {
        let restrictions: Vec<Restriction> =
            predicate.iter().map(|(column, asked)| asked.restriction(*column)).collect();
        let relation = log.relation(7);
        if restrictions.iter().all(|restriction| restriction.span.is_point()) {
            let attributes: Vec<Attribute> = restrictions.iter().map(|restriction| restriction.attribute).collect();
            let values: Vec<u64> = restrictions.iter().map(|restriction| restriction.span.low).collect();
            relation.point(&attributes, &values);
        } else {
            relation.predicate(&restrictions);
        }
    }
    log
}

#[test]
fn the_tree_agrees_with_the_naive_evaluator() {
    let mut random = Random::new(1);
    let (mut held, mut exact) = (0, 0);
    for _ in 0..3_000 {
        let count = 1 + random.below(12);
        let predicates: Vec<_> = (0..count).map(|_| conjunction(&mut random)).collect();
        let log = log_of(&predicates);
        let tree = PredicateTree::new(log.read_of(7).expect("it was read"));
        let rows: Vec<Row> = (0..40).map(|_| row(&mut random)).collect();
        for row in &rows {
            let naive =
                |predicate: &&Vec<(usize, Asked)>| predicate.iter().all(|(column, asked)| asked.holds(&row.0[*column]));
            let expected = predicates.iter().find(naive);
            let found = tree.satisfied_by(row);
            if let Some(predicate) = expected {
                held += 1;
                assert!(found.is_some(), "{:?} satisfies {predicate:?}", row.0);
            }
            // Only integers are compared exactly.
            let is_exact = predicates.iter().flatten().all(|(column, _)| matches!(column, 0 | 1 | 5));
            if is_exact {
                exact += 1;
                assert_eq!(found.is_some(), expected.is_some(), "{:?} and {predicates:?}", row.0);
            }
            if let Some(found) = found {
                let restrictions = tree.restrictions(found);
                assert!(!restrictions.is_empty());
                assert!(restrictions.iter().all(|one| one.span.meets(row.span(one.attribute))));
            }
        }
        if rows.iter().any(|row| tree.satisfied_by(row).is_some()) {
            assert!(tree.satisfied_by(&Bounds(&rows)).is_some(), "the bounds of rows of which one satisfies the tree");
        }
    }
    assert!(held > 20_000 && exact > 2_000, "{held} held, {exact} exact");
}

#[test]
fn an_index_range_asks_for_all_keys_between_its_bounds() {
    let mut random = Random::new(2);
    let columns = [0, 5, 4];
    let key = |random: &mut Random, length: usize| -> Vec<Cell> {
        columns[..length].iter().map(|&column| cell(random, column)).collect()
    };
    // By the values; NULL first or last; a shorter bound stands for all keys that begin so.
    let compare = |key: &[Cell], bound: &[Cell], null: Ordering| -> Ordering {
        let one = |(a, b): (&Cell, &Cell)| match (a, b) {
            (Cell::Null, Cell::Null) => Ordering::Equal,
            (Cell::Null, _) => null,
            (_, Cell::Null) => null.reverse(),
            (a, b) => a.compare(b)[0],
        };
        key.iter().zip(bound).map(one).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut inside = 0;
    for round in 0..20_000 {
        let null = if round % 2 == 0 { Ordering::Less } else { Ordering::Greater };
        let length = random.below(4);
        let low = key(&mut random, length);
        let mut high = low.clone();
        high.truncate(random.below(4));
        let length = random.below(4).max(high.len());
        let rest = key(&mut random, length);
        high.extend(rest.into_iter().skip(high.len()));
        let (open_low, open_high) = (random.below(2) == 0, random.below(2) == 0);
        let lows: Vec<Comparand<'_>> = low.iter().map(Cell::comparand).collect();
        let highs: Vec<Comparand<'_>> = high.iter().map(Cell::comparand).collect();
        let from = if open_low { Bound::Excluded(&lows[..]) } else { Bound::Included(&lows[..]) };
        let to = if open_high { Bound::Excluded(&highs[..]) } else { Bound::Included(&highs[..]) };
        let mut restrictions = Vec::new();
        between(&columns, from, to, &mut restrictions);
        for _ in 0..10 {
            let row = row(&mut random);
            let of_row: Vec<Cell> = columns.iter().map(|&column| row.0[column].clone()).collect();
            let above = compare(&of_row, &low, null);
            let below = compare(&of_row, &high, null);
            let is_above = above.is_gt() || above.is_eq() && !(open_low && low.len() == columns.len());
            let is_below = below.is_lt() || below.is_eq() && !(open_high && high.len() == columns.len());
            if is_above && is_below {
                inside += 1;
                let holds = restrictions.iter().all(|one| one.span.meets(row.span(one.attribute)));
                assert!(holds, "{of_row:?} between {low:?} and {high:?}: {restrictions:?}");
            }
        }
    }
    assert!(inside > 20_000, "{inside}");
}

#[test]
fn many_points_are_coarsened_to_ranges_that_hold_them_all() {
    let attributes = [Attribute::order(0), Attribute::order(1)];
    let value = |value: i64| Comparand::Integer(value).order().low;
    let mut log = PredicateLog::default();
    let mut keys = Vec::new();
    let mut random = Random::new(3);
    for at in 0..200_000 {
        let key = [at / 50_000, at % 50_000 * 10 + random.below(3) as i64];
        keys.push(key);
        log.relation(1).point(&attributes, &key.map(value));
    }
    let relation = log.read_of(1).expect("it was read");
    for shape in relation.shapes() {
        assert!(shape.points.len() < POINTS_MAX * 2 && shape.boxes.len() < BOXES_MAX * 2);
    }
    let tree = PredicateTree::new(relation);
    let row = |key: [i64; 2]| Row(key.map(Cell::Integer).to_vec());
    for key in keys {
        assert!(tree.satisfied_by(&row(key)).is_some(), "{key:?}");
    }
    for key in [[-1, 5], [5, 5], [0, -1], [3, 600_000]] {
        assert!(tree.satisfied_by(&row(key)).is_none(), "{key:?}");
    }
}

#[test]
fn keys_side_by_side_are_coarsened_to_exactly_these() {
    let attributes = [Attribute::order(0)];
    let mut log = PredicateLog::default();
    for block in 0..COARSE_BOXES as i64 / 2 {
        for at in 0..100 {
            log.relation(1).point(&attributes, &[Comparand::Integer(block * 1_000 + at).order().low]);
        }
    }
    let tree = PredicateTree::new(log.read_of(1).expect("it was read"));
    for at in 0..COARSE_BOXES as i64 / 2 * 1_000 {
        assert_eq!(tree.satisfied_by(&Row(vec![Cell::Integer(at)])).is_some(), at % 1_000 < 100, "{at}");
    }
}

#[test]
fn many_predicates_of_any_kind_stay_few() {
    let mut random = Random::new(4);
    let mut predicates: Vec<_> = (0..60_000).map(|_| conjunction(&mut random)).collect();
    for predicate in &mut predicates {
        // In the order of columns, lest there be more shapes than are kept apart.
        predicate.sort_by_key(|(column, _)| *column);
    }
    let log = log_of(&predicates);
    let relation = log.read_of(7).expect("it was read");
    assert!(!relation.is_everything());
    let words: usize = relation.shapes().map(|shape| shape.points.len() + shape.boxes.len()).sum();
    assert!(words < 100_000, "{words}");
    let tree = PredicateTree::new(relation);
    for _ in 0..2_000 {
        let row = row(&mut random);
        let naive = predicates.iter().any(|one| one.iter().all(|(column, asked)| asked.holds(&row.0[*column])));
        assert!(!naive || tree.satisfied_by(&row).is_some(), "{:?}", row.0);
    }
}

#[test]
fn equal_restrictions_under_one_parent_are_one_node() {
    // Figure 2.4 of the thesis, in spirit: B = 15 begins two predicates.
    let (b, i) = (Attribute::order(0), Attribute::order(1));
    let integer = |value: i64| Comparand::Integer(value);
    let mut log = PredicateLog::default();
    let relation = log.relation(1);
    let equal = |column, value| Restriction::equal(column, integer(value));
    relation.predicate(&[equal(0, 15), equal(1, 1)]);
    relation.point(&[b, i], &[integer(15).order().low, integer(2).order().low]);
    let range = Restriction::range(1, Bound::Included(integer(3)), Bound::Excluded(integer(6)));
    relation.predicate(&[equal(0, 15), range]);
    relation.predicate(&[equal(0, 15), range]);
    let tree = PredicateTree::new(log.read_of(1).expect("it was read"));
    assert_eq!(
        tree.restrictions(tree.satisfied_by(&Row(vec![Cell::Integer(15), Cell::Integer(5)])).expect("it holds")),
        [equal(0, 15), range]
    );
    for (cells, expected) in [([15, 1], true), ([15, 2], true), ([15, 6], false), ([14, 1], false)] {
        assert_eq!(tree.satisfied_by(&Row(cells.map(Cell::Integer).to_vec())).is_some(), expected, "{cells:?}");
    }
    // The root, B = 15, and three below it.
    assert_eq!(tree.nodes(), 5);
}

#[test]
fn changes_of_columns_that_nobody_read_concern_nobody() {
    let mut log = PredicateLog::default();
    log.relation(1).point(&[Attribute::order(0)], &[5]);
    log.relation(1).read(3);
    log.relation(2).everything();
    let columns = |columns: &[usize]| {
        Change::Columns(columns.iter().fold(ColumnSet::default(), |set, &column| set.union(ColumnSet::of(column))))
    };
    let first = log.read_of(1).expect("it was read");
    assert!(first.concerns(Change::Existence) && first.concerns(columns(&[3])) && first.concerns(columns(&[0, 9])));
    assert!(!first.concerns(columns(&[1, 2, 4, 62, 63, 100])));
    let second = log.read_of(2).expect("it was read");
    assert!(second.concerns(Change::Existence) && !second.concerns(columns(&[0])));
    assert!(PredicateTree::new(second).satisfied_by(&Row(Vec::new())).is_some());
    assert!(log.read_of(3).is_none());
    // Very wide relations: the last bit stands for many.
    log.relation(1).read(200);
    assert!(log.read_of(1).expect("it was read").concerns(columns(&[63])));
    log.clear();
    assert!(log.is_empty() && log.read_of(1).is_none());
    log.relation(1).point(&[Attribute::order(0)], &[6]);
    assert!(!log.read_of(1).expect("it was read").concerns(columns(&[3])));
}

#[test]
fn summaries_rise_with_values() {
    let mut random = Random::new(5);
    for column in 0..PHYSICAL.len() {
        for _ in 0..20_000 {
            let (a, b) = (cell(&mut random, column), cell(&mut random, column));
            let (left, right) = (a.comparand().order(), b.comparand().order());
            if !left.is_point() || !right.is_point() {
                continue;
            }
            match a.compare(&b)[0] {
                Ordering::Less => assert!(left.low <= right.low, "{a:?} {b:?}"),
                Ordering::Equal => assert_eq!(left, right, "{a:?} {b:?}"),
                Ordering::Greater => assert!(left.low >= right.low, "{a:?} {b:?}"),
            }
        }
    }
    for value in [0, 1, -1, (1 << 62) - 1, 1 << 62, -(1 << 62), 3 << 70, -(5 << 90), i128::MIN, 1 << 126] {
        assert_eq!(summary::wide_of(summary::wide(value)), value);
    }
    for value in [0.0, -1.5, 1e300, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(summary::float_of(summary::float(value)).to_bits(), value.to_bits());
    }
}
