//! Files whose headers say which columns their fields are: the same as one file that has all columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::harness::infer::{columns, file, input, request};
use crate::harness::{comma, dump, machines};
use longshore_load::{
    Control, FieldNames, FieldTarget, Header, InferRequest, OnError, OtherFields, TextOptions, copy_from, load_inferred,
};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use tempfile::NamedTempFile;

/// A column that files may have, and what a value of it is in some row.
type Named = (&'static str, fn(usize) -> String);

const COLUMNS: [Named; 5] = [
    ("id", |row| row.to_string()),
    ("name", |row| format!("\"n,{row}\"")),
    ("late", |row| if row == 70 { "x".to_owned() } else { row.to_string() }),
    ("price", |row| format!("{row}.25")),
    ("day", |row| format!("2024-01-{:02}", row % 28 + 1)),
];

/// Every so many machines are tried: with every piece size and every span size, and with every kernel. Names are the same
/// on all of them.
const STEP: usize = 11;

/// Sets of files that are tried, each on these machines.
const SEEDS: usize = 2;

/// Numbers that are the same for a seed.
fn shuffled(seed: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|place| (place + 1).wrapping_mul(seed * 2 + 1).wrapping_mul(0x9E37_79B9) % 1009);
    order
}

/// Files of some of the columns in some order each, and one of all columns in the order in which they come first.
fn files(seed: usize) -> (Vec<NamedTempFile>, NamedTempFile) {
    let mut order: Vec<usize> = Vec::new();
    let parts: Vec<Vec<usize>> =
        (0..4).map(|part| shuffled(seed * 4 + part, 5)[..=(seed + part) % 5].to_vec()).collect();
    for part in &parts {
        let new: Vec<usize> = part.iter().copied().filter(|column| !order.contains(column)).collect();
        order.extend(new);
    }
    let names = |part: &[usize]| part.iter().map(|column| COLUMNS[*column].0).collect::<Vec<_>>().join(",");
    let mut all = names(&order) + "\n";
    let mut files = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut text = names(part) + "\n";
        for row in index * 30..index * 30 + 30 {
            let values: BTreeMap<usize, String> =
                part.iter().map(|column| (*column, COLUMNS[*column].1(row))).collect();
            let line = |columns: &[usize]| {
                columns.iter().map(|column| values.get(column).map_or("", String::as_str)).collect::<Vec<_>>().join(",")
            };
            text += &(line(part) + "\n");
            all += &(line(&order) + "\n");
        }
        files.push(file(text.as_bytes()));
    }
    (files, file(all.as_bytes()))
}

#[test]
fn inference_joins_what_files_have() {
    for seed in 0..SEEDS {
        let (files, all) = files(seed);
        for machine in machines().into_iter().step_by(STEP) {
            let request = InferRequest { tuning: machine.tuning.clone(), ..request(&machine.tuning) };
            let request = InferRequest { options: TextOptions { mode: machine.mode, ..comma() }, ..request };
            let by_name = InferRequest { by_name: true, ..request.clone() };
            let expected = load_inferred(vec![input(all.path(), machine.stream)], &request, &Control::new());
            let (expected, one, _) = expected.expect("it is loaded");
            let inputs = files.iter().map(|file| input(file.path(), machine.stream)).collect();
            let (relation, several, _) = load_inferred(inputs, &by_name, &Control::new()).expect("they are loaded");
            assert_eq!(columns(&several), columns(&one), "{seed}, {machine:?}");
            assert_eq!(dump(&relation), dump(&expected), "{seed}, {machine:?}");
        }
    }
}

#[test]
fn columns_that_are_given_are_found_by_name() {
    let columns: Vec<Column> =
        COLUMNS.iter().map(|(name, _)| Column::new((*name).to_owned(), ColumnType::Text, true)).collect();
    let schema = Arc::new(Schema::new(columns));
    let names = |others| {
        let named = COLUMNS.iter().enumerate();
        let columns = named.map(|(index, (name, _))| ((*name).to_owned(), FieldTarget::new(index))).collect();
        Some(Arc::new(FieldNames { columns, others, normalize: false }))
    };
    // A bad record is one of its file, whatever other files have.
    let (bad, other) = (file(b"day,id\n1,2,3\n4,5\n"), file(b"id,other\n1,2\n"));
    for seed in 0..SEEDS {
        let (files, all) = files(seed);
        for (index, machine) in machines().into_iter().step_by(STEP).enumerate() {
            let options = TextOptions { header: Header::Skip, mode: machine.mode, ..comma() };
            let load = |files: Vec<&NamedTempFile>, options: &TextOptions| {
                let relation = Relation::new(Arc::clone(&schema), Memory::new(None));
                let inputs = files.iter().map(|file| {
                    let mut input = input(file.path(), machine.stream);
                    input.names = names(OtherFields::Refuse);
                    input
                });
                let loaded = copy_from(inputs.collect(), &relation, options, &machine.tuning, &Control::new());
                loaded.map(|_| dump(&relation)).map_err(|error| error.to_string())
            };
            let expected = load(vec![&all], &options).expect("it is loaded");
            assert_eq!(load(files.iter().collect(), &options).as_ref(), Ok(&expected), "{seed}, {machine:?}");
            if index > 3 {
                continue;
            }
            let lenient = TextOptions { on_error: OnError::Ignore, ..options.clone() };
            assert!(load(vec![&files[0], &bad], &options).expect_err("a field too many").contains("line 2"));
            let with_bad = load(vec![&files[0], &bad], &lenient).expect("the other record is good");
            assert!(with_bad.ends_with("\"5\",,,,\"4\"\n"), "{with_bad}");
            let error = load(vec![&files[0], &other], &options).expect_err("no such column");
            assert!(error.contains("line 1: the header names field 2 \"other\""), "{error}");
        }
    }
}
