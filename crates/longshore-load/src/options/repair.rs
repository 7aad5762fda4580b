//! What becomes of records that are not whole, and what is told of those that were repaired.
//!
//! Not here: how records are repaired (`longshore-format`), gathering those of a span (`repair`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_csv::{RecordFormat, RepairKind};

use crate::error::Excerpt;

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

/// Gathers what was repaired in a pass.
#[derive(Debug, Default)]
pub struct RepairLog(Mutex<BTreeMap<RepairKind, (u64, Repaired)>>);

impl RepairLog {
    /// Takes in as many `records` of the span `sequence` that were repaired in one way; spans come in any order, each
    /// once. `first` tells the first of these records.
    pub(crate) fn add(&self, sequence: u64, kind: RepairKind, records: u64, first: impl FnOnce() -> Repaired) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((earliest, known)) = kinds.get_mut(&kind) {
            let before = known.records;
            if sequence < *earliest {
                (*earliest, *known) = (sequence, first());
            }
            known.records = before + records;
        } else {
            kinds.insert(kind, (sequence, Repaired { records, ..first() }));
        }
    }

    /// What was repaired, by kind.
    #[must_use]
    pub fn summary(&self) -> Vec<Repaired> {
        let kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.values().map(|(_, repaired)| repaired.clone()).collect()
    }
}
