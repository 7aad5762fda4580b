//! A rejected record: one thing that is wrong with it, and how many such records there may be.
//!
//! Not here: gathering rejects and writing them (`reject`).

use std::fmt;
use std::sync::Arc;

use longshore_csv::DefectKind;
use longshore_storage::Column;

use super::field::{BadField, Fault};

/// Bytes of a rejected record that are kept; what is longer is cut.
pub const REJECT_RECORD_BYTES_MAX: usize = 64 << 10;
/// Bytes of a bad value that are kept; what is longer is cut.
pub const REJECT_VALUE_BYTES_MAX: usize = 1 << 10;
/// Rejects that a report and an error show.
pub const REJECTS_SHOWN_MAX: usize = 10;

/// How many records may be rejected before the load fails.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RejectLimit {
    /// Any number.
    #[default]
    None,
    /// That many. The load fails at the next one, in the order of the files.
    Records(u64),
    /// That many of a hundred records, from 0 to 100. Known when all files are read.
    Percent(f64),
}

impl fmt::Display for RejectLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Records(records) => write!(f, "{records}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// One thing that is wrong with a record that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The file.
    pub file: Arc<str>,
    /// Line of the field's first byte, from 1, or of the record's where all of it is misshapen. Every line feed counts,
    /// also those inside quotes.
    pub line: u64,
    /// Offset of that byte in the file, from 0.
    pub byte: u64,
    /// The column; `None` where the record as a whole is misshapen.
    pub column: Option<RejectedColumn>,
    /// The raw text of the field, quotes included, cut after [`REJECT_VALUE_BYTES_MAX`].
    pub value: Option<Vec<u8>>,
    /// What is wrong, as a word.
    pub kind: DefectKind,
    /// What is wrong, as a part of a sentence.
    pub reason: String,
    /// What the user can do.
    pub remedy: String,
    /// Offset of the record's first byte in the file: the same for all rejects of a record, and for no other.
    pub record_byte: u64,
    /// The raw text of the record, line end excluded, cut after [`REJECT_RECORD_BYTES_MAX`].
    pub record: Arc<[u8]>,
}

/// A column as a reject names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedColumn {
    /// Its name.
    pub name: String,
    /// Its type, as in SQL.
    pub column_type: String,
}

impl RejectedColumn {
    pub(crate) fn of(column: &Column) -> Self {
        Self { name: column.name.clone(), column_type: column.column_type.to_string() }
    }
}

impl Reject {
    /// Bytes of memory that it takes, a shared record not counted.
    pub(crate) fn bytes(&self) -> usize {
        let column = self.column.as_ref().map_or(0, |column| column.name.len() + column.column_type.len());
        let value = self.value.as_ref().map_or(0, Vec::len);
        size_of::<Self>() + column + value + self.reason.len() + self.remedy.len()
    }
}

/// The message that a load would have stopped with.
impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BadField {
            file: self.file.to_string(),
            line: self.line,
            byte: self.byte,
            column: self.column.as_ref().map(|column| (column.name.clone(), column.column_type.clone())),
            value: self.value.clone().unwrap_or_else(|| self.record.to_vec()),
            reason: self.reason.clone(),
            remedy: self.remedy.clone(),
            fault: Fault::default(),
        }
        .fmt(f)
    }
}

/// Why a load failed that may reject only so many records.
#[derive(Clone, Debug, PartialEq)]
pub struct TooManyRejects {
    /// What was allowed.
    pub limit: RejectLimit,
    /// The first rejects, at most [`REJECTS_SHOWN_MAX`].
    pub first: Vec<Reject>,
}

/// Rejects that the message shows.
const REJECTS_IN_MESSAGE_MAX: usize = 3;

impl fmt::Display for TooManyRejects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            RejectLimit::Percent(percent) => write!(f, "more than {percent}% of the records were rejected")?,
            RejectLimit::Records(1) => f.write_str("more than 1 record was rejected")?,
            limit => write!(f, "more than {limit} records were rejected")?,
        }
        write!(f, " (REJECT_LIMIT {}); the first: ", self.limit)?;
        for (index, reject) in self.first.iter().take(REJECTS_IN_MESSAGE_MAX).enumerate() {
            write!(f, "{}{reject}", if index == 0 { "" } else { " | " })?;
        }
        Ok(())
    }
}
