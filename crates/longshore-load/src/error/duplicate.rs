//! A record that has the key of another one, and where records stand.
//!
//! Not here: finding them (`places`).

use std::fmt;
use std::sync::Arc;

/// A record of a load has a key that there can only be one of, and that another record or a row has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The relation.
    pub relation: String,
    /// The index.
    pub index: String,
    /// The key, as text.
    pub key: String,
    /// Who has the key.
    pub first: KeyHolder,
    /// The first record, in the order of the files, that has a key which was there before.
    pub second: RecordPlace,
}

/// Who has a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyHolder {
    /// A row that was in the relation before the load.
    Relation,
    /// A record of the load.
    Record(RecordPlace),
}

/// Where a record stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// The file.
    pub file: Arc<str>,
    /// Line of its first byte, from 1, and offset of that byte in the file; `None` where the text cannot be read again.
    pub line_and_byte: Option<(u64, u64)>,
    /// Its number in the file.
    pub number: RecordNumber,
}

/// The number of a record in its file, from 1; header and skipped lines do not count, rejected records do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordNumber {
    /// This one.
    Exactly(u64),
    /// From the first to the second: which one, rejected records that cannot be read again leave open.
    Between(u64, u64),
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, Within(self))
    }
}

/// A place in a file that is known.
struct Within<'a>(&'a RecordPlace);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.line_and_byte, self.0.number) {
            (Some((line, byte)), _) => write!(f, "line {line}, byte {byte}"),
            (None, RecordNumber::Exactly(number)) => write!(f, "record {number}"),
            (None, RecordNumber::Between(from, to)) => write!(f, "one of the records {from} to {to}"),
        }
    }
}

impl KeyHolder {
    /// The holder as the subject of a sentence about a record of the file `file`.
    pub(crate) fn shown_beside(&self, file: &str) -> String {
        match self {
            Self::Relation => "the table".to_owned(),
            Self::Record(place) if *place.file == *file => match (place.line_and_byte, place.number) {
                (Some((line, _)), _) => format!("line {line}"),
                _ => Within(place).to_string(),
            },
            Self::Record(place) => match place.line_and_byte {
                Some((line, _)) => format!("{}: line {line}", place.file),
                None => place.to_string(),
            },
        }
    }
}

impl DuplicateKey {
    /// What is wrong with the second record, as a part of a sentence.
    pub(crate) fn reason(&self) -> String {
        let Self { relation, index, key, first, second } = self;
        let first = first.shown_beside(&second.file);
        format!("duplicate key {key} in {relation}: {index} allows it once, and {first} has it already")
    }
}

/// What the user can do.
pub(crate) const REMEDY: &str = "remove one of them, or say with ON_CONFLICT what becomes of them";

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {REMEDY}", self.second, self.reason())
    }
}
