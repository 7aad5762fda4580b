//! What of a text is looked at to tell its dialect: its beginning, where quotes first occur if that is later, and places
//! that a closer look at the whole text found to speak against what the beginning told.
//!
//! Not here: what they tell (`score`, `quoting`).

use super::given::Given;
use super::parse::{Limits, LineBreaks, Parsed, Style, parse_within};

/// Of the beginning.
const HEAD: Limits = Limits { records: 400, bytes: 48 << 10, records_min: 8 };
/// Of each other place.
const PLACE: Limits = Limits { records: 100, bytes: 16 << 10, records_min: 2 };

/// Stretches of a text, each of which begins where a record begins.
pub(super) struct Stretches<'a> {
    breaks: LineBreaks,
    /// The sample, and whether nothing follows it.
    sample: (&'a [u8], bool),
    /// The same of each other place.
    places: Vec<(&'a [u8], bool)>,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(sample: &'a [u8], at_end: bool, given: &'a Given, breaks: LineBreaks) -> Stretches<'a> {
        let mut stretches = Stretches { breaks, sample: (sample, at_end), places: Vec::new() };
        let looked_at = stretches.parse(&Style::default()).bytes;
        for quote in [b'"', b'\''] {
            // The lines before have none, so that this one begins a record.
            if let Some(at) = first_quote(sample, quote).filter(|at| *at >= looked_at) {
                let start = memchr::memrchr(breaks.byte(), &sample[..at]).map_or(0, |end| end + 1);
                stretches.places.push((&sample[start..], at_end));
            }
        }
        stretches.places.extend(given.places.iter().map(|place| (&place.text[..], place.at_end)));
        stretches
    }

    /// The sample.
    pub(super) fn head(&self) -> &'a [u8] {
        let sample = self.sample.0;
        &sample[..sample.len().min(HEAD.bytes)]
    }

    /// Whether a byte occurs anywhere.
    pub(super) fn has(&self, byte: u8) -> bool {
        self.all().any(|(text, _)| memchr::memchr(byte, text).is_some())
    }

    /// What all stretches are, taken apart.
    pub(super) fn parse(&self, style: &Style) -> Parsed {
        let (sample, at_end) = self.sample;
        let mut parsed = parse_within(sample, at_end, style, self.breaks, HEAD);
        for (text, at_end) in &self.places {
            parsed.join(parse_within(text, *at_end, style, self.breaks, PLACE));
        }
        parsed
    }

    fn all(&self) -> impl Iterator<Item = (&'a [u8], bool)> {
        std::iter::once(self.sample).chain(self.places.iter().copied())
    }
}

/// Where a quote first occurs; of apostrophes, one that does not stand behind a letter or a digit.
fn first_quote(sample: &[u8], quote: u8) -> Option<usize> {
    let is_quote = |at: &usize| quote == b'"' || *at == 0 || !sample[at - 1].is_ascii_alphanumeric();
    memchr::memchr_iter(quote, sample).find(is_quote)
}
