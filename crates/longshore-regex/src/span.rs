//! Parts of a text.

/// Bytes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first one.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

impl Span {
    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Its part of `text`.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}
