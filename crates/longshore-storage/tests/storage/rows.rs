//! Rows of which several values are read and changed at once, and columns that are read in stretches: against the same
//! value by value.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use longshore_storage::{
    Column, ColumnType, Datum, Field, IndexKind, Isolation, Memory, Relation, RowId, Schema, Scratch, Stretch,
    Transaction, TransactionError, Transactions, Uniqueness, Values, key,
};
use longshore_testing::Random;

/// Columns of small numbers behind the others, so that there are more than the bits of a word.
const SMALL_FROM: usize = 5;
const COLUMNS: usize = 70;

struct Bench {
    transactions: Arc<Transactions>,
    relation: Relation,
    id: Field<i32>,
    number: Field<i64>,
    text: Field<&'static str>,
    bytes: Field<&'static [u8]>,
    money: Field<i128>,
    small: Vec<Field<i16>>,
}

impl Bench {
    fn new() -> Bench {
        let mut columns = vec![
            Column::new("id", ColumnType::Integer, false),
            Column::new("number", ColumnType::BigInt, true),
            Column::new("text", ColumnType::Text, true),
            Column::new("bytes", ColumnType::Bytea, true),
            Column::new("money", ColumnType::Decimal { precision: 30, scale: 2 }, true),
        ];
        columns.extend((SMALL_FROM..COLUMNS).map(|at| Column::new(format!("s{at}"), ColumnType::SmallInt, true)));
        let transactions = Transactions::new();
        let schema = Arc::new(Schema::new(columns));
        let relation = Relation::in_database(schema, Memory::new(None), &transactions).with_name("rows");
        relation.create_index("id", &[0], IndexKind::Hash, Uniqueness::Unique).unwrap();
        let column = |name: &str| relation.column::<i16>(name).unwrap();
        Bench {
            id: relation.column("id").unwrap(),
            number: relation.column("number").unwrap(),
            text: relation.column("text").unwrap(),
            bytes: relation.column("bytes").unwrap(),
            money: relation.column("money").unwrap(),
            small: (SMALL_FROM..COLUMNS).map(|at| column(&format!("s{at}"))).collect(),
            transactions,
            relation,
        }
    }

    fn insert(&self, t: &mut Transaction, id: i32) -> RowId {
        let text = "some text that may be long, ".repeat(id as usize % 3);
        let mut row = vec![
            Datum::I32(id),
            if id % 4 == 0 { Datum::Null } else { Datum::I64(id.into()) },
            if id % 5 == 0 { Datum::Null } else { Datum::Text(&text[..text.len().min(id as usize % 40)]) },
            Datum::Bytes(&[0xFF, 0xFE]),
            Datum::I128(i128::from(id) << 70),
        ];
        row.extend((SMALL_FROM..COLUMNS).map(|at| Datum::I16(at as i16)));
        t.insert(&self.relation, &row).unwrap()
    }

    /// Reads a row as a whole, and compares with the same value by value.
    fn check(&self, t: &mut Transaction, row: RowId) {
        let relation = &self.relation;
        let mut expected = Vec::new();
        for column in 0..COLUMNS {
            match t.get_datum(relation, row, column, |value| format!("{value:?}")) {
                Ok(value) => expected.push(value),
                Err(error) => {
                    assert!(matches!(error, TransactionError::NoSuchRow { .. }), "{error}");
                    assert_eq!(t.read(relation, row).unwrap_err(), error);
                    return;
                }
            }
        }
        let mut read = t.read(relation, row).unwrap();
        assert_eq!(read.id(), row);
        let mut found = vec![format!("{:?}", Datum::from(read.get_nullable(self.id)))];
        found.push(format!("{:?}", Datum::from(read.get_nullable(self.number))));
        found.push(format!("{:?}", Datum::from(read.text(self.text))));
        found.push(format!("{:?}", Datum::from(read.bytes(self.bytes))));
        found.push(format!("{:?}", Datum::from(read.get_nullable(self.money))));
        found.extend(self.small.iter().map(|&field| format!("{:?}", Datum::from(read.get_nullable(field)))));
        assert_eq!(found, expected);
    }

    fn check_all(&self, t: &mut Transaction, rows: &[RowId]) {
        for &row in rows {
            self.check(t, row);
        }
    }
}

