//! SET of what concerns the whole database, and how settings are written. Not here: settings of transactions
//! (`statement/transaction.rs`), SHOW (`statement/show.rs`).

use sqlparser::ast::{Expr, Set, Statement, Value, ValueWithSpan};

use crate::config::{Durability, Naptime, WalSize};
use crate::database::{AutovacuumSettings, CheckpointSettings};
use crate::{Database, Error, Outcome};

/// Settings that nobody sets: what programs ask of PostgreSQL before all else.
pub(crate) const PRESETS: [(&str, &str); 12] = [
    ("block_size", "8192"),
    ("default_text_search_config", "pg_catalog.simple"),
    ("in_hot_standby", "off"),
    ("is_superuser", "on"),
    ("lc_collate", "C"),
    ("lc_ctype", "C.UTF-8"),
    ("lc_messages", "C"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "32"),
];

/// Executes `statement` if it sets something of the whole database. It takes effect at once, for all sessions.
pub(crate) fn set(database: &Database, statement: &Statement) -> Option<Result<Outcome, Error>> {
    let Statement::Set(Set::SingleAssignment { scope: None, hivevar: false, variable, values }) = statement else {
        return None;
    };
    let name = variable.to_string().to_ascii_lowercase();
    let set = match name.as_str() {
        "autovacuum" => set_autovacuum(database, values),
        "autovacuum_naptime" => set_naptime(database, values),
        "max_wal_size" => set_checkpoints(database, values, |settings, usual, word| {
            settings.max_wal_size =
                if word == "default" { usual.max_wal_size } else { word.parse::<WalSize>()?.bytes() };
            Ok(())
        }),
        "checkpoint_timeout" => set_checkpoints(database, values, |settings, usual, word| {
            settings.checkpoint_timeout = if word == "default" { usual.checkpoint_timeout } else { word.parse()? };
            Ok(())
        }),
        _ => return None,
    };
    Some(set.map(|()| Outcome::done("SET")).map_err(|problem| Error::invalid(format!("{name}: {problem}"))))
}

/// Whether a setting is one of the whole database.
pub(crate) fn is_of_database(name: &str) -> bool {
    matches!(name, "autovacuum" | "autovacuum_naptime" | "max_wal_size" | "checkpoint_timeout" | "wal_writer_delay")
}

/// The settings that SHOW knows, and their values.
pub(crate) fn settings(database: &Database) -> Vec<(&'static str, String)> {
    let AutovacuumSettings { is_on, naptime } = database.autovacuum.settings();
    let mut all = vec![("autovacuum", on_or_off(is_on).to_owned()), ("autovacuum_naptime", naptime.to_string())];
    if let Some(durable) = database.durable() {
        let CheckpointSettings { max_wal_size, checkpoint_timeout } = durable.settings();
        all.extend([
            ("checkpoint_timeout", checkpoint_timeout.to_string()),
            ("max_wal_size", WalSize::new(max_wal_size).to_string()),
            ("wal_writer_delay", format!("{}ms", durable.durability().wal_writer_delay.as_millis())),
        ]);
    }
    all
}

/// Changes when checkpoints are made; `change` also gets what the database was opened with, and the word.
fn set_checkpoints(
    database: &Database,
    values: &[Expr],
    change: impl FnOnce(&mut CheckpointSettings, &Durability, &str) -> Result<(), String>,
) -> Result<(), String> {
    let durable = database.durable().ok_or("the database is not written to a directory")?;
    let word = word(values).ok_or("it is one word or text, such as '1GB' or '5min'")?;
    let mut settings = durable.settings();
    change(&mut settings, durable.durability(), &word)?;
    durable.set(|now| *now = settings);
    Ok(())
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
