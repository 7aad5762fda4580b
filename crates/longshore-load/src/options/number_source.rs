//! Where the numbers of columns come from that no field gives.
//!
//! Not here: which record gets which of them (`numbering`).

use std::fmt;

/// Gives out numbers, as the sequence of a column does. It is asked once for each span, in the order of the files.
pub trait NumberSource: fmt::Debug + Send + Sync {
    /// Takes `count` numbers, at least one, that follow each other: returns the first, and how far they lie apart. All
    /// must be numbers of the type of the column.
    ///
    /// # Errors
    /// Why there are not as many.
    fn take(&self, count: u64) -> Result<(i64, i64), String>;
}
