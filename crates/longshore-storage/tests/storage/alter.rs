//! What an alteration is to those who work on the relation meanwhile.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::{all_types, buffers, datum, id_and_text, random_rows, relation, rows_in};
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Field, IndexKind, Isolation, KeptIndex, Memory, MergeKind, NewColumn, Relation,
    RowId, Schema, Transaction, TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

fn schema(columns: &[(&str, ColumnType, bool)]) -> Arc<Schema> {
    let columns = columns.iter().map(|(name, of, nullable)| Column::new(*name, *of, *nullable));
    Arc::new(Schema::new(columns.collect()))
}

/// A table of accounts, and all that it was.
struct Bank {
    transactions: Arc<Transactions>,
    shapes: Mutex<Vec<Arc<Relation>>>,
    memory: Arc<Memory>,
}

impl Bank {
    fn new(accounts: i64) -> Bank {
        let (transactions, memory) = (Transactions::new(), Memory::new(None));
        let columns = schema(&[("id", ColumnType::BigInt, false), ("balance", ColumnType::BigInt, true)]);
        let relation = Relation::in_database(columns, Arc::clone(&memory), &transactions).with_name("accounts");
        relation.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
        let mut transaction = transactions.begin(Isolation::Snapshot);
        for id in 0..accounts {
            transaction.insert(&relation, key![id, 100_i64]).unwrap();
        }
        transaction.commit().unwrap();
        Bank { transactions, shapes: Mutex::new(vec![Arc::new(relation)]), memory }
    }

    /// What the name stands for, for a transaction.
    fn accounts(&self, transaction: &Transaction) -> Arc<Relation> {
        let shapes = self.shapes.lock().unwrap();
        let start = transaction.view().start();
        Arc::clone(shapes.iter().rev().find(|shape| shape.is_current_at(start)).unwrap())
    }

    fn newest(&self) -> Arc<Relation> {
        Arc::clone(self.shapes.lock().unwrap().last().unwrap())
    }

    /// Adds a column behind the others, or drops the last one of more than two.
    fn alter(&self, adds: bool, patience: Duration) -> Result<(), TransactionError> {
        let before = self.newest();
        let alteration = before.begin_alteration(patience)?;
        let mut columns = before.schema().columns().to_vec();
        let mut sources: Vec<NewColumn<'_>> = (0..columns.len()).map(NewColumn::Kept).collect();
        if adds {
            columns.push(Column::new(format!("c{}", columns.len()), ColumnType::Text, false));
            sources.push(NewColumn::Filled(Datum::Text("a text that is too long for a view")));
        } else {
            columns.truncate(columns.len().saturating_sub(1).max(2));
            sources.truncate(columns.len());
        }
        let kept = [KeptIndex { from: "pk", name: "pk", columns: &[0] }];
        let after = Arc::new(alteration.reshape("accounts", &Arc::new(Schema::new(columns)), &sources, &kept)?);
        self.shapes.lock().unwrap().push(Arc::clone(&after));
        alteration.commit(&after, before);
        Ok(())
    }

    fn total(&self, transaction: &mut Transaction) -> i64 {
        let accounts = self.accounts(transaction);
        let balance: Field<i64> = accounts.column("balance").unwrap();
        let mut total = 0;
        let summed = transaction.scan(&accounts, &[], |transaction, row| {
            total += transaction.get(&accounts, row, balance)?;
            Ok(ControlFlow::Continue(()))
        });
        summed.unwrap();
        total
    }
}

fn set(transaction: &mut Transaction, accounts: &Relation, id: i64, to: i64) -> Result<(), TransactionError> {
    let pk = accounts.indexes().into_iter().next().unwrap();
    let row = transaction.find(accounts, &pk, key![id])?.unwrap();
    transaction.set(accounts, row, accounts.column::<i64>("balance")?, to)
}

