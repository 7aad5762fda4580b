//! Rows in the plainest language: what every format but plain CSV is rewritten to.
//!
//! The text is CSV with a control character between fields and double quotes, so that NULL texts, forced NULLs and quoting mean what they mean
//! everywhere; it comes with its marks, so that it is never scanned. Beside each field stands where its original is.

use std::sync::LazyLock;

use super::dense::positions;
use crate::{Dialect, PADDING, Padded, RepairKind, Rows, Shape, TextTraits};

/// The language that formats are rewritten to.
static PLAIN: LazyLock<Dialect> =
    LazyLock::new(|| Dialect::new(DELIMITER, Some(QUOTE), None).expect("ASCII characters with a role each"));

/// The unit separator of ASCII: no NULL text holds it, and hardly any field does.
const DELIMITER: u8 = 0x1F;
const QUOTE: u8 = b'"';

/// Bytes that a field without quotes does not hold.
static NEEDS_QUOTES: [bool; 256] = {
    let mut needs = [false; 256];
    needs[QUOTE as usize] = true;
    needs[DELIMITER as usize] = true;
    needs[b'\n' as usize] = true;
    needs[b'\r' as usize] = true;
    needs
};

/// Fields of up to as many bytes are copied without a call.
const SHORT_BYTES: usize = 16;

/// What a field becomes that its record lacks or that is null without a text of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The NULL text, which stands where the record says that the field is null.
    pub null: Box<[u8]>,
    /// The text of the value where the record lacks the field; where there is none, it is null there as well.
    pub default: Option<Box<[u8]>>,
}

/// Rows under construction; made once and reused.
#[derive(Debug)]
pub struct RowText {
    text: Vec<u8>,
    /// The sentinel, then the end of each field.
    marks: Vec<u32>,
    /// Start of each field in the original.
    origins: Vec<u32>,
    /// Start and end of each record in the original.
    records: Vec<(u32, u32)>,
    /// The rows whose records are not quite what the format asks for, in their order, and what was done about it.
    repairs: Vec<(usize, RepairKind)>,
    missing: Vec<Missing>,
    bytes_max: usize,
    has_quotes: bool,
    traits: TextTraits,
}

impl RowText {
    /// No rows of as many fields as `missing` has, full with about `bytes_max` bytes of text.
    ///
    /// # Panics
    /// If there is no field.
    #[must_use]
    pub fn new(missing: Vec<Missing>, bytes_max: usize) -> RowText {
        assert!(!missing.is_empty(), "a row has at least one field");
        RowText {
            text: Vec::new(),
            marks: vec![u32::MAX],
            origins: Vec::new(),
            records: Vec::new(),
            repairs: Vec::new(),
            missing,
            bytes_max,
            has_quotes: false,
            traits: TextTraits::default(),
        }
    }

    /// Fields of every row.
    #[must_use]
    #[inline]
    pub fn fields(&self) -> usize {
        self.missing.len()
    }

