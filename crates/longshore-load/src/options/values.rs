//! How the values of a file are spelled: the file's defaults, and columns that differ.
//!
//! Becomes a `FieldRule` per column, which the decoders follow. What a spelling means is told there. Joins the words of
//! two crates: `longshore-storage` knows column types, `longshore-csv` value types.

use std::collections::BTreeMap;

use longshore_csv::decode::{BooleanWords, DateTimeFormat, FieldRule, ValueType};
use longshore_csv::{Dialect, RuleError};
use longshore_storage::{Column, ColumnType};

use super::ColumnChoice;
use crate::error::LoadError;

/// How values are spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOptions {
    /// The unquoted texts that stand for NULL; at least one. NULL.
    pub nulls: Vec<String>,
    /// Columns in which a quoted NULL text is NULL as well. `QUOTED_NULLS`, `FORCE_NULL`.
    pub quoted_nulls: ColumnChoice,
    /// Columns in which the NULL texts are ordinary values. `FORCE_NOT_NULL`.
    pub force_not_null: ColumnChoice,
    /// Whether blanks and tabs around fields, outside their quotes, do not belong to them. TRIM.
    pub trim: bool,
    /// What stands before the fraction of a number. `DECIMAL_SEPARATOR`.
    pub decimal_separator: char,
    /// What may stand between groups of three digits. `THOUSANDS_SEPARATOR`.
    pub thousands_separator: Option<char>,
    /// Another format of dates than ISO 8601. `DATE_FORMAT`.
    pub date_format: Option<DateTimeFormat>,
    /// Another format of times. `TIME_FORMAT`.
    pub time_format: Option<DateTimeFormat>,
    /// Another format of timestamps, with and without time zone. `TIMESTAMP_FORMAT`.
    pub timestamp_format: Option<DateTimeFormat>,
    /// The words for true, in any case of ASCII letters; `None` for PostgreSQL's. `TRUE_VALUES`.
    pub true_values: Option<Vec<String>>,
    /// The words for false, likewise. `FALSE_VALUES`.
    pub false_values: Option<Vec<String>>,
    /// Columns that differ, by name.
    pub columns: BTreeMap<String, ColumnValues>,
}

/// What is different in one column; `None` where nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnValues {
    /// As [`ValueOptions::nulls`].
    pub nulls: Option<Vec<String>>,
    /// Whether a quoted NULL text is NULL.
    pub quoted_nulls: Option<bool>,
    /// Whether the NULL texts are ordinary values.
    pub force_not_null: Option<bool>,
    /// As [`ValueOptions::trim`].
    pub trim: Option<bool>,
    /// As [`ValueOptions::decimal_separator`].
    pub decimal_separator: Option<char>,
    /// As [`ValueOptions::thousands_separator`]; `Some(None)` for none.
    pub thousands_separator: Option<Option<char>>,
    /// The format of the column's dates, times or timestamps.
    pub format: Option<DateTimeFormat>,
    /// As [`ValueOptions::true_values`].
    pub true_values: Option<Vec<String>>,
    /// As [`ValueOptions::false_values`].
    pub false_values: Option<Vec<String>>,
}

impl Default for ValueOptions {
    /// PostgreSQL's.
    fn default() -> Self {
        Self {
            nulls: vec![String::new()],
            quoted_nulls: ColumnChoice::None,
            force_not_null: ColumnChoice::None,
            trim: false,
            decimal_separator: '.',
            thousands_separator: None,
            date_format: None,
            time_format: None,
            timestamp_format: None,
            true_values: None,
            false_values: None,
            columns: BTreeMap::new(),
        }
    }
}

impl ValueOptions {
    /// Refuses what no column could follow, in rows of `dialect`.
    ///
    /// # Errors
    /// Names the option and what it collides with.
    pub fn check(&self, dialect: &Dialect) -> Result<(), LoadError> {
        let no_column = ColumnValues::default();
        let named = self.columns.iter().map(|(name, values)| (Some(name), values));
        for (name, values) in std::iter::once((None, &no_column)).chain(named) {
            let rule = self.rule_of_type(ValueType::Boolean, values);
            rule.and_then(|rule| rule.check(dialect).map_err(|error| error.to_string())).map_err(|problem| {
                LoadError::Options(name.map_or_else(|| problem.clone(), |name| format!("column {name}: {problem}")))
            })?;
        }
        Ok(())
    }

