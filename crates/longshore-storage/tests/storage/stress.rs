//! Several threads at once: what holds for every state that anybody may see.
//!
//! Accounts change hands in transfers, which leave the sum as it is; some are closed and opened again under another
//! owner; batches of empty accounts are appended and removed. Readers add up what they see, by snapshots and row by row.
//! Run under the thread sanitizer, this is also the test that nobody writes what another reads.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use longshore_storage::{
    Arena, Column, ColumnType, Direction, Field, Freeze, Index, IndexKind, Isolation, Memory, MergeKind,
    PartitionBuffer, Relation, Schema, Snapshot, Transaction, TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

const ACCOUNTS: i64 = 600;
const TOTAL: i64 = ACCOUNTS * 100;

struct Bank {
    transactions: Arc<Transactions>,
    accounts: Relation,
    pk: Arc<Index>,
    id: Field<i64>,
    balance: Field<i64>,
    owner: Field<&'static str>,
    commits: AtomicU64,
}

impl Bank {
    fn new() -> Bank {
        let schema = Schema::new(vec![
            Column::new("id", ColumnType::BigInt, false),
            Column::new("balance", ColumnType::BigInt, false),
            Column::new("owner", ColumnType::Text, true),
        ]);
        let transactions = Transactions::new();
        let accounts = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions).with_name("accounts");
        let pk = accounts.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
        let (id, balance) = (accounts.column("id").unwrap(), accounts.column("balance").unwrap());
        let owner = accounts.column::<&str>("owner").unwrap();
        let bank = Bank { transactions, accounts, pk, id, balance, owner, commits: AtomicU64::new(0) };
        let mut first = bank.transactions.begin(Isolation::Serializable);
        for id in 0..ACCOUNTS {
            first.insert(&bank.accounts, key![id, 100_i64, &owner_of(id, 100)]).unwrap();
        }
        first.commit().unwrap();
        bank
    }

    /// Takes from one account and gives to another, and says so in the owners' texts.
    fn transfer(&self, random: &mut Random) {
        let (from, to) = (random.below(ACCOUNTS as usize) as i64, random.below(ACCOUNTS as usize) as i64);
        let amount = random.below(9) as i64;
        let moves = random.below(4) == 0;
        let transferred = self.transactions.retry(Isolation::Serializable, |t| {
            for (id, change) in [(from, -amount), (to, amount)] {
                let row = t.find(&self.accounts, &self.pk, key![id])?.expect("accounts are always there");
                let balance = t.get(&self.accounts, row, self.balance)? + change;
                if moves {
                    t.delete(&self.accounts, row)?;
                    t.insert(&self.accounts, key![id, balance, &owner_of(id, balance)])?;
                } else {
                    t.set(&self.accounts, row, self.balance, balance)?;
                    t.set(&self.accounts, row, self.owner, &owner_of(id, balance))?;
                }
            }
            if amount == 8 { Err(TransactionError::Abandoned) } else { Ok(()) }
        });
        assert!(matches!(transferred, Ok(()) | Err(TransactionError::Abandoned)), "{transferred:?}");
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Appends empty accounts and removes those that were appended before.
    fn append(&self, random: &mut Random, round: i64) {
        let first = ACCOUNTS + round * 10_000;
        let count = 1 + random.below(if round % 8 == 0 { 9_000 } else { 50 }) as i64;
        let ids: Vec<i64> = (first..first + count).collect();
        let owners: Vec<String> = ids.iter().map(|&id| owner_of(id, 0)).collect();
        let arrays: [arrow_array::ArrayRef; 3] = [
            Arc::new(arrow_array::Int64Array::from(ids)),
            Arc::new(arrow_array::Int64Array::from(vec![0; count as usize])),
            Arc::new(arrow_array::StringViewArray::from_iter_values(&owners)),
        ];
        let batch = arrow_array::RecordBatch::try_new(self.accounts.schema().arrow(), arrays.to_vec()).unwrap();
        let mut arena = Arena::new(Arc::clone(self.accounts.memory()), 1 << 20);
        let buffers = PartitionBuffer::from_batch(self.accounts.schema(), &batch, &mut arena).unwrap();
        let append = self.accounts.begin_append([MergeKind::Chunk, MergeKind::Copy][round as usize % 2]);
        append.merge(0, buffers).unwrap();
        assert_eq!(append.commit().expect("no duplicates"), count as u64);
        self.transactions
            .retry(Isolation::Snapshot, |t| {
                let mut appended = Vec::new();
                t.range(&self.accounts, &self.pk, key![ACCOUNTS].., Direction::Backward, |_, row| {
                    appended.push(row);
                    Ok(ControlFlow::Continue(()))
                })?;
                appended.iter().try_for_each(|&row| t.delete(&self.accounts, row))
            })
            .unwrap();
    }

    /// Adds up what a snapshot shows, by its pieces or by its chunks.
    fn check(&self, snapshot: &Snapshot, by_pieces: bool) {
        let (mut total, mut accounts) = (0, 0);
        let mut add = |ids: &dyn arrow_array::Array,
                       balances: &dyn arrow_array::Array,
                       owners: &dyn arrow_array::Array,
                       seen: &dyn Fn(usize) -> bool| {
            let (ids, balances) = (ids.as_primitive::<Int64Type>(), balances.as_primitive::<Int64Type>());
            let owners = owners.as_string_view();
            for row in (0..ids.len()).filter(|&row| seen(row)) {
                let (id, balance) = (ids.value(row), balances.value(row));
                assert_eq!(owners.value(row), owner_of(id, balance), "a row is seen as it was at one moment");
                total += balance;
                accounts += i64::from(id < ACCOUNTS);
            }
        };
        if by_pieces {
            for piece in snapshot.pieces() {
                let [ids, balances, owners] = [0, 1, 2].map(|column| piece.array(column, 0, piece.rows()));
                let visible = piece.visible(0, piece.rows());
                add(&ids, &balances, &owners, &|row| visible.as_ref().is_none_or(|bits| bits.value(row)));
            }
        } else {
            for chunk in snapshot.chunks() {
                let [ids, balances, owners] = [0, 1, 2].map(|column| chunk.array(column, 0, chunk.rows()));
                add(&ids, &balances, &owners, &|_| true);
            }
        }
        assert_eq!((total, accounts), (TOTAL, ACCOUNTS));
        assert_eq!(snapshot.statistics(self.id.column()).row_count, snapshot.rows());
    }

    /// Adds up what a transaction finds by the index.
    fn check_by_key(&self, t: &mut Transaction) {
        let mut total = 0;
        let mut owner = String::new();
        for id in 0..ACCOUNTS {
            let row = t.find(&self.accounts, &self.pk, key![id]).unwrap().expect("accounts are always there");
            let balance = t.get(&self.accounts, row, self.balance).unwrap();
            owner.clear();
            assert!(t.get_text(&self.accounts, row, self.owner, &mut owner).unwrap());
            assert_eq!(owner, owner_of(id, balance));
            total += balance;
        }
        assert_eq!(total, TOTAL);
    }
}

