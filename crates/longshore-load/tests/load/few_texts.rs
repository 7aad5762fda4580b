//! Columns of few different texts, whose dictionaries are made while they are decoded, against the slow twin.

use longshore_load::{
    Control, InputFile, Kernel, OnError, PIECE_BYTES_DEFAULT, Source, TextOptions, Tuning, copy_from, load_inferred,
};
use longshore_storage::{ColumnType, Memory, MergeKind, PackedAs, Relation};
use longshore_testing::Random;

use crate::harness::rejects::file_of;
use crate::harness::{THREADS, comma, dump, expected, infer, schema};

/// Rows of a chunk that is packed, and some.
const ROWS: usize = 20_000;

/// The columns: short texts, some of them NULL; short and long ones, some quoted; ever more different ones; a number.
fn record(row: usize, random: &mut Random) -> String {
    let short = random.pick(&["", "A", "N", "\"\"", "\u{e4}\u{f6}", "twelve bytes"]);
    let long =
        random.pick(&["a text of many bytes", "\"a \"\"text\"\", quoted\"", "\"a text of many bytes\"", "none", ""]);
    let many = random.below(1 + row / 20);
    format!("{short},{long},number {many},{row}\n")
}

#[test]
fn dictionaries_are_right_on_all_machines() {
    let mut random = Random::new(3);
    let schema = schema(&[ColumnType::Text, ColumnType::Text, ColumnType::Text, ColumnType::Integer]);
    for rejects in [false, true] {
        let (mut text, mut good) = (String::new(), String::new());
        for row in 0..ROWS {
            let record = record(row, &mut random);
            if rejects && random.once_in(100) {
                // A bad number, and now and then a text that no other row has.
                let bad = if random.once_in(2) { "gone,gone,gone,x\n".to_owned() } else { record.replace('\n', "x\n") };
                text.push_str(&bad);
            } else {
                text.push_str(&record);
                good.push_str(&record);
            }
        }
        let on_error = if rejects { OnError::Ignore } else { OnError::Stop };
        let options = TextOptions { on_error, ..comma() };
        let expected = expected(good.as_bytes(), &schema, &comma()).expect("the records are good");
        let file = file_of(text.as_bytes());
        for kernel in Kernel::available() {
            for (piece_bytes, threads) in [300, 5000, PIECE_BYTES_DEFAULT].into_iter().zip(THREADS) {
                let merge = MergeKind::Chunk;
                let tuning =
                    Tuning { threads, kernel, piece_bytes: Some(piece_bytes), span_bytes: Some(1 << 20), merge };
                let relation = Relation::new(schema.clone(), Memory::new(None));
                let input = InputFile::opened(Source::open(file.path()).unwrap(), &[0, 1, 2, 3]);
                copy_from(vec![input], &relation, &options, &tuning, &Control::new()).unwrap();
                assert_is(&relation, &expected, &tuning);
            }
        }
    }
}

#[test]
fn so_are_those_of_columns_that_are_found_out() {
    let mut random = Random::new(4);
    let good: String = (0..ROWS).map(|row| record(row, &mut random)).collect();
    let schema = schema(&[ColumnType::Text, ColumnType::Text, ColumnType::Text, ColumnType::Integer]);
    let expected = expected(good.as_bytes(), &schema, &comma()).expect("the records are good");
    let file = file_of(format!("short,long,many,row\n{good}").as_bytes());
    for kernel in Kernel::available() {
        for threads in THREADS {
            let merge = MergeKind::Chunk;
            let tuning = Tuning { threads, kernel, piece_bytes: Some(5000), span_bytes: Some(1 << 20), merge };
            let inputs = vec![infer::input(file.path(), threads == 2)];
            let (relation, ..) = load_inferred(inputs, &infer::request(&tuning), &Control::new()).unwrap();
            assert_is(&relation, &expected, &tuning);
        }
    }
}

/// Checks that a relation has these rows, and its first chunk dictionaries of them.
fn assert_is(relation: &Relation, expected: &str, tuning: &Tuning) {
    assert_eq!(dump(relation), expected, "{tuning:?}");
    let snapshot = relation.snapshot();
    let packed_as = |column| snapshot.chunks()[0].packed(column).unwrap().packed_as();
    assert_eq!([0, 1, 2].map(packed_as), [1, 1, 2].map(PackedAs::Dictionary), "{tuning:?}");
}
