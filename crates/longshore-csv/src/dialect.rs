//! Which bytes separate, quote and escape.
//!
//! The language is that of `COPY ... (FORMAT csv)` in PostgreSQL. A record ends with an unquoted `\n` or `\r\n`.
//! A quote character toggles quoting wherever it stands, so `ab"c,d"e` is the one field `abc,de`. Inside quotes a
//! doubled quote is a literal one; with a separate escape character, that character followed by a quote or by itself
//! is the literal follower, and means nothing anywhere else.
//! Not here: what a field means (`decode`), null texts (`decode::FieldRule`), guessing a dialect.

use std::error::Error;
use std::fmt;

/// The special bytes of a text, checked to be usable together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
}

impl Default for Dialect {
    /// Comma, double quote, quotes escaped by doubling.
    fn default() -> Dialect {
        Dialect { delimiter: b',', quote: Some(b'"'), escape: None }
    }
}

impl Dialect {
    /// A dialect of `delimiter` between fields and `quote` around them (`None`: no byte quotes). `escape` protects
    /// quotes inside quotes; `None`, or the quote itself, means that quotes are doubled.
    ///
    /// # Errors
    /// If a byte is NUL, a line end or not ASCII, if two roles share a byte, or if an escape comes without a quote.
    pub fn new(delimiter: u8, quote: Option<u8>, escape: Option<u8>) -> Result<Dialect, DialectError> {
        let escape = if escape == quote { None } else { escape };
        let roles = [("DELIMITER", Some(delimiter)), ("QUOTE", quote), ("ESCAPE", escape)];
        for (index, &(option, byte)) in roles.iter().enumerate() {
            let Some(byte) = byte else { continue };
            if matches!(byte, 0 | b'\n' | b'\r') || !byte.is_ascii() {
                return Err(DialectError::Unusable { option, byte });
            }
            if let Some(&(other, _)) = roles[..index].iter().find(|(_, taken)| *taken == Some(byte)) {
                return Err(DialectError::Shared { option, other, byte });
            }
        }
        match (quote, escape) {
            (None, Some(byte)) => Err(DialectError::EscapeWithoutQuote { byte }),
            _ => Ok(Dialect { delimiter, quote, escape }),
        }
    }

    /// The byte between two fields.
    #[must_use]
    #[inline]
    pub fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// The byte that toggles quoting, if any does.
    #[must_use]
    #[inline]
    pub fn quote(&self) -> Option<u8> {
        self.quote
    }

    /// The byte that protects a quote inside quotes; `None` if quotes are doubled.
    #[must_use]
    #[inline]
    pub fn escape(&self) -> Option<u8> {
        self.escape
    }
}

/// Why bytes do not make a [`Dialect`]. Options are named as in `COPY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialectError {
    /// A byte that cannot have a role: NUL, a line end, or part of a longer UTF-8 character.
    Unusable {
        /// The option that asked for the byte.
        option: &'static str,
        /// The byte.
        byte: u8,
    },
    /// Two options ask for the same byte.
    Shared {
        /// The later option.
        option: &'static str,
        /// The option that has the byte already.
        other: &'static str,
        /// The byte.
        byte: u8,
    },
    /// An escape character although nothing quotes: it would never mean anything.
    EscapeWithoutQuote {
        /// The escape character.
        byte: u8,
    },
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DialectError::Unusable { option, byte } => write!(
                f,
                "{option} cannot be '{}'; choose an ASCII character other than NUL and the line ends",
                byte.escape_ascii()
            ),
            DialectError::Shared { option, other, byte } => {
                write!(f, "{option} and {other} are both '{}'; choose different characters", byte.escape_ascii())
            }
            DialectError::EscapeWithoutQuote { byte } => {
                write!(f, "ESCAPE '{}' has no effect without QUOTE; set QUOTE or leave ESCAPE out", byte.escape_ascii())
            }
        }
    }
}

impl Error for DialectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_equal_to_the_quote_means_doubling() {
        assert_eq!(Dialect::new(b',', Some(b'"'), Some(b'"')), Ok(Dialect::default()));
        assert_eq!(Dialect::default().escape(), None);
    }

    #[test]
    fn a_quote_as_delimiter_is_fine_where_nothing_quotes() {
        let dialect = Dialect::new(b'"', None, None).unwrap();
        assert_eq!((dialect.delimiter(), dialect.quote()), (b'"', None));
    }

    #[test]
    fn bytes_without_a_possible_role_are_refused() {
        for byte in [0, b'\n', b'\r', 0x80, 0xFF] {
            assert_eq!(Dialect::new(byte, None, None), Err(DialectError::Unusable { option: "DELIMITER", byte }));
        }
        let error = Dialect::new(b',', Some(b'\n'), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "QUOTE cannot be '\\n'; choose an ASCII character other than NUL and the line ends"
        );
    }

    #[test]
    fn roles_do_not_share_a_byte() {
        let error = Dialect::new(b',', Some(b'"'), Some(b',')).unwrap_err();
        assert_eq!(error.to_string(), "ESCAPE and DELIMITER are both ','; choose different characters");
        assert!(matches!(
            Dialect::new(b'"', Some(b'"'), None),
            Err(DialectError::Shared { option: "QUOTE", other: "DELIMITER", byte: b'"' })
        ));
    }

    #[test]
    fn an_escape_without_a_quote_is_refused() {
        let error = Dialect::new(b',', None, Some(b'\\')).unwrap_err();
        assert_eq!(error, DialectError::EscapeWithoutQuote { byte: b'\\' });
    }
}
