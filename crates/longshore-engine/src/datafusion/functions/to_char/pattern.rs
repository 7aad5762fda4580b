//! The patterns of `to_char`, as PostgreSQL takes them apart: from left to right, at each place the first keyword of its
//! list that stands there; `FM` and `TM` in front of a keyword, `TH` behind it; text in double quotes, and whatever is no
//! keyword, as it is.

use std::fmt::Write as _;

use super::fields::{Field, Kind, Letters, Moment};
use crate::Error;

/// A pattern, taken apart.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field {
        keyword: &'static str,
        field: Field,
        /// Without blanks and zeros that only fill up.
        is_bare: bool,
        ordinal: Option<Ordinal>,
    },
}

/// How the ending of an ordinal number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordinal {
    Upper,
    Lower,
}

/// PostgreSQL's keywords, in its order; those in lower case mean the same, but for names and for AM, BC and their kin,
/// which are written as the keyword is.
const KEYWORDS: [(&str, Field); 54] = [
    ("A.D.", Field::Era),
    ("A.M.", Field::Meridiem),
    ("AD", Field::Era),
    ("AM", Field::Meridiem),
    ("B.C.", Field::Era),
    ("BC", Field::Era),
    ("CC", Field::Century),
    ("DAY", Field::DayName),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("DY", Field::DayShort),
    ("D", Field::DayOfWeek),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("FX", Field::Nothing),
    ("HH24", Field::Hour),
    ("HH12", Field::HalfHour),
    ("HH", Field::HalfHour),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("I", Field::IsoYear(1)),
    ("J", Field::Julian),
    ("MI", Field::Minute),
    ("MM", Field::Month),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MS", Field::Fraction(3)),
    ("OF", Field::Offset),
    ("P.M.", Field::Meridiem),
    ("PM", Field::Meridiem),
    ("Q", Field::Quarter),
    ("RM", Field::Roman),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
    ("TZ", Field::Zone),
    ("US", Field::Fraction(6)),
    ("WW", Field::Week),
    ("W", Field::WeekOfMonth),
    ("Y,YYY", Field::YearInThousands),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
];

/// The keyword at the start of `text`, with its bytes.
fn keyword(text: &str) -> Option<(&'static str, Field, Letters, usize)> {
    let spelled = |(word, field): &(&'static str, Field)| {
        let start = text.get(..word.len())?;
        let is_name = matches!(field, Field::DayName | Field::DayShort | Field::MonthName | Field::MonthShort);
        let is_capital = || {
            let (first, rest) = (word.split_at(1).0, word.split_at(1).1.to_ascii_lowercase());
            start.starts_with(first) && start[1..] == rest
        };
        let letters = if start == *word {
            Letters::Upper
        } else if start == word.to_ascii_lowercase() {
            Letters::Lower
        } else if is_name && is_capital() {
            Letters::Capital
        } else {
            return None;
        };
        Some((*word, *field, letters, word.len()))
    };
    KEYWORDS.iter().find_map(spelled)
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (behind_prefixes, is_bare) = prefixes(rest);
            if let Some((word, field, letters, bytes)) = keyword(behind_prefixes) {
                rest = &behind_prefixes[bytes..];
                let mut ordinal = None;
                if let Some(behind) = rest.strip_prefix("TH") {
                    (ordinal, rest) = (Some(Ordinal::Upper), behind);
                } else if let Some(behind) = rest.strip_prefix("th") {
                    (ordinal, rest) = (Some(Ordinal::Lower), behind);
                }
                let field = field.spelled(word, letters);
                parts.push(Part::Field { keyword: word, field, is_bare, ordinal });
                continue;
            }
            // A prefix in front of no keyword counts for nothing.
            rest = behind_prefixes;
            let mut chars = rest.chars();
            match chars.next() {
                Some('"') => rest = quoted(chars.as_str(), &mut parts),
                Some('\\') if chars.as_str().starts_with('"') => {
                    push(&mut parts, '"');
                    rest = &chars.as_str()[1..];
                }
                Some(other) => {
                    push(&mut parts, other);
                    rest = chars.as_str();
                }
                None => {}
            }
        }
        Self(parts)
    }

    /// Adds `moment` to `text`.
    pub(super) fn write(&self, moment: &Moment, kind: Kind, text: &mut String) -> Result<(), Error> {
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Field { keyword, field, is_bare, ordinal } => {
                    if kind == Kind::Time && !field.is_of_time() {
                        return Err(Error::invalid(format!("to_char: a time has no {keyword}")));
                    }
                    let start = text.len();
                    field.write(moment, kind, *is_bare, text);
                    if let Some(ordinal) = ordinal.filter(|_| field.is_number()) {
                        let ending = ending(&text[start..], ordinal);
                        // Writing to a string cannot fail.
                        let _ = text.write_str(ending);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What stands behind FM and TM, and whether one of them was there.
fn prefixes(mut text: &str) -> (&str, bool) {
    let mut is_bare = false;
    while let Some(rest) = ["FM", "fm", "TM", "tm"].into_iter().find_map(|prefix| text.strip_prefix(prefix)) {
        (text, is_bare) = (rest, true);
    }
    (text, is_bare)
}

/// Takes a text in quotes; returns what stands behind it.
fn quoted<'a>(text: &'a str, parts: &mut Vec<Part>) -> &'a str {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return chars.as_str(),
            '\\' => chars.next().into_iter().for_each(|char| push(parts, char)),
            other => push(parts, other),
        }
    }
    ""
}

fn push(parts: &mut Vec<Part>, char: char) {
    if let Some(Part::Text(text)) = parts.last_mut() {
        text.push(char);
    } else {
        parts.push(Part::Text(char.into()));
    }
}

/// What makes an ordinal of a number.
fn ending(number: &str, ordinal: Ordinal) -> &'static str {
    let digits = number.as_bytes();
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let (upper, lower) = match digits.last() {
        Some(b'1') if !is_teen => ("ST", "st"),
        Some(b'2') if !is_teen => ("ND", "nd"),
        Some(b'3') if !is_teen => ("RD", "rd"),
        _ => ("TH", "th"),
    };
    if ordinal == Ordinal::Upper { upper } else { lower }
}
