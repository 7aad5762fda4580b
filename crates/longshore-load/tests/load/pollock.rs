//! The Pollock benchmark: 2,290 files, each polluted in one way, loaded by someone who knows it and by detection.
//!
//! The score of a file is the sum of ten measures from 0 to 1: whether it loads at all, and precision, recall and their
//! harmonic mean of the names of its columns, of its records and of its cells. Files weigh as often as their pollution
//! was found in the wild. To beat: DuckDB 1.2 with 9.599 configured and 8.439 detected; the
//! files are not the same, since the table and some expectations are our own. Detected is what leaves out what is no
//! record, shipped what refuses it, and repairs what can be without loss. `cargo test
//! -p longshore-load --test load pollock:: -- --ignored --nocapture` prints a table of all.

#![allow(clippy::format_push_string, reason = "this is test code")]

mod files;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use longshore_csv::reference;
use longshore_format::LineEnds;
use longshore_format::delimited::{
    Delimited, DelimitedOptions, Escape, EscapeRule, LongRecords, ShortRecords, StrayQuotes,
};
use longshore_format::sniff::{Given, sniff};
use longshore_load::{
    Control, Dialect, Header, InputFile, OnError, Source, TextFormat, TextOptions, Tuning, copy_from, load_inferred,
    sniffed_options,
};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};

use crate::harness::dump;
use files::{File, files};

