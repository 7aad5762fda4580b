//! What a serializable transaction that reads through indexes is and is not stopped by.

use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, Direction, Field, Index, IndexKind, Isolation, Memory, Relation, RowId, Schema, Transaction,
    TransactionError, Transactions, Uniqueness, key,
};

/// Orders that wait, by district and number.
struct Queue {
    transactions: Arc<Transactions>,
    orders: Relation,
    log: Relation,
    pk: Arc<Index>,
    by_customer: Arc<Index>,
    number: Field<i32>,
    amount: Field<i32>,
}

impl Queue {
    fn new() -> Queue {
        let transactions = Transactions::new();
        let relation = |name: &str, columns: &[&str]| {
            let columns = columns.iter().map(|name| Column::new(*name, ColumnType::Integer, false)).collect();
            Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions).with_name(name)
        };
        let orders = relation("orders", &["number", "district", "customer", "amount"]);
        let log = relation("log", &["id"]);
        let pk = orders.create_index("orders_pk", &[1, 0], IndexKind::Art, Uniqueness::Unique).unwrap();
        let by_customer = orders.create_index("by_customer", &[2], IndexKind::Hash, Uniqueness::Multiple).unwrap();
        let (number, amount) = (orders.column("number").unwrap(), orders.column("amount").unwrap());
        let queue = Queue { transactions, orders, log, pk, by_customer, number, amount };
        let mut setup = queue.transactions.begin(Isolation::Snapshot);
        for district in 1..=3 {
            for number in [10, 20, 30] {
                queue.order(&mut setup, district, number);
            }
        }
        setup.commit().unwrap();
        queue
    }

    /// An order, of the customer with ten times the number of the district.
    fn order(&self, t: &mut Transaction, district: i32, number: i32) {
        t.insert(&self.orders, key![number, district, district * 10, 1]).unwrap();
    }

    /// Goes through a district until the closure has enough.
    fn follow(
        &self,
        t: &mut Transaction,
        district: i32,
        direction: Direction,
        visit: impl FnMut(&mut Transaction, RowId) -> Result<ControlFlow<()>, TransactionError>,
    ) {
        t.range(&self.orders, &self.pk, key![district]..=key![district], direction, visit).unwrap();
    }

    /// Whether who reads, and then writes somewhere else, is stopped by what another one does in between.
    fn stops(
        &self,
        read: impl FnOnce(&Queue, &mut Transaction),
        meanwhile: impl FnOnce(&Queue, &mut Transaction),
    ) -> bool {
        let mut reader = self.transactions.begin(Isolation::Serializable);
        read(self, &mut reader);
        reader.insert(&self.log, key![1]).unwrap();
        let mut writer = self.transactions.begin(Isolation::Serializable);
        meanwhile(self, &mut writer);
        writer.commit().unwrap();
        reader.commit().is_err()
    }
}

/// Finds an order, and does nothing with it.
fn find(district: i32, number: i32) -> impl Fn(&Queue, &mut Transaction) {
    move |queue, t| {
        t.find(&queue.orders, &queue.pk, key![district, number]).unwrap();
    }
}

fn order(district: i32, number: i32) -> impl FnOnce(&Queue, &mut Transaction) {
    move |queue, t| queue.order(t, district, number)
}

fn delete(district: i32, number: i32) -> impl FnOnce(&Queue, &mut Transaction) {
    move |queue, t| {
        let row = t.find(&queue.orders, &queue.pk, key![district, number]).unwrap().unwrap();
        t.delete(&queue.orders, row).unwrap();
    }
}

/// Reads the number of the order at one end of a district.
fn end(district: i32, direction: Direction) -> impl FnOnce(&Queue, &mut Transaction) {
    move |queue, t| {
        queue.follow(t, district, direction, |t, row| {
            t.get(&queue.orders, row, queue.number)?;
            Ok(ControlFlow::Break(()))
        });
    }
}

