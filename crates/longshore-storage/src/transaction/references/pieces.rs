//! Checks pieces of a relation on several threads, and tells what the first of them is to be told of, whichever thread
//! came to it first.

use std::num::NonZero;

use super::heed;
use super::parents::Missing;
use crate::index::IsCancelled;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread;
use crate::transaction::TransactionError;
use crate::transaction::guards::RowSet;

/// What was found of the first piece of which something was found, with its number; and the sets that were gathered.
pub(super) type Found = (Option<(usize, Missing)>, Vec<RowSet>);

/// Checks pieces on several threads, unless it is cancelled before the last of them.
pub(super) fn in_order(
    count: usize,
    is_cancelled: IsCancelled<'_>,
    check: impl Fn(usize, &mut RowSet) -> Option<Missing> + Sync,
) -> Result<Found, TransactionError> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(count);
    let (next, least) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let work = || {
        let (mut kept, mut first) = (RowSet::default(), None);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // Nothing behind what was found matters.
            if number >= count || is_cancelled() || number > least.load(Ordering::Relaxed) {
                return (first, kept);
            }
            if let Some(missing) = check(number, &mut kept) {
                least.fetch_min(number, Ordering::Relaxed);
                first = Some((number, missing));
                return (first, kept);
            }
        }
    };
    let results: Vec<_> = if threads <= 1 {
        vec![work()]
    } else {
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let join = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            join.collect()
        })
    };
    heed(is_cancelled)?;
    let (found, sets): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    Ok((found.into_iter().flatten().min_by_key(|(number, _): &(usize, Missing)| *number), sets))
}
