//! Numbers the records of a file, where a column asks for them: from 1, header and skipped lines not counted, rejected
//! records counted.
//!
//! A worker cannot know how many records stand before its span. Where numbers are asked for, it counts those of its
//! span before it parses them, and waits for the counts of the spans before. Nobody else pays for it.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::files::{Files, Stops, Work};
use crate::worker::{Cursor, Piece, Scratch};

/// How often a waiting worker looks whether it still should.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How many records the spans of a file have.
#[derive(Default)]
pub(crate) struct RecordCounts {
    counts: Mutex<Counts>,
    told: Condvar,
}

#[derive(Default)]
struct Counts {
    /// Records before each span, and behind the last one, as far as all spans before were counted.
    before: Vec<u64>,
    /// Spans that were counted before one that precedes them.
    ahead: BTreeMap<u64, u64>,
}

impl RecordCounts {
    /// Tells how many records span `sequence` of the file has.
    fn tell(&self, sequence: u64, count: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { before, ahead } = &mut *counts;
        if before.is_empty() {
            before.push(0);
        }
        ahead.insert(sequence, count);
        while let Some(count) = ahead.remove(&(before.len() as u64 - 1)) {
            before.push(before[before.len() - 1] + count);
        }
        self.told.notify_all();
    }

    /// Records before span `sequence` of the file; `None` if a worker before panicked.
    fn wait(&self, sequence: u64, stops: &Stops) -> Option<u64> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        while !stops.is_abandoned() {
            if let Some(before) = counts.before.get(sequence as usize) {
                return Some(*before);
            }
            counts = self.told.wait_timeout(counts, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

/// The number of the first record of a span, from 1. What is wrong with the span is left for the parse to find.
pub(crate) fn first_record(files: &Files, work: &Work, scratch: &mut Scratch) -> u64 {
    let mut cursor = Cursor::unnumbered(files, work, scratch);
    let mut count = 0;
    while let Ok(Some(piece)) = cursor.next(files, work, scratch) {
        count += piece.records();
    }
    work.file.record_counts.tell(work.span.sequence, count);
    let before = work.file.record_counts.wait(work.span.sequence, files.stops());
    // Of a pass that panicked nothing is kept.
    before.unwrap_or(0) + 1
}

impl Piece<'_> {
    /// Records of the piece, good or not.
    pub(crate) fn records(&self) -> u64 {
        (self.rows.count() + self.defects.len()) as u64
    }

    /// The number in the file of the row that begins at `start` in the rows' text.
    pub(crate) fn number(&self, start: u32) -> u64 {
        let first = self.first_record.expect("the cursor counted, since a column asks for numbers");
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
        first + (low + defects_before) as u64
    }
}
