//! Loads into relations that refer to others: which record is told when it refers to nothing; the same on every machine,
//! and whether foreign keys are checked on the way or in the end, as a model says that goes through the records in the order
//! of the files.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::harness::rejects::{Gathered, file_of};
use crate::harness::{Machine, comma, machines};
use longshore_load::{
    Conflicts, Control, InputFile, LoadError, LoadReport, OnError, ReferringRecord, RejectSink, Source, TextOptions,
    Tuning, copy_from, load_interleaved, load_into,
};
use longshore_storage::{
    Column, ColumnType, ConflictAction, IndexKind, Isolation, Memory, MergeKind, OnConflict, ReferenceAction,
    ReferenceMatch, ReferenceRules, ReferenceTiming, Relation, Schema, Transactions, Uniqueness, key,
};
use longshore_testing::{Random, share};
use tempfile::NamedTempFile;

/// Parents 0, 1, ... up to this one are there.
const PARENTS: i32 = 30;

/// A record of a generated file.
#[derive(Clone, Debug)]
struct Record {
    file: usize,
    line: u64,
    byte: u64,
    raw: String,
    /// Its id and what it refers to; `None` if it is bad.
    row: Option<(i32, Option<i32>, Option<i32>)>,
}

/// When foreign keys are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Unified,
    Post,
    /// When all chunks have been merged.
    Interleaved,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    /// Whether the second foreign key refers to rows of the same relation.
    is_reflexive: bool,
    keeps_first: bool,
    has_bad: bool,
    when: When,
}

/// Files of records, of which one in so many refers to nothing.
fn generate(
    random: &mut Random,
    files: usize,
    count: usize,
    lost_one_in: usize,
    case: Case,
) -> (Vec<String>, Vec<Record>) {
    let (mut texts, mut records) = (Vec::new(), Vec::new());
    for file in 0..files {
        let (mut text, mut line) = (String::new(), 1);
        for _ in 0..count {
            let id = if case.keeps_first { random.below(count) } else { 100 + records.len() } as i32;
            let mut refer = |to: usize| match random.below(8) {
                0 => None,
                _ if random.below(lost_one_in) == 0 => Some(-1 - random.below(9) as i32),
                _ => Some(random.below(to) as i32),
            };
            let (a, b) = (refer(PARENTS as usize), refer(PARENTS as usize));
            // What refers to rows of the load may stand before them.
            let b = b.map(|b| if case.is_reflexive && b >= 0 { 100 + b } else { b });
            let shown = |value: Option<i32>| value.map_or(String::new(), |value| value.to_string());
            let note = if random.below(4) == 0 { "two\nlines" } else { "one" };
            let is_bad = case.has_bad && random.below(9) == 0;
            let raw = format!("{}{id},{},{},\"{note}\"", if is_bad { "x" } else { "" }, shown(a), shown(b));
            records.push(Record {
                file,
                line,
                byte: text.len() as u64,
                raw: raw.clone(),
                row: (!is_bad).then_some((id, a, b)),
            });
            line += raw.matches('\n').count() as u64 + 1;
            text.push_str(&raw);
            text.push('\n');
        }
        texts.push(text);
    }
    (texts, records)
}

/// A record that refers to nothing, by the column and its value.
type Lost<'r> = (&'r Record, &'static str, i32);

/// What becomes of the records: how many are loaded, or the first that refers to nothing.
fn model(records: &[Record], case: Case) -> Result<u64, Lost<'_>> {
    let mut ids = BTreeSet::new();
    let kept: Vec<&Record> = records
        .iter()
        .filter(|record| record.row.is_some_and(|(id, ..)| ids.insert(id) || !case.keeps_first))
        .collect();
    let is_lost = |column: &'static str, to: Option<i32>| {
        let own = case.is_reflexive && column == "b";
        to.filter(|to| if own { !ids.contains(to) } else { !(0..PARENTS).contains(to) })
    };
    let lost = |record: &Record, column: &'static str| {
        let (_, a, b) = record.row?;
        is_lost(column, if column == "a" { a } else { b })
    };
    let found = |columns: &[&'static str]| {
        kept.iter().find_map(|record| {
            columns.iter().find_map(|column| lost(record, column).map(|value| (*record, *column, value)))
        })
    };
    // What refers to rows of the load itself is checked in the end.
    let first = if case.is_reflexive && case.when == When::Unified {
        found(&["a"]).or_else(|| found(&["b"]))
    } else {
        found(&["a", "b"])
    };
    first.map_or(Ok(kept.len() as u64), Err)
}

