//! The machine crashes at every change of the disk in turn, while a database works: what was acknowledged comes back, in
//! order, and no transaction half.
//!
//! `LONGSHORE_CRASHES=20` tries twenty times as many seeds; a failure names its seed and its crash.

use std::panic::{AssertUnwindSafe, catch_unwind};

use longshore_simdisk::SimDisk;

use crate::durable_support::World;
use crate::log_support::seeds;

/// Steps before a database is closed, or the machine crashes.
const STEPS: usize = 30;

/// Generations of a database: work, crash, go on with what came back.
const GENERATIONS: usize = 3;

/// Opens the database and works with it; fails only if the disk does.
fn work(world: &mut World, disk: &SimDisk) -> Result<(), String> {
    let mut open = world.open(disk)?;
    for _ in 0..STEPS {
        world.step(&mut open)?;
    }
    world.close(open)
}

/// Runs a seed with a crash at a change of the first generation; later ones crash at random. Returns the changes of the
/// first, and how often it crashed.
fn run(seed: u64, crash_at: Option<u64>) -> (u64, u64) {
    let mut world = World::new(seed);
    world.backs_up = true;
    let mut disk = SimDisk::new(seed);
    let (mut changes, mut crashes) = (0, 0);
    for generation in 0..GENERATIONS {
        match (generation, crash_at) {
            (0, None) => {}
            (0, Some(change)) => disk.crash_at(change),
            _ => disk.crash_at(world.random.below(100) as u64),
        }
        let done = work(&mut world, &disk);
        assert!(done.is_ok() || disk.has_crashed(), "generation {generation}: {done:?}");
        if generation == 0 {
            changes = disk.changes();
        }
        crashes += u64::from(disk.has_crashed());
        // Power fails after an orderly end as well.
        disk = disk.restart();
    }
    world.open(&disk).unwrap();
    (changes, crashes)
}

/// The same, and says which it was if it fails.
fn named(seed: u64, crash_at: Option<u64>) -> (u64, u64) {
    let ran = catch_unwind(AssertUnwindSafe(|| run(seed, crash_at)));
    ran.unwrap_or_else(|_| panic!("seed {seed}, crash at change {crash_at:?}"))
}

#[test]
fn at_every_change() {
    let mut crashes = 0;
    for seed in seeds(8) {
        let (changes, _) = named(seed, None);
        for change in 0..changes {
            crashes += named(seed, Some(change)).1;
        }
    }
    println!("{crashes} crashes");
    assert!(crashes > 100, "{crashes} crashes");
}