#[test]
fn who_began_before_reads_what_was_and_writes_nothing() {
    let bank = Bank::new(10);
    let mut before = bank.transactions.begin(Isolation::Snapshot);
    bank.alter(true, Duration::ZERO).unwrap();
    let mut after = bank.transactions.begin(Isolation::Snapshot);
    assert_eq!(bank.accounts(&after).schema().columns().len(), 3);
    let altered = bank.accounts(&after);
    set(&mut after, &altered, 3, 700).unwrap();
    after.commit().unwrap();

    let accounts = bank.accounts(&before);
    assert_eq!(accounts.schema().columns().len(), 2);
    assert_eq!(bank.total(&mut before), 1000);
    for written in [
        set(&mut before, &accounts, 4, 5),
        before.insert(&accounts, key![77_i64, 0_i64]).map(|_| ()),
        before.truncate(&accounts),
        before.edit(&accounts, RowId(4)).map(|_| ()),
    ] {
        let error = written.unwrap_err();
        assert_eq!(error, TransactionError::Altered { relation: "accounts".to_owned(), retry: true, by: None });
        assert!(error.is_conflict());
        assert!(error.to_string().contains("accounts: it is being altered, or was since"), "{error}");
    }
    let mut late = bank.transactions.begin(Isolation::Snapshot);
    assert_eq!(bank.total(&mut late), 1600);
    assert_eq!(bank.total(&mut before), 1000);
}

#[test]
fn a_handle_of_before_is_good_for_nothing_but_reading() {
    let bank = Bank::new(10);
    let handle = bank.newest();
    bank.alter(true, Duration::ZERO).unwrap();
    let mut transaction = bank.transactions.begin(Isolation::Serializable);
    let error = set(&mut transaction, &handle, 1, 2).unwrap_err();
    assert_eq!(error, TransactionError::Altered { relation: "accounts".to_owned(), retry: false, by: None });
    assert!(!error.is_conflict(), "or it would be tried again for ever");
    assert!(!handle.create_index("i", &[1], IndexKind::Hash, Uniqueness::Multiple).unwrap_err().is_conflict());
    assert!(!handle.begin_alteration(Duration::ZERO).unwrap_err().is_conflict());
}

#[test]
fn what_is_not_committed_is_waited_for_and_given_back() {
    let bank = Bank::new(10);
    let accounts = bank.newest();
    let mut writer = bank.transactions.begin(Isolation::Snapshot);
    set(&mut writer, &accounts, 1, 7).unwrap();
    assert!(matches!(bank.alter(true, Duration::from_millis(5)), Err(TransactionError::Conflict { .. })));
    // It goes on as if nothing had been.
    set(&mut writer, &accounts, 2, 7).unwrap();
    writer.insert(&accounts, key![77_i64, 1_i64]).unwrap();
    thread::scope(|scope| {
        let altered = scope.spawn(|| bank.alter(true, Duration::from_mins(1)));
        loop {
            let mut other = bank.transactions.begin(Isolation::Snapshot);
            match set(&mut other, &accounts, 5, 7) {
                Ok(()) => other.rollback(),
                Err(error) => break assert!(matches!(error, TransactionError::Altered { retry: true, .. }), "{error}"),
            }
        }
        assert!(!altered.is_finished());
        writer.commit().unwrap();
        altered.join().unwrap().unwrap();
    });
    let mut reader = bank.transactions.begin_read_only(Isolation::Snapshot);
    assert_eq!(bank.accounts(&reader).schema().columns().len(), 3);
    assert_eq!((bank.accounts(&reader).snapshot().rows(), bank.total(&mut reader)), (11, 815));
}

#[test]
fn an_append_under_way_keeps_it_waiting() {
    let bank = Bank::new(1);
    let accounts = bank.newest();
    let append = accounts.begin_append(MergeKind::Chunk);
    let error = bank.alter(true, Duration::ZERO).unwrap_err();
    assert_eq!(error, TransactionError::Appending { relation: "accounts".to_owned() });
    append.commit().unwrap();
    bank.alter(true, Duration::ZERO).unwrap();
    let late = accounts.begin_append(MergeKind::Chunk);
    // Without rows there is nothing to refuse.
    assert_eq!(late.commit(), Ok(0));
}

#[test]
fn what_a_writer_has_read_of_before_is_answered_for() {
    let bank = Bank::new(10);
    let others = Relation::in_database(
        schema(&[("id", ColumnType::BigInt, false)]),
        Arc::clone(&bank.memory),
        &bank.transactions,
    );
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let mut writer = bank.transactions.begin(isolation);
        let mut reader = bank.transactions.begin(isolation);
        let (mut pure, mut blind) = (bank.transactions.begin_read_only(isolation), bank.transactions.begin(isolation));
        bank.total(&mut writer);
        bank.total(&mut reader);
        bank.total(&mut pure);
        bank.alter(isolation == Isolation::Serializable, Duration::ZERO).unwrap();
        writer.insert(&others, key![1_i64]).unwrap();
        blind.insert(&others, key![2_i64]).unwrap();
        let committed = writer.commit();
        assert_eq!(committed.is_err(), isolation == Isolation::Serializable);
        assert!(committed.is_ok_and(|_| true) || isolation == Isolation::Serializable);
        reader.commit().unwrap();
        pure.commit().unwrap();
        blind.commit().unwrap();
    }
}

