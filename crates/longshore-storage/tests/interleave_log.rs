//! Threads that append to the log, wait for it and read it, interleaved at every lock and atomic as a seed says (`shuttle`):
//! nobody waits for ever, what was acknowledged is there, and the order is that in which it was appended.
//!
//! `cargo xtask ci interleave` runs it with the feature of that name. `LONGSHORE_INTERLEAVE=20` makes twenty times as many
//! interleavings.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod interleave_support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::log::{BackgroundWriter, Log, LogError, LogOptions, LogReader, Lsn};
use longshore_testing::Random;
use shuttle::thread;

use interleave_support::interleaved;

const IDENTITY: u64 = 7;

fn create(disk: &SimDisk, random: &mut Random) -> Arc<Log> {
    let options = LogOptions {
        segment_bytes: random.pick(&[100, 1000]),
        buffer_bytes: random.pick(&[1, 30, 1000]),
        spare_segments: 1,
    };
    Arc::new(Log::create(Arc::new(disk.clone()), Path::new("/"), IDENTITY, Lsn::default(), options).unwrap())
}

/// The kinds and contents of all records.
fn records(disk: &SimDisk) -> Vec<(u8, u8)> {
    let mut reader = LogReader::open(Arc::new(disk.clone()), Path::new("/"), IDENTITY, Lsn::default()).unwrap();
    let mut found = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        found.extend(frame.records().map(|record| (record.kind, record.bytes[0])));
    }
    found
}

/// Of each thread, how many records it was told are safe by who wrote them; and how often somebody is still to be told.
#[derive(Default)]
struct Told {
    safe: [AtomicU8; 3],
    open: AtomicU8,
}

/// Appends a few records; some are waited for, some only asked for. Returns how many were acknowledged.
fn append(log: &Log, thread: u8, seed: u64, told: &Arc<Told>) -> u8 {
    let mut random = Random::new(seed << 8 | u64::from(thread));
    let mut acknowledged = 0;
    for number in 0..3 {
        let Ok(end) = log.append(thread, &[&[number; 20]]) else { return acknowledged };
        match random.below(4) {
            0 => log.request(end),
            1 => drop(log.reserve(random.below(50))),
            2 => {
                told.open.fetch_add(1, Ordering::SeqCst);
                let told = Arc::clone(told);
                let then = move |safe: Result<(), LogError>| {
                    told.open.fetch_sub(1, Ordering::SeqCst);
                    if safe.is_ok() {
                        told.safe[usize::from(thread)].fetch_max(number + 1, Ordering::SeqCst);
                    }
                };
                log.when_safe(end, Box::new(then));
            }
            _ if log.wait(end).is_err() => return acknowledged,
            _ => acknowledged = number + 1,
        }
    }
    acknowledged
}

#[test]
fn groups() {
    interleaved(10_000, |seed| {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(seed);
        let log = create(&disk, &mut random);
        let background = random.once_in(2).then(|| BackgroundWriter::start(&log, Duration::from_hours(1)).unwrap());
        let fails = random.once_in(3);
        if fails {
            disk.fail_at(disk.operations() + random.below(12) as u64, Fault::Broken);
        }
        let told = Arc::new(Told::default());
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let (log, told) = (Arc::clone(&log), Arc::clone(&told));
                thread::spawn(move || append(&log, number, seed, &told))
            })
            .collect();
        let acknowledged: Vec<u8> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let has_background = background.is_some();
        drop(background);
        if has_background && !fails {
            assert_eq!(log.durable(), log.end(), "seed {seed}: it writes what there is before it ends");
        }
        assert_eq!(told.open.load(Ordering::SeqCst), 0, "seed {seed}: everybody is told");
        let found = records(&disk.restart());
        for (number, acknowledged) in acknowledged.into_iter().enumerate() {
            let of_thread: Vec<u8> =
                found.iter().filter(|record| usize::from(record.0) == number).map(|record| record.1).collect();
            assert_eq!(of_thread, (0..of_thread.len() as u8).collect::<Vec<_>>(), "seed {seed}");
            let acknowledged = acknowledged.max(told.safe[number].load(Ordering::SeqCst));
            assert!(of_thread.len() >= usize::from(acknowledged), "seed {seed}: an acknowledged record is gone");
        }
    });
}

#[test]
fn a_follower_and_the_removal_of_segments() {
    interleaved(3_000, |seed| {
        let disk = SimDisk::new(seed);
        let log = create(&disk, &mut Random::new(seed));
        let writer = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                for number in 0..6 {
                    log.wait(log.append(0, &[&[number; 20]]).unwrap()).unwrap();
                }
            })
        };
        let mut reader = LogReader::open(Arc::new(disk), Path::new("/"), IDENTITY, Lsn::default()).unwrap();
        let mut seen = 0;
        while seen < 6 {
            let durable = log.durable();
            while let Some(frame) = reader.next_below(durable).unwrap() {
                for record in frame.records() {
                    assert_eq!(record.bytes, [seen; 20], "seed {seed}");
                    seen += 1;
                }
            }
            log.remove_below(reader.position()).unwrap();
            thread::yield_now();
        }
        writer.join().unwrap();
    });
}
