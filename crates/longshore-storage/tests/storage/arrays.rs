//! Arrays of some rows against those of all rows.

use longshore_storage::{PackedAs, Relation};
use longshore_testing::Random;

use crate::native_support::{every_type, random_batch, relation_of, texts};

/// Rows that are picked are those of the whole array, of each column and in any order.
fn assert_picked(relation: &Relation, random: &mut Random) {
    for chunk in relation.snapshot().chunks() {
        for column in 0..chunk.schema().columns().len() {
            let whole = chunk.array(column, 0, chunk.rows());
            for count in [0, 1, random.below(200)] {
                let rows: Vec<u32> = (0..count).map(|_| random.below(chunk.rows()) as u32).collect();
                let picked = chunk.array_of_rows(column, &rows);
                assert_eq!((picked.len(), picked.data_type()), (count, whole.data_type()));
                for (at, &row) in rows.iter().enumerate() {
                    assert_eq!(&picked.slice(at, 1), &whole.slice(row as usize, 1), "row {row} of column {column}");
                }
            }
        }
    }
}

#[test]
fn rows_are_picked_of_columns_of_every_type() {
    let mut random = Random::new(7);
    // Chunks of few rows are plain.
    for (rows, null_one_in) in [(1, 2), (100, 2), (10_000, 50), (70_000, 1000)] {
        assert_picked(&relation_of(&every_type(), &[random_batch(rows, 11, null_one_in)]), &mut random);
    }
}

#[test]
fn rows_are_picked_of_texts_in_every_encoding() {
    let mut random = Random::new(8);
    let distinct = |count: usize| texts((0..30_000).map(move |row| format!("the text number {}", row % count)));
    for (count, packed_as) in [
        (1, PackedAs::Constant),
        (200, PackedAs::Dictionary(1)),
        (400, PackedAs::Dictionary(2)),
        (30_000, PackedAs::Texts),
    ] {
        let relation = distinct(count);
        let snapshot = relation.snapshot();
        assert_eq!(snapshot.chunks()[0].packed(0).map(|packed| packed.packed_as()), Some(packed_as), "{count}");
        assert_picked(&relation, &mut random);
    }
}
