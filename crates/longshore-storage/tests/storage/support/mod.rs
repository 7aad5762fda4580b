//! The slow, obvious twin of storage: rows as vectors of cells, random ones, and the way to and from Arrow.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod watchdog;

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, BooleanBuilder, Decimal128Builder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryViewArray, Int64Array, ListArray, RecordBatch, StringViewArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Memory, PartitionBuffer, Relation, Schema, Snapshot, TimeType, Uuid, Value,
    lists, wrap,
};
use longshore_testing::Random;
use longshore_value::numeric::{self, Limit};
use longshore_value::times;

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Boolean(bool),
    Integer(i64),
    Decimal(i128),
    /// By its bits, so that NaN equals itself.
    Float(u64),
    Uuid(Uuid),
    Text(String),
    /// Also a NUMERIC and an array, as they are stored.
    Bytes(Vec<u8>),
}

pub(crate) type Row = Vec<Cell>;

/// A NUMERIC of more digits than a decimal here has.
const WIDE: Limit = Limit { precision: 60, scale: 20 };

/// Every column type, each nullable, and one that is not.
pub(crate) fn all_types() -> Arc<Schema> {
    let types = [
        ColumnType::Boolean,
        ColumnType::SmallInt,
        ColumnType::Integer,
        ColumnType::BigInt,
        ColumnType::Real,
        ColumnType::Double,
        ColumnType::Decimal { precision: 15, scale: 2 },
        ColumnType::Decimal { precision: 38, scale: 10 },
        ColumnType::Char(3),
        ColumnType::Varchar(40),
        ColumnType::Text,
        ColumnType::Date,
        ColumnType::Time,
        ColumnType::Timestamp,
        ColumnType::TimestampTz,
        ColumnType::Uuid,
        ColumnType::Bytea,
        ColumnType::Numeric(None),
        ColumnType::Numeric(Some(WIDE)),
        ColumnType::Json,
        ColumnType::Jsonb,
        array_of(ColumnType::BigInt, 1),
        array_of(ColumnType::Text, 1),
        array_of(ColumnType::BigInt, 2),
        ColumnType::TimeTz,
        ColumnType::Interval,
        ColumnType::Rounded(TimeType::Timestamp, 0),
        ColumnType::Rounded(TimeType::Interval, 0),
    ];
    let mut columns: Vec<Column> =
        types.iter().enumerate().map(|(at, &column_type)| Column::new(format!("c{at}"), column_type, true)).collect();
    columns.push(Column::new("id", ColumnType::BigInt, false));
    Arc::new(Schema::new(columns))
}

/// The type of arrays of so many dimensions.
pub(crate) fn array_of(element: ColumnType, dimensions: usize) -> ColumnType {
    (0..dimensions).fold(element, |of, _| of.array().expect("more dimensions"))
}

/// A small table for tests of order: its id, and a text of any length.
pub(crate) fn id_and_text() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("text", ColumnType::Text, true),
    ]))
}

/// A cell as a value for a column.
pub(crate) fn datum(cell: &Cell, column_type: ColumnType) -> Datum<'_> {
    match (cell, column_type) {
        (Cell::Null, _) => Datum::Null,
        (Cell::Boolean(value), _) => Datum::Bool(*value),
        (Cell::Integer(value), ColumnType::SmallInt) => Datum::I16(*value as i16),
        (Cell::Integer(value), ColumnType::Integer | ColumnType::Date) => Datum::I32(*value as i32),
        (Cell::Integer(value), _) => Datum::I64(*value),
        (Cell::Decimal(value), ColumnType::Decimal { precision: 15, .. }) => Datum::I64(*value as i64),
        (Cell::Decimal(value), _) => Datum::I128(*value),
        (Cell::Float(bits), ColumnType::Real) => Datum::F32(f64::from_bits(*bits) as f32),
        (Cell::Float(bits), _) => Datum::F64(f64::from_bits(*bits)),
        (Cell::Uuid(value), _) => Datum::Uuid(*value),
        (Cell::Text(text), _) => Datum::Text(text),
        (Cell::Bytes(bytes), _) => Datum::Bytes(bytes),
    }
}

