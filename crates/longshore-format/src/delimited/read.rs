//! Rewrites records as rows.
//!
//! A record that holds no special byte, as a search over many records at once tells, is cut at its delimiters and
//! copied as it is. The others are taken apart field by field.

use longshore_csv::format::dense::{Positions, positions};
use longshore_csv::{Defect, DefectKind, RepairKind, RowText, ShapeErrorKind};
use memchr::{memchr, memchr2, memchr3};

use super::field::{Ending, RawField};
use crate::QuoteCheck;
use crate::ahead::Ahead;
use crate::lines::{Fault, Line, trimmed};

use super::{Delimited, LongRecords, NulBytes, ShortRecords, StrayQuotes};

const UNCLOSED: &str = "opens a quote that is never closed";

/// What may be wrong with a record, the gravest first.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "any of them may be together")]
struct Faults {
    stray_return: bool,
    unclosed: bool,
    stray_quote: bool,
    nul: bool,
    /// A quote speaks against the dialect.
    doubt: bool,
}

/// The fields of a record, as far as their number matters.
#[derive(Clone, Copy, Debug)]
struct Count {
    found: usize,
    /// Whether nothing stands in the last one.
    ends_empty: bool,
    /// Whether nothing stands in any of those that are too many.
    rest_is_empty: bool,
}

impl Count {
    const NONE: Count = Count { found: 0, ends_empty: false, rest_is_empty: true };

    /// Counts a field, of which `expected` are no rest.
    fn add(&mut self, expected: usize, is_empty: bool) {
        self.ends_empty = is_empty;
        self.rest_is_empty &= is_empty || self.found < expected;
        self.found += 1;
    }
}

/// Where records are read from and what they are put into.
struct Reader<'a> {
    format: &'a Delimited,
    text: &'a [u8],
    rows: &'a mut RowText,
    defects: &'a mut Vec<Defect>,
    /// Rows that were there before.
    first_row: usize,
}

impl Delimited {
    /// Reads records until the text ends or the rows are full.
    pub(super) fn read_records(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        let first_row = rows.count();
        let mut reader = Reader { format: self, text, rows, defects, first_row };
        let (mut special, mut unclean) = (Ahead::NOTHING, Ahead::NOTHING);
        let mut at = 0;
        loop {
            at = self.behind_ignored(text, at);
            if at == text.len() {
                return at;
            }
            let Line { end, next, .. } = self.options.line_ends.line(text, at);
            let is_plain = special.is_free(text, at, end, |text| self.special(text));
            if is_plain && end - at <= self.options.record_bytes_max {
                let is_clean = unclean.is_free(text, at, end, |text| memchr2(b'"', 0x1F, text));
                reader.plain_record(at, end, is_clean);
                at = next;
            } else {
                at = reader.record(at);
            }
            if reader.rows.is_full() {
                return at;
            }
        }
    }

    /// The first byte for which a record has to be looked at field by field.
    fn special(&self, text: &[u8]) -> Option<usize> {
        match *self.specials {
            [a] => memchr(a, text),
            [a, b] => memchr2(a, b, text),
            [a, b, c] => memchr3(a, b, c, text),
            _ => text.iter().position(|byte| self.specials.contains(byte)),
        }
    }

    /// Whether nothing stands in a field that has this text.
    fn is_empty(&self, raw: &[u8]) -> bool {
        let raw = if self.options.trim { trimmed(raw) } else { raw };
        raw.is_empty() || self.options.nul == NulBytes::Strip && raw.iter().all(|byte| *byte == 0)
    }

    /// The next delimiter at or behind `from`, given where in the record at `start` its anchor stands.
    #[inline]
    fn delimiter_at(&self, text: &[u8], start: usize, from: usize, anchors: &mut Positions<'_>) -> Option<usize> {
        let offset = self.anchor.0;
        anchors.map(|at| start + at).find_map(|at| {
            let begin = at.checked_sub(offset).filter(|begin| *begin >= from)?;
            (self.delimiter.len() == 1 || text[begin..].starts_with(&self.delimiter)).then_some(begin)
        })
    }

