//! Every operation fails in turn, because the disk is full or broken: nothing is acknowledged that is not safe, what was
//! acknowledged stays, and the log opens again once the disk is sound.

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::log::{Log, LogError, Lsn};
use longshore_testing::Random;

use crate::log_support::{Model, create, disk, options, read, reader, seeds};

const STEPS: usize = 30;

/// Runs a seed; one operation fails, or all from one on. Returns the operations of the first part.
fn run(seed: u64, fault: Option<(u64, Fault, bool)>) -> u64 {
    let what = format!("seed {seed}, {fault:?}");
    let mut random = Random::new(seed);
    let mut disk = disk(seed);
    let before = disk.operations();
    let options = options(random.pick(&[100, 300, 1000]), random.pick(&[1, 200, 1000]), random.below(3));
    let mut model = Model::default();
    match fault {
        None => {}
        Some((operation, fault, false)) => disk.fail_at(before + operation, fault),
        Some((operation, fault, true)) => disk.fail_from(before + operation, fault),
    }
    // Closed or not, and opened again while the fault may be to come.
    let parts: Vec<_> = (0..2).map(|_| model.work(&disk, options, STEPS, &mut random)).collect();
    let operations = disk.operations() - before;
    for error in parts.into_iter().filter_map(Result::err) {
        let is_full = matches!(fault, Some((_, Fault::Full, _)));
        let is_expected =
            error.is_full() == is_full || matches!(error, LogError::Exists { .. } | LogError::Missing { .. });
        assert!(fault.is_some() && is_expected, "{what}: {error}");
    }
    disk.heal();
    // What readers see may be less safe than it seems. Opening the log and appending to it must not build on that.
    if random.once_in(2) {
        model.check(&disk, &what);
        if model.is_created {
            model.work(&disk, options, STEPS, &mut random).unwrap_or_else(|error| panic!("{what}, healed: {error}"));
        }
    }
    disk = disk.restart();
    model.check(&disk, &format!("{what}, after a crash"));
    operations
}

#[test]
fn every_operation_fails_in_turn() {
    for seed in seeds(20) {
        for operation in 0..run(seed, None) {
            for fault in [Fault::Full, Fault::Broken] {
                run(seed, Some((operation, fault, false)));
                run(seed, Some((operation, fault, true)));
            }
        }
    }
}

/// The changes that a new log makes before its first record is written.
fn fresh(disk: &SimDisk) -> Log {
    create(disk, options(4096, 1024, 0)).unwrap()
}

#[test]
fn a_sync_that_fails_kills_the_log() {
    let disk = disk(0);
    let log = fresh(&disk);
    let first = log.append(1, &[b"safe"]).unwrap();
    log.wait(first).unwrap();
    let second = log.append(1, &[b"lost"]).unwrap();
    let waits_too = log.append(1, &[b"lost as well"]).unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Broken);
    let error = log.wait(second).unwrap_err();
    assert_eq!(error.to_string(), "/log/0000000000000000.log: cannot sync it: Input/output error (os error 5)");
    assert_eq!(log.wait(waits_too).unwrap_err().to_string(), error.to_string());
    assert_eq!(log.append(1, &[b"late"]).unwrap_err().to_string(), error.to_string());
    log.wait(first).unwrap();
    assert!(log.close().is_err());
}

#[test]
fn a_full_disk_is_named() {
    let disk = disk(0);
    let log = fresh(&disk);
    let lsn = log.append(1, &[b"record"]).unwrap();
    disk.fail_at(disk.operations(), Fault::Full);
    let error = log.wait(lsn).unwrap_err();
    assert!(error.is_full());
    assert_eq!(
        error.to_string(),
        "/log/0000000000000000.log: cannot write to it: No space left on device (os error 28); make room on the disk and \
         open the database again"
    );
}

/// What a failed sync has left in caches alone is written again by who opens the log, before anything behind it.
#[test]
fn what_lies_in_caches_alone_is_written_again() {
    for seed in 0..100 {
        let disk = disk(seed);
        let log = fresh(&disk);
        let lsn = log.append(1, &[&[7; 1500]]).unwrap();
        disk.fail_at(disk.operations() + 1, Fault::Broken);
        log.wait(lsn).unwrap_err();
        drop(log);
        // Readers see it.
        assert_eq!(read(&disk, Lsn::default()).0.len(), 1);
        let log = Log::open(reader(&disk, Lsn::default()).unwrap(), options(4096, 1024, 0)).unwrap();
        let behind = log.append(2, &[b"behind"]).unwrap();
        log.wait(behind).unwrap();
        let disk = disk.restart();
        let (records, end) = read(&disk, Lsn::default());
        assert_eq!(records.len(), 2, "seed {seed}: {end:?}");
    }
}

/// A segment whose name is seen but not safe is made so before anything in it is acknowledged.
#[test]
fn a_name_that_may_be_lost_is_made_safe() {
    for seed in 0..100 {
        let disk = disk(seed);
        let options = options(200, 1024, 0);
        let log = create(&disk, options).unwrap();
        log.wait(log.append(1, &[&[7; 100]]).unwrap()).unwrap();
        let in_the_next = log.append(1, &[&[7; 100]]).unwrap();
        // It is created, gets room and a header, is synced and renamed; then the directory is synced.
        disk.fail_at(disk.operations() + 5, Fault::Broken);
        let error = log.wait(in_the_next).unwrap_err();
        assert!(error.to_string().contains("cannot sync the directory"), "{error}");
        let log = Log::open(reader(&disk, Lsn::default()).unwrap(), options).unwrap();
        let again = log.append(2, &[b"again"]).unwrap();
        log.wait(again).unwrap();
        let (records, end) = read(&disk.restart(), Lsn::default());
        assert_eq!((records.len(), end.unwrap()), (2, log.durable()), "seed {seed}");
    }
}
