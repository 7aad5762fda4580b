//! COPY FROM.

use longshore_storage::Relation;

use crate::{Control, CsvOptions, LoadError, Source, Tuning};

/// What a load did.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadReport {
    /// Rows that the relation gained.
    pub rows: u64,
    /// Bytes of text read.
    pub bytes: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Loads `source` into `relation`: all of it, or nothing.
///
/// `fields[i]` is the column of the relation that the i-th field of the file goes to; columns not named become NULL.
///
/// # Errors
/// The first bad field in the order of the file, whatever the thread count.
pub fn copy_from(
    source: Source,
    relation: &Relation,
    fields: &[usize],
    options: &CsvOptions,
    tuning: &Tuning,
    control: &Control,
) -> Result<LoadReport, LoadError> {
    let _ = (source, relation, fields, options, tuning, control);
    todo!()
}
