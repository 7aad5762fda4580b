//! The arguments of `read_csv`: those of COPY under the same names, and where the columns come from.
//!
//! The delimiter follows from the file's extension where none is given: `|` for `.tbl`, a tab for `.tsv`, a comma
//! otherwise. Not here: the meaning of COPY's options (`sql::options`).

use std::path::Path;

use longshore_load::Tuning;
use longshore_source::{FoundFile, StoreOptions};
use longshore_storage::{Column, Schema};
use sqlparser::ast::{
    DictionaryField, Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, ObjectName, Spanned, TableFunctionArgs,
    Value,
};

use super::files::{find_files, kind_of};
use super::kind::FileKind;
use crate::Error;
use crate::sql::copy_text::OptionSetting;
use crate::sql::options::{OptionItem, OptionValue, Options, SourceOptions, Use, is_secret};
use crate::sql::{in_text, names};

/// What `read_csv` or a file name in FROM asks for.
pub(crate) struct ReadCsv {
    /// At least one.
    pub(crate) files: Vec<FoundFile>,
    /// Name and type of every field, where the call says so.
    pub(crate) columns: Option<Vec<Column>>,
    /// The table whose columns the file has, where the call says so.
    pub(crate) table: Option<String>,
    /// Whether it was a call and not a mere name.
    pub(crate) is_call: bool,
    /// The files as they were named.
    pub(crate) names: Vec<String>,
    /// The options as they were given, in the form of COPY.
    pub(crate) items: Vec<OptionItem>,
    options: Options,
}

impl ReadCsv {
    /// A file name in FROM.
    pub(crate) fn of_name(name: &str) -> Result<Self, Error> {
        let files = find_files(&[name.to_owned()], &SourceOptions::default())?;
        let mut items = Vec::new();
        add_delimiter(&mut items, &files);
        let options = Options::new(&items, Use::ReadCsv)?;
        Ok(Self { files, columns: None, table: None, is_call: false, names: vec![name.to_owned()], items, options })
    }

    /// A call: the path or several first, then options by name. `format` is the FORMAT of the function's name.
    pub(crate) fn of_call(args: &TableFunctionArgs, format: Option<&str>) -> Result<Self, Error> {
        let mut args = args.args.iter();
        let paths = match args.next() {
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Array(array)))) if !array.elem.is_empty() => {
                array.elem.iter().map(|path| text("a path", path)).collect::<Result<Vec<_>, _>>()?
            }
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(path))) => {
                vec![text("its first argument, the path,", path)?]
            }
            _ => return Err(Error::invalid("read_csv needs the path of a file as its first argument")),
        };
        let mut columns = None;
        let mut table = None;
        let mut items = Vec::new();
        for arg in args {
            let (name, value) = named(arg)?;
            let twice = match name.as_str() {
                "COLUMNS" => columns.replace(columns_of(value)?).is_some(),
                "TABLE" => table.replace(table_of(value)?).is_some(),
                _ => {
                    items.push(item(name, value)?);
                    continue;
                }
            };
            if twice {
                return Err(Error::invalid(format!("read_csv: {arg} is given twice; keep one of them")));
            }
        }
        if let Some(format) = format.filter(|_| items.iter().all(|item| item.name != "FORMAT")) {
            items.push(OptionItem {
                name: "FORMAT".to_owned(),
                value: OptionValue::Word(format.to_owned()),
                at: sqlparser::tokenizer::Location::empty(),
            });
        }
        let mut options = Options::new(&items, Use::ReadCsv)?;
        let files = find_files(&paths, &options.source)?;
        if add_delimiter(&mut items, &files) {
            options = Options::new(&items, Use::ReadCsv)?;
        }
        Ok(Self { files, columns, table, is_call: true, names: paths, items, options })
    }

    /// What a program asks for that has names and values.
    pub(crate) fn of_settings(paths: &[String], settings: &[(String, OptionSetting)]) -> Result<Self, Error> {
        let mut columns = None;
        let mut items = Vec::new();
        for (name, setting) in settings {
            match known_name(name) {
                name if name == "COLUMNS" => columns = Some(columns_of_setting(setting)?),
                name => items.push(setting.item(&name)),
            }
        }
        let mut options = Options::new(&items, Use::ReadCsv)?;
        let files = find_files(paths, &options.source)?;
        if add_delimiter(&mut items, &files) {
            options = Options::new(&items, Use::ReadCsv)?;
        }
        Ok(Self { files, columns, table: None, is_call: true, names: paths.to_vec(), items, options })
    }

    /// The first file, as messages name it.
    pub(crate) fn name(&self) -> String {
        self.files.first().map_or_else(String::new, |file| file.location.to_string())
    }

    /// Whether it is not text.
    pub(crate) fn is_columnar(&self) -> Result<bool, Error> {
        match self.files.first() {
            Some(first) => Ok(kind_of(first, self.options.format)? != FileKind::Text),
            None => Ok(false),
        }
    }

    /// The other options.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// `tuning`, changed by what the call says.
    pub(crate) fn tuned(&self, tuning: &Tuning) -> Tuning {
        self.options.tuned(tuning.clone())
    }

    /// Refuses options that name columns which the file does not have.
    pub(crate) fn check_columns(&self, schema: &Schema) -> Result<(), Error> {
        let defaults = self.options.defaults().map(|(column, _)| ("DEFAULTS", column));
        let unknown =
            self.options.named_columns().chain(defaults).find(|(_, column)| schema.index_of(column).is_none());
        match unknown {
            Some((option, column)) => Err(Error::no_column(format!(
                "read_csv: {option} names the column {column}, which {} does not have",
                self.name()
            ))),
            None => Ok(()),
        }
    }
}

