//! What a COPY FROM has done, whichever way it went.

use std::sync::Arc;

use longshore_load::FileCounts;

use crate::Report;

/// What a COPY FROM has done.
pub(super) struct Copied {
    pub(super) report: Report,
    /// What is to be told of it.
    pub(super) notice: Option<String>,
    /// Records that were left out because they could not be taken.
    pub(super) rejects: u64,
    /// What was taken from each text, where that is known.
    pub(super) counts: Vec<Arc<FileCounts>>,
}
