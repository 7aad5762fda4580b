//! Codes of texts that were found out while the texts were decoded: the dictionary is there before the column is packed.

use std::mem::MaybeUninit;

use super::domain::{Domain, Texts};
use super::{Codes, filled};
use crate::arena::Arena;
use crate::memory::OutOfMemory;

/// Codes take a byte.
const ENTRIES_MAX: usize = 1 << 8;

/// Which of a few texts each row has.
#[derive(Debug, Default)]
pub(crate) struct TextCodes {
    codes: Vec<u8>,
    /// The texts, as views. Some may be equal.
    entries: Vec<u128>,
    /// Whether the room for rows to come was filled.
    is_filled: bool,
}

/// Room for the codes of texts to come.
#[derive(Debug)]
pub struct SpareCodes<'a> {
    /// One per row.
    pub codes: &'a mut [MaybeUninit<u8>],
    entries: &'a mut Vec<u128>,
    is_filled: &'a mut bool,
}

impl SpareCodes<'_> {
    /// Says that codes were written for all rows to come, and which texts codes stand for, as views, now and in the rows
    /// before. Two of them may be equal.
    ///
    /// # Panics
    ///
    /// When they are more than codes.
    pub fn stand_for(&mut self, texts: &[u128]) {
        assert!(texts.len() <= ENTRIES_MAX, "codes take a byte");
        self.entries.clear();
        self.entries.extend_from_slice(texts);
        *self.is_filled = true;
    }
}

impl TextCodes {
    /// Of no row, with room for so many.
    pub(crate) fn with_capacity(rows: usize) -> TextCodes {
        TextCodes { codes: Vec::with_capacity(rows), ..TextCodes::default() }
    }

    /// Room for rows to come.
    ///
    /// # Panics
    ///
    /// When there is not so much.
    pub(crate) fn spare(&mut self, rows: usize) -> SpareCodes<'_> {
        self.is_filled = false;
        let codes = &mut self.codes.spare_capacity_mut()[..rows];
        SpareCodes { codes, entries: &mut self.entries, is_filled: &mut self.is_filled }
    }

    /// Takes in the codes of the first rows of the room, if it was filled; says whether it was.
    ///
    /// # Safety
    ///
    /// If it was, they were written.
    pub(crate) unsafe fn advance(&mut self, rows: usize) -> bool {
        assert!(rows <= self.codes.capacity() - self.codes.len(), "no more rows than were spared");
        if self.is_filled {
            // SAFETY: the caller has written them, and there is room.
            unsafe { self.codes.set_len(self.codes.len() + rows) };
        }
        self.is_filled || rows == 0
    }

    /// The room for rows to come, filled or not.
    pub(crate) fn room(&mut self, rows: usize) -> &mut [MaybeUninit<u8>] {
        &mut self.codes.spare_capacity_mut()[..rows]
    }

    /// The codes of all rows, for some to be taken out.
    pub(crate) fn codes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.codes
    }

    /// The distinct texts in their order, and where that of each code stands among them.
    pub(super) fn ordered(&self, heap: &[u8]) -> (Vec<u128>, [u8; ENTRIES_MAX]) {
        let domain = Texts { heap };
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_unstable_by(|&one, &other| domain.compare(self.entries[one], self.entries[other]));
        let mut ranks = [0; ENTRIES_MAX];
        let mut distinct: Vec<u128> = Vec::with_capacity(order.len());
        for entry in order {
            let text = self.entries[entry];
            if distinct.last().is_none_or(|&last| domain.compare(last, text).is_lt()) {
                distinct.push(text);
            }
            ranks[entry] = (distinct.len() - 1) as u8;
        }
        (distinct, ranks)
    }

    /// The rank of each row's text.
    ///
    /// # Panics
    ///
    /// When there are not so many rows.
    pub(super) fn ranked(
        &self,
        rows: usize,
        ranks: &[u8; ENTRIES_MAX],
        arena: &mut Arena,
    ) -> Result<Codes, OutOfMemory> {
        assert_eq!(self.codes.len(), rows, "a code for each row");
        let codes = filled(arena, rows, |slots: &mut [MaybeUninit<u8>]| {
            for (slot, &code) in slots.iter_mut().zip(&self.codes) {
                slot.write(ranks[usize::from(code)]);
            }
        })?;
        Ok(Codes::U8(codes))
    }
}

#[cfg(test)]
impl TextCodes {
    /// The codes of texts, told in some stretches; `None` if there are too few codes.
    pub(super) fn found(views: &[u128], heap: &[u8], random: &mut longshore_testing::Random) -> Option<TextCodes> {
        let text = |view: u128| crate::view::text(&view.to_le_bytes(), heap).to_vec();
        let mut entries: Vec<u128> = Vec::new();
        let mut numbers = std::collections::HashMap::new();
        let mut all = TextCodes::with_capacity(views.len());
        let mut left = views;
        while !left.is_empty() {
            let (stretch, rest) = left.split_at(1 + random.below(left.len()));
            let mut spare = all.spare(stretch.len());
            for (code, &view) in spare.codes.iter_mut().zip(stretch) {
                if entries.len() == ENTRIES_MAX && !numbers.contains_key(&text(view)) {
                    return None;
                }
                code.write(*numbers.entry(text(view)).or_insert_with(|| {
                    entries.push(view);
                    (entries.len() - 1) as u8
                }));
            }
            spare.stand_for(&entries);
            // SAFETY: all were written.
            assert!(unsafe { all.advance(stretch.len()) });
            left = rest;
        }
        Some(all)
    }
}
