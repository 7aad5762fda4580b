//! What becomes of records that cannot be taken: the load stops, or they are left out and told of.
//!
//! A rejected record gives one [`Reject`] for each thing that is wrong with it: each bad field, or its shape. Limits
//! count records. Rejects come in the order of the files, and are the same for every kernel, thread count, piece and
//! span size: a worker gathers those of its span ([`mod@span`]), and they are handed on when its turn comes
//! ([`order`]).
//!
//! A quote that is never closed makes one record of the rest of the file, and one reject; nothing in it is taken for a
//! record. What ends a load all the same: a file that cannot be read, a header that does not fit, a record longer than
//! may be (1 GiB), the memory limit.
//!
//! Not here: which records are bad (`longshore-csv`), what a reject is (`error/reject`), what the user says about them
//! (`options/on_error`), the table that a user names (the engine).

mod file;
mod order;
mod span;
mod table;

use longshore_csv::DefectKind;

use crate::error::Reject;

pub use file::RejectFile;
pub(crate) use order::RejectOrder;
pub(crate) use span::SpanRejects;
pub use table::{RejectTable, reject_schema};

/// What was rejected, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectSummary {
    /// Records that were left out.
    pub records: u64,
    /// How many rejects there are of each kind, in the order in which the kinds first occur.
    pub kinds: Vec<(DefectKind, u64)>,
    /// The first rejects, at most [`REJECTS_SHOWN_MAX`](crate::REJECTS_SHOWN_MAX).
    pub first: Vec<Reject>,
}

impl RejectSummary {
    /// Rejects of any kind: at least one per record.
    #[must_use]
    pub fn rejects(&self) -> u64 {
        self.kinds.iter().map(|(_, count)| count).sum()
    }

    fn count(&mut self, kind: DefectKind, rejects: u64) {
        match self.kinds.iter_mut().find(|(counted, _)| *counted == kind) {
            Some((_, count)) => *count += rejects,
            None => self.kinds.push((kind, rejects)),
        }
    }
}
