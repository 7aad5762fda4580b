//! Looks at files again where they speak against the dialect that their beginning told: the sample proposes, the whole
//! file decides.
//!
//! A record that is none under the dialect (of another width, with a quote that fits nothing, never ended) ends the pass
//! as an error. Before anybody hears of it, the place joins the sample: if that tells another dialect, the files are read
//! anew by it, and otherwise the error stands. Where bad records are rejected, only quotes are a reason to look again,
//! and what cannot be told is rejected as ever. The first such record in the order of the files is the same for every
//! thread count, piece and span size, and so is what is found in the end. Not here: what a sample tells
//! (`longshore-format::sniff`).

use std::sync::Arc;

use longshore_format::sniff::{Family, Given, Place, Sniffed};
use longshore_source::{BYTE_ORDER_MARK, Input, read_up_to};
use longshore_storage::Memory;

use crate::control::Control;
use crate::error::LoadError;
use crate::files::OpenFile;
use crate::input::InputFile;

/// How often files are looked at.
const LOOKS_MAX: usize = 8;
/// Bytes of a place that join the sample.
const PLACE_BYTES: usize = 64 << 10;
/// Bytes in which the beginning of a line is looked for.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes of a stream that are read over at a time.
const SKIP_BYTES: usize = 1 << 20;

/// What was looked at so far.
#[expect(clippy::struct_excessive_bools, reason = "each says something else of the look")]
pub(super) struct Looks {
    /// What the user says, and the places.
    pub(super) given: Given,
    /// Whether quotes are checked.
    pub(super) checks: bool,
    /// Whether no other dialect is to be looked for: records that are not whole are repaired.
    pub(super) is_settled: bool,
    /// Whether they may be.
    repairs: bool,
    /// Whether bad records are rejected.
    is_lenient: bool,
    /// What was found each time.
    tried: Vec<String>,
    /// Columns that were found at last.
    columns: usize,
    /// What spoke against the last one.
    error: Option<LoadError>,
}

/// Why a pass ended.
pub(super) struct Failed {
    pub(super) error: LoadError,
    /// The file that the error is about, where one was being read.
    pub(super) file: Option<Arc<OpenFile>>,
}

impl From<LoadError> for Failed {
    fn from(error: LoadError) -> Self {
        Self { error, file: None }
    }
}

impl Looks {
    pub(super) fn new(given: Given, is_lenient: bool, repairs: bool) -> Self {
        Self { given, checks: true, is_settled: false, repairs, is_lenient, tried: Vec::new(), columns: 0, error: None }
    }

    /// Whether to read the files by what was found now, or to sample them once more.
    ///
    /// # Errors
    /// What spoke against what was found before, if the place tells of no other dialect. Lines as they are, in a single
    /// column, explain everything and are none.
    pub(super) fn take(&mut self, sniffed: &Sniffed) -> Result<bool, LoadError> {
        let found = format!("{sniffed} {:?}", sniffed.quote_check);
        let columns = sniffed.columns.len();
        if let Some(error) = self.error.take()
            && (self.tried.contains(&found) || columns == 1 && self.columns > 1)
        {
            match error {
                LoadError::Misshapen(_) if self.repairs => self.is_settled = true,
                _ if self.is_lenient => self.checks = false,
                error => return Err(error),
            }
            self.given.places.pop();
            return Ok(false);
        }
        self.tried.push(found);
        self.columns = columns;
        Ok(true)
    }

    /// Adds the place of an error to the sample, if a pass by what was found failed for a reason that another dialect
    /// may take away.
    ///
    /// # Errors
    /// The error itself if not.
    pub(super) fn note(
        &mut self,
        failed: Failed,
        found: &Sniffed,
        memory: &Arc<Memory>,
        control: &Control,
    ) -> Result<(), LoadError> {
        let Failed { error, file } = failed;
        let is_done = found.family.value != Family::Delimited || self.tried.len() >= LOOKS_MAX || !self.checks;
        if matches!(error, LoadError::Misshapen(_)) && self.repairs && (is_done || self.is_lenient || file.is_none()) {
            self.is_settled = true;
            return Ok(());
        }
        let (LoadError::Bad(bad) | LoadError::Misshapen(bad), Some(file), false) = (&error, file, is_done) else {
            return Err(error);
        };
        if bad.column.is_some() || file.input.reads_once || self.is_settled {
            return Err(error);
        }
        self.given.places.push(place(&file.input, bad.byte, memory, control)?);
        self.error = Some(error);
        Ok(())
    }
}

/// The text of a file from the beginning of the line of `byte` on.
fn place(input: &InputFile, byte: u64, memory: &Arc<Memory>, control: &Control) -> Result<Place, LoadError> {
    let source = input.open_counted(memory)?;
    let byte = usize::try_from(byte).unwrap_or(usize::MAX);
    let back = byte.min(LINE_BYTES_MAX);
    if let Some(all) = source.mapped() {
        let end = byte.saturating_add(PLACE_BYTES).min(all.len());
        return Ok(from_line_start(&all[(byte - back).min(end)..end], back, end == all.len()));
    }
    let (name, Input::Stream(mut reader)) = source.into_parts() else { unreachable!("what is not mapped is a stream") };
    let cancellation = control.cancellation();
    let mut left = byte - back;
    let mut text = Vec::new();
    while left > 0 {
        text.clear();
        if read_up_to(left.min(SKIP_BYTES), &mut reader, &mut text, &name, cancellation)? {
            break;
        }
        left -= text.len();
    }
    text.clear();
    let at_end = read_up_to(back + PLACE_BYTES, &mut reader, &mut text, &name, cancellation)?;
    Ok(from_line_start(&text, back, at_end))
}

/// The part of `text` that begins with the line in which byte `at` stands.
fn from_line_start(text: &[u8], at: usize, at_end: bool) -> Place {
    let before = &text[..at.min(text.len())];
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let text = &text[start..];
    Place { text: text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).to_vec(), at_end }
}
