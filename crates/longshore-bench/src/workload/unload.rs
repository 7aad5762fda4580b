//! The way back: the relation written as CSV and in the native format, and the native copy loaded again.
//!
//! What was written is read back and must have the checksum of what was written, once per case; every run checks the
//! number of rows. Rates are of the bytes that the case writes or reads, so the native ones are low where it
//! compresses well: compare times.
//!
//! A file that takes the place of another one is flushed to the disk by some file systems when it is renamed, and the
//! pages of the other one are freed; that is measured beside a file that is new. Loads take the memory of the relation
//! before them, which was dropped, but for those into new memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use longshore_load::{ColumnChoice, Control, Target, Tuning, UnloadOptions, unload_csv};
use longshore_storage::checksum::{self, Checksum};
use longshore_storage::{Memory, Relation, Snapshot, Storage, native};

use crate::facts::COLUMNS;
use crate::lineitem::{Blocks, StoredAs, dialect, load, timed_load};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// Rows that are formatted at a time.
const BATCH_ROWS: usize = 8_192;

/// Lineitem in memory, and a folder for what is made of it.
struct Loaded {
    file: Lineitem,
    relation: Relation,
    checksum: Checksum,
    folder: PathBuf,
}

impl Loaded {
    fn new(settings: &Settings) -> Result<Loaded, Failure> {
        let file = lineitem(&settings.data, settings.scale, Text::Plain)?;
        let tuning = Tuning::new(settings.threads);
        let relation = load(&file.path, Text::Plain, StoredAs::PACKED, &tuning, &Memory::new(None))?.relation;
        let checksum = checksum::checksum(&relation.snapshot(), settings.threads);
        let folder = settings.data.join(format!("unloaded-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Loaded { file, relation, checksum, folder })
    }

    fn check(&self, relation: &Relation, threads: usize) -> Result<(), Failure> {
        let found = checksum::checksum(&relation.snapshot(), threads);
        if found == self.checksum { Ok(()) } else { Err("what came back is not what went out".into()) }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // What remains is only in the way; the next run names its folder differently.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(super) fn unload(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let loaded = Loaded::new(settings)?;
    let csv = loaded.folder.join("lineitem.csv");
    let native_path = loaded.folder.join("lineitem.native");
    let csv_bytes = write_csv(&loaded, Target::File(csv.clone()), settings.threads)?.0;
    let native_bytes = write_native(&loaded, &native_path, settings.threads)?.0;
    check_csv(&loaded, &csv, settings.threads)?;
    let (relation, _) = read_native(&native_path, settings.threads, &Memory::new(None))?;
    loaded.check(&relation, settings.threads)?;
    drop(relation);

    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        let (loaded, csv, native_path) = (&loaded, &csv, &native_path);
        cases.push(Case::new(format!("CSV file, {}", threads_of(threads)), Amount::Bytes(csv_bytes), move || {
            fs::remove_file(csv)?;
            Ok(write_csv(loaded, Target::File(csv.clone()), threads)?.1)
        }));
        let name = format!("CSV file in place of another, {}", threads_of(threads));
        cases.push(Case::new(name, Amount::Bytes(csv_bytes), move || {
            Ok(write_csv(loaded, Target::File(csv.clone()), threads)?.1)
        }));
        cases.push(Case::new(
            format!("CSV to nowhere, {}", threads_of(threads)),
            Amount::Bytes(csv_bytes),
            move || Ok(write_csv(loaded, Target::Writer(Box::new(std::io::sink())), threads)?.1),
        ));
        let name =
            format!("native file ({:.3} of the text), {}", ratio(native_bytes, loaded.file.bytes), threads_of(threads));
        cases.push(Case::new(name, Amount::Bytes(native_bytes), move || {
            Ok(write_native(loaded, native_path, threads)?.1)
        }));
    }
    measure(cases, settings)
}

pub(super) fn reload(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let loaded = Loaded::new(settings)?;
    let path = loaded.folder.join("lineitem.native");
    let native_bytes = write_native(&loaded, &path, settings.threads)?.0;
    let (relation, _) = read_native(&path, settings.threads, &Memory::new(None))?;
    loaded.check(&relation, settings.threads)?;
    drop(relation);

    let sources = Blocks::both();
    let mut cases = Vec::new();
    for blocks in &sources {
        for threads in settings.thread_counts() {
            let (loaded, path) = (&loaded, &path);
            let name = |what: &str| format!("{what}{}, {}", blocks.suffix(), threads_of(threads));
            cases.push(Case::new(name("CSV load"), Amount::Bytes(loaded.file.bytes), move || {
                timed_load(&loaded.file, Text::Plain, StoredAs::PACKED, &Tuning::new(threads), blocks)
            }));
            cases.push(Case::new(name("native load"), Amount::Bytes(native_bytes), move || {
                let (relation, time) = read_native(path, threads, &blocks.memory())?;
                same_rows(relation.snapshot().rows(), loaded.file.facts.rows())?;
                Ok(time)
            }));
        }
    }
    let mut measured = measure(cases, settings)?;
    // One of them may not be asked for.
    for at in 1..measured.len() {
        if let ([.., csv], [native, ..]) = measured.split_at_mut(at)
            && let (Some(of_csv), Some(of_native)) =
                (csv.case.strip_prefix("CSV load"), native.case.strip_prefix("native load"))
            && of_csv == of_native
        {
            let ratio = csv.best.as_secs_f64() / native.best.as_secs_f64();
            native.note = format!("{ratio:.2} x as fast as the CSV load");
        }
    }
    Ok(measured)
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn same_rows(found: u64, right: u64) -> Result<(), Failure> {
    if found == right { Ok(()) } else { Err(format!("{found} rows where {right} are right").into()) }
}

fn batches(snapshot: &Snapshot) -> impl Iterator<Item = Result<RecordBatch, String>> + Send + use<> {
    let columns: Vec<usize> = (0..COLUMNS).collect();
    let chunks = snapshot.chunks().to_vec();
    chunks.into_iter().flat_map(move |chunk| {
        let columns = columns.clone();
        (0..chunk.rows())
            .step_by(BATCH_ROWS)
            .map(move |offset| Ok(chunk.batch(&columns, offset, BATCH_ROWS.min(chunk.rows() - offset))))
    })
}

fn write_csv(loaded: &Loaded, target: Target, threads: usize) -> Result<(u64, Duration), Failure> {
    let snapshot = loaded.relation.snapshot();
    let options = UnloadOptions {
        dialect: dialect(Text::Plain),
        null: String::new(),
        header: false,
        force_quote: ColumnChoice::None,
    };
    let started = Instant::now();
    let schema = loaded.relation.schema().arrow();
    let report = unload_csv(batches(&snapshot), &schema, target, &options, threads, &Control::new())?;
    let time = started.elapsed();
    same_rows(report.rows, loaded.file.facts.rows())?;
    Ok((report.bytes, time))
}

fn check_csv(loaded: &Loaded, path: &Path, threads: usize) -> Result<(), Failure> {
    let back = load(path, Text::Plain, StoredAs::PACKED, &Tuning::new(threads), &Memory::new(None))?;
    loaded.check(&back.relation, threads)
}

fn write_native(loaded: &Loaded, path: &Path, threads: usize) -> Result<(u64, Duration), Failure> {
    let snapshot = loaded.relation.snapshot();
    let started = Instant::now();
    native::write(path, &snapshot, threads, &|_| true)?;
    let time = started.elapsed();
    Ok((fs::metadata(path)?.len(), time))
}

fn read_native(path: &Path, threads: usize, memory: &Arc<Memory>) -> Result<(Relation, Duration), Failure> {
    let started = Instant::now();
    let (relation, _) = native::read(path, Storage::Packed, threads, memory, &|_| true)?;
    Ok((relation, started.elapsed()))
}
