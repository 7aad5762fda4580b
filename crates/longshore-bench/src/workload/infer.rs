//! Types found over the whole of a file while it is loaded, against a load with given types; and a type that the last
//! line of the file changes, so that all of it is read twice.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::{
    Control, InferRequest, Inferred, InputFile, Source, TextOptions, Tuning, copy_from, infer, load_inferred,
};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema, Storage};

use crate::facts::Facts;
use crate::lineitem::{Blocks, StoredAs, dialect, timed_load};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// Columns of the file whose last line is another.
const LATE_COLUMNS: usize = 8;

/// Rows of it at scale factor 1.
const LATE_ROWS_PER_SCALE: f64 = 4e6;

/// The column of lineitem that the generator sums in cents, and that has no decimals in the text.
const QUANTITY: usize = 4;

/// One run of a case.
type Run = dyn FnMut(&Tuning) -> Result<Duration, Failure>;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let plain = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let late = late(settings)?;
    let recycled = &Blocks::recycled();
    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        let tuning = Tuning::new(threads);
        let mut add = |name: &str, bytes, run: Box<Run>| {
            let (mut run, tuning) = (run, tuning.clone());
            let name = format!("{name}, {}", threads_of(threads));
            cases.push(Case::new(name, Amount::Bytes(bytes), move || run(&tuning)));
        };
        let (file, blocks) = (plain.clone(), recycled.clone());
        let given = move |tuning: &Tuning| timed_load(&file, Text::Plain, StoredAs::PACKED, tuning, &blocks);
        add("lineitem, types given", plain.bytes, Box::new(given));
        let (file, blocks) = (plain.clone(), recycled.clone());
        add("lineitem, types found, loaded", plain.bytes, Box::new(move |tuning| loaded(&file, tuning, &blocks)));
        let file = plain.clone();
        add("lineitem, types found alone", plain.bytes, Box::new(move |tuning| found(&file, tuning)));
        for changes in [false, true] {
            let (file, blocks) = (late.clone(), recycled.clone());
            let name = if changes { "integers but for the last line, types found, loaded" } else { LATE_GIVEN };
            add(name, late.bytes, Box::new(move |tuning| file.load(changes, tuning, &blocks)));
        }
    }
    measure(cases, settings)
}

const LATE_GIVEN: &str = "integers but for the last line, types given";

fn request(tuning: &Tuning, memory: &Arc<Memory>, delimiter: Text) -> InferRequest {
    InferRequest {
        by_name: false,
        repairs: true,
        given: longshore_format::sniff::Given::default(),
        types: Vec::new(),
        spelled: Vec::new(),
        defaults: Vec::new(),
        extra: Vec::new(),
        options: TextOptions::new(dialect(delimiter)),
        tuning: tuning.clone(),
        memory: Arc::clone(memory),
        storage: Storage::default(),
        found: Arc::default(),
    }
}

fn input(path: &Path) -> InputFile {
    let path = path.to_owned();
    InputFile::new(&path.display().to_string(), move || Source::open(&path), &[])
}

/// Loads lineitem by the types that are found.
fn loaded(file: &Lineitem, tuning: &Tuning, blocks: &Blocks) -> Result<Duration, Failure> {
    let request = request(tuning, &blocks.memory(), Text::Plain);
    let started = Instant::now();
    let (relation, ..) = load_inferred(vec![input(&file.path)], &request, &Control::new())?;
    let time = started.elapsed();
    let found = Facts::of_snapshot(&relation.snapshot())?.times(QUANTITY, 100);
    file.facts.check(&found)?;
    Ok(time)
}

/// Finds the types of lineitem, and keeps nothing else.
fn found(file: &Lineitem, tuning: &Tuning) -> Result<Duration, Failure> {
    let request = request(tuning, &Memory::new(None), Text::Plain);
    let started = Instant::now();
    let inferred = infer(vec![input(&file.path)], &request, &Control::new())?;
    let time = started.elapsed();
    let kinds = kinds(&inferred);
    if kinds == "IIIIIDDDTTYYYTTT" && inferred.rows == file.facts.rows() {
        Ok(time)
    } else {
        Err(format!("{kinds}, {} rows", inferred.rows).into())
    }
}

/// A letter for the type of each column: integer, decimal, text, day.
fn kinds(inferred: &Inferred) -> String {
    let kind = |column_type| match column_type {
        ColumnType::Integer | ColumnType::BigInt => 'I',
        ColumnType::Decimal { .. } => 'D',
        ColumnType::Date => 'Y',
        ColumnType::Text => 'T',
        _ => '?',
    };
    inferred.columns.iter().map(|column| kind(column.column_type)).collect()
}

/// A file of integers, but for the first value of its last line.
#[derive(Clone)]
struct Late {
    path: PathBuf,
    bytes: u64,
    rows: u64,
}

fn late(settings: &Settings) -> Result<Late, Failure> {
    let rows = (LATE_ROWS_PER_SCALE * settings.scale).max(2.0) as u64;
    let path = settings.data.join(format!("late-{rows}.csv"));
    if !path.exists() {
        eprintln!("generating {}", path.display());
        fs::create_dir_all(&settings.data)?;
        let unfinished = path.with_extension("unfinished");
        let mut text = BufWriter::new(fs::File::create(&unfinished)?);
        for row in 1..rows {
            write!(text, "{row}")?;
            for column in 1..LATE_COLUMNS as u64 {
                write!(text, ",{}", row * 7919 * column % 1_000_003)?;
            }
            writeln!(text)?;
        }
        writeln!(text, "total{}", ",0".repeat(LATE_COLUMNS - 1))?;
        text.into_inner()?.sync_all()?;
        fs::rename(unfinished, &path)?;
    }
    let bytes = fs::metadata(&path)?.len();
    Ok(Late { path, bytes, rows })
}

impl Late {
    /// Loads it by the types that are found, or else by the right ones.
    fn load(&self, finds: bool, tuning: &Tuning, blocks: &Blocks) -> Result<Duration, Failure> {
        let types = std::iter::once(ColumnType::Text).chain([ColumnType::Integer; LATE_COLUMNS - 1]);
        let columns = types.enumerate().map(|(index, kind)| Column::new(format!("c{index}"), kind, true));
        let schema = Arc::new(Schema::new(columns.collect()));
        let started = Instant::now();
        let relation = if finds {
            let request = request(tuning, &blocks.memory(), Text::Quoted);
            load_inferred(vec![input(&self.path)], &request, &Control::new())?.0
        } else {
            let relation = Relation::new(Arc::clone(&schema), blocks.memory());
            let fields: Vec<usize> = (0..LATE_COLUMNS).collect();
            let file = InputFile::opened(Source::open(&self.path)?, &fields);
            let options = TextOptions::new(dialect(Text::Quoted));
            copy_from(vec![file], &relation, &options, tuning, &Control::new())?;
            relation
        };
        let time = started.elapsed();
        let types = |schema: &Schema| schema.columns().iter().map(|column| column.column_type).collect::<Vec<_>>();
        let rows: usize = relation.snapshot().chunks().iter().map(|chunk| chunk.rows()).sum();
        if rows as u64 != self.rows || types(relation.schema()) != types(&schema) {
            return Err(format!("{rows} rows of {:?}", types(relation.schema())).into());
        }
        Ok(time)
    }
}