#[test]
fn rows_read_as_a_whole_are_what_they_are_value_by_value() {
    let bench = Bench::new();
    let mut random = Random::new(1);
    let mut t = bench.transactions.begin(Isolation::Serializable);
    let rows: Vec<RowId> = (0..60).map(|id| bench.insert(&mut t, id)).collect();
    bench.check_all(&mut t, &rows);
    t.commit().unwrap();

    let mut oldest = bench.transactions.begin(Isolation::Serializable);
    for _ in 0..200 {
        let mut older = bench.transactions.begin_read_only(Isolation::Snapshot);
        let mut t = bench.transactions.begin(Isolation::Serializable);
        if random.below(3) == 0 {
            t.savepoint();
        }
        for _ in 0..random.below(12) {
            let row = rows[random.below(rows.len())];
            let Ok(mut edit) = t.edit(&bench.relation, row) else { continue };
            if random.below(20) == 0 {
                edit.delete().unwrap();
                continue;
            }
            // Of a value changed twice the first one counts for others.
            for _ in 0..=random.below(6) {
                let number = random.below(1000) as i64;
                let text = "another text, ".repeat(random.below(4));
                let value = |value: Datum<'static>| if number % 7 == 0 { Datum::Null } else { value };
                match random.below(5) {
                    0 => edit.set_datum(1, value(Datum::I64(number))).unwrap(),
                    1 => edit.set(bench.text, &text).unwrap(),
                    2 => edit.set_datum(3, value(Datum::Bytes(b"bytes"))).unwrap(),
                    3 => edit.set_datum(4, value(Datum::I128(i128::from(-number.pow(3))))).unwrap(),
                    _ => {
                        let column = SMALL_FROM + random.below(COLUMNS - SMALL_FROM);
                        edit.set_datum(column, value(Datum::I16(number as i16))).unwrap();
                    }
                }
            }
            let small = edit.get_nullable(bench.small[3]);
            let text = edit.text(bench.text).map(str::to_owned);
            drop(edit);
            assert_eq!(t.get_nullable(&bench.relation, row, bench.small[3]).unwrap(), small);
            let mut found = String::new();
            let is_there = t.get_text(&bench.relation, row, bench.text, &mut found).unwrap();
            assert_eq!(is_there.then_some(found), text);
        }
        bench.check_all(&mut t, &rows);
        bench.check_all(&mut older, &rows);
        bench.check_all(&mut oldest, &rows);
        match random.below(3) {
            0 => t.rollback(),
            _ => drop(t.commit().unwrap()),
        }
        bench.check_all(&mut older, &rows);
        bench.check_all(&mut oldest, &rows);
    }
}

#[test]
fn what_a_rollback_undoes_is_what_was_before_the_first_change() {
    let bench = Bench::new();
    let mut t = bench.transactions.begin(Isolation::Serializable);
    let row = bench.insert(&mut t, 7);
    t.commit().unwrap();
    for column in [1, SMALL_FROM, 63, 64, COLUMNS - 1] {
        let before = {
            let mut t = bench.transactions.begin_read_only(Isolation::Snapshot);
            t.get_datum(&bench.relation, row, column, |value| format!("{value:?}")).unwrap()
        };
        let mut t = bench.transactions.begin(Isolation::Serializable);
        for number in 100..103 {
            let mut edit = t.edit(&bench.relation, row).unwrap();
            for add in [0, 10] {
                edit.set_datum(column, if column == 1 { Datum::I64(number) } else { Datum::I16(add) }).unwrap();
            }
        }
        let savepoint = t.savepoint();
        t.set_datum(&bench.relation, row, column, if column == 1 { Datum::I64(1) } else { Datum::I16(1) }).unwrap();
        t.rollback_to(savepoint);
        let changed = t.get_datum(&bench.relation, row, column, |value| format!("{value:?}")).unwrap();
        assert_eq!(changed, if column == 1 { "I64(102)" } else { "I16(10)" });
        t.rollback();
        let mut t = bench.transactions.begin_read_only(Isolation::Snapshot);
        assert_eq!(t.get_datum(&bench.relation, row, column, |value| format!("{value:?}")).unwrap(), before);
    }
}

