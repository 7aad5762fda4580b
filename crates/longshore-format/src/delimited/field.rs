//! Where a field ends, and where the record that it is in does.
//!
//! Quoted text is left by a search for the quote, unquoted text of records without any special character is never
//! looked at here (`read`); only what stands outside quotes in the other records is looked at byte by byte, with one
//! table for all that may matter.

use memchr::{memchr, memchr2};

use super::{Delimited, EscapeRule, StrayQuotes};
use crate::lines::{LineEnds, is_blank};

/// What a field ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// A delimiter.
    Delimiter,
    /// A line end.
    Line,
    /// The end of the text.
    Text,
}

/// A field as it stands in the text.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "any of them may be together")]
pub(super) struct RawField {
    /// Its first byte.
    pub(super) start: usize,
    /// Behind its last byte.
    pub(super) end: usize,
    /// Behind what it ends with.
    pub(super) next: usize,
    /// What it ends with.
    pub(super) ending: Ending,
    /// Whether a quote in it quotes.
    pub(super) quoted: bool,
    /// Whether a character in it is protected, or not all quotes in it quote.
    pub(super) escaped: bool,
    /// Whether there is a quote where none is expected, or text behind one that closes.
    pub(super) stray_quote: bool,
    /// Whether there is a carriage return that is neither quoted nor part of a line end.
    pub(super) stray_return: bool,
    /// The quote that is never closed.
    pub(super) unclosed: Option<usize>,
}

/// A field without anything to look at closely.
pub(super) struct SimpleField {
    pub(super) end: usize,
    pub(super) next: usize,
    pub(super) ending: Ending,
    pub(super) quoted: bool,
}

impl Delimited {
    /// The field at `start` if it is as most are: none of its bytes means anything, or all stand in one pair of quotes.
    #[inline]
    pub(super) fn simple_field(&self, text: &[u8], start: usize) -> Option<SimpleField> {
        if !self.is_simple {
            return None;
        }
        let first = *text.get(start)?;
        let quoted = Some(first) == self.quote;
        let end = if quoted {
            let close = match self.escape {
                None => start + 1 + memchr(first, &text[start + 1..])?,
                Some((escape, _)) => start + 1 + memchr2(first, escape, &text[start + 1..])?,
            };
            if text[close] != first {
                return None;
            }
            close + 1
        } else {
            start + text[start..].iter().position(|byte| self.stops[usize::from(*byte)])?
        };
        let (next, ending) = match *text.get(end)? {
            b'\n' => (end + 1, Ending::Line),
            b'\r' if text.get(end + 1) == Some(&b'\n') => (end + 2, Ending::Line),
            _ if text[end..].starts_with(&self.delimiter) => (end + self.delimiter.len(), Ending::Delimiter),
            _ => return None,
        };
        Some(SimpleField { end, next, ending, quoted })
    }

    /// The field that begins at `start`. Where more text may follow (`at_end` is false), one that the text does not end
    /// for certain ends with [`Ending::Text`].
    pub(super) fn field(&self, text: &[u8], start: usize, at_end: bool) -> RawField {
        let mut field = RawField {
            start,
            end: text.len(),
            next: text.len(),
            ending: Ending::Text,
            quoted: false,
            escaped: false,
            stray_quote: false,
            stray_return: false,
            unclosed: None,
        };
        let mut at = start;
        let mut closed = None;
        if let Some(quote) = self.quote {
            let begin = if self.options.trim { self.behind_blanks(text, start) } else { start };
            if text.get(begin) == Some(&quote) {
                let Some(behind) = self.behind_quoted(text, begin, &mut field) else { return field };
                at = behind;
                closed = Some(behind);
            }
        }
        self.outside(text, at, at_end, &mut field);
        if let Some(closed) = closed
            && field.unclosed.is_none()
        {
            let behind = &text[closed..field.end];
            field.stray_quote |=
                if self.options.trim { behind.iter().any(|byte| !is_blank(*byte)) } else { !behind.is_empty() };
        }
        field
    }

