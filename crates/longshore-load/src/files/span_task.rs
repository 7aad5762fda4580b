//! A span that a worker claimed, and the file that it is of.
//!
//! Not here: parsing it (`worker`).

use std::sync::Arc;

use super::open_file::OpenFile;
use crate::error::LoadError;
use crate::span::Span;

/// A span that a worker claimed.
pub(crate) struct SpanTask {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) span: Span,
    /// Position in the order of all files, from 0 without gaps.
    pub(crate) sequence: u64,
}

impl SpanTask {
    /// What has been done when `text_bytes` more bytes of text are, in the bytes that progress is told in.
    pub(crate) fn bytes_done(&self, text_bytes: usize) -> u64 {
        self.file.bytes_done(text_bytes as u64)
    }

    /// The text of the span.
    pub(crate) fn text(&self) -> &[u8] {
        self.file.spans.text(&self.span)
    }

    /// The text of the span and all that may be read behind it.
    pub(crate) fn readable(&self) -> &[u8] {
        self.file.spans.readable(&self.span)
    }

    /// Line feeds of the file before the span, where they do not follow from the span before.
    pub(crate) fn lines_before(&self) -> Option<u64> {
        (self.span.sequence == 0).then(|| self.file.spans.lines_before(&self.span, self.span.offset))
    }

    /// To be called when the rows were taken or the span failed: gives its memory back and checks that the file is
    /// still whole.
    pub(crate) fn finish(&self) -> Result<(), LoadError> {
        self.file.spans.finish(&self.span)
    }
}
