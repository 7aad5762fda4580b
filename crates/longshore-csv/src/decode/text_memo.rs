//! Remembers what the raw fields of a column of text mean, as long as few of them differ.
//!
//! A column of flags, kinds or countries has the same few fields over and over. Where a field was read before, its bytes tell
//! its value: no quotes, blanks, NULL texts or UTF-8 need to be looked at again, and a long text is not copied to the heap
//! again. Beside the value, each row gets the number of it, its **code**: who packs the column has its dictionary at once.
//!
//! Fields are looked up in a hash table without collisions, 64 rows at a time and without a branch per row. If any of these
//! rows was not known, all of them are read in the usual way, and learned. A column is given up when a field is long, bad, or
//! one too many; its codes mean nothing then.
//!
//! Not here: reading a field in the usual way (`decode/text.rs`).

use std::mem::MaybeUninit;

use super::block::word;
use super::fields::Fields;

/// Rows that are looked up together.
pub(super) const BATCH_ROWS: usize = 64;

/// Codes take one byte.
const ENTRIES_MAX: usize = 1 << 8;

/// Words that are kept of a field.
const WORDS: usize = 4;

/// Longer fields are not remembered.
const FIELD_BYTES_MAX: usize = WORDS * 8;

/// So many slots that a few multipliers are enough to find one under which all entries lie apart. Only the slots of entries
/// are ever touched.
const SLOT_BITS: u32 = 15;

/// Multipliers that are tried before the fields are taken to have no such table.
const MULTIPLIERS_TRIED: u32 = 16;

/// An odd number whose bits look random.
const FIRST_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// By length, which bytes of each word belong to a field.
static MASKS: [[u64; WORDS]; FIELD_BYTES_MAX + 1] = {
    let mut masks = [[0; WORDS]; FIELD_BYTES_MAX + 1];
    let mut len = 0;
    while len <= FIELD_BYTES_MAX {
        let mut byte = 0;
        while byte < len {
            masks[len][byte / 8] |= 0xFF << (byte % 8 * 8);
            byte += 1;
        }
        len += 1;
    }
    masks
};

/// A field, as it is compared: its bytes, followed by zeros, and its length.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key<const W: usize> {
    words: [u64; W],
    len: usize,
}

impl<const W: usize> Key<W> {
    /// Of a field that may be too long; then its length tells.
    ///
    /// # Safety
    ///
    /// [`FIELD_BYTES_MAX`] bytes can be read at `raw`.
    #[inline(always)]
    unsafe fn of((raw, len): (*const u8, usize)) -> Key<W> {
        let masks = &MASKS[len.min(8 * W)];
        // SAFETY: as the caller promises.
        Key { words: std::array::from_fn(|at| unsafe { word(raw.add(8 * at)) } & masks[at]), len }
    }

    #[inline(always)]
    fn slot(self, multiplier: u64) -> usize {
        const ROTATIONS: [u32; WORDS] = [0, 27, 41, 13];
        let mixed = std::iter::zip(self.words, ROTATIONS).fold(0, |mixed, (word, by)| mixed ^ word.rotate_left(by));
        (mixed.wrapping_mul(multiplier) >> (u64::BITS - SLOT_BITS)) as usize
    }
}

/// What the raw fields of one column mean. Its memory is used again.
pub struct TextMemo {
    /// The entry of a slot. A free slot has entry 0, whose field tells that it does not belong there.
    codes: Box<[u8; 1 << SLOT_BITS]>,
    /// The words of the entries' fields, first words first.
    words: Box<[[u64; ENTRIES_MAX]; WORDS]>,
    lengths: Box<[usize; ENTRIES_MAX]>,
    views: Vec<u128>,
    /// The codes of NULL.
    nulls: Vec<u8>,
    multiplier: u64,
    /// The longest field of an entry.
    len_max: usize,
    /// Rows that have codes, of those that were read last.
    rows: usize,
    is_given_up: bool,
}

impl Default for TextMemo {
    fn default() -> TextMemo {
        TextMemo {
            codes: vec![0; 1 << SLOT_BITS].into_boxed_slice().try_into().expect("it has so many"),
            words: Box::new([[0; ENTRIES_MAX]; WORDS]),
            lengths: Box::new([0; ENTRIES_MAX]),
            views: Vec::with_capacity(ENTRIES_MAX),
            nulls: Vec::new(),
            multiplier: FIRST_MULTIPLIER,
            len_max: 0,
            rows: 0,
            is_given_up: false,
        }
    }
}

impl std::fmt::Debug for TextMemo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextMemo")
            .field("entries", &self.views.len())
            .field("is_given_up", &self.is_given_up)
            .finish_non_exhaustive()
    }
}

impl TextMemo {
    /// Forgets all fields, for a column whose long texts go to another heap.
    pub fn clear(&mut self) {
        self.free_slots();
        self.views.clear();
        self.nulls.clear();
        (self.len_max, self.rows, self.is_given_up) = (0, 0, false);
    }

    /// The values that codes stand for, that of code 0 first, as views; that of NULL is the empty text. Two of them may be
    /// equal. `None` if not all of the `rows` that were read last have codes.
    #[must_use]
    pub fn views(&self, rows: usize) -> Option<&[u128]> {
        (!self.is_given_up && self.rows == rows).then_some(&self.views)
    }

    /// Begins with further rows.
    pub(super) fn begin(&mut self) {
        self.rows = 0;
    }

    /// Takes the column for one of many different fields.
    pub(super) fn give_up(&mut self) {
        self.clear();
        self.is_given_up = true;
    }

