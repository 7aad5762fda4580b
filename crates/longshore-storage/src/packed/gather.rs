//! Dictionaries of texts, gathered a stretch of rows at a time: a column that is being filled is in the cache then.

use super::dictionary::{self, Distinct, NotFound};
use super::domain::{ShortTexts, Texts};

/// The distinct ones of texts that come one after the other.
#[derive(Default)]
pub(crate) struct GatheredTexts {
    distinct: Distinct,
    entries_max: usize,
    has_long: bool,
    are_many: bool,
}

impl GatheredTexts {
    /// None yet, of up to so many.
    pub(crate) fn new(rows_max: usize) -> GatheredTexts {
        let mut texts = GatheredTexts::default();
        texts.clear(rows_max);
        texts
    }

    /// The same in the memory of those before.
    pub(super) fn clear(&mut self, rows_max: usize) {
        self.distinct.clear();
        self.entries_max = dictionary::entries_max(rows_max).max(1);
        (self.has_long, self.are_many) = (false, false);
    }

    /// Takes in the next texts, by their views; long ones lie in `heap`.
    pub(crate) fn add(&mut self, views: &[u128], heap: &[u8]) {
        if self.are_many {
            return;
        }
        let mut left = views;
        // Most columns have short texts alone, which need no look at the heap. Keys of short texts are the same for both.
        if !self.has_long {
            let rows = self.distinct.rows();
            match self.distinct.add(left.iter().copied(), self.entries_max, &ShortTexts) {
                Ok(()) => return,
                Err(NotFound::TooMany) => return self.give_up(),
                Err(NotFound::Foreign) => left = &left[self.distinct.rows() - rows..],
            }
            self.has_long = true;
        }
        if self.distinct.add(left.iter().copied(), self.entries_max, &Texts { heap }).is_err() {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.distinct.clear();
        self.are_many = true;
    }

    /// The distinct ones, if they are few for so many rows, which all have come.
    pub(super) fn few(&mut self, rows: usize) -> Option<&mut Distinct> {
        let are_few = !self.are_many && self.distinct.entries.len() <= dictionary::entries_max(rows).max(1);
        assert!(self.are_many || self.distinct.rows() == rows, "all texts were gathered");
        are_few.then_some(&mut self.distinct)
    }
}
