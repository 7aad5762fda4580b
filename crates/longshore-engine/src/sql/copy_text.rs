//! Options that a program gives as values, and the COPY that they come to as text.
//!
//! Not here: what options mean (`options`).

use sqlparser::tokenizer::Location;

use super::names;
use super::options::{OptionItem, OptionValue};

/// The value of an option of COPY or `read_csv` that a program gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionSetting {
    /// `true`, `false`.
    Flag(bool),
    /// A number.
    Number(i64),
    /// A text or a word.
    Text(String),
    /// Several texts, or names of columns.
    Texts(Vec<String>),
    /// A value for each of some columns.
    PerColumn(Vec<(String, OptionSetting)>),
}

impl OptionSetting {
    /// The option `name` with this value, as a statement has it.
    pub(crate) fn item(&self, name: &str) -> OptionItem {
        let name = name.to_ascii_uppercase();
        OptionItem { value: self.value(&name), name, at: Location::empty() }
    }

    fn value(&self, name: &str) -> OptionValue {
        let takes_names =
            name.starts_with("FORCE_") || matches!(name, "ON_CONFLICT_KEY" | "PARTITION_BY" | "QUOTED_NULLS");
        match self {
            Self::Flag(flag) => OptionValue::Word(flag.to_string()),
            Self::Number(number) => OptionValue::Number(number.to_string()),
            Self::Text(text) if takes_names && text == "*" => OptionValue::All,
            Self::Text(text) if takes_names => OptionValue::Names(vec![text.clone()]),
            // `table 'rejects'`, where the words of SQL stand in one text.
            Self::Text(text) if name == "ON_ERROR" => match text.split_once(' ') {
                Some((kind, place)) => OptionValue::Named(kind.to_lowercase(), place.trim().to_owned()),
                None => OptionValue::Text(text.clone()),
            },
            Self::Text(text) => OptionValue::Text(text.clone()),
            Self::Texts(texts) if takes_names => OptionValue::Names(texts.clone()),
            Self::Texts(texts) => OptionValue::TextSources(texts.clone()),
            Self::PerColumn(columns) => OptionValue::PerColumn(
                columns.iter().map(|(column, setting)| (column.clone(), setting.value(name))).collect(),
            ),
        }
    }
}

/// `COPY table FROM 'file' (option value, ...)` for a program that has names and values.
///
/// `table` is written as it is, so that it may be `schema.table` or `"With Case"`.
///
/// ```
/// use longshore_engine::{OptionSetting, copy_text};
/// let options = [("delimiter".to_owned(), OptionSetting::Text("|".to_owned()))];
/// assert_eq!(copy_text("t", &["f.csv".to_owned()], &options), "COPY t FROM 'f.csv' (DELIMITER '|')");
/// ```
#[must_use]
pub fn copy_text(table: &str, files: &[String], options: &[(String, OptionSetting)]) -> String {
    let files: Vec<String> = files.iter().map(|file| names::literal(file)).collect();
    let files = match files.as_slice() {
        [only] => only.clone(),
        several => format!("({})", several.join(", ")),
    };
    format!("COPY {table} FROM {files}{}", written_options(options))
}

/// `COPY table (columns) FROM STDIN`, for rows that a program gives ([`Session::set_rows`](crate::Session::set_rows)). `table` is
/// written as it is, and the columns are quoted as they must be.
///
/// ```
/// let sql = longshore_engine::copy_rows_text("t", &["a".to_owned(), "With Case".to_owned()]);
/// assert_eq!(sql, "COPY t (a, \"With Case\") FROM STDIN");
/// ```
#[must_use]
pub fn copy_rows_text(table: &str, columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| names::quoted(column)).collect();
    format!("COPY {table} ({}) FROM STDIN", columns.join(", "))
}

/// `COPY (query) TO 'file' (option value, ...)` for a program that has names and values.
#[must_use]
pub fn copy_to_text(query: &str, file: &str, options: &[(String, OptionSetting)]) -> String {
    format!("COPY ({query}) TO {}{}", names::literal(file), written_options(options))
}

/// ` (option value, ...)`, or nothing if there are none.
fn written_options(options: &[(String, OptionSetting)]) -> String {
    let options: Vec<String> = options
        .iter()
        .map(|(name, setting)| {
            let item = setting.item(name);
            format!("{} {}", item.name, written(&item.value)).trim_end().to_owned()
        })
        .collect();
    if options.is_empty() { String::new() } else { format!(" ({})", options.join(", ")) }
}

/// The value of an option as COPY takes it.
fn written(value: &OptionValue) -> String {
    let list = |texts: &[String], one: &dyn Fn(&str) -> String| {
        format!("({})", texts.iter().map(|text| one(text)).collect::<Vec<_>>().join(", "))
    };
    match value {
        OptionValue::None => String::new(),
        OptionValue::Word(word) => word.clone(),
        OptionValue::Number(digits) => digits.clone(),
        OptionValue::Text(text) => names::literal(text),
        OptionValue::Names(columns) => list(columns, &names::quoted),
        OptionValue::TextSources(texts) => list(texts, &names::literal),
        OptionValue::Named(kind, name) => format!("{kind} {}", names::literal(name)),
        OptionValue::PerColumn(columns) => {
            let columns = columns.iter().map(|(column, value)| format!("{} {}", names::quoted(column), written(value)));
            format!("({})", columns.collect::<Vec<_>>().join(", "))
        }
        OptionValue::All => "*".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_written() {
        let text = |text: &str| OptionSetting::Text(text.to_owned());
        let options = [
            ("header".to_owned(), OptionSetting::Flag(true)),
            ("skip".to_owned(), OptionSetting::Number(2)),
            ("null".to_owned(), OptionSetting::Texts(vec!["NA".to_owned(), "it's".to_owned()])),
            ("force_null".to_owned(), OptionSetting::Texts(vec!["a".to_owned(), "B".to_owned()])),
            ("types".to_owned(), OptionSetting::PerColumn(vec![("a".to_owned(), text("DATE"))])),
            ("on_error".to_owned(), text("table bad")),
        ];
        assert_eq!(
            copy_text("s.t", &["a.csv".to_owned(), "b.csv".to_owned()], &options),
            "COPY s.t FROM ('a.csv', 'b.csv') (HEADER true, SKIP 2, NULL ('NA', 'it''s'), FORCE_NULL (a, \"B\"), \
             TYPES (a 'DATE'), ON_ERROR table 'bad')"
        );
    }
}
