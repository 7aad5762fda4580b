//! The ledger: which files were loaded into which table, a row for each file and load.
//!
//! It is a relation beside those of the tables, made with the first load. A load writes its rows in its own transaction, so
//! they are there if and only if what it has loaded is. A row is about a table by the number that it keeps when it is
//! altered or renamed; another table of its name has another number.
//!
//! Files of loads with ONCE are numbered by table and file, and these numbers are unique: of two loads of one file at the same
//! time one fails. An index finds files by the hash of their names: conflicts between transactions are told exactly by numbers,
//! and by the first bytes of texts, which files of one folder share.
//!
//! Not here: which files a load leaves out (`statement/copy`), what runs at the moment (`loads`).

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

use arrow_array::temporal_conversions::timestamp_us_to_datetime;
use longshore_source::name_id;
use longshore_storage::{
    Column, ColumnType, Datum, Direction, Index, IndexKind, Isolation, Relation, RowId, Schema, Transaction,
    TransactionError, Transactions,
};

use super::{Catalog, Entry, Key, Role, Rules, Table};
use crate::Error;

/// The name by which queries read it, with what runs and what has failed.
pub(crate) const LOADS: &str = "longshore_loads";

/// The index of its rows by table and file.
const BY_FILE: &str = "longshore_loads_file";

/// Rows of loads that failed, at most; older ones go.
const FAILED_MAX: usize = 1000;

/// The number of no table: that of a load that has failed is not kept.
const NO_TABLE: i64 = i64::MIN;

/// What became of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadStatus {
    /// It is under way; never a row of the ledger.
    Running,
    Loaded,
    /// It has changed nothing.
    Failed,
    /// The table was emptied since by TRUNCATE: the file counts as not loaded.
    Truncated,
}

impl LoadStatus {
    const ALL: [Self; 4] = [Self::Running, Self::Loaded, Self::Failed, Self::Truncated];

    /// As queries show it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Loaded => "loaded",
            Self::Failed => "failed",
            Self::Truncated => "truncated",
        }
    }
}

/// A file and what became of it; of a load that runs or has failed, all that the statement names as its file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadRecord {
    /// The number of the load.
    pub(crate) load: i64,
    /// The number of the table.
    pub(crate) table: i64,
    /// What the table was called then.
    pub(crate) table_name: String,
    pub(crate) file: String,
    /// How many loads with ONCE there were of this file, with this one; `None` for a load without.
    pub(crate) ordinal: Option<i64>,
    pub(crate) status: LoadStatus,
    /// The size of the file.
    pub(crate) size: Option<i64>,
    /// When it was last modified, in microseconds.
    pub(crate) modified: Option<i64>,
    /// Of a remote file.
    pub(crate) version: Option<String>,
    /// The hash of its content, where it was computed.
    pub(crate) hash: Option<String>,
    pub(crate) rows: Option<i64>,
    pub(crate) rejects: Option<i64>,
    /// Bytes of the file that were read.
    pub(crate) bytes: Option<i64>,
    /// How long the load took.
    pub(crate) seconds: f64,
    /// When it began, in microseconds.
    pub(crate) started: i64,
    pub(crate) error: Option<String>,
}

/// The columns of the relation. A new one goes to the end.
fn schema() -> Schema {
    let column = |name: &str, column_type, nullable| Column::new(name, column_type, nullable);
    Schema::new(vec![
        column("load", ColumnType::BigInt, false),
        column("table_id", ColumnType::BigInt, true),
        column("table_name", ColumnType::Text, false),
        column("file", ColumnType::Text, false),
        column("file_id", ColumnType::BigInt, true),
        column("ordinal", ColumnType::BigInt, true),
        column("status", ColumnType::Text, false),
        column("size", ColumnType::BigInt, true),
        column("modified", ColumnType::TimestampTz, true),
        column("version", ColumnType::Text, true),
        column("hash", ColumnType::Text, true),
        column("rows", ColumnType::BigInt, true),
        column("rejects", ColumnType::BigInt, true),
        column("bytes", ColumnType::BigInt, true),
        column("seconds", ColumnType::Double, false),
        column("started", ColumnType::TimestampTz, false),
        column("error", ColumnType::Text, true),
    ])
}