    /// Goes on outside quotes from `at` to the end of the field.
    fn outside(&self, text: &[u8], mut at: usize, at_end: bool, field: &mut RawField) {
        while let Some(offset) = text[at..].iter().position(|byte| self.stops[usize::from(*byte)]) {
            at += offset;
            let byte = text[at];
            if let Some(length) = self.line_end(text, at, at_end) {
                (field.end, field.next, field.ending) = (at, at + length, Ending::Line);
                return;
            }
            if text[at..].starts_with(&self.delimiter) {
                (field.end, field.next, field.ending) = (at, at + self.delimiter.len(), Ending::Delimiter);
                return;
            }
            if Some(byte) == self.quote {
                field.stray_quote = true;
                if self.options.stray_quotes != StrayQuotes::Literal {
                    let Some(behind) = self.behind_quoted(text, at, field) else { return };
                    at = behind;
                    continue;
                }
            } else if byte == b'\r' {
                if at + 1 == text.len() {
                    // More text may make it a line end.
                    return;
                }
                field.stray_return = true;
            } else if Some(byte) == self.escape_outside {
                let protected = escaped_bytes(&text[at + 1..]);
                field.escaped |= protected > 0;
                at += protected;
            }
            at += 1;
        }
    }

    /// Behind the quote that closes the one at `open`, if one does; otherwise the field takes the whole text.
    fn behind_quoted(&self, text: &[u8], open: usize, field: &mut RawField) -> Option<usize> {
        let quote = text[open];
        let mut at = open + 1;
        field.quoted = true;
        loop {
            let found = match self.escape {
                None => memchr(quote, &text[at..]),
                Some((escape, _)) => memchr2(quote, escape, &text[at..]),
            };
            let Some(offset) = found else {
                field.unclosed = Some(open);
                return None;
            };
            at += offset;
            let next = text.get(at + 1).copied();
            let protects = match self.escape {
                None => next == Some(quote),
                Some((escape, _)) if text[at] != escape => false,
                Some((escape, EscapeRule::Quotes)) => next == Some(quote) || next == Some(escape),
                Some(_) => next.is_some(),
            };
            if protects {
                field.escaped = true;
                at += 2;
            } else if text[at] != quote {
                at += 1;
            } else if self.options.stray_quotes == StrayQuotes::Literal && !self.ends_behind(text, at + 1) {
                (field.escaped, field.stray_quote) = (true, true);
                at += 1;
            } else {
                return Some(at + 1);
            }
        }
    }

    /// Whether a field ends at `at`, blanks read over where they are trimmed. The end of the text counts.
    fn ends_behind(&self, text: &[u8], at: usize) -> bool {
        let at = if self.options.trim { self.behind_blanks(text, at) } else { at };
        at == text.len() || text[at..].starts_with(&self.delimiter) || self.line_end(text, at, true).is_some()
    }

    /// Behind blanks that are not part of a delimiter.
    fn behind_blanks(&self, text: &[u8], mut at: usize) -> usize {
        while text.get(at).is_some_and(|byte| is_blank(*byte)) && !text[at..].starts_with(&self.delimiter) {
            at += 1;
        }
        at
    }

    /// The length of the line end at `at`, if there is one.
    fn line_end(&self, text: &[u8], at: usize, at_end: bool) -> Option<usize> {
        match (text.get(at)?, text.get(at + 1)) {
            (b'\n', _) => Some(1),
            (b'\r', Some(b'\n')) => Some(2),
            (b'\r', Some(_)) => (self.options.line_ends == LineEnds::Any).then_some(1),
            (b'\r', None) => at_end.then_some(1),
            _ => None,
        }
    }

    /// Behind the comments and blank lines at `start`.
    pub(super) fn behind_ignored(&self, text: &[u8], mut start: usize) -> usize {
        while let Some(next) = self.behind_ignored_line(text, start) {
            start = next;
        }
        start
    }

    /// Behind the comment or blank line at `start`, if there is one.
    #[inline]
    pub(super) fn behind_ignored_line(&self, text: &[u8], start: usize) -> Option<usize> {
        let rest = &text[start..];
        let is_comment = self.comment.as_ref().is_some_and(|comment| rest.starts_with(comment));
        if rest.is_empty() || !is_comment && !self.options.skip_blank_lines {
            return None;
        }
        let line = self.options.line_ends.line(text, start);
        (is_comment || self.is_blank_line(&text[start..line.end])).then_some(line.next)
    }

    fn is_blank_line(&self, line: &[u8]) -> bool {
        line.is_empty() || self.options.trim && self.behind_blanks(line, 0) == line.len()
    }
}

/// How many bytes the escape before `behind` protects outside quotes.
pub(super) fn escaped_bytes(behind: &[u8]) -> usize {
    if behind.starts_with(b"\r\n") { 2 } else { behind.len().min(1) }
}
