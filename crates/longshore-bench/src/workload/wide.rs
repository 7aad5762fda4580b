//! Text of the same size in ever more columns, up to the 15,781 of a survey that other loaders choke on: the time per
//! value must not grow with the number of columns.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::{Control, Dialect, Header, InputFile, Source, TextOptions, Tuning, copy_from};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};

use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::{Failure, Settings};

/// Columns of each file.
const COLUMNS: [usize; 4] = [16, 256, 4096, 15_781];

/// Values of each file at scale factor 1.
const VALUES_PER_SCALE: f64 = 32e6;

/// Values are below this.
const MODULUS: usize = 10_007;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let values = (VALUES_PER_SCALE * settings.scale) as usize;
    let mut cases = Vec::new();
    for columns in COLUMNS {
        let rows = (values / columns).max(2);
        let path = file(&settings.data, columns, rows)?;
        for threads in settings.thread_counts() {
            let path = path.clone();
            let name = format!("{columns} columns, {}", threads_of(threads));
            let amount = Amount::Values((columns * rows) as u64);
            cases.push(Case::new(name, amount, move || load(&path, columns, rows, threads)));
        }
    }
    measure(cases, settings)
}

/// The value in a row and a column, both counted from 0.
fn value(row: usize, column: usize) -> usize {
    (row * 31 + column * 7) % MODULUS
}

/// The file of that many columns and rows, with a header, generated if it is not there.
fn file(data: &Path, columns: usize, rows: usize) -> Result<PathBuf, Failure> {
    let path = data.join(format!("wide-{columns}x{rows}.csv"));
    if path.exists() {
        return Ok(path);
    }
    fs::create_dir_all(data)?;
    let unfinished = path.with_extension("unfinished");
    let mut text = BufWriter::new(fs::File::create(&unfinished)?);
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    writeln!(text, "{}", names.join(","))?;
    for row in 0..rows {
        write!(text, "{}", value(row, 0))?;
        for column in 1..columns {
            write!(text, ",{}", value(row, column))?;
        }
        writeln!(text)?;
    }
    text.into_inner()?.sync_all()?;
    fs::rename(unfinished, &path)?;
    Ok(path)
}

fn load(path: &Path, columns: usize, rows: usize, threads: usize) -> Result<Duration, Failure> {
    let column = |column| Column::new(format!("c{column}"), ColumnType::Integer, true);
    let schema = Arc::new(Schema::new((0..columns).map(column).collect()));
    let relation = Relation::new(schema, Memory::new(None));
    let options = TextOptions { header: Header::Match, ..TextOptions::new(Dialect::default()) };
    let fields: Vec<usize> = (0..columns).collect();
    let started = Instant::now();
    let input = InputFile::opened(Source::open(path)?, &fields);
    copy_from(vec![input], &relation, &options, &Tuning::new(threads), &Control::new())?;
    let time = started.elapsed();
    check(&relation, columns, rows)?;
    Ok(time)
}

/// Compares the first, a middle and the last column with what was written.
fn check(relation: &Relation, columns: usize, rows: usize) -> Result<(), Failure> {
    let snapshot = relation.snapshot();
    for column in [0, columns / 2, columns - 1] {
        let mut row = 0;
        for chunk in snapshot.chunks() {
            let array = chunk.array(column, 0, chunk.rows());
            let array = arrow_array::cast::as_primitive_array::<arrow_array::types::Int32Type>(&array);
            for found in array.values() {
                if *found as usize != value(row, column) {
                    return Err(format!("row {row}, column {column}: {found}, not {}", value(row, column)).into());
                }
                row += 1;
            }
        }
        if row != rows {
            return Err(format!("column {column} has {row} values, not {rows}").into());
        }
    }
    Ok(())
}
