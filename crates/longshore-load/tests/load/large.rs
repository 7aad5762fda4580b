//! Files that are large or that change: 40 MB of quoted fields full of lines that look like rows, a file that shrinks
//! while it is read, records longer than pieces and spans, MODE fast.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::harness::{comma, schema};
use arrow_array::cast::AsArray;
use longshore_load::{Control, InputFile, LoadError, Mode, Source, TextOptions, Tuning, copy_from};
use longshore_storage::{ColumnType, Memory, Relation, Schema};
use longshore_testing::share;

/// Real rows of the file with the treacherous field.
const ROWS: u64 = 848;
/// Lines within each quoted field that look like rows.
fn decoys_per_row() -> usize {
    share(1400)
}

fn columns() -> Arc<Schema> {
    schema(&[ColumnType::Integer, ColumnType::Text, ColumnType::Integer])
}

/// Rows `n,"...",n` whose text holds lines that look exactly like rows; about 40 MB.
fn treacherous() -> String {
    let mut text = String::with_capacity(42 << 20);
    for row in 0..ROWS {
        write!(text, "{row},\"").expect("a string takes all");
        for decoy in 0..decoys_per_row() {
            writeln!(text, "{decoy},this is not a row of its own,{row}").expect("a string takes all");
        }
        writeln!(text, "\",{row}").expect("a string takes all");
    }
    text
}

fn load(path: &Path, schema: &Arc<Schema>, options: &TextOptions, tuning: &Tuning) -> Result<Relation, LoadError> {
    let relation = Relation::new(Arc::clone(schema), Memory::new(None));
    let fields: Vec<usize> = (0..schema.columns().len()).collect();
    copy_from(vec![InputFile::opened(Source::open(path)?, &fields)], &relation, options, tuning, &Control::new())?;
    Ok(relation)
}

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("written");
    file
}

#[test]
fn lines_within_quotes_are_never_rows() {
    let text = treacherous();
    assert!(text.len() > share(40 << 20));
    let file = file(text.as_bytes());
    for threads in [1, 2, 7] {
        for mode in [Mode::Exact, Mode::Safe] {
            let options = TextOptions { mode, ..comma() };
            let relation = load(file.path(), &columns(), &options, &Tuning::new(threads)).expect("a load");
            let snapshot = relation.snapshot();
            assert_eq!(snapshot.rows(), ROWS);
            let bytes: u64 = snapshot
                .chunks()
                .iter()
                .map(|chunk| {
                    let texts = chunk.array(1, 0, chunk.rows());
                    let texts = texts.as_any().downcast_ref::<arrow_array::StringViewArray>().expect("texts");
                    texts.iter().flatten().map(|text| text.len() as u64).sum::<u64>()
                })
                .sum();
            let digits = |row: u64| row.to_string().len() as u64 * 2 + 5;
            assert_eq!(bytes, text.len() as u64 - (0..ROWS).map(digits).sum::<u64>());
        }
    }
}

#[test]
fn the_line_of_an_error_behind_quoted_lines_is_true() {
    let mut text = treacherous();
    let line = ROWS * (decoys_per_row() as u64 + 1) + 1;
    let byte = text.len() + 2;
    text.push_str("1,ok,no number\n2,x,3\n");
    let byte = byte + 3;
    let file = file(text.as_bytes());
    for threads in [1, 2, 7] {
        let error = load(file.path(), &columns(), &comma(), &Tuning::new(threads)).expect_err("an error");
        let LoadError::Bad(bad) = error else { panic!("{error}") };
        assert_eq!((bad.line, bad.byte), (line, byte as u64));
        assert_eq!(bad.value, b"no number");
        assert_eq!(bad.column, Some(("c2".to_owned(), "INTEGER".to_owned())));
    }
}