/// The files that a call like `read_parquet('a')` or `read_parquet(['a', 'b'], endpoint => '...')` names, and how a store
/// is asked for them; it takes nothing else.
pub(crate) fn files_of_call(
    function: &ObjectName,
    args: &TableFunctionArgs,
) -> Result<(Vec<FoundFile>, StoreOptions), Error> {
    if !matches!(args.args.split_first(), Some((FunctionArg::Unnamed(_), rest)) if !rest.iter().any(is_unnamed)) {
        return Err(Error::invalid(format!(
            "{function} takes the path of a file, or several as in {function}(['a', 'b']), and options of stores"
        )));
    }
    let request = ReadCsv::of_call(args, Some("parquet"))?;
    if request.columns.is_some() || request.table.is_some() {
        return Err(Error::invalid(format!("{function}: the file says its columns itself; leave them out")));
    }
    request.options.check_columnar("a Parquet or Arrow file")?;
    Ok((request.files, request.options.source.open.store))
}

fn is_unnamed(arg: &FunctionArg) -> bool {
    matches!(arg, FunctionArg::Unnamed(_))
}

/// Adds the delimiter that files with the extension of the first of `files` have, if none is given; whether it did.
fn add_delimiter(items: &mut Vec<OptionItem>, files: &[FoundFile]) -> bool {
    let name = files.first().map_or_else(String::new, |file| file.location.to_string());
    let extension = Path::new(&name).extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let delimiter = match extension.as_deref() {
        Some("tbl") => "|",
        Some("tsv") => "\t",
        _ => return false,
    };
    let is_open = items.iter().all(|item| item.name != "DELIMITER" && item.name != "FORMAT");
    if is_open {
        items.push(OptionItem {
            name: "DELIMITER".to_owned(),
            value: OptionValue::Text(delimiter.to_owned()),
            at: sqlparser::tokenizer::Location::empty(),
        });
    }
    is_open
}

/// Name, in upper case, and value of `name => value`. Names that DuckDB has for the same are taken as well.
fn named(arg: &FunctionArg) -> Result<(String, &Expr), Error> {
    let (name, value, operator) = match arg {
        FunctionArg::Named { name, arg, operator } => (name.value.clone(), arg, operator),
        FunctionArg::ExprNamed { name, arg, operator } => (name.to_string(), arg, operator),
        FunctionArg::Unnamed(_) => {
            return Err(Error::invalid(format!("read_csv takes its options by name; write name => {arg}")));
        }
    };
    match (operator, value) {
        (FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment, FunctionArgExpr::Expr(value)) => {
            Ok((known_name(&name), value))
        }
        _ => Err(Error::syntax(format!("read_csv takes its options as name => value, not as {arg}"))),
    }
}

/// The name of an option, in upper case, also of one that DuckDB calls otherwise.
fn known_name(name: &str) -> String {
    match name.to_ascii_uppercase().as_str() {
        "DELIM" | "SEP" => "DELIMITER".to_owned(),
        "NULLSTR" => "NULL".to_owned(),
        name => name.to_owned(),
    }
}

