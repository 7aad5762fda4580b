//! Finds the distinct values of a column, in their order, and which of them each row has (the thesis, 7.2.1: ordered
//! dictionary).

use super::domain::{Domain, Key};

/// Codes have at most 16 bits.
const ENTRIES_MAX: usize = 1 << 16;

/// A dictionary pays when a value occurs this many times on average.
const REPETITION_MIN: usize = 8;

/// After so many rows, a column of which nearly all values differ is given up.
const ROWS_TRIED: usize = 1 << 10;
const ENTRIES_TRIED_MAX: usize = ROWS_TRIED / 2;

/// Slots are many, so that few values share one.
const SLOTS_PER_ENTRY: usize = 4;

/// Values that share a hash are looked through one by one; where they are too many, there is no dictionary.
const PROBES_MAX: usize = 64;

/// No entry.
const FREE: u32 = u32::MAX;

/// Values that were met last are found again without a look at the table: so many, by their hashes.
const RECENT: usize = 256;

/// The most entries of a dictionary that pays for so many rows.
pub(super) fn entries_max(rows: usize) -> usize {
    (rows / REPETITION_MIN).min(ENTRIES_MAX)
}

/// Distinct values by an open hash table. Its memory is used again from column to column.
#[derive(Default)]
pub(super) struct Distinct {
    slots: Vec<u32>,
    keys: Vec<Key>,
    /// The distinct values, in their order.
    pub(super) entries: Vec<u128>,
    /// Which of them each row has.
    pub(super) codes: Vec<u16>,
}

impl Distinct {
    /// Finds the distinct ones of `values`; says whether there are few enough.
    // Within its caller, the loop would have no registers left.
    #[inline(never)]
    pub(super) fn find(
        &mut self,
        values: impl ExactSizeIterator<Item = u128>,
        entries_max: usize,
        domain: &impl Domain,
    ) -> bool {
        self.keys.clear();
        self.entries.clear();
        self.slots.clear();
        self.slots.resize((entries_max * SLOTS_PER_ENTRY).next_power_of_two(), FREE);
        let mut codes = std::mem::take(&mut self.codes);
        codes.clear();
        codes.resize(values.len(), 0);
        let mut recent = [(Key::default(), 0_u128, 0_u16); RECENT];
        let mut are_few = true;
        for (row, (value, code)) in values.zip(&mut codes).enumerate() {
            let key = domain.key(value);
            let hash = key.hash();
            let (recent_key, recent_value, recent_code) = &mut recent[hash as usize % RECENT];
            // Nearly always it is one of these, which costs no branch that could not be predicted.
            if *recent_key == key && row > 0 && domain.is_same(*recent_value, value) {
                *code = *recent_code;
                continue;
            }
            let Some(found) = self.find_or_add(key, value, hash, entries_max, domain) else {
                are_few = false;
                break;
            };
            if row < ROWS_TRIED && self.entries.len() > ENTRIES_TRIED_MAX {
                are_few = false;
                break;
            }
            if row == 0 {
                recent = [(key, value, found); RECENT];
            } else {
                (*recent_key, *recent_value, *recent_code) = (key, value, found);
            }
            *code = found;
        }
        self.codes = codes;
        are_few
    }

    /// The entry of a value, a new one if there is none; `None` if there are too many.
    fn find_or_add(
        &mut self,
        key: Key,
        value: u128,
        hash: u64,
        entries_max: usize,
        domain: &impl Domain,
    ) -> Option<u16> {
        let mask = self.slots.len() - 1;
        let first = (hash >> 8) as usize;
        for probe in 0..PROBES_MAX {
            let slot = &mut self.slots[first.wrapping_add(probe) & mask];
            let at = *slot as usize;
            if *slot == FREE {
                if self.entries.len() == entries_max {
                    return None;
                }
                *slot = self.entries.len() as u32;
                self.entries.push(value);
                self.keys.push(key);
                return Some(*slot as u16);
            }
            if self.keys[at] == key && domain.is_same(self.entries[at], value) {
                return Some(at as u16);
            }
        }
        None
    }

    /// Brings the entries, and with them the codes, into the order of their values.
    pub(super) fn sort(&mut self, domain: &impl Domain) {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by(|&one, &other| domain.compare(self.entries[one as usize], self.entries[other as usize]));
        let mut ranks = vec![0_u16; order.len()];
        for (rank, &entry) in order.iter().enumerate() {
            ranks[entry as usize] = rank as u16;
        }
        self.entries = order.iter().map(|&entry| self.entries[entry as usize]).collect();
        self.codes.iter_mut().for_each(|code| *code = ranks[usize::from(*code)]);
    }
}
