//! PostgreSQL's settings that clients send before all else.
//!
//! Those that mean nothing here are kept and shown. Of those that mean something, the values by which this database works
//! anyway are accepted; others would promise what is not done, and are refused by name. Each session has its own.
//! Not here: settings of transactions (`transaction`) and of the database (`settings`).

use std::collections::BTreeMap;

use sqlparser::ast::{ContextModifier, Expr, Set, Statement, UnaryOperator, Value};

use super::schemas;
use crate::{Error, Outcome};

/// What a setting takes.
enum Takes {
    /// Any text: it means nothing here.
    Any,
    /// One of these, which is kept; compared without case and spaces.
    OneOf(&'static [&'static str]),
    /// What it is anyway, which these say, too.
    Same(&'static [&'static str]),
    Nothing,
}

/// A setting: its name as PostgreSQL shows it, what it is, what it takes.
struct Setting(&'static str, &'static str, Takes);

const ON: Takes = Takes::Same(&["on", "true", "yes", "1"]);
const OFF: Takes = Takes::Same(&["off", "false", "no", "0"]);
const NO_TIME: Takes = Takes::Same(&["0", "0ms", "0s"]);

/// In the order of their names.
const SETTINGS: [Setting; 26] = [
    Setting("application_name", "", Takes::Any),
    Setting("bytea_output", "hex", Takes::Same(&["hex"])),
    Setting("check_function_bodies", "on", Takes::Any),
    Setting("client_encoding", "UTF8", Takes::Same(&["utf8", "utf-8", "unicode"])),
    Setting("client_min_messages", "notice", Takes::OneOf(&MESSAGES)),
    Setting("DateStyle", "ISO, MDY", Takes::Same(&["iso", "iso,mdy"])),
    Setting("default_table_access_method", "heap", Takes::Same(&["heap"])),
    Setting("default_tablespace", "", Takes::Same(&[""])),
    Setting("escape_string_warning", "on", Takes::Any),
    Setting("extra_float_digits", "1", Takes::OneOf(&["1", "2", "3"])),
    Setting("idle_in_transaction_session_timeout", "0", NO_TIME),
    Setting("integer_datetimes", "on", Takes::Nothing),
    Setting("lock_timeout", "0", Takes::Any),
    Setting("row_security", "on", Takes::Any),
    Setting("search_path", "\"$user\", public", Takes::Any),
    Setting("server_encoding", "UTF8", Takes::Nothing),
    Setting("server_version", concat!("15.0 (Longshore ", env!("CARGO_PKG_VERSION"), ")"), Takes::Nothing),
    Setting("server_version_num", "150000", Takes::Nothing),
    Setting("session_replication_role", "origin", Takes::Same(&["origin"])),
    Setting("standard_conforming_strings", "on", ON),
    Setting("statement_timeout", "0", NO_TIME),
    Setting("synchronize_seqscans", "off", OFF),
    Setting("TimeZone", "UTC", Takes::Same(&["utc", "gmt", "etc/utc", "zulu"])),
    Setting("transaction_timeout", "0", NO_TIME),
    Setting("work_mem", "4MB", Takes::Any),
    Setting("xmloption", "content", Takes::Any),
];

const MESSAGES: [&str; 9] = ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

/// The settings of a session that are not as they are at first.
#[derive(Debug, Default)]
pub(crate) struct ClientSettings(BTreeMap<&'static str, String>);

impl ClientSettings {
    /// Executes `statement` if it is SET of one of them.
    pub(crate) fn execute(&mut self, statement: &Statement) -> Option<Result<Outcome, Error>> {
        let Statement::Set(set) = statement else { return None };
        let (name, values) = match set {
            Set::SingleAssignment {
                scope: None | Some(ContextModifier::Session),
                hivevar: false,
                variable,
                values,
            } => (variable.to_string(), values.clone()),
            Set::SetTimeZone { local: false, value } => ("timezone".to_owned(), vec![value.clone()]),
            Set::SetNames { charset_name, collation_name: None } => {
                ("client_encoding".to_owned(), vec![Expr::Identifier(charset_name.clone())])
            }
            _ => return None,
        };
        let setting = setting(&name)?;
        Some(self.set(setting, &values).map(|()| Outcome::done("SET")))
    }

    /// All of them as they were at first.
    pub(crate) fn reset(&mut self) {
        self.0.clear();
    }

    /// The settings, and their values.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&'static str, String)> {
        SETTINGS.iter().map(|Setting(name, default, _)| {
            (*name, self.0.get(name).map_or_else(|| (*default).to_owned(), String::clone))
        })
    }

    /// The value of one of them.
    pub(crate) fn value(&self, name: &str) -> String {
        self.shown().find(|(known, _)| *known == name).map_or_else(String::new, |(_, value)| value)
    }

    /// Keeps a value that others have looked at.
    pub(crate) fn keep(&mut self, name: &'static str, value: &str) {
        self.0.insert(name, value.to_owned());
    }

    fn set(&mut self, Setting(name, default, takes): &'static Setting, values: &[Expr]) -> Result<(), Error> {
        let is_default = matches!(values, [Expr::Identifier(word)] if word.value.eq_ignore_ascii_case("default"));
        let said = if *name == "search_path" && !is_default {
            schemas::path_text(values)
        } else {
            values.iter().map(text).collect::<Option<Vec<String>>>().map(|said| said.join(", "))
        };
        let Some(said) = said else {
            return Err(Error::invalid(format!("{name} takes words, texts and numbers only")));
        };
        let folded = |text: &str| text.to_lowercase().replace(' ', "");
        if is_default {
            self.0.remove(name);
            return Ok(());
        }
        let known = match takes {
            Takes::Any => None,
            Takes::OneOf(known) | Takes::Same(known) => Some(known),
            Takes::Nothing => return Err(Error::invalid(format!("{name} cannot be changed; it is {default}"))),
        };
        if let Some(known) = known
            && !known.iter().any(|known| folded(known) == folded(&said))
        {
            return Err(match takes {
                Takes::OneOf(known) => Error::invalid(format!("{name} takes one of: {}", known.join(", "))),
                _ => Error::unsupported(format!("{name} = '{said}' is not supported; it is '{default}'")),
            });
        }
        if !matches!(takes, Takes::Same(_)) {
            self.0.insert(*name, said);
        }
        Ok(())
    }
}

fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|Setting(known, ..)| known.eq_ignore_ascii_case(name))
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Identifier(word) => Some(word.value.clone()),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => Some(text.clone()),
            Value::Boolean(value) => Some(value.to_string()),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => text(expr).map(|text| format!("-{text}")),
        _ => None,
    }
}
