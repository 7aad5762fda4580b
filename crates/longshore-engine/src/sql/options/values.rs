//! How values are spelled: NULL texts, separators, formats of dates, words for truth, for all columns or by column.

use std::collections::BTreeMap;

use longshore_format::pattern::Preset;
use longshore_format::sniff::types::DateOrder;
use longshore_load::{ColumnChoice, ColumnValues, DateTimeFormat, ValueOptions, ValueType};
use longshore_storage::ColumnType;

use super::given::{Given, boolean};
use super::{Format, OptionValue};
use crate::Error;

/// What was said about values.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    pub(crate) options: ValueOptions,
    /// Whether NULL texts were given for all columns.
    pub(crate) nulls_given: bool,
    /// What a column takes where it is not in a record or in the file.
    pub(crate) defaults: Vec<(String, String)>,
    /// The columns that options name, with the option's name.
    named: Vec<(&'static str, String)>,
}

/// Reads options one after the other.
struct Reader<'a> {
    given: &'a Given<'a>,
    columns: BTreeMap<String, ColumnValues>,
    named: Vec<(&'static str, String)>,
}

impl Values {
    pub(super) fn new(given: &Given<'_>, format: Option<Format>) -> Result<Self, Error> {
        let mut reader = Reader { given, columns: BTreeMap::new(), named: Vec::new() };
        let null = if format == Some(Format::Text) { "\\N" } else { "" };
        let nulls = reader.each("NULL", texts, |column, nulls| column.nulls = Some(nulls))?;
        let nulls_given = nulls.is_some();
        let quoted = reader.each("QUOTED_NULLS", truth, |column, quoted| column.quoted_nulls = Some(quoted))?;
        let force_null = given.columns("FORCE_NULL")?;
        if quoted.is_some() && force_null != ColumnChoice::None {
            return Err(given.bad("QUOTED_NULLS", "says the same as FORCE_NULL (*); keep one of them"));
        }
        let separator = |given: &Given<'_>, name, value: &OptionValue| character(given, name, value);
        let options = ValueOptions {
            nulls: nulls.unwrap_or_else(|| vec![null.to_owned()]),
            quoted_nulls: if quoted == Some(true) { ColumnChoice::All } else { force_null },
            force_not_null: given.columns("FORCE_NOT_NULL")?,
            trim: reader.each("TRIM", truth, |column, trim| column.trim = Some(trim))?.unwrap_or(false),
            decimal_separator: reader
                .each("DECIMAL_SEPARATOR", separator, |column, separator| column.decimal_separator = Some(separator))?
                .unwrap_or('.'),
            thousands_separator: reader.each("THOUSANDS_SEPARATOR", separator, |column, separator| {
                column.thousands_separator = Some(Some(separator));
            })?,
            date_format: reader.each("DATE_FORMAT", moment, |column, format| column.format = Some(format))?,
            time_format: reader.each("TIME_FORMAT", moment, |column, format| column.format = Some(format))?,
            timestamp_format: reader.each("TIMESTAMP_FORMAT", moment, |column, format| column.format = Some(format))?,
            true_values: reader.each("TRUE_VALUES", texts, |column, words| column.true_values = Some(words))?,
            false_values: reader.each("FALSE_VALUES", texts, |column, words| column.false_values = Some(words))?,
            columns: BTreeMap::new(),
        };
        let defaults = defaults(given)?;
        let Reader { columns, mut named, .. } = reader;
        let choices = [("FORCE_NULL", &options.quoted_nulls), ("FORCE_NOT_NULL", &options.force_not_null)];
        for (option, choice) in choices {
            if let ColumnChoice::Names(names) = choice {
                named.extend(names.iter().map(|name| (option, name.clone())));
            }
        }
        Ok(Self { options: ValueOptions { columns, ..options }, nulls_given, defaults, named })
    }

    /// The order of day and month in dates that could have either. With `iso` there are no such dates.
    pub(super) fn date_order(&mut self, given: &Given<'_>) -> Result<Option<DateOrder>, Error> {
        let order = given.choice("DATE_ORDER", |name| match name {
            "iso" => Some(None),
            "mdy" => Some(Some(DateOrder::MonthFirst)),
            "dmy" => Some(Some(DateOrder::DayFirst)),
            _ => None,
        })?;
        let Some(order) = order else { return Ok(None) };
        let formats =
            [("DATE_FORMAT", &self.options.date_format), ("TIMESTAMP_FORMAT", &self.options.timestamp_format)];
        if let Some((format, _)) = formats.iter().find(|(_, format)| format.is_some()) {
            return Err(given.bad("DATE_ORDER", &format!("{format} says it already; leave one of them out")));
        }
        if order.is_none() {
            self.options.date_format = Some(moment_of(&["iso"]));
            self.options.timestamp_format = Some(moment_of(&["iso"]));
        }
        Ok(order)
    }

