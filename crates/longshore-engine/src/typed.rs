//! Transactions as Rust code. A closure over them is a compiled transaction, what procedures are in HyPer: no text is
//! parsed and nothing is planned, and everything else is as in SQL, whose sessions work on the same tables meanwhile.
//!
//! A [`Table`], its [`Index`]es, [`Field`]s and [`Columns`] are asked for once, by name, and kept; what is asked of
//! them later checks no names and types again. A [`Transaction`] finds rows by key, by ranges of keys and by scans, and
//! reads, inserts, changes and deletes them.
//!
//! ```
//! use longshore_engine::typed::Transaction;
//! use longshore_engine::{Config, Database, Error, Isolation, key};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let database = Database::open(Config::default())?;
//! let mut session = database.session();
//! session.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, balance BIGINT)").await?;
//! session.execute("INSERT INTO accounts VALUES (1, 'Anna', 100), (2, 'Ben', 20)").await?;
//!
//! let accounts = database.table("accounts")?;
//! let by_id = accounts.primary_key()?;
//! let balance = accounts.column::<i64>("balance")?;
//! let account = accounts.columns::<(String, Option<i64>)>(&["owner", "balance"])?;
//!
//! /// Why there was no transfer.
//! #[derive(Debug)]
//! enum Refused {
//!     NoAccount(i32),
//!     TooLittle(i64),
//!     Database(Error),
//! }
//!
//! impl From<Error> for Refused {
//!     fn from(error: Error) -> Refused {
//!         Refused::Database(error)
//!     }
//! }
//!
//! let transfer = |t: &mut Transaction, from: i32, to: i32, amount: i64| {
//!     let giver = t.find(&by_id, key![from])?.ok_or(Refused::NoAccount(from))?;
//!     let taker = t.find(&by_id, key![to])?.ok_or(Refused::NoAccount(to))?;
//!     let held = t.get(&accounts, giver, balance)?;
//!     if held < amount {
//!         return Err(Refused::TooLittle(held));
//!     }
//!     t.set(&accounts, giver, balance, held - amount)?;
//!     let held = t.get(&accounts, taker, balance)?;
//!     t.set(&accounts, taker, balance, held + amount)?;
//!     Ok(())
//! };
//!
//! // Commits, or has done nothing; and tries again whenever another transaction was in the way.
//! database.retry(Isolation::Serializable, |t| transfer(t, 1, 2, 70)).unwrap();
//! let refused = database.retry(Isolation::Serializable, |t| transfer(t, 1, 2, 70));
//! assert!(matches!(refused, Err(Refused::TooLittle(30))));
//!
//! let mut t = database.begin_read_only(Isolation::Serializable);
//! let row = t.find(&by_id, key![2])?.unwrap();
//! assert_eq!(t.read(&account, row)?, ("Ben".to_owned(), Some(90)));
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
//!
//! Nobody waits for a transaction: it fails where it meets a change that it does not see, and a serializable one also
//! when it commits and others have changed what it read. Both are errors of the kind [`crate::ErrorKind::Conflict`],
//! after which it can only be rolled back.
//!
//! Keys and NOT NULL hold where a row is changed, foreign keys when the transaction commits. Tables with a CHECK or a column
//! that is GENERATED ALWAYS are only read here: these rules are kept by statements.
//!
//! Not here: versions and validation (`longshore-storage`), statements (`statement.rs`).

mod row;
mod table;
mod transaction;

pub use longshore_storage::{ColumnRange, Direction, Field, FieldType, RowId, Savepoint, Scalar};
pub use row::{Row, RowReader, Value};
pub use table::{Columns, Index, Table};
pub use transaction::{Ticket, Transaction};
