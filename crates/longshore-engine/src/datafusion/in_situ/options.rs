//! The arguments of `read_csv`.

use std::path::{Path, PathBuf};

use longshore_load::{ColumnChoice, CsvOptions, Dialect, Header, Mode, TrailingDelimiter};
use longshore_storage::{Column, Schema};
use sqlparser::ast::{
    DictionaryField, Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, TableFunctionArgs, Value,
};

use crate::Error;
use crate::sql::{names, types};

/// What `read_csv` or a file name in FROM asks for.
pub(super) struct ReadCsv {
    pub(super) path: PathBuf,
    /// Name and type of every field, where the call says so.
    pub(super) columns: Option<Vec<Column>>,
    /// The table whose columns the file has, where the call says so.
    pub(super) table: Option<String>,
    pub(super) options: CsvOptions,
    /// Whether it was a call and not a mere name.
    pub(super) is_call: bool,
}

/// Delimiter, quote and escape, while some of them may still change.
struct Characters {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
}

impl Characters {
    /// Those that files with the extension of `path` use: `|` in `.tbl`, a tab in `.tsv`, a comma otherwise.
    fn of_path(path: &Path) -> Self {
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        let delimiter = match extension.as_deref() {
            Some("tbl") => b'|',
            Some("tsv") => b'\t',
            _ => b',',
        };
        Self {
            delimiter,
            quote: Some(b'"'),
            escape: None,
        }
    }

    fn dialect(&self) -> Result<Dialect, Error> {
        Dialect::new(self.delimiter, self.quote, self.escape).map_err(|error| Error::invalid(error.to_string()))
    }
}

impl ReadCsv {
    /// A file name in FROM.
    pub(super) fn of_name(path: &str) -> Result<Self, Error> {
        let path = PathBuf::from(path);
        let options = CsvOptions::new(Characters::of_path(&path).dialect()?);
        Ok(Self {
            path,
            columns: None,
            table: None,
            options,
            is_call: false,
        })
    }

    /// A call: the path first, then options by name.
    pub(super) fn of_call(args: &TableFunctionArgs) -> Result<Self, Error> {
        let mut args = args.args.iter();
        let path = match args.next() {
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(path))) => text("the path", path)?,
            _ => {
                return Err(Error::invalid(
                    "read_csv needs the path of a file as its first argument",
                ));
            }
        };
        let mut request = Self::of_name(&path)?;
        request.is_call = true;
        let mut characters = Characters::of_path(&request.path);
        let mut seen = Vec::new();
        for arg in args {
            let (name, value) = named(arg)?;
            if seen.contains(&name) {
                return Err(Error::invalid(format!("read_csv: the option {name} is given twice")));
            }
            request.set(&mut characters, &name, value)?;
            seen.push(name);
        }
        request.options.dialect = characters.dialect()?;
        Ok(request)
    }

    fn set(&mut self, characters: &mut Characters, name: &str, value: &Expr) -> Result<(), Error> {
        match name {
            "delimiter" | "delim" | "sep" => {
                let delimiter = character(name, value)?;
                characters.delimiter = delimiter.ok_or_else(|| wrong(name, value, "one character"))?;
            }
            "quote" => characters.quote = character(name, value)?,
            "escape" => characters.escape = character(name, value)?,
            "null" | "nullstr" => self.options.null = text(name, value)?,
            "header" => self.options.header = header(name, value)?,
            "mode" => {
                self.options.mode = match text(name, value)?.to_lowercase().as_str() {
                    "exact" => Mode::Exact,
                    "fast" => Mode::Fast,
                    "safe" => Mode::Safe,
                    _ => return Err(wrong(name, value, "'exact' or 'fast'")),
                }
            }
            "trailing_delimiter" => {
                self.options.trailing_delimiter = match switch(value) {
                    Some(true) => TrailingDelimiter::Yes,
                    Some(false) => TrailingDelimiter::No,
                    None if text(name, value)?.eq_ignore_ascii_case("auto") => TrailingDelimiter::Auto,
                    None => return Err(wrong(name, value, "true, false or 'auto'")),
                }
            }
            "force_null" => self.options.force_null = choice(name, value)?,
            "force_not_null" => self.options.force_not_null = choice(name, value)?,
            "columns" => self.columns = Some(columns(value)?),
            "table" => {
                self.table = Some(match value {
                    Expr::Identifier(ident) => names::identifier(ident)?,
                    _ => text(name, value)?,
                });
            }
            _ => {
                return Err(Error::invalid(format!(
                    "read_csv has no option {name}; it has delimiter, quote, escape, null, header, columns, table, mode, \
                     trailing_delimiter, force_null and force_not_null"
                )));
            }
        }
        Ok(())
    }

    /// Refuses options that name columns which the file does not have.
    pub(super) fn check_columns(&self, schema: &Schema) -> Result<(), Error> {
        for choice in [&self.options.force_null, &self.options.force_not_null] {
            if let ColumnChoice::Names(named) = choice
                && let Some(unknown) = named.iter().find(|name| schema.index_of(name).is_none())
            {
                return Err(Error::not_found(format!(
                    "{}: the file has no column {unknown}",
                    self.path.display()
                )));
            }
        }
        Ok(())
    }
}