#[test]
fn rows_are_found_for_reading_and_for_changes() {
    let bench = Bench::new();
    let relation = &bench.relation;
    let index = relation.indexes().remove(0);
    let mut t = bench.transactions.begin(Isolation::Serializable);
    let row = bench.insert(&mut t, 7);
    t.commit().unwrap();

    let mut older = bench.transactions.begin(Isolation::Serializable);
    let mut t = bench.transactions.begin(Isolation::Serializable);
    assert!(t.find_edit(relation, &index, key!(8)).unwrap().is_none());
    let mut edit = t.find_edit(relation, &index, key!(7)).unwrap().unwrap();
    assert_eq!((edit.id(), edit.get(bench.number).unwrap()), (row, 7));
    edit.set(bench.number, 70).unwrap();
    let indexed = edit.set_datum(0, Datum::I32(8)).unwrap_err();
    assert!(matches!(indexed, TransactionError::Indexed { .. }), "{indexed}");
    let error = edit.set_datum(1, Datum::Text("seven")).unwrap_err();
    assert!(matches!(error, TransactionError::Type { .. }), "{error}");
    drop(edit);
    assert!(older.edit(relation, row).unwrap_err().is_conflict());
    assert!(older.find_edit(relation, &index, key!(7)).unwrap_err().is_conflict());
    assert_eq!(older.find_read(relation, &index, key!(7)).unwrap().unwrap().get(bench.number).unwrap(), 7);
    t.commit().unwrap();
    assert_eq!(older.find_read(relation, &index, key!(7)).unwrap().unwrap().get(bench.number).unwrap(), 7);
    drop(older);

    let mut reader = bench.transactions.begin_read_only(Isolation::Snapshot);
    assert!(matches!(reader.edit(relation, row).unwrap_err(), TransactionError::ReadOnly));
    let mut t = bench.transactions.begin(Isolation::Serializable);
    t.edit(relation, row).unwrap().delete().unwrap();
    assert!(t.find_read(relation, &index, key!(7)).unwrap().is_none());
    assert!(matches!(t.edit(relation, row).unwrap_err(), TransactionError::NoSuchRow { .. }));
    assert_eq!(reader.find_read(relation, &index, key!(7)).unwrap().unwrap().get(bench.number).unwrap(), 70);
    // A value that is NULL has no number.
    let null = bench.insert(&mut t, 8);
    let error = t.read(relation, null).unwrap().get(bench.number).unwrap_err();
    assert!(matches!(error, TransactionError::IsNull { .. }), "{error}");
}

#[test]
fn a_value_that_is_read_as_part_of_a_row_is_validated() {
    let bench = Bench::new();
    let mut t = bench.transactions.begin(Isolation::Serializable);
    let rows = [bench.insert(&mut t, 1), bench.insert(&mut t, 2)];
    t.commit().unwrap();
    let index = bench.relation.indexes().remove(0);
    // Each reads what the other writes: write skew.
    let mut both = [1, 2].map(|_| bench.transactions.begin(Isolation::Serializable));
    for (t, read, written) in [(0, 1, 2), (1, 2, 1)] {
        let t = &mut both[t];
        let number = t.find_read(&bench.relation, &index, key!(read)).unwrap().unwrap().get(bench.number).unwrap();
        let mut edit = t.find_edit(&bench.relation, &index, key!(written)).unwrap().unwrap();
        edit.set(bench.number, number).unwrap();
    }
    let [first, second] = both;
    first.commit().unwrap();
    assert!(second.commit().is_err());
    assert!(bench.transactions.begin_read_only(Isolation::Snapshot).sees(&bench.relation, rows[0]));
}