    /// Takes what lines of a known format have for NULL and how they write times, where nothing else was said.
    pub(super) fn follow(&mut self, preset: Option<&'static Preset>) {
        let Some(preset) = preset else { return };
        if !self.nulls_given {
            self.options.nulls = vec![preset.null_text.to_owned()];
        }
        let ValueOptions { date_format, time_format, timestamp_format, .. } = &mut self.options;
        if date_format.is_none() && time_format.is_none() && timestamp_format.is_none() {
            *timestamp_format = DateTimeFormat::new(&[preset.time_format]).ok();
        }
    }

    /// The types of columns for which something was said that only values of one type can follow.
    pub(super) fn types(&self) -> Vec<(String, ColumnType)> {
        let of_option = |option: &str, column: &str| match option {
            "TRUE_VALUES" | "FALSE_VALUES" => Some(ColumnType::Boolean),
            "DATE_FORMAT" => Some(ColumnType::Date),
            "TIME_FORMAT" => Some(ColumnType::Time),
            "TIMESTAMP_FORMAT" => {
                let format = self.options.columns.get(column)?.format.as_ref()?;
                let is = |value_type| format.check(value_type).is_ok();
                let is_zoned = is(ValueType::TimestampTz) && !is(ValueType::Timestamp);
                Some(if is_zoned { ColumnType::TimestampTz } else { ColumnType::Timestamp })
            }
            _ => None,
        };
        let named = self.named.iter();
        named.filter_map(|(option, column)| Some((column.clone(), of_option(option, column)?))).collect()
    }

    /// The columns that options name, with the option's name.
    pub(super) fn named_columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.named.iter().map(|(option, name)| (*option, name.as_str()))
    }
}

impl Reader<'_> {
    /// The value of the option for all columns; values of single columns are handed to `set`.
    fn each<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&Given<'_>, &'static str, &OptionValue) -> Result<T, Error>,
        set: impl Fn(&mut ColumnValues, T),
    ) -> Result<Option<T>, Error> {
        let Some(item) = self.given.item(name) else {
            return Ok(None);
        };
        let OptionValue::PerColumn(columns) = &item.value else {
            return read(self.given, name, &item.value).map(Some);
        };
        for (column, value) in columns {
            set(self.columns.entry(column.clone()).or_default(), read(self.given, name, value)?);
            self.named.push((name, column.clone()));
        }
        Ok(None)
    }
}

fn texts(given: &Given<'_>, name: &'static str, value: &OptionValue) -> Result<Vec<String>, Error> {
    match value {
        OptionValue::Text(text) | OptionValue::Word(text) | OptionValue::Number(text) => Ok(vec![text.clone()]),
        OptionValue::TextSources(texts) => Ok(texts.clone()),
        _ => Err(given.bad(
            name,
            "a text in quotes is expected, several as in ('a', 'b'), or texts by column as in (x 'a', y ('b', 'c'))",
        )),
    }
}

fn truth(given: &Given<'_>, name: &'static str, value: &OptionValue) -> Result<bool, Error> {
    match value {
        OptionValue::None => Ok(true),
        OptionValue::Text(text) | OptionValue::Word(text) | OptionValue::Number(text) => {
            boolean(&text.to_ascii_lowercase()).ok_or_else(|| {
                given.bad(name, &format!("{text:?} is not a value it takes; the values are true, false"))
            })
        }
        _ => Err(given.bad(name, "true or false is expected")),
    }
}

fn character(given: &Given<'_>, name: &'static str, value: &OptionValue) -> Result<char, Error> {
    if let OptionValue::Text(text) = value {
        let mut characters = text.chars();
        if let (Some(only), None) = (characters.next(), characters.next()) {
            return Ok(only);
        }
    }
    Err(given.bad(name, "one character in single quotes is expected"))
}

fn moment(given: &Given<'_>, name: &'static str, value: &OptionValue) -> Result<DateTimeFormat, Error> {
    let formats = texts(given, name, value)?;
    DateTimeFormat::new(&formats).map_err(|error| given.bad(name, &error.to_string()))
}

/// How dates and timestamps are read where the order of day and month is given.
pub(super) fn format_in_order(order: DateOrder) -> DateTimeFormat {
    match order {
        DateOrder::MonthFirst => moment_of(&["iso", "us"]),
        DateOrder::DayFirst => moment_of(&["iso", "eu"]),
    }
}

fn moment_of(presets: &[&str]) -> DateTimeFormat {
    DateTimeFormat::new(presets).expect("presets are formats")
}

fn defaults(given: &Given<'_>) -> Result<Vec<(String, String)>, Error> {
    let Some(item) = given.item("DEFAULTS") else {
        return Ok(Vec::new());
    };
    let problem = "columns with their values are expected, as in (a '0', b 'none')";
    let OptionValue::PerColumn(columns) = &item.value else {
        return Err(given.bad("DEFAULTS", problem));
    };
    columns
        .iter()
        .map(|(name, value)| match value {
            OptionValue::Text(text) | OptionValue::Number(text) | OptionValue::Word(text) => {
                Ok((name.clone(), text.clone()))
            }
            _ => Err(given.bad("DEFAULTS", problem)),
        })
        .collect()
}
