//! Tells others that a COPY runs, and by what its progress is told.

use std::sync::Arc;

use crate::activity::{CopyKind, CopyProgress, Copying, PipedFrom};
use crate::statement::Context;

impl Context<'_> {
    /// A COPY of a table, or of a query, begins; it ends with what comes back.
    pub(crate) fn copies(&self, table: Option<i64>, kind: CopyKind, by: PipedFrom) -> Option<Copying<'_>> {
        let (activity, _) = self.transaction.numbers().entered()?;
        Some(activity.copies(CopyProgress { table, kind, by, control: Arc::clone(self.control) }))
    }
}
