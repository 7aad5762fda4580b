//! PostgreSQL's settings that clients send before all else, and those of its planner.
//!
//! Those that mean nothing here are kept and shown. Of those that mean something, the values by which this database works
//! anyway are accepted; others would promise what is not done, and are refused by name. Each session has its own.
//! A rollback takes back what its block has set, and SET LOCAL holds until the end of the block.
//! Not here: settings of transactions (`transaction`) and of the database (`settings`).

mod planner;
mod sizes;
mod times;

use std::collections::BTreeMap;
use std::time::Duration;

use planner::PLANNER_SETTINGS;
use sqlparser::ast::{ContextModifier, Expr, Set, Statement, UnaryOperator, Value};

use super::schemas;
use super::settings::{bool_of, on_or_off};
use crate::transaction::{Block, Logging, QueryLimits, Timeouts};
use crate::{Error, Outcome, Report};

/// What a setting takes.
enum Takes {
    /// Any text: it means nothing here.
    Any,
    /// On or off, which means nothing here.
    Switch,
    /// A number, which may have a unit; it means nothing here.
    Number,
    /// A time.
    Time,
    /// A time, or -1 for never.
    TimeOrNever,
    /// A size, or -1 for any.
    Size,
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
const SETTINGS: [Setting; 33] = [
    Setting("application_name", "", Takes::Any),
    Setting("bytea_output", "hex", Takes::Same(&["hex"])),
    Setting("check_function_bodies", "on", Takes::Any),
    Setting("client_encoding", "UTF8", Takes::Same(&["utf8", "utf-8", "unicode"])),
    Setting("client_min_messages", "notice", Takes::OneOf(&MESSAGES)),
    Setting("default_table_access_method", "heap", Takes::Same(&["heap"])),
    Setting("default_tablespace", "", Takes::Same(&[""])),
    Setting("deadlock_timeout", "1s", Takes::Time),
    Setting("escape_string_warning", "on", Takes::Any),
    Setting("extra_float_digits", "1", Takes::OneOf(&["1", "2", "3"])),
    Setting("idle_in_transaction_session_timeout", "0", Takes::Time),
    Setting("integer_datetimes", "on", Takes::Nothing),
    Setting("lock_timeout", "0", Takes::Time),
    Setting("log_lock_waits", "off", Takes::Switch),
    Setting("log_min_duration_statement", "-1", Takes::TimeOrNever),
    Setting("log_parameter_max_length", "0", Takes::Same(&["0"])),
    Setting("query_memory_limit", "-1", Takes::Size),
    Setting("row_security", "on", Takes::Any),
    Setting("search_path", "\"$user\", public", Takes::Any),
    Setting("server_encoding", "UTF8", Takes::Nothing),
    Setting("server_version", concat!("15.0 (Longshore ", env!("CARGO_PKG_VERSION"), ")"), Takes::Nothing),
    Setting("server_version_num", "150000", Takes::Nothing),
    Setting("session_replication_role", "origin", Takes::Same(&["origin"])),
    Setting("standard_conforming_strings", "on", ON),
    Setting("statement_timeout", "0", Takes::Time),
    Setting("synchronize_seqscans", "off", OFF),
    Setting("temp_file_limit", "-1", Takes::Size),
    Setting("track_activities", "on", ON),
    Setting("track_activity_query_size", "1kB", Takes::Same(&["1kb", "1024", "1024b"])),
    Setting("track_io_timing", "off", OFF),
    Setting("transaction_timeout", "0", NO_TIME),
    Setting("work_mem", "4MB", Takes::Any),
    Setting("xmloption", "content", Takes::Any),
];

const MESSAGES: [&str; 9] = ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

/// The names of what says who the session acts as.
pub(super) const ROLE: &str = "role";
pub(super) const SESSION_AUTHORIZATION: &str = "session_authorization";

/// How long a wait for a lock lasts before it is told, where nothing is said.
const DEADLOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Values that are not as they are at first.
type Values = BTreeMap<&'static str, String>;

/// The settings of a session that are not as they are at first.
#[derive(Debug, Default)]
pub(crate) struct ClientSettings {
    values: Values,
    /// What holds behind the open block, once it has set something.
    block: Option<BehindBlock>,
    /// What held at each savepoint of the block.
    savepoints: Vec<AtSavepoint>,
}

/// What held when a savepoint was set.
#[derive(Debug)]
struct AtSavepoint {
    values: Values,
    /// What the block would have left by then, if it had set something.
    committed: Option<Values>,
}

/// What settings are behind a block.
#[derive(Debug)]
struct BehindBlock {
    committed: Values,
    rolled_back: Values,
}

/// How far a SET reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the end of the session.
    Session,
    /// To the end of the session, unless the open block is rolled back.
    OpenBlock,
    /// To the end of the open block.
    Local,
    /// It is local to a block, and none is open.
    Nothing,
}