/// Places of columns.
const TABLE: usize = 1;
const FILE: usize = 3;
const FILE_ID: usize = 4;
const ORDINAL: usize = 5;
const STATUS: usize = 6;

impl Table {
    /// The table of a ledger with these rows.
    pub(super) fn of_ledger(relation: Relation) -> Result<Self, Error> {
        let columns = vec![TABLE, FILE_ID, ORDINAL];
        let key = Key::of_columns(BY_FILE.to_owned(), columns, IndexKind::Art, Role::UniqueIndex);
        let rules = Rules { keys: vec![key], ..Rules::default() };
        Self::new(LOADS, Arc::new(relation.with_name(LOADS)), rules)
    }

    /// Whether the relation can be that of a ledger.
    pub(super) fn is_ledger(relation: &Relation) -> bool {
        **relation.schema() == schema()
    }
}

impl Catalog {
    /// The ledger, if anything was ever loaded.
    pub(crate) fn ledger(&self) -> Option<Ledger> {
        self.ledger.read().unwrap_or_else(PoisonError::into_inner).clone().map(Ledger)
    }

    /// The ledger; if there is none yet, one over the relation that `make` makes.
    pub(crate) fn ledger_or_make(&self, make: impl FnOnce(Schema) -> Relation) -> Result<Ledger, Error> {
        if let Some(ledger) = self.ledger() {
            return Ok(ledger);
        }
        if let Some(database) = self.origin() {
            let made = database.ledger_or_make(make)?;
            *self.ledger.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&made.0));
            return Ok(made);
        }
        let made = Arc::new(Table::of_ledger(make(schema()))?);
        self.change(|change| Ok(Ledger(Arc::clone(change.ledger.get_or_insert(made)))))
    }

    /// Lets what was loaded into unlogged tables that came back without rows count as not loaded.
    pub(crate) fn forget_lost_loads(&self, transactions: &Arc<Transactions>) -> Result<(), Error> {
        let Some(ledger) = self.ledger() else { return Ok(()) };
        let mut transaction = transactions.begin(Isolation::Snapshot);
        for table in self.entries().iter().filter_map(Entry::table) {
            if !table.relation.is_logged() && table.relation.snapshot().rows() == 0 {
                ledger.forget(&mut transaction, table.number())?;
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

/// The ledger of a database.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<Table>);

impl Ledger {
    /// Its relation.
    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.0.relation
    }

    /// Adds a record.
    pub(crate) fn add(&self, transaction: &mut Transaction, record: &LoadRecord) -> Result<(), TransactionError> {
        let number = |number: Option<i64>| number.map_or(Datum::Null, Datum::I64);
        // Nobody who asks for the files of a table shall find a load that has failed, and have to do with it.
        let is_found = record.status != LoadStatus::Failed;
        let values = [
            Datum::I64(record.load),
            number(is_found.then_some(record.table)),
            Datum::Text(&record.table_name),
            Datum::Text(&record.file),
            number(is_found.then(|| name_id(&record.file))),
            number(record.ordinal),
            Datum::Text(record.status.name()),
            number(record.size),
            number(record.modified),
            record.version.as_deref().map_or(Datum::Null, Datum::Text),
            record.hash.as_deref().map_or(Datum::Null, Datum::Text),
            number(record.rows),
            number(record.rejects),
            number(record.bytes),
            Datum::F64(record.seconds),
            Datum::I64(record.started),
            record.error.as_deref().map_or(Datum::Null, Datum::Text),
        ];
        transaction.insert(self.relation(), &values).map(drop)
    }

    /// Adds the record of a load that has failed; of too many the oldest go.
    pub(crate) fn add_failed(
        &self,
        transaction: &mut Transaction,
        record: &LoadRecord,
    ) -> Result<(), TransactionError> {
        let mut failed = Vec::new();
        let status =
            self.relation().column::<&str>("status")?.within(LoadStatus::Failed.name()..=LoadStatus::Failed.name());
        transaction.scan(self.relation(), &[status], |transaction, row| {
            failed.push((transaction.get_datum(self.relation(), row, 0, |load| number_of(&load))?, row));
            Ok(ControlFlow::Continue(()))
        })?;
        failed.sort_unstable_by_key(|(load, _)| *load);
        for (_, row) in failed.iter().take((failed.len() + 1).saturating_sub(FAILED_MAX)) {
            transaction.delete(self.relation(), *row)?;
        }
        self.add(transaction, record)
    }

    /// The number of the last load; 0 if there was none.
    pub(crate) fn last_load(&self, transaction: &mut Transaction) -> Result<i64, TransactionError> {
        let mut last = 0;
        transaction.scan(self.relation(), &[], |transaction, row| {
            let load = transaction.get_datum(self.relation(), row, 0, |load| number_of(&load))?;
            last = last.max(load.unwrap_or(0));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(last)
    }

    /// All records, as a transaction sees them.
    pub(crate) fn records(&self, transaction: &mut Transaction) -> Result<Vec<LoadRecord>, TransactionError> {
        let mut rows = Vec::new();
        transaction.scan(self.relation(), &[], |_, row| {
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        rows.into_iter().map(|row| self.read(transaction, row)).collect()
    }

    /// The records of a file of a table, and of files whose names have the same number; or of all files of the table.
    pub(crate) fn records_of(
        &self,
        transaction: &mut Transaction,
        table: i64,
        file: Option<&str>,
    ) -> Result<Vec<(RowId, LoadRecord)>, TransactionError> {
        let Some(index) = self.index() else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        let prefix: Vec<Datum<'_>> = [table].into_iter().chain(file.map(name_id)).map(Datum::I64).collect();
        let prefix = prefix.as_slice();
        transaction.range(self.relation(), &index, prefix..=prefix, Direction::Forward, |_, row| {
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        rows.into_iter().map(|row| Ok((row, self.read(transaction, row)?))).collect()
    }

    /// Lets all that was loaded into a table count as not loaded.
    pub(crate) fn forget(&self, transaction: &mut Transaction, table: i64) -> Result<(), TransactionError> {
        for (row, record) in self.records_of(transaction, table, None)? {
            if record.status == LoadStatus::Loaded {
                let status = Datum::Text(LoadStatus::Truncated.name());
                transaction.set_datum(self.relation(), row, STATUS, status)?;
            }
        }
        Ok(())
    }

    fn index(&self) -> Option<Arc<Index>> {
        self.relation().indexes().into_iter().find(|index| index.name() == BY_FILE)
    }

    fn read(&self, transaction: &mut Transaction, row: RowId) -> Result<LoadRecord, TransactionError> {
        let relation = self.relation();
        let mut number = |column| transaction.get_datum(relation, row, column, |datum| number_of(&datum));
        let (load, table, ordinal) = (number(0)?, number(TABLE)?, number(ORDINAL)?);
        let (size, modified) = (number(7)?, number(8)?);
        let (rows, rejects, bytes, started) = (number(11)?, number(12)?, number(13)?, number(15)?);
        let mut text = |column| {
            transaction.get_datum(relation, row, column, |datum| match datum {
                Datum::Text(text) => Some(text.to_owned()),
                _ => None,
            })
        };
        let (table_name, file, status) = (text(2)?, text(FILE)?, text(STATUS)?);
        let (version, hash, error) = (text(9)?, text(10)?, text(16)?);
        let seconds = transaction.get_datum(relation, row, 14, |datum| match datum {
            Datum::F64(seconds) => seconds,
            _ => 0.0,
        })?;
        let status = LoadStatus::ALL.into_iter().find(|known| status.as_deref() == Some(known.name()));
        Ok(LoadRecord {
            load: load.unwrap_or_default(),
            table: table.unwrap_or(NO_TABLE),
            table_name: table_name.unwrap_or_default(),
            file: file.unwrap_or_default(),
            ordinal,
            status: status.unwrap_or(LoadStatus::Failed),
            size,
            modified,
            version,
            hash,
            rows,
            rejects,
            bytes,
            seconds,
            started: started.unwrap_or_default(),
            error,
        })
    }
}

fn number_of(datum: &Datum<'_>) -> Option<i64> {
    match datum {
        Datum::I64(number) => Some(*number),
        _ => None,
    }
}

/// A time as messages show it.
pub(crate) fn shown_time(microseconds: i64) -> String {
    timestamp_us_to_datetime(microseconds).map_or_else(|| "another time".to_owned(), |time| format!("{time} UTC"))
}
