//! Statements at READ COMMITTED in several threads: they wait, run again on a new snapshot, and lose nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use longshore_storage::{
    Column, ColumnType, CommitError, ConflictKind, Contention, Field, Index, IndexKind, Isolation, Memory,
    ReferenceAction, ReferenceMatch, ReferenceRules, ReferenceTiming, Relation, RowId, RowLock, Schema, Transaction,
    TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

struct Accounts {
    transactions: Arc<Transactions>,
    relation: Relation,
    pk: Arc<Index>,
    balance: Field<i64>,
}

impl Accounts {
    fn new(rows: i64) -> Arc<Accounts> {
        let transactions = Transactions::new();
        let relation = relation(&transactions, "accounts");
        let pk = relation.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
        let balance = relation.column("balance").unwrap();
        let mut first = transactions.begin(Isolation::Snapshot);
        for id in 0..rows {
            first.insert(&relation, key![id, 100_i64]).unwrap();
        }
        first.commit().unwrap();
        Arc::new(Accounts { transactions, relation, pk, balance })
    }

    fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::ReadCommitted)
    }

    fn row(&self, t: &mut Transaction, id: i64) -> RowId {
        t.find(&self.relation, &self.pk, key![id]).unwrap().expect("an account")
    }

    fn add(&self, t: &mut Transaction, id: i64, amount: i64) -> Result<(), TransactionError> {
        t.statement(|t| {
            let row = self.row(t, id);
            let balance = t.get(&self.relation, row, self.balance)?;
            t.set(&self.relation, row, self.balance, balance + amount)
        })
    }

    fn balance(&self, id: i64) -> i64 {
        let mut t = self.transactions.begin_read_only(Isolation::Snapshot);
        let row = self.row(&mut t, id);
        t.get(&self.relation, row, self.balance).unwrap()
    }
}

fn relation(transactions: &Arc<Transactions>, name: &str) -> Relation {
    let columns = vec![Column::new("id", ColumnType::BigInt, false), Column::new("balance", ColumnType::BigInt, true)];
    Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), transactions).with_name(name)
}

#[test]
fn no_addition_is_lost() {
    let accounts = Accounts::new(2);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut t = accounts.begin();
                    accounts.add(&mut t, 0, 1).unwrap();
                    accounts.add(&mut t, 0, 1).unwrap();
                    t.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(accounts.balance(0), 100 + 4 * 500 * 2);
}