#[test]
fn what_was_before_is_kept_as_long_as_somebody_may_read_it() {
    let bank = Bank::new(10);
    let reader = bank.transactions.begin_read_only(Isolation::Snapshot);
    let before = Arc::downgrade(&bank.newest());
    bank.alter(true, Duration::ZERO).unwrap();
    bank.shapes.lock().unwrap().remove(0);
    assert!(before.upgrade().is_some_and(|before| before.is_current_at(reader.view().start())));
    let later = bank.transactions.begin_read_only(Isolation::Snapshot);
    drop(reader);
    assert!(before.upgrade().is_none());
    drop(later);
}

#[test]
fn a_new_column_shares_its_memory() {
    let bank = Bank::new(200_000);
    let before = bank.newest();
    let used = bank.memory.used();
    let alteration = before.begin_alteration(Duration::ZERO).unwrap();
    let mut columns = before.schema().columns().to_vec();
    columns.push(Column::new("rate", ColumnType::Double, true));
    columns.push(Column::new("note", ColumnType::Text, true));
    let sources =
        [NewColumn::Kept(0), NewColumn::Kept(1), NewColumn::Filled(Datum::F64(0.5)), NewColumn::Filled(Datum::Null)];
    let kept = [KeptIndex { from: "pk", name: "pk", columns: &[0] }];
    let after = alteration.reshape("accounts", &Arc::new(Schema::new(columns)), &sources, &kept).unwrap();
    alteration.commit(&after, Arc::new(()));
    // Of 65,536 rows 24 bytes, and not of 200,000.
    let new = bank.memory.used() - used;
    assert!(new < 3 << 20, "{new} bytes");
    let mut transaction = bank.transactions.begin(Isolation::Snapshot);
    let pk = after.indexes().remove(0);
    let row = transaction.find(&after, &pk, key![150_000_i64]).unwrap().unwrap();
    let rate: Field<f64> = after.column("rate").unwrap();
    transaction.set(&after, row, rate, 2.5).unwrap();
    let other = transaction.find(&after, &pk, key![1_i64]).unwrap().unwrap();
    assert_eq!(transaction.get(&after, other, rate), Ok(0.5));
    assert_eq!(transaction.get(&after, row, rate), Ok(2.5));
    assert_eq!(before.snapshot().rows(), 200_000);
}

#[test]
fn rows_that_are_null_are_told_of() {
    let bank = Bank::new(3);
    let accounts = bank.newest();
    let mut transaction = bank.transactions.begin(Isolation::Snapshot);
    transaction.insert(&accounts, &[Datum::I64(7), Datum::Null]).unwrap();
    transaction.commit().unwrap();
    let not_null = schema(&[("id", ColumnType::BigInt, false), ("balance", ColumnType::BigInt, false)]);
    let alteration = accounts.begin_alteration(Duration::ZERO).unwrap();
    let refused = alteration.reshape("accounts", &not_null, &[NewColumn::Kept(0), NewColumn::Kept(1)], &[]);
    let error = refused.unwrap_err().to_string();
    assert_eq!(
        error,
        "column balance of accounts cannot be NOT NULL: it is NULL in row 0:3, (7, NULL); update that first"
    );
    drop(alteration);
    // A row that is dead does not matter.
    let mut transaction = bank.transactions.begin(Isolation::Snapshot);
    let row = transaction.find(&accounts, &accounts.indexes()[0], key![7_i64]).unwrap().unwrap();
    transaction.delete(&accounts, row).unwrap();
    transaction.commit().unwrap();
    let alteration = accounts.begin_alteration(Duration::ZERO).unwrap();
    let sources = [NewColumn::Kept(0), NewColumn::Kept(1)];
    let after = alteration.reshape("accounts", &not_null, &sources, &[]).unwrap();
    assert_eq!(after.snapshot().chunks()[0].batch(&[0, 1], 0, 3).num_rows(), 3);
    assert_eq!(after.snapshot().pieces()[0].chunk().batch(&[0, 1], 0, 4).num_rows(), 4);
}

