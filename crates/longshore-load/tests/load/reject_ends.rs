//! Where rejects go, when they are too many, what they take, and runs that only try.

use std::path::Path;
use std::sync::Arc;

use crate::harness::rejects::{Expected, Gathered, expected_rejects, file_of, kinds, load, number_and_text};
use crate::harness::{comma, dump};
use longshore_load::{
    Control, DefectKind, Header, InputFile, LoadError, OnError, RejectFile, RejectLimit, RejectSink, RejectTable,
    Source, TextOptions, Tuning, copy_from, dry_run, reject_schema,
};
use longshore_storage::{Memory, Relation};

#[test]
fn rejects_can_be_ignored() {
    let expected = expected_rejects(&kinds(), &number_and_text(), &comma()).expect("no header");
    for threads in [1, 2, 7] {
        let (report, rows) = load(&kinds(), &TextOptions { on_error: OnError::Ignore, ..comma() }, threads);
        let summary = report.expect("a load").rejects;
        assert_eq!((rows, summary.records), (expected.rows.clone(), expected.records));
        assert_eq!(summary.rejects(), expected.rejects.len() as u64);
        let first: Vec<Expected> = summary.first.iter().map(Expected::from).collect();
        assert_eq!(first, expected.rejects[..10]);
        let values = summary.kinds.iter().find(|(kind, _)| *kind == DefectKind::Value);
        assert_eq!(values, Some(&(DefectKind::Value, 4)));
    }
}

#[test]
fn a_reject_too_many_ends_the_load() {
    let limited = |limit| {
        let on_error = [OnError::Ignore, OnError::Collect(Arc::new(Gathered::default()))];
        on_error.map(|on_error| TextOptions { on_error, reject_limit: limit, ..comma() })
    };
    for threads in [1, 2, 7] {
        for options in limited(RejectLimit::Records(10)).iter().chain(&limited(RejectLimit::Percent(71.5))) {
            assert!(load(&kinds(), options, threads).0.is_ok(), "ten records of fourteen are bad");
        }
        for (limit, start) in [
            (RejectLimit::Records(9), "more than 9 records were rejected (REJECT_LIMIT 9); the first: "),
            (RejectLimit::Records(0), "more than 0 records were rejected (REJECT_LIMIT 0); the first: "),
            (RejectLimit::Percent(71.0), "more than 71% of the records were rejected (REJECT_LIMIT 71%); the first: "),
        ] {
            for options in limited(limit) {
                let (report, rows) = load(&kinds(), &options, threads);
                let message = report.expect_err("too many");
                let first = "FILE: line 2, byte 16, column c0 INTEGER: \"x\" is not valid (found 'x' where ";
                assert!(message.starts_with(&format!("{start}{first}")), "{message}");
                assert_eq!(
                    message.matches(" | FILE: line ").count(),
                    if limit == RejectLimit::Records(0) { 1 } else { 2 }
                );
                assert_eq!(rows, "", "nothing is kept");
            }
        }
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let refused = |on_error, reject_limit| {
        load(b"1,a,\n", &TextOptions { on_error, reject_limit, ..comma() }, 1).0.expect_err("an error")
    };
    let message = refused(OnError::Stop, RejectLimit::Records(3));
    assert_eq!(message, "REJECT_LIMIT needs records that are rejected; set ON_ERROR to ignore, table or file");
    for percent in [-1.0, 100.5, f64::NAN] {
        let message = refused(OnError::Ignore, RejectLimit::Percent(percent));
        assert!(message.contains("give a percentage from 0 to 100"), "{message}");
    }
}

#[test]
fn a_file_of_rejects_is_read_into_a_table_of_rejects() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("rejects.csv");
    std::fs::write(&path, "before").expect("written");
    let memory = Memory::new(None);
    let of_table = Relation::new(reject_schema(), Arc::clone(&memory));
    let table = Arc::new(RejectTable::new(&memory));
    let file = file_of(&kinds());
    for on_error in [
        OnError::Collect(Arc::clone(&table) as Arc<dyn RejectSink>),
        OnError::Collect(Arc::new(RejectFile::create(&path).expect("created"))),
    ] {
        assert_eq!(std::fs::read(&path).expect("read"), b"before", "replaced only when it is done");
        let relation = Relation::new(number_and_text(), Memory::new(None));
        let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
        let options = TextOptions { on_error, ..comma() };
        copy_from(inputs, &relation, &options, &Tuning::new(2), &Control::new()).expect("a load");
    }
    assert_eq!(table.count(), 11);
    assert_eq!(table.append_to(&of_table), Ok(11));
    assert_eq!(table.count(), 0);
    let of_file = Relation::new(reject_schema(), Arc::clone(&memory));
    let fields: Vec<usize> = (0..reject_schema().columns().len()).collect();
    let inputs = vec![InputFile::opened(Source::open(&path).expect("opened"), &fields)];
    let options = TextOptions { header: Header::Match, ..comma() };
    copy_from(inputs, &of_file, &options, &Tuning::new(1), &Control::new()).expect("a load");
    assert_eq!(dump(&of_file), dump(&of_table));
    let rows = dump(&of_file);
    assert!(rows.contains(",\"2\",\"20\",\"c2\",\"DATE\",\"2024-13-01\",\"value\","), "{rows}");
    assert!(rows.contains(",\"18\","), "{rows}");
    assert!(rows.contains("\"11,\u{FFFD}AD,2024-01-06\""), "{rows}");
}

