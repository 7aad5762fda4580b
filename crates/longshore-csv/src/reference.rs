//! The slow, obvious twin.
use crate::Dialect;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// First byte.
    pub start: usize,
    /// Byte behind the last, line end excluded.
    pub end: usize,
    /// Its fields.
    pub fields: Vec<RawField>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawField {
    /// First byte.
    pub start: usize,
    /// Byte behind the last.
    pub end: usize,
    /// Without quotes and escapes.
    pub value: Vec<u8>,
    /// Whether any of it is quoted.
    pub quoted: bool,
}

/// Why a text has no records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// An unquoted `\r` at this position that is not part of a line end.
    StrayCarriageReturn(usize),
    /// The quote at this position is never closed.
    UnterminatedQuote(usize),
}

/// All records of a text; the last one may lack its line end.
///
/// # Errors
/// If a `\r` is stray or a quote stays open.
pub fn records(text: &[u8], dialect: &Dialect) -> Result<Vec<RawRecord>, ReferenceError> {
    let _ = (text, dialect);
    todo!()
}