    /// The rule that `column` is read by in rows of `dialect`.
    ///
    /// # Errors
    /// When no value of the column's type could be read by it.
    pub(crate) fn rule(&self, column: &Column, dialect: &Dialect) -> Result<FieldRule, LoadError> {
        let problem =
            |problem: String| LoadError::Options(format!("column {} {}: {problem}", column.name, column.column_type));
        let no_column = ColumnValues::default();
        let own = self.columns.get(&column.name).unwrap_or(&no_column);
        let rule = self.rule_of_type(value_type(&column.column_type), own).map_err(problem)?;
        let rule = FieldRule {
            nullable: column.nullable,
            quoted_nulls: own.quoted_nulls.unwrap_or_else(|| self.quoted_nulls.contains(&column.name)),
            force_not_null: own.force_not_null.unwrap_or_else(|| self.force_not_null.contains(&column.name)),
            ..rule
        };
        rule.check(dialect).map_err(|error: RuleError| problem(error.to_string()))?;
        Ok(rule)
    }

    /// The text that stands for NULL in the column of that name.
    pub(crate) fn null_text(&self, column: &str) -> &str {
        let own = self.columns.get(column).and_then(|values| values.nulls.as_ref());
        own.unwrap_or(&self.nulls).first().map_or("", String::as_str)
    }

    /// The words for true and false in a column that has `own` values.
    pub(crate) fn boolean_words(&self, own: &ColumnValues) -> BooleanWords {
        BooleanWords {
            truths: own.true_values.as_ref().or(self.true_values.as_ref()).map(|words| bytes(words)),
            falsehoods: own.false_values.as_ref().or(self.false_values.as_ref()).map(|words| bytes(words)),
        }
    }

    /// The rule of a type, without what depends on the column alone.
    fn rule_of_type(&self, value_type: ValueType, own: &ColumnValues) -> Result<FieldRule, String> {
        let nulls = own.nulls.as_ref().unwrap_or(&self.nulls);
        if nulls.is_empty() {
            return Err("the list of NULL texts is empty; name one, or list columns in FORCE_NOT_NULL".to_owned());
        }
        let decimal = own.decimal_separator.unwrap_or(self.decimal_separator);
        let decimal_separator = u8::try_from(decimal).ok().filter(u8::is_ascii).ok_or_else(|| {
            format!("DECIMAL_SEPARATOR cannot be {decimal:?}; choose an ASCII character that is no part of a number")
        })?;
        let of_type = match value_type {
            ValueType::Date => &self.date_format,
            ValueType::Time => &self.time_format,
            ValueType::Timestamp | ValueType::TimestampTz => &self.timestamp_format,
            _ => &None,
        };
        Ok(FieldRule {
            null_texts: bytes(nulls),
            trim: own.trim.unwrap_or(self.trim),
            decimal_separator,
            thousands_separator: own.thousands_separator.unwrap_or(self.thousands_separator),
            boolean_words: self.boolean_words(own),
            date_time_format: own.format.as_ref().or(of_type.as_ref()).cloned(),
            ..FieldRule::new(value_type)
        })
    }
}

/// How the text of a column is read.
pub(crate) fn value_type(column_type: &ColumnType) -> ValueType {
    match column_type.unrounded() {
        ColumnType::Boolean => ValueType::Boolean,
        ColumnType::SmallInt => ValueType::Int16,
        ColumnType::Integer => ValueType::Int32,
        ColumnType::BigInt => ValueType::Int64,
        ColumnType::Real => ValueType::Float32,
        ColumnType::Double => ValueType::Float64,
        ColumnType::Decimal { precision, scale } if precision <= 18 => ValueType::Decimal64 { precision, scale },
        ColumnType::Decimal { precision, scale } => ValueType::Decimal128 { precision, scale },
        ColumnType::Char(length) => ValueType::Char(length),
        ColumnType::Varchar(length) => ValueType::Varchar(length),
        ColumnType::Date => ValueType::Date,
        ColumnType::Time => ValueType::Time,
        ColumnType::Timestamp => ValueType::Timestamp,
        ColumnType::TimestampTz => ValueType::TimestampTz,
        ColumnType::Uuid => ValueType::Uuid,
        ColumnType::Bytea => ValueType::Bytea,
        // The others become what they are when they are inserted.
        ColumnType::Text
        | ColumnType::TimeTz
        | ColumnType::Interval
        | ColumnType::Rounded(..)
        | ColumnType::Json
        | ColumnType::Jsonb
        | ColumnType::Array(..) => ValueType::Text,
        ColumnType::Numeric(limit) => ValueType::Numeric(limit),
    }
}

fn bytes(texts: &[String]) -> Vec<Box<[u8]>> {
    texts.iter().map(|text| text.as_bytes().into()).collect()
}
