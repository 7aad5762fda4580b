//! Numbers the records of a file, where a column asks for them: from 1, header and skipped lines not counted, rejected
//! records counted.
//!
//! A worker cannot know how many records stand before its span. Where numbers are asked for, it counts those of its
//! span before it parses them, and waits for the counts of the spans before. Nobody else pays for it. The numbers that a
//! sequence gives are taken span by span in the same order, so that they follow the files for any number of workers, and
//! no more are taken than there are records.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::LoadError;
use crate::files::{Files, Stops, Work};
use crate::worker::{Cursor, Piece, Scratch};

/// How often a waiting worker looks whether it still should.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Gives out numbers, as the sequence of a column does. It is asked once for each span, in the order of the files.
pub trait NumberSource: fmt::Debug + Send + Sync {
    /// Takes `count` numbers, at least one, that follow each other: returns the first, and how far they lie apart. All
    /// must be numbers of the type of the column.
    ///
    /// # Errors
    /// Why there are not as many.
    fn take(&self, count: u64) -> Result<(i64, i64), String>;
}

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
    /// Moves on by so many records.
    pub(crate) fn advance(&mut self, records: u64) {
        self.in_file += records;
        self.in_span += records;
    }
}

impl RecordCounts {
    /// Tells how many records span `sequence` has; as soon as it is its turn, it takes as many numbers of each of
    /// `sources`.
    fn tell(&self, sequence: u64, count: u64, sources: &[Arc<dyn NumberSource>]) {
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
    fn wait(&self, sequence: u64, first_span: u64, stops: &Stops) -> Option<Result<First, String>> {
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

/// The numbers of the first record of a span. What is wrong with the span is left for the parse to find.
///
/// # Errors
/// When a source has not as many numbers as the span has records.
pub(crate) fn first_record(files: &Files, work: &Work, scratch: &mut Scratch) -> Result<First, LoadError> {
    let mut cursor = Cursor::unnumbered(files, work, scratch);
    let mut count = 0;
    while let Ok(Some(piece)) = cursor.next(files, work, scratch) {
        count += piece.records();
    }
    files.record_counts().tell(work.sequence, count, files.numbers());
    if let Some(first) = files.record_counts().wait(work.sequence, work.file.first_span, files.stops()) {
        return first.map_err(LoadError::NoNumbers);
    }
    // Of a pass that panicked nothing is kept.
    let of_span = files.numbers().iter().map(|_| (0, 0)).collect();
    Ok(First { in_file: 1, in_span: 0, of_span })
}

impl Piece<'_> {
    /// Records of the piece, good or not.
    pub(crate) fn records(&self) -> u64 {
        (self.rows.count() + self.defects.len()) as u64
    }

    /// The number in the file of the row that begins at `start` in the rows' text.
    pub(crate) fn number(&self, start: u32) -> u64 {
        self.first().in_file + self.records_before(start)
    }

    /// What the row that begins at `start` in the rows' text has of a source of numbers.
    pub(crate) fn number_of(&self, source: usize, start: u32) -> i64 {
        let first = self.first();
        let (number, step) = first.of_span[source];
        let index = (first.in_span + self.records_before(start)) as i64;
        // The source has promised that all are numbers of the column.
        number.wrapping_add(step.wrapping_mul(index))
    }

    fn first(&self) -> &First {
        self.first_record.as_ref().expect("the cursor counted, since a column asks for numbers")
    }

    /// Records of the piece, good or not, before the row that begins at `start` in the rows' text.
    fn records_before(&self, start: u32) -> u64 {
        let (mut low, mut high) = (0, self.rows.count());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.rows.record(middle).0 < start {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let defects_before = self.defects.partition_point(|defect| defect.row <= low);
        (low + defects_before) as u64
    }
}
