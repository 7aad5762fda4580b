//! What a load sees of compressed and encoded texts beside their content: how far they are, what their buffers count,
//! and that nothing goes on behind a load that was cancelled. (Remote ones: `longshore-source`.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Endless, files, text};
use longshore_format::sniff::Given;
use longshore_load::{
    Control, Dialect, InferRequest, InputFile, LoadError, LoadReport, TextFormat, TextOptions, Tuning, copy_from,
    load_inferred,
};
use longshore_source::{Encoding, Location, OpenOptions, open, open_reader};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use tempfile::TempDir;

/// Columns of [`text`].
const COLUMNS: [ColumnType; 4] = [ColumnType::Integer, ColumnType::Integer, ColumnType::Text, ColumnType::Double];

fn relation(memory: &Arc<Memory>) -> Relation {
    let column = |(index, kind): (usize, &ColumnType)| Column::new(format!("c{index}"), *kind, true);
    Relation::new(Arc::new(Schema::new(COLUMNS.iter().enumerate().map(column).collect())), Arc::clone(memory))
}

fn options() -> TextOptions {
    TextOptions::of(TextFormat::Csv(Dialect::new(b',', Some(b'"'), None).unwrap()))
}

/// Whole records of [`text`].
fn records(bytes: usize) -> Vec<u8> {
    let mut text = text(bytes);
    text.truncate(text.iter().rposition(|&byte| byte == b'\n').unwrap() + 1);
    text
}

/// By one worker, whose rows take the same memory every time.
fn load(location: &Location, open_options: &OpenOptions, memory: &Arc<Memory>) -> Result<(LoadReport, u64), LoadError> {
    let (location, open_options) = (location.clone(), open_options.clone());
    let relation = relation(memory);
    let input = InputFile::new("FILE", move || open(&location, &open_options), &[0, 1, 2, 3]);
    let control = Control::new();
    let report = copy_from(vec![input], &relation, &options(), &Tuning::new(1), &control)?;
    Ok((report, control.progress.bytes_done()))
}

/// A file of every container and of some encodings, with how to open each.
fn all(folder: &TempDir, right: &[u8]) -> Vec<(String, Location, OpenOptions, u64)> {
    let mut all = Vec::new();
    let plain = OpenOptions { threads: 2, ..OpenOptions::default() };
    let mut add = |name: &str, bytes: &[u8], options: OpenOptions| {
        let path = folder.path().join(format!("{}.csv", all.len()));
        std::fs::write(&path, bytes).unwrap();
        all.push((name.to_owned(), Location::File(path), options, bytes.len() as u64));
    };
    for (name, _, bytes) in files(right) {
        add(&name, &bytes, plain.clone());
    }
    let latin_1 = OpenOptions { encoding: Encoding::named("latin1").unwrap(), ..plain.clone() };
    add("latin-1", right, latin_1);
    let gb18030 = OpenOptions { encoding: Encoding::named("gb18030").unwrap(), ..plain.clone() };
    add("gb18030", right, gb18030);
    let units = std::iter::once(0xfeff).chain(right.iter().map(|&byte| u16::from(byte)));
    let utf_16: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    add("utf-16", &utf_16, plain.clone());
    add("utf-16 in gzip", &crate::common::gzip(&utf_16), plain);
    all
}

#[test]
fn progress_is_told_in_the_bytes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let right = records(1_500_000);
    for (name, location, options, bytes) in all(&folder, &right) {
        let memory = Memory::new(None);
        let (report, done) = load(&location, &options, &memory).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((report.bytes, done), (bytes, bytes), "{name}");
        // What is read once more where types are found out does not count again.
        let input = InputFile::new("FILE", move || open(&location, &options), &[]);
        let request = InferRequest {
            by_name: false,
            repairs: true,
            given: Given::default(),
            types: Vec::new(),
            spelled: Vec::new(),
            defaults: Vec::new(),
            extra: Vec::new(),
            options: self::options(),
            tuning: Tuning::new(2),
            memory,
            storage: longshore_storage::Storage::default(),
            found: std::sync::Arc::default(),
        };
        let (_, _, report) = load_inferred(vec![input], &request, &Control::new()).unwrap();
        assert_eq!(report.bytes, bytes, "{name}, types found");
    }
}

#[test]
fn buffers_count_against_the_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let right = records(3_000_000);
    let mapped = folder.path().join("plain.csv");
    std::fs::write(&mapped, &right).unwrap();
    let memory = Memory::new(None);
    load(&Location::File(mapped), &OpenOptions::default(), &memory).unwrap();
    let rows_peak = memory.peak();
    for (name, location, options, _) in all(&folder, &right) {
        let memory = Memory::new(None);
        load(&location, &options, &memory).unwrap();
        assert!(memory.peak() > rows_peak + (1 << 20), "{name}: {} where rows take {rows_peak}", memory.peak());
        all_given_back(&name, &memory);
        // A limit that leaves little for buffers: less lies ahead.
        let memory = Memory::new(Some(rows_peak + (64 << 20)));
        load(&location, &options, &memory).unwrap_or_else(|error| panic!("{name}: {error}"));
        all_given_back(&name, &memory);
        let memory = Memory::new(Some(100_000));
        let error = load(&location, &options, &memory).unwrap_err();
        assert!(matches!(error, LoadError::OutOfMemory(_)), "{name}: {error}");
        all_given_back(&name, &memory);
    }
}

/// Threads that nobody waits for end soon.
fn all_given_back(name: &str, memory: &Arc<Memory>) {
    let patience = Instant::now() + Duration::from_secs(20);
    while memory.used() > 0 {
        assert!(Instant::now() < patience, "{name}: {} bytes are still counted", memory.used());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_cancelled_load_leaves_no_thread_behind() {
    let right = records(200_000);
    let latin_1 = OpenOptions { encoding: Encoding::named("latin1").unwrap(), threads: 2, ..OpenOptions::default() };
    let plain = OpenOptions { threads: 2, ..OpenOptions::default() };
    let frames: Vec<u8> = right.chunks(50_000).flat_map(|piece| crate::common::zstd_frame(piece, true)).collect();
    for (name, bytes, open_options) in [
        ("pipe", right.clone(), plain.clone()),
        ("latin-1", right.clone(), latin_1),
        ("gzip", crate::common::gzip(&right), plain.clone()),
        ("zstd", frames, plain),
    ] {
        let dropped = Arc::new(AtomicBool::new(false));
        let input = Endless::new(bytes, &dropped);
        let source = open_reader("FILE", Box::new(input), None, &open_options).unwrap();
        let input = InputFile::opened(source, &[0, 1, 2, 3]);
        let control = Arc::new(Control::new());
        let canceller = std::thread::spawn({
            let control = Arc::clone(&control);
            move || {
                while control.progress.rows() == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                control.cancel();
                Instant::now()
            }
        });
        let memory = Memory::new(None);
        let result = copy_from(vec![input], &relation(&memory), &options(), &Tuning::new(2), &control);
        assert!(matches!(result, Err(LoadError::Cancelled)), "{name}: {result:?}");
        let cancelled = canceller.join().unwrap();
        while !dropped.load(Ordering::Relaxed) {
            // Many times what it takes, for machines that are busy.
            assert!(cancelled.elapsed() < Duration::from_secs(20), "{name}: a thread still reads");
            std::thread::sleep(Duration::from_millis(1));
        }
        all_given_back(name, &memory);
    }
}
