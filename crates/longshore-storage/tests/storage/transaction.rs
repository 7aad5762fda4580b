//! What transactions do to each other, one case at a time.

use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, ConflictKind, Datum, Field, Isolation, Memory, Relation, RowId, Schema, Snapshot, Transaction,
    TransactionError, Transactions, key,
};

struct Bank {
    transactions: Arc<Transactions>,
    accounts: Relation,
    id: Field<i64>,
    balance: Field<i32>,
    owner: Field<&'static str>,
}

impl Bank {
    fn new() -> Bank {
        let schema = Schema::new(vec![
            Column::new("id", ColumnType::BigInt, false),
            Column::new("balance", ColumnType::Integer, true),
            Column::new("owner", ColumnType::Varchar(40), true),
        ]);
        let transactions = Transactions::new();
        let accounts = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions).with_name("accounts");
        let id = accounts.column("id").unwrap();
        let balance = accounts.column("balance").unwrap();
        let owner = accounts.column::<&str>("owner").unwrap();
        Bank { transactions, accounts, id, balance, owner }
    }

    /// With this many accounts of 10 each.
    fn with_accounts(count: i64) -> (Bank, Vec<RowId>) {
        let bank = Bank::new();
        let mut transaction = bank.begin();
        let rows = (0..count).map(|id| bank.open(&mut transaction, id, 10)).collect();
        transaction.commit().unwrap();
        (bank, rows)
    }

    fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::Serializable)
    }

    fn open(&self, transaction: &mut Transaction, id: i64, balance: i32) -> RowId {
        let owner = format!("the owner of account number {id}");
        transaction.insert(&self.accounts, key![id, balance, &owner]).unwrap()
    }

    fn balance(&self, transaction: &mut Transaction, row: RowId) -> i32 {
        transaction.get(&self.accounts, row, self.balance).unwrap()
    }

    fn set(&self, transaction: &mut Transaction, row: RowId, balance: i32) {
        transaction.set(&self.accounts, row, self.balance, balance).unwrap();
    }
}

/// Ids and balances, from the settled chunks and from the pieces.
fn accounts(snapshot: &Snapshot) -> Vec<(i64, Option<i32>)> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    let mut settled = Vec::new();
    for chunk in snapshot.chunks() {
        let (ids, balances) = (chunk.array(0, 0, chunk.rows()), chunk.array(1, 0, chunk.rows()));
        settled.extend(ids.as_primitive::<Int64Type>().iter().flatten().zip(balances.as_primitive::<Int32Type>()));
    }
    let mut scanned = Vec::new();
    for piece in snapshot.pieces() {
        let (ids, balances) = (piece.array(0, 0, piece.rows()), piece.array(1, 0, piece.rows()));
        let visible = piece.visible(0, piece.rows());
        let rows = ids.as_primitive::<Int64Type>().iter().flatten().zip(balances.as_primitive::<Int32Type>());
        scanned.extend(
            rows.enumerate()
                .filter(|(row, _)| visible.as_ref().is_none_or(|bits| bits.value(*row)))
                .map(|(_, row)| row),
        );
    }
    assert_eq!(settled, scanned);
    assert_eq!(snapshot.rows(), settled.len() as u64);
    settled
}

#[test]
fn what_is_not_committed_only_the_writer_sees() {
    let (bank, rows) = Bank::with_accounts(2);
    let (mut writer, mut reader) = (bank.begin(), bank.begin());
    bank.set(&mut writer, rows[0], 7);
    let new = bank.open(&mut writer, 2, 1);
    writer.delete(&bank.accounts, rows[1]).unwrap();
    assert_eq!(bank.balance(&mut writer, rows[0]), 7);
    assert_eq!(bank.balance(&mut reader, rows[0]), 10);
    assert!(!writer.sees(&bank.accounts, rows[1]) && reader.sees(&bank.accounts, rows[1]));
    assert!(writer.sees(&bank.accounts, new) && !reader.sees(&bank.accounts, new));
    let before = vec![(0, Some(10)), (1, Some(10))];
    let after = vec![(0, Some(7)), (2, Some(1))];
    assert_eq!(accounts(&writer.snapshot(&bank.accounts)), after);
    assert_eq!(accounts(&reader.snapshot(&bank.accounts)), before);
    assert_eq!(accounts(&bank.accounts.snapshot()), before);
    let old = bank.accounts.snapshot();
    writer.commit().unwrap();
    assert_eq!(accounts(&bank.accounts.snapshot()), after);
    assert_eq!(accounts(&old), before);
    assert_eq!(bank.balance(&mut reader, rows[0]), 10);
    assert_eq!(accounts(&reader.snapshot(&bank.accounts)), before);
    reader.commit().unwrap();
    assert_eq!(bank.balance(&mut bank.begin(), rows[0]), 7);
}

