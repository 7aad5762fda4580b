//! Numbers the records of a file, where a column asks for them: from 1, header and skipped lines not counted, rejected
//! records counted.
//!
//! A worker cannot know how many records stand before its span. Where numbers are asked for, it counts those of its
//! span before it parses them, and waits for the counts of the spans before. Nobody else pays for it. The numbers that a
//! sequence gives are taken span by span in the same order, so that they follow the files for any number of workers, and
//! no more are taken than there are records. Not here: counting the records of a span (`worker/count`).

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::options::NumberSource;
use crate::stop::Stops;

/// How often a waiting worker looks whether it still should.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the first record of a span has of each source, and how far numbers lie apart.
type Numbers = Arc<[(i64, i64)]>;

/// How many records the spans of all files have.
#[derive(Default)]
pub(crate) struct RecordCounts {
    counts: Mutex<Counts>,
    told: Condvar,
}

#[derive(Default)]
struct Counts {
    /// Records before each span, and behind the last one, as far as all spans before were counted.
    before: Vec<u64>,
    /// Numbers of the spans that were counted, in their order.
    numbers: Vec<Result<Numbers, String>>,
    /// Spans that were counted before one that precedes them.
    ahead: BTreeMap<u64, u64>,
}

/// Numbers of the first record of a piece.
#[derive(Clone, Debug)]
pub(crate) struct First {
    /// In its file, from 1.
    in_file: u64,
    /// In its span, from 0.
    in_span: u64,
    of_span: Numbers,
}

impl First {
    /// Of a pass that panicked, of which nothing is kept.
    pub(crate) fn of_nothing(sources: usize) -> Self {
        Self { in_file: 1, in_span: 0, of_span: std::iter::repeat_n((0, 0), sources).collect() }
    }

    /// The number in its file of the record that stands so many behind it.
    pub(crate) fn in_file(&self, behind: u64) -> u64 {
        self.in_file + behind
    }

    /// What the record that stands so many behind it has of a source of numbers.
    pub(crate) fn of_source(&self, source: usize, behind: u64) -> i64 {
        let (number, step) = self.of_span[source];
        let index = (self.in_span + behind) as i64;
        // The source has promised that all are numbers of the column.
        number.wrapping_add(step.wrapping_mul(index))
    }

    /// Moves on by so many records.
    pub(crate) fn advance(&mut self, records: u64) {
        self.in_file += records;
        self.in_span += records;
    }
}

impl RecordCounts {
    /// Tells how many records span `sequence` has; as soon as it is its turn, it takes as many numbers of each of
    /// `sources`.
    pub(crate) fn tell(&self, sequence: u64, count: u64, sources: &[Arc<dyn NumberSource>]) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { before, numbers, ahead } = &mut *counts;
        if before.is_empty() {
            before.push(0);
        }
        ahead.insert(sequence, count);
        while let Some(count) = ahead.remove(&(before.len() as u64 - 1)) {
            before.push(before[before.len() - 1] + count);
            // Where there is no record, no number is looked at.
            let take = |source: &Arc<dyn NumberSource>| if count == 0 { Ok((0, 0)) } else { source.take(count) };
            numbers.push(sources.iter().map(take).collect());
        }
        self.told.notify_all();
    }

    /// Numbers of the first record of span `sequence`, in a file whose first span is `first_span`; `None` if a worker
    /// before panicked.
    pub(crate) fn wait(&self, sequence: u64, first_span: u64, stops: &Stops) -> Option<Result<First, String>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        while !stops.is_abandoned() {
            if let Some(numbers) = counts.numbers.get(sequence as usize) {
                let in_file = counts.before[sequence as usize] - counts.before[first_span as usize] + 1;
                return Some(numbers.clone().map(|of_span| First { in_file, in_span: 0, of_span }));
            }
            counts = self.told.wait_timeout(counts, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}
