//! Loads into relations with keys: which records are told when a key is there twice, and what becomes of them; the same on
//! every machine, as a serial model over a `BTreeMap` says, which goes through the records in the order of the files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::harness::rejects::{Gathered, file_of, some_of};
use crate::harness::{Machine, comma, dump, machines};
use longshore_load::{
    Conflicts, Control, DefectKind, InputFile, KeyHolder, LoadError, LoadReport, OnError, RejectLimit, RejectSink,
    Source, TextOptions, copy_from, load_interleaved,
};
use longshore_storage::{
    Column, ColumnType, ConflictAction, IndexKind, Isolation, Memory, MergeKind, OnConflict, Relation, Schema,
    Uniqueness,
};
use longshore_testing::{Random, share};
use tempfile::NamedTempFile;

fn relation(kind: IndexKind) -> Relation {
    let columns = vec![Column::new("id", ColumnType::Integer, false), Column::new("text", ColumnType::Text, true)];
    let relation = Relation::new(Arc::new(Schema::new(columns)), Memory::new(None)).with_name("t");
    relation.create_index("pk", &[0], kind, Uniqueness::Unique).expect("an index");
    relation
}

/// A record of a generated file.
#[derive(Clone, Debug)]
struct Record {
    file: usize,
    line: u64,
    byte: u64,
    raw: String,
    /// `None` if it is bad.
    row: Option<(i32, String)>,
}

/// Files of records with few ids; some of several lines, some of them bad.
fn generate(
    random: &mut Random,
    files: usize,
    count: usize,
    ids: usize,
    bad_one_in: usize,
) -> (Vec<String>, Vec<Record>) {
    let mut records = Vec::new();
    let mut texts = Vec::new();
    for file in 0..files {
        let (mut text, mut line) = (String::new(), 1);
        for at in 0..count {
            let id = random.below(ids) as i32;
            let value = match random.below(5) {
                0 => format!("two\nlines {at}"),
                1 => format!("a, {at}"),
                _ => format!("t{at}"),
            };
            let is_bad = bad_one_in > 0 && random.below(bad_one_in) == 0;
            let mut raw = String::new();
            if is_bad { write!(raw, "x{id}") } else { write!(raw, "{id}") }.expect("a string takes all");
            write!(raw, ",\"{value}\"").expect("a string takes all");
            let byte = text.len() as u64;
            text.push_str(&raw);
            text.push('\n');
            let lines = raw.matches('\n').count() as u64 + 1;
            records.push(Record { file, line, byte, raw, row: (!is_bad).then_some((id, value)) });
            line += lines;
        }
        texts.push(text);
    }
    (texts, records)
}

/// What is left, in order, and what was left out: the record, and the one that stays, unless that was there before.
struct Outcome {
    rows: Vec<(i32, String)>,
    inserted: u64,
    updated: u64,
    left_out: Vec<(usize, Option<usize>)>,
}

fn model(before: &[(i32, String)], records: &[Record], action: &ConflictAction) -> Outcome {
    // By id: the row's place, and its record.
    let mut known: BTreeMap<i32, (usize, Option<usize>)> = BTreeMap::new();
    let mut rows: Vec<Option<(i32, String)>> = before.iter().cloned().map(Some).collect();
    known.extend(before.iter().enumerate().map(|(at, (id, _))| (*id, (at, None))));
    let (mut left_out, mut updated) = (Vec::new(), 0);
    for (at, record) in records.iter().enumerate() {
        let Some((id, text)) = &record.row else { continue };
        let Some(&(place, holder)) = known.get(id) else {
            known.insert(*id, (rows.len(), Some(at)));
            rows.push(Some((*id, text.clone())));
            continue;
        };
        match action {
            ConflictAction::Stop | ConflictAction::KeepFirst => left_out.push((at, holder)),
            ConflictAction::Update(_) if place < before.len() => {
                rows[place] = Some((*id, text.clone()));
                match holder {
                    None => updated += 1,
                    Some(holder) => left_out.push((holder, Some(at))),
                }
                known.insert(*id, (place, Some(at)));
            }
            ConflictAction::KeepLast | ConflictAction::Update(_) => {
                match holder {
                    None => updated += 1,
                    Some(holder) => left_out.push((holder, Some(at))),
                }
                rows[place] = None;
                known.insert(*id, (rows.len(), Some(at)));
                rows.push(Some((*id, text.clone())));
            }
        }
    }
    let rows: Vec<(i32, String)> = rows.into_iter().flatten().collect();
    let inserted = rows.len() as u64 - before.len() as u64;
    Outcome { rows, inserted, updated, left_out }
}