#[test]
fn transfers_keep_the_sum_and_deadlocks_are_told() {
    let accounts = Accounts::new(4);
    let deadlocks = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..4 {
            let (accounts, deadlocks) = (&accounts, &deadlocks);
            scope.spawn(move || {
                let mut random = Random::new(number);
                for _ in 0..2_000 {
                    let from = random.below(4) as i64;
                    let to = (from + 1 + random.below(3) as i64) % 4;
                    let mut t = accounts.begin();
                    let mut done = accounts.add(&mut t, from, -1);
                    if random.below(4) == 0 {
                        thread::yield_now();
                    }
                    done = done.and_then(|()| accounts.add(&mut t, to, 1));
                    match done {
                        Ok(()) => drop(t.commit().unwrap()),
                        Err(TransactionError::Deadlock) => {
                            deadlocks.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!((0..4).map(|id| accounts.balance(id)).sum::<i64>(), 400);
    assert!(deadlocks.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_statement_sees_what_is_committed_when_it_begins() {
    let accounts = Accounts::new(1);
    let (mut one, mut two) = (accounts.begin(), accounts.begin());
    one.begin_statement().unwrap();
    accounts.add(&mut two, 0, 5).unwrap();
    two.commit().unwrap();
    let row = accounts.row(&mut one, 0);
    assert_eq!(one.get(&accounts.relation, row, accounts.balance), Ok(100), "the statement goes on");
    let error = one.set(&accounts.relation, row, accounts.balance, 1).unwrap_err();
    assert_eq!(error.contention(), Some(Contention::Changed));
    one.begin_statement().unwrap();
    assert_eq!(one.get(&accounts.relation, row, accounts.balance), Ok(105));
    // What it has changed itself stays when a later statement is undone.
    accounts.add(&mut one, 0, 10).unwrap();
    let before = one.begin_statement().unwrap();
    one.set(&accounts.relation, row, accounts.balance, 1).unwrap();
    one.rollback_to(before);
    assert_eq!(one.get(&accounts.relation, row, accounts.balance), Ok(115));
    one.commit().unwrap();
    assert_eq!(accounts.balance(0), 115);
}

#[test]
fn locks_keep_rows_from_those_who_would_change_them() {
    let accounts = Accounts::new(2);
    for lock in [RowLock::KeyShare, RowLock::Share, RowLock::NoKeyUpdate, RowLock::Update] {
        let (mut one, mut two) = (accounts.begin(), accounts.transactions.begin(Isolation::Snapshot));
        let row = accounts.row(&mut one, 0);
        let savepoint = one.savepoint();
        one.lock_row(&accounts.relation, row, lock).unwrap();
        let locked = Some(Contention::Locked(one.owner()));
        for other in [RowLock::KeyShare, RowLock::Share, RowLock::NoKeyUpdate, RowLock::Update] {
            let taken = two.lock_row(&accounts.relation, row, other);
            assert_eq!(taken.is_err(), lock.conflicts(other), "{lock:?} {other:?}");
            two.rollback();
            two = accounts.transactions.begin(Isolation::Snapshot);
        }
        let set = two.set(&accounts.relation, row, accounts.balance, 1);
        assert_eq!(set.err().and_then(|error| error.contention()), locked.filter(|_| lock != RowLock::KeyShare));
        let deleted = two.delete(&accounts.relation, row).unwrap_err();
        assert_eq!(deleted.contention(), locked, "{lock:?}");
        assert_eq!(two.truncate(&accounts.relation).unwrap_err().contention(), locked, "{lock:?}");
        two.rollback();
        let mut other = accounts.transactions.begin(Isolation::Snapshot);
        let free = accounts.row(&mut other, 1);
        other.set(&accounts.relation, free, accounts.balance, 2).unwrap();
        one.rollback_to(savepoint);
        other.delete(&accounts.relation, row).unwrap();
        // A change is a lock, too.
        let changed = one.lock_row(&accounts.relation, row, RowLock::KeyShare).unwrap_err();
        assert!(matches!(changed, TransactionError::Conflict { kind: ConflictKind::Uncommitted(Some(_)), .. }));
        let changed = one.lock_row(&accounts.relation, free, RowLock::Share).unwrap_err();
        assert_eq!(changed.contention(), Some(Contention::Changing(other.owner())));
        one.lock_row(&accounts.relation, free, RowLock::KeyShare).unwrap();
    }
}

/// A relation whose `balance` refers to accounts.
fn cards(accounts: &Accounts, timing: ReferenceTiming, on_delete: ReferenceAction) -> Relation {
    let cards = relation(&accounts.transactions, "cards");
    let rules = ReferenceRules {
        name: "fkey".to_owned(),
        columns: vec![(1, 0)],
        matching: ReferenceMatch::Simple,
        timing,
        on_delete,
        on_update: ReferenceAction::NoAction,
        defaults: None,
    };
    cards.add_foreign_key(rules, &accounts.relation, &accounts.pk, false).unwrap();
    cards
}

#[test]
fn a_row_that_refers_since_a_statement_began_is_seen_by_its_foreign_keys() {
    for (timing, on_delete) in [
        (ReferenceTiming::Immediate, ReferenceAction::NoAction),
        (ReferenceTiming::Deferred, ReferenceAction::NoAction),
        (ReferenceTiming::Immediate, ReferenceAction::Cascade),
    ] {
        let accounts = Accounts::new(1);
        let cards = cards(&accounts, timing, on_delete);
        let mut is_first = true;
        let mut t = accounts.begin();
        let deleted = t.statement(|t| {
            let row = accounts.row(t, 0);
            if std::mem::take(&mut is_first) {
                let mut other = accounts.begin();
                other.statement(|other| other.insert(&cards, key![1_i64, 0_i64])).unwrap();
                other.commit().unwrap();
            }
            t.delete(&accounts.relation, row)?;
            t.run_foreign_key_actions().map(drop)
        });
        let is_told = |error: &TransactionError| matches!(error, TransactionError::ForeignKey(_));
        match (timing, on_delete) {
            (ReferenceTiming::Deferred, _) => {
                deleted.unwrap();
                let CommitError::Failed(error) = t.commit().unwrap_err() else { panic!("no foreign key") };
                assert!(is_told(&error), "{error}");
            }
            (_, ReferenceAction::NoAction) => {
                assert!(is_told(&deleted.unwrap_err()));
                t.begin_statement().unwrap();
                t.commit().unwrap();
            }
            _ => {
                deleted.unwrap();
                t.commit().unwrap();
                let mut t = accounts.transactions.begin_read_only(Isolation::Snapshot);
                t.scan(&cards, &[], |_, _| panic!("the card went with its account")).unwrap();
            }
        }
    }
}

#[test]
fn rows_that_new_rows_refer_to_stay() {
    let accounts = Accounts::new(50);
    let cards = cards(&accounts, ReferenceTiming::Immediate, ReferenceAction::NoAction);
    thread::scope(|scope| {
        for number in 0..4_i64 {
            let (accounts, cards) = (&accounts, &cards);
            scope.spawn(move || {
                let mut random = Random::new(number as u64);
                for _ in 0..300 {
                    let id = random.below(50) as i64;
                    let mut t = accounts.begin();
                    let done = t.statement(|t| {
                        if number % 2 == 0 {
                            t.insert(cards, key![number, id])?;
                        } else if let Some(row) = t.find(&accounts.relation, &accounts.pk, key![id])? {
                            t.delete(&accounts.relation, row)?;
                        } else {
                            t.insert(&accounts.relation, key![id, 0_i64])?;
                        }
                        t.run_foreign_key_actions().map(drop)
                    });
                    match done {
                        Ok(()) => drop(t.commit().unwrap()),
                        Err(
                            TransactionError::ForeignKey(_)
                            | TransactionError::Duplicate { .. }
                            | TransactionError::Deadlock,
                        ) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let mut t = accounts.transactions.begin_read_only(Isolation::Snapshot);
    let balance = cards.column::<i64>("balance").unwrap();
    let mut of = Vec::new();
    t.scan(&cards, &[], |t, row| {
        of.push(t.get(&cards, row, balance)?);
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    assert!(!of.is_empty());
    for id in of {
        let _ = accounts.row(&mut t, id);
    }
}
