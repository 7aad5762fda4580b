//! What formats must know of other options, and whether the records of a text end with a delimiter.
//!
//! The SIMD scan tells the latter by itself; for other delimited text the head of the file is looked at here.

use longshore_format::delimited::{Delimited, DelimitedOptions};
use longshore_load::{RecordFormat as _, TrailingDelimiter};

use super::Format;
use crate::Error;

/// What else was said that a format must know.
pub(super) struct Asked<'a> {
    pub(super) nulls: &'a [String],
    pub(super) trim: bool,
    pub(super) trailing_delimiter: TrailingDelimiter,
    pub(super) skip_lines: u64,
    pub(super) has_header: bool,
}

impl Asked<'_> {
    /// Refuses a header in formats that name their fields without one: it would take the place of a record.
    pub(super) fn check_header(&self, format: Option<Format>) -> Result<(), Error> {
        match format {
            Some(Format::Json | Format::JsonLines | Format::Logfmt | Format::Pattern) if self.has_header => {
                Err(Error::invalid(format!(
                    "option HEADER means nothing in FORMAT {}, whose fields have names without one; leave it out, or set \
                     SKIP for lines that are no records",
                    format.map_or("csv", Format::name)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether records end with a delimiter: where nothing is said, whether the first record of data has one field more
    /// than `columns`, and that is empty. `sample` is the head of the text.
    pub(super) fn ends_with_delimiter(
        &self,
        options: &DelimitedOptions,
        columns: usize,
        sample: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<bool, Error> {
        if self.trailing_delimiter != TrailingDelimiter::Auto {
            return Ok(self.trailing_delimiter == TrailingDelimiter::Yes);
        }
        let format = Delimited::new(options.clone()).map_err(|error| Error::invalid(error.to_string()))?;
        let head = sample()?;
        let mut text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
        for _ in 0..self.skip_lines {
            let end = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
            text = &text[end..];
        }
        if self.has_header
            && let Some(header) = format.first_record(text, true)
        {
            text = &text[header.bytes..];
        }
        let first = format.first_record(text, true);
        Ok(first
            .is_some_and(|first| first.fields.len() == columns + 1 && first.fields.last().is_some_and(Vec::is_empty)))
    }
}
