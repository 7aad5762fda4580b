//! Which chunks are frozen, and when.

use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, Datum, Field, Freeze, Isolation, Memory, Relation, RowId, Schema, Transactions,
};

struct Counters {
    transactions: Arc<Transactions>,
    relation: Relation,
    count: Field<i64>,
    rows: Vec<RowId>,
}

impl Counters {
    fn new(rows: i64) -> Counters {
        let schema = Arc::new(Schema::new(vec![Column::new("count", ColumnType::BigInt, false)]));
        let transactions = Transactions::new();
        let relation = Relation::in_database(schema, Memory::new(None), &transactions).with_name("counters");
        let mut transaction = transactions.begin(Isolation::Serializable);
        let rows = (0..rows).map(|row| transaction.insert(&relation, &[Datum::I64(row)]).unwrap()).collect();
        transaction.commit().unwrap();
        Counters { count: relation.column("count").unwrap(), transactions, relation, rows }
    }

    fn add_one(&self, row: usize) {
        let mut transaction = self.transactions.begin(Isolation::Serializable);
        let count = transaction.get(&self.relation, self.rows[row], self.count).unwrap();
        transaction.set(&self.relation, self.rows[row], self.count, count + 1).unwrap();
        transaction.commit().unwrap();
    }

    fn freeze(&self, scope: Freeze) -> usize {
        self.relation.freeze(scope, 1, &|| false).unwrap()
    }

    fn is_packed(&self) -> bool {
        self.relation.snapshot().chunks()[0].packed(0).is_some()
    }
}

#[test]
fn what_nobody_changed_between_two_looks_is_packed() {
    let counters = Counters::new(100);
    assert_eq!(counters.freeze(Freeze::Unchanged), 0, "nobody knows what it was before");
    counters.add_one(7);
    assert_eq!(counters.freeze(Freeze::Unchanged), 0, "it was changed");
    assert!(!counters.is_packed(), "reading is no change");
    assert_eq!(counters.freeze(Freeze::Unchanged), 1);
    assert!(counters.is_packed());
    assert_eq!(counters.freeze(Freeze::Unchanged), 0, "it is packed");

    counters.add_one(8);
    assert!(!counters.is_packed());
    assert_eq!(counters.freeze(Freeze::All), 1, "whatever was changed");
    assert!(counters.is_packed());
    let values = counters.relation.snapshot().chunks()[0].array(0, 0, 100);
    let values = values.as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
    let expected: Vec<i64> = (0..100).map(|row| row + i64::from(row == 7 || row == 8)).collect();
    assert_eq!(values.values().to_vec(), expected);
}

#[test]
fn what_is_being_changed_stays_plain() {
    let counters = Counters::new(100);
    counters.freeze(Freeze::Unchanged);
    let mut transaction = counters.transactions.begin(Isolation::Serializable);
    transaction.set(&counters.relation, counters.rows[3], counters.count, 0).unwrap();
    assert_eq!(counters.freeze(Freeze::All), 0);
    drop(transaction);
    assert_eq!(counters.freeze(Freeze::Unchanged), 0);
    assert_eq!(counters.freeze(Freeze::Unchanged), 1);
}
