//! Records of a log with any byte changed, missing or added, as somebody who can compute checksums might forge them: an
//! error, or rows whose values their columns take.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use crate::Choices;
use longshore_storage::log::{LogError, Lsn};
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Isolation, Memory, MergeKind, NewColumn, PartitionBuffer, RedoLog, Relation,
    Replay, RowId, Schema, Transactions, key,
};

/// Forged numbers must not make a replay ask for more.
const MEMORY_BYTES_MAX: usize = 1 << 27;

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut records = RECORDS.clone();
    for _ in 0..=choices.below(6) {
        let record = choices.below(records.len());
        let record = &mut records[record];
        let at = choices.below(record.len().max(1)).min(record.len().saturating_sub(1));
        match choices.byte() % 8 {
            0 if !record.is_empty() => drop(record.remove(at)),
            1 => record.insert(at, choices.byte()),
            2 => record.truncate(at),
            3 => {
                let part = record[at..record.len().min(at + choices.below(40))].to_vec();
                record.splice(at..at, part);
            }
            _ if !record.is_empty() => record[at] = choices.byte(),
            _ => {}
        }
    }
    if choices.byte() & 7 == 1 {
        let (one, other) = (choices.below(records.len()), choices.below(records.len()));
        records.swap(one, other);
    }
    let records: Vec<(Lsn, &[u8])> = (1..).map(Lsn::new).zip(records.iter().map(Vec::as_slice)).collect();
    let mut replay = Replay::new(&Transactions::new(), &Memory::new(Some(MEMORY_BYTES_MAX)));
    if replay.apply(&records, 1, &mut |_, _| {}).is_ok() {
        replay.finish().values().for_each(check);
    }
}

/// All values are taken by a relation of the same columns.
fn check(relation: &Relation) {
    let other = Relation::new(Arc::clone(relation.schema()), Memory::new(None));
    let (mut reader, mut t) =
        (relation.transactions().begin(Isolation::Snapshot), other.transactions().begin(Isolation::Snapshot));
    let mut rows: Vec<RowId> = Vec::new();
    for piece in reader.snapshot(relation).pieces() {
        rows.extend((0..piece.rows()).map(|row| piece.row_id(row)).filter(|row| reader.sees(relation, *row)));
    }
    for row in rows {
        let mut kept: Vec<Kept> = Vec::new();
        for column in 0..relation.schema().all_columns().len() {
            kept.push(reader.get_datum(relation, row, column, Kept::of).expect("the row is there"));
        }
        let values: Vec<Datum<'_>> = kept.iter().map(Kept::datum).collect();
        t.insert(&other, &values).expect("the values are those of its columns");
    }
    t.commit().expect("nobody else is there");
}

/// A value with memory of its own.
enum Kept {
    Plain(Datum<'static>),
    Text(String),
    Bytes(Vec<u8>),
}

impl Kept {
    fn of(datum: Datum<'_>) -> Kept {
        match datum {
            Datum::Text(text) => Kept::Text(text.to_owned()),
            Datum::Bytes(bytes) => Kept::Bytes(bytes.to_vec()),
            Datum::Null => Kept::Plain(Datum::Null),
            Datum::Bool(value) => Kept::Plain(Datum::Bool(value)),
            Datum::I16(value) => Kept::Plain(Datum::I16(value)),
            Datum::I32(value) => Kept::Plain(Datum::I32(value)),
            Datum::I64(value) => Kept::Plain(Datum::I64(value)),
            Datum::I128(value) => Kept::Plain(Datum::I128(value)),
            Datum::F32(value) => Kept::Plain(Datum::F32(value)),
            Datum::F64(value) => Kept::Plain(Datum::F64(value)),
            Datum::Uuid(value) => Kept::Plain(Datum::Uuid(value)),
        }
    }

