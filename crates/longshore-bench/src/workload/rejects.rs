//! Loads that reject one record in a hundred, against clean ones.
//!
//! The bad records are those of the clean text with a value that is none, or with a field less. Where rejects go
//! matters too: they are counted, or kept as a table or as a file.

use std::fs;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::{Control, InputFile, OnError, RejectFile, RejectTable, Source, TextOptions, Tuning, copy_from};
use longshore_storage::Relation;

use crate::facts::COLUMNS;
use crate::lineitem::{Blocks, DECIMAL_PRECISION, options, schema};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// One record in this many is bad.
const BAD_ONE_IN: u64 = 100;

/// What is wrong with the bad records.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Nothing,
    Value,
    Shape,
}

/// Where rejects go.
#[derive(Clone, Copy, Debug)]
enum To {
    /// The first one ends the load.
    Stop,
    Nowhere,
    Table,
    File,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let clean = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let value = spoil(&clean, Fault::Value)?;
    let shape = spoil(&clean, Fault::Shape)?;
    let recycled = &Blocks::recycled();
    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        for (name, path, fault, to) in [
            ("clean, stop at the first", &clean.path, Fault::Nothing, To::Stop),
            ("clean, ignore", &clean.path, Fault::Nothing, To::Nowhere),
            ("1 % bad values, ignore", &value, Fault::Value, To::Nowhere),
            ("1 % bad values, table", &value, Fault::Value, To::Table),
            ("1 % bad values, file", &value, Fault::Value, To::File),
            ("1 % misshapen, ignore", &shape, Fault::Shape, To::Nowhere),
            ("1 % misshapen, table", &shape, Fault::Shape, To::Table),
        ] {
            let rows = clean.facts.rows();
            let name = format!("{name}, {}", threads_of(threads));
            let tuning = Tuning::new(threads);
            let load = move || timed_load(path, rows, fault, to, &tuning, recycled);
            cases.push(Case::new(name, Amount::Bytes(clean.bytes), load));
        }
    }
    measure(cases, settings)
}

/// The file with bad records among the good ones, made if it is not there.
fn spoil(clean: &Lineitem, fault: Fault) -> Result<PathBuf, Failure> {
    let path = clean.path.with_extension(format!("bad-{fault:?}.csv").to_lowercase());
    if path.exists() {
        return Ok(path);
    }
    eprintln!("generating {}", path.display());
    let partial = path.with_extension("partial");
    let mut reader = BufReader::new(fs::File::open(&clean.path)?);
    let mut writer = BufWriter::new(fs::File::create(&partial)?);
    let mut line = Vec::new();
    let mut number = 0;
    while reader.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        if number % BAD_ONE_IN == 0 {
            match fault {
                Fault::Nothing => {}
                Fault::Value => line[0] = b'x',
                Fault::Shape => {
                    let first = line.iter().position(|&byte| byte == Text::Plain.delimiter()).unwrap_or(0);
                    line[first] = b' ';
                }
            }
        }
        writer.write_all(&line)?;
        line.clear();
    }
    writer.into_inner()?.sync_all()?;
    fs::rename(partial, &path)?;
    Ok(path)
}

/// Loads a file of `rows` records and checks how many were rejected.
fn timed_load(
    path: &Path,
    rows: u64,
    fault: Fault,
    to: To,
    tuning: &Tuning,
    blocks: &Blocks,
) -> Result<Duration, Failure> {
    let memory = blocks.memory();
    let relation = Relation::new(schema(DECIMAL_PRECISION), Arc::clone(&memory));
    let fields: Vec<usize> = (0..COLUMNS).collect();
    let rejects = path.with_extension("rejects");
    let table = Arc::new(RejectTable::new(&memory));
    let started = Instant::now();
    let on_error = match to {
        To::Stop => OnError::Stop,
        To::Nowhere => OnError::Ignore,
        To::Table => OnError::Collect(Arc::clone(&table) as _),
        To::File => OnError::Collect(Arc::new(RejectFile::create(&rejects)?)),
    };
    let options = TextOptions { on_error, ..options(Text::Plain) };
    let file = InputFile::opened(Source::open(path)?, &fields);
    let report = copy_from(vec![file], &relation, &options, tuning, &Control::new())?;
    let time = started.elapsed();
    if let To::File = to {
        fs::remove_file(rejects)?;
    }
    let bad = if let Fault::Nothing = fault { 0 } else { rows / BAD_ONE_IN };
    let kept = if let To::Table = to { bad } else { 0 };
    let (found, right) = ((report.rows, report.rejects.records, table.count()), (rows - bad, bad, kept));
    if found == right { Ok(time) } else { Err(format!("{found:?} rows and rejects where {right:?} are right").into()) }
}
