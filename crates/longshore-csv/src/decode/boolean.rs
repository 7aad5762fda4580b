//! Booleans: the words that PostgreSQL and others write, or lists of others.

use std::mem::MaybeUninit;

use super::conversion::{Conversion, Exact};
use super::{Heap, Reason, ValueType, Values, exact};

/// A word of up to five bytes as a number, with its length in the highest byte.
const fn word(text: &[u8]) -> u64 {
    let mut word = 0;
    let len = (text.len() as u64) << 56;
    let mut at = text.len();
    while at > 0 {
        at -= 1;
        word = word << 8 | text[at] as u64;
    }
    word | len
}

const ONE: u64 = word(b"1");
const ZERO: u64 = word(b"0");
const T: u64 = word(b"t");
const F: u64 = word(b"f");
const TRUE: u64 = word(b"true");
const FALSE: u64 = word(b"false");

/// The conversion to 0 and 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boolean;

impl Exact for Boolean {
    type Value = u8;

    fn new(_: ValueType) -> Self {
        Boolean
    }

    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<u8>]> {
        if let Values::U8(slots) = values { Some(slots) } else { None }
    }

    fn exact(self, content: &[u8], _: &mut Heap<'_>) -> Result<u8, Reason> {
        exact::boolean(content).map(u8::from)
    }
}

impl Conversion for Boolean {
    #[inline(always)]
    unsafe fn fast(self, field: *const u8, len: usize, _: &mut Heap<'_>) -> Option<u8> {
        if len == 0 || len > 5 {
            return None;
        }
        let mask = (1 << (8 * len)) - 1;
        // SAFETY: the padding makes eight bytes readable.
        let text = u64::from_le(unsafe { field.cast::<u64>().read_unaligned() }) & mask | (len as u64) << 56;
        // The length counts: a zero byte behind the digit leaves the number as it is.
        if len == 1 && (text == ONE || text == ZERO) {
            return Some(u8::from(text == ONE));
        }
        // Makes letters small; no other byte becomes a letter by it.
        match text | 0x2020_2020_2020_2020 & mask {
            T | TRUE => Some(1),
            F | FALSE => Some(0),
            _ => None,
        }
    }
}

/// The words for true and false.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BooleanWords {
    /// What is true, in any case of ASCII letters; `None` for PostgreSQL's words and their unambiguous beginnings.
    pub truths: Option<Vec<Box<[u8]>>>,
    /// What is false, likewise.
    pub falsehoods: Option<Vec<Box<[u8]>>>,
}

impl BooleanWords {
    /// Whether both lists are PostgreSQL's.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.truths.is_none() && self.falsehoods.is_none()
    }

    /// A word that is true and false, with the option that lists it.
    pub(super) fn contradiction(&self) -> Option<(&[u8], &'static str)> {
        let lists = [("TRUE_VALUES", &self.truths, false), ("FALSE_VALUES", &self.falsehoods, true)];
        lists.into_iter().find_map(|(option, list, opposite)| {
            list.iter().flatten().find(|word| self.is(word, opposite)).map(|word| (&**word, option))
        })
    }

    /// Whether the word, without white space around it, means `value`.
    fn is(&self, word: &[u8], value: bool) -> bool {
        let list = if value { &self.truths } else { &self.falsehoods };
        match list {
            None => exact::boolean(word) == Ok(value),
            Some(words) => words.iter().any(|listed| listed.eq_ignore_ascii_case(word)),
        }
    }
}

/// A boolean by those words.
pub(crate) fn exact_word(words: &BooleanWords, bytes: &[u8]) -> Result<bool, Reason> {
    let word = exact::trim(bytes);
    if words.is(word, true) {
        Ok(true)
    } else if words.is(word, false) {
        Ok(false)
    } else if word.is_empty() {
        Err(Reason::Empty)
    } else {
        Err(Reason::Boolean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<Box<[u8]>> {
        words.iter().map(|word| word.as_bytes().into()).collect()
    }

    #[test]
    fn lists_of_words_replace_those_of_postgresql() {
        let words = BooleanWords { truths: Some(list(&["ja", "x"])), falsehoods: Some(list(&["nein", ""])) };
        assert_eq!(words.contradiction(), None);
        for (text, value) in [("JA", Ok(true)), (" x ", Ok(true)), ("Nein", Ok(false)), ("", Ok(false))] {
            assert_eq!(exact_word(&words, text.as_bytes()), value, "{text}");
        }
        for text in ["true", "1", "j", "xx"] {
            assert_eq!(exact_word(&words, text.as_bytes()), Err(Reason::Boolean), "{text}");
        }
        let only_truths = BooleanWords { truths: Some(list(&["x"])), falsehoods: None };
        assert_eq!(exact_word(&only_truths, b"off"), Ok(false));
        assert_eq!(exact_word(&only_truths, b"on"), Err(Reason::Boolean));
        assert_eq!(exact_word(&only_truths, b""), Err(Reason::Empty));
    }

    #[test]
    fn no_word_means_both() {
        let words = BooleanWords { truths: Some(list(&["y", "NO"])), falsehoods: None };
        assert_eq!(words.contradiction(), Some((&b"NO"[..], "TRUE_VALUES")));
        let words = BooleanWords { truths: Some(list(&["a"])), falsehoods: Some(list(&["b", "A"])) };
        assert_eq!(words.contradiction(), Some((&b"a"[..], "TRUE_VALUES")));
    }

    #[test]
    fn a_zero_byte_ends_no_word() {
        for text in [*b"0\0", *b"1\0", *b"t\0"] {
            let mut padded = [0; 8];
            padded[..2].copy_from_slice(&text);
            let mut heap = Heap::new(&mut [], 0);
            // SAFETY: eight bytes are readable.
            assert_eq!(unsafe { Boolean.fast(padded.as_ptr(), 2, &mut heap) }, None);
        }
    }
}
