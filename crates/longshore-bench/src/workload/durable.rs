//! The redo log: commits that wait for the disk, alone and in groups, and long records, against the disk alone.
//!
//! A commit is a record of 100 bytes and the wait until it is safe. What the disk takes for as much is measured in the same
//! run: a write of as many bytes and a sync, in a file of which the room was reserved, and in one that is written over. The
//! log is measured likewise: with new segments, and with old ones that are written over. Every record is read back before
//! a time counts.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_storage::disk::{Disk, OpenMode, SystemDisk};
use longshore_storage::log::{BackgroundWriter, Log, LogOptions, LogReader, Lsn};

use crate::measure::{Amount, Case, Measured, measure};
use crate::{Failure, Settings};

/// Commits of one thread at scale factor 1.
const COMMITS: f64 = 20_000.0;

/// Threads that commit side by side, as terminals of TPC-C do.
const THREADS: usize = 64;

/// With so many threads there are more commits.
const GROUPED: usize = 5;

const RECORD_BYTES: usize = 100;

/// What a record takes that is written alone.
const FRAME_BYTES: usize = 120;

/// Long records, and how many at scale factor 1.
const LONG_BYTES: usize = 1 << 20;
const LONG_RECORDS: f64 = 512.0;

/// What commits that do not wait may lose, as the database has it.
const DELAY: Duration = Duration::from_millis(200);

