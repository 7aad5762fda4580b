//! Step 2: the dialects worth a try: those whose bytes occur in the sample, and what the user gave.

use super::given::{Given, QuoteChoice};
use super::parse::Style;
use super::stretches::Stretches;

/// Delimiters of one byte, the more usual ones first: of two that are as good, the first is taken.
const BYTES: [u8; 12] = [b',', b'\t', b';', b'|', 0x01, 0x1F, 0x1E, b'^', b'~', b':', b' ', b'#'];

/// Delimiters of several bytes.
const SEQUENCES: [&[u8]; 22] = [
    b"||", b"::", b"|@|", b"\t|\t", b"|~|", b"~|~", b"|^|", b"^|^", b"~^~", b"~~", b"^^", b";;", b",,", b"|;|", b"|#|",
    b"#|#", b"@@", b"##", b"$$", b"%%", b"&&", b"<>",
];

const QUOTES: [Option<u8>; 3] = [Some(b'"'), None, Some(b'\'')];

/// Every dialect that may be the one of the text. Never empty.
pub(super) fn candidates(stretches: &Stretches<'_>, given: &Given) -> Vec<Style> {
    let occurs = |byte: u8| stretches.has(byte);
    let quotes: Vec<Option<u8>> = match given.quote {
        Some(quote) => vec![quote.byte()],
        // Who says what quotes within fields mean says that there are some.
        None if given.rules.stray_quotes.is_some() => vec![Some(b'"')],
        None => QUOTES.into_iter().filter(|quote| quote.is_none_or(occurs)).collect(),
    };
    let escapes: Vec<Option<u8>> = match given.escape {
        Some(escape) => vec![escape.byte()],
        None if occurs(b'\\') => vec![None, Some(b'\\')],
        None => vec![None],
    };
    let mut candidates = Vec::new();
    for delimiter in delimiters(stretches.head(), given) {
        for quote in &quotes {
            for escape in &escapes {
                let taken = |byte: &Option<u8>| byte.is_some_and(|byte| delimiter.contains(&byte));
                if taken(quote) || taken(escape) {
                    continue;
                }
                let escape = escape.filter(|escape| Some(*escape) != *quote);
                candidates.push(Style {
                    delimiter: delimiter.clone(),
                    quote: *quote,
                    escape,
                    comment: None,
                    escape_rule: given.rules.escape_rule,
                });
            }
        }
    }
    if candidates.is_empty() {
        let delimiter = given.delimiter.clone().unwrap_or_default();
        let quote = given.quote.and_then(QuoteChoice::byte);
        candidates.push(Style { delimiter, quote, ..Style::default() });
    }
    candidates
}

/// Delimiters that occur; the empty one, for a single column, last.
fn delimiters(sample: &[u8], given: &Given) -> Vec<Vec<u8>> {
    if let Some(delimiter) = &given.delimiter {
        return vec![delimiter.clone()];
    }
    let bytes = BYTES.into_iter().filter(|byte| memchr::memchr(*byte, sample).is_some()).map(|byte| vec![byte]);
    let sequences = SEQUENCES.into_iter().filter(|bytes| memchr::memmem::find(sample, bytes).is_some());
    bytes.chain(sequences.map(<[u8]>::to_vec)).chain([Vec::new()]).collect()
}

/// The delimiter that a first line `sep=;` names, as Excel writes and reads it.
pub(super) fn excel_separator(sample: &[u8]) -> Option<u8> {
    let line = sample.split(|byte| *byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.strip_prefix(b"sep=").or_else(|| line.strip_prefix(b"\"sep=")?.strip_suffix(b"\""))? {
        [delimiter] if delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() => Some(*delimiter),
        _ => None,
    }
}
