//! Decides how a run in several threads is timed: once all are ready, from when the first begins until the last is done.

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
    let start = Barrier::new(shares.len());
    std::thread::scope(|scope| {
        let threads = shares.iter().map(|share| {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                let begun = Instant::now();
                let found = work(share);
                (begun, Instant::now(), found)
            })
        });
        let threads: Vec<_> = threads.collect();
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect();
        let begun = done.iter().map(|(begun, ..)| *begun).min();
        let ended = done.iter().map(|(_, ended, _)| *ended).max();
        let time = begun.zip(ended).map_or(Duration::ZERO, |(begun, ended)| ended - begun);
        let found = done.into_iter().map(|(.., found)| found);
        Ok((time, found.collect::<Result<_, _>>()?))
    })
}
