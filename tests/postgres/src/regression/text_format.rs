//! COPY as PostgreSQL means it where nothing is said of the format.
//!
//! Longshore reads and writes CSV then, except in what `pg_dump` has written. So the format is said, to both databases:
//! what follows depends on the rows of hundreds of tables, not on a default.

use regex::{Captures, Regex};

/// Says which format a COPY has.
#[derive(Debug)]
pub struct TextFormat {
    copy: Regex,
    format: Regex,
    old_options: Regex,
    old_option: Regex,
}

impl Default for TextFormat {
    fn default() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is right");
        let old = r"(delimiter|null|encoding)\s+(?:as\s+)?(e?'(?:[^']|'')*')\s*";
        Self {
            copy: regex(
                r"(?is)^((?:\s|--[^\n]*\n|/\*.*?\*/)*copy\s.+?\s(?:from|to)\s+(?:stdin|stdout|'[^']*'))(?:\s+with\b)?\s*(.*)$",
            ),
            format: regex(r"(?i)\b(csv|binary|format)\b"),
            old_options: regex(&format!("(?is)^(?:{old})+$")),
            old_option: regex(&format!("(?is){old}")),
        }
    }
}

impl TextFormat {
    /// The statement with PostgreSQL's text format, if it is a COPY that says none.
    #[must_use]
    pub fn said(&self, sql: &str) -> String {
        let Some(found) = self.copy.captures(sql) else { return sql.to_owned() };
        let (copy, rest) = (&found[1], &found[2]);
        if self.format.is_match(rest) {
            return sql.to_owned();
        }
        if let Some(options) = rest.strip_prefix('(') {
            return format!("{copy} WITH (FORMAT text, {options}");
        }
        if self.old_options.is_match(rest) {
            let option = |found: Captures<'_>| format!(", {} {}", &found[1], &found[2]);
            let options: String = self.old_option.captures_iter(rest).map(option).collect();
            return format!("{copy} WITH (FORMAT text{options})");
        }
        if rest.is_empty() || rest.to_ascii_lowercase().starts_with("where") {
            return format!("{copy} WITH (FORMAT text) {rest}").trim_end().to_owned();
        }
        sql.to_owned()
    }
}