#[test]
fn a_lookup_minds_its_key_only() {
    let queue = Queue::new();
    assert!(queue.stops(find(1, 15), order(1, 15)), "a phantom");
    assert!(!queue.stops(find(1, 16), order(1, 17)));
    assert!(!queue.stops(find(1, 16), order(2, 16)));
    assert!(queue.stops(find(1, 15), delete(1, 15)));
    // Who looks it up and reads no more does not mind what the order amounts to.
    let raise = |queue: &Queue, t: &mut Transaction| {
        let row = t.find(&queue.orders, &queue.pk, key![1, 10]).unwrap().unwrap();
        t.set(&queue.orders, row, queue.amount, 5).unwrap();
    };
    assert!(!queue.stops(find(1, 10), raise));
    let amount = |queue: &Queue, t: &mut Transaction| {
        let row = t.find(&queue.orders, &queue.pk, key![1, 10]).unwrap().unwrap();
        t.get(&queue.orders, row, queue.amount).unwrap();
    };
    assert!(queue.stops(amount, raise));
}

#[test]
fn the_first_of_a_range_does_not_mind_what_is_behind_it() {
    let queue = Queue::new();
    assert!(!queue.stops(end(1, Direction::Forward), order(1, 15)));
    assert!(queue.stops(end(1, Direction::Forward), order(1, 5)));
    assert!(!queue.stops(end(1, Direction::Backward), order(1, 7)));
    assert!(queue.stops(end(1, Direction::Backward), order(1, 40)));
    assert!(!queue.stops(end(1, Direction::Forward), order(2, 1)));
    assert!(queue.stops(end(3, Direction::Forward), delete(3, 10)));
    // Nothing is there: the whole range is what was read.
    assert!(queue.stops(end(9, Direction::Forward), order(9, 1_000)));
}

#[test]
fn who_takes_the_first_of_a_range_away_minds_the_whole_range() {
    let take = |queue: &Queue, t: &mut Transaction| {
        queue.follow(t, 1, Direction::Forward, |t, row| {
            t.delete(&queue.orders, row)?;
            Ok(ControlFlow::Break(()))
        });
    };
    assert!(Queue::new().stops(take, order(1, 5)));
    assert!(!Queue::new().stops(take, order(2, 5)));
}

#[test]
fn rows_of_one_key_are_read_together() {
    let customer = |customer: i32| {
        move |queue: &Queue, t: &mut Transaction| {
            t.find_all(&queue.orders, &queue.by_customer, key![customer]).unwrap();
        }
    };
    let queue = Queue::new();
    assert!(queue.stops(customer(20), order(2, 99)));
    assert!(!queue.stops(customer(20), order(3, 99)));
    let moved = |queue: &Queue, t: &mut Transaction| {
        let row = t.find(&queue.orders, &queue.pk, key![1, 20]).unwrap().unwrap();
        t.update(&queue.orders, row, &[(2, 20.into())]).unwrap();
    };
    assert!(queue.stops(customer(20), moved));
}

#[test]
fn thousands_of_lookups_are_minded_too() {
    let queue = Queue::new();
    let lookups = |queue: &Queue, t: &mut Transaction| {
        for number in 0..5_000 {
            find(7, number * 2)(queue, t);
        }
    };
    assert!(queue.stops(lookups, order(7, 4_000)));
    assert!(!queue.stops(lookups, order(8, 4_000)));
    assert!(!queue.stops(lookups, order(7, 1_000_000)));
}

#[test]
fn an_insert_that_finds_its_key_taken_has_read_it() {
    let queue = Queue::new();
    let insert = |queue: &Queue, t: &mut Transaction| {
        let taken = t.insert(&queue.orders, key![30, 2, 20, 1]);
        assert!(matches!(taken, Err(TransactionError::Duplicate { .. })));
    };
    assert!(queue.stops(insert, delete(2, 30)));
    let queue = Queue::new();
    assert!(!queue.stops(insert, delete(2, 20)));
}
