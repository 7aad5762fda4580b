//! Inserts, updates of one, five and ten attributes, and "delete and insert" (thesis, Table 2.2).

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_storage::{Datum, Field, Isolation, Relation, RowId, Storage, Transactions};

use super::{count_of, filled, in_transactions, row_ids};
use crate::measure::{Amount, Case, Measured, measure};
use crate::workload::fill::have_at_hand;
use crate::workload::random::Random;
use crate::{Failure, Settings};

/// Attributes of a row.
const COLUMNS: usize = 10;

/// Operations of a run, as a share of the rows.
const SHARE: usize = 10;

/// Operations of a transaction: alone, and many.
const PER_TRANSACTION: [usize; 2] = [1, 1_000];

#[derive(Clone, Copy)]
enum Operation {
    Insert,
    /// Of so many attributes.
    Update(usize),
    DeleteAndInsert,
}

pub(super) fn run(settings: &Settings, rows: usize) -> Result<Vec<Measured>, Failure> {
    let (transactions, relation) = filled(COLUMNS, rows, Storage::default(), |_, _| 0)?;
    let mut fields = Vec::new();
    for column in relation.schema().columns() {
        fields.push(relation.column::<i32>(&column.name)?);
    }
    let bench = Bench {
        rows: RefCell::new(row_ids(&transactions.begin_read_only(Isolation::Snapshot), &relation)),
        transactions,
        relation,
        fields,
        run: Cell::new(0),
    };
    let count = rows / SHARE;
    let operations = [
        ("insert", Operation::Insert),
        ("update of 1 attribute", Operation::Update(1)),
        ("update of 5 attributes", Operation::Update(5)),
        ("update of 10 attributes", Operation::Update(COLUMNS)),
        ("delete and insert", Operation::DeleteAndInsert),
    ];
    let mut cases = Vec::new();
    for (name, operation) in operations {
        for per_transaction in PER_TRANSACTION {
            let name = format!("{name}, {per_transaction} a transaction");
            let bench = &bench;
            cases.push(Case::new(name, Amount::Operations(count as u64), move || {
                bench.once(operation, count, per_transaction)
            }));
        }
    }
    measure(cases, settings)
}

struct Bench {
    transactions: Arc<Transactions>,
    relation: Arc<Relation>,
    fields: Vec<Field<i32>>,
    rows: RefCell<Vec<RowId>>,
    run: Cell<i32>,
}

impl Bench {
    fn once(&self, operation: Operation, count: usize, per_transaction: usize) -> Result<Duration, Failure> {
        // What this run writes; rows begin with 0.
        let value = self.run.get() + 1;
        self.run.set(value);
        let mut random = Random::new(value as u64);
        let mut rows = self.rows.borrow_mut();
        let drawn: Vec<usize> = (0..count).map(|_| random.below(rows.len() as u64) as usize).collect();
        let row = [Datum::I32(value); COLUMNS];
        let relation = &self.relation;
        let mut inserted = Vec::with_capacity(count);
        let (transactions, isolation) = (&self.transactions, Isolation::Serializable);
        // Of integers, and twice as many while slots grow.
        have_at_hand(relation.memory(), count * COLUMNS * size_of::<i32>() * 2)?;
        let started = Instant::now();
        match operation {
            Operation::Insert => in_transactions(transactions, isolation, &drawn, per_transaction, |t, _| {
                inserted.push(t.insert(relation, &row)?);
                Ok(())
            }),
            Operation::Update(columns) => {
                let fields = &self.fields[..columns];
                in_transactions(transactions, isolation, &drawn, per_transaction, |t, at| {
                    let mut row = t.edit(relation, rows[at])?;
                    fields.iter().try_for_each(|&field| row.set(field, value))
                })
            }
            Operation::DeleteAndInsert => in_transactions(transactions, isolation, &drawn, per_transaction, |t, at| {
                t.delete(relation, rows[at])?;
                rows[at] = t.insert(relation, &row)?;
                Ok(())
            }),
        }?;
        let time = started.elapsed();
        rows.append(&mut inserted);
        let written = if matches!(operation, Operation::Insert) { count } else { distinct(drawn) };
        let column = if let Operation::Update(columns) = operation { columns - 1 } else { COLUMNS - 1 };
        let found = count_of(relation, column, value);
        if found != written {
            return Err(format!("{found} rows have what was written, {written} were written").into());
        }
        if relation.snapshot().rows() != rows.len() as u64 {
            return Err(format!("{} rows where {} are right", relation.snapshot().rows(), rows.len()).into());
        }
        Ok(time)
    }
}

fn distinct(mut drawn: Vec<usize>) -> usize {
    drawn.sort_unstable();
    drawn.dedup();
    drawn.len()
}
