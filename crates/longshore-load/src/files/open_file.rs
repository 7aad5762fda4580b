//! A file that is being read: its spans, its language, and how its fields are decoded.
//!
//! Not here: opening it (the module above).

use std::sync::Arc;

use longshore_csv::decode::{Advice, Reason};
use longshore_csv::{Dialect, Missing, RecordFormat, RowText, Shape};
use longshore_source::ByteCounter;
use longshore_storage::Column;

use crate::fields::FieldPlan;
use crate::input::InputFile;
use crate::span::Spans;

/// A file that is being read.
pub(crate) struct OpenFile {
    pub(crate) name: String,
    pub(crate) spans: Spans,
    pub(crate) language: Language,
    /// A plan per output.
    pub(crate) plans: Vec<FieldPlan>,
    /// Bytes that are scanned and decoded at a time.
    pub(crate) piece_bytes: usize,
    /// Whether a column asks for the numbers of records.
    pub(crate) is_numbered: bool,
    /// Number of its first span among those of all files.
    pub(crate) first_span: u64,
    /// What each field is, for messages.
    pub(crate) fields: Vec<Option<Column>>,
    /// What was to be opened.
    pub(crate) input: InputFile,
    /// For text that is made from other bytes: how many of those were read.
    pub(super) counter: Option<Arc<ByteCounter>>,
}

impl OpenFile {
    /// What to tell about the field `raw`, quotes included, at `position` of a record, that was refused for `reason`.
    pub(crate) fn advice(&self, position: usize, raw: &[u8], reason: Reason) -> Advice {
        let advice = self.plans.iter().find_map(|plan| plan.advice(position, raw, reason));
        advice.expect("a plan of the file read the field")
    }

    /// What has been done when `text_bytes` more bytes of text are, in the bytes that progress is told in.
    pub(super) fn bytes_done(&self, text_bytes: u64) -> u64 {
        self.counter.as_ref().map_or(text_bytes, |counter| counter.take())
    }

    /// The language in which the decoders get the rows.
    pub(crate) fn row_text(&self) -> Option<RowText> {
        match &self.language {
            Language::Csv { .. } => None,
            Language::Other { missing, .. } => Some(RowText::new(missing.clone(), self.piece_bytes)),
        }
    }
}

/// How the records of a file are read.
pub(crate) enum Language {
    Csv { dialect: Dialect, shape: Shape },
    Other { format: Arc<dyn RecordFormat>, missing: Vec<Missing> },
}
