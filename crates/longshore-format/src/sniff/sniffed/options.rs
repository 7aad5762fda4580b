//! What was found as the options of a statement, ready to be pasted.

use std::fmt;

use super::{Family, LineEnd, Sniffed};
use crate::delimited::{EscapeRule, LongRecords, NulBytes, StrayQuotes};
use crate::fixed_width::PLACE_MAX;
use crate::lines::LineEnds;

/// An option as a statement has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionText {
    /// Its name.
    pub name: &'static str,
    /// Its value, as SQL.
    pub value: String,
    /// Whether the user gave it.
    pub given: bool,
    /// Why it is so.
    pub reason: String,
}

impl Sniffed {
    /// Start and end of each field of fixed width, in characters. Unless they were given, a field reaches up to the next
    /// one, the last to the end of its line: the sample may not have the longest values.
    #[must_use]
    pub fn places(&self) -> Vec<(usize, usize)> {
        if self.rules.places.is_some() {
            return self.widths.clone();
        }
        let ends = self.widths.iter().skip(1).map(|place| place.0).chain([PLACE_MAX]);
        self.widths.iter().zip(ends).map(|(&(start, _), end)| (start, end)).collect()
    }

    /// The options that say what was found: enough to read the file without looking at it again, and no more than is
    /// needed beside the defaults of the format.
    #[must_use]
    pub fn options(&self) -> Vec<OptionText> {
        let mut options = Vec::new();
        let mut option = |name, value: String, given, reason: &str| {
            options.push(OptionText { name, value, given, reason: reason.to_owned() });
        };
        let family = &self.family;
        let format = match family.value {
            Family::Delimited => "csv",
            Family::JsonLines | Family::JsonValues | Family::JsonArray => "json",
            Family::PgText => "text",
            Family::FixedWidth => "fixed",
            Family::Logfmt => "logfmt",
            Family::Pattern => "pattern",
        };
        option("FORMAT", format.to_owned(), family.given, &family.reason);
        if let Some(layout) = family.value.json_layout() {
            option("LAYOUT", literal(layout.name().as_bytes()), family.given, &family.reason);
        }
        if family.value == Family::FixedWidth {
            let places = self.places().into_iter().map(|(start, end)| match end {
                PLACE_MAX => format!("{start}-"),
                end => format!("{start}-{end}"),
            });
            let places = places.collect::<Vec<_>>().join(",");
            let given = self.rules.places.is_some();
            let reason = if given { "given" } else { "blanks stand before them in every line" };
            option("PLACES", literal(places.as_bytes()), given, reason);
        }
        if let (Family::Pattern, Some(pattern)) = (family.value, &self.rules.pattern) {
            option("PATTERN", literal(pattern.as_bytes()), family.given, &family.reason);
        }
        if family.value == Family::Delimited {
            option("DELIMITER", literal(&self.delimiter.value), self.delimiter.given, &self.delimiter.reason);
            let quote = self.quote.value.map_or("NONE".to_owned(), |quote| literal(&[quote]));
            option("QUOTE", quote, self.quote.given, &self.quote.reason);
            if let Some(escape) = self.escape.value {
                option("ESCAPE", literal(&[escape]), self.escape.given, &self.escape.reason);
                match (self.rules.escape_rule, self.quote.value) {
                    (Some(rule), _) => option("ESCAPE_RULE", rule.name().to_owned(), true, "given"),
                    (None, None) => {
                        let rule = EscapeRule::Everything.name();
                        option("ESCAPE_RULE", rule.to_owned(), false, "there are no quotes for it to stand in");
                    }
                    (None, Some(_)) => {}
                }
            }
            if let Some(comment) = &self.comment.value {
                option("COMMENT", literal(comment), self.comment.given, &self.comment.reason);
            }
            for (name, value, found) in [
                ("STRAY_QUOTES", "literal", &self.stray_quotes),
                ("SKIP_BLANK_LINES", "true", &self.blank_lines),
                ("TRAILING_DELIMITER", "true", &self.trailing_delimiter),
                ("SHORT_RECORDS", "pad", &self.short_records),
                ("LONG_RECORDS", "truncate_empty", &self.long_records),
            ] {
                if found.value {
                    option(name, value.to_owned(), found.given, &found.reason);
                }
            }
            if self.rules.stray_quotes == Some(StrayQuotes::Error) {
                option("STRAY_QUOTES", "error".to_owned(), true, "given");
            }
            if self.rules.long_records == Some(LongRecords::Truncate) {
                option("LONG_RECORDS", "truncate".to_owned(), true, "given");
            }
            match self.rules.nul {
                Some(NulBytes::Error) => option("NUL_BYTES", "error".to_owned(), true, "given"),
                Some(NulBytes::Strip) => option("NUL_BYTES", "strip".to_owned(), true, "given"),
                Some(NulBytes::Keep) | None => {}
            }
        }
        match (self.rules.line_ends, self.line_end.value) {
            (Some(LineEnds::Any), _) => option("LINE_ENDS", "any".to_owned(), true, "given"),
            (None, LineEnd::CarriageReturn) => {
                option("LINE_ENDS", "any".to_owned(), false, "lines end with carriage returns alone");
            }
            (None | Some(LineEnds::Standard), _) => {}
        }
        if let Some(bytes) = self.rules.record_bytes_max {
            option("MAX_RECORD_SIZE", bytes.to_string(), true, "given");
        }
        if matches!(family.value, Family::Delimited | Family::FixedWidth | Family::PgText) {
            if self.skip_lines.value > 0 {
                option("SKIP", self.skip_lines.value.to_string(), self.skip_lines.given, &self.skip_lines.reason);
            }
            option("HEADER", self.header.value.to_string(), self.header.given, &self.header.reason);
            if self.decimal_separator.value != b'.' {
                let found = &self.decimal_separator;
                option("DECIMAL_SEPARATOR", literal(&[found.value]), found.given, &found.reason);
            }
            if let Some(separator) = self.thousands_separator.value {
                let found = &self.thousands_separator;
                option("THOUSANDS_SEPARATOR", literal(&[separator]), found.given, &found.reason);
            }
        }
        options
    }
}

impl fmt::Display for Sniffed {
    /// The options in parentheses, as behind `WITH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, option) in self.options().iter().enumerate() {
            write!(f, "{}{} {}", if index == 0 { "(" } else { ", " }, option.name, option.value)?;
        }
        f.write_str(")")
    }
}

/// A string of SQL, with escapes where control characters make them necessary.
fn literal(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.chars().any(char::is_control) {
        let escaped: String = text
            .chars()
            .map(|character| match character {
                '\t' => "\\t".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\'' => "\\'".to_owned(),
                c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        format!("E'{escaped}'")
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}