    /// Appends a field.
    fn push(&self, text: &[u8], field: &RawField, rows: &mut RowText) {
        let raw = self.trimmed(text, field);
        let origin = field.start as u32;
        let strip = self.options.nul == NulBytes::Strip && memchr(0, raw).is_some();
        if !strip && !field.escaped && !field.quoted {
            rows.push_bare(raw, origin);
        } else if !strip && field.quoted && !field.stray_quote && field.unclosed.is_none() {
            if !field.escaped {
                rows.push_quoted(&raw[1..raw.len() - 1], origin);
            } else if self.quote == Some(b'"')
                && self.escape.is_none()
                && self.options.stray_quotes != StrayQuotes::Literal
            {
                rows.push_verbatim(raw, origin);
            } else {
                rows.open_quoted();
                self.content(raw, field, &mut |part| rows.extend_quoted(part));
                rows.close_quoted(origin);
            }
        } else if field.quoted || field.escaped {
            if !field.quoted && self.options.null_texts.iter().any(|null| **null == *raw) {
                rows.push_bare(raw, origin);
                return;
            }
            rows.open_quoted();
            self.content(raw, field, &mut |part| {
                if strip {
                    part.split(|byte| *byte == 0).for_each(|part| rows.extend_quoted(part));
                } else {
                    rows.extend_quoted(part);
                }
            });
            rows.close_quoted(origin);
        } else {
            let kept: Vec<u8> = raw.iter().copied().filter(|byte| *byte != 0).collect();
            rows.push_bare(&kept, origin);
        }
    }
}

