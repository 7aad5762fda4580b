//! A text of a date, a time or an interval, cut into its fields.

use super::Fault;
use super::words::Word;

/// Fields of a text, at most.
const FIELDS_MAX: usize = 25;
/// Characters of all fields, at most.
const CHARS_MAX: usize = 255;

/// What a field looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// Letters.
    Word,
    /// Numbers and perhaps letters with `-`, `/` or `.` between, or a name of a zone.
    Date,
    Time,
    /// A sign and digits.
    Zone,
    /// A sign and letters.
    SignedWord,
}

/// A field, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// Takes characters off the front.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn peek(&self) -> u8 {
        self.0.first().copied().unwrap_or_default()
    }

    fn take(&mut self, text: &mut String) {
        if let [first, rest @ ..] = self.0 {
            text.push(char::from(first.to_ascii_lowercase()));
            self.0 = rest;
        }
    }

    fn take_while(&mut self, text: &mut String, is_in: impl Fn(u8) -> bool) {
        while !self.0.is_empty() && is_in(self.peek()) {
            self.take(text);
        }
    }
}

/// The fields of a text.
pub(super) fn fields(text: &str) -> Result<Vec<Field>, Fault> {
    let mut fields: Vec<Field> = Vec::new();
    let mut rest = Cursor(text.as_bytes());
    let mut chars = 0;
    while !rest.0.is_empty() {
        let first = rest.peek();
        if is_space(first) {
            rest.0 = &rest.0[1..];
            continue;
        }
        let mut text = String::new();
        let kind = if first.is_ascii_digit() {
            number(&mut rest, &mut text)
        } else if first == b'.' {
            rest.take(&mut text);
            rest.take_while(&mut text, |byte| byte.is_ascii_digit());
            Kind::Number
        } else if first.is_ascii_alphabetic() {
            word(&mut rest, &mut text)
        } else if matches!(first, b'+' | b'-') {
            signed(&mut rest, &mut text)?
        } else if first.is_ascii_punctuation() {
            rest.0 = &rest.0[1..];
            continue;
        } else {
            return Err(Fault::Format);
        };
        chars += text.len() + 1;
        if fields.len() == FIELDS_MAX || chars > CHARS_MAX {
            return Err(Fault::Format);
        }
        fields.push(Field { kind, text });
    }
    Ok(fields)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

fn number(rest: &mut Cursor<'_>, text: &mut String) -> Kind {
    rest.take_while(text, |byte| byte.is_ascii_digit());
    match rest.peek() {
        b':' => {
            rest.take_while(text, |byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
            Kind::Time
        }
        delimiter @ (b'-' | b'/' | b'.') => {
            rest.take(text);
            if !rest.peek().is_ascii_digit() {
                // The name of a month may stand in it.
                rest.take_while(text, |byte| byte.is_ascii_alphanumeric() || byte == delimiter);
                return Kind::Date;
            }
            rest.take_while(text, |byte| byte.is_ascii_digit());
            if rest.peek() == delimiter {
                rest.take_while(text, |byte| byte.is_ascii_digit() || byte == delimiter);
                return Kind::Date;
            }
            if delimiter == b'.' { Kind::Number } else { Kind::Date }
        }
        _ => Kind::Number,
    }
}

fn word(rest: &mut Cursor<'_>, text: &mut String) -> Kind {
    rest.take_while(text, |byte| byte.is_ascii_alphabetic());
    let next = rest.peek();
    // A date with the name of a month, or the name of a zone: `America/New_York`, `EST5EDT`.
    let goes_on =
        matches!(next, b'-' | b'/' | b'.') || (next == b'+' || next.is_ascii_digit()) && Word::find(text).is_none();
    if !goes_on {
        return Kind::Word;
    }
    rest.take_while(text, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
    });
    Kind::Date
}

fn signed(rest: &mut Cursor<'_>, text: &mut String) -> Result<Kind, Fault> {
    rest.take(text);
    while is_space(rest.peek()) {
        rest.0 = &rest.0[1..];
    }
    if rest.peek().is_ascii_digit() {
        rest.take_while(text, |byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-'));
        Ok(Kind::Zone)
    } else if rest.peek().is_ascii_alphabetic() {
        rest.take_while(text, |byte| byte.is_ascii_alphabetic());
        Ok(Kind::SignedWord)
    } else {
        Err(Fault::Format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_fields() {
        let kinds = |text: &str| -> Vec<(Kind, String)> {
            fields(text).unwrap().into_iter().map(|field| (field.kind, field.text)).collect()
        };
        let field = |kind, text: &str| (kind, text.to_owned());
        assert_eq!(
            kinds("Fri Jan-8-1999 04:05:06.789 -8:00"),
            [
                field(Kind::Word, "fri"),
                field(Kind::Date, "jan-8-1999"),
                field(Kind::Time, "04:05:06.789"),
                field(Kind::Zone, "-8:00"),
            ]
        );
        assert_eq!(
            kinds("1999.008 America/New_York"),
            [field(Kind::Number, "1999.008"), field(Kind::Date, "america/new_york")]
        );
        assert_eq!(kinds("J2451187"), [field(Kind::Word, "j"), field(Kind::Number, "2451187")]);
        assert_eq!(
            kinds("20011227T040506+08"),
            [
                field(Kind::Number, "20011227"),
                field(Kind::Word, "t"),
                field(Kind::Number, "040506"),
                field(Kind::Zone, "+08"),
            ]
        );
        assert_eq!(fields("1 -"), Err(Fault::Format));
        assert_eq!(fields("ä"), Err(Fault::Format));
    }
}
