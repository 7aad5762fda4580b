//! Finds the distinct values of a column, in their order, and which of them each row has (the thesis, 7.2.1: ordered
//! dictionary).

use super::domain::Domain;

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

/// The most entries of a dictionary that pays for so many rows.
pub(super) fn entries_max(rows: usize) -> usize {
    (rows / REPETITION_MIN).min(ENTRIES_MAX)
}

/// Distinct values by an open hash table. Its memory is used again from column to column.
#[derive(Default)]
pub(super) struct Distinct {
    slots: Vec<u32>,
    /// The distinct values, in their order.
    pub(super) entries: Vec<u128>,
    /// Which of them each row has.
    pub(super) codes: Vec<u16>,
}

impl Distinct {
    /// Finds the distinct ones of `values`; says whether there are few enough.
    pub(super) fn find(
        &mut self,
        values: impl ExactSizeIterator<Item = u128>,
        entries_max: usize,
        domain: &impl Domain,
    ) -> bool {
        let Distinct { slots, entries, codes } = self;
        entries.clear();
        codes.clear();
        codes.resize(values.len(), 0);
        slots.clear();
        slots.resize((entries_max * SLOTS_PER_ENTRY).next_power_of_two(), FREE);
        let mask = slots.len() - 1;
        for (row, (value, code)) in values.zip(codes).enumerate() {
            let first = domain.hash(value) as usize;
            // Nearly always the first slot has the value, which costs no branch that could not be predicted.
            let slot = slots[first & mask];
            if let Some(entry) = entries.get(slot as usize)
                && domain.is_equal(*entry, value)
            {
                *code = slot as u16;
                continue;
            }
            let mut probes = 0;
            *code = loop {
                let slot = &mut slots[first.wrapping_add(probes) & mask];
                if *slot == FREE {
                    let is_lost = row < ROWS_TRIED && entries.len() == ENTRIES_TRIED_MAX;
                    if entries.len() == entries_max || is_lost {
                        return false;
                    }
                    *slot = entries.len() as u32;
                    entries.push(value);
                    break *slot as u16;
                }
                if domain.is_equal(entries[*slot as usize], value) {
                    break *slot as u16;
                }
                probes += 1;
                if probes == PROBES_MAX {
                    return false;
                }
            };
        }
        true
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
