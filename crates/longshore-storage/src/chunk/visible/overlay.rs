//! What a view sees otherwise than a chunk has it: rows that it does not see, and values that were.

/// A value that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    row: u32,
    is_null: bool,
    /// The stored bits, the lower half first: a `u128` would make the patch half as large again.
    bits: [u64; 2],
}

const _: () = assert!(size_of::<Patch>() <= 24);

impl Patch {
    fn new(row: usize, bits: Option<u128>) -> Patch {
        let of = bits.unwrap_or(0);
        Patch { row: row as u32, is_null: bits.is_none(), bits: [of as u64, (of >> 64) as u64] }
    }

    #[inline]
    pub(super) fn row(&self) -> usize {
        self.row as usize
    }

    #[inline]
    pub(super) fn is_null(&self) -> bool {
        self.is_null
    }

    /// The value's bytes, of which there are as many as its type has; zeros for NULL.
    #[inline]
    pub(super) fn bytes(&self) -> [u8; 16] {
        (u128::from(self.bits[0]) | u128::from(self.bits[1]) << 64).to_le_bytes()
    }
}

/// What a view sees otherwise than the chunk has it.
pub(crate) struct Overlay {
    rows: usize,
    /// Rows that are not seen, 64 in a word; empty as long as all are.
    hidden: Vec<u64>,
    hidden_rows: usize,
    /// Values that were, per column, in the order of rows.
    patches: Vec<Vec<Patch>>,
    /// Rows of which some have patches.
    changed: usize,
}

impl Overlay {
    /// One that hides the dead rows, for so many rows that were changed.
    pub(crate) fn new(rows: usize, columns: usize, dead: &[u64], changed: usize) -> Overlay {
        let mut hidden = dead.to_vec();
        if !hidden.is_empty() {
            hidden.resize(rows.div_ceil(64), 0);
        }
        Overlay { rows, hidden, hidden_rows: 0, patches: vec![Vec::new(); columns], changed }
    }

    pub(crate) fn hides(&self, row: usize) -> bool {
        self.hidden.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(crate) fn hide(&mut self, row: usize, hidden: bool) {
        if self.hidden.is_empty() {
            if !hidden {
                return;
            }
            self.hidden.resize(self.rows.div_ceil(64), 0);
        }
        let word = &mut self.hidden[row / 64];
        *word = *word & !(1 << (row % 64)) | u64::from(hidden) << (row % 64);
    }

    /// What a value was; the last call for a value holds, and rows come in order.
    pub(crate) fn patch(&mut self, column: usize, row: usize, bits: Option<u128>) {
        let (patches, patch) = (&mut self.patches[column], Patch::new(row, bits));
        match patches.last_mut() {
            Some(last) if last.row() == row => *last = patch,
            Some(_) => patches.push(patch),
            None => {
                // Most often rows are changed alike.
                patches.reserve_exact(self.changed);
                patches.push(patch);
            }
        }
    }

    /// The overlay, unless it changes nothing.
    pub(crate) fn finish(mut self) -> Option<Overlay> {
        self.hidden_rows = self.hidden.iter().map(|word| word.count_ones() as usize).sum();
        let is_empty = self.hidden_rows == 0 && self.patches.iter().all(Vec::is_empty);
        (!is_empty).then_some(self)
    }

    /// The first row from one on that is hidden, or that is not.
    #[inline]
    pub(super) fn next(&self, from: usize, hidden: bool) -> usize {
        if self.hidden_rows == 0 {
            return if hidden { self.rows } else { from };
        }
        let mut word = from / 64;
        let mut above = u64::MAX << (from % 64);
        while let Some(&bits) = self.hidden.get(word) {
            let wanted = if hidden { bits & above } else { !bits & above };
            if wanted != 0 {
                return word * 64 + wanted.trailing_zeros() as usize;
            }
            (word, above) = (word + 1, u64::MAX);
        }
        if hidden { self.rows } else { from.max(word * 64) }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.patches.len()
    }

    pub(crate) fn hidden_rows(&self) -> usize {
        self.hidden_rows
    }

    /// All patches of a column.
    pub(super) fn patches(&self, column: usize) -> &[Patch] {
        &self.patches[column]
    }

    /// The patches of some rows.
    pub(super) fn patches_of(&self, column: usize, offset: usize, len: usize) -> &[Patch] {
        let patches = &self.patches[column];
        if patches.is_empty() || len == self.rows {
            return patches;
        }
        let at = |row: usize| patches.partition_point(|patch| patch.row() < row);
        &patches[at(offset)..at(offset + len)]
    }
}