impl Reach {
    /// That of a SET which is local or not; `is_open` says that a block is open.
    pub(crate) fn new(is_local: bool, is_open: bool) -> Self {
        match (is_local, is_open) {
            (false, false) => Self::Session,
            (false, true) => Self::OpenBlock,
            (true, true) => Self::Local,
            (true, false) => Self::Nothing,
        }
    }
}

impl ClientSettings {
    /// Executes `statement` if it is SET of one of them; `is_open` says that a block is open.
    pub(crate) fn execute(&mut self, statement: &Statement, is_open: bool) -> Option<Result<Outcome, Error>> {
        let Statement::Set(set) = statement else { return None };
        let (name, values, is_local) = match set {
            Set::SingleAssignment {
                scope: scope @ (None | Some(ContextModifier::Session | ContextModifier::Local)),
                hivevar: false,
                variable,
                values,
            } => (variable.to_string(), values.clone(), *scope == Some(ContextModifier::Local)),
            Set::SetNames { charset_name, collation_name: None } => {
                ("client_encoding".to_owned(), vec![Expr::Identifier(charset_name.clone())], false)
            }
            _ => return None,
        };
        let setting = setting(&name)?;
        let reach = Reach::new(is_local, is_open);
        let notice = (reach == Reach::Nothing)
            .then(|| "SET LOCAL does nothing outside of a transaction block; BEGIN opens one".to_owned());
        let done = Outcome::Done { tag: "SET".to_owned(), report: Report::default(), notice };
        Some(self.set(setting, &values, reach).map(|()| done))
    }

    /// All of them as they were at first, but for who the session acts as; `is_open` says that a block is open.
    pub(crate) fn reset(&mut self, is_open: bool) {
        let is_kept = |name: &str| name == ROLE || name == SESSION_AUTHORIZATION;
        self.change(Reach::new(false, is_open), |values| values.retain(|name, _| is_kept(name)));
    }

    /// A block has ended. Returns whether it had set something.
    pub(crate) fn end_block(&mut self, is_committed: bool) -> bool {
        let Some(BehindBlock { committed, rolled_back }) = self.block.take() else { return false };
        self.values = if is_committed { committed } else { rolled_back };
        true
    }

    /// Follows a statement about savepoints that is done; `count` of them are set now. Returns whether settings have changed.
    pub(crate) fn follow_savepoints(&mut self, statement: &Statement, count: usize) -> bool {
        match statement {
            Statement::Savepoint { .. } => {
                let committed = self.block.as_ref().map(|block| block.committed.clone());
                self.savepoints.push(AtSavepoint { values: self.values.clone(), committed });
            }
            Statement::ReleaseSavepoint { .. } => self.savepoints.truncate(count),
            Statement::Rollback { savepoint: Some(_), .. } => {
                self.savepoints.truncate(count);
                // Only what was set since can be undone.
                if let (Some(block), Some(at)) = (&mut self.block, self.savepoints.last()) {
                    self.values.clone_from(&at.values);
                    block.committed = at.committed.clone().unwrap_or_else(|| block.rolled_back.clone());
                    return true;
                }
            }
            Statement::Commit { .. } | Statement::Rollback { .. } => self.savepoints.clear(),
            _ => {}
        }
        false
    }

