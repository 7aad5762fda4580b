//! What a serializable transaction is and is not stopped by: the precision of its predicates, and of attributes.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use longshore_storage::{
    Arena, Column, ColumnRange, ColumnType, CommitError, Datum, Field, Isolation, Memory, MergeKind, PartitionBuffer,
    Relation, Schema, Transaction, Transactions, key,
};
use longshore_testing::Random;

use crate::support::random_rows;

const CITY: usize = 1;
const AGE: usize = 2;

/// People, and a relation beside them that the readers write to.
struct Town {
    transactions: Arc<Transactions>,
    people: Relation,
    log: Relation,
    city: Field<&'static str>,
    age: Field<i32>,
    income: Field<i64>,
}

impl Town {
    fn new() -> Town {
        let transactions = Transactions::new();
        let relation = |name: &str, columns: Vec<Column>| {
            Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions).with_name(name)
        };
        let people = relation(
            "people",
            vec![
                Column::new("id", ColumnType::Integer, false),
                Column::new("city", ColumnType::Varchar(40), true),
                Column::new("age", ColumnType::Integer, true),
                Column::new("income", ColumnType::BigInt, true),
            ],
        );
        let log = relation("log", vec![Column::new("id", ColumnType::Integer, false)]);
        let (city, age) = (people.column::<&str>("city").unwrap(), people.column("age").unwrap());
        let income = people.column("income").unwrap();
        let town = Town { transactions: Arc::clone(&transactions), people, log, city, age, income };
        let mut setup = transactions.begin(Isolation::Snapshot);
        for id in 0..20 {
            let city = ["a city with a long name, first", "a city with a long name, second"][id as usize % 2];
            setup.insert(&town.people, key![id, city, id * 5, i64::from(id) * 1000]).unwrap();
        }
        setup.commit().unwrap();
        town
    }

    /// Whether a transaction that reads, and then writes somewhere else, is stopped by what another one does that
    /// commits in between.
    fn stops(
        &self,
        read: impl FnOnce(&Town, &mut Transaction),
        meanwhile: impl FnOnce(&Town, &mut Transaction),
    ) -> Option<CommitError> {
        let mut reader = self.transactions.begin(Isolation::Serializable);
        read(self, &mut reader);
        reader.insert(&self.log, key![1]).unwrap();
        let mut writer = self.transactions.begin(Isolation::Serializable);
        meanwhile(self, &mut writer);
        writer.commit().unwrap();
        reader.commit().err()
    }

    /// Ages of the people in some ranges.
    fn read(&self, t: &mut Transaction, ranges: &[ColumnRange<'_>]) {
        t.scan(&self.people, ranges, |t, row| {
            t.get_nullable(&self.people, row, self.age)?;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    }

    /// Does something with the person with an id, found without leaving a trace in the log of another one.
    fn with(
        &self,
        t: &mut Transaction,
        id: i32,
        mut change: impl FnMut(&Town, &mut Transaction, longshore_storage::RowId),
    ) {
        t.scan(&self.people, &[ColumnRange::equal(0, id)], |t, row| {
            change(self, t, row);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    }
}

fn ages(low: i32, high: i32) -> ColumnRange<'static> {
    ColumnRange::between(AGE, Bound::Included(Datum::I32(low)), Bound::Included(Datum::I32(high)))
}

#[test]
fn nothing_stops_a_transaction_by_itself() {
    let town = Town::new();
    assert_eq!(town.stops(|town, t| town.read(t, &[]), |_, _| {}), None);
    let unread = town.stops(|_, _| {}, |town, t| town.with(t, 3, |town, t, row| t.delete(&town.people, row).unwrap()));
    assert_eq!(unread, None);
}

#[test]
fn only_columns_that_were_read_or_restricted_matter() {
    let town = Town::new();
    let raise = |town: &Town, t: &mut Transaction| {
        town.with(t, 3, |town, t, row| t.set(&town.people, row, town.income, 1).unwrap());
    };
    assert_eq!(town.stops(|town, t| town.read(t, &[]), raise), None);
    let rich = ColumnRange::between(3, Bound::Included(Datum::I64(2_000)), Bound::Unbounded);
    let conflict = town.stops(
        |town, t| town.read(t, &[rich]),
        |town, t| {
            town.with(t, 4, |town, t, row| t.set(&town.people, row, town.income, 1).unwrap());
        },
    );
    let CommitError::Conflict { relation, predicate, .. } = conflict.unwrap() else { panic!("a conflict") };
    assert_eq!((relation.as_str(), predicate.as_str()), ("people", "income >= 2000"));
}

#[test]
fn only_rows_that_the_predicate_holds_for_matter() {
    let town = Town::new();
    let set_age = |id: i32, age: i32| {
        move |town: &Town, t: &mut Transaction| {
            town.with(t, id, |town, t, row| t.set(&town.people, row, town.age, age).unwrap());
        }
    };
    let read = |town: &Town, t: &mut Transaction| town.read(t, &[ages(20, 40)]);
    // From outside to outside, from inside, to inside; ages are five times the id.
    assert_eq!(town.stops(read, set_age(1, 6)), None);
    assert!(town.stops(read, set_age(5, 90)).is_some());
    assert!(town.stops(read, set_age(2, 30)).is_some());
    assert!(town.stops(read, |town, t| town.with(t, 6, |town, t, row| t.delete(&town.people, row).unwrap())).is_some());
    assert_eq!(town.stops(read, |town, t| town.with(t, 10, |town, t, row| t.delete(&town.people, row).unwrap())), None);
    let insert = |age: Option<i32>| {
        move |town: &Town, t: &mut Transaction| {
            t.insert(&town.people, key![100, "x", age, None::<i64>]).unwrap();
        }
    };
    assert!(town.stops(read, insert(Some(40))).is_some());
    assert_eq!(town.stops(read, insert(Some(41))), None);
    assert_eq!(town.stops(read, insert(None)), None);
    let unknown = |town: &Town, t: &mut Transaction| town.read(t, &[ColumnRange::is_null(AGE)]);
    assert!(town.stops(unknown, insert(None)).is_some());
    assert_eq!(town.stops(unknown, insert(Some(1))), None);
    // What comes and goes in one transaction was never there.
    let in_vain = |town: &Town, t: &mut Transaction| {
        let row = t.insert(&town.people, key![101, "x", 30, None::<i64>]).unwrap();
        t.delete(&town.people, row).unwrap();
    };
    assert_eq!(town.stops(read, in_vain), None);
}

#[test]
fn conjunctions_and_texts_are_held_exactly_enough() {
    let town = Town::new();
    let first = ColumnRange::equal(CITY, "a city with a long name, first");
    let read = |town: &Town, t: &mut Transaction| town.read(t, &[first, ages(20, 40)]);
    let move_to = |id: i32, city: &'static str| {
        move |town: &Town, t: &mut Transaction| {
            town.with(t, id, |town, t, row| t.set(&town.people, row, town.city, city).unwrap());
        }
    };
    // Person 5 lives in the second city and is 25.
    assert_eq!(town.stops(read, move_to(5, "a city with a long name, third")), None);
    let conflict = town.stops(read, move_to(5, "a city with a long name, first"));
    let CommitError::Conflict { predicate, .. } = conflict.unwrap() else { panic!("a conflict") };
    assert_eq!(predicate, "city = a text AND age BETWEEN 20 AND 40");
    assert_eq!(town.stops(read, move_to(15, "a city with a long name, first")), None);
}

#[test]
fn truncation_stops_who_has_read_a_row_of_it() {
    let town = Town::new();
    assert_eq!(
        town.stops(|town, t| town.read(t, &[ages(1000, 2000)]), |town, t| t.truncate(&town.people).unwrap()),
        None
    );
    let town = Town::new();
    assert!(town.stops(|town, t| town.read(t, &[ages(5, 5)]), |town, t| t.truncate(&town.people).unwrap()).is_some());
}

#[test]
fn what_a_load_brings_is_held_against_predicates_too() {
    for kind in [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk] {
        for (low, high, stopped) in [(0, 99, false), (20_000, 30_000, false), (150, 150, true)] {
            let schema = crate::support::id_and_text();
            let transactions = Transactions::new();
            let loaded = Relation::in_database(Arc::clone(&schema), Memory::new(None), &transactions);
            let log = Relation::in_database(Arc::clone(&schema), Memory::new(None), &transactions);
            let mut reader = transactions.begin(Isolation::Serializable);
            let range = ColumnRange::between(0, Bound::Included(Datum::I64(low)), Bound::Included(Datum::I64(high)));
            reader.scan(&loaded, &[range], |_, _| panic!("it is empty")).unwrap();
            reader.insert(&log, key![1_i64, None::<&str>]).unwrap();
            let rows = random_rows(&mut Random::new(1), &schema, 100, 10_000);
            let mut arena = Arena::new(Arc::clone(loaded.memory()), 1 << 20);
            let buffers =
                PartitionBuffer::from_batch(&schema, &crate::support::batch(&schema, &rows), &mut arena).unwrap();
            let append = loaded.begin_append(kind);
            append.merge(0, buffers).unwrap();
            assert_eq!(append.commit().expect("no duplicates"), 10_000);
            assert_eq!(reader.commit().is_err(), stopped, "{kind:?} {low}..={high}");
        }
    }
}

#[test]
fn what_was_changed_behind_the_commit_of_another_is_none_of_its_business() {
    // The images are those of the commit, whatever has become of the row since.
    let town = Town::new();
    let mut reader = town.transactions.begin(Isolation::Serializable);
    town.read(&mut reader, &[ages(20, 40)]);
    reader.insert(&town.log, key![1]).unwrap();
    for age in [90, 91, 92] {
        let mut writer = town.transactions.begin(Isolation::Serializable);
        town.with(&mut writer, 15, |town, t, row| t.set(&town.people, row, town.age, age).unwrap());
        writer.commit().unwrap();
    }
    let mut still_at_work = town.transactions.begin(Isolation::Serializable);
    town.with(&mut still_at_work, 15, |town, t, row| t.set(&town.people, row, town.age, 30).unwrap());
    reader.commit().unwrap();
}
