//! Numbers with separators of other countries, rewritten as plain ones.

use super::{Expected, Reason, trim};

/// What stands before the fraction of a number, and between groups of three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Separators {
    /// Before the fraction; an ASCII character.
    pub decimal: u8,
    /// Between groups of three digits before it; a blank stands for no-break spaces, wide and narrow, too.
    pub thousands: Option<char>,
}

impl Separators {
    /// Length of the separator of thousands that `rest` begins with; 0 if it begins with none.
    fn thousands_len(&self, rest: &[u8]) -> usize {
        let Some(thousands) = self.thousands else { return 0 };
        let also: &[char] = if thousands == ' ' { &['\u{A0}', '\u{202F}'] } else { &[] };
        let begins = |separator: &char| rest.starts_with(separator.encode_utf8(&mut [0; 4]).as_bytes());
        std::iter::once(&thousands).chain(also).find(|separator| begins(separator)).map_or(0, |found| found.len_utf8())
    }

    /// The number in the field, spelled with a point and without separators of thousands.
    ///
    /// What has other faults is left as it is, for those to tell who read the number.
    ///
    /// # Errors
    ///
    /// If digits are not grouped by three, or a point means nothing.
    pub fn plain(&self, bytes: &[u8]) -> Result<Vec<u8>, Reason> {
        let mut plain = Vec::new();
        let mut rest = trim(bytes);
        // Digits since the number or the group began, and whether a separator of thousands stood before them.
        let (mut digits, mut grouped) = (0, false);
        let mut in_integer = true;
        while let Some((&byte, tail)) = rest.split_first() {
            let separator = self.thousands_len(rest);
            if separator > 0 && in_integer {
                if digits == 0 || digits > 3 || grouped && digits < 3 {
                    return Err(Reason::Grouping);
                }
                (digits, grouped) = (0, true);
                rest = &rest[separator..];
                continue;
            }
            if byte.is_ascii_digit() {
                digits += 1;
            } else if digits > 0 || grouped {
                if in_integer && grouped && digits != 3 {
                    return Err(Reason::Grouping);
                }
                in_integer = false;
            } else if byte == self.decimal {
                in_integer = false;
            }
            if byte == b'.' && self.decimal != b'.' {
                return Err(Reason::Unexpected { found: byte, expected: Expected::Digit });
            }
            plain.push(if byte == self.decimal { b'.' } else { byte });
            rest = tail;
        }
        if in_integer && grouped && digits != 3 {
            return Err(Reason::Grouping);
        }
        Ok(plain)
    }

    /// What a reason for refusing the plain spelling is for the one with separators.
    #[must_use]
    pub fn reason(&self, reason: Reason) -> Reason {
        match reason {
            Reason::Unexpected { found: b'.', expected } => Reason::Unexpected { found: self.decimal, expected },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(decimal: u8, thousands: Option<char>, text: &str) -> Result<String, Reason> {
        Separators { decimal, thousands }.plain(text.as_bytes()).map(|plain| String::from_utf8(plain).unwrap())
    }

    #[test]
    fn groups_have_three_digits() {
        for (text, expected) in [
            ("1.234,56", "1234.56"),
            ("-1.234.567", "-1234567"),
            ("1234567,5", "1234567.5"),
            (" 12,5e3 ", "12.5e3"),
            (",5", ".5"),
            ("+0,1234567", "+0.1234567"),
            ("NaN", "NaN"),
            ("1,2,3", "1.2.3"),
        ] {
            assert_eq!(plain(b',', Some('.'), text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["12.34", "1234.567", "1.2345", "1.23,4", ".123", "1..234", "1.234.", "1.23e4", "1.-234"] {
            assert_eq!(plain(b',', Some('.'), text), Err(Reason::Grouping), "{text}");
        }
    }

    #[test]
    fn a_point_means_nothing_where_another_separator_was_set() {
        let point = Err(Reason::Unexpected { found: b'.', expected: Expected::Digit });
        assert_eq!(plain(b',', None, "1.5"), point);
        assert_eq!(plain(b',', Some(' '), "1 234.5"), point);
        assert_eq!(plain(b',', Some('.'), "1,234.567"), point);
    }

    #[test]
    fn a_blank_stands_for_every_space() {
        for space in [" ", "\u{A0}", "\u{202F}"] {
            assert_eq!(plain(b',', Some(' '), &format!("1{space}234,5")).as_deref(), Ok("1234.5"));
        }
        assert_eq!(plain(b'.', Some('\''), "1'234.5").as_deref(), Ok("1234.5"));
        assert_eq!(plain(b'.', Some('\u{A0}'), "1\u{A0}234.5").as_deref(), Ok("1234.5"));
    }
}
