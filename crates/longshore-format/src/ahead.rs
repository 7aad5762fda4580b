//! Looking for special bytes in many records at once.

/// How far ahead special bytes are looked for.
const AHEAD_BYTES: usize = 1 << 15;

/// Up to where a text is known to be free of some bytes. Asked about one record after the other, it looks at each byte
/// once, and not again for every record.
pub(crate) struct Ahead {
    /// Nothing of them stands before it, from the last text asked about on.
    free: usize,
    /// Whether one of them stands there.
    found: bool,
}

impl Ahead {
    pub(crate) const NOTHING: Ahead = Ahead { free: 0, found: false };

    /// Whether `find` finds nothing in `text[start..end]`.
    #[inline]
    pub(crate) fn is_free(
        &mut self,
        text: &[u8],
        start: usize,
        end: usize,
        find: impl Fn(&[u8]) -> Option<usize>,
    ) -> bool {
        if self.free < start {
            *self = Ahead { free: start, found: false };
        }
        while !self.found && self.free < end {
            let stop = (self.free + AHEAD_BYTES).min(text.len());
            match find(&text[self.free..stop]) {
                Some(offset) => *self = Ahead { free: self.free + offset, found: true },
                None => self.free = stop,
            }
        }
        self.free >= end
    }
}
