//! Checks and numbers in a load: the same rows, errors and numbers on every machine, as one record after the other gives
//! them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use crate::harness::rejects::file_of;
use crate::harness::{Machine, comma, dump, machines, schema};
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch, cast::AsArray};
use longshore_load::{
    ComputedValue, Control, DefectKind, InputFile, LoadError, LoadReport, NumberSource, OnError, RowCheck,
    RowViolation, Source, TextOptions, copy_from,
};
use longshore_storage::{ColumnType, Memory, Relation, Schema};

/// Column 1 must not be odd.
#[derive(Debug)]
struct Even;

impl RowCheck for Even {
    fn columns(&self) -> &[usize] {
        &[1]
    }

    fn violations(&self, rows: &RecordBatch) -> Result<Vec<RowViolation>, String> {
        let values = rows.column(0).as_primitive::<Int64Type>();
        let odd = (0..values.len()).filter(|row| values.is_valid(*row) && values.value(*row) % 2 != 0);
        Ok(odd.map(|row| RowViolation { row, kind: DefectKind::Check, reason: "odd".to_owned(), remedy: "" }).collect())
    }
}

/// 10, 13, 16, ...; up to a limit.
#[derive(Debug)]
struct Threes {
    next: Mutex<i64>,
    limit: i64,
}

impl NumberSource for Threes {
    fn take(&self, count: u64) -> Result<(i64, i64), String> {
        let mut next = self.next.lock().expect("nobody panics");
        let first = *next;
        *next += 3 * count as i64;
        if *next > self.limit { Err("no numbers left".to_owned()) } else { Ok((first, 3)) }
    }
}

fn text_and_number() -> Arc<Schema> {
    schema(&[ColumnType::Text, ColumnType::BigInt])
}

/// Records of which some are odd, some no numbers, some misshapen, some NULL; and what is right of them.
fn records(count: usize, only_odd: bool) -> (String, String) {
    let (mut text, mut good) = (String::new(), String::new());
    for record in 0..count {
        match record % 7 {
            3 => writeln!(text, "\"row {record}\nx\",{}", 2 * record + 1),
            5 if !only_odd => writeln!(text, "row {record},none"),
            6 if !only_odd => writeln!(text, "row {record}"),
            1 => writeln!(text, "row {record},").and_then(|()| writeln!(good, "\"row {record}\",")),
            _ => writeln!(text, "row {record},{}", 2 * record)
                .and_then(|()| writeln!(good, "\"row {record}\",\"{}\"", 2 * record)),
        }
        .expect("a string takes all");
    }
    (text, good)
}

fn load(
    machine: &Machine,
    texts: &[&str],
    schema: &Arc<Schema>,
    fields: &[usize],
    computed: &[(usize, ComputedValue)],
    options: &TextOptions,
) -> Result<(LoadReport, String), LoadError> {
    let relation = Relation::new(Arc::clone(schema), Memory::new(None));
    let files: Vec<_> = texts.iter().map(|text| file_of(text.as_bytes())).collect();
    let mut inputs = Vec::new();
    for file in &files {
        let source = if machine.stream { Source::open_unmapped(file.path()) } else { Source::open(file.path()) };
        let mut input = InputFile::opened(source?, fields);
        input.computed = computed.to_vec();
        inputs.push(input);
    }
    let options = TextOptions { mode: machine.mode, ..options.clone() };
    let report = copy_from(inputs, &relation, &options, &machine.tuning, &Control::new())?;
    Ok((report, dump(&relation)))
}

#[test]
fn rows_that_violate_a_check_are_left_out() {
    let (text, good) = records(60, false);
    let options = TextOptions { check: Some(Arc::new(Even)), on_error: OnError::Ignore, ..comma() };
    let mut told = HashSet::new();
    for machine in machines() {
        let (report, rows) =
            load(&machine, &[&text], &text_and_number(), &[0, 1], &[], &options).expect("it is lenient");
        assert_eq!(rows, good, "{machine:?}");
        let first = report.rejects.first.iter().map(|reject| (reject.line, reject.kind.name(), reject.reason.clone()));
        told.insert((report.rejects.records, first.collect::<Vec<_>>()));
    }
    let [(records, first)] = &told.into_iter().collect::<Vec<_>>()[..] else { panic!("machines differ") };
    assert_eq!(*records, 25);
    let (line, kind, reason) = &first[0];
    assert_eq!((*line, *kind, reason.as_str()), (4, "check", "odd"));
    assert_eq!(first[1].1, "value");
    assert_eq!(first[2].1, "missing fields");
}

