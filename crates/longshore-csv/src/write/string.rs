//! Text and bytes, and the quoting of any value.

use std::error::Error;
use std::fmt;

use super::append;
use super::special::{CHUNK_BYTES, Special};
use crate::Dialect;
use crate::ValueType;

/// A value that this dialect cannot express, for want of a quote character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unquotable;

impl fmt::Display for Unquotable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the value must be quoted, but there is no quote character; set QUOTE, or another DELIMITER or NULL",
        )
    }
}

impl Error for Unquotable {}

/// Appends bytes as `\x` and lower-case hexadecimal digits.
pub fn bytea(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 + 2 * bytes.len());
    out.extend_from_slice(b"\\x");
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xF)]]));
}

/// When values are quoted, and how: a dialect and a NULL text, made ready for many values.
#[derive(Clone, Debug)]
pub struct Quoting<'a> {
    dialect: Dialect,
    null_text: &'a [u8],
    force_quote: bool,
    special: Special,
}

impl<'a> Quoting<'a> {
    /// Quotes every value if `force_quote` says so, else those that would not be read as the same text otherwise: that
    /// equal the NULL text, hold a special byte or a line end, or are the end mark `\.` of older files.
    #[must_use]
    pub fn new(dialect: &Dialect, null_text: &'a [u8], force_quote: bool) -> Quoting<'a> {
        let delimiter = dialect.delimiter();
        // Where a byte has no role, the delimiter stands in for it.
        let (quote, escape) = (dialect.quote().unwrap_or(delimiter), dialect.escape().unwrap_or(delimiter));
        let special = Special::new([delimiter, quote, escape, b'\n', b'\r']);
        Quoting { dialect: *dialect, null_text, force_quote, special }
    }

    /// Appends text, quoted where it must be.
    ///
    /// # Errors
    ///
    /// [`Unquotable`] if quotes are needed and the dialect has none; nothing is appended.
    #[inline]
    pub fn text(&self, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unquotable> {
        // What is copied is looked at on the way, and taken back in the rare case.
        let start = out.len();
        let (Some(first), Some(last)) = (bytes.first_chunk::<CHUNK_BYTES>(), bytes.last_chunk::<CHUNK_BYTES>()) else {
            return self.short_text(out, padded(bytes), bytes.len());
        };
        let mut found = self.special.is_in(first);
        out.extend_from_slice(first);
        for chunk in bytes[CHUNK_BYTES..].as_chunks::<CHUNK_BYTES>().0 {
            found |= self.special.is_in(chunk);
            out.extend_from_slice(chunk);
        }
        // The last chunk overlaps the one before it.
        found |= self.special.is_in(last);
        out.truncate(start + bytes.len() - CHUNK_BYTES);
        out.extend_from_slice(last);
        if found || self.is_exception(bytes) {
            out.truncate(start);
            return self.quoted(out, bytes);
        }
        Ok(())
    }

    /// Appends the first `len` of some bytes, of which the others are 0, as [`Quoting::text`] does.
    ///
    /// # Errors
    ///
    /// As [`Quoting::text`].
    ///
    /// # Panics
    ///
    /// If there are not as many.
    #[inline]
    pub fn short_text(&self, out: &mut Vec<u8>, bytes: [u8; CHUNK_BYTES], len: usize) -> Result<(), Unquotable> {
        // No dialect has a role for NUL.
        if self.special.is_in(&bytes) || self.is_exception(&bytes[..len]) {
            return self.quoted(out, &bytes[..len]);
        }
        append(out, bytes, len);
        Ok(())
    }

    /// Quotes the value that was appended from `start` on, on the conditions of [`Quoting::text`].
    ///
    /// # Errors
    ///
    /// As [`Quoting::text`]; the value stays as it is.
    ///
    /// # Panics
    ///
    /// If `start` is beyond the end of `out`.
    pub fn protect(&self, out: &mut Vec<u8>, start: usize) -> Result<(), Unquotable> {
        let value = out.split_off(start);
        let written = self.text(out, &value);
        if written.is_err() {
            out.extend_from_slice(&value);
        }
        written
    }

    /// Whether the values of a type, as the other functions here append them, never need quotes.
    #[must_use]
    pub fn is_safe(&self, value_type: ValueType) -> bool {
        let alphabet: &[u8] = match value_type {
            ValueType::Boolean => b"tf",
            ValueType::Int16 | ValueType::Int32 | ValueType::Int64 => b"-0123456789",
            ValueType::Decimal64 { .. } | ValueType::Decimal128 { .. } => b"-.0123456789",
            ValueType::Float32 | ValueType::Float64 => b"-+.0123456789eINafinty",
            ValueType::Date | ValueType::Time | ValueType::Timestamp | ValueType::TimestampTz => b"-.: +0123456789",
            ValueType::Numeric(_) => b"-.0123456789NaInfity",
            ValueType::Uuid => b"-0123456789abcdef",
            ValueType::Bytea => b"\\x0123456789abcdef",
            ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => return false,
        };
        let may_be_null = !self.null_text.is_empty() && self.null_text.iter().all(|byte| alphabet.contains(byte));
        let may_be_special = alphabet.iter().any(|byte| self.special.is_in(&[*byte; CHUNK_BYTES]));
        !self.force_quote && !may_be_null && !may_be_special
    }

    /// Whether bytes without a special one must be quoted all the same.
    #[inline(always)]
    fn is_exception(&self, bytes: &[u8]) -> bool {
        self.force_quote || bytes.len() == self.null_text.len() && bytes == self.null_text || bytes == END_MARK
    }

    /// Appends `bytes` within quotes.
    fn quoted(&self, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unquotable> {
        let quote = self.dialect.quote().ok_or(Unquotable)?;
        let escape = self.dialect.escape().unwrap_or(quote);
        out.reserve(bytes.len() + 2);
        out.push(quote);
        let (chunks, rest) = bytes.as_chunks::<CHUNK_BYTES>();
        for chunk in chunks {
            if self.special.is_in(chunk) {
                escaped(out, chunk, quote, escape);
            } else {
                out.extend_from_slice(chunk);
            }
        }
        escaped(out, rest, quote, escape);
        out.push(quote);
        Ok(())
    }
}

/// What ends the data in older files, as a line of its own.
const END_MARK: &[u8] = b"\\.";

/// Appends `bytes` with an escape before each quote and escape.
fn escaped(out: &mut Vec<u8>, bytes: &[u8], quote: u8, escape: u8) {
    for &byte in bytes {
        if byte == quote || byte == escape {
            out.push(escape);
        }
        out.push(byte);
    }
}

/// Up to `CHUNK_BYTES` bytes, and zeros behind them.
#[inline(always)]
fn padded(bytes: &[u8]) -> [u8; CHUNK_BYTES] {
    let mut padded = [0; CHUNK_BYTES];
    // Two copies of a known length that overlap, rather than one of any length.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        return (u128::from(first) | u128::from(last) << (8 * (bytes.len() - 8))).to_le_bytes();
    }
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::exact;

    fn written(bytes: &[u8], dialect: &Dialect, null_text: &[u8]) -> Vec<u8> {
        let quoting = Quoting::new(dialect, null_text, false);
        let mut out = b"before,".to_vec();
        quoting.text(&mut out, bytes).unwrap();
        let mut protected = b"before,".to_vec();
        protected.extend_from_slice(bytes);
        quoting.protect(&mut protected, 7).unwrap();
        assert_eq!(out, protected);
        out.split_off(7)
    }

    #[test]
    fn quotes_stand_where_they_are_needed() {
        let dialect = Dialect::default();
        assert_eq!(written(b"plain text", &dialect, b""), b"plain text");
        assert_eq!(written(b"", &dialect, b""), b"\"\"");
        assert_eq!(written(b"", &dialect, b"NULL"), b"");
        assert_eq!(written(b"NULL", &dialect, b"NULL"), b"\"NULL\"");
        assert_eq!(written(b"a,b", &dialect, b""), b"\"a,b\"");
        assert_eq!(written(b"a\"b", &dialect, b""), b"\"a\"\"b\"");
        assert_eq!(written(b"\\.", &dialect, b""), b"\"\\.\"");
        assert_eq!(written(b"\\.x", &dialect, b""), b"\\.x");
        for (at, byte) in (0..40).flat_map(|at| [b'\n', b'\r', b','].map(|byte| (at, byte))) {
            let mut bytes = vec![b'x'; 40];
            bytes[at] = byte;
            assert_eq!(written(&bytes, &dialect, b"").first(), Some(&b'"'));
        }
    }

    #[test]
    fn a_separate_escape_protects_quotes_and_itself() {
        let dialect = Dialect::new(b'|', Some(b'\''), Some(b'\\')).unwrap();
        assert_eq!(written(b"a'b\\c", &dialect, b""), b"'a\\'b\\\\c'");
        assert_eq!(written(b"a,b", &dialect, b""), b"a,b");
        assert_eq!(written(b"a|b", &dialect, b""), b"'a|b'");
    }

    #[test]
    fn without_a_quote_character_some_values_cannot_be_written() {
        let dialect = Dialect::new(b'|', None, None).unwrap();
        let mut out = Vec::new();
        let quoting = Quoting::new(&dialect, b"", false);
        assert_eq!(quoting.text(&mut out, b"a|b"), Err(Unquotable));
        assert_eq!(quoting.text(&mut out, &[b'|'; 40]), Err(Unquotable));
        assert_eq!(quoting.text(&mut out, b"a\"b"), Ok(()));
        assert_eq!(out, b"a\"b");
        assert_eq!(Quoting::new(&dialect, b"a\"b", false).protect(&mut out, 0), Err(Unquotable));
        assert_eq!(out, b"a\"b");
    }

    #[test]
    fn safety_follows_from_the_alphabet() {
        let dialect = Dialect::default();
        let colon = Dialect::new(b':', Some(b'"'), None).unwrap();
        let is_safe = |value_type, dialect, null_text| Quoting::new(dialect, null_text, false).is_safe(value_type);
        assert!(is_safe(ValueType::Time, &dialect, b""));
        assert!(!is_safe(ValueType::Time, &colon, b""));
        assert!(is_safe(ValueType::Int32, &colon, b"\\N"));
        assert!(!is_safe(ValueType::Int32, &dialect, b"-1"));
        assert!(!is_safe(ValueType::Text, &dialect, b""));
        assert!(!Quoting::new(&dialect, b"", true).is_safe(ValueType::Int32));
    }

    #[test]
    fn bytes_are_read_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut out = Vec::new();
        bytea(&mut out, &bytes);
        let mut read = Vec::new();
        exact::bytea(&out, &mut read).unwrap();
        assert_eq!(read, bytes);
    }
}
