//! Many threads append and wait while the disk fails or the machine crashes at a random moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use longshore_simdisk::Fault;
use longshore_storage::log::{BackgroundWriter, Log, LogError, Lsn};
use longshore_testing::{Random, share};

use crate::log_support::{create, disk, options, read, reader};

const THREADS: usize = 6;
const RECORDS: u64 = 40;

/// What was told once it was safe.
#[derive(Default)]
struct Told {
    asked: AtomicU64,
    answered: AtomicU64,
    /// Of each thread, how many records were safe.
    safe: [AtomicU64; THREADS],
}

/// Appends records until the log fails; returns how many were acknowledged, and where the last of these ends.
fn append(log: &Arc<Log>, thread: usize, seed: u64, told: &Arc<Told>) -> (u64, Lsn) {
    let mut random = Random::new(seed << 8 | thread as u64);
    let (mut acknowledged, mut last) = (0, Lsn::default());
    let mut tickets = Vec::new();
    for number in 0..RECORDS {
        let filling = vec![0; random.below(200)];
        let Ok(end) = log.append(thread as u8, &[&number.to_le_bytes(), &filling]) else { break };
        tickets.push(end);
        if random.once_in(4) {
            log.request(end);
        } else if random.once_in(3) {
            told.asked.fetch_add(1, Ordering::Relaxed);
            let (told, durable) = (Arc::clone(told), Arc::clone(log));
            log.when_safe(
                end,
                Box::new(move |safe| {
                    told.answered.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(safe.is_ok(), durable.durable() >= end);
                    if safe.is_ok() {
                        told.safe[thread].fetch_max(number + 1, Ordering::Relaxed);
                    }
                }),
            );
        } else if random.once_in(2) {
            if log.wait(end).is_err() {
                break;
            }
            (acknowledged, last) = (number + 1, end);
        }
    }
    for (number, ticket) in tickets.iter().enumerate().filter(|(_, ticket)| **ticket <= log.durable()) {
        (acknowledged, last) = (acknowledged.max(number as u64 + 1), last.max(*ticket));
    }
    (acknowledged, last)
}

#[test]
fn what_was_acknowledged_to_any_of_them_survives() {
    for seed in 0..share(200) as u64 {
        let mut random = Random::new(seed);
        let disk = disk(seed);
        let options = options(random.pick(&[300, 2000]), random.pick(&[50, 1000]), 1);
        let log = Arc::new(create(&disk, options).unwrap());
        let background = random.once_in(2).then(|| BackgroundWriter::start(&log, Duration::from_millis(1)).unwrap());
        if random.once_in(2) {
            disk.crash_at(disk.changes() + random.below(100) as u64);
        } else {
            disk.fail_at(disk.operations() + random.below(100) as u64, random.pick(&[Fault::Full, Fault::Broken]));
        }
        let told = Arc::new(Told::default());
        let acknowledged: Vec<(u64, Lsn)> = std::thread::scope(|scope| {
            let (log, told) = (&log, &told);
            let threads = (0..THREADS).map(|thread| scope.spawn(move || append(log, thread, seed, told)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        drop(background);
        let answered = told.answered.load(Ordering::Relaxed);
        assert_eq!(answered, told.asked.load(Ordering::Relaxed), "seed {seed}: everybody is told once");
        let (records, end) = read(&disk.restart(), Lsn::default());
        let end = end.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for (thread, (count, last)) in acknowledged.into_iter().enumerate() {
            let found = records.iter().filter(|record| usize::from(record.2) == thread);
            let found: Vec<u64> = found.map(|record| u64::from_le_bytes(record.3[..8].try_into().unwrap())).collect();
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>(), "seed {seed}: out of order");
            let count = count.max(told.safe[thread].load(Ordering::Relaxed));
            assert!(found.len() as u64 >= count && end >= last, "seed {seed}: thread {thread} lost what was safe");
        }
    }
}

/// A follower reads what is safe while others write and old segments go.
#[test]
fn a_follower_sees_every_record_once() {
    let disk = disk(1);
    let log = Arc::new(create(&disk, options(2000, 500, 2)).unwrap());
    let _background = BackgroundWriter::start(&log, Duration::from_micros(100)).unwrap();
    let total = share(6000) as u64;
    let appended = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let append = || {
            while appended.fetch_add(1, Ordering::Relaxed) < total {
                let end = log.append(1, &[&[5; 40]]).unwrap();
                if end.get().is_multiple_of(5) {
                    log.wait(end).unwrap();
                }
            }
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(append)).collect();
        let mut reader = reader(&disk, Lsn::default()).unwrap();
        let (mut seen, mut last) = (0, Lsn::default());
        while seen < total {
            let durable = log.durable();
            while let Some(frame) = reader.next_below(durable).unwrap() {
                for record in frame.records() {
                    assert!(record.start >= last && record.bytes == [5; 40]);
                    (seen, last) = (seen + 1, record.end);
                }
            }
            log.remove_below(reader.position()).unwrap();
            std::thread::yield_now();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Nobody waits for ever once the log is dead.
#[test]
fn everybody_who_waits_gets_the_error() {
    for seed in 0..share(100) as u64 {
        let disk = disk(seed);
        let log = create(&disk, options(100_000, 200, 0)).unwrap();
        disk.fail_at(disk.operations() + Random::new(seed).below(20) as u64, Fault::Full);
        std::thread::scope(|scope| {
            let log = &log;
            let append = |thread: usize| {
                let error = loop {
                    match log.append(thread as u8, &[&[0; 90]]).and_then(|end| log.wait(end)) {
                        Ok(()) => {}
                        Err(error) => break error,
                    }
                };
                assert!(matches!(error, LogError::Disk(_)) && error.is_full(), "{error}");
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || append(thread))).collect();
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}
