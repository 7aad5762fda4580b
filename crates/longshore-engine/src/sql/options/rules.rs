//! All options in one table: names, where they have a meaning, what values they take, what they mean.
//!
//! The parser of options, its refusals, the completion of the shell and the reference in the README follow this table.

use super::Use;

/// An option of COPY, `read_csv` and their like, as users are told of it.
#[derive(Debug, Clone, Copy)]
pub struct OptionRule {
    /// In upper case; `read_csv` takes it in any case.
    pub name: &'static str,
    /// What it takes, in words.
    pub values: &'static str,
    /// What holds where nothing is said.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The words it takes, where it takes one of several.
    pub(super) words: &'static [&'static str],
    pub(super) places: &'static [Use],
}

const READING: &[Use] = &[Use::CopyFrom, Use::ReadCsv];
const WRITING: &[Use] = &[Use::CopyTo, Use::Export];
const TEXT: &[Use] = &[Use::CopyFrom, Use::ReadCsv, Use::CopyTo, Use::Export];
const EVERYWHERE: &[Use] = &[Use::CopyFrom, Use::CopyQuery, Use::ReadCsv, Use::CopyTo, Use::Export];

const fn rule(
    name: &'static str,
    places: &'static [Use],
    values: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> OptionRule {
    OptionRule { name, values, default, meaning, words: &[], places }
}

impl OptionRule {
    const fn one_of(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    /// Where it has a meaning: `COPY FROM`, `COPY TO`, ...
    pub fn places(&self) -> impl Iterator<Item = &'static str> {
        self.places.iter().map(|place| place.name())
    }
}

/// All options, in the order in which they are explained.
pub const OPTIONS: &[OptionRule] = &[
    rule(
        "FORMAT",
        TEXT,
        "`csv`, `parquet`, `arrow`, `native`",
        "what the file is; `csv` for text",
        "reading: what the file must be; writing: `EXPORT DATABASE` takes `native` (its default), `csv` and `parquet`",
    )
    .one_of(&["csv", "parquet", "arrow", "native"]),
    rule("DELIMITER", TEXT, "one ASCII character", "`,`", "between fields"),
    rule(
        "QUOTE",
        TEXT,
        "one ASCII character, or `NONE`",
        "`\"`",
        "around fields; may also stand within one, as in PostgreSQL",
    ),
    rule("ESCAPE", TEXT, "one ASCII character", "the quote", "before a quote or itself, inside quotes"),
    rule(
        "NULL",
        TEXT,
        "text",
        "empty",
        "stands for NULL where it is not quoted; a quoted empty field is an empty string",
    ),
    rule(
        "HEADER",
        TEXT,
        "`true`, `false`, `match`",
        "`false`",
        "skip the first record, or write one; `match` also compares it with the columns",
    )
    .one_of(&["true", "false", "match"]),
    rule("FORCE_NULL", READING, "`(columns)` or `*`", "none", "quoted NULL text is NULL as well"),
    rule("FORCE_NOT_NULL", READING, "`(columns)` or `*`", "none", "NULL text is an ordinary value"),
    rule("FORCE_QUOTE", WRITING, "`(columns)` or `*`", "none", "quote every value that is not NULL"),
    rule("ENCODING", TEXT, "`utf8`", "`utf8`", "anything else is refused for now"),
    rule(
        "TRAILING_DELIMITER",
        READING,
        "`auto`, `true`, `false`",
        "`auto`",
        "records end with one more delimiter, as in dbgen's files; `auto`: all do if the first does",
    )
    .one_of(&["auto", "true", "false"]),
    rule("MODE", READING, "`exact`, `fast`, `safe`", "`exact`", "how the file is split among workers: see below")
        .one_of(&["exact", "fast", "safe"]),
    rule(
        "MERGE",
        &[Use::CopyFrom, Use::CopyQuery],
        "`chunk`, `copy`, `insert`",
        "`chunk`; `copy` where rows are left out",
        "how loaded rows become part of the table",
    )
    .one_of(&["chunk", "copy", "insert"]),
    rule("THREADS", EVERYWHERE, "number", "all processors", "workers"),
    rule("PIECE_SIZE", READING, "bytes", "chosen", "what a worker parses at a time"),
    rule("SPAN_SIZE", READING, "bytes", "chosen", "what a worker claims at a time"),
];

/// The rule of the option `name`.
pub(super) fn rule_of(name: &str) -> Option<&'static OptionRule> {
    OPTIONS.iter().find(|rule| rule.name == name)
}

/// The options that have a meaning in `place`.
pub(super) fn known(place: Use) -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().filter(move |rule| rule.places.contains(&place)).map(|rule| rule.name)
}

/// The option of `place` that someone meant who wrote `name`, if one is close enough.
pub(super) fn meant(name: &str, place: Use) -> Option<&'static str> {
    let close = known(place).map(|known| (distance(name, known), known)).min()?;
    (close.0 <= 1 + name.len() / 5).then_some(close.1)
}

/// How many letters must be changed, added or removed to make `b` of `a`; two that are swapped count once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j - 1] + same).min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_understood() {
        for (name, expected) in [
            ("DELIMITR", Some("DELIMITER")),
            ("DELIMTIER", Some("DELIMITER")),
            ("HEADERS", Some("HEADER")),
            ("NUL", Some("NULL")),
            ("FORCENULL", Some("FORCE_NULL")),
            ("COLOUR", None),
            ("X", None),
        ] {
            assert_eq!(meant(name, Use::CopyFrom), expected, "{name}");
        }
    }

    #[test]
    fn names_are_unique_and_complete() {
        for (index, rule) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[..index].iter().all(|other| other.name != rule.name), "{}", rule.name);
            assert!(!rule.places.is_empty() && !rule.meaning.is_empty() && !rule.values.contains('|'), "{}", rule.name);
        }
    }
}
