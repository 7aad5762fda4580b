//! A log whose bytes were changed: damage before the end is an error that names file and offset; what is read is always a
//! part of what was written; the twin says the same.

use std::path::Path;

use longshore_simdisk::SimDisk;
use longshore_storage::disk::{Disk, OpenMode};
use longshore_storage::log::{Log, LogError, LogReader, Lsn};
use longshore_testing::{Random, share};

use crate::log_support::twin::{self, Files};
use crate::log_support::{FOLDER, IDENTITY, create, disk, files, options, read, reader};

/// Puts files into a log's folder.
fn disk_of(files: &Files) -> SimDisk {
    let disk = disk(0);
    for (name, bytes) in files {
        disk.open(&Path::new(FOLDER).join(name), OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    }
    disk
}

/// A log of some segments; each record is a frame of its own.
fn written(records: usize, segment_bytes: u64) -> Files {
    let disk = disk(0);
    let log = create(&disk, options(segment_bytes, 1, 0)).unwrap();
    for number in 0..records {
        let content = format!("record {number}, {}", "x".repeat(number * 7 % 50));
        log.wait(log.append(number as u8, &[content.as_bytes()]).unwrap()).unwrap();
    }
    files(&disk)
}

#[test]
fn any_changed_byte_is_found_or_ends_the_log() {
    let original = written(30, 500);
    let (all, end) = read(&disk_of(&original), Lsn::default());
    assert_eq!(all.len(), 30);
    let end = end.unwrap();
    let last_segment = original.keys().next_back().unwrap().clone();
    for (name, bytes) in &original {
        for at in 0..bytes.len() {
            let mut changed = original.clone();
            changed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let disk = disk_of(&changed);
            let (found, result) = read(&disk, Lsn::default());
            let (by_twin, by_twin_end) = twin::read(&changed, IDENTITY, 0);
            assert_eq!((&found, result.as_ref().ok().map(|end| end.get())), (&by_twin, by_twin_end), "{name} at {at}");
            assert!(all.starts_with(&found), "{name} at {at}: other records");
            match result {
                // Bytes that mean nothing, or the last frame, which a crash may have torn.
                Ok(found_end) => {
                    assert!(found_end == end || *name == last_segment && found.len() == 29, "{name} at {at}");
                }
                Err(LogError::Damaged { file, offset, lsn, .. }) => {
                    assert_eq!(file, Path::new(FOLDER).join(name));
                    assert!(offset <= at as u64 && at as u64 <= offset + 100, "{name} at {at}: offset {offset}");
                    assert!(lsn <= end);
                }
                Err(LogError::Foreign { .. }) => assert!(at < 8),
                Err(LogError::Version { .. }) => assert!((8..12).contains(&at)),
                Err(error) => panic!("{name} at {at}: {error}"),
            }
        }
    }
}

#[test]
fn random_damage_is_read_as_the_twin_does() {
    for seed in 0..share(3000) as u64 {
        let mut random = Random::new(seed);
        let mut changed = written(1 + random.below(12), random.pick(&[100, 300, 5000]));
        for _ in 0..=random.below(3) {
            let names: Vec<String> = changed.keys().cloned().collect();
            if names.is_empty() {
                break;
            }
            let name = &names[random.below(names.len())];
            let bytes = changed.get_mut(name).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let at = random.below(bytes.len());
            match random.below(6) {
                0 => bytes.truncate(at),
                1 => bytes[at..].fill(0),
                2 => bytes.extend((0..100).map(|_| random.byte())),
                3 => drop(changed.remove(name)),
                _ => bytes[at] = random.byte(),
            }
        }
        let from = Lsn::new(random.below(40) as u64 * 8);
        let (found, end) = read(&disk_of(&changed), from);
        let by_twin = twin::read(&changed, IDENTITY, from.get());
        assert_eq!((found, end.as_ref().ok().map(|end| end.get())), by_twin, "seed {seed}: {end:?}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let original = written(6, 200);
    let message = |files: &Files, from: u64| read(&disk_of(files), Lsn::new(from)).1.unwrap_err().to_string();
    let names: Vec<String> = original.keys().cloned().collect();

    let mut changed = original.clone();
    changed.get_mut(&names[0]).unwrap()[60] ^= 1;
    assert_eq!(
        message(&changed, 0),
        "/log/0000000000000000.log: offset 40 (position 0/00000000): the checksum of a frame does not fit its records, and \
         the next segment begins at 0/00000078; the segment is damaged or cut short: copy it again from its source, or \
         restore a backup"
    );

    let mut changed = written(3, 5000);
    changed.get_mut(&names[0]).unwrap()[60] ^= 1;
    assert!(message(&changed, 0).contains("though a frame that was written later begins at 0/00000020"), "{changed:?}");

    let mut changed = original.clone();
    changed.get_mut(&names[1]).unwrap()[8] = 2;
    let found = message(&changed, 0);
    assert!(found.contains("version 2 of the log's format, this program reads version 1"), "{found}");

    let mut changed = original.clone();
    changed.get_mut(&names[1]).unwrap()[0] = b'x';
    assert!(message(&changed, 0).contains("not a segment of a log"));

    let mut changed = original.clone();
    changed.remove(&names[0]);
    let found = message(&changed, 0);
    assert!(found.contains("is needed from 0/00000000 on; put back the segments"), "{found}");
    assert!(message(&Files::new(), 0).contains("no segment of a log"));
    let found = message(&original, 1 << 20);
    assert!(found.contains("is needed from 0/00100000 on"), "{found}");

    let other = LogReader::open(std::sync::Arc::new(disk_of(&original)), Path::new(FOLDER), 1, Lsn::default());
    assert!(other.unwrap_err().to_string().contains("belongs to the database 123456789abcdef0"));
    let again = create(&disk_of(&original), options(100, 1, 0));
    assert!(matches!(again.unwrap_err(), LogError::Exists { .. }));
}

/// What an old segment has left behind is never taken for new frames, wherever it is cut.
#[test]
fn old_bytes_in_a_recycled_segment_are_no_frames() {
    let disk = disk(1);
    let log = create(&disk, options(1000, 1, 2)).unwrap();
    let (mut appended, mut from) = (Vec::new(), Lsn::default());
    for number in 0..200_u32 {
        let content = number.to_le_bytes().repeat(1 + number as usize % 9);
        let end = log.append(3, &[&content]).unwrap();
        log.wait(end).unwrap();
        appended.push((end, content));
        if number % 20 == 19 {
            log.remove_below(end).unwrap();
            from = end;
        }
        let (found, log_end) = read(&disk, from);
        assert_eq!(log_end.unwrap(), log.durable());
        let expected: Vec<_> = appended.iter().filter(|(end, _)| *end > from).map(|(_, content)| content).collect();
        assert_eq!(found.iter().map(|(.., content)| content).collect::<Vec<_>>(), expected);
    }
    let names = disk.list(Path::new(FOLDER)).unwrap();
    assert!(names.len() <= 5, "{names:?}");
}

/// After a torn frame was cut off, its parts do not come back behind what is written in its place.
#[test]
fn what_was_cut_off_does_not_come_back() {
    for cut in 0..200_usize {
        let mut torn = written(3, 5000);
        let name = torn.keys().next().unwrap().clone();
        let (all, end) = read(&disk_of(&torn), Lsn::default());
        let at = 40 + all[2].0 as usize - 16 + cut % (end.unwrap().get() - all[2].0 + 16) as usize;
        torn.get_mut(&name).unwrap()[at] ^= 0x55;
        let disk = disk_of(&torn);
        let log = Log::open(reader(&disk, Lsn::default()).unwrap(), options(5000, 1, 0)).unwrap();
        if read(&disk, Lsn::default()).0.len() == 3 {
            continue;
        }
        assert_eq!(log.end().get(), all[1].1.next_multiple_of(8));
        // Not even after another crash.
        let left = files(&disk.restart());
        assert!(left[&name][40 + log.end().get() as usize..].iter().all(|byte| *byte == 0));
        let end = log.append(9, &[b"new"]).unwrap();
        log.wait(end).unwrap();
        let (found, _) = read(&disk, Lsn::default());
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].3, b"new");
    }
}

/// What a crash has left of a segment that was to be made has the name that the segment gets as a spare.
#[test]
fn a_spare_that_was_left_is_not_taken_twice() {
    let disk = disk(0);
    let options = options(200, 1, 3);
    drop(create(&disk, options).unwrap());
    for first in [0_u64, 1 << 40] {
        let path = Path::new(FOLDER).join(format!("{first:016x}.spare"));
        disk.open(&path, OpenMode::Create).unwrap();
    }
    let log = Log::open(reader(&disk, Lsn::default()).unwrap(), options).unwrap();
    for _ in 0..10 {
        let lsn = log.append(1, &[&[7; 150]]).unwrap();
        log.wait(lsn).unwrap();
        log.remove_below(lsn).unwrap();
    }
}