#[test]
fn a_rollback_leaves_nothing() {
    let (bank, rows) = Bank::with_accounts(3);
    let before = accounts(&bank.accounts.snapshot());
    let mut doomed = bank.begin();
    bank.set(&mut doomed, rows[0], 1);
    bank.set(&mut doomed, rows[0], 2);
    doomed.set_datum(&bank.accounts, rows[1], 1, Datum::Null).unwrap();
    doomed.set(&bank.accounts, rows[1], bank.owner, "somebody else with a long name").unwrap();
    doomed.delete(&bank.accounts, rows[2]).unwrap();
    let row = bank.open(&mut doomed, 9, 9);
    bank.set(&mut doomed, row, 8);
    doomed.rollback();
    assert_eq!(accounts(&bank.accounts.snapshot()), before);
    let mut transaction = bank.begin();
    let mut owner = String::new();
    assert!(transaction.get_text(&bank.accounts, rows[1], bank.owner, &mut owner).unwrap());
    assert_eq!(owner, "the owner of account number 1");
    assert_eq!(bank.open(&mut transaction, 10, 10), row, "the row is taken again");
}

#[test]
fn two_cannot_change_the_same_row() {
    let (bank, rows) = Bank::with_accounts(1);
    let (mut first, mut second, mut third) = (bank.begin(), bank.begin(), bank.begin());
    bank.set(&mut first, rows[0], 1);
    let conflict = |kind| Err(TransactionError::Conflict { relation: "accounts".to_owned(), row: rows[0], kind });
    assert_eq!(
        second.set(&bank.accounts, rows[0], bank.balance, 2),
        conflict(ConflictKind::Uncommitted(Some(first.owner())))
    );
    assert_eq!(second.delete(&bank.accounts, rows[0]), conflict(ConflictKind::Uncommitted(Some(first.owner()))));
    first.commit().unwrap();
    assert_eq!(third.set(&bank.accounts, rows[0], bank.balance, 2), conflict(ConflictKind::Committed));
    assert_eq!(third.truncate(&bank.accounts), conflict(ConflictKind::Committed));
    drop((second, third));
    let mut fourth = bank.begin();
    bank.set(&mut fourth, rows[0], 3);
    fourth.commit().unwrap();
    assert_eq!(accounts(&bank.accounts.snapshot()), [(0, Some(3))]);
}

#[test]
fn a_deleted_row_is_taken_again_when_nobody_sees_it() {
    let (bank, rows) = Bank::with_accounts(2);
    let mut reader = bank.begin();
    let mut writer = bank.begin();
    writer.delete(&bank.accounts, rows[0]).unwrap();
    writer.commit().unwrap();
    let mut writer = bank.begin();
    assert_ne!(bank.open(&mut writer, 2, 2), rows[0]);
    writer.commit().unwrap();
    assert_eq!(bank.balance(&mut reader, rows[0]), 10);
    drop(reader);
    let mut writer = bank.begin();
    assert_eq!(bank.open(&mut writer, 3, 3), rows[0]);
    writer.commit().unwrap();
    assert_eq!(accounts(&bank.accounts.snapshot()), [(3, Some(3)), (1, Some(10)), (2, Some(2))]);
}

