//! Keys of any length in a tree: however long they are and however much of it they share, a stack of 128 KB is enough to
//! insert, find, range over, merge, renumber and remove them, and memory is in proportion.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::support::Cell;
use longshore_storage::{
    Append, Arena, Column, ColumnType, Datum, Direction, Index, IndexKind, Isolation, Memory, MergeKind, Relation,
    Schema, Uniqueness,
};
use longshore_testing::Random;

const BYTES: usize = 1_000_000;

/// Does something with a stack on which no recursion along a key finds room.
fn on_a_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, work);
        thread.unwrap().join().unwrap();
    });
}

fn relation() -> Relation {
    let columns = vec![Column::new("key", ColumnType::Text, false), Column::new("id", ColumnType::BigInt, false)];
    Relation::new(Arc::new(Schema::new(columns)), Memory::new(None)).with_name("t")
}

fn tree(relation: &Relation) -> Arc<Index> {
    relation.create_index("i", &[0], IndexKind::Art, Uniqueness::Unique).unwrap()
}

/// Long texts that differ near their ends, and texts of which each goes on a little further than the one before with what
/// all have in common, so that there is a branch at every depth.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = (0..20).map(|at| format!("{}{}", "a".repeat(BYTES), char::from(b'c' + at))).collect();
    texts.extend((0..2_000).map(|at| format!("{}b", "a".repeat(at))));
    Random::new(7).shuffle(&mut texts);
    texts
}

/// All texts in the order of the index are the sorted texts, in both directions.
fn check(relation: &Relation, index: &Index, texts: &[String]) {
    let mut sorted: Vec<&String> = texts.iter().collect();
    sorted.sort();
    let field = relation.column::<&str>("key").unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let mut t = relation.transactions().begin_read_only(Isolation::Snapshot);
        let mut expected: Vec<&String> = sorted.clone();
        if direction == Direction::Backward {
            expected.reverse();
        }
        let mut expected = expected.into_iter();
        t.range(relation, index, (Bound::<&[Datum<'_>]>::Unbounded, Bound::Unbounded), direction, |t, row| {
            let mut text = String::new();
            t.get_text(relation, row, field, &mut text)?;
            assert!(expected.next() == Some(&text), "a text of {} bytes", text.len());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert!(expected.next().is_none());
    }
    let mut t = relation.transactions().begin_read_only(Isolation::Snapshot);
    for text in texts {
        assert!(t.find(relation, index, &[Datum::Text(text)]).unwrap().is_some());
    }
}

fn append<'r>(relation: &'r Relation, texts: &[String], first: usize) -> Append<'r> {
    let rows: Vec<Vec<Cell>> =
        (first..).zip(texts).map(|(id, text)| vec![Cell::Text(text.clone()), Cell::Integer(id as i64)]).collect();
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, crate::support::buffers(relation.schema(), &rows, &mut arena)).unwrap();
    append
}

#[test]
fn long_keys_come_and_go_one_by_one() {
    on_a_small_stack(|| {
        let (relation, texts) = (relation(), texts());
        let index = tree(&relation);
        let mut t = relation.transactions().begin(Isolation::Snapshot);
        let row =
            |(id, text): (usize, &String)| t.insert(&relation, &[Datum::Text(text), Datum::I64(id as i64)]).unwrap();
        let rows: Vec<_> = texts.iter().enumerate().map(row).collect();
        t.commit().unwrap();
        check(&relation, &index, &texts);
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(index.bytes() < 2 * bytes + (8 << 20), "{} bytes of an index of {bytes} bytes of keys", index.bytes());
        let mut t = relation.transactions().begin(Isolation::Snapshot);
        rows.iter().step_by(2).for_each(|&row| t.delete(&relation, row).unwrap());
        t.commit().unwrap();
        let left: Vec<String> = texts.iter().skip(1).step_by(2).cloned().collect();
        check(&relation, &index, &left);
    });
}

#[test]
fn long_keys_are_built_merged_and_renumbered() {
    on_a_small_stack(|| {
        let (relation, texts) = (relation(), texts());
        let (first, rest) = texts.split_at(texts.len() / 3);
        let (second, third) = rest.split_at(rest.len() / 2);
        append(&relation, first, 0).commit().unwrap();
        let index = tree(&relation);
        // Both take it that their chunk is the next.
        let second = append(&relation, second, first.len());
        let third = append(&relation, third, 2 * first.len());
        third.commit().unwrap();
        second.commit().unwrap();
        check(&relation, &index, &texts);
    });
}
