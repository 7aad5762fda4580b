//! Runs a test in interleavings that seeds choose.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Switches of threads at places that count, in those that have few.
const SWITCHES: usize = 4;

/// Runs a test in many interleavings, each time with another seed.
pub(crate) fn interleaved(times: usize, test: impl Fn(u64) + Send + Sync + 'static) {
    let factor: usize = std::env::var("LONGSHORE_INTERLEAVE")
        .map_or(1, |factor| factor.parse().expect("LONGSHORE_INTERLEAVE is a number"));
    let seed = AtomicU64::new(0);
    let test = Arc::new(move || test(seed.fetch_add(1, Ordering::Relaxed)));
    let other = Arc::clone(&test);
    shuttle::check_random(move || test(), times * factor);
    shuttle::check_pct(move || other(), times * factor, SWITCHES);
}