/// The relation of the children.
fn children(case: Case) -> (Relation, Relation) {
    let transactions = Transactions::new();
    let relation = |name: &str, columns: Vec<Column>| {
        let schema = Arc::new(Schema::new(columns));
        Relation::in_database(schema, Memory::new(None), &transactions).with_name(name)
    };
    let int = |name: &str| Column::new(name, ColumnType::Integer, true);
    let parents = relation("parents", vec![int("id")]);
    let children = relation("children", vec![int("id"), int("a"), int("b"), Column::new("t", ColumnType::Text, true)]);
    let pk = parents.create_index("parents_pkey", &[0], IndexKind::Art, Uniqueness::Unique).expect("an index");
    let own = (case.is_reflexive || case.keeps_first)
        .then(|| children.create_index("pkey", &[0], IndexKind::Hash, Uniqueness::Unique).expect("an index"));
    let rules = |name: &str, column| ReferenceRules {
        name: name.to_owned(),
        columns: vec![(column, 0)],
        matching: ReferenceMatch::Simple,
        timing: ReferenceTiming::Immediate,
        on_delete: ReferenceAction::NoAction,
        on_update: ReferenceAction::NoAction,
        defaults: None,
    };
    children.add_foreign_key(rules("by_a", 1), &parents, &pk, false).expect("no rows");
    let (to, index) = if case.is_reflexive { (&children, own.as_ref().expect("made")) } else { (&parents, &pk) };
    children.add_foreign_key(rules("by_b", 2), to, index, false).expect("no rows");
    let mut transaction = transactions.begin(Isolation::Snapshot);
    for id in 0..PARENTS {
        transaction.insert(&parents, key![id]).expect("a new key");
    }
    transaction.commit().expect("nobody else is there");
    (parents, children)
}

fn load(machine: &Machine, files: &[NamedTempFile], case: Case) -> Result<LoadReport, LoadError> {
    let (_parents, relation) = children(case);
    let on_error = if case.has_bad {
        OnError::Collect(Arc::new(Gathered::default()) as Arc<dyn RejectSink>)
    } else {
        OnError::Stop
    };
    let action = if case.keeps_first { ConflictAction::KeepFirst } else { ConflictAction::Stop };
    let conflicts = Conflicts { on: OnConflict { action, index: None }, rejects: false };
    let mut options = TextOptions { mode: machine.mode, on_error, conflicts, ..comma() };
    let open = |file: &NamedTempFile| {
        if machine.stream { Source::open_unmapped(file.path()) } else { Source::open(file.path()) }.expect("opened")
    };
    let inputs = files.iter().map(|file| InputFile::opened(open(file), &[0, 1, 2, 3])).collect();
    let (control, tuning) = (Control::new(), &machine.tuning);
    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    let report = match case.when {
        When::Post => return copy_from(inputs, &relation, &options, tuning, &control),
        When::Interleaved => {
            let tuning = Tuning { merge: MergeKind::Chunk, ..tuning.clone() };
            load_interleaved(inputs, &relation, &mut transaction, &options, &tuning, &control, |transaction| {
                transaction.run_foreign_key_actions().map(drop)
            })?
        }
        When::Unified => {
            let checks = Arc::new(transaction.reference_checks(&relation).expect("it refers to parents"));
            options.references = Some(Arc::clone(&checks));
            let since = transaction.writes();
            load_into(inputs, &relation, &options, tuning, &control)?.commit_in(&mut transaction, |transaction| {
                transaction.note_checked(since, &checks)?;
                transaction.run_foreign_key_actions().map(drop)
            })?
        }
    };
    transaction.commit().expect("nobody else is there");
    Ok(report)
}

#[test]
fn the_first_record_that_refers_to_nothing_is_told() {
    let mut random = Random::new(0x5eed);
    let plain = Case { is_reflexive: false, keeps_first: false, has_bad: false, when: When::Post };
    let shapes = [
        plain,
        Case { is_reflexive: true, ..plain },
        Case { has_bad: true, ..plain },
        Case { keeps_first: true, ..plain },
        Case { keeps_first: true, has_bad: true, ..plain },
    ];
    let (mut told, mut loaded) = (0, 0);
    for (at, machine) in machines().iter().enumerate().step_by(3).take(share(1000)) {
        let shape = shapes[at % shapes.len()];
        let lost_one_in = [20, 60, 100_000][at / shapes.len() % 3];
        let (texts, records) = generate(&mut random, 1 + at % 3, 45, lost_one_in, shape);
        let files: Vec<NamedTempFile> = texts.iter().map(|text| file_of(text.as_bytes())).collect();
        for when in [When::Unified, When::Post, When::Interleaved] {
            let case = Case { when, ..shape };
            // Records are rejected on the way, and foreign keys of those that are left out are none.
            if when == When::Unified && (case.keeps_first || case.has_bad) {
                continue;
            }
            let what = format!("{case:?} {machine:?}");
            match (model(&records, case), load(machine, &files, case)) {
                (Ok(rows), Ok(report)) => {
                    assert_eq!(report.rows, rows, "{what}");
                    loaded += 1;
                }
                (Err((record, column, value)), Err(LoadError::Reference(missing))) => {
                    let referenced = if case.is_reflexive && column == "b" { "children" } else { "parents" };
                    let shown = format!("Key ({column})=({value}) is not present in table \"{referenced}\"");
                    assert!(missing.error.reason().ends_with(&shown), "{what}: {missing}, not {shown}");
                    assert_eq!(missing.error.constraint, format!("by_{column}"), "{what}");
                    let ReferringRecord::Text(found) = &missing.record else { panic!("{what}: {missing}") };
                    let file = files[record.file].path().display().to_string();
                    assert_eq!((&found.file, found.line, found.byte), (&file, record.line, record.byte), "{what}");
                    assert_eq!(String::from_utf8_lossy(&found.value), record.raw, "{what}");
                    let start = format!("{file}: line {}, byte {}: ", record.line, record.byte);
                    assert!(missing.to_string().starts_with(&start), "{what}: {missing}");
                    told += 1;
                }
                (expected, found) => panic!("{what}: {expected:?} expected, not {found:?}"),
            }
        }
    }
    assert!(told > 5 && loaded > 5, "{told} violations, {loaded} loads");
}
