//! What a field contains once its quotes and escapes are taken away.

use memchr::memchr2;

use super::field::{RawField, escaped_bytes};
use super::{Delimited, EscapeRule, StrayQuotes};
use crate::lines::is_blank;

impl Delimited {
    /// The bytes of a field without the blanks around it, if these are trimmed.
    pub(super) fn trimmed<'t>(&self, text: &'t [u8], field: &RawField) -> &'t [u8] {
        let mut raw = &text[field.start..field.end];
        if !self.options.trim {
            return raw;
        }
        while let [first, rest @ ..] = raw
            && is_blank(*first)
        {
            raw = rest;
        }
        // What an unclosed quote holds are no blanks outside quotes.
        while let [rest @ .., last] = raw
            && is_blank(*last)
            && field.unclosed.is_none()
            && !(field.escaped && self.ends_escaped(rest))
        {
            raw = rest;
        }
        raw
    }

    /// Whether `raw` ends with an escape outside quotes that protects what follows.
    fn ends_escaped(&self, raw: &[u8]) -> bool {
        let Some(escape) = self.escape_outside else { return false };
        raw.iter().rev().take_while(|byte| **byte == escape).count() % 2 == 1
    }

    /// Gives the contents of a field, trimmed as `raw`, to `emit`, in parts.
    pub(super) fn content(&self, raw: &[u8], field: &RawField, emit: &mut impl FnMut(&[u8])) {
        if !field.quoted {
            self.unescape(raw, emit);
            return;
        }
        let Some(quote) = self.quote else { return emit(raw) };
        if self.options.stray_quotes == StrayQuotes::Literal {
            // Only a quote that begins the field quotes, and only the last one closes.
            let close = raw.len() - usize::from(field.unclosed.is_none());
            self.unquote(&raw[1..close], quote, emit);
            return;
        }
        let mut rest = raw;
        while let Some(open) = self.quote_outside(rest, quote) {
            self.unescape(&rest[..open], emit);
            let close = self.unquote(&rest[open + 1..], quote, emit);
            rest = &rest[(open + close + 2).min(rest.len())..];
        }
        self.unescape(rest, emit);
    }

    /// The first quote of `raw`, which begins outside quotes, that is not protected.
    fn quote_outside(&self, raw: &[u8], quote: u8) -> Option<usize> {
        let mut at = 0;
        loop {
            at += memchr2(quote, self.escape_outside.unwrap_or(quote), &raw[at..])?;
            if raw[at] == quote {
                return Some(at);
            }
            at += 1 + escaped_bytes(&raw[at + 1..]);
        }
    }

    /// Gives text that stands outside quotes.
    fn unescape(&self, mut raw: &[u8], emit: &mut impl FnMut(&[u8])) {
        let Some(escape) = self.escape_outside else { return emit(raw) };
        while let Some(at) = memchr::memchr(escape, raw) {
            let protected = escaped_bytes(&raw[at + 1..]);
            if protected == 0 {
                break;
            }
            emit(&raw[..at]);
            self.protected(&raw[at + 1..=at + protected], emit);
            raw = &raw[at + 1 + protected..];
        }
        emit(raw);
    }

    /// Gives text that stands inside quotes, and returns where the quote that closes them stands, or its length. Where
    /// quotes are literal all of it stands inside them.
    fn unquote(&self, mut raw: &[u8], quote: u8, emit: &mut impl FnMut(&[u8])) -> usize {
        let all = raw.len();
        let literal = self.options.stray_quotes == StrayQuotes::Literal;
        let escape = self.escape.map_or(quote, |(escape, _)| escape);
        // What of `raw` is not looked at again: literal characters, kept to be given in one part.
        let mut kept = 0;
        while let Some(offset) = memchr2(quote, escape, &raw[kept..]) {
            let at = kept + offset;
            let next = raw.get(at + 1).copied();
            let protects = match self.escape {
                None => next == Some(quote),
                Some(_) if raw[at] != escape => false,
                Some((_, EscapeRule::Quotes)) => next == Some(quote) || next == Some(escape),
                Some(_) => next.is_some(),
            };
            if protects {
                emit(&raw[..at]);
                match self.escape {
                    None => emit(&raw[at + 1..at + 2]),
                    Some(_) => self.protected(&raw[at + 1..at + 2], emit),
                }
                raw = &raw[at + 2..];
                kept = 0;
            } else if raw[at] == quote && !literal {
                emit(&raw[..at]);
                return all - raw.len() + at;
            } else {
                kept = at + 1;
            }
        }
        emit(raw);
        all
    }

    /// Gives what a protected character stands for.
    fn protected(&self, bytes: &[u8], emit: &mut impl FnMut(&[u8])) {
        let letters = matches!(self.escape, Some((_, EscapeRule::Letters)));
        match bytes {
            b"0" if letters => emit(b"\0"),
            b"b" if letters => emit(b"\x08"),
            b"n" if letters => emit(b"\n"),
            b"r" if letters => emit(b"\r"),
            b"t" if letters => emit(b"\t"),
            b"Z" if letters => emit(b"\x1a"),
            _ => emit(bytes),
        }
    }
}