fn random_text(random: &mut Random, length_max: usize) -> String {
    let alphabet: Vec<char> = "abcxyz ,\"\n0é日\u{1F600}".chars().collect();
    let length = random.below(length_max + 1);
    (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect()
}

/// The NUMERIC that a text spells.
pub(crate) fn numeric(text: &str, limit: Option<Limit>) -> Cell {
    let mut bytes = Vec::new();
    numeric::read(text.as_bytes(), limit, &mut |byte| bytes.push(byte))
        .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    Cell::Bytes(bytes)
}

/// An array of arrays, or of elements, as it is stored.
pub(crate) fn list(elements: ArrayRef) -> Vec<u8> {
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let list = ListArray::new(field, OffsetBuffer::from_lengths([elements.len()]), elements, None);
    lists::encode(&list).value(0).to_vec()
}

/// Numbers of few and many digits, of every exponent, and those that are none.
pub(crate) fn random_number(random: &mut Random, limit: Option<Limit>) -> String {
    let digits = |random: &mut Random, count_max: usize| -> String {
        (0..random.below(count_max + 1)).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
    };
    let sign = random.pick(&["", "-"]);
    match (random.below(12), limit) {
        (0, _) => "NaN".to_owned(),
        (1, None) => format!("{sign}Infinity"),
        (2, _) => format!("{sign}0.{}", "0".repeat(random.below(20))),
        (3, None) => format!("{sign}1{}e{}", digits(random, 3), random.below(2000) as i64 - 1000),
        (4, Some(_)) => format!("{sign}{}.{}", "9".repeat(40), "9".repeat(20)),
        (5, None) if random.once_in(20) => format!("{sign}1{}.{}", digits(random, 300), digits(random, 300)),
        _ => format!("{sign}{}{}.{}", random.below(10), digits(random, 20), digits(random, 20)),
    }
}

pub(crate) fn random_json(random: &mut Random) -> String {
    match random.below(6) {
        0 => random.pick(&["null", "true", "{}", "[]", "\"\"", "0"]).to_owned(),
        1 => format!("{}", random.next() as i64),
        2 => format!("{:?}", random_text(random, 30)),
        3 => format!("[{}]", vec!["1, 2"; random.below(5) + 1].join(", ")),
        _ => format!("{{\"a\": {}, \"text\": {:?}}}", random.below(9), random_text(random, 10)),
    }
}

/// A time of some zone on a second, by its number.
pub(crate) fn timetz(number: i64) -> Cell {
    let (second, hour) = (number.rem_euclid(86_400), number.div_euclid(86_400).rem_euclid(29) as i32 - 14);
    Cell::Bytes(times::timetz_key(second * 1_000_000, hour * 3_600).to_vec())
}

/// An interval of whole seconds, and of months and days that those of other numbers have as well.
pub(crate) fn interval(number: i64) -> Cell {
    Cell::Bytes(
        times::interval_key((number % 13) as i32, (number % 31) as i32, number % (1 << 40) * 1_000_000).to_vec(),
    )
}

/// The elements of a random array, NULL among them.
pub(crate) fn random_elements(random: &mut Random, element: ColumnType, dimensions: u8) -> ArrayRef {
    let count = if random.once_in(50) { 40 } else { random.below(4) };
    if dimensions > 1 {
        let item = array_of(element, usize::from(dimensions - 1));
        let arrays =
            (0..count).map(|_| (!random.once_in(5)).then(|| list(random_elements(random, element, dimensions - 1))));
        return wrap(item, Arc::new(arrays.collect::<BinaryViewArray>()));
    }
    if element == ColumnType::BigInt {
        let values = (0..count).map(|_| (!random.once_in(4)).then(|| random.next() as i64 >> random.below(64)));
        return Arc::new(values.collect::<Int64Array>());
    }
    let values = (0..count).map(|_| (!random.once_in(4)).then(|| random_text(random, 20)));
    Arc::new(values.collect::<StringViewArray>())
}

fn random_cell(random: &mut Random, column: &Column, id: i64) -> Cell {
    if column.nullable && random.below(5) == 0 {
        return Cell::Null;
    }
    let bits = random.next();
    match column.column_type {
        ColumnType::Boolean => Cell::Boolean(bits & 1 == 1),
        ColumnType::SmallInt => Cell::Integer((bits as i16).into()),
        ColumnType::Integer | ColumnType::Date => Cell::Integer((bits as i32).into()),
        ColumnType::BigInt if column.name == "id" => Cell::Integer(id),
        ColumnType::BigInt | ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz => {
            Cell::Integer(bits as i64)
        }
        ColumnType::Real => Cell::Float(f64::from(bits as i32 as f32 / 7.0).to_bits()),
        ColumnType::Double => Cell::Float((bits as i64 as f64 / 7.0).to_bits()),
        ColumnType::Decimal { precision: 15, .. } => Cell::Decimal((bits as i64 % 1_000_000_000_000_000).into()),
        ColumnType::Decimal { .. } => Cell::Decimal((i128::from(bits as i64) << 60) | i128::from(random.next() >> 4)),
        ColumnType::Char(_) => Cell::Text(random_text(random, 3).trim_end_matches(' ').to_owned()),
        ColumnType::Varchar(_) => Cell::Text(random_text(random, 40)),
        ColumnType::Text => Cell::Text(random_text(random, if bits.is_multiple_of(50) { 600 } else { 20 })),
        ColumnType::Uuid => Cell::Uuid(Uuid((u128::from(bits) << 64 | u128::from(random.next())).to_be_bytes())),
        ColumnType::Bytea => Cell::Bytes((0..random.below(30)).map(|_| random.next() as u8).collect()),
        ColumnType::Numeric(limit) => numeric(&random_number(random, limit), limit),
        ColumnType::Json | ColumnType::Jsonb => Cell::Text(random_json(random)),
        ColumnType::Array(element, dimensions) => Cell::Bytes(list(random_elements(random, *element, dimensions))),
        ColumnType::TimeTz => timetz(bits as i64),
        ColumnType::Interval | ColumnType::Rounded(TimeType::Interval, _) => interval(bits as i64),
        ColumnType::Rounded(..) => Cell::Integer(i64::from(bits as i32) * 1_000_000),
    }
}

/// Random rows whose ids count from `first_id`.
pub(crate) fn random_rows(random: &mut Random, schema: &Schema, first_id: i64, count: usize) -> Vec<Row> {
    let ids = first_id..first_id + count as i64;
    ids.map(|id| schema.columns().iter().map(|column| random_cell(random, column, id)).collect()).collect()
}

macro_rules! primitives {
    ($rows:expr, $column:expr, $arrow:ty, $data_type:expr, $pattern:pat => $value:expr) => {{
        let mut builder = PrimitiveBuilder::<$arrow>::new().with_data_type($data_type);
        for row in $rows {
            match row[$column] {
                Cell::Null => builder.append_null(),
                $pattern => builder.append_value($value),
                _ => panic!("a cell of another type"),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

fn array(column_type: ColumnType, at: usize, rows: &[Row]) -> ArrayRef {
    let data_type = column_type.arrow();
    match column_type {
        ColumnType::SmallInt => primitives!(rows, at, Int16Type, data_type, Cell::Integer(value) => value as i16),
        ColumnType::Integer => primitives!(rows, at, Int32Type, data_type, Cell::Integer(value) => value as i32),
        ColumnType::Date => primitives!(rows, at, Date32Type, data_type, Cell::Integer(value) => value as i32),
        ColumnType::BigInt => primitives!(rows, at, Int64Type, data_type, Cell::Integer(value) => value),
        ColumnType::Time => primitives!(rows, at, Time64MicrosecondType, data_type, Cell::Integer(value) => value),
        ColumnType::Timestamp | ColumnType::TimestampTz | ColumnType::Rounded(TimeType::Timestamp, _) => {
            primitives!(rows, at, TimestampMicrosecondType, data_type, Cell::Integer(value) => value)
        }
        ColumnType::Real => {
            primitives!(rows, at, Float32Type, data_type, Cell::Float(bits) => f64::from_bits(bits) as f32)
        }
        ColumnType::Double => primitives!(rows, at, Float64Type, data_type, Cell::Float(bits) => f64::from_bits(bits)),
        ColumnType::Decimal { .. } => {
            let mut builder = Decimal128Builder::new().with_data_type(data_type);
            for row in rows {
                match row[at] {
                    Cell::Decimal(value) => builder.append_value(value),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        ColumnType::Boolean => {
            let mut builder = BooleanBuilder::new();
            for row in rows {
                match row[at] {
                    Cell::Boolean(value) => builder.append_value(value),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        ColumnType::Bytea
        | ColumnType::Numeric(_)
        | ColumnType::Array(..)
        | ColumnType::TimeTz
        | ColumnType::Interval
        | ColumnType::Rounded(..) => {
            let mut builder = BinaryViewBuilder::new();
            for row in rows {
                match &row[at] {
                    Cell::Bytes(value) => builder.append_value(value),
                    _ => builder.append_null(),
                }
            }
            wrap(column_type, Arc::new(builder.finish()))
        }
        ColumnType::Char(_)
        | ColumnType::Varchar(_)
        | ColumnType::Text
        | ColumnType::Uuid
        | ColumnType::Json
        | ColumnType::Jsonb => {
            let mut builder = StringViewBuilder::new();
            for row in rows {
                match &row[at] {
                    Cell::Uuid(value) => builder.append_value(value.to_string()),
                    Cell::Text(value) => builder.append_value(value),
                    _ => builder.append_null(),
                }
            }
            wrap(column_type, Arc::new(builder.finish()))
        }
    }
}

/// Rows as a batch of the schema's Arrow types.
pub(crate) fn batch(schema: &Schema, rows: &[Row]) -> RecordBatch {
    let columns = schema.columns().iter().enumerate();
    let arrays = columns.map(|(at, column)| array(column.column_type, at, rows)).collect();
    RecordBatch::try_new(schema.arrow(), arrays).expect("a batch of the schema")
}

fn cell(column_type: ColumnType, array: &ArrayRef, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Null;
    }
    match column_type {
        ColumnType::Boolean => Cell::Boolean(array.as_boolean().value(row)),
        ColumnType::SmallInt => Cell::Integer(array.as_primitive::<Int16Type>().value(row).into()),
        ColumnType::Integer => Cell::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        ColumnType::Date => Cell::Integer(array.as_primitive::<Date32Type>().value(row).into()),
        ColumnType::BigInt => Cell::Integer(array.as_primitive::<Int64Type>().value(row)),
        ColumnType::Time => Cell::Integer(array.as_primitive::<Time64MicrosecondType>().value(row)),
        ColumnType::Timestamp | ColumnType::TimestampTz | ColumnType::Rounded(TimeType::Timestamp, _) => {
            Cell::Integer(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        ColumnType::Real => Cell::Float(f64::from(array.as_primitive::<Float32Type>().value(row)).to_bits()),
        ColumnType::Double => Cell::Float(array.as_primitive::<Float64Type>().value(row).to_bits()),
        ColumnType::Decimal { .. } => Cell::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        ColumnType::Bytea => Cell::Bytes(array.as_binary_view().value(row).to_vec()),
        ColumnType::Uuid => {
            Cell::Uuid(Uuid::parse(array.as_string_view().value(row).as_bytes()).expect("it is a UUID"))
        }
        ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text => {
            Cell::Text(array.as_string_view().value(row).to_owned())
        }
        ColumnType::Numeric(_) | ColumnType::TimeTz | ColumnType::Interval | ColumnType::Rounded(..) => {
            Cell::Bytes(array.as_struct().column(0).as_binary_view().value(row).to_vec())
        }
        ColumnType::Json | ColumnType::Jsonb => {
            Cell::Text(array.as_struct().column(0).as_string_view().value(row).to_owned())
        }
        ColumnType::Array(..) => Cell::Bytes(list(array.as_list::<i32>().value(row))),
    }
}

/// The rows of a batch of the schema's Arrow types.
pub(crate) fn rows_of(schema: &Schema, batch: &RecordBatch) -> Vec<Row> {
    assert_eq!(batch.schema(), schema.arrow());
    let columns: Vec<_> = schema.columns().iter().zip(batch.columns()).collect();
    let row = |row| columns.iter().map(|(column, array)| cell(column.column_type, array, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// All rows that a snapshot shows, read in batches of an odd size.
pub(crate) fn rows_in(snapshot: &Snapshot) -> Vec<Row> {
    let schema = snapshot.schema();
    let projection: Vec<usize> = (0..schema.columns().len()).collect();
    let mut rows = Vec::new();
    for chunk in snapshot.chunks() {
        let mut offset = 0;
        while offset < chunk.rows() {
            let count = 777.min(chunk.rows() - offset);
            rows.extend(rows_of(schema, &chunk.batch(&projection, offset, count)));
            offset += count;
        }
    }
    assert_eq!(rows.len() as u64, snapshot.rows());
    rows
}

/// The ids that a snapshot shows, from its column of that name.
pub(crate) fn ids_in(snapshot: &Snapshot) -> Vec<i64> {
    let id = snapshot.schema().index_of("id").expect("there is an id");
    let ids = snapshot
        .chunks()
        .iter()
        .flat_map(|chunk| chunk.array(id, 0, chunk.rows()).as_primitive::<Int64Type>().values().to_vec());
    ids.collect()
}

/// Buffers of these rows.
pub(crate) fn buffers(schema: &Arc<Schema>, rows: &[Row], arena: &mut Arena) -> Vec<PartitionBuffer> {
    let batch = lists::encode_batch(&batch(schema, rows));
    PartitionBuffer::from_batch(schema, &batch, arena).expect("rows of the schema")
}

/// An empty relation without a limit of memory.
pub(crate) fn relation(schema: &Arc<Schema>) -> Relation {
    Relation::new(Arc::clone(schema), Memory::new(None))
}

/// Counts must be right, and bounds must bound.
pub(crate) fn check_statistics(snapshot: &Snapshot, rows: &[Row]) {
    for (at, column) in snapshot.schema().columns().iter().enumerate() {
        let statistics = snapshot.statistics(at);
        let values: Vec<&Cell> = rows.iter().map(|row| &row[at]).filter(|cell| **cell != Cell::Null).collect();
        assert_eq!(statistics.row_count, rows.len() as u64);
        assert_eq!(statistics.null_count, (rows.len() - values.len()) as u64, "{}", column.name);
        let value = |cell: &Cell| match cell.clone() {
            Cell::Null => unreachable!(),
            Cell::Boolean(value) => Value::Boolean(value),
            Cell::Integer(value) => Value::Integer(value),
            Cell::Decimal(value) => Value::Decimal(value),
            Cell::Float(bits) => Value::Float(f64::from_bits(bits)),
            Cell::Uuid(value) => Value::Uuid(value),
            Cell::Text(text) => Value::Text(text),
            Cell::Bytes(bytes) => Value::Bytes(bytes),
        };
        let values: Vec<Value> = values.into_iter().map(value).collect();
        let (min, max) = (statistics.min, statistics.max);
        assert!(values.iter().all(|value| min.as_ref().is_none_or(|min| min <= value)), "{} {min:?}", column.name);
        assert!(values.iter().all(|value| max.as_ref().is_none_or(|max| max >= value)), "{} {max:?}", column.name);
        if statistics.exact {
            assert!(values.contains(&min.expect("a minimum")) && values.contains(&max.expect("a maximum")));
        }
    }
}

/// Does `work` on so many threads, which are told their numbers.
pub(crate) fn on_threads(count: usize, work: impl Fn(usize) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        // One by one: ThreadSanitizer does not see that the end of a scope waits for them.
        for thread in threads {
            thread.join().expect("a thread that does not panic");
        }
    });
}
