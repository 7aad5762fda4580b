//! Lineitem compressed and encoded, into a relation: against the same library alone, against `gzip -dc`, and one core
//! against all. Rates are of the text as UTF-8, however many bytes the file has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use longshore_load::{Control, InputFile, Tuning, copy_from};
use longshore_source::{Encoding, Location, OpenOptions};
use longshore_storage::Relation;

use crate::facts::{COLUMNS, Facts};
use crate::lineitem::{Blocks, DECIMAL_PRECISION, options, schema};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

mod alone;
mod cores;
mod make;

use make::Form;

/// Part of the text that the slow formats get.
const SLOW_SHARE: f64 = 0.1;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let plain = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let little = lineitem(&settings.data, settings.scale * SLOW_SHARE, Text::Plain)?;
    let recycled = &Blocks::recycled();
    let mut cases = Vec::new();
    for form in Form::ALL {
        let text = if form.is_slow() { &little } else { &plain };
        let made = form.make(text)?;
        let facts = made.facts.clone();
        let amount = Amount::Bytes(made.text_bytes);
        for threads in settings.thread_counts() {
            let name = format!("{}, load, {} on as many cores", form.name(), threads_of(threads));
            let (path, facts) = (made.path.clone(), facts.clone());
            cases.push(Case::new(name, amount, move || {
                cores::on(threads, || timed_load(&path, form, &facts, threads, recycled))?
            }));
        }
        if form == Form::Gzip {
            let (path, bytes) = (made.path.clone(), made.text_bytes);
            cases.push(Case::new("gzip, gzip -dc", amount, move || gzip_dc(&path, bytes)));
        }
        if let Some(library) = alone::of(form) {
            let (path, bytes) = (made.path.clone(), made.text_bytes);
            let name = format!("{}, library alone, 1 thread", form.name());
            cases.push(Case::new(name, amount, move || cores::on(1, || alone::run(library, &path, bytes))?));
        }
    }
    measure(cases, settings)
}

/// Loads a file and checks the relation; `threads` load, and as many decompress or convert.
fn timed_load(path: &Path, form: Form, facts: &Facts, threads: usize, blocks: &Blocks) -> Result<Duration, Failure> {
    let relation = Relation::new(schema(DECIMAL_PRECISION), blocks.memory());
    let fields: Vec<usize> = (0..COLUMNS).collect();
    let mut open = OpenOptions { threads, ..OpenOptions::default() };
    if let Some(name) = form.encoding() {
        open.encoding = Encoding::named(name)?;
    }
    let started = Instant::now();
    let source = longshore_source::open(&Location::File(path.to_owned()), &open)?;
    let file = InputFile::opened(source, &fields);
    copy_from(vec![file], &relation, &options(Text::Plain), &Tuning::new(threads), &Control::new())?;
    let time = started.elapsed();
    facts.check(&Facts::of_snapshot(&relation.snapshot())?)?;
    Ok(time)
}

/// The time that `gzip -dc` takes to read and decompress the file, its output read and forgotten.
fn gzip_dc(path: &Path, bytes: u64) -> Result<Duration, Failure> {
    let started = Instant::now();
    let mut child = Command::new("gzip").arg("-dc").arg(path).stdout(Stdio::piped()).spawn()?;
    let found = match child.stdout.take() {
        Some(mut output) => std::io::copy(&mut output, &mut std::io::sink())?,
        None => 0,
    };
    let status = child.wait()?;
    let time = started.elapsed();
    if status.success() && found == bytes { Ok(time) } else { Err(format!("{status}, {found} bytes").into()) }
}

/// A compressed or encoded file of lineitem.
struct Made {
    path: PathBuf,
    /// Bytes of the text as UTF-8.
    text_bytes: u64,
    facts: Facts,
}

impl Made {
    fn of(path: PathBuf, text: &Lineitem) -> Made {
        Made { path, text_bytes: text.bytes, facts: text.facts.clone() }
    }

    /// The file beside `text` that ends with `suffix`, made by `make` if it is not there.
    fn file(text: &Path, suffix: &str, make: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<PathBuf, Failure> {
        let path = text.with_extension(suffix);
        if !path.exists() {
            eprintln!("generating {}", path.display());
            let partial = path.with_extension("partial");
            make(&partial)?;
            fs::rename(partial, &path)?;
        }
        Ok(path)
    }
}