/// The disk, and the folder for all files of a run.
struct Place {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

/// Whether what is written was written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Reserved,
    WrittenOver,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let folder = settings.data.join(format!("durable-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let place = Place { disk: Arc::new(SystemDisk), folder: folder.clone() };
    let rows = cases(settings, &place);
    std::fs::remove_dir_all(folder)?;
    rows
}

fn cases(settings: &Settings, place: &Place) -> Result<Vec<Measured>, Failure> {
    let commits = ((COMMITS * settings.scale) as usize).max(100);
    let grouped = (commits * GROUPED).next_multiple_of(THREADS);
    let long = ((LONG_RECORDS * settings.scale) as usize).max(4);
    let log_bytes: [Cell<u64>; 3] = std::array::from_fn(|_| Cell::new(0));
    let [alone_bytes, grouped_bytes, long_bytes] = &log_bytes;
    let mut cases = Vec::new();
    for (room, title) in [(Room::Reserved, "new"), (Room::WrittenOver, "written over")] {
        cases.push(Case::new(
            format!("sync of {FRAME_BYTES} bytes, file {title}"),
            Amount::Transactions(commits as u64),
            move || plain(place, room, commits, FRAME_BYTES, true),
        ));
        cases.push(Case::new(
            format!("log, 1 thread, segments {title}"),
            Amount::Transactions(commits as u64),
            move || logged(place, room, 1, commits, alone_bytes),
        ));
        cases.push(Case::new(
            format!("log, {THREADS} threads, segments {title}"),
            Amount::Transactions(grouped as u64),
            move || logged(place, room, THREADS, grouped, grouped_bytes),
        ));
        let bytes = Amount::Bytes((long * LONG_BYTES) as u64);
        cases.push(Case::new(format!("1 MB pieces, one sync, file {title}"), bytes, move || {
            plain(place, room, long, LONG_BYTES, false)
        }));
        cases.push(Case::new(format!("log, records of 1 MB, segments {title}"), bytes, move || {
            logged_long(place, room, long, long_bytes)
        }));
    }
    let mut measured = measure(cases, settings)?;
    let each = |row: &Measured| row.best.as_secs_f64() * 1e6 / commits as f64;
    let mut disk = None;
    for row in &mut measured {
        let per_byte = |written: &Cell<u64>, records: usize, bytes: usize| {
            format!("{:.3} bytes written per byte", written.get() as f64 / (records * bytes) as f64)
        };
        row.note = if row.case.starts_with("sync") {
            disk = Some(each(row));
            format!("{:.1} us each", each(row))
        } else if row.case.starts_with("log, 1 thread") {
            let beyond = disk.map_or(String::new(), |disk| format!(", {:.1} beyond the sync", each(row) - disk));
            format!("{:.1} us each{beyond}; {}", each(row), per_byte(alone_bytes, commits, RECORD_BYTES))
        } else if row.case.contains("threads") {
            per_byte(grouped_bytes, grouped, RECORD_BYTES)
        } else if row.case.contains("records of 1 MB") {
            per_byte(long_bytes, long, LONG_BYTES)
        } else {
            String::new()
        };
    }
    Ok(measured)
}

/// Writes pieces of a file one behind the other, each safe before the next, or all of them in the end.
fn plain(place: &Place, room: Room, pieces: usize, bytes: usize, syncs_each: bool) -> Result<Duration, Failure> {
    let path = place.folder.join("plain");
    let file = place.disk.open(&path, OpenMode::Create)?;
    file.allocate((pieces * bytes) as u64)?;
    let write_all = |byte: u8, syncs_each: bool| -> Result<(), Failure> {
        let piece = vec![byte; bytes];
        for number in 0..pieces {
            file.write_at(&piece, (number * bytes) as u64)?;
            if syncs_each {
                file.sync()?;
            }
        }
        Ok(file.sync()?)
    };
    file.sync()?;
    if room == Room::WrittenOver {
        write_all(0, false)?;
    }
    let begun = Instant::now();
    write_all(7, syncs_each)?;
    let taken = begun.elapsed();
    let length = file.length()?;
    place.disk.remove(&path)?;
    if length == (pieces * bytes) as u64 { Ok(taken) } else { Err(format!("{length} bytes were written").into()) }
}

/// Commits of some threads.
fn logged(place: &Place, room: Room, threads: usize, commits: usize, bytes: &Cell<u64>) -> Result<Duration, Failure> {
    measure_log(place, room, commits * FRAME_BYTES, RECORD_BYTES, commits, bytes, |log| {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|thread| {
                    scope.spawn(move || -> Result<(), Failure> {
                        for number in (thread..commits).step_by(threads) {
                            let lsn = log.append(1, &[&(number as u64).to_le_bytes(), &[0; RECORD_BYTES - 8]])?;
                            log.wait(lsn)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no commit panics"))
        })
    })
}

/// Long records, of which the last is waited for.
fn logged_long(place: &Place, room: Room, records: usize, bytes: &Cell<u64>) -> Result<Duration, Failure> {
    let filling = vec![7; LONG_BYTES - 8];
    measure_log(place, room, records * (LONG_BYTES + 32), LONG_BYTES, records, bytes, |log| {
        for number in 0..records as u64 {
            log.append(1, &[&number.to_le_bytes(), &filling])?;
        }
        Ok(log.wait(log.end())?)
    })
}

/// Times what is done with a log, and checks that it has the records then.
fn measure_log(
    place: &Place,
    room: Room,
    bytes: usize,
    record_bytes: usize,
    records: usize,
    written: &Cell<u64>,
    work: impl FnOnce(&Log) -> Result<(), Failure>,
) -> Result<Duration, Failure> {
    let folder = place.folder.join("log");
    place.disk.create_directory(&folder)?;
    let mut options = LogOptions::default();
    options.spare_segments = 1 + bytes / options.segment_bytes as usize;
    let log = Arc::new(Log::create(Arc::clone(&place.disk), &folder, 42, Lsn::new(0), options)?);
    if room == Room::WrittenOver {
        fill_segments(&log, options)?;
    }
    let start = log.durable();
    let background = BackgroundWriter::start(&log, DELAY)?;
    let begun = Instant::now();
    work(&log)?;
    let taken = begun.elapsed();
    written.set(log.durable().get() - start.get());
    drop(background);
    check(place, &folder, start, record_bytes, records)?;
    std::fs::remove_dir_all(folder)?;
    Ok(taken)
}

/// Fills segments and lets them go, so that the log writes over them; the one that it writes to is full.
fn fill_segments(log: &Log, options: LogOptions) -> Result<(), Failure> {
    let filling = vec![1; options.segment_bytes as usize / 2 - 100];
    for _ in 0..2 * (options.spare_segments + 1) {
        let lsn = log.append(0, &[&filling])?;
        log.wait(lsn)?;
    }
    Ok(log.remove_below(log.durable())?)
}

/// That each number is the beginning of one record.
fn check(place: &Place, folder: &Path, start: Lsn, record_bytes: usize, records: usize) -> Result<(), Failure> {
    let mut reader = LogReader::open(Arc::clone(&place.disk), folder, 42, start)?;
    let mut is_there = vec![false; records];
    let mut found = 0;
    while let Some(frame) = reader.next()? {
        for record in frame.records() {
            let number = u64::from_le_bytes(record.bytes[..8].try_into()?) as usize;
            if record.bytes.len() != record_bytes || std::mem::replace(&mut is_there[number], true) {
                return Err(format!("record {number} is there twice, or has {} bytes", record.bytes.len()).into());
            }
            found += 1;
        }
    }
    if found == records { Ok(()) } else { Err(format!("{found} records were found, of {records}").into()) }
}
