//! A text that may be read a little past its end.
//!
//! SIMD code loads whole registers. A text with [`PADDING`] readable bytes behind it needs no special case for
//! its last bytes: what is loaded from behind the end is masked away, so its value never matters.

/// Bytes behind the end of a [`Padded`] text that may be read (but mean nothing).
pub const PADDING: usize = 64;

/// A text followed by [`PADDING`] readable bytes.
#[derive(Clone, Copy, Debug)]
pub struct Padded<'a> {
    buffer: &'a [u8],
    len: usize,
}

impl<'a> Padded<'a> {
    /// The first `len` bytes of `buffer`.
    ///
    /// # Panics
    /// Unless `buffer` holds [`PADDING`] bytes behind the text.
    #[must_use]
    pub fn new(buffer: &'a [u8], len: usize) -> Padded<'a> {
        assert!(
            len.checked_add(PADDING).is_some_and(|needed| needed <= buffer.len()),
            "a text of {len} bytes needs {PADDING} readable bytes behind it, the buffer ends at {}",
            buffer.len()
        );
        Padded { buffer, len }
    }

    /// The text without what is behind it.
    #[must_use]
    #[inline]
    pub fn text(self) -> &'a [u8] {
        // SAFETY: `new` checked that `len` lies within the buffer.
        unsafe { self.buffer.get_unchecked(..self.len) }
    }

    /// The text and at least [`PADDING`] bytes behind it.
    #[must_use]
    #[inline]
    pub fn buffer(self) -> &'a [u8] {
        self.buffer
    }

    /// Length of the text in bytes, without the padding.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the text holds no byte.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_excludes_the_padding() {
        let buffer = [b'x'; PADDING + 3];
        let padded = Padded::new(&buffer, 3);
        assert_eq!(padded.text(), b"xxx");
        assert_eq!(padded.len(), 3);
        assert!(!padded.is_empty());
        assert!(Padded::new(&buffer, 0).is_empty());
    }

    #[test]
    #[should_panic(expected = "needs 64 readable bytes behind it")]
    fn missing_padding_is_a_bug() {
        let _ = Padded::new(&[0; PADDING + 2], 3);
    }
}