    /// Number of finished rows.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// Whether no further record should be begun.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.text.len() >= self.bytes_max
    }

    /// Fields that the record under construction has so far.
    #[must_use]
    #[inline]
    pub fn fields_begun(&self) -> usize {
        self.origins.len() - self.count() * self.fields()
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.text.clear();
        self.marks.truncate(1);
        self.origins.clear();
        self.records.clear();
        self.repairs.clear();
        self.has_quotes = false;
    }

    /// Notes what was done about the record under construction, so that it became a row.
    pub fn note_repair(&mut self, kind: RepairKind) {
        self.repairs.push((self.count(), kind));
    }

    /// The rows whose records were repaired, in their order; a row may be there once for each kind.
    #[must_use]
    pub fn repairs(&self) -> &[(usize, RepairKind)] {
        &self.repairs
    }

    /// Appends a field as if it stood in CSV without quotes, so that it may be NULL.
    #[inline]
    pub fn push_bare(&mut self, content: &[u8], origin: u32) {
        if content.iter().any(|byte| NEEDS_QUOTES[usize::from(*byte)]) {
            // No NULL text of this language holds one of these, so that quoting the field does not change what it is.
            self.push_quoted(content, origin);
        } else {
            self.text.extend_from_slice(content);
            self.finish_field(origin);
        }
    }

    /// Appends a field like [`RowText::push_bare`] that holds neither a line end nor a double quote nor the unit
    /// separator: the caller knows, so that nobody looks.
    #[inline]
    pub fn push_clean(&mut self, content: &[u8], origin: u32) {
        debug_assert!(!content.iter().any(|byte| NEEDS_QUOTES[usize::from(*byte)]));
        self.text.extend_from_slice(content);
        self.finish_field(origin);
    }

    /// Appends the field `original[start..end]` as [`RowText::push_clean`] does, faster.
    #[inline]
    pub fn push_clean_part(&mut self, original: &[u8], start: usize, end: usize) {
        debug_assert!(!original[start..end].iter().any(|byte| NEEDS_QUOTES[usize::from(*byte)]));
        self.append_part(original, start, end);
        self.finish_field(start as u32);
    }

    /// Appends `text[start..end]` to the rows' text.
    #[inline]
    fn append_part(&mut self, text: &[u8], start: usize, end: usize) {
        let bytes = end - start;
        if bytes <= SHORT_BYTES
            && let Some(block) = text.get(start..start + SHORT_BYTES)
        {
            // A block of a length that is known is copied faster; what is too much of it is taken back.
            let length = self.text.len() + bytes;
            self.text.extend_from_slice(block);
            self.text.truncate(length);
        } else {
            self.text.extend_from_slice(&text[start..end]);
        }
    }

    /// Appends a whole record of fields between `delimiter` bytes, each as [`RowText::push_clean`] takes it, that stands
    /// at `start` of the original. Takes it only if it has as many fields as are expected.
    ///
    /// # Errors
    /// The number of fields that it has, where that is another.
    ///
    /// # Panics
    /// If a record is under construction.
    #[inline]
    pub fn push_record(&mut self, record: &[u8], delimiter: u8, start: u32) -> Result<(), usize> {
        assert_eq!(self.fields_begun(), 0, "no record is under construction");
        debug_assert!(!record.iter().any(|byte| NEEDS_QUOTES[usize::from(*byte)]));
        let base = self.text.len();
        self.text.extend_from_slice(record);
        self.text.push(b'\n');
        let expected = self.origins.len() + self.fields();
        self.origins.push(start);
        for at in positions(delimiter, record) {
            self.text[base + at] = DELIMITER;
            self.marks.push((base + at) as u32);
            self.origins.push(start + at as u32 + 1);
        }
        self.marks.push((base + record.len()) as u32);
        if self.origins.len() == expected {
            self.records.push((start, start + record.len() as u32));
            return Ok(());
        }
        let found = self.origins.len() + self.fields() - expected;
        self.cancel_record();
        Err(found)
    }

    /// Appends a field that is a value whatever it looks like, given with the double quotes around it and those inside
    /// it doubled.
    #[inline]
    pub fn push_verbatim(&mut self, quoted: &[u8], origin: u32) {
        self.push_verbatim_part(quoted, 0, quoted.len());
        if let Some(last) = self.origins.last_mut() {
            *last = origin;
        }
    }

    /// Appends the field `original[start..end]` as [`RowText::push_verbatim`] does, faster.
    #[inline]
    pub fn push_verbatim_part(&mut self, original: &[u8], start: usize, end: usize) {
        debug_assert!(end >= start + 2 && original[start] == QUOTE && original[end - 1] == QUOTE);
        self.has_quotes = true;
        self.append_part(original, start, end);
        self.finish_field(start as u32);
    }

    /// Appends a field that is a value whatever it looks like.
    #[inline]
    pub fn push_quoted(&mut self, content: &[u8], origin: u32) {
        self.open_quoted();
        self.extend_quoted(content);
        self.close_quoted(origin);
    }

    /// Begins a field like [`RowText::push_quoted`] whose content comes in parts.
    #[inline]
    pub fn open_quoted(&mut self) {
        self.has_quotes = true;
        self.text.push(QUOTE);
    }

    /// Appends to the content of the field that [`RowText::open_quoted`] began.
    #[inline]
    pub fn extend_quoted(&mut self, mut content: &[u8]) {
        while let Some(quote) = memchr::memchr(QUOTE, content) {
            self.text.extend_from_slice(&content[..=quote]);
            self.text.push(QUOTE);
            content = &content[quote + 1..];
        }
        self.text.extend_from_slice(content);
    }

    /// Ends the field that [`RowText::open_quoted`] began.
    #[inline]
    pub fn close_quoted(&mut self, origin: u32) {
        self.text.push(QUOTE);
        self.finish_field(origin);
    }

    /// Appends what a field is that the record lacks.
    #[inline]
    pub fn push_missing(&mut self, origin: u32) {
        let field = self.fields_begun();
        let missing = std::mem::take(&mut self.missing[field]);
        match &missing.default {
            Some(default) => self.push_quoted(default, origin),
            None => self.push_bare(&missing.null, origin),
        }
        self.missing[field] = missing;
    }

    /// Appends a field that the record has and that is null.
    #[inline]
    pub fn push_null(&mut self, origin: u32) {
        let field = self.fields_begun();
        let null = std::mem::take(&mut self.missing[field].null);
        self.push_bare(&null, origin);
        self.missing[field].null = null;
    }

    #[inline]
    fn finish_field(&mut self, origin: u32) {
        debug_assert!(self.fields_begun() < self.fields(), "a record has {} fields", self.fields());
        self.marks.push(self.text.len() as u32);
        self.origins.push(origin);
        self.text.push(DELIMITER);
    }

    /// Ends the record, which stands at `start..end` of the original, line end excluded.
    ///
    /// # Panics
    /// If it lacks fields or has too many.
    #[inline]
    pub fn end_record(&mut self, start: u32, end: u32) {
        assert_eq!(self.fields_begun(), self.fields(), "a record has as many fields as are expected");
        if let Some(last) = self.text.last_mut() {
            *last = b'\n';
        }
        self.records.push((start, end));
    }

    /// Takes back the last field of the record under construction.
    ///
    /// # Panics
    /// If it has none.
    pub fn cancel_field(&mut self) {
        assert!(self.fields_begun() > 0, "a field is to be taken back");
        self.marks.pop();
        self.origins.pop();
        let kept = if self.marks.len() == 1 { 0 } else { self.marks[self.marks.len() - 1] as usize + 1 };
        self.text.truncate(kept);
    }

    /// Takes back the fields of the record under construction.
    pub fn cancel_record(&mut self) {
        let whole = self.count() * self.fields();
        self.marks.truncate(1 + whole);
        self.origins.truncate(whole);
        let kept = if whole == 0 { 0 } else { self.marks[whole] as usize + 1 };
        self.text.truncate(kept);
        while self.repairs.last().is_some_and(|(row, _)| *row == self.count()) {
            self.repairs.pop();
        }
    }

    /// Makes the rows ready to be read; [`RowText::clear`] comes before the next ones.
    ///
    /// # Panics
    /// If a record is under construction.
    pub fn seal(&mut self) {
        assert_eq!(self.fields_begun(), 0, "no record is under construction");
        self.text.resize(self.text_bytes() + PADDING, 0);
        self.traits = TextTraits { quotes: self.has_quotes, carriage_returns: false, non_ascii: !self.text.is_ascii() };
    }

    /// The rows, after [`RowText::seal`].
    ///
    /// # Panics
    /// If they are not sealed.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        let text = Padded::new(&self.text, self.text_bytes());
        let shape = Shape { fields: self.missing.len(), trailing_delimiter: false };
        Rows::from_marks(text, &self.marks, shape, self.traits, &PLAIN)
    }

    fn text_bytes(&self) -> usize {
        self.marks.last().map_or(0, |mark| mark.wrapping_add(1) as usize)
    }

    /// The language that the rows are in.
    #[must_use]
    pub fn dialect() -> &'static Dialect {
        &PLAIN
    }

    /// The row and the column of the field that begins at `start` in the rows' text.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn locate(&self, start: u32) -> (usize, usize) {
        let field = self.marks[1..].partition_point(|mark| *mark < start);
        assert!(field < self.origins.len(), "no field begins at {start}");
        (field / self.fields(), field % self.fields())
    }

    /// Where the original of a row stands.
    #[must_use]
    pub fn record_origin(&self, row: usize) -> (u32, u32) {
        self.records[row]
    }

    /// Where the original of a field begins.
    #[must_use]
    pub fn field_origin(&self, row: usize, column: usize) -> u32 {
        self.origins[row * self.fields() + column]
    }
}

#[cfg(test)]
mod tests;
