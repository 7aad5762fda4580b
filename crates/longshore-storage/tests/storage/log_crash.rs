//! The machine crashes at every change of the disk in turn: everything acknowledged is there, in order, and nothing half.
//!
//! `LONGSHORE_CRASHES=20` tries twenty times as many seeds; a failure names its seed and its crash.

use longshore_storage::log::LogOptions;
use longshore_testing::Random;

use crate::log_support::{Model, disk, options, seeds};

/// Generations of a log: work, crash, go on with what survived.
const GENERATIONS: usize = 3;

const STEPS: usize = 40;

fn random_options(random: &mut Random) -> LogOptions {
    options(random.pick(&[100, 300, 1000, 3000]), random.pick(&[1, 200, 1000]), random.below(3))
}

/// Runs a seed with a crash at a change of the first generation; later ones crash at random. Returns the changes of the
/// first, and how often it crashed.
fn run(seed: u64, crash_at: Option<u64>) -> (u64, u64) {
    let what = format!("seed {seed}, crash at change {crash_at:?}");
    let mut random = Random::new(seed);
    let mut disk = disk(seed);
    let before = disk.changes();
    let mut model = Model::default();
    let mut changes = 0;
    let mut crashes = 0;
    for generation in 0..GENERATIONS {
        let options = random_options(&mut random);
        match (generation, crash_at) {
            (0, None) => {}
            (0, Some(change)) => disk.crash_at(before + change),
            _ => disk.crash_at(random.below(60) as u64),
        }
        let done = model.work(&disk, options, STEPS, &mut random);
        assert!(done.is_ok() || disk.has_crashed(), "{what}: {done:?}");
        if generation == 0 {
            changes = disk.changes() - before;
        }
        crashes += u64::from(disk.has_crashed());
        // Power fails after an orderly end as well.
        disk = disk.restart();
        model.check(&disk, &format!("{what}, generation {generation}"));
    }
    (changes, crashes)
}

#[test]
fn at_every_change() {
    let mut crashes = 0;
    for seed in seeds(150) {
        let (changes, _) = run(seed, None);
        for change in 0..changes {
            crashes += run(seed, Some(change)).1;
        }
    }
    assert!(crashes > 100, "{crashes} crashes");
    println!("{crashes} crashes");
}
