//! Files that a statement reads under a name.

use super::TextTable;
use super::columnar::Columnar;
use super::rows_once::RowsOnce;

/// Files that a statement of ours reads under a name.
pub(crate) enum NamedSource {
    Text(Box<TextTable>),
    Columnar(Columnar),
    /// Rows that come once.
    Rows(RowsOnce),
}
