//! The statement that reads a text as it was found to be: `SELECT * FROM read_csv(...)` with everything that was given
//! or found out, so that pasting it gives the same table.
//!
//! Options that differ by column are written by column, for all columns once one differs. Secrets are left out.

use longshore_load::{ColumnValues, DateTimeFormat, ValueOptions};
use longshore_storage::{Column, ColumnType};

use super::infer::FoundText;
use super::read_csv::ReadCsv;
use crate::sql::copy_text::OptionSetting;
use crate::sql::names;
use crate::sql::options::{OptionValue, is_secret};

/// Options that other arguments of the statement say.
const SAID_OTHERWISE: [&str; 3] = ["TYPES", "DATE_ORDER", "PATHS"];

/// An argument: name and value.
type Argument = (String, String);

/// The statement for `found`, which `request` asked for.
pub(crate) fn statement(found: &FoundText, request: &ReadCsv) -> String {
    let mut arguments: Vec<Argument> =
        found.sniffed.options().into_iter().map(|option| (option.name.to_owned(), option.value)).collect();
    let of_file = &found.schema.columns()[..found.columns.len()];
    for argument in paths(found).into_iter().chain(by_column(&found.options.values, of_file)) {
        arguments.retain(|(name, _)| *name != argument.0);
        arguments.push(argument);
    }
    for item in &request.items {
        let is_said = arguments.iter().any(|(name, _)| *name == item.name);
        // The names in headers count where columns are found by them.
        let is_said = is_said || item.name == "NORMALIZE_NAMES" && !request.options().union_by_name;
        if !is_said && !SAID_OTHERWISE.contains(&item.name.as_str()) && !is_secret(&item.name) {
            arguments.push((item.name.clone(), value(&item.value)));
        }
    }
    let columns = found.schema.columns().iter();
    arguments.push((
        "columns".to_owned(),
        dictionary(columns.map(|c| (&c.name, names::literal(&c.column_type.to_string())))),
    ));
    let arguments: Vec<String> =
        arguments.into_iter().map(|(name, value)| format!("{} => {value}", name.to_lowercase())).collect();
    let files = match request.names.as_slice() {
        [only] => names::literal(only),
        several => list(several),
    };
    format!("SELECT * FROM read_csv({files}, {})", arguments.join(", "))
}

/// `SELECT * FROM function('file', option => value, ...)` for a program that has names and values; `function` is one such as
/// `read_csv` or `sniff_csv`.
///
/// ```
/// use longshore_engine::{OptionSetting, call_text};
/// let options = [("skip".to_owned(), OptionSetting::Number(1))];
/// assert_eq!(call_text("sniff_csv", &["f.csv".to_owned()], &options), "SELECT * FROM sniff_csv('f.csv', skip => 1)");
/// ```
#[must_use]
pub fn call_text(function: &str, files: &[String], options: &[(String, OptionSetting)]) -> String {
    let mut arguments = match files {
        [only] => names::literal(only),
        several => list(several),
    };
    for (name, setting) in options {
        let item = setting.item(name);
        arguments = format!("{arguments}, {} => {}", item.name.to_lowercase(), value(&item.value));
    }
    format!("SELECT * FROM {function}({arguments})")
}

/// Where columns of JSON are found, if one of them is not the key of its name.
fn paths(found: &FoundText) -> Option<Argument> {
    let paths = found.columns.iter().zip(&found.sniffed.paths);
    let mut named = paths.map(|(column, path)| (&column.name, path.to_string())).peekable();
    named.peek()?;
    let named: Vec<_> = named.collect();
    let is_key = |(name, path): &(&String, String)| longshore_format::json::JsonPath::key(name).to_string() == *path;
    if named.iter().all(is_key) {
        return None;
    }
    Some(("PATHS".to_owned(), dictionary(named.iter().map(|(name, path)| (*name, names::literal(path))))))
}