    fn datum(&self) -> Datum<'_> {
        match self {
            Kept::Plain(datum) => *datum,
            Kept::Text(text) => Datum::Text(text),
            Kept::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<Vec<u8>>>);

impl RedoLog for Log {
    fn append(&self, record: &[u8], _: usize) -> Result<Lsn, LogError> {
        let mut records = self.0.lock().expect("nobody panics");
        records.push(record.to_vec());
        Ok(Lsn::new(records.len() as u64))
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("key", ColumnType::BigInt, false),
        Column::new("flag", ColumnType::Boolean, true),
        Column::new("small", ColumnType::SmallInt, true),
        Column::new("money", ColumnType::Decimal { precision: 9, scale: 2 }, true),
        Column::new("wide", ColumnType::Decimal { precision: 30, scale: 2 }, true),
        Column::new("share", ColumnType::Double, true),
        Column::new("word", ColumnType::Varchar(8), true),
        Column::new("code", ColumnType::Char(3), true),
        Column::new("id", ColumnType::Uuid, true),
        Column::new("bytes", ColumnType::Bytea, true),
        Column::new("note", ColumnType::Text, false),
        Column::new("document", ColumnType::Jsonb, true),
        Column::new("numbers", ColumnType::SmallInt.array().expect("one dimension"), true),
    ]
}

fn row(key: i64) -> [Datum<'static>; 13] {
    let some = |at: i64, datum| if (key + at) % 5 == 0 { Datum::Null } else { datum };
    [
        Datum::I64(key * 1_000_003),
        some(1, Datum::Bool(key % 2 == 0)),
        some(2, Datum::I16(key as i16 * 99)),
        some(3, Datum::I64(key * 1001 - 5_000)),
        some(4, Datum::I128(i128::from(key) << 70)),
        some(5, Datum::F64(key as f64 / 7.0)),
        some(6, Datum::Text("größe")),
        some(7, Datum::Text("ab")),
        some(8, Datum::Text("0b0e0d7c-3a52-4b4b-9f3e-0123456789ab")),
        some(9, Datum::Bytes(b"\xFF\0")),
        Datum::Text("a note that is long enough to need the heap"),
        some(10, Datum::Text("{\"a\": [1, null]}")),
        // {7,NULL}
        some(11, Datum::Bytes(b"\x02\0\0\0\x01\x07\0\0\0")),
    ]
}

/// Transactions of every kind.
static RECORDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let (transactions, log) = (Transactions::new(), Arc::new(Log::default()));
    transactions.log_to(Arc::clone(&log) as Arc<dyn RedoLog>);
    let memory = Memory::new(None);
    let schema = Arc::new(Schema::new(columns()));
    let relation = Relation::in_database(Arc::clone(&schema), Arc::clone(&memory), &transactions);
    let pairs = vec![Column::new("a", ColumnType::Integer, false), Column::new("b", ColumnType::Text, true)];
    let other = Relation::in_database(Arc::new(Schema::new(pairs)), memory, &transactions);
    let begin = || transactions.begin(Isolation::Snapshot);
    let mut t = begin();
    t.log_created(&relation).expect("it may write");
    t.log_created(&other).expect("it may write");
    t.log_payload(b"a catalog").expect("it may write");
    t.commit().expect("nobody is in the way");
    let mut t = begin();
    let rows: Vec<RowId> = (0..12).map(|key| t.insert(&relation, &row(key)).expect("a row")).collect();
    t.insert(&other, key![1_i32, "one"]).expect("a row");
    t.commit().expect("nobody is in the way");
    let mut t = begin();
    for &row in &rows[2..8] {
        t.update(&relation, row, &[(2, Datum::I16(7)), (6, Datum::Text("new")), (3, Datum::Null)]).expect("the row");
    }
    rows[8..10].iter().for_each(|row| t.delete(&relation, *row).expect("the row"));
    t.commit().expect("nobody is in the way");
    // Enough rows for a packed chunk.
    let append = other.begin_append(MergeKind::Chunk);
    let keys = arrow_array::Int32Array::from_iter_values(0..9_000);
    let texts =
        (0..9_000).map(|at| (at % 7 > 0).then(|| format!("text {at}"))).collect::<arrow_array::StringViewArray>();
    let batch = arrow_array::RecordBatch::try_new(other.schema().arrow(), vec![Arc::new(keys), Arc::new(texts)]);
    let mut arena = Arena::new(Arc::clone(other.memory()), 1 << 20);
    let buffers = PartitionBuffer::from_batch(other.schema(), &batch.expect("a batch"), &mut arena);
    append.merge(0, buffers.expect("rows")).expect("memory");
    append.commit().expect("there are no keys");
    let alteration = relation.begin_alteration(Duration::ZERO).expect("nobody works on it");
    let mut altered = columns();
    altered.remove(4);
    altered.push(Column::new("computed", ColumnType::Integer, false));
    altered.push(Column::new("filled", ColumnType::Text, true));
    let mut sources: Vec<NewColumn<'_>> = (0..13).filter(|column| *column != 4).map(NewColumn::Kept).collect();
    sources.extend([NewColumn::Computed, NewColumn::Filled(Datum::Text("the same"))]);
    let after = alteration.reshape("t", &Arc::new(Schema::new(altered)), &sources, &[]).expect("they fit");
    for row in rows[..8].iter().chain(&rows[10..]) {
        alteration.compute(&after, *row, 12, Datum::I32(5)).expect("the row");
    }
    alteration.commit(&after, Arc::new(()));
    let mut t = begin();
    t.delete(&after, rows[0]).expect("the row");
    t.truncate(&other).expect("nobody is in the way");
    t.commit().expect("nobody is in the way");
    log.0.lock().expect("nobody panics").clone()
});