/// What was loaded: names of columns, and rows.
struct Loaded {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Loads all columns as text, leaving out what is no record.
fn load(text: &str, names: Vec<String>, options: &TextOptions) -> Result<Loaded, String> {
    let columns = names.iter().map(|name| Column::new(name, ColumnType::Text, true)).collect();
    let relation = Relation::new(Arc::new(Schema::new(columns)), Memory::new(None));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let fields: Vec<usize> = (0..names.len()).collect();
    let input = InputFile::opened(Source::open(file.path()).map_err(|error| error.to_string())?, &fields);
    copy_from(vec![input], &relation, options, &Tuning::new(1), &Control::new()).map_err(|error| error.to_string())?;
    Ok(Loaded { names, rows: rows_of(&relation) })
}

fn rows_of(relation: &Relation) -> Vec<Vec<String>> {
    let records = reference::records(dump(relation).as_bytes(), &Dialect::default()).unwrap();
    let value = |field: reference::RawField| String::from_utf8(field.value).unwrap();
    records.into_iter().map(|record| record.fields.into_iter().map(value).collect()).collect()
}

/// As someone loads it who knows its delimiter, quote, escape, the lines before its records, and its columns; whatever
/// else is wrong with it, the same options for all files.
fn configured(file: &File) -> Result<Loaded, String> {
    let escape = file.style.escape.filter(|escape| *escape != file.style.quote);
    let delimited = Delimited::new(DelimitedOptions {
        delimiter: file.style.delimiter.to_owned(),
        quote: Some(file.style.quote),
        escape: escape.map(|byte| Escape { byte, rule: EscapeRule::Quotes }),
        skip_blank_lines: true,
        line_ends: LineEnds::Any,
        short_records: ShortRecords::Pad,
        long_records: LongRecords::Truncate,
        stray_quotes: StrayQuotes::Literal,
        ..DelimitedOptions::default()
    });
    let mut options = TextOptions::of(TextFormat::Other(Arc::new(delimited.unwrap())));
    options.skip_lines = file.lines_before;
    options.header = Header::None;
    options.on_error = OnError::Ignore;
    load(&file.text, file.columns.clone(), &options)
}

/// With nothing said but that bad records are left out.
fn detected(file: &File) -> Result<Loaded, String> {
    if file.text.is_empty() {
        return Ok(Loaded { names: vec![], rows: vec![] });
    }
    let sniffed = sniff(file.text.as_bytes(), true, &Given { all_text: true, ..Given::default() });
    let mut options = TextOptions::new(Dialect::default());
    options.on_error = OnError::Ignore;
    let options = sniffed_options(&sniffed, &options).map_err(|error| error.to_string())?;
    load(&file.text, sniffed.columns.into_iter().map(|column| column.name).collect(), &options)
}

/// As `CREATE TABLE AS` does with nothing said: what can be repaired without loss is, all else is refused. The types of
/// the columns are found out, too, unless they are `all_text`.
fn shipped(file: &File, all_text: bool) -> Result<Loaded, String> {
    let text = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(text.path(), &file.text).unwrap();
    let input = InputFile::opened(Source::open(text.path()).map_err(|error| error.to_string())?, &[]);
    let mut request = crate::harness::infer::request(&Tuning::new(1));
    request.given = Given { all_text, ..Given::default() };
    let (relation, found, _) =
        load_inferred(vec![input], &request, &Control::new()).map_err(|error| error.to_string())?;
    let is_empty = found.sniffed.is_empty;
    let names = found.columns.into_iter().filter(|_| !is_empty).map(|column| column.name).collect();
    Ok(Loaded { names, rows: rows_of(&relation) })
}

/// Precision, recall and their harmonic mean of a bag of things.
fn measures<T: Eq + Hash>(expected: &[T], found: &[T]) -> [f64; 3] {
    if expected.is_empty() {
        return [1.0; 3];
    }
    let mut left: HashMap<&T, usize> = HashMap::new();
    for thing in expected {
        *left.entry(thing).or_default() += 1;
    }
    let mut common = 0;
    for thing in found {
        if let Some(count) = left.get_mut(thing)
            && *count > 0
        {
            *count -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return [0.0; 3];
    }
    let (precision, recall) = (f64::from(common) / found.len() as f64, f64::from(common) / expected.len() as f64);
    [precision, recall, 2.0 * precision * recall / (precision + recall)]
}

/// From 0 to 10.
fn score(file: &File, loaded: &Result<Loaded, String>) -> f64 {
    let Ok(loaded) = loaded else { return 0.0 };
    let cells = |rows: &[Vec<String>]| rows.concat();
    let parts = [
        measures(&file.header, &loaded.names),
        measures(&file.rows, &loaded.rows),
        measures(&cells(&file.rows), &cells(&loaded.rows)),
    ];
    1.0 + parts.as_flattened().iter().sum::<f64>()
}

/// The score by frequency, the score where all files weigh the same, and the mean of each kind of pollution.
fn run(files: &[File], load: impl Fn(&File) -> Result<Loaded, String>) -> (f64, f64, BTreeMap<String, f64>) {
    let (mut weighted, mut weights, mut simple) = (0.0, 0.0, 0.0);
    let mut kinds: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for file in files {
        let score = score(file, &load(file));
        weighted += score * file.weight;
        weights += file.weight;
        simple += score;
        let numbers = |c: char| c.is_ascii_digit() || c == '_';
        let kind = if file.name.starts_with("row") { file.name.trim_end_matches(numbers) } else { &file.name };
        let entry = kinds.entry(kind.to_owned()).or_default();
        *entry = (entry.0 + score, entry.1 + 1.0);
    }
    let kinds = kinds.into_iter().map(|(kind, (score, count))| (kind, score / count)).collect();
    (weighted / weights, simple / files.len() as f64, kinds)
}

/// The scores of all files or a part of them are above the best published ones.
fn check(step: usize) {
    let files = files(step);
    let (configured_weighted, configured_simple, configured_kinds) = run(&files, configured);
    let (detected_weighted, detected_simple, detected_kinds) = run(&files, detected);
    let (shipped_weighted, shipped_simple, shipped_kinds) = run(&files, |file| shipped(file, true));
    println!("{:34} {:>10} {:>10} {:>10}", "pollution", "configured", "detected", "shipped");
    for (kind, score) in &configured_kinds {
        println!("{kind:34} {score:>10.3} {:>10.3} {:>10.3}", detected_kinds[kind], shipped_kinds[kind]);
    }
    let line =
        |what, scores: [f64; 3]| println!("{what:34} {:>10.3} {:>10.3} {:>10.3}", scores[0], scores[1], scores[2]);
    line("all, each file the same", [configured_simple, detected_simple, shipped_simple]);
    line("all, by frequency", [configured_weighted, detected_weighted, shipped_weighted]);
    let refused: Vec<&File> = files.iter().filter(|file| shipped(file, false).is_err()).collect();
    println!("refused where types are found out: {} of {}", refused.len(), files.len());
    assert!(configured_weighted > 9.9, "configured {configured_weighted}");
    assert!(detected_weighted > 9.5, "detected {detected_weighted}");
    assert!(shipped_weighted > 9.4, "shipped {shipped_weighted}");
    for (kind, score) in configured_kinds {
        let least = if kind.starts_with("file_multitable") { 8.6 } else { 9.3 };
        assert!(score > least, "{kind}: {score}");
    }
}

#[test]
fn the_scores_of_some_files_are_high() {
    check(17);
}

#[test]
#[ignore = "2,290 files take a minute; for the figures that are reported"]
fn the_scores_of_all_files_are_high() {
    assert_eq!(files(1).len(), 2290);
    check(1);
}
