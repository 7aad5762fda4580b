//! SET of what concerns the whole database, and how settings are written. Not here: settings of transactions
//! (`statement/transaction.rs`), SHOW (`statement/show.rs`).

use sqlparser::ast::{Expr, Set, Statement, Value, ValueWithSpan};

use crate::config::Naptime;
use crate::database::AutovacuumSettings;
use crate::{Database, Error, Outcome};

/// Executes `statement` if it sets something of the whole database. It takes effect at once, for all sessions.
pub(crate) fn set(database: &Database, statement: &Statement) -> Option<Result<Outcome, Error>> {
    let Statement::Set(Set::SingleAssignment { scope: None, hivevar: false, variable, values }) = statement else {
        return None;
    };
    let name = variable.to_string().to_ascii_lowercase();
    let set = match name.as_str() {
        "autovacuum" => set_autovacuum(database, values),
        "autovacuum_naptime" => set_naptime(database, values),
        _ => return None,
    };
    Some(set.map(|()| Outcome::done("SET")).map_err(|problem| Error::invalid(format!("{name}: {problem}"))))
}

/// The settings that SHOW knows, and their values.
pub(crate) fn settings(database: &Database) -> [(&'static str, String); 2] {
    let AutovacuumSettings { is_on, naptime } = database.autovacuum.settings();
    [("autovacuum", on_or_off(is_on).to_owned()), ("autovacuum_naptime", naptime.to_string())]
}

fn set_autovacuum(database: &Database, values: &[Expr]) -> Result<(), String> {
    let is_on = word(values).and_then(|word| match word.as_str() {
        "default" => Some(database.config().autovacuum),
        word => bool_of(word),
    });
    let is_on = is_on.ok_or("it is on or off")?;
    database.autovacuum.set(|settings| settings.is_on = is_on);
    Ok(())
}

fn set_naptime(database: &Database, values: &[Expr]) -> Result<(), String> {
    let naptime = match word(values).ok_or("it is one time, such as '30s'")?.as_str() {
        "default" => database.config().autovacuum_naptime,
        word => word.parse::<Naptime>()?,
    };
    database.autovacuum.set(|settings| settings.naptime = naptime);
    Ok(())
}

/// The one word or text that a setting is given, in lower case.
pub(super) fn word(values: &[Expr]) -> Option<String> {
    let [value] = values else { return None };
    match value {
        Expr::Identifier(word) => Some(word.value.to_ascii_lowercase()),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text) | Value::Number(text, _), .. }) => {
            Some(text.to_ascii_lowercase())
        }
        Expr::Value(ValueWithSpan { value: Value::Boolean(value), .. }) => Some(value.to_string()),
        _ => None,
    }
}

pub(super) fn bool_of(word: &str) -> Option<bool> {
    match word {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

pub(super) fn on_or_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}
