//! The log from outside: what is appended is read, up to the end or while it grows; room, segments, tickets and delays.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_simdisk::SimDisk;
use longshore_storage::disk::{Disk, SystemDisk};
use longshore_storage::log::{BackgroundWriter, Log, LogError, LogReader, Lsn, RECORD_BYTES_MAX};

use crate::log_support::{FOLDER, IDENTITY, create, disk, options, read, reader};

/// How many files wait to become segments.
fn spares(disk: &SimDisk) -> usize {
    segments(disk).iter().filter(|name| name.contains(".spare")).count()
}

fn segments(disk: &SimDisk) -> Vec<String> {
    disk.list(Path::new(FOLDER)).unwrap().into_iter().map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn records_are_read_by_position_from_any_of_them_on() {
    let disk = disk(0);
    let log = create(&disk, options(400, 200, 0)).unwrap();
    let mut ends = vec![Lsn::new(0)];
    for number in 0..50_u8 {
        ends.push(log.append(number, &[&[number; 30], &[1, 2, 3]]).unwrap());
        if number % 3 == 0 {
            log.wait(ends[ends.len() - 1]).unwrap();
        }
    }
    log.close().unwrap();
    assert!(segments(&disk).len() > 3);
    for (number, from) in ends.iter().enumerate() {
        let (records, end) = read(&disk, *from);
        assert_eq!(end.unwrap(), log.durable());
        assert_eq!(
            records.iter().map(|record| usize::from(record.2)).collect::<Vec<_>>(),
            (number..50).collect::<Vec<_>>()
        );
        for (_, end, kind, content) in records {
            assert_eq!(Lsn::new(end), ends[usize::from(kind) + 1]);
            assert_eq!(content, [&[kind; 30][..], &[1, 2, 3]].concat());
        }
    }
    let error = read(&disk, Lsn::new(ends[50].get() + 100)).1.unwrap_err();
    assert!(matches!(error, LogError::Missing { .. }), "{error}");
}

#[test]
fn a_log_begins_where_it_is_told() {
    let disk = disk(0);
    let start = Lsn::new(0x12_3456_7890);
    let log = Log::create(Arc::new(disk.clone()), Path::new(FOLDER), 7, start, options(400, 200, 0)).unwrap();
    assert_eq!((log.durable(), log.end()), (start, start));
    log.wait(log.append(1, &[b"first"]).unwrap()).unwrap();
    assert_eq!(segments(&disk), ["0000001234567890.log"]);
    let mut reader = LogReader::open(Arc::new(disk), Path::new(FOLDER), 7, start).unwrap();
    let frame = reader.next().unwrap().unwrap();
    assert_eq!((frame.start(), frame.records().next().unwrap().bytes), (start, &b"first"[..]));
    assert_eq!(frame.end(), log.durable());
    assert_eq!(start.to_string(), "12/34567890");
}

#[test]
fn a_reader_follows_while_the_log_grows() {
    let disk = disk(0);
    let log = create(&disk, options(300, 1000, 1)).unwrap();
    let mut reader = reader(&disk, Lsn::default()).unwrap();
    let mut seen = 0;
    for number in 0..200_u32 {
        let end = log.append(1, &[&number.to_le_bytes()]).unwrap();
        if number % 7 != 0 {
            continue;
        }
        // What gathers is not seen.
        assert!(reader.next_below(log.durable()).unwrap().is_none());
        log.wait(end).unwrap();
        while let Some(frame) = reader.next_below(log.durable()).unwrap() {
            for record in frame.records() {
                assert_eq!(record.bytes, u32::to_le_bytes(seen));
                seen += 1;
            }
        }
        assert_eq!(seen, number + 1);
        assert_eq!(reader.position(), log.durable());
        log.remove_below(reader.position()).unwrap();
    }
}

#[test]
fn what_waits_together_is_one_frame_and_one_sync() {
    let disk = disk(0);
    let log = create(&disk, options(100_000, 100_000, 0)).unwrap();
    let before = disk.changes();
    let ends: Vec<_> = (0..64_u8).map(|number| log.append(number, &[&[number; 100]]).unwrap()).collect();
    for end in ends {
        log.wait(end).unwrap();
    }
    assert_eq!(disk.changes() - before, 2, "one write, one sync");
    assert_eq!(log.durable().get(), (16 + 64 * 102_u64).next_multiple_of(8));
}

#[test]
fn long_records_have_segments_of_their_own() {
    let disk = disk(0);
    let log = create(&disk, options(1000, 100, 0)).unwrap();
    for length in [10, 5000, 20, 100_000, 0] {
        log.wait(log.append(1, &[&vec![1; length]]).unwrap()).unwrap();
    }
    assert_eq!(segments(&disk).len(), 5);
    let (records, _) = read(&disk, Lsn::default());
    assert_eq!(records.iter().map(|record| record.3.len()).collect::<Vec<_>>(), [10, 5000, 20, 100_000, 0]);
    let error = log.reserve(RECORD_BYTES_MAX + 1).unwrap_err();
    assert!(matches!(error, LogError::TooLong { .. }));
}

#[test]
fn who_finds_no_room_writes() {
    let disk = disk(0);
    let log = create(&disk, options(10_000, 100, 0)).unwrap();
    let first = log.append(1, &[&[0; 90]]).unwrap();
    let reserved = log.reserve(500).unwrap();
    assert!(log.durable() < first);
    drop(reserved);
    log.append(1, &[&[0; 10]]).unwrap();
    assert!(log.durable() < first);
    log.append(1, &[&[0; 1]]).unwrap();
    assert!(log.durable() >= first);
}

#[test]
fn old_segments_are_kept_to_be_written_over() {
    let disk = disk(0);
    let log = create(&disk, options(300, 100, 2)).unwrap();
    for _ in 0..20 {
        log.wait(log.append(1, &[&[0; 100]]).unwrap()).unwrap();
    }
    assert_eq!(segments(&disk).len(), 10);
    log.remove_below(log.durable()).unwrap();
    let names = segments(&disk);
    assert_eq!(spares(&disk), 2, "{names:?}");
    assert_eq!(names.len(), 3);
    for _ in 0..4 {
        log.wait(log.append(1, &[&[0; 100]]).unwrap()).unwrap();
    }
    assert_eq!(spares(&disk), 0);
    // Those that a log leaves are found by the next.
    log.remove_below(log.durable()).unwrap();
    let end = log.durable();
    drop(log);
    let log = Log::open(reader(&disk, end).unwrap(), options(300, 100, 2)).unwrap();
    assert_eq!(log.end(), end);
    for _ in 0..4 {
        log.wait(log.append(1, &[&[0; 100]]).unwrap()).unwrap();
    }
    assert_eq!(spares(&disk), 0);
}

#[test]
fn what_nobody_waits_for_is_safe_after_the_delay() {
    let disk = disk(0);
    let log = Arc::new(create(&disk, options(10_000, 1000, 0)).unwrap());
    let delay = Duration::from_millis(20);
    let background = BackgroundWriter::start(&log, delay).unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let end = log.append(1, &[b"asynchronous"]).unwrap();
        while log.durable() < end {
            assert!(begun.elapsed() < Duration::from_secs(10), "nobody writes");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(begun.elapsed() >= delay);
    }
    drop(background);
    let end = log.append(1, &[b"by hand again"]).unwrap();
    log.wait(end).unwrap();
}

#[test]
fn a_ticket_is_written_at_once_and_an_end_writes_all() {
    let disk = disk(0);
    let log = Arc::new(create(&disk, options(10_000, 1000, 0)).unwrap());
    let background = BackgroundWriter::start(&log, Duration::from_hours(1)).unwrap();
    for _ in 0..100 {
        let ticket = log.append(1, &[b"ticket"]).unwrap();
        log.request(ticket);
        let begun = Instant::now();
        while log.durable() < ticket {
            assert!(begun.elapsed() < Duration::from_secs(10), "nobody writes");
            std::thread::yield_now();
        }
    }
    let last = log.append(1, &[b"left"]).unwrap();
    drop(background);
    assert!(log.durable() >= last);
}

#[test]
fn the_disk_of_the_system_has_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = disk(0);
    let run = |disk: Arc<dyn Disk>, folder: &Path| {
        let options = options(300, 200, 1);
        let log = Log::create(Arc::clone(&disk), folder, IDENTITY, Lsn::default(), options).unwrap();
        for number in 0..30_u8 {
            let end = log.append(number, &[&[number; 50]]).unwrap();
            if number % 4 == 0 {
                log.wait(end).unwrap();
                log.remove_below(end).unwrap();
            }
        }
        log.close().unwrap();
        let end = log.durable();
        let names = disk.list(folder).unwrap();
        let log = Log::open(LogReader::open(disk, folder, IDENTITY, end).unwrap(), options).unwrap();
        assert_eq!(log.end(), end);
        (end, names)
    };
    let by_system = run(Arc::new(SystemDisk), folder.path());
    assert_eq!(by_system, run(Arc::new(simulated.clone()), Path::new(FOLDER)));
    for name in by_system.1 {
        let by_system = std::fs::read(folder.path().join(&name)).unwrap();
        assert_eq!(by_system, crate::log_support::files(&simulated)[name.to_str().unwrap()], "{name:?}");
    }
}
