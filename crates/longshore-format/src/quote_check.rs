//! What speaks against quotes that a sample told: a sample proposes, the whole text decides.
//!
//! A quote is what the sample takes it for only as long as no field says otherwise. The checks here see every field of
//! a text whose quoting was found out rather than given. Not here: what the sample tells (`sniff`), and what becomes of
//! a text that a field speaks against (`longshore-load` looks again, with that place in the sample).

use memchr::{memchr, memchr2};

/// What holds of the quotes in every field if they are what they were taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QuoteCheck {
    /// Anything: somebody said what quotes are, or the sample showed that they are nothing.
    #[default]
    Off,
    /// Nothing quotes: no field begins with a quote.
    Unquoted,
    /// A field with a quote begins and ends with one, and those between are protected.
    Whole,
    /// Quotes may be a part of a value. In a field that begins with one they are not if it holds a delimiter or a line
    /// end: where that field ends would be a guess.
    Literal,
}

/// The characters that a check needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Quoting<'a> {
    /// What quotes, or what would where nothing does.
    pub quote: u8,
    /// What protects a quote; without one, they are doubled.
    pub escape: Option<u8>,
    /// What stands between fields.
    pub delimiter: &'a [u8],
}

impl QuoteCheck {
    /// Whether `field`, as it stands in the text, speaks against what quotes were taken for.
    #[must_use]
    pub fn is_contradicted(self, field: &[u8], quoting: &Quoting<'_>) -> bool {
        match self {
            QuoteCheck::Off => false,
            QuoteCheck::Unquoted => without_blanks(field).first() == Some(&quoting.quote),
            QuoteCheck::Whole => !is_whole(field, quoting),
            QuoteCheck::Literal => {
                without_blanks(field).first() == Some(&quoting.quote)
                    && !is_whole(field, quoting)
                    && (memchr(b'\n', field).is_some() || memchr::memmem::find(field, quoting.delimiter).is_some())
            }
        }
    }

    /// What is to be said of such a field: what is wrong with it, and what to do.
    #[must_use]
    pub fn message(self) -> (&'static str, &'static str) {
        match self {
            QuoteCheck::Off | QuoteCheck::Unquoted => (
                "a field begins with a quote, and nothing else in the file tells whether it quotes",
                "set QUOTE '\"' if it does and close it, or QUOTE NONE if it is a part of the value",
            ),
            QuoteCheck::Whole => (
                "a quote stands inside an unquoted field, or text behind a quoted one",
                "double the quotes inside of fields, or set ESCAPE to what protects them, STRAY_QUOTES literal if they \
                 are a part of the value, or QUOTE NONE if nothing is quoted",
            ),
            QuoteCheck::Literal => (
                "a quoted field holds quotes that nothing protects beside delimiters or line ends, so that its end would \
                 be a guess",
                "double the quotes inside of it, or set STRAY_QUOTES literal, or QUOTE NONE if nothing is quoted",
            ),
        }
    }
}

/// Whether a field has no quotes, or one at each end and only protected ones between; blanks around them aside.
fn is_whole(field: &[u8], quoting: &Quoting<'_>) -> bool {
    let Quoting { quote, escape, .. } = *quoting;
    let Some(first) = memchr(quote, field) else { return true };
    if field[..first].iter().any(|byte| *byte != b' ') {
        return false;
    }
    let escape = escape.unwrap_or(quote);
    let mut at = first + 1;
    while let Some(offset) = memchr2(quote, escape, &field[at..]) {
        at += offset;
        let next = field.get(at + 1).copied();
        if field[at] == escape && next.is_some_and(|next| next == quote || next == escape) {
            at += 2;
        } else if field[at] == quote {
            return field[at + 1..].iter().all(u8::is_ascii_whitespace);
        } else {
            at += 1;
        }
    }
    false
}

fn without_blanks(field: &[u8]) -> &[u8] {
    let blanks = field.iter().take_while(|byte| **byte == b' ').count();
    &field[blanks..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn against(check: QuoteCheck, escape: Option<u8>, field: &str) -> bool {
        check.is_contradicted(field.as_bytes(), &Quoting { quote: b'"', escape, delimiter: b"," })
    }

    #[test]
    fn quotes_around_whole_fields_quote() {
        for whole in ["", "a", "\"\"", "\"a\"", " \"a,b\" ", "\"a\"\"b\"", "\"a\nb\"", "\"\"\"\"", "a\\"] {
            assert!(!against(QuoteCheck::Whole, None, whole), "{whole:?}");
        }
        for broken in ["a\"", "5\" pipe", "\"a", "\"a\"b", "\"a\" b", "\"\"\"", "\"a\\\"b\"", "\"a\" \"b\""] {
            assert!(against(QuoteCheck::Whole, None, broken), "{broken:?}");
        }
        assert!(!against(QuoteCheck::Whole, Some(b'\\'), "\"a\\\"b\\\\\""));
        assert!(against(QuoteCheck::Whole, Some(b'\\'), "\"a\"\"b\""));
    }

    #[test]
    fn a_quote_at_the_start_of_a_field_may_quote() {
        assert!(against(QuoteCheck::Unquoted, None, "\"a"));
        assert!(against(QuoteCheck::Unquoted, None, "  \"a\""));
        assert!(!against(QuoteCheck::Unquoted, None, "5\" pipe"));
    }

    #[test]
    fn literal_quotes_leave_no_doubt_about_where_fields_end() {
        for clear in ["5\" pipe", "\"a \"b\" c\"", "\"a,b\"", "\"Heroes\" (song)", "a\"b,\"c"] {
            assert!(!against(QuoteCheck::Literal, None, clear), "{clear:?}");
        }
        for doubtful in ["\"a \"b, c\" d\"", "\"a\"\nb\""] {
            assert!(against(QuoteCheck::Literal, None, doubtful), "{doubtful:?}");
        }
    }
}