impl Reader<'_> {
    /// Reads a record in which nothing is special but delimiters.
    fn plain_record(&mut self, start: usize, end: usize, is_clean: bool) {
        let Reader { format, text, ref mut rows, .. } = *self;
        if let [delimiter] = *format.delimiter
            && is_clean
            && !format.options.trim
            && !format.options.trailing_delimiter
            && rows.push_record(&text[start..end], delimiter, start as u32).is_ok()
        {
            return;
        }
        let expected = rows.fields();
        let mut from = start;
        let mut count = Count::NONE;
        let mut anchors = positions(format.anchor.1, &text[start..end]);
        loop {
            let delimiter = format.delimiter_at(text, start, from, &mut anchors);
            let to = delimiter.unwrap_or(end);
            if count.found < expected {
                if is_clean && !format.options.trim {
                    rows.push_clean_part(text, from, to);
                } else {
                    let raw = &text[from..to];
                    rows.push_bare(if format.options.trim { trimmed(raw) } else { raw }, from as u32);
                }
            }
            count.add(expected, format.is_empty(&text[from..to]));
            if delimiter.is_none() {
                break;
            }
            from = to + format.delimiter.len();
        }
        self.finish(start, end, count, false);
    }

    /// Reads the record at `start` field by field, and returns what is behind it.
    fn record(&mut self, start: usize) -> usize {
        let (format, text) = (self.format, self.text);
        let options = &format.options;
        let expected = self.rows.fields();
        let mut faults = Faults::default();
        let mut count = Count::NONE;
        let mut has_stray_quote = false;
        let mut at = start;
        loop {
            if let Some(field) = format.simple_field(text, at) {
                if count.found < expected && !faults.unclosed {
                    match format.quote {
                        _ if !field.quoted => self.rows.push_clean_part(text, at, field.end),
                        Some(b'"') => self.rows.push_verbatim_part(text, at, field.end),
                        _ => self.rows.push_quoted(&text[at + 1..field.end - 1], at as u32),
                    }
                }
                count.add(expected, field.end == at);
                if field.ending == Ending::Line {
                    self.end(start, field.end, faults, count, has_stray_quote);
                    return field.next;
                }
                at = field.next;
                continue;
            }
            let field = format.field(text, at, true);
            faults.stray_return |= field.stray_return;
            faults.unclosed |= field.unclosed.is_some();
            faults.stray_quote |= field.stray_quote && options.stray_quotes == StrayQuotes::Error;
            faults.doubt |= options.quote_check != QuoteCheck::Off
                && options.quote_check.is_contradicted(&text[field.start..field.end], &format.quoting());
            has_stray_quote |= field.stray_quote;
            faults.nul |= options.nul == NulBytes::Error && memchr(0, &text[field.start..field.end]).is_some();
            if count.found < expected && !faults.unclosed {
                format.push(text, &field, self.rows);
            }
            count.add(expected, format.is_empty(&text[field.start..field.end]));
            at = field.next;
            if field.ending != Ending::Delimiter {
                self.end(start, field.end, faults, count, has_stray_quote);
                return at;
            }
        }
    }

    /// Ends a record.
    fn end(&mut self, start: usize, end: usize, faults: Faults, count: Count, has_stray_quote: bool) {
        match self.fault(end - start, faults) {
            Some(fault) => self.reject(start, end, fault),
            None => self.finish(start, end, count, has_stray_quote),
        }
    }

    /// What is wrong with a record of `bytes` whatever the number of its fields.
    fn fault(&self, bytes: usize, faults: Faults) -> Option<Fault> {
        let bytes_max = self.format.options.record_bytes_max;
        let (kind, reason, remedy) = if bytes > bytes_max {
            return Some(Fault::too_long(bytes, bytes_max));
        } else if faults.stray_return {
            let reason = "found a carriage return that is neither quoted nor part of a line end";
            (DefectKind::LineEnd, reason, "quote the field, or set LINE_ENDS any if it ends a line")
        } else if faults.unclosed {
            (DefectKind::Quote, UNCLOSED, "close it, or set QUOTE to another character or NONE")
        } else if faults.stray_quote {
            let reason = "has a quote inside an unquoted field, or text behind a quoted one";
            (DefectKind::Quote, reason, "double quotes or escape them, or set STRAY_QUOTES literal")
        } else if faults.nul {
            let reason = "holds a NUL byte";
            (DefectKind::Encoding, reason, "set NUL_BYTES keep or strip, or check ENCODING")
        } else if faults.doubt {
            let (reason, remedy) = self.format.options.quote_check.message();
            (DefectKind::Dialect, reason, remedy)
        } else {
            return None;
        };
        Some(Fault::new(kind, reason, remedy))
    }

    /// Ends a record that has no fault but perhaps the number of its fields.
    fn finish(&mut self, start: usize, end: usize, count: Count, has_stray_quote: bool) {
        let options = &self.format.options;
        let expected = self.rows.fields();
        let Count { mut found, ends_empty, rest_is_empty } = count;
        if options.trailing_delimiter && ends_empty && found <= expected + 1 {
            // Behind the last delimiter there is no field.
            found -= 1;
            if found < expected {
                self.rows.cancel_field();
            }
        }
        if found < expected && options.short_records == ShortRecords::Reject {
            let kind = ShapeErrorKind::MissingFields { expected, found };
            self.reject(start, end, Fault::new(DefectKind::MissingFields, kind.reason(), kind.remedy()));
        } else if found > expected
            && match options.long_records {
                LongRecords::Reject => true,
                LongRecords::Truncate => false,
                LongRecords::TruncateEmpty => !rest_is_empty,
            }
        {
            let kind = ShapeErrorKind::ExtraFields { expected, found };
            self.reject(start, end, Fault::new(DefectKind::ExtraFields, kind.reason(), kind.remedy()));
        } else {
            if has_stray_quote && options.stray_quotes == StrayQuotes::Literal {
                self.rows.note_repair(RepairKind::StrayQuote);
            }
            if found < expected {
                self.rows.note_repair(RepairKind::Short);
            } else if found > expected && rest_is_empty {
                self.rows.note_repair(RepairKind::Long);
            }
            while self.rows.fields_begun() < expected {
                self.rows.push_missing(end as u32);
            }
            self.rows.end_record(start as u32, end as u32);
        }
    }

    fn reject(&mut self, start: usize, end: usize, fault: Fault) {
        self.rows.cancel_record();
        self.defects.push(fault.at(self.rows.count() - self.first_row, start, end));
    }
}
