//! What `unload_csv` writes, `copy_from` with the same options reads back: for awkward delimiters, quotes, escapes and
//! null texts, with several workers, and byte for byte where the text was written by it.

use std::io::Write as _;
use std::sync::Arc;

use crate::harness::{comma, dump, schema};
use longshore_load::{
    ColumnChoice, Control, Dialect, Header, InputFile, LoadError, Source, Target, TextOptions, Tuning, UnloadOptions,
    ValueOptions, copy_from, unload_csv,
};
use longshore_storage::{ColumnType, Memory, Relation, Schema};

const TEXT: &str = "t,-12,9000000000,-0.5,12.50,1998-12-01,04:05:06,2001-02-03 04:05:06.7,\"a \"\"quoted\"\", text\",\\x00ff\n\
                    ,,,,,,,,,\n\
                    f,0,0,NaN,0.00,2000-02-29,00:00:00,1970-01-01 00:00:00,\"\",\\x\n\
                    t,1,1,1,1.00,0001-01-01,23:59:59,9999-12-31 23:59:59,\"line\nbreak\r\n\",\\x41\n\
                    t,1,1,Infinity,1.00,0001-01-01,23:59:59,9999-12-31 23:59:59,\\.,\\x41\n\
                    f,5,5,5,5.00,2005-05-05,05:05:05,2005-05-05 05:05:05,NULL,\\x05\n";

fn columns() -> Arc<Schema> {
    schema(&[
        ColumnType::Boolean,
        ColumnType::Integer,
        ColumnType::BigInt,
        ColumnType::Double,
        ColumnType::Decimal { precision: 9, scale: 2 },
        ColumnType::Date,
        ColumnType::Time,
        ColumnType::Timestamp,
        ColumnType::Text,
        ColumnType::Bytea,
    ])
}

fn load(text: &[u8], options: &TextOptions) -> Relation {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("written");
    let relation = Relation::new(columns(), Memory::new(None));
    let source = Source::open(file.path()).expect("opened");
    let fields: Vec<usize> = (0..relation.schema().columns().len()).collect();
    copy_from(vec![InputFile::opened(source, &fields)], &relation, options, &Tuning::new(2), &Control::new())
        .expect("a load");
    relation
}

/// Batches of three rows, so that several workers take turns.
fn unload(relation: &Relation, options: &UnloadOptions, threads: usize) -> Result<Vec<u8>, LoadError> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out.csv");
    let snapshot = relation.snapshot();
    let columns: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let batches = snapshot.chunks().iter().flat_map(|chunk| {
        let columns = &columns;
        (0..chunk.rows())
            .step_by(3)
            .map(move |row| Ok::<_, String>(chunk.batch(columns, row, 3.min(chunk.rows() - row))))
    });
    unload_csv(batches, &relation.schema().arrow(), Target::File(path.clone()), options, threads, &Control::new())?;
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("listed").collect();
    assert_eq!(left.len(), 1, "only the file itself is left");
    Ok(std::fs::read(path).expect("read"))
}

fn options(dialect: Dialect, null: &str) -> UnloadOptions {
    UnloadOptions { dialect, null: null.to_owned(), header: true, force_quote: ColumnChoice::None }
}

#[test]
fn every_dialect_is_read_back() {
    let relation = load(TEXT.as_bytes(), &comma());
    let rows = dump(&relation);
    for delimiter in *b",|\t-.:015tx\\;" {
        for (quote, escape) in [(b'"', None), (b'\'', Some(b'^')), (b'"', Some(b'@')), (b'2', None)] {
            for null in ["", "NULL", "0", "1", "\\N", "t", "5.00", "NaN", "\\x"] {
                let Ok(dialect) = Dialect::new(delimiter, Some(quote), escape) else { continue };
                let text = match unload(&relation, &options(dialect, null), 3) {
                    Ok(text) => text,
                    Err(error) => {
                        assert!(matches!(error, LoadError::Options(_)), "{error}");
                        assert!(null.bytes().any(|byte| byte == delimiter || byte == quote), "{error}");
                        continue;
                    }
                };
                let values = ValueOptions { nulls: vec![null.to_owned()], ..ValueOptions::default() };
                let read = TextOptions { values, header: Header::Match, ..TextOptions::new(dialect) };
                let again = load(&text, &read);
                assert_eq!(dump(&again), rows, "{dialect:?} {null:?}\n{}", text.escape_ascii());
            }
        }
    }
}

#[test]
fn the_text_of_many_rows_is_in_order_for_any_number_of_workers() {
    let text: String = (0..20_000).fold(String::new(), |text, row| text + &format!("t,{row},,,,,,,x,\n"));
    let relation = load(text.as_bytes(), &comma());
    let plain = UnloadOptions { header: false, ..options(Dialect::default(), "") };
    for threads in [1, 2, 7] {
        assert_eq!(unload(&relation, &plain, threads).expect("an unload"), text.as_bytes());
    }
}

#[test]
fn what_needs_quotes_is_refused_where_there_are_none() {
    let relation = load(TEXT.as_bytes(), &comma());
    let unquoted = options(Dialect::new(b',', None, None).expect("a dialect"), "");
    let error = unload(&relation, &unquoted, 2).expect_err("an error");
    assert!(error.to_string().contains("column c8"), "{error}");
}

#[test]
fn a_failed_unload_leaves_the_file_that_was_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out.csv");
    std::fs::write(&path, "before").expect("written");
    let failing = std::iter::once(Err("no more rows"));
    let target = Target::File(path.clone());
    let error = unload_csv(failing, &columns().arrow(), target, &options(Dialect::default(), ""), 2, &Control::new())
        .expect_err("an error");
    assert_eq!(error.to_string(), "no more rows");
    assert_eq!(std::fs::read(&path).expect("read"), b"before");
    assert_eq!(std::fs::read_dir(directory.path()).expect("listed").count(), 1);
}