/// The numbers that a view sees, by arrays and by stretches.
fn both_ways(t: &Transaction, relation: &Relation, batch: usize) -> [Vec<Option<i64>>; 2] {
    let (mut by_arrays, mut by_stretches, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
    for piece in t.snapshot(relation).pieces() {
        for offset in (0..piece.rows()).step_by(batch) {
            let rows = batch.min(piece.rows() - offset);
            let (array, visible) = (piece.array(1, offset, rows), piece.visible(offset, rows));
            let values = array.as_primitive::<Int64Type>();
            let is_visible = |row: &usize| visible.as_ref().is_none_or(|visible| visible.value(*row));
            by_arrays.extend((0..rows).filter(is_visible).map(|row| values.is_valid(row).then(|| values.value(row))));
            let Values::I64(stored) = piece.chunk().values(1, 0..piece.rows(), &mut scratch) else { panic!("numbers") };
            let is_null =
                |row: usize| piece.chunk().validity(1).is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0);
            for stretch in piece.stretches(1, offset, rows) {
                match stretch {
                    Stretch::Stored(rows) => {
                        by_stretches.extend(rows.map(|row| (!is_null(row)).then_some(stored[row])));
                    }
                    Stretch::Patched(_, bytes) => {
                        let value = |bytes: [u8; 16]| i64::from_le_bytes(bytes[..8].try_into().unwrap());
                        by_stretches.push(bytes.map(value));
                    }
                }
            }
        }
    }
    [by_arrays, by_stretches]
}

#[test]
fn stretches_have_the_values_of_arrays() {
    let schema = Schema::new(vec![
        Column::new("id", ColumnType::Integer, false),
        Column::new("number", ColumnType::BigInt, true),
    ]);
    let transactions = Transactions::new();
    let relation = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions);
    let mut random = Random::new(3);
    let mut t = transactions.begin(Isolation::Snapshot);
    let rows: Vec<RowId> = (0..3000).map(|id| t.insert(&relation, key![id, i64::from(id)]).unwrap()).collect();
    t.commit().unwrap();
    // Each with what it saw first, which is what it sees ever after, however often it looks.
    let begun = || {
        let view = transactions.begin_read_only(Isolation::Snapshot);
        let [seen, _] = both_ways(&view, &relation, 1000);
        (view, seen)
    };
    let mut views = vec![begun()];
    for round in 0..40 {
        let mut t = transactions.begin(Isolation::Snapshot);
        for _ in 0..random.below(60) {
            // Some next to each other.
            let row = rows[if round % 2 == 0 { random.below(64) } else { random.below(rows.len()) }];
            let value = if random.below(5) == 0 { Datum::Null } else { Datum::I64(-round) };
            match t.edit(&relation, row) {
                Ok(edit) if random.below(4) == 0 => edit.delete().unwrap(),
                Ok(mut edit) => edit.set_datum(1, value).unwrap(),
                Err(_) => {}
            }
        }
        t.insert(&relation, key![-1, -1_i64]).unwrap();
        let own = both_ways(&t, &relation, 1000);
        assert_eq!(own[0], own[1]);
        for (view, seen) in &views {
            assert_eq!(both_ways(view, &relation, 1000), [&seen[..], seen]);
        }
        match random.below(3) {
            0 => t.rollback(),
            _ => drop(t.commit().unwrap()),
        }
        if random.below(4) == 0 {
            views.push(begun());
        }
        if views.len() > 1 && random.below(8) == 0 {
            views.remove(0);
        }
        for (view, seen) in &views {
            for batch in [7, 1024, 100_000] {
                assert_eq!(both_ways(view, &relation, batch), [&seen[..], seen]);
            }
        }
    }
}

#[test]
fn values_are_changed_where_they_are_unless_somebody_reads_them() {
    let schema = Schema::new(vec![Column::new("number", ColumnType::BigInt, false)]);
    let transactions = Transactions::new();
    let relation = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions);
    let number = relation.column::<i64>("number").unwrap();
    let mut t = transactions.begin(Isolation::Snapshot);
    let row = t.insert(&relation, key![1_i64]).unwrap();
    t.commit().unwrap();
    let place = || match relation.snapshot().chunks()[0].values(0, 0..1, &mut Scratch::default()) {
        Values::I64(values) => (values.as_ptr(), values.to_vec()),
        _ => panic!("numbers"),
    };
    let set = |value: i64| {
        let mut t = transactions.begin(Isolation::Snapshot);
        t.set(&relation, row, number, value).unwrap();
        t.commit().unwrap();
    };
    let (before, _) = place();
    set(2);
    assert_eq!(place(), (before, vec![2]), "the snapshot that was is nobody's");
    let reader = relation.snapshot();
    set(3);
    let (after, values) = place();
    assert!(after != before && values == [3]);
    assert!(matches!(reader.chunks()[0].values(0, 0..1, &mut Scratch::default()), Values::I64([2])));
}
