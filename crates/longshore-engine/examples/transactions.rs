//! Transfers money in transactions written in Rust, which run again after a conflict.

use std::sync::Arc;
use std::thread;

use longshore_engine::typed::{Field, Index, Table, Transaction};
use longshore_engine::{Config, Database, Error, Isolation, key};

/// Why there was no transfer.
#[derive(Debug)]
pub(crate) enum Refused {
    NoAccount(i32),
    TooLittle(i64),
    Database(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Database(error)
    }
}

/// What a transfer works with: names and types are checked when it is made.
struct Accounts {
    table: Table,
    by_id: Index,
    /// A `DECIMAL(12,2)` is an `i64` without the point: cents.
    balance: Field<i64>,
}

impl Accounts {
    fn of(database: &Arc<Database>) -> Result<Accounts, Error> {
        let table = database.table("accounts")?;
        let (by_id, balance) = (table.primary_key()?, table.column("balance")?);
        Ok(Accounts { table, by_id, balance })
    }

    fn transfer(&self, t: &mut Transaction, from: i32, to: i32, cents: i64) -> Result<(), Refused> {
        let giver = t.find(&self.by_id, key![from])?.ok_or(Refused::NoAccount(from))?;
        let taker = t.find(&self.by_id, key![to])?.ok_or(Refused::NoAccount(to))?;
        let held = t.get(&self.table, giver, self.balance)?;
        if held < cents {
            return Err(Refused::TooLittle(held));
        }
        t.set(&self.table, giver, self.balance, held - cents)?;
        let held = t.get(&self.table, taker, self.balance)?;
        t.set(&self.table, taker, self.balance, held + cents)?;
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    match runtime.block_on(run()) {
        Ok(()) => Ok(()),
        Err(Refused::Database(error)) => Err(error),
        Err(refused) => panic!("{refused:?}"),
    }
}

pub(crate) async fn run() -> Result<(), Refused> {
    let database = Database::open(Config::default())?;
    let mut session = database.session();
    session.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance DECIMAL(12,2) NOT NULL)").await?;
    session.execute("INSERT INTO accounts VALUES (1, 100), (2, 100)").await?;

    // Two threads change the same rows. `retry` commits, or runs the closure again after a conflict.
    let accounts = Accounts::of(&database)?;
    thread::scope(|scope| {
        let transfers = |from, to, cents| {
            for _ in 0..100 {
                database.retry(Isolation::Serializable, |t| accounts.transfer(t, from, to, cents))?;
            }
            Ok::<(), Refused>(())
        };
        let there = scope.spawn(move || transfers(1, 2, 50));
        let back = scope.spawn(move || transfers(2, 1, 30));
        [there, back].into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;

    // An error of the closure rolls the transaction back.
    let refused = database.retry(Isolation::Serializable, |t| accounts.transfer(t, 1, 3, 50));
    assert!(matches!(refused, Err(Refused::NoAccount(3))));
    let refused = database.retry(Isolation::Serializable, |t| accounts.transfer(t, 1, 2, 1_000_000));
    assert!(matches!(refused, Err(Refused::TooLittle(8_000))));

    // A read-only transaction never conflicts.
    let mut t = database.begin_read_only(Isolation::Serializable);
    let row = t.find(&accounts.by_id, key![2])?.ok_or(Refused::NoAccount(2))?;
    assert_eq!(t.get(&accounts.table, row, accounts.balance)?, 12_000);
    Ok(())
}
