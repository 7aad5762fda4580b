//! What becomes of records that are not quite records, where the dialect of a text was found out: they are repaired if
//! nothing is lost by it, and told of.
//!
//! A text is first read as if all its records were whole, by the SIMD scan. The first one that is not ends that pass
//! ([`LoadError::Misshapen`](crate::LoadError::Misshapen)), and whoever began it begins it again with a format that
//! repairs ([`TextOptions::repairing`](crate::TextOptions::repairing)): so whole texts pay nothing. Not here: how records
//! are repaired (`longshore-format::delimited`), which repairs fit the columns (`infer::fit`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_csv::{RecordFormat, RepairKind};

use crate::error::Excerpt;
use crate::files::Work;
use crate::worker::Piece;

/// Bytes of a record that was repaired that are kept to show it.
const RECORD_BYTES_MAX: usize = 256;

/// What becomes of records that are not whole.
#[derive(Clone, Debug, Default)]
pub enum Repair {
    /// What the format and the options say.
    #[default]
    AsSaid,
    /// The first of them ends the pass, which is to be done again with this format.
    Later(Arc<dyn RecordFormat>),
    /// The format repairs them, and they are noted here.
    Noted(Arc<RepairLog>),
}

/// The records that were repaired in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// What was done about them.
    pub kind: RepairKind,
    /// How many there are.
    pub records: u64,
    /// The file of the first of them.
    pub file: String,
    /// Its line, from 1.
    pub line: u64,
    /// Its text, cut if it is long.
    pub record: Vec<u8>,
}

/// The end of a file that is no part of its table: short records that are not of its types, and what follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Number of the file among those that were given.
    pub number: usize,
    /// Its name.
    pub file: String,
    /// Where its table ends.
    pub byte: u64,
    /// The line that begins there, from 1.
    pub line: u64,
    /// The text of that line, cut if it is long.
    pub record: Vec<u8>,
}

impl Footer {
    /// That begins with a row of a piece.
    pub(crate) fn at(work: &Work, piece: &Piece<'_>, row: usize) -> Self {
        let (start, end) = piece.record(row);
        let (start, end) = (piece.start + start, piece.start + end);
        let byte = work.span.offset + start as u64;
        Self {
            number: work.file.input.number,
            file: work.file.name.clone(),
            byte,
            line: work.file.spans.lines_before(&work.span, byte) + 1,
            record: work.text()[start..end.min(start + RECORD_BYTES_MAX)].to_vec(),
        }
    }
}

impl fmt::Display for Footer {
    /// As a part of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, record, .. } = self;
        write!(
            f,
            "the end of {file} from line {line} on is no part of the table and was left out ({})",
            Excerpt(record)
        )
    }
}

impl fmt::Display for Repaired {
    /// As a part of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = self.records == 1;
        let has = if one { "record has" } else { "records have" };
        write!(f, "{} ", self.records)?;
        match self.kind {
            RepairKind::Short => write!(f, "{has} too few fields; those that lack are NULL"),
            RepairKind::Long => write!(f, "{has} too many fields; those that are too many are empty and were dropped"),
            RepairKind::StrayQuote => write!(f, "{has} a quote within a field; it is a character like any other"),
        }?;
        let first = if one { "" } else { "the first: " };
        write!(f, " ({first}{}, line {}: {})", self.file, self.line, Excerpt(&self.record))
    }
}

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
    pub(crate) fn add(&mut self, work: &Work, piece: &Piece<'_>, is_kept: impl Fn(usize) -> bool) {
        for &(row, kind) in piece.repairs().iter().filter(|(row, _)| is_kept(*row)) {
            let first = || {
                let (start, end) = piece.record(row);
                let (start, end) = (piece.start + start, piece.start + end);
                let byte = work.span.offset + start as u64;
                let line = work.span.owns_text().then(|| work.file.spans.lines_before(&work.span, byte) + 1);
                let record = work.text()[start..end.min(start + RECORD_BYTES_MAX)].to_vec();
                (0, First { byte, line, record })
            };
            self.kinds.entry(kind).or_insert_with(first).0 += 1;
        }
    }
}

/// Gathers what was repaired in a pass.
#[derive(Debug, Default)]
pub struct RepairLog(Mutex<BTreeMap<RepairKind, (u64, Repaired)>>);

impl RepairLog {
    /// Takes in a span; spans come in any order, each once.
    pub(crate) fn add(&self, work: &Work, repairs: SpanRepairs) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, (records, First { byte, line, record })) in repairs.kinds {
            let told = || {
                let line = line.unwrap_or_else(|| work.file.spans.lines_before(&work.span, byte) + 1);
                let file = work.file.name.clone();
                (work.sequence, Repaired { kind, records: 0, file, line, record })
            };
            if let Some((sequence, known)) = kinds.get_mut(&kind) {
                let before = known.records;
                if work.sequence < *sequence {
                    (*sequence, *known) = told();
                }
                known.records = before + records;
            } else {
                let (sequence, first) = told();
                kinds.insert(kind, (sequence, Repaired { records, ..first }));
            }
        }
    }

    /// What was repaired, by kind.
    #[must_use]
    pub fn summary(&self) -> Vec<Repaired> {
        let kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.values().map(|(_, repaired)| repaired.clone()).collect()
    }
}