#[test]
fn a_load_that_fails_leaves_no_file_of_rejects() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("rejects.csv");
    {
        let on_error = OnError::Collect(Arc::new(RejectFile::create(&path).expect("created")));
        let options = TextOptions { on_error, reject_limit: RejectLimit::Records(2), ..comma() };
        assert!(load(&kinds(), &options, 2).0.is_err());
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
    let missing = RejectFile::create(Path::new("/nowhere/rejects.csv")).expect_err("no such directory");
    assert!(matches!(missing, LoadError::Io { action: "create it", .. }), "{missing}");
}

#[test]
fn a_dry_run_keeps_nothing_and_says_the_same() {
    let memory = Memory::new(None);
    for (on_error, is_ok) in [(OnError::Ignore, true), (OnError::Stop, false)] {
        let file = file_of(&kinds());
        let input = || vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
        let options = TextOptions { on_error, ..comma() };
        let tuning = Tuning { span_bytes: Some(50), ..Tuning::new(2) };
        let relation = Relation::new(number_and_text(), Memory::new(None));
        let loaded = copy_from(input(), &relation, &options, &tuning, &Control::new());
        let tried = dry_run(input(), &number_and_text(), &memory, &options, &tuning, &Control::new());
        assert_eq!(tried.is_ok(), is_ok);
        match (loaded, tried) {
            (Ok(loaded), Ok(tried)) => {
                assert_eq!((loaded.rows, loaded.bytes, loaded.rejects), (tried.rows, tried.bytes, tried.rejects));
            }
            (Err(loaded), Err(tried)) => assert_eq!(loaded.to_string(), tried.to_string()),
            (loaded, tried) => panic!("{loaded:?} {tried:?}"),
        }
        assert_eq!(memory.used(), 0);
    }
}

#[test]
fn long_records_are_cut() {
    let long = "y".repeat(100_000);
    let text = format!("1,a,\n2,\"{long}\",bad\n{long},b,\n3,c,\n");
    let sink = Arc::new(Gathered::default());
    let on_error = OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>);
    load(text.as_bytes(), &TextOptions { on_error, ..comma() }, 2).0.expect("a load");
    let rejects = sink.rejects.lock().expect("no panic");
    let lengths: Vec<_> =
        rejects.iter().map(|reject| (reject.record.len(), reject.value.as_ref().map(Vec::len))).collect();
    let (record, value) = (longshore_load::REJECT_RECORD_BYTES_MAX, longshore_load::REJECT_VALUE_BYTES_MAX);
    assert_eq!(lengths, [(record, Some(3)), (record, Some(value))]);
}

#[test]
fn rejects_count_as_memory() {
    let text = "not a number,\"a text that makes the record long enough to matter\",2024-01-01\n".repeat(40_000);
    let file = file_of(text.as_bytes());
    let memory = Memory::new(Some(24 << 20));
    let relation = Relation::new(number_and_text(), Arc::clone(&memory));
    let run = |on_error| {
        let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1, 2])];
        let tuning = Tuning { span_bytes: Some(1 << 20), ..Tuning::new(2) };
        copy_from(inputs, &relation, &TextOptions { on_error, ..comma() }, &tuning, &Control::new())
    };
    assert_eq!(run(OnError::Ignore).expect("counting takes no memory").rejects.records, 40_000);
    let table = Arc::new(RejectTable::new(&memory));
    let error = run(OnError::Collect(Arc::clone(&table) as Arc<dyn RejectSink>)).expect_err("no room for all");
    assert!(matches!(error, LoadError::OutOfMemory(_)), "{error}");
    drop(table);
    assert_eq!(memory.used(), 0);
}