/// What is said of the values of single columns, as options by column.
fn by_column(values: &ValueOptions, columns: &[Column]) -> Vec<Argument> {
    let formats = |kind: fn(&ColumnType) -> bool| {
        move |own: &ColumnValues, column: &Column| {
            own.format.as_ref().filter(|_| kind(&column.column_type)).map(texts_of)
        }
    };
    let nulls = |own: &ColumnValues, _: &Column| own.nulls.as_deref().map(list);
    let quoted = |own: &ColumnValues, _: &Column| own.quoted_nulls.map(|quoted| quoted.to_string());
    let letter = |letter: char| names::literal(&letter.to_string());
    let decimal = |own: &ColumnValues, _: &Column| own.decimal_separator.map(letter);
    let thousands = |own: &ColumnValues, _: &Column| own.thousands_separator.flatten().map(letter);
    let is_date = |column_type: &ColumnType| *column_type == ColumnType::Date;
    let is_timestamp =
        |column_type: &ColumnType| matches!(column_type.unrounded(), ColumnType::Timestamp | ColumnType::TimestampTz);
    let date_format = values.date_format.as_ref().map(texts_of);
    let timestamp_format = values.timestamp_format.as_ref().map(texts_of);
    let quoted_nulls = |column: &Column| Some(values.quoted_nulls.contains(&column.name).to_string());
    [
        each("NULL", values, columns, nulls, |_| Some(list(&values.nulls))),
        each("QUOTED_NULLS", values, columns, quoted, quoted_nulls),
        each("DECIMAL_SEPARATOR", values, columns, decimal, |_| Some(letter(values.decimal_separator))),
        each("THOUSANDS_SEPARATOR", values, columns, thousands, |_| values.thousands_separator.map(letter)),
        each("DATE_FORMAT", values, columns, formats(is_date), |_| date_format.clone()),
        each("TIMESTAMP_FORMAT", values, columns, formats(is_timestamp), |_| timestamp_format.clone()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The option `name` by column, where a column has a value of its own; others have `usual`, if there is one.
fn each(
    name: &str,
    values: &ValueOptions,
    columns: &[Column],
    own: impl Fn(&ColumnValues, &Column) -> Option<String>,
    usual: impl Fn(&Column) -> Option<String>,
) -> Option<Argument> {
    let own = |column: &Column| values.columns.get(&column.name).and_then(|values| own(values, column));
    columns.iter().find_map(own)?;
    let all = columns.iter().filter_map(|column| Some((&column.name, own(column).or_else(|| usual(column))?)));
    Some((name.to_owned(), dictionary(all)))
}

/// The formats that a text may have.
fn texts_of(format: &DateTimeFormat) -> String {
    let texts: Vec<String> = format.texts().map(str::to_owned).collect();
    match texts.as_slice() {
        [only] => names::literal(only),
        several => list(several),
    }
}

/// `['a', 'b']`
fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| names::literal(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// `{'a': x, 'b': y}`
fn dictionary<'a>(values: impl Iterator<Item = (&'a String, String)>) -> String {
    let values: Vec<String> = values.map(|(name, value)| format!("{}: {value}", names::literal(name))).collect();
    format!("{{{}}}", values.join(", "))
}

/// The value of an option as `read_csv` takes it.
fn value(given: &OptionValue) -> String {
    match given {
        OptionValue::None => "true".to_owned(),
        OptionValue::Word(word) => word.clone(),
        OptionValue::Number(digits) => digits.clone(),
        OptionValue::Text(text) => names::literal(text),
        OptionValue::Names(texts) | OptionValue::TextSources(texts) => list(texts),
        OptionValue::Named(kind, name) => format!("{kind} {}", names::literal(name)),
        OptionValue::PerColumn(columns) => dictionary(columns.iter().map(|(name, given)| (name, value(given)))),
        OptionValue::All => "'*'".to_owned(),
    }
}
