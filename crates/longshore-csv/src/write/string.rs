//! Text and bytes, and the quoting of any value.

use std::error::Error;
use std::fmt;

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

/// Appends text, quoted if `force_quote` says so or if it would not be read as the same text otherwise: if it
/// equals the NULL text, holds a special byte or a line end, or is the end mark `\.` of older files.
///
/// # Errors
///
/// [`Unquotable`] if quotes are needed and the dialect has none; nothing is appended.
#[inline]
pub fn text(
    out: &mut Vec<u8>,
    bytes: &[u8],
    dialect: &Dialect,
    null_text: &[u8],
    force_quote: bool,
) -> Result<(), Unquotable> {
    if force_quote || needs_quotes(bytes, dialect, null_text) {
        return quoted(out, bytes, dialect);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Whether the values of a type, as the other functions here append them, never need quotes.
#[must_use]
pub fn is_safe(value_type: ValueType, dialect: &Dialect, null_text: &[u8]) -> bool {
    let alphabet: &[u8] = match value_type {
        ValueType::Boolean => b"tf",
        ValueType::Int16 | ValueType::Int32 | ValueType::Int64 => b"-0123456789",
        ValueType::Decimal64 { .. } | ValueType::Decimal128 { .. } => b"-.0123456789",
        ValueType::Float32 | ValueType::Float64 => b"-.0123456789eEINafinty",
        ValueType::Date | ValueType::Time | ValueType::Timestamp | ValueType::TimestampTz => b"-.: +0123456789",
        ValueType::Uuid => b"-0123456789abcdef",
        ValueType::Bytea => b"\\x0123456789abcdef",
        ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => return false,
    };
    let special = [Some(dialect.delimiter()), dialect.quote(), dialect.escape()];
    let may_be_null = !null_text.is_empty() && null_text.iter().all(|byte| alphabet.contains(byte));
    !may_be_null && !special.into_iter().flatten().any(|byte| alphabet.contains(&byte))
}

/// Quotes the value that was appended from `start` on, on the conditions of [`text`].
///
/// # Errors
///
/// As [`text`]; the value stays as it is.
///
/// # Panics
///
/// If `start` is beyond the end of `out`.
pub fn protect(
    out: &mut Vec<u8>,
    start: usize,
    dialect: &Dialect,
    null_text: &[u8],
    force_quote: bool,
) -> Result<(), Unquotable> {
    if !force_quote && !needs_quotes(&out[start..], dialect, null_text) {
        return Ok(());
    }
    if dialect.quote().is_none() {
        return Err(Unquotable);
    }
    let value = out.split_off(start);
    quoted(out, &value, dialect)
}

/// Appends `bytes` within quotes.
fn quoted(out: &mut Vec<u8>, bytes: &[u8], dialect: &Dialect) -> Result<(), Unquotable> {
    let quote = dialect.quote().ok_or(Unquotable)?;
    let escape = dialect.escape().unwrap_or(quote);
    out.push(quote);
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == quote || *byte == escape) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        out.extend_from_slice(&[escape, special[0]]);
        rest = &special[1..];
    }
    out.extend_from_slice(rest);
    out.push(quote);
    Ok(())
}

/// Whether `bytes` would not be read as they are.
#[inline]
fn needs_quotes(bytes: &[u8], dialect: &Dialect, null_text: &[u8]) -> bool {
    let delimiter = dialect.delimiter();
    // Where a byte has no role, the delimiter stands in for it.
    let quote = dialect.quote().unwrap_or(delimiter);
    let escape = dialect.escape().unwrap_or(delimiter);
    let special = |byte: u8| byte == delimiter || byte == quote || byte == escape || byte == b'\n' || byte == b'\r';
    // Sixteen at a time without a branch, which compilers turn into vector instructions.
    let (blocks, rest) = bytes.as_chunks::<16>();
    blocks.iter().any(|block| block.iter().fold(false, |any, byte| any | special(*byte)))
        || rest.iter().fold(false, |any, byte| any | special(*byte))
        || bytes == null_text
        || bytes == b"\\."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::exact;

    fn written(bytes: &[u8], dialect: &Dialect, null_text: &[u8]) -> Vec<u8> {
        let mut out = b"before,".to_vec();
        text(&mut out, bytes, dialect, null_text, false).unwrap();
        let mut protected = b"before,".to_vec();
        protected.extend_from_slice(bytes);
        protect(&mut protected, 7, dialect, null_text, false).unwrap();
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
        assert_eq!(text(&mut out, b"a|b", &dialect, b"", false), Err(Unquotable));
        assert_eq!(text(&mut out, b"a\"b", &dialect, b"", false), Ok(()));
        assert_eq!(out, b"a\"b");
        assert_eq!(protect(&mut out, 0, &dialect, b"a\"b", false), Err(Unquotable));
        assert_eq!(out, b"a\"b");
    }

    #[test]
    fn safety_follows_from_the_alphabet() {
        let dialect = Dialect::default();
        let colon = Dialect::new(b':', Some(b'"'), None).unwrap();
        assert!(is_safe(ValueType::Time, &dialect, b""));
        assert!(!is_safe(ValueType::Time, &colon, b""));
        assert!(is_safe(ValueType::Int32, &colon, b"\\N"));
        assert!(!is_safe(ValueType::Int32, &dialect, b"-1"));
        assert!(!is_safe(ValueType::Text, &dialect, b""));
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