    /// The settings, and their values.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&'static str, String)> {
        all().map(|Setting(name, default, _)| {
            (*name, self.values.get(name).map_or_else(|| (*default).to_owned(), String::clone))
        })
    }

    /// The value of one of them.
    pub(crate) fn value(&self, name: &str) -> String {
        self.shown().find(|(known, _)| *known == name).map_or_else(String::new, |(_, value)| value)
    }

    /// What was set of one of them.
    pub(crate) fn kept(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Keeps a value that others have looked at, or forgets it.
    pub(crate) fn put(&mut self, name: &'static str, value: Option<&str>, reach: Reach) {
        self.change(reach, |values| match value {
            Some(value) => drop(values.insert(name, value.to_owned())),
            None => drop(values.remove(name)),
        });
    }

    /// Lets the statements of a session heed them, and others see what it calls itself.
    pub(crate) fn apply(&self, block: &mut Block) {
        if let Some((activity, _)) = block.numbers().entered() {
            activity.set_application(self.kept("application_name").unwrap_or_default());
        }
        block.set_timeouts(self.timeouts());
        block.set_logging(self.logging());
        block.numbers().limit_queries(self.query_limits());
    }

    /// How long statements may take.
    fn timeouts(&self) -> Timeouts {
        // Of most sessions nothing is set.
        let of = |name: &str| times::duration(self.values.get(name)?);
        Timeouts {
            lock: of("lock_timeout"),
            statement: of("statement_timeout"),
            idle_in_transaction: of("idle_in_transaction_session_timeout"),
        }
    }

    /// What each query may take.
    fn query_limits(&self) -> QueryLimits {
        let of = |name: &str| sizes::bytes(self.values.get(name)?);
        let memory = of("query_memory_limit").map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        QueryLimits { memory, temp_file: of("temp_file_limit") }
    }

    /// What the log is to tell.
    fn logging(&self) -> Logging {
        let of = |name: &str| self.values.get(name).map(String::as_str);
        let slow = of("log_min_duration_statement").filter(|shown| *shown != "-1");
        let waits = of("log_lock_waits") == Some("on");
        let deadlock_timeout = || of("deadlock_timeout").map_or(DEADLOCK_TIMEOUT, times::at_once);
        Logging { slow_statements: slow.map(times::at_once), lock_waits: waits.then(deadlock_timeout) }
    }

    /// Keeps a value that others have looked at.
    pub(crate) fn keep(&mut self, name: &'static str, value: &str, reach: Reach) {
        self.change(reach, |values| {
            values.insert(name, value.to_owned());
        });
    }

    fn change(&mut self, reach: Reach, change: impl Fn(&mut Values)) {
        if reach == Reach::Nothing {
            return;
        }
        if reach != Reach::Session {
            let now = &self.values;
            let behind =
                self.block.get_or_insert_with(|| BehindBlock { committed: now.clone(), rolled_back: now.clone() });
            if reach == Reach::OpenBlock {
                change(&mut behind.committed);
            }
        }
        change(&mut self.values);
    }

    fn set(
        &mut self,
        Setting(name, default, takes): &'static Setting,
        values: &[Expr],
        reach: Reach,
    ) -> Result<(), Error> {
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
            self.change(reach, |values| {
                values.remove(name);
            });
            return Ok(());
        }
        let known = match takes {
            Takes::Switch => {
                let is_on = bool_of(&said.to_lowercase())
                    .ok_or_else(|| Error::invalid(format!("parameter \"{name}\" requires a Boolean value")))?;
                self.keep(name, on_or_off(is_on), reach);
                return Ok(());
            }
            Takes::TimeOrNever if said.trim() == "-1" => {
                self.keep(name, "-1", reach);
                return Ok(());
            }
            Takes::Size => {
                self.keep(name, &sizes::shown(name, &said)?, reach);
                return Ok(());
            }
            Takes::Time | Takes::TimeOrNever => {
                self.keep(name, &times::shown(times::milliseconds(name, &said)?), reach);
                return Ok(());
            }
            Takes::Number if !is_number(&said) => {
                return Err(Error::invalid(format!("invalid value for parameter \"{name}\": \"{said}\"")));
            }
            Takes::Any | Takes::Number => None,
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
            self.keep(name, &said, reach);
        }
        Ok(())
    }
}

/// A number with or without a unit: `0`, `1.5`, `64kB`.
fn is_number(text: &str) -> bool {
    let number = text.trim().trim_end_matches(|char: char| char.is_ascii_alphabetic()).trim_end();
    number.parse::<f64>().is_ok()
}

/// All settings.
fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(&PLANNER_SETTINGS)
}

fn setting(name: &str) -> Option<&'static Setting> {
    all().find(|Setting(known, ..)| known.eq_ignore_ascii_case(name))
}

/// What a value says.
pub(crate) fn text(value: &Expr) -> Option<String> {
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