#[test]
fn savepoints_undo_a_part() {
    let (bank, rows) = Bank::with_accounts(2);
    let mut transaction = bank.begin();
    bank.set(&mut transaction, rows[0], 1);
    let first = transaction.savepoint();
    bank.set(&mut transaction, rows[0], 2);
    bank.open(&mut transaction, 5, 5);
    let second = transaction.savepoint();
    transaction.delete(&bank.accounts, rows[0]).unwrap();
    transaction.rollback_to(second);
    assert_eq!(bank.balance(&mut transaction, rows[0]), 2);
    bank.set(&mut transaction, rows[1], 4);
    transaction.rollback_to(first);
    assert_eq!(bank.balance(&mut transaction, rows[0]), 1);
    bank.set(&mut transaction, rows[1], 7);
    transaction.commit().unwrap();
    assert_eq!(accounts(&bank.accounts.snapshot()), [(0, Some(1)), (1, Some(7))]);
}

#[test]
fn truncate_is_part_of_its_transaction() {
    let (bank, _) = Bank::with_accounts(3);
    let before = accounts(&bank.accounts.snapshot());
    let mut doomed = bank.begin();
    doomed.truncate(&bank.accounts).unwrap();
    assert_eq!(accounts(&doomed.snapshot(&bank.accounts)), []);
    doomed.rollback();
    assert_eq!(accounts(&bank.accounts.snapshot()), before);
    let reader = bank.begin();
    let mut writer = bank.begin();
    writer.truncate(&bank.accounts).unwrap();
    bank.open(&mut writer, 7, 7);
    writer.commit().unwrap();
    assert_eq!(accounts(&bank.accounts.snapshot()), [(7, Some(7))]);
    assert_eq!(accounts(&reader.snapshot(&bank.accounts)), before);
}

#[test]
fn values_that_a_column_does_not_take_are_refused() {
    let (bank, rows) = Bank::with_accounts(1);
    let mut transaction = bank.begin();
    let long = "x".repeat(41);
    let refused = [
        transaction.set(&bank.accounts, rows[0], bank.owner, &long).unwrap_err(),
        transaction.set_datum(&bank.accounts, rows[0], 0, Datum::Null).unwrap_err(),
        transaction.set_datum(&bank.accounts, rows[0], 1, Datum::Text("1")).unwrap_err(),
        transaction.insert(&bank.accounts, key![1_i64]).unwrap_err(),
    ];
    let messages = refused.map(|error| error.to_string());
    let wanted = ["character varying(40)", "NOT NULL", "is INTEGER", "1 values"];
    assert!(messages.iter().zip(wanted).all(|(message, wanted)| message.contains(wanted)), "{messages:?}");
    assert!(bank.accounts.column::<i32>("id").is_err() && bank.accounts.column::<i32>("none").is_err());
    let mut reader = bank.transactions.begin_read_only(Isolation::Serializable);
    assert_eq!(reader.delete(&bank.accounts, rows[0]), Err(TransactionError::ReadOnly));
    assert_eq!(reader.get(&bank.accounts, rows[0], bank.id), Ok(0));
}

#[test]
fn texts_that_were_replaced_do_not_pile_up() {
    let (bank, rows) = Bank::with_accounts(50);
    let before = bank.accounts.memory().used();
    let old = bank.accounts.snapshot();
    let owner = |at: usize, round: usize| format!("{round} {}", "x".repeat(10 + at % 20 - round % 10));
    let mut reader = bank.begin();
    for round in 0..400 {
        let mut writer = bank.begin();
        for (at, &row) in rows.iter().enumerate() {
            writer.set(&bank.accounts, row, bank.owner, &owner(at, round)).unwrap();
        }
        if round % 10 == 5 {
            writer.rollback();
        } else {
            writer.commit().unwrap();
        }
        if round % 50 == 10 {
            let mut text = String::new();
            assert!(reader.get_text(&bank.accounts, rows[9], bank.owner, &mut text).unwrap());
            let expected = if round == 10 { "the owner of account number 9".to_owned() } else { owner(9, round - 50) };
            assert_eq!(text, expected);
            reader = bank.begin();
        }
    }
    let mut reader = bank.begin();
    for (at, &row) in rows.iter().enumerate() {
        let mut text = String::new();
        assert!(reader.get_text(&bank.accounts, row, bank.owner, &mut text).unwrap());
        assert_eq!(text, owner(at, 399));
    }
    assert_eq!(accounts(&old).len(), 50);
    let used = bank.accounts.memory().used() - before;
    assert!(used < 256 << 10, "{used} bytes more are used for 50 rows");
}
