//! What is found out about keys that two rows have, where keys must be unique.
//!
//! Of all new rows whose key another row has, the first one in the order of rows is told, with the row that was before
//! it. Whatever sets of rows meet in whatever order, the two least rows of a key meet some time, and no meeting names a
//! lesser pair; so the answer is the same for any number of threads.

use crate::row_id::RowId;

/// What is known of rows beside their keys.
pub(super) trait Rules: Sync {
    /// Whether a row is one of those that are being added.
    fn is_new(&self, row: RowId) -> bool;

    /// Whether any number of rows may have the key of a new one, because NULL makes it differ from every key.
    fn is_apart(&self, new: RowId) -> bool;

    /// Whether a row that is not new keeps others from having its key.
    fn is_in_the_way(&self, old: RowId) -> bool;
}

/// The least pair of rows with the same key so far: the row that had it, and the one that must not.
#[derive(Clone, Copy)]
pub(super) struct Duplicates<'a> {
    /// `None` if keys may be had by any number of rows.
    rules: Option<&'a dyn Rules>,
    least: Option<(RowId, RowId)>,
    /// Whether rows of the same key have met at all.
    has_met: bool,
}

impl<'a> Duplicates<'a> {
    /// For keys that any number of rows may have.
    pub(super) fn ignored() -> Duplicates<'a> {
        Duplicates { rules: None, least: None, has_met: false }
    }

    /// For keys that one row may have.
    pub(super) fn by(rules: &'a dyn Rules) -> Duplicates<'a> {
        Duplicates { rules: Some(rules), least: None, has_met: false }
    }

    /// Takes note that there are rows with the same key, whether they may have it or not.
    #[inline]
    pub(super) fn note_meeting(&mut self) {
        self.has_met = true;
    }

    /// Whether that was so.
    pub(super) fn has_met(&self) -> bool {
        self.has_met
    }

    /// Whether rows with the same key need not be compared; `pair` is any two of them.
    #[inline]
    pub(super) fn are_allowed(&self, pair: impl FnOnce() -> (RowId, RowId)) -> bool {
        let Some(rules) = self.rules else { return true };
        let (one, other) = pair();
        rules.is_apart(if rules.is_new(one) { one } else { other })
    }

    /// Takes note of two rows with the same key.
    pub(super) fn meet(&mut self, one: RowId, other: RowId) {
        let Some(rules) = self.rules.filter(|_| one != other) else { return };
        match (rules.is_new(one), rules.is_new(other)) {
            (true, true) => self.take(one.min(other), one.max(other)),
            (true, false) if rules.is_in_the_way(other) => self.take(other, one),
            (false, true) if rules.is_in_the_way(one) => self.take(one, other),
            _ => {}
        }
    }

    /// Takes note of a new row that has the key of another one.
    pub(super) fn take(&mut self, first: RowId, second: RowId) {
        if self.least.is_none_or(|least| (second, first) < (least.1, least.0)) {
            self.least = Some((first, second));
        }
    }

    /// The first of the new rows that has the key of another row, behind that row.
    pub(super) fn least(&self) -> Option<(RowId, RowId)> {
        self.least
    }
}