/// Name and value of `name => value`.
fn named(arg: &FunctionArg) -> Result<(String, &Expr), Error> {
    let (name, value, operator) = match arg {
        FunctionArg::Named { name, arg, operator } => (name.value.clone(), arg, operator),
        FunctionArg::ExprNamed { name, arg, operator } => (name.to_string(), arg, operator),
        FunctionArg::Unnamed(_) => {
            return Err(Error::invalid(format!(
                "read_csv takes its options by name; write name => {arg}"
            )));
        }
    };
    match (operator, value) {
        (FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment, FunctionArgExpr::Expr(value)) => {
            Ok((name.to_lowercase(), value))
        }
        _ => Err(Error::syntax(format!(
            "read_csv takes its options as name => value, not as {arg}"
        ))),
    }
}

fn wrong(name: &str, value: &Expr, expected: &str) -> Error {
    Error::invalid(format!("read_csv: {name} cannot be {value}; it takes {expected}"))
}

fn literal(value: &Expr) -> Option<&Value> {
    match value {
        Expr::Value(value) => Some(&value.value),
        _ => None,
    }
}

fn text(name: &str, value: &Expr) -> Result<String, Error> {
    match literal(value) {
        Some(Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text)) => Ok(text.clone()),
        _ => Err(wrong(name, value, "a text in single quotes")),
    }
}

/// One byte; `None` for the empty text.
fn character(name: &str, value: &Expr) -> Result<Option<u8>, Error> {
    match text(name, value)?.as_bytes() {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        b"\\t" => Ok(Some(b'\t')),
        _ => Err(wrong(name, value, "one character of one byte")),
    }
}

fn switch(value: &Expr) -> Option<bool> {
    match literal(value)? {
        Value::Boolean(on) => Some(*on),
        Value::SingleQuotedString(text) => match text.to_lowercase().as_str() {
            "true" | "on" | "yes" => Some(true),
            "false" | "off" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn header(name: &str, value: &Expr) -> Result<Header, Error> {
    match switch(value) {
        Some(true) => Ok(Header::Skip),
        Some(false) => Ok(Header::None),
        None if text(name, value)?.eq_ignore_ascii_case("match") => Ok(Header::Match),
        None => Err(wrong(name, value, "true, false or 'match'")),
    }
}

/// Names of columns: one text, an array of them, or `*` for all.
fn choice(name: &str, value: &Expr) -> Result<ColumnChoice, Error> {
    let columns: &[Expr] = match value {
        Expr::Array(array) => &array.elem,
        one => std::slice::from_ref(one),
    };
    let columns = columns
        .iter()
        .map(|column| text(name, column))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(match columns.as_slice() {
        [all] if all == "*" => ColumnChoice::All,
        _ => ColumnChoice::Names(columns),
    })
}

/// `{'a': 'INTEGER', 'b': 'VARCHAR(10)'}`
fn columns(value: &Expr) -> Result<Vec<Column>, Error> {
    let expected = "the names and types of all fields, as in {'a': 'INTEGER', 'b': 'VARCHAR(10)'}";
    let Expr::Dictionary(fields) = value else {
        return Err(wrong("columns", value, expected));
    };
    let mut columns: Vec<Column> = Vec::with_capacity(fields.len());
    for DictionaryField { key, value } in fields {
        let name = match key.quote_style {
            Some('\'') => key.value.clone(),
            _ => names::identifier(key)?,
        };
        if columns.iter().any(|column| column.name == name) {
            return Err(Error::invalid(format!("read_csv: columns names {name} twice")));
        }
        let column_type = types::parse_column_type(&text(&format!("the type of column {name}"), value)?)?;
        columns.push(Column::new(name, column_type, true));
    }
    if columns.is_empty() {
        return Err(wrong("columns", value, expected));
    }
    Ok(columns)
}