fn item(name: String, value: &Expr) -> Result<OptionItem, Error> {
    let at = value.span().start;
    let value = match value {
        Expr::Value(literal) => match &literal.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => OptionValue::Text(text.clone()),
            Value::Number(digits, _) => OptionValue::Number(digits.clone()),
            Value::Boolean(on) => OptionValue::Word(on.to_string()),
            _ => return Err(wrong(&name, value, "a text, a number or a truth value")),
        },
        Expr::Identifier(word) if name.starts_with("FORCE_") => OptionValue::Names(vec![names::identifier(word)?]),
        Expr::Identifier(word) => OptionValue::Word(word.value.to_lowercase()),
        Expr::Array(array) if name.starts_with("FORCE_") => OptionValue::Names(texts(&name, &array.elem)?),
        Expr::Array(array) => OptionValue::TextSources(texts(&name, &array.elem)?),
        Expr::Dictionary(fields) => OptionValue::PerColumn(
            fields
                .iter()
                .map(|field| Ok((key(field)?, item(name.clone(), &field.value)?.value)))
                .collect::<Result<_, Error>>()?,
        ),
        _ => return Err(wrong(&name, value, "a text, a number, a truth value, an array of texts or {column: value}")),
    };
    let value = match value {
        OptionValue::Text(text) if name.starts_with("FORCE_") && text == "*" => OptionValue::All,
        OptionValue::Text(text) if name.starts_with("FORCE_") => OptionValue::Names(vec![text]),
        other => other,
    };
    Ok(OptionItem { name, value, at })
}

fn wrong(name: &str, value: &Expr, expected: &str) -> Error {
    if is_secret(name) {
        return Error::invalid(format!("read_csv: {name} takes {expected}"));
    }
    Error::invalid(format!("read_csv: {name} cannot be {value}; it takes {expected}"))
}

fn text(name: &str, value: &Expr) -> Result<String, Error> {
    if let Expr::Value(literal) = value
        && let Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) = &literal.value
    {
        return Ok(text.clone());
    }
    Err(wrong(name, value, "a text in single quotes"))
}

fn texts(name: &str, values: &[Expr]) -> Result<Vec<String>, Error> {
    values.iter().map(|value| text(name, value)).collect()
}

/// The column that a dictionary's field is about.
fn key(field: &DictionaryField) -> Result<String, Error> {
    match field.key.quote_style {
        Some('\'') => Ok(field.key.value.clone()),
        _ => names::identifier(&field.key),
    }
}

fn table_of(value: &Expr) -> Result<String, Error> {
    match value {
        Expr::Identifier(name) => names::identifier(name),
        _ => text("table", value),
    }
}

/// `{'a': 'INTEGER', 'b': 'VARCHAR(10)'}`
fn columns_of(value: &Expr) -> Result<Vec<Column>, Error> {
    let expected = "the names and types of all fields, as in {'a': 'INTEGER', 'b': 'VARCHAR(10)'}";
    let Expr::Dictionary(fields) = value else {
        return Err(wrong("columns", value, expected));
    };
    let mut columns: Vec<Column> = Vec::with_capacity(fields.len());
    for field in fields {
        let name = key(field)?;
        let value = &field.value;
        if columns.iter().any(|column| column.name == name) {
            return Err(Error::invalid(format!("read_csv: columns names {name} twice")));
        }
        let column_type = in_text::column_type(&text(&format!("the type of column {name}"), value)?)?;
        columns.push(Column::new(name, column_type, true));
    }
    if columns.is_empty() {
        return Err(wrong("columns", value, expected));
    }
    Ok(columns)
}

/// The same as a program gives it.
fn columns_of_setting(setting: &OptionSetting) -> Result<Vec<Column>, Error> {
    let column = |(name, setting): &(String, OptionSetting)| match setting {
        OptionSetting::Text(text) => Ok(Column::new(name, in_text::column_type(text)?, true)),
        _ => Err(Error::invalid(format!("read_csv: the type of column {name} is a text such as 'INTEGER'"))),
    };
    match setting {
        OptionSetting::PerColumn(columns) if !columns.is_empty() => columns.iter().map(column).collect(),
        _ => Err(Error::invalid("read_csv: columns are the names and types of all fields; give each name its type")),
    }
}