    /// Whether the column was given up.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// Writes values and codes of some rows, of `first` and those behind it; says whether all of their fields were known. If
    /// not, what it wrote means nothing. `clear` is told of the rows that are NULL, if all were known.
    ///
    /// # Safety
    ///
    /// There are so many rows, and [`crate::PADDING`] readable bytes behind each field.
    #[inline(always)]
    pub(super) unsafe fn look_up(
        &mut self,
        fields: &Fields<'_>,
        first: usize,
        slots: &mut [MaybeUninit<u128>],
        codes: &mut [MaybeUninit<u8>],
        clear: impl FnMut(usize),
    ) -> bool {
        let rows = slots.len();
        // SAFETY: as the caller promises.
        let are_known = unsafe {
            match self.len_max {
                0..=8 => self.look_up_words::<1>(fields, first, slots, codes, clear),
                9..=16 => self.look_up_words::<2>(fields, first, slots, codes, clear),
                _ => self.look_up_words::<WORDS>(fields, first, slots, codes, clear),
            }
        };
        self.rows += if are_known { rows } else { 0 };
        are_known
    }

    /// The same, if the fields of all entries have at most so many words.
    #[inline(always)]
    unsafe fn look_up_words<const W: usize>(
        &self,
        fields: &Fields<'_>,
        first: usize,
        slots: &mut [MaybeUninit<u128>],
        codes: &mut [MaybeUninit<u8>],
        mut clear: impl FnMut(usize),
    ) -> bool {
        assert_eq!(slots.len(), codes.len(), "a code for each value");
        if self.views.is_empty() {
            return false;
        }
        let mut difference = 0;
        for (at, (slot, code)) in slots.iter_mut().zip(&mut *codes).enumerate() {
            // SAFETY: the row exists, and its field can be read with padding behind.
            let key = unsafe { Key::<W>::of(fields.at(first + at)) };
            let found = usize::from(self.codes[key.slot(self.multiplier)]);
            for (word, words) in key.words.iter().zip(&*self.words) {
                difference |= word ^ words[found];
            }
            difference |= (key.len ^ self.lengths[found]) as u64;
            // SAFETY: slots lead to entries that there are; free ones to the first.
            slot.write(unsafe { *self.views.get_unchecked(found) });
            code.write(found as u8);
        }
        if difference != 0 {
            return false;
        }
        for &null in &self.nulls {
            // SAFETY: the loop above has written all codes.
            let is_null = |code: &MaybeUninit<u8>| unsafe { code.assume_init() } == null;
            codes.iter().enumerate().filter(|(_, code)| is_null(code)).for_each(|(at, _)| clear(first + at));
        }
        true
    }

    /// Learns the fields of some rows that were read, none of which is bad, and writes their codes. `is_null` says of a row
    /// whether it is.
    ///
    /// # Safety
    ///
    /// There are so many rows, [`crate::PADDING`] readable bytes behind each field, and the slots were written.
    pub(super) unsafe fn learn(
        &mut self,
        fields: &Fields<'_>,
        first: usize,
        slots: &[MaybeUninit<u128>],
        codes: &mut [MaybeUninit<u8>],
        is_null: impl Fn(usize) -> bool,
    ) {
        for (at, (slot, code)) in slots.iter().zip(codes).enumerate() {
            // SAFETY: as the caller promises.
            let (key, view) = unsafe { (Key::of(fields.at(first + at)), slot.assume_init()) };
            match self.code_of(key, view, || is_null(first + at)) {
                Some(found) => code.write(found),
                None => return self.give_up(),
            };
        }
        self.rows += slots.len();
    }

    /// The code of a field, a new one if there is none; `None` if there can be no more.
    fn code_of(&mut self, key: Key<WORDS>, view: u128, is_null: impl Fn() -> bool) -> Option<u8> {
        let slot = key.slot(self.multiplier);
        let found = self.codes[slot];
        if usize::from(found) < self.views.len() && self.key(found.into()) == key {
            return Some(found);
        }
        if key.len > FIELD_BYTES_MAX || self.views.len() == ENTRIES_MAX {
            return None;
        }
        let entry = self.views.len();
        for (words, word) in self.words.iter_mut().zip(key.words) {
            words[entry] = word;
        }
        self.lengths[entry] = key.len;
        self.len_max = self.len_max.max(key.len);
        self.views.push(view);
        if is_null() {
            self.nulls.push(entry as u8);
        }
        let lies_apart = if self.is_free(slot, entry) {
            self.codes[slot] = entry as u8;
            true
        } else {
            self.rehash()
        };
        lies_apart.then_some(entry as u8)
    }

    /// Tries further multipliers until all entries lie apart.
    fn rehash(&mut self) -> bool {
        (0..MULTIPLIERS_TRIED).any(|_| {
            self.free_slots();
            self.multiplier = self.multiplier.wrapping_mul(FIRST_MULTIPLIER);
            (0..self.views.len()).all(|entry| {
                let slot = self.key(entry).slot(self.multiplier);
                let is_free = self.is_free(slot, entry);
                if is_free {
                    self.codes[slot] = entry as u8;
                }
                is_free
            })
        })
    }

    fn free_slots(&mut self) {
        for entry in 0..self.views.len() {
            let slot = self.key(entry).slot(self.multiplier);
            self.codes[slot] = 0;
        }
    }

    /// Whether none of the first `entries` entries has this slot.
    fn is_free(&self, slot: usize, entries: usize) -> bool {
        let entry = usize::from(self.codes[slot]);
        entry >= entries || self.key(entry).slot(self.multiplier) != slot
    }

    fn key(&self, entry: usize) -> Key<WORDS> {
        Key { words: std::array::from_fn(|at| self.words[at][entry]), len: self.lengths[entry] }
    }
}