/// Threads move money between accounts, add to them and read them, while the table is altered again and again.
#[test]
fn no_update_is_lost_while_others_alter() {
    const ACCOUNTS: i64 = 50;
    let bank = Bank::new(ACCOUNTS);
    let (is_done, added, conflicts) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for worker in 0..3_i64 {
            let (bank, is_done, added, conflicts) = (&bank, &is_done, &added, &conflicts);
            scope.spawn(move || {
                let mut turn = worker;
                while !is_done.load(Ordering::Relaxed) {
                    turn += 7;
                    let isolation = [Isolation::Serializable, Isolation::Snapshot][turn as usize % 2];
                    let mut transaction = bank.transactions.begin(isolation);
                    let accounts = bank.accounts(&transaction);
                    let balance: Field<i64> = accounts.column("balance").unwrap();
                    let pk = accounts.indexes().remove(0);
                    let mut run = || -> Result<(), TransactionError> {
                        let [from, to] = [turn % ACCOUNTS, turn * 3 % ACCOUNTS];
                        let from = transaction.find(&accounts, &pk, key![from])?.unwrap();
                        let to = transaction.find(&accounts, &pk, key![to])?.unwrap();
                        let taken = transaction.get(&accounts, from, balance)?;
                        transaction.set(&accounts, from, balance, taken - 1)?;
                        let had = transaction.get(&accounts, to, balance)?;
                        transaction.set(&accounts, to, balance, had + 2)
                    };
                    let done = run().and_then(|()| Ok(transaction.commit()?));
                    match done {
                        Ok(_) => drop(added.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => {
                            assert!(error.is_conflict(), "{error}");
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut last = 0;
            while !is_done.load(Ordering::Relaxed) {
                let mut reader = bank.transactions.begin_read_only(Isolation::Snapshot);
                let (first, again) = (bank.total(&mut reader), bank.total(&mut reader));
                assert_eq!(first, again, "a snapshot stays");
                assert!(first >= last, "commits do not go away");
                last = first;
            }
        });
        for turn in 0..150 {
            bank.alter(turn % 5 != 4, Duration::from_mins(1)).unwrap();
            thread::sleep(Duration::from_micros(300));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let mut reader = bank.transactions.begin_read_only(Isolation::Snapshot);
    let added = added.into_inner();
    assert_eq!(bank.total(&mut reader), 100 * ACCOUNTS + added as i64);
    assert!(added > 100, "{added} commits, {} conflicts", conflicts.into_inner());
}

/// Bytes that are no text must not become one.
#[test]
#[should_panic(expected = "values of BYTEA b stay as they are stored, which is not as TEXT is")]
fn bytes_are_not_kept_as_text() {
    let column = |column_type| Arc::new(Schema::new(vec![Column::new("b", column_type, false)]));
    let relation = Relation::new(column(ColumnType::Bytea), Memory::new(None));
    let alteration = relation.begin_alteration(Duration::from_secs(1)).unwrap();
    let _ = alteration.reshape("t", &column(ColumnType::Text), &[NewColumn::Kept(0)], &[]);
}

#[test]
fn a_column_of_every_type_is_added_with_every_value() {
    let mut random = Random::new(7);
    let schema = id_and_text();
    let types = all_types();
    // All but the id.
    let count = types.columns().len() - 1;
    let relation = relation(&schema);
    let rows = random_rows(&mut random, &schema, 0, 70_000);
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, buffers(&schema, &rows, &mut arena)).unwrap();
    append.commit().unwrap();
    let mut columns = schema.columns().to_vec();
    columns.extend(types.columns()[..count].iter().cloned());
    let values = random_rows(&mut random, &types, 0, 1).remove(0);
    let mut sources = vec![NewColumn::Kept(0), NewColumn::Kept(1)];
    sources.extend(
        types.columns()[..count]
            .iter()
            .zip(&values)
            .map(|(column, value)| NewColumn::Filled(datum(value, column.column_type))),
    );
    let alteration = relation.begin_alteration(Duration::ZERO).unwrap();
    let after = alteration.reshape("t", &Arc::new(Schema::new(columns)), &sources, &[]).unwrap();
    alteration.commit(&after, Arc::new(()));
    let expected = rows.into_iter().map(|mut row| {
        row.extend(values[..count].iter().cloned());
        row
    });
    assert!(rows_in(&after.snapshot()).into_iter().eq(expected));
    assert_eq!(ColumnType::Text, columns_of(&after)[1]);
}

fn columns_of(relation: &Relation) -> Vec<ColumnType> {
    relation.schema().columns().iter().map(|column| column.column_type).collect()
}
