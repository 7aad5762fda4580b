//! Work that several threads share, each of which takes of it what is left.

use std::panic::resume_unwind;

use crate::sync::thread;

/// Calls `run` in so many threads at a time, at least one, and gives what each returns. All come to their end; a panic of one
/// goes on here. One alone is this thread.
pub fn in_threads<T: Send>(threads: usize, run: impl Fn() -> T + Sync) -> Vec<T> {
    if threads <= 1 {
        return vec![run()];
    }
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&run)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
