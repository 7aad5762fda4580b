//! The estimate from a sample, and when counts are made anew.

use super::*;
use crate::datum::Datum;
use crate::memory::Memory;
use crate::relation::Relation;
use crate::transaction::Isolation;
use crate::types::{Column, ColumnType, Schema};

#[test]
fn counts_are_kept_until_they_are_old_or_the_table_has_another_size() {
    let schema = Arc::new(Schema::new(vec![Column::new("n", ColumnType::Integer, false)]));
    let relation = Relation::new(schema, Memory::new(None));
    let insert = |values: std::ops::Range<i32>| {
        let mut transaction = relation.transactions().begin(Isolation::Snapshot);
        let rows: Vec<_> = values.map(|n| transaction.insert(&relation, &[Datum::I32(n)]).unwrap()).collect();
        transaction.commit().unwrap();
        rows
    };
    let rows = insert(0..100);
    let kept = KeptCounts::default();
    let count = |age_max: Duration| {
        let snapshot = relation.snapshot();
        kept.not_older(snapshot.pieces(), 1, age_max).of_column(0, snapshot.pieces())
    };
    assert_eq!((count(Duration::ZERO), count(Duration::ZERO)), (100, 100), "nothing has changed");

    let n = relation.column::<i32>("n").unwrap();
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    rows[..60].iter().for_each(|&row| transaction.set(&relation, row, n, 0).unwrap());
    transaction.commit().unwrap();
    assert_eq!(count(Duration::MAX), 100, "the counts are not old");
    assert_eq!(count(Duration::ZERO), 41, "they are old");
    insert(200..210);
    assert_eq!(count(Duration::MAX), 41, "there are a few more rows");
    insert(210..220);
    assert_eq!(count(Duration::MAX), 61, "there are a fifth more");
}

/// What a sample of one in `ratio` stretches would have of a column: the distinct values of all stretches together, and
/// those of each added up.
fn sampled(stretches: usize, value: impl Fn(usize, usize) -> u64) -> (f64, f64) {
    let mut all = Sketch::new();
    let mut drawn = 0.0;
    for stretch in 0..stretches {
        let mut one = Sketch::new();
        (0..STRETCH_ROWS).for_each(|row| one.add(mixed(value(stretch, row))));
        drawn += one.estimate();
        all.merge(&one);
    }
    (all.estimate(), drawn)
}

#[test]
fn a_sample_tells_how_many_values_all_rows_have() {
    const STRETCHES: usize = 32;
    let random = |values: u64| move |stretch, row| mixed((stretch * STRETCH_ROWS + row) as u64) % values;
    for ratio in [2.0, 5.0, 46.0, 1000.0] {
        let rows = (STRETCHES * STRETCH_ROWS) as f64 * ratio;
        let check = |(union, drawn): (f64, f64), exact: f64, tolerance: f64, what: &str| {
            let estimate = of_all_rows(union, drawn, ratio).round();
            let error = estimate / exact - 1.0;
            assert!(error.abs() <= tolerance, "{what}, 1 in {ratio} rows: {estimate} instead of {exact}");
        };
        check(sampled(STRETCHES, |_, _| 7), 1.0, 0.0, "one value");
        check(sampled(STRETCHES, random(2)), 2.0, 0.0, "two values");
        check(sampled(STRETCHES, random(400)), 400.0, 0.0, "few values");
        check(sampled(STRETCHES, random(3000)), 3000.0, 0.05, "3,000 values in any order");
        // What random draws of so many rows meet.
        for (values, tolerance) in [(20_000.0, 0.05), (100_000.0, 0.1), (200_000.0, 0.2)] {
            let exact = values * (1.0 - f64::exp(-rows / values));
            check(sampled(STRETCHES, random(values as u64)), exact, tolerance, "values in any order");
        }
        check(sampled(STRETCHES, |stretch, row| ((stretch << 40) + row) as u64), rows, 0.05, "a key");
        check(
            sampled(STRETCHES, |stretch, row| ((stretch << 40) + row / 4) as u64),
            rows / 4.0,
            0.05,
            "a key of parents",
        );
        let runs = |stretch, row| ((stretch << 40) + row / 1000) as u64;
        check(sampled(STRETCHES, runs), rows / STRETCH_ROWS as f64 * 5.0, 0.05, "long runs");
    }
}

#[test]
fn an_estimate_is_at_least_what_was_seen_and_at_most_one_value_for_each_draw() {
    for (union, drawn) in [(1.0, 1.0), (1.0, 32.0), (600.0, 601.0), (5000.0, 9000.0), (99_000.0, 100_000.0)] {
        for ratio in [1.0, 1.001, 3.0, 1e6] {
            let estimate = of_all_rows(union, drawn, ratio);
            assert!((union..=drawn * ratio * 1.001).contains(&estimate), "{union} of {drawn}: {estimate}");
        }
    }
}

#[test]
fn equal_floats_have_one_hash_and_others_do_not() {
    assert_eq!(float_hash(0.0), float_hash(-0.0));
    assert_eq!(float_hash(f64::NAN), float_hash(-f64::from_bits(f64::NAN.to_bits() | 1)));
    let others = [0.0, f64::NAN, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX];
    let mut hashes: Vec<u64> = others.iter().map(|&value| float_hash(value)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), others.len());
}
