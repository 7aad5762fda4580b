//! The rows of a key that has more than one.
//!
//! Few lie in a vector, many in a tree, so that a key of a million rows loses one of them as fast as a key of ten.

use std::collections::BTreeSet;

use crate::row_id::RowId;

/// Rows that a vector may hold.
const FEW_MAX: usize = 64;

/// Rows, each once, in ascending order.
#[derive(Clone, Debug)]
pub(super) enum RowList {
    Few(Vec<RowId>),
    Many(BTreeSet<RowId>),
}

impl RowList {
    pub(super) fn new() -> RowList {
        RowList::Few(Vec::new())
    }

    pub(super) fn insert(&mut self, row: RowId) {
        match self {
            RowList::Few(rows) => {
                let Err(at) = rows.binary_search(&row) else { return };
                if rows.len() < FEW_MAX {
                    rows.insert(at, row);
                    return;
                }
                let mut many: BTreeSet<RowId> = rows.iter().copied().collect();
                many.insert(row);
                *self = RowList::Many(many);
            }
            RowList::Many(rows) => {
                rows.insert(row);
            }
        }
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, row: RowId) -> bool {
        match self {
            RowList::Few(rows) => match rows.binary_search(&row) {
                Ok(at) => {
                    rows.remove(at);
                    true
                }
                Err(_) => false,
            },
            RowList::Many(rows) => {
                let found = rows.remove(&row);
                if rows.len() <= FEW_MAX / 2 {
                    *self = RowList::Few(rows.iter().copied().collect());
                }
                found
            }
        }
    }

    /// The only row, if there is no other.
    pub(super) fn only(&self) -> Option<RowId> {
        match self {
            RowList::Few(rows) if rows.len() == 1 => rows.first().copied(),
            _ => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            RowList::Few(rows) => rows.len(),
            RowList::Many(rows) => rows.len(),
        }
    }

    pub(super) fn to_vec(&self) -> Vec<RowId> {
        match self {
            RowList::Few(rows) => rows.clone(),
            RowList::Many(rows) => rows.iter().copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_and_go_in_any_number() {
        let (mut list, mut model) = (RowList::new(), BTreeSet::new());
        let mut state = 1_u64;
        for step in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let row = RowId(state >> 56);
            // Grows for a while, then shrinks.
            if (state >> 40) % 10 < if step < 1_000 { 8 } else { 2 } {
                list.insert(row);
                model.insert(row);
            } else {
                assert_eq!(list.remove(row), model.remove(&row));
            }
            assert_eq!((list.len(), list.only().is_some()), (model.len(), model.len() == 1));
        }
        assert_eq!(list.to_vec(), model.into_iter().collect::<Vec<_>>());
    }
}
