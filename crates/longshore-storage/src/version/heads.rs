//! The newest versions of the rows of a range.
//!
//! Most ranges with versions have them for few rows, which then lie in one cache line. Only a range with more of them
//! has an array with a place for every row.

use super::NONE;
use super::positions::{RANGE_ROWS, Span};

/// Rows that are listed; with more, there is an array.
const LISTED_MAX: usize = 8;

/// An array of heads, empty: what [`Heads::add`] may be given.
pub(super) type Array = Box<[u32; RANGE_ROWS]>;

/// Invariants. Either all rows with versions are listed, in ascending order, or the array has them and none is listed;
/// in the array the others have [`NONE`]. Without versions there is no array.
#[derive(Clone)]
pub(super) struct Heads {
    array: Option<Array>,
    newest: [u32; LISTED_MAX],
    rows: [u16; LISTED_MAX],
    listed: u8,
    /// Of the array.
    span: Span,
    /// Versions, of whatever row.
    versions: u32,
}

const _: () = assert!(size_of::<Heads>() <= 72);

impl Heads {
    pub(super) const EMPTY: Heads = Heads {
        array: None,
        newest: [NONE; LISTED_MAX],
        rows: [0; LISTED_MAX],
        listed: 0,
        span: Span::EMPTY,
        versions: 0,
    };

    /// The newest version of a row of the range.
    #[inline]
    pub(super) fn get(&self, row: usize) -> u32 {
        if self.versions == 0 {
            return NONE;
        }
        match &self.array {
            Some(array) => array[row],
            None => self.place(row).map_or(NONE, |at| self.newest[at]),
        }
    }

    /// Puts a version, which is one more, before the others of a row; says which was the newest.
    pub(super) fn add(&mut self, row: usize, head: u32, spare: &mut Option<Array>) -> u32 {
        self.versions += 1;
        if let Some(array) = &mut self.array {
            self.span.add(row);
            return std::mem::replace(&mut array[row], head);
        }
        let (rows, listed) = (&self.rows[..self.listed.into()], usize::from(self.listed));
        let at = rows.iter().position(|&other| usize::from(other) >= row).unwrap_or(listed);
        if at < listed && usize::from(self.rows[at]) == row {
            return std::mem::replace(&mut self.newest[at], head);
        }
        if listed == LISTED_MAX {
            self.make_array(spare);
            self.versions -= 1;
            return self.add(row, head, spare);
        }
        if at < listed {
            self.rows.copy_within(at..listed, at + 1);
            self.newest.copy_within(at..listed, at + 1);
        }
        (self.rows[at], self.newest[at]) = (row as u16, head);
        self.listed += 1;
        NONE
    }

    /// Takes note that a version, which was the newest of a row, is one no longer; `older` was behind it.
    pub(super) fn replace(&mut self, row: usize, older: u32) {
        if let Some(array) = &mut self.array {
            array[row] = older;
            return;
        }
        let Some(at) = self.place(row) else { return };
        self.newest[at] = older;
        if older == NONE {
            let listed = usize::from(self.listed);
            self.rows.copy_within(at + 1..listed, at);
            self.newest.copy_within(at + 1..listed, at);
            self.listed -= 1;
        }
    }

    /// Takes note of a version that is not the newest of its row.
    #[inline]
    pub(super) fn count_one(&mut self) {
        self.versions += 1;
    }

    /// Takes note of a version less, of a row that will have none; the same is to be said of all others.
    #[inline]
    pub(super) fn forget_row(&mut self, row: usize, spare: &mut Option<Array>) {
        if let Some(array) = &mut self.array {
            array[row] = NONE;
        }
        self.listed = 0;
        self.forget(spare);
    }

    /// Takes note that there is a version less.
    pub(super) fn forget(&mut self, spare: &mut Option<Array>) {
        self.versions -= 1;
        if self.versions == 0 && self.array.is_some() {
            // All its heads are none again.
            *spare = self.array.take();
            self.span = Span::EMPTY;
        }
    }

    /// Rows with versions, in ascending order, and the newest version of each.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32)> {
        let listed = self.rows[..self.listed.into()].iter().map(|&row| row.into()).zip(self.newest);
        let array = self.array.iter().flat_map(|array| self.span.rows().map(|row| (row, array[row])));
        listed.chain(array.filter(|&(_, head)| head != NONE))
    }

    #[cfg(test)]
    pub(super) fn has_array(&self) -> bool {
        self.array.is_some()
    }

    fn place(&self, row: usize) -> Option<usize> {
        self.rows[..self.listed.into()].iter().position(|&other| usize::from(other) == row)
    }

    fn make_array(&mut self, spare: &mut Option<Array>) {
        let mut array = spare.take().unwrap_or_else(|| Box::new([NONE; RANGE_ROWS]));
        for (&row, &head) in self.rows.iter().zip(&self.newest).take(self.listed.into()) {
            array[usize::from(row)] = head;
            self.span.add(row.into());
        }
        self.listed = 0;
        self.array = Some(array);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The twin: a map from rows to how many versions they have; a head is the number of versions of its row.
    #[test]
    fn heads_are_those_of_a_map() {
        let (mut heads, mut spare, mut map) = (Heads::EMPTY, None, BTreeMap::<usize, u32>::new());
        let mut state = 1_u64;
        let mut had_array = [false; 2];
        for round in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let drawn = (state >> 33) as usize;
            let row = drawn % 40 * 26;
            let grows = round / 100 % 2 == 0;
            if grows || map.is_empty() {
                let before = map.get(&row).copied();
                assert_eq!(heads.add(row, before.unwrap_or(0) + 1, &mut spare), before.unwrap_or(NONE));
                *map.entry(row).or_default() += 1;
            } else {
                let (&row, &newest) = map.range(row..).next().or_else(|| map.iter().next()).expect("one is there");
                let older = if newest == 1 { NONE } else { newest - 1 };
                heads.replace(row, older);
                heads.forget(&mut spare);
                if older == NONE {
                    map.remove(&row)
                } else {
                    map.insert(row, older)
                };
            }
            assert!(heads.iter().eq(map.iter().map(|(&row, &newest)| (row, newest))));
            assert_eq!(heads.get(row), map.get(&row).copied().unwrap_or(NONE));
            had_array[usize::from(heads.has_array())] = true;
        }
        assert_eq!(had_array, [true; 2]);
    }
}
