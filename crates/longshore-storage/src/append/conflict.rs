//! Decides which rows of an append stay, where several have the same key, or one has a key that is in the relation already.
//!
//! Rows count in the order of the append, as if they were inserted one by one. What is decided is a matter of the keys
//! alone, so it is the same for any number of threads. Not here: how equal keys are found (`index/shared.rs`), what is done
//! about them (`append/resolve.rs`).

use crate::error::Holder;
use crate::index::SharedKeys;
use crate::row_id::RowId;

/// What becomes of rows of an append whose key is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnConflict {
    /// What becomes of them.
    pub action: ConflictAction,
    /// The index whose keys are meant; `None` is all in which keys are unique. Keys of others end the append.
    pub index: Option<String>,
}

/// What becomes of a row whose key is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictAction {
    /// The append fails.
    Stop,
    /// It is left out.
    KeepFirst,
    /// It takes the place of the row that has the key. Of one index only.
    KeepLast,
    /// Its values of these columns go to the row that has the key; of rows of the append, the last one stays. Of one index
    /// only.
    Update(Vec<usize>),
}

impl OnConflict {
    /// The append fails.
    #[must_use]
    pub fn stop() -> OnConflict {
        OnConflict { action: ConflictAction::Stop, index: None }
    }
}

impl Default for OnConflict {
    fn default() -> OnConflict {
        OnConflict::stop()
    }
}

/// What an append has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Rows that the relation has gained.
    pub inserted: u64,
    /// Rows of the relation that rows of the append took the place of, or gave values to.
    pub updated: u64,
    /// Rows of the append that were left out.
    pub left_out: u64,
}

/// A row of an append that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Its number among all rows of the append, in their order, from 0.
    pub row: u64,
    /// Who has its key, and stays.
    pub holder: Holder,
    /// The index, by its place among those that count.
    pub(super) index: usize,
}

/// What becomes of rows whose keys others have, too.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// Rows that are left out, ascending.
    pub(super) left_out: Vec<Clash>,
    /// Rows of the relation, and the row of the append that each gives way to.
    pub(super) replaced: Vec<(RowId, u64)>,
}

impl Decision {
    /// The rows of the append that do not become rows of the relation, ascending.
    pub(super) fn dropped(&self, action: &ConflictAction) -> Vec<u64> {
        let mut dropped: Vec<u64> = self.left_out.iter().map(|clash| clash.row).collect();
        if let ConflictAction::Update(_) = action {
            dropped.extend(self.replaced.iter().map(|(_, row)| *row));
            dropped.sort_unstable();
        }
        dropped
    }
}

/// The first row of a key stays: that of the relation, or else the first one of which no key is taken.
pub(super) fn keep_first(shared: &[SharedKeys]) -> Decision {
    let mut holders: Vec<Vec<Option<Holder>>> =
        shared.iter().map(|keys| keys.holders.iter().map(|row| row.map(Holder::Relation)).collect()).collect();
    let mut rows: Vec<(u64, usize, u32)> = Vec::new();
    for (index, keys) in shared.iter().enumerate() {
        rows.extend(keys.rows.iter().map(|&(row, key)| (row, index, key)));
    }
    if shared.len() > 1 {
        rows.sort_unstable();
    }
    let mut left_out = Vec::new();
    for keys in rows.chunk_by(|a, b| a.0 == b.0) {
        let taken = keys
            .iter()
            .find_map(|&(row, index, key)| holders[index][key as usize].map(|holder| Clash { row, holder, index }));
        match taken {
            Some(clash) => left_out.push(clash),
            None => keys.iter().for_each(|&(row, index, key)| holders[index][key as usize] = Some(Holder::Append(row))),
        }
    }
    Decision { left_out, replaced: Vec::new() }
}

/// The last row of a key stays, and takes the place of that of the relation.
pub(super) fn keep_last(shared: &SharedKeys) -> Decision {
    let mut last: Vec<Option<u64>> = vec![None; shared.holders.len()];
    let mut left_out = Vec::new();
    for &(row, key) in shared.rows.iter().rev() {
        match last[key as usize] {
            Some(last) => left_out.push(Clash { row, holder: Holder::Append(last), index: 0 }),
            None => last[key as usize] = Some(row),
        }
    }
    left_out.reverse();
    let mut replaced: Vec<(RowId, u64)> =
        shared.holders.iter().zip(last).filter_map(|(holder, last)| Some(((*holder)?, last?))).collect();
    replaced.sort_unstable_by_key(|(_, row)| *row);
    Decision { left_out, replaced }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys 0, 1, ... of rows; some of them held by rows of the relation.
    fn shared(rows: &[(u64, u32)], holders: &[Option<u64>]) -> SharedKeys {
        SharedKeys { rows: rows.to_vec(), holders: holders.iter().map(|row| row.map(RowId)).collect() }
    }

    #[test]
    fn a_row_that_is_left_out_holds_no_key() {
        // Row 2 has a key of row 1; row 3 has another key of row 2, which is free since row 2 is left out.
        let one = shared(&[(1, 0), (2, 0)], &[None]);
        let other = shared(&[(2, 0), (3, 0), (4, 0)], &[None]);
        let decision = keep_first(&[one, other]);
        let clash = |row, index, holder| Clash { row, holder, index };
        assert_eq!(decision.left_out, [clash(2, 0, Holder::Append(1)), clash(4, 1, Holder::Append(3))]);
        let held = keep_first(&[shared(&[(5, 0), (7, 0)], &[Some(9)])]);
        let holder = Holder::Relation(RowId(9));
        assert_eq!(held.left_out, [clash(5, 0, holder), clash(7, 0, holder)]);
    }

    #[test]
    fn the_last_row_takes_the_place_of_others() {
        let decision = keep_last(&shared(&[(1, 0), (2, 1), (3, 0), (4, 0), (6, 1)], &[Some(8), None]));
        let left_out: Vec<(u64, Holder)> = decision.left_out.iter().map(|clash| (clash.row, clash.holder)).collect();
        assert_eq!(left_out, [(1, Holder::Append(4)), (2, Holder::Append(6)), (3, Holder::Append(4))]);
        assert_eq!(decision.replaced, [(RowId(8), 4)]);
    }
}
