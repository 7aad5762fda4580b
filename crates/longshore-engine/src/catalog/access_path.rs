//! How an index serves what a statement says of columns: the one choice of indexes, for scans and for point queries.
//!
//! An index is of use if there are values for all columns of its key, or, of a radix tree, for the first of them, and
//! bounds for the next one. Not here: what there is to say of columns, and finding rows (`datafusion::scan::access`,
//! `prepared::point_query`).

use std::cmp::Reverse;

use longshore_storage::IndexKind;

/// The columns of an index that serve a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessPath {
    /// So many of its first columns have values.
    pub(crate) values: usize,
    /// Whether the column behind them has bounds.
    pub(crate) has_range: bool,
    /// Whether all columns of the index have values.
    pub(crate) is_whole: bool,
    is_unique: bool,
}

impl AccessPath {
    /// How an index of this kind over `columns` serves a statement; `None` if it cannot be asked.
    pub(crate) fn new(
        kind: IndexKind,
        columns: &[usize],
        is_unique: bool,
        has_values: impl Fn(usize) -> bool,
        has_bounds: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let values = columns.iter().take_while(|column| has_values(**column)).count();
        let is_whole = values == columns.len();
        let has_range = columns.get(values).is_some_and(|column| has_bounds(*column));
        let can_be_asked = kind == IndexKind::Art || is_whole;
        can_be_asked.then_some(Self { values, has_range, is_whole, is_unique: is_unique && is_whole })
    }

    /// Whether it leaves out rows, and does not only order them.
    pub(crate) fn selects(&self) -> bool {
        self.values > 0 || self.has_range
    }

    /// Whether it finds one row at most.
    pub(crate) fn finds_one(&self) -> bool {
        self.is_unique
    }

    /// The order of preference: what finds fewer rows comes first.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        Reverse((self.is_unique, self.is_whole, self.values, self.has_range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(kind: IndexKind, columns: &[usize], is_unique: bool) -> Option<AccessPath> {
        // Columns 0 and 1 have values, column 2 bounds.
        AccessPath::new(kind, columns, is_unique, |column| column < 2, |column| column == 2)
    }

    #[test]
    fn an_index_serves_by_its_first_columns() {
        let art = path(IndexKind::Art, &[0, 2, 1], false).unwrap();
        assert_eq!((art.values, art.has_range, art.is_whole), (1, true, false));
        assert!(!path(IndexKind::Art, &[3, 0], false).unwrap().selects());
        assert!(path(IndexKind::Hash, &[0, 2], false).is_none());
        assert!(path(IndexKind::Hash, &[1, 0], false).unwrap().is_whole);
    }

    #[test]
    fn what_finds_fewer_rows_comes_first() {
        let unique = path(IndexKind::Hash, &[0], true).unwrap();
        let whole = path(IndexKind::Art, &[0, 1], false).unwrap();
        let ranged = path(IndexKind::Art, &[0, 1, 2], true).unwrap();
        let first = path(IndexKind::Art, &[0, 3], false).unwrap();
        assert!(unique.rank() < whole.rank());
        assert!(whole.rank() < ranged.rank());
        assert!(ranged.rank() < first.rank());
    }
}
