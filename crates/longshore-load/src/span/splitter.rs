//! Cuts text serially after its last whole record: what streams, the safe mode and formats other than CSV need.

use std::sync::Arc;

use longshore_csv::{Dialect, Kernel, QuoteState, RECORD_BYTES_MAX, RecordFormat, TextTraits, record_start, survey};

use crate::error::LoadError;
use crate::options::TextFormat;

/// Bytes at the end of a text in which the last line end is first looked for.
const TAIL_BYTES: usize = 16 << 10;

/// Knows where records end.
pub(super) struct Splitter {
    kernel: Kernel,
    format: TextFormat,
}

impl Splitter {
    pub(super) fn new(format: &TextFormat, kernel: Kernel) -> Self {
        Self { kernel, format: format.clone() }
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// How many bytes at the start of `text`, which begins where a record begins, are whole records; all, if it is
    /// the end of the file.
    pub(super) fn complete(&self, text: &[u8], at_end: bool) -> usize {
        match &self.format {
            _ if at_end => text.len(),
            TextFormat::Csv(dialect) => self.last_record_end(dialect, text).unwrap_or(0),
            TextFormat::Other(format) => complete(format, text),
        }
    }

    /// Just behind the mark that ends the data, if the format has one and it stands in `records`.
    pub(super) fn end_of_data(&self, records: &[u8]) -> Option<usize> {
        match &self.format {
            TextFormat::Csv(_) => None,
            TextFormat::Other(format) => format.end_of_data(records),
        }
    }

    /// What a scan of `text` has to look for.
    pub(super) fn traits(&self, text: &[u8]) -> TextTraits {
        match &self.format {
            TextFormat::Csv(dialect) => survey(self.kernel, dialect, text).traits,
            // Rewritten text has traits of its own.
            TextFormat::Other(_) => TextTraits::ALL,
        }
    }

    /// Just after the last unquoted line feed of `text`, which begins where a record begins.
    fn last_record_end(&self, dialect: &Dialect, text: &[u8]) -> Option<usize> {
        let mut tail_bytes = TAIL_BYTES;
        loop {
            let mut position = text.len().saturating_sub(tail_bytes);
            let mut state = survey(self.kernel, dialect, &text[..position]).after(QuoteState::Outside);
            let mut last = None;
            while let Some(length) = record_start(self.kernel, dialect, &text[position..], state) {
                position += length;
                state = QuoteState::Outside;
                last = Some(position);
            }
            if last.is_some() || tail_bytes >= text.len() {
                return last;
            }
            tail_bytes *= 4;
        }
    }
}

fn complete(format: &Arc<dyn RecordFormat>, text: &[u8]) -> usize {
    let length = format.complete(text, false);
    assert!(length <= text.len(), "{format:?} cuts within the text");
    length
}

/// The bytes to look at next when no record ends in the first `bytes`.
pub(super) fn grow(name: &str, bytes: usize) -> Result<usize, LoadError> {
    if bytes >= RECORD_BYTES_MAX {
        return Err(LoadError::record_too_long(name));
    }
    Ok(bytes.saturating_mul(4).min(RECORD_BYTES_MAX))
}