#[test]
fn fast_mode_loads_what_it_may_and_refuses_the_rest() {
    let fast = TextOptions { mode: Mode::Fast, ..comma() };
    let spans = |span_bytes| Tuning { span_bytes: Some(span_bytes), ..Tuning::new(2) };
    let mut plain = String::new();
    for row in 0..10_000 {
        writeln!(plain, "{row},\"text, quoted\",{row}").expect("a string takes all");
    }
    let plain = file(plain.as_bytes());
    for span_bytes in [1, 100, 5_000] {
        let relation = load(plain.path(), &columns(), &fast, &spans(span_bytes)).expect("a load");
        assert_eq!(relation.snapshot().rows(), 10_000);
    }
    let treacherous = file(treacherous().as_bytes());
    let error = load(treacherous.path(), &columns(), &fast, &spans(100_000)).expect_err("an error");
    assert!(error.to_string().contains("use MODE exact"), "{error}");
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let row = "1,some text that is there to fill the file,2\n";
    let file = file(row.repeat(200_000).as_bytes());
    let source = Source::open(file.path()).expect("opened");
    file.as_file().set_len(row.len() as u64 * 1000).expect("truncated");
    let relation = Relation::new(columns(), Memory::new(None));
    let tuning = Tuning::new(2);
    let error = copy_from(vec![InputFile::opened(source, &[0, 1, 2])], &relation, &comma(), &tuning, &Control::new())
        .expect_err("an error");
    assert!(error.to_string().contains("became shorter"), "{error}");
    assert_eq!(relation.snapshot().rows(), 0);
}

/// Whatever is written to a file while it is read, what is loaded is text, or nothing is.
#[test]
fn a_file_that_is_written_while_it_is_read_leaves_no_text_that_is_none() {
    let text = |byte: u8| {
        let row = |at: usize| format!("{at},short,1\n{at},a text that is too long for its view,2\n").into_bytes();
        let mut text: Vec<u8> = (0..share(20_000)).flat_map(row).collect();
        // One letter of each text, or what is no UTF-8 there.
        text.iter_mut().filter(|letter| **letter == b'o').for_each(|letter| *letter = byte);
        text
    };
    let (good, bad) = (text(b'o'), text(0xFF));
    let file = file(&good);
    let is_done = AtomicBool::new(false);
    let mut loaded = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for text in [&bad, &good].into_iter().cycle().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                for (at, part) in text.chunks(4096).enumerate() {
                    file.as_file().write_all_at(part, at as u64 * 4096).expect("written");
                }
            }
        });
        for _ in 0..60 {
            let Ok(relation) = load(file.path(), &columns(), &comma(), &Tuning::new(2)) else { continue };
            loaded += 1;
            for chunk in relation.snapshot().chunks() {
                let texts = chunk.array(1, 0, chunk.rows());
                let all = texts.as_string_view().iter().flatten();
                assert!(all.map(str::as_bytes).all(|text| std::str::from_utf8(text).is_ok()), "of load {loaded}");
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_record_may_be_longer_than_pieces_and_spans() {
    let long = "x".repeat(300_000);
    let text = format!("1,{long},2\n3,\"{long}\n{long}\",4\n5,z,6\n");
    let file = file(text.as_bytes());
    for span_bytes in [Some(10), Some(1000), Some(300_001), None] {
        let tuning = Tuning { piece_bytes: Some(100), span_bytes, ..Tuning::new(2) };
        let relation = load(file.path(), &columns(), &comma(), &tuning).expect("a load");
        assert_eq!(relation.snapshot().rows(), 3);
    }
}

#[test]
fn a_cancelled_load_keeps_nothing() {
    let file = file("1,a,2\n".repeat(1000).as_bytes());
    let relation = Relation::new(columns(), Memory::new(None));
    let control = Control::new();
    control.cancel();
    let source = Source::open(file.path()).expect("opened");
    let error = copy_from(vec![InputFile::opened(source, &[0, 1, 2])], &relation, &comma(), &Tuning::new(2), &control)
        .expect_err("an error");
    assert!(matches!(error, LoadError::Cancelled));
    assert_eq!(relation.snapshot().rows(), 0);
}

#[test]
fn the_memory_limit_ends_a_load() {
    let file = file("1,a text of more than twelve bytes,2\n".repeat(500_000).as_bytes());
    let relation = Relation::new(columns(), Memory::new(Some(4 << 20)));
    let source = Source::open(file.path()).expect("opened");
    let error =
        copy_from(vec![InputFile::opened(source, &[0, 1, 2])], &relation, &comma(), &Tuning::new(2), &Control::new())
            .expect_err("an error");
    assert!(error.to_string().contains("--memory-limit"), "{error}");
    assert_eq!(relation.snapshot().rows(), 0);
}

#[test]
fn columns_left_out_become_null() {
    let file = file(b"7,8\n9,10\n");
    let relation = Relation::new(columns(), Memory::new(None));
    let source = Source::open(file.path()).expect("opened");
    copy_from(vec![InputFile::opened(source, &[2, 0])], &relation, &comma(), &Tuning::new(2), &Control::new())
        .expect("a load");
    assert_eq!(crate::harness::dump(&relation), "\"8\",,\"7\"\n\"10\",,\"9\"\n");
}