/// A text that says what the row says; long for some.
fn owner_of(id: i64, balance: i64) -> String {
    format!("{id} {balance}{}", " and some more".repeat(id as usize % 3))
}

#[test]
fn sums_hold_whoever_looks() {
    let bank = Bank::new();
    let (bank, done) = (&bank, AtomicBool::new(false));
    let end = Instant::now() + Duration::from_millis(1200);
    std::thread::scope(|scope| {
        let done = &done;
        for seed in 0..2 {
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while !done.load(Ordering::Relaxed) {
                    bank.transfer(&mut random);
                }
            });
        }
        scope.spawn(move || {
            let mut random = Random::new(7);
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                bank.append(&mut random, round);
                bank.accounts
                    .freeze(random.pick(&[Freeze::All, Freeze::Unchanged]), 1 << random.below(16), &|| false)
                    .unwrap();
            }
        });
        let mut held: Option<Arc<Snapshot>> = None;
        for round in 0.. {
            bank.check(&bank.accounts.snapshot(), round % 2 == 0);
            let mut reader = bank.transactions.begin_read_only(Isolation::Serializable);
            bank.check_by_key(&mut reader);
            bank.check(&reader.snapshot(&bank.accounts), round % 3 == 0);
            if let Some(held) = held.replace(reader.snapshot(&bank.accounts)) {
                bank.check(&held, true);
            }
            bank.check_by_key(&mut reader);
            if Instant::now() > end {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    bank.check(&bank.accounts.snapshot(), true);
    assert!(bank.commits.load(Ordering::Relaxed) > 10, "the writers got on");
    assert_eq!(bank.pk.rows() as u64, bank.accounts.snapshot().rows());
}
