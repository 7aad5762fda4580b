//! Finds the distinct values of a column, in their order, and which of them each row has (the thesis, 7.2.1: ordered
//! dictionary).

use std::mem::MaybeUninit;

use arrow_buffer::Buffer;

use super::domain::{Domain, Key, ShortTexts, Texts};
use super::{Codes, filled};
use crate::arena::{Arena, Plain};
use crate::memory::OutOfMemory;

/// Codes have at most 16 bits.
const ENTRIES_MAX: usize = 1 << 16;

/// A dictionary pays when a value occurs this many times on average.
const REPETITION_MIN: usize = 8;

/// After so many rows, a column of which nearly all values differ is given up.
const ROWS_TRIED: usize = 1 << 10;
const ENTRIES_TRIED_MAX: usize = ROWS_TRIED / 2;

/// Slots are many, so that few values share one.
const SLOTS_PER_ENTRY: usize = 4;
const SLOTS_MIN: usize = 1 << 10;

/// Values that share a hash are looked through one by one; where they are too many, there is no dictionary.
const PROBES_MAX: usize = 64;

/// No entry.
const FREE: u32 = u32::MAX;

/// The most entries of a dictionary that pays for so many rows.
pub(super) fn entries_max(rows: usize) -> usize {
    (rows / REPETITION_MIN).min(ENTRIES_MAX)
}

/// Distinct values by an open hash table. Its memory is used again from column to column.
#[derive(Default)]
pub(super) struct Distinct {
    slots: Vec<u32>,
    keys: Vec<Key>,
    /// The distinct values, in the order in which they were met; sorted, in their own.
    pub(super) entries: Vec<u128>,
    /// Which of them each row has, as they were met.
    codes: Vec<u16>,
    /// Where each of them stands when they are sorted.
    ranks: Vec<u16>,
}

/// Why values have no dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotFound {
    /// There are too many distinct ones.
    TooMany,
    /// One is not of the domain.
    Foreign,
}

impl Distinct {
    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
        self.codes.clear();
        self.slots.clear();
        self.slots.resize(SLOTS_MIN, FREE);
    }

    /// Takes in the values of further rows, up to the first that does not fit. There must be no more than `entries_max`
    /// distinct ones.
    // Within its caller, the loop would have no registers left.
    #[inline(never)]
    pub(super) fn add(
        &mut self,
        values: impl ExactSizeIterator<Item = u128>,
        entries_max: usize,
        domain: &impl Domain,
    ) -> Result<(), NotFound> {
        self.codes.reserve(values.len());
        for value in values {
            let key = domain.key(value);
            let hash = key.hash();
            let at = self.slots[hash as usize & (self.slots.len() - 1)] as usize;
            // Nearly always it is there, which costs no branch that could not be predicted.
            let code = if self.keys.get(at) == Some(&key) && domain.is_same(self.entries[at], value) {
                at as u16
            } else {
                self.find_or_add(key, value, entries_max, domain)?
            };
            if self.codes.len() < ROWS_TRIED && self.entries.len() > ENTRIES_TRIED_MAX {
                return Err(NotFound::TooMany);
            }
            self.codes.push(code);
        }
        Ok(())
    }

    /// Takes in texts, by their views; long ones lie in `heap`.
    pub(super) fn add_texts(&mut self, views: &[u128], heap: &[u8], entries_max: usize) -> Result<(), NotFound> {
        // Most columns have short texts alone, which need no look at the heap. Keys of short texts are the same for both.
        match self.add(views.iter().copied(), entries_max, &ShortTexts) {
            Err(NotFound::Foreign) => self.add(views[self.codes.len()..].iter().copied(), entries_max, &Texts { heap }),
            added => added,
        }
    }

    /// The entry of a value, a new one if there is none.
    #[inline(never)]
    fn find_or_add(
        &mut self,
        key: Key,
        value: u128,
        entries_max: usize,
        domain: &impl Domain,
    ) -> Result<u16, NotFound> {
        if !domain.has(value) {
            return Err(NotFound::Foreign);
        }
        let mask = self.slots.len() - 1;
        for probe in 0..PROBES_MAX {
            let slot = &mut self.slots[(key.hash() as usize).wrapping_add(probe) & mask];
            let at = *slot as usize;
            if *slot == FREE {
                if self.entries.len() == entries_max {
                    return Err(NotFound::TooMany);
                }
                *slot = self.entries.len() as u32;
                self.entries.push(value);
                self.keys.push(key);
                if self.entries.len() * SLOTS_PER_ENTRY > self.slots.len() {
                    self.grow();
                }
                return Ok((self.entries.len() - 1) as u16);
            }
            if self.keys[at] == key && domain.is_same(self.entries[at], value) {
                return Ok(at as u16);
            }
        }
        Err(NotFound::TooMany)
    }

    /// Makes twice as many slots.
    fn grow(&mut self) {
        let count = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(count, FREE);
        for (at, key) in self.keys.iter().enumerate() {
            let mut slot = key.hash() as usize & (count - 1);
            while self.slots[slot] != FREE {
                slot = (slot + 1) & (count - 1);
            }
            self.slots[slot] = at as u32;
        }
    }

    /// Brings the entries into the order of their values.
    pub(super) fn sort(&mut self, domain: &impl Domain) {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by(|&one, &other| domain.compare(self.entries[one as usize], self.entries[other as usize]));
        self.ranks.resize(order.len(), 0);
        for (rank, &entry) in order.iter().enumerate() {
            self.ranks[entry as usize] = rank as u16;
        }
        self.entries = order.iter().map(|&entry| self.entries[entry as usize]).collect();
    }

    /// Which of the sorted entries each row has; codes of one byte if they suffice.
    pub(super) fn codes(&self, arena: &mut Arena) -> Result<Codes, OutOfMemory> {
        Ok(if self.entries.len() <= 256 {
            let mut ranks = [0; 256];
            ranks.iter_mut().zip(&self.ranks).for_each(|(short, &rank)| *short = rank as u8);
            Codes::U8(self.ranked(|code| ranks[usize::from(code as u8)], arena)?)
        } else {
            Codes::U16(self.ranked(|code| self.ranks[usize::from(code)], arena)?)
        })
    }

    fn ranked<C: Plain>(&self, rank: impl Fn(u16) -> C, arena: &mut Arena) -> Result<Buffer, OutOfMemory> {
        filled(arena, self.codes.len(), |slots: &mut [MaybeUninit<C>]| {
            for (slot, &code) in slots.iter_mut().zip(&self.codes) {
                slot.write(rank(code));
            }
        })
    }
}
