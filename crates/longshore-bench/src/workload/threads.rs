//! Decides how a run in several threads is timed: from the moment that all are ready until the last is done.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::Failure;

/// Does the work of each share in a thread of its own; returns the time and what the threads found, in order.
///
/// # Errors
///
/// The first failure.
pub(super) fn timed<S: Sync, R: Send>(
    shares: &[S],
    work: impl Fn(&S) -> Result<R, Failure> + Sync,
) -> Result<(Duration, Vec<R>), Failure> {
    let start = Barrier::new(shares.len() + 1);
    std::thread::scope(|scope| {
        let threads = shares.iter().map(|share| {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(share)
            })
        });
        let threads: Vec<_> = threads.collect();
        start.wait();
        let started = Instant::now();
        let found: Vec<Result<R, Failure>> =
            threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect();
        let time = started.elapsed();
        Ok((time, found.into_iter().collect::<Result<_, _>>()?))
    })
}