fn csv(rows: &[(i32, String)]) -> String {
    rows.iter().fold(String::new(), |mut text, (id, value)| {
        writeln!(text, "\"{id}\",\"{value}\"").expect("a string takes all");
        text
    })
}

struct Load {
    result: Result<LoadReport, LoadError>,
    relation: Relation,
    sink: Arc<Gathered>,
}

/// Loads files into a relation that has some rows.
fn load(
    machine: &Machine,
    files: &[NamedTempFile],
    before: &[(i32, String)],
    conflicts: &Conflicts,
    sinks: bool,
    interleaved: bool,
) -> Load {
    let kind = if machine.tuning.threads == 2 { IndexKind::Hash } else { IndexKind::Art };
    let relation = relation(kind);
    let seed = file_of(csv(before).as_bytes());
    let seed = vec![InputFile::opened(Source::open(seed.path()).expect("opened"), &[0, 1])];
    copy_from(seed, &relation, &comma(), &machine.tuning, &Control::new()).expect("no duplicates");
    let sink = Arc::new(Gathered::default());
    let on_error = if sinks { OnError::Collect(Arc::clone(&sink) as Arc<dyn RejectSink>) } else { OnError::Stop };
    let options = TextOptions { mode: machine.mode, on_error, conflicts: conflicts.clone(), ..comma() };
    let open = |file: &NamedTempFile| {
        if machine.stream { Source::open_unmapped(file.path()) } else { Source::open(file.path()) }.expect("opened")
    };
    let inputs = files.iter().map(|file| InputFile::opened(open(file), &[0, 1])).collect();
    let control = Control::new();
    let result = if interleaved {
        let tuning = longshore_load::Tuning { merge: MergeKind::Chunk, ..machine.tuning.clone() };
        let mut transaction = relation.transactions().begin(Isolation::Serializable);
        let loaded = load_interleaved(inputs, &relation, &mut transaction, &options, &tuning, &control, |_| Ok(()));
        if loaded.is_ok() {
            transaction.commit().expect("nobody else is there");
        }
        loaded
    } else {
        copy_from(inputs, &relation, &options, &machine.tuning, &control)
    };
    Load { result, relation, sink }
}

