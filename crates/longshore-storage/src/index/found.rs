//! The rows of a key, copied out of an index.

use crate::row_id::RowId;

/// Rows of a key. One row, the usual number, takes no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    first: Option<RowId>,
    more: Vec<RowId>,
}

impl Found {
    /// These rows.
    pub(super) fn new(mut rows: Vec<RowId>) -> Found {
        match rows.len() {
            0 => Found::default(),
            1 => rows[0].into(),
            _ => {
                let first = Some(rows.remove(0));
                Found { first, more: rows }
            }
        }
    }

    /// The rows, in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = RowId> + '_ {
        self.first.into_iter().chain(self.more.iter().copied())
    }

    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl From<RowId> for Found {
    #[inline]
    fn from(row: RowId) -> Found {
        Found { first: Some(row), more: Vec::new() }
    }
}
