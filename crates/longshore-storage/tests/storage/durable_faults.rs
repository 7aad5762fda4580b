//! Every operation of the disk fails in turn, because it is full or broken: nothing is acknowledged that is not safe, the
//! database goes on as far as it can, and opens again once the disk is sound.

use std::panic::{AssertUnwindSafe, catch_unwind};

use longshore_simdisk::{Fault, SimDisk};
use longshore_testing::is_in_share;

use crate::durable_support::World;
use crate::log_support::seeds;

const STEPS: usize = 25;

/// Works with the database, and goes on after what fails; says what did.
fn work(world: &mut World, disk: &SimDisk) -> Vec<String> {
    let mut open = match world.open(disk) {
        Ok(open) => open,
        Err(error) => return vec![error],
    };
    let mut errors: Vec<String> = (0..STEPS).filter_map(|_| world.step(&mut open).err()).collect();
    // What was committed is there to be read, safe or not.
    crate::durable_support::check_state(&open.relations, world.states.last().unwrap());
    errors.extend(world.close(open).err());
    errors
}

/// Runs a seed; one operation fails, or all from one on. Returns the operations of the first part.
fn run(seed: u64, fault: Option<(u64, Fault, bool)>) -> u64 {
    let mut world = World::new(seed);
    world.backs_up = seed.is_multiple_of(2);
    let mut disk = SimDisk::new(seed);
    match fault {
        None => {}
        Some((operation, fault, false)) => disk.fail_at(operation, fault),
        Some((operation, fault, true)) => disk.fail_from(operation, fault),
    }
    let mut errors = work(&mut world, &disk);
    let operations = disk.operations();
    errors.extend(work(&mut world, &disk));
    for error in errors {
        let cause = match fault {
            Some((_, Fault::Full, _)) => "No space left on device",
            Some((_, Fault::Broken, _)) => "Input/output error",
            None => "nothing",
        };
        // Behind the first failure, the log says that it was, or has been closed.
        assert!(error.contains(cause), "{error}");
    }
    disk.heal();
    // What readers see may be less safe than it seems. Opening the database and working with it must not build on that.
    if world.random.once_in(2) {
        assert_eq!(work(&mut world, &disk), Vec::<String>::new(), "healed");
    }
    disk = disk.restart();
    assert_eq!(work(&mut world, &disk), Vec::<String>::new(), "after a crash");
    operations
}

/// The same, and says which it was if it fails.
fn named(seed: u64, fault: Option<(u64, Fault, bool)>) -> u64 {
    let ran = catch_unwind(AssertUnwindSafe(|| run(seed, fault)));
    ran.unwrap_or_else(|_| panic!("seed {seed}, {fault:?}"))
}

#[test]
fn every_operation_fails_in_turn() {
    for seed in seeds(2) {
        for operation in 0..named(seed, None) {
            let faults = [(Fault::Full, false), (Fault::Full, true), (Fault::Broken, false), (Fault::Broken, true)];
            for (case, (fault, lasts)) in (operation..).zip(faults) {
                if is_in_share(case) {
                    named(seed, Some((operation, fault, lasts)));
                }
            }
        }
    }
}
