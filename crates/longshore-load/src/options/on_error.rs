//! What becomes of records that cannot be taken, and where rejects go.
//!
//! Not here: what a reject is (`error/reject`), files and tables of rejects (`reject`).

use std::fmt;
use std::sync::Arc;

use crate::error::{LoadError, Reject};

/// What to do about a record that cannot be taken.
#[derive(Clone, Debug, Default)]
pub enum OnError {
    /// Stop, and load nothing.
    #[default]
    Stop,
    /// Leave it out and count it.
    Ignore,
    /// Leave it out and say so.
    Collect(Arc<dyn RejectSink>),
}

impl OnError {
    /// Whether the first bad record ends everything.
    #[must_use]
    pub fn stops(&self) -> bool {
        matches!(self, Self::Stop)
    }
}

/// Where rejects go.
pub trait RejectSink: fmt::Debug + Send + Sync {
    /// Takes the next rejects in the order of the files. Calls come one at a time.
    ///
    /// # Errors
    /// When they cannot be kept; then the load fails.
    fn take(&self, rejects: &[Reject]) -> Result<(), LoadError>;

    /// Told when all rejects were taken, just before the rows are kept. A load that fails never calls it.
    ///
    /// # Errors
    /// When the rejects cannot be kept; then the load fails.
    fn finish(&self) -> Result<(), LoadError>;
}
