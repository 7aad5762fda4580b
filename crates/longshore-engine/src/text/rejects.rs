//! What becomes of records of a text that cannot be taken, as a statement says it.

use longshore_load::{OnError, RejectLimit};

/// What becomes of records of a text that cannot be taken.
#[derive(Clone, Debug)]
pub(crate) struct FileRejects {
    pub(crate) on_error: OnError,
    pub(crate) limit: RejectLimit,
    /// The file that they are written to.
    pub(crate) path: Option<String>,
}
