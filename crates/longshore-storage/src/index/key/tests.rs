//! Keys sort as their values do, whatever the types.

use std::sync::Arc;

use super::*;
use crate::arena::Arena;
use crate::buffer::PartitionBuffer;
use crate::memory::Memory;
use crate::types::Column;

fn layout(types: &[(ColumnType, bool)]) -> KeyLayout {
    let columns = types.iter().enumerate();
    let columns = columns.map(|(at, &(column_type, nullable))| Column::new(format!("c{at}"), column_type, nullable));
    let all: Vec<usize> = (0..types.len()).collect();
    KeyLayout::new(&Schema::new(columns.collect()), &all, Uniqueness::Unique)
}

fn ascending(column_type: ColumnType, values: &[Datum<'_>]) {
    for nullable in [false, true] {
        let layout = layout(&[(column_type, nullable), (ColumnType::SmallInt, false)]);
        let mut keys: Vec<Key> = Vec::new();
        for &value in values {
            for second in [Datum::I16(-1), Datum::I16(300)] {
                keys.push(layout.encode(&[value, second], false).unwrap());
            }
        }
        if nullable {
            keys.push(layout.encode(&[Datum::Null, Datum::I16(0)], false).unwrap());
        }
        for (at, a) in keys.iter().enumerate() {
            for (other_at, b) in keys.iter().enumerate() {
                assert_eq!(a.cmp(b), at.cmp(&other_at), "{column_type}: {at} and {other_at}");
                assert_eq!(a == b, at == other_at);
                assert!(at == other_at || !b.to_bytes().starts_with(&a.to_bytes()), "a key is no prefix");
            }
        }
    }
}

#[test]
fn keys_sort_as_their_values() {
    ascending(ColumnType::Boolean, &[Datum::Bool(false), Datum::Bool(true)]);
    ascending(ColumnType::SmallInt, &[i16::MIN, -2, -1, 0, 1, 255, 256, i16::MAX].map(Datum::I16));
    ascending(ColumnType::Integer, &[i32::MIN, -65_536, -1, 0, 1, 255, 256, i32::MAX].map(Datum::I32));
    ascending(ColumnType::BigInt, &[i64::MIN, -1 << 40, -1, 0, 1, 256, 1 << 40, i64::MAX].map(Datum::I64));
    let wide = ColumnType::Decimal { precision: 38, scale: 2 };
    ascending(wide, &[i128::MIN, -1 << 90, -1, 0, 1, 1 << 70, i128::MAX].map(Datum::I128));
    let reals = [f32::NEG_INFINITY, -1e30, -1.0, -f32::MIN_POSITIVE, 0.0, 1e-40, 1.0, 1.5, f32::INFINITY, f32::NAN];
    ascending(ColumnType::Real, &reals.map(Datum::F32));
    let doubles = [f64::NEG_INFINITY, -1e300, -1.0, -1e-310, 0.0, 1e-310, 1.0, 1.5, f64::INFINITY, f64::NAN];
    ascending(ColumnType::Double, &doubles.map(Datum::F64));
    let texts = [
        "",
        "\0",
        "\0\0",
        "\0\u{1}",
        "\u{1}",
        "\u{1}\0",
        "\u{1}\u{1}",
        "\u{1}\u{2}",
        "\u{2}",
        "a",
        "a\0",
        "a\0b",
        "a\u{1}",
        "aa",
        "abcdefgh",
        "abcdefghijklmno",
        "abcdefghijklmnop",
        "abcdefghijklmnopq",
        "b",
        "ä",
    ];
    ascending(ColumnType::Text, &texts.map(Datum::Text));
    ascending(ColumnType::Bytea, &[&b""[..], b"\0", b"\x01", b"\x02\xFF", b"\xFF", b"\xFF\xFF"].map(Datum::Bytes));
}

#[test]
fn equal_values_have_equal_keys() {
    let double = layout(&[(ColumnType::Double, false)]);
    let of = |value| double.encode(&[Datum::F64(value)], false).unwrap();
    assert_eq!(of(0.0), of(-0.0));
    assert_eq!(of(f64::NAN), of(-f64::NAN));
    let char = layout(&[(ColumnType::Char(5), false)]);
    let of = |value| char.encode(&[Datum::Text(value)], false).unwrap();
    assert_eq!(of("ab"), of("ab   "));
    let big = layout(&[(ColumnType::BigInt, false)]);
    assert_eq!(big.encode(&[Datum::I16(-7)], false), big.encode(&[Datum::I64(-7)], false));
}

#[test]
fn what_is_no_key_is_refused() {
    let layout = layout(&[(ColumnType::SmallInt, false), (ColumnType::Text, true)]);
    let message = |values: &[Datum<'_>]| layout.encode(values, false).unwrap_err().to_string();
    assert_eq!(message(&[Datum::I16(1)]), "a key of 1 values where the index has 2 columns; give one per column");
    let wrong = "column c0 SMALLINT: I32(40000) is no value of it; convert it to the column's type";
    assert_eq!(message(&[Datum::I32(40_000), Datum::Null]), wrong);
    assert!(message(&[Datum::Null, Datum::Null]).starts_with("column c0 SMALLINT: Null is no value"));
    assert!(message(&[Datum::I16(1), Datum::Bytes(b"x")]).starts_with("column c1 TEXT: Bytes"));
    assert!(layout.encode(&[Datum::I16(1)], true).is_ok());
    assert!(layout.encode(&[Datum::Null; 3], true).is_err());
}

#[test]
fn keys_are_described_by_their_values() {
    let types = [
        (ColumnType::Decimal { precision: 5, scale: 2 }, true),
        (ColumnType::Text, false),
        (ColumnType::Date, false),
        (ColumnType::Timestamp, true),
        (ColumnType::Bytea, true),
        (ColumnType::Double, false),
        (ColumnType::Boolean, false),
        (ColumnType::Integer, true),
    ];
    let layout = layout(&types);
    let values = [
        Datum::I64(-5),
        Datum::Text("it\0\u{1}s"),
        Datum::I32(-1),
        Datum::I64(951_782_400_000_001),
        Datum::Bytes(b"\0\xFF"),
        Datum::F64(-2.5),
        Datum::Bool(true),
        Datum::Null,
    ];
    let key = layout.encode(&values, false).unwrap();
    let described = "(-0.05, 'it\0\u{1}s', '1969-12-31', '2000-02-29 00:00:00.000001', '\\x00ff', -2.5, true, NULL)";
    assert_eq!(layout.describe(&key.to_bytes()), described);
    let prefix = layout.encode(&values[..2], true).unwrap();
    assert_eq!(layout.describe(&prefix.to_bytes()), "(-0.05, 'it\0\u{1}s')");
}

/// Both forms read the same bytes the same way.
#[test]
fn short_and_long_bytes_agree() {
    for length in 0..=SHORT_BYTES {
        let bytes: Vec<u8> = (0..length as u8).map(|byte| byte.wrapping_mul(37) ^ 0xA5).collect();
        let bits = bytes.iter().enumerate().fold(0, |bits, (at, &byte)| bits | u128::from(byte) << (120 - 8 * at));
        let (short, long) = (ShortBytes { bits, length: length as u32 }, LongBytes(&bytes));
        assert_eq!((short.to_vec(), short.length()), (long.to_vec(), long.length()));
        for at in 0..20 {
            assert_eq!((short.byte(at), short.word(at)), (long.byte(at), long.word(at)), "{length} at {at}");
        }
    }
}

/// The keys of a chunk, made column by column or row by row, are those of its rows' values.
#[test]
fn keys_of_chunks_are_those_of_rows() {
    struct Gather(Vec<(Vec<u8>, bool)>);
    impl KeySink for Gather {
        type Error = ();
        fn take<K: WholeKey>(&mut self, row: usize, key: K, has_null: bool) -> Result<(), ()> {
            assert_eq!(row, self.0.len());
            self.0.push((key.to_vec(), has_null));
            Ok(())
        }
    }
    use super::bulk::KeySink;
    let rows = 1_300;
    let column = |name: &str, column_type| Column::new(name, column_type, true);
    let schema = Arc::new(Schema::new(vec![
        column("i", ColumnType::Integer),
        column("f", ColumnType::Double),
        column("t", ColumnType::Text),
        column("s", ColumnType::SmallInt),
    ]));
    let integers: Vec<Option<i32>> = (0..rows).map(|row| (row % 7 != 3).then_some(row * 1_234_567)).collect();
    let doubles: Vec<Option<f64>> = (0..rows).map(|row| (row % 5 != 1).then_some(f64::from(row) - 600.0)).collect();
    let texts: Vec<Option<String>> =
        (0..rows).map(|row| (row % 11 != 2).then(|| "x".repeat(row as usize % 29))).collect();
    let smalls: Vec<Option<i16>> = (0..rows).map(|row| Some(row as i16)).collect();
    let batch = arrow_array::RecordBatch::try_new(
        schema.arrow(),
        vec![
            Arc::new(arrow_array::Int32Array::from(integers.clone())),
            Arc::new(arrow_array::Float64Array::from(doubles.clone())),
            Arc::new(texts.iter().collect::<arrow_array::StringViewArray>()),
            Arc::new(arrow_array::Int16Array::from(smalls.clone())),
        ],
    )
    .unwrap();
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let chunk = PartitionBuffer::from_batch(&schema, &batch, &mut arena).unwrap().remove(0).seal();
    for columns in [&[0][..], &[0, 1], &[1, 3, 0], &[2], &[2, 0], &[0, 1, 3, 2]] {
        let layout = KeyLayout::new(&schema, columns, Uniqueness::Unique);
        let mut gathered = Gather(Vec::new());
        layout.encode_chunk(&chunk, &mut gathered).unwrap();
        for (row, (bytes, has_null)) in gathered.0.iter().enumerate() {
            let key = layout.encode_row(|column| match column {
                0 => integers[row].into(),
                1 => doubles[row].into(),
                2 => texts[row].as_deref().into(),
                _ => smalls[row].into(),
            });
            let key = key.unwrap();
            assert_eq!((&key.to_bytes(), key.has_null()), (bytes, *has_null), "{columns:?}, row {row}");
        }
        assert_eq!(gathered.0.len(), rows as usize);
    }
}

#[test]
fn keys_that_begin_with_integers_are_made_as_others() {
    let mut random = 1_u64;
    let mut value = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as i32
    };
    for integers in 0..=6 {
        for rest in [&[][..], &[ColumnType::SmallInt], &[ColumnType::Text, ColumnType::Integer]] {
            let types: Vec<_> =
                std::iter::repeat_n(ColumnType::Integer, integers).chain(rest.iter().copied()).collect();
            for nullable in [false, true] {
                let layout = layout(&types.iter().map(|&column_type| (column_type, nullable)).collect::<Vec<_>>());
                let values: Vec<Datum<'_>> = types
                    .iter()
                    .map(|column_type| match column_type {
                        ColumnType::Integer => Datum::I32(value()),
                        ColumnType::SmallInt => Datum::I16(value() as i16),
                        _ => Datum::Text("a\0text that is long"),
                    })
                    .collect();
                let mut slow = Key::EMPTY;
                for (part, &value) in layout.parts.iter().zip(&values) {
                    part.encode(&mut slow, value).unwrap();
                }
                let key = layout.encode(&values, false).unwrap();
                assert_eq!((key.to_bytes(), key.length), (slow.to_bytes(), slow.length));
                assert_eq!(layout.encode_row(|column| values[column]).unwrap().to_bytes(), slow.to_bytes());
                // The first of them alone, and a value of another type that has to be converted.
                for count in 0..values.len() {
                    let prefix = layout.encode(&values[..count], true).unwrap().to_bytes();
                    assert!(slow.to_bytes().starts_with(&prefix));
                }
                if integers > 1 {
                    let mut converted = values.clone();
                    converted[1] = Datum::I64(if let Datum::I32(value) = values[1] { value.into() } else { 0 });
                    assert_eq!(layout.encode(&converted, false).unwrap().to_bytes(), slow.to_bytes());
                }
            }
        }
    }
}