#[test]
fn the_first_violation_ends_a_load_and_is_named() {
    let (text, _) = records(60, true);
    let options = TextOptions { check: Some(Arc::new(Even)), ..comma() };
    for machine in machines() {
        match load(&machine, &[&text], &text_and_number(), &[0, 1], &[], &options) {
            Err(LoadError::Violated(bad)) => {
                assert_eq!((bad.line, bad.reason.as_str()), (4, "odd"), "{machine:?}");
                assert_eq!(bad.value, b"\"row 3\nx\",7");
            }
            other => panic!("{machine:?}: {other:?}"),
        }
    }
    // What is no value comes first where it stands first.
    for machine in machines() {
        let found = load(&machine, &["a,2\nb,x\nc,3\n"], &text_and_number(), &[0, 1], &[], &options);
        assert!(matches!(found, Err(LoadError::Bad(bad)) if bad.line == 2), "{machine:?}");
    }
}

#[test]
fn numbers_follow_the_files() {
    let schema = schema(&[ColumnType::Text, ColumnType::Integer, ColumnType::BigInt]);
    let texts = ["a\nb\n\"c\nc\"\n", "", "d\n", "e\nf\ng\nh\n"];
    let computed = [(1, ComputedValue::Number(0)), (2, ComputedValue::RecordNumber)];
    for machine in machines() {
        let numbers = Arc::new(Threes { next: Mutex::new(10), limit: i64::MAX });
        let options = TextOptions { numbers: vec![numbers.clone()], ..comma() };
        let (_, rows) = load(&machine, &texts, &schema, &[0], &computed, &options).expect("sound");
        let expected = ["a", "b", "c\nc", "d", "e", "f", "g", "h"].iter().zip([1, 2, 3, 1, 1, 2, 3, 4]).enumerate();
        let expected = expected.map(|(row, (text, record))| format!("\"{text}\",\"{}\",\"{record}\"\n", 10 + 3 * row));
        assert_eq!(rows, expected.collect::<String>(), "{machine:?}");
        assert_eq!(*numbers.next.lock().expect("nobody panics"), 34, "no more are taken than there are records");
    }
}

#[test]
fn rejected_records_use_up_numbers() {
    let schema = schema(&[ColumnType::BigInt, ColumnType::SmallInt]);
    for machine in machines() {
        let numbers = vec![Arc::new(Threes { next: Mutex::new(10), limit: i64::MAX }) as Arc<dyn NumberSource>];
        let options = TextOptions { numbers, on_error: OnError::Ignore, check: Some(Arc::new(EvenNumber)), ..comma() };
        let (_, rows) = load(&machine, &["1\nx\n3\n4\n5\n"], &schema, &[0], &[(1, ComputedValue::Number(0))], &options)
            .expect("it is lenient");
        assert_eq!(rows, "\"1\",\"10\"\n\"3\",\"16\"\n\"5\",\"22\"\n", "{machine:?}");
    }
}

/// Column 1, which gets numbers, must not be odd.
#[derive(Debug)]
struct EvenNumber;

impl RowCheck for EvenNumber {
    fn columns(&self) -> &[usize] {
        &[1]
    }

    fn violations(&self, rows: &RecordBatch) -> Result<Vec<RowViolation>, String> {
        let values = rows.column(0).as_primitive::<arrow_array::types::Int16Type>();
        let odd = (0..values.len()).filter(|row| values.value(*row) % 2 != 0);
        Ok(odd.map(|row| RowViolation { row, kind: DefectKind::Check, reason: "odd".to_owned(), remedy: "" }).collect())
    }
}

#[test]
fn a_load_ends_where_numbers_do() {
    let schema = schema(&[ColumnType::Text, ColumnType::BigInt]);
    for machine in machines().into_iter().step_by(3) {
        let numbers = vec![Arc::new(Threes { next: Mutex::new(10), limit: 18 }) as Arc<dyn NumberSource>];
        let options = TextOptions { numbers, ..comma() };
        let found = load(&machine, &["a\nb\nc\n"], &schema, &[0], &[(1, ComputedValue::Number(0))], &options);
        assert!(matches!(found, Err(LoadError::NoNumbers(_))), "{machine:?}: {found:?}");
    }
}
