//! What becomes of records that are not quite records, where the dialect of a text was found out: they are repaired if
//! nothing is lost by it, and told of.
//!
//! A text is first read as if all its records were whole, by the SIMD scan. The first one that is not ends that pass
//! ([`LoadError::Misshapen`](crate::LoadError::Misshapen)), and whoever began it begins it again with a format that
//! repairs ([`TextOptions::repairing`](crate::TextOptions::repairing)): so whole texts pay nothing. Not here: how records
//! are repaired (`longshore-format::delimited`), what is told of them (`options/repair`), which repairs fit the columns
//! (`infer::fit`).

use std::collections::BTreeMap;

use longshore_csv::RepairKind;

use crate::files::SpanTask;
use crate::options::{RepairLog, Repaired};
use crate::piece::Piece;

/// Bytes of a record that are kept to show it.
pub(crate) const SHOWN_BYTES_MAX: usize = 256;

/// The first record of a kind in a span.
#[derive(Clone, Debug)]
struct First {
    /// Its offset in the file.
    byte: u64,
    /// Its line, where that is known without a look at the file.
    line: Option<u64>,
    record: Vec<u8>,
}

/// The records of a span that were repaired.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanRepairs {
    kinds: BTreeMap<RepairKind, (u64, First)>,
}

impl SpanRepairs {
    /// Takes in those of the next piece; `is_kept` tells which rows count.
    pub(crate) fn add(&mut self, task: &SpanTask, piece: &Piece<'_>, is_kept: impl Fn(usize) -> bool) {
        for &(row, kind) in piece.repairs().iter().filter(|(row, _)| is_kept(*row)) {
            let first = || {
                let (start, end) = piece.record(row);
                let (start, end) = (piece.start + start, piece.start + end);
                let byte = task.span.offset + start as u64;
                let line = task.span.owns_text().then(|| task.file.spans.lines_before(&task.span, byte) + 1);
                let record = task.text()[start..end.min(start + SHOWN_BYTES_MAX)].to_vec();
                (0, First { byte, line, record })
            };
            self.kinds.entry(kind).or_insert_with(first).0 += 1;
        }
    }

    /// Tells `log` of them, which are those of the span of `task`.
    pub(crate) fn note(self, task: &SpanTask, log: &RepairLog) {
        for (kind, (records, First { byte, line, record })) in self.kinds {
            log.add(task.sequence, kind, records, || {
                let line = line.unwrap_or_else(|| task.file.spans.lines_before(&task.span, byte) + 1);
                Repaired { kind, records, file: task.file.name.clone(), line, record }
            });
        }
    }
}