#[test]
fn every_machine_does_what_the_serial_model_does() {
    let all = machines();
    let mut random = Random::new(31);
    let actions =
        [ConflictAction::KeepFirst, ConflictAction::KeepLast, ConflictAction::Update(vec![0, 1]), ConflictAction::Stop];
    for turn in 0..share(36) {
        let (files, count) = ([1, 3][turn % 2], [4, 30, 100][turn % 3]);
        let (texts, records) =
            generate(&mut random, files, count, [3, 60, 100_000][turn / 2 % 3], [0, 9][turn / 3 % 2]);
        let before: Vec<(i32, String)> = (0..turn as i32 % 9).map(|id| (id * 5, format!("old {id}"))).collect();
        let files: Vec<NamedTempFile> = texts.iter().map(|text| file_of(text.as_bytes())).collect();
        let name = |file: usize| files[file].path().display().to_string();
        let action = &actions[turn % 4];
        let sinks = turn / 3 % 2 == 1 || turn % 5 == 0;
        let rejects = *action == ConflictAction::KeepFirst && sinks;
        let conflicts = Conflicts { on: OnConflict { action: action.clone(), index: None }, rejects };
        let expected = model(&before, &records, action);
        for (at, machine) in some_of(&mut random, &all, 4).iter().enumerate() {
            let Load { result, relation, sink } = load(machine, &files, &before, &conflicts, sinks, at % 3 == 2);
            let what = format!("turn {turn}, {action:?}, {machine:?}");
            let first = expected.left_out.first().filter(|_| *action == ConflictAction::Stop);
            let report = match (result, first) {
                (Err(LoadError::Duplicate(key)), Some(&(second, holder))) => {
                    let record = &records[second];
                    assert_eq!(*key.second.file, *name(record.file), "{what}");
                    assert_eq!(key.second.line_and_byte, Some((record.line, record.byte)), "{what}");
                    match (&key.first, holder) {
                        (KeyHolder::Relation, None) => {}
                        (KeyHolder::Record(place), Some(holder)) => {
                            let holder = &records[holder];
                            assert_eq!(*place.file, *name(holder.file), "{what}");
                            assert_eq!(place.line_and_byte, Some((holder.line, holder.byte)), "{what}");
                        }
                        other => panic!("{what}: {other:?}"),
                    }
                    assert_eq!(dump(&relation), csv(&before), "{what}: nothing is kept");
                    continue;
                }
                (Ok(report), None) => report,
                (result, first) => panic!("{what}: {result:?}, but {first:?}"),
            };
            let bad = records.iter().filter(|record| record.row.is_none()).count();
            let left_out = expected.left_out.len();
            assert_eq!(
                (report.rows, report.updated, report.left_out),
                (expected.inserted, expected.updated, left_out as u64),
                "{what}"
            );
            assert_eq!(report.rejects.records as usize, bad + if rejects { left_out } else { 0 }, "{what}");
            assert_eq!(dump(&relation), csv(&expected.rows), "{what}");
            if !rejects {
                continue;
            }
            let told = sink.rejects.lock().expect("no panic");
            assert_eq!(told.len(), bad + left_out, "{what}");
            for (reject, (at, holder)) in told[bad..].iter().zip(&expected.left_out) {
                let record = &records[*at];
                assert_eq!((&*reject.file, reject.line), (&*name(record.file), record.line), "{what}");
                assert_eq!(
                    (reject.byte, reject.record_byte, reject.kind),
                    (record.byte, record.byte, DefectKind::DuplicateKey)
                );
                assert_eq!(&*reject.record, record.raw.as_bytes(), "{what}");
                let first = match holder.map(|holder| &records[holder]) {
                    None => "the table".to_owned(),
                    Some(holder) if holder.file == record.file => format!("line {}", holder.line),
                    Some(holder) => format!("{}: line {}", name(holder.file), holder.line),
                };
                let id = record.row.as_ref().expect("it is good").0;
                assert_eq!(
                    reject.reason,
                    format!("duplicate key ({id}) in t: pk allows it once, and {first} has it already"),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_violation_is_told_in_words() {
    let files = [file_of(b"1,a\n2,\"b\nb\"\n"), file_of(b"3,c\n2,d\n1,e\n")];
    let machine = &machines()[0];
    let message = |before: &[(i32, String)]| {
        let load = load(machine, &files, before, &Conflicts::default(), false, false);
        let text = load.result.expect_err("a duplicate").to_string();
        text.replace(&files[0].path().display().to_string(), "A").replace(&files[1].path().display().to_string(), "B")
    };
    let remedy = "remove one of them, or say with ON_CONFLICT what becomes of them";
    assert_eq!(
        message(&[]),
        format!("B: line 2, byte 4: duplicate key (2) in t: pk allows it once, and A: line 2 has it already; {remedy}")
    );
    assert_eq!(
        message(&[(3, "x".to_owned())]),
        format!("B: line 1, byte 0: duplicate key (3) in t: pk allows it once, and the table has it already; {remedy}")
    );
}

#[test]
fn rejected_keys_count_against_the_limit() {
    let text: String = (0..100).fold(String::new(), |text, id| text + &format!("{},x\n", if id < 90 { id } else { 7 }));
    let file = file_of(text.as_bytes());
    let conflicts = Conflicts { on: OnConflict { action: ConflictAction::KeepFirst, index: None }, rejects: true };
    let load = |reject_limit, on_error| {
        let relation = relation(IndexKind::Art);
        let options = TextOptions { conflicts: conflicts.clone(), reject_limit, on_error, ..comma() };
        let inputs = vec![InputFile::opened(Source::open(file.path()).expect("opened"), &[0, 1])];
        let tuning = longshore_load::Tuning { span_bytes: Some(50), ..longshore_load::Tuning::new(2) };
        let result = copy_from(inputs, &relation, &options, &tuning, &Control::new());
        let result = result.map(|report| report.rejects.records).map_err(|error| error.to_string());
        (result, relation.snapshot().rows())
    };
    assert_eq!(load(RejectLimit::Records(10), OnError::Ignore), (Ok(10), 90));
    assert_eq!(load(RejectLimit::Percent(10.0), OnError::Ignore), (Ok(10), 90));
    for limit in [RejectLimit::Records(9), RejectLimit::Percent(9.5)] {
        let (result, rows) = load(limit, OnError::Ignore);
        let error = result.expect_err("one too many");
        assert!(error.contains("were rejected") && error.contains("line 91") && rows == 0, "{error}");
    }
    let (result, _) = load(RejectLimit::None, OnError::Stop);
    assert!(result.expect_err("nowhere to put them").contains("ON_ERROR"));
}
