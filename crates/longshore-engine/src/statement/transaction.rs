//! BEGIN, COMMIT, ROLLBACK, savepoints and SET TRANSACTION. Not here: what a block is (`transaction`).

use longshore_load::Control;
use sqlparser::ast::{
    ContextModifier, Expr, ObjectName, Set, Statement, TransactionAccessMode, TransactionIsolationLevel,
    TransactionMode,
};

use crate::sql::{deferrable, names};
use crate::statement::settings::{bool_of, on_or_off, word};
use crate::transaction::{Block, Ended, Level, Modes};
use crate::{Error, Outcome, Report};

/// Executes `statement` if it is about the session's transactions.
pub(crate) fn control(block: &mut Block, control: &Control, statement: &Statement) -> Option<Result<Outcome, Error>> {
    Some(match statement {
        Statement::StartTransaction { .. } => begin(block, statement),
        Statement::Commit { chain, modifier: None, .. } => commit(block, *chain, control),
        Statement::Rollback { chain, savepoint: None } => block.rollback(*chain).map(|done| ended(done, "ROLLBACK")),
        Statement::Rollback { savepoint: Some(name), .. } => {
            names::identifier(name).and_then(|name| block.rollback_to(&name)).map(|()| Outcome::done("ROLLBACK"))
        }
        Statement::Savepoint { name } => {
            names::identifier(name).and_then(|name| block.savepoint(name)).map(|()| Outcome::done("SAVEPOINT"))
        }
        Statement::ReleaseSavepoint { name } => {
            names::identifier(name).and_then(|name| block.release(&name)).map(|()| Outcome::done("RELEASE"))
        }
        Statement::Set(Set::SetTransaction { modes, snapshot, session }) => {
            let deferrable = match snapshot {
                Some(snapshot) => Some(deferrable::of_snapshot(&snapshot.value)?),
                None => None,
            };
            set(block, modes, deferrable, *session)
        }
        Statement::Set(Set::SingleAssignment { scope, hivevar: false, variable, values }) => {
            let is_local = *scope == Some(ContextModifier::Local);
            if variable.to_string().eq_ignore_ascii_case("synchronous_commit")
                && *scope != Some(ContextModifier::Global)
            {
                return Some(set_synchronous_commit(block, values, is_local));
            }
            return if scope.is_none() { set_setting(block, variable, values) } else { None };
        }
        _ => return None,
    })
}

/// Whether a statement ends a block, or goes back to a savepoint: all that can be done in one that has failed.
pub(crate) fn ends_block(statement: &Statement) -> bool {
    matches!(statement, Statement::Commit { .. } | Statement::Rollback { .. })
}

/// The settings of transactions that a session has.
pub(crate) const SESSION_SETTINGS: [&str; 4] = [
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "synchronous_commit",
];

/// The settings of transactions that SHOW knows, and their values.
pub(crate) fn settings(block: &Block) -> [(&'static str, String); 7] {
    let (now, defaults) = (block.modes(), block.defaults());
    [
        ("synchronous_commit", on_or_off(block.synchronous_commit()).to_owned()),
        ("default_transaction_isolation", defaults.level.word().to_owned()),
        ("default_transaction_read_only", on_or_off(defaults.read_only).to_owned()),
        ("default_transaction_deferrable", on_or_off(defaults.deferrable).to_owned()),
        ("transaction_deferrable", on_or_off(now.deferrable).to_owned()),
        ("transaction_isolation", now.level.word().to_owned()),
        ("transaction_read_only", on_or_off(now.read_only).to_owned()),
    ]
}

fn begin(block: &mut Block, statement: &Statement) -> Result<Outcome, Error> {
    let refused = || Error::unsupported("BEGIN takes ISOLATION LEVEL, READ ONLY, READ WRITE and [NOT] DEFERRABLE only");
    let Statement::StartTransaction { modes, begin, modifier, statements, exception: None, .. } = statement else {
        return Err(refused());
    };
    let deferrable = deferrable::of_begin(*modifier).map_err(|_| refused())?;
    if !statements.is_empty() {
        return Err(Error::unsupported("BEGIN ... END with statements in it is not supported; send them one by one"));
    }
    let tag = if *begin { "BEGIN" } else { "START TRANSACTION" };
    let modes = with_modes(block.defaults(), modes, deferrable);
    Ok(if block.begin(modes)? {
        Outcome::done(tag)
    } else {
        remarked(tag, "a transaction block is open already; this one changes nothing")
    })
}

fn commit(block: &mut Block, chain: bool, control: &Control) -> Result<Outcome, Error> {
    Ok(ended(block.commit(chain, control)?, "COMMIT"))
}

fn ended(ended: Ended, tag: &str) -> Outcome {
    match ended {
        Ended::Committed => Outcome::done("COMMIT"),
        Ended::RolledBack => Outcome::done("ROLLBACK"),
        Ended::NoBlock => remarked(tag, "no transaction block is open; every statement was committed by itself"),
    }
}

fn remarked(tag: &str, notice: &str) -> Outcome {
    Outcome::Done { tag: tag.to_owned(), report: Report::default(), notice: Some(notice.to_owned()) }
}

fn set(
    block: &mut Block,
    modes: &[TransactionMode],
    deferrable: Option<bool>,
    session: bool,
) -> Result<Outcome, Error> {
    if session {
        block.set_defaults(with_modes(block.defaults(), modes, deferrable));
        return Ok(Outcome::done("SET"));
    }
    let modes = with_modes(block.modes(), modes, deferrable);
    Ok(if block.set_modes(modes)? {
        Outcome::done("SET")
    } else {
        remarked("SET", "SET TRANSACTION does nothing outside of a transaction block; BEGIN opens one")
    })
}

/// `SET [LOCAL] synchronous_commit`: whether a commit returns only when it is safe on disk.
fn set_synchronous_commit(block: &mut Block, values: &[Expr], is_local: bool) -> Result<Outcome, Error> {
    let waits = word(values).and_then(|word| if word == "default" { Some(true) } else { bool_of(&word) });
    let waits = waits.ok_or_else(|| Error::invalid("synchronous_commit takes one of: on, off"))?;
    Ok(if block.set_synchronous_commit(waits, is_local) {
        Outcome::done("SET")
    } else {
        remarked("SET", "SET LOCAL does nothing outside of a transaction block; BEGIN opens one")
    })
}

/// `SET name = value` of the settings that are about transactions.
fn set_setting(block: &mut Block, variable: &ObjectName, values: &[Expr]) -> Option<Result<Outcome, Error>> {
    let name = variable.to_string().to_ascii_lowercase();
    let of_session = name.starts_with("default_");
    let setting = name.trim_start_matches("default_");
    if !matches!(setting, "transaction_isolation" | "transaction_read_only" | "transaction_deferrable") {
        return None;
    }
    let before = if of_session { block.defaults() } else { block.modes() };
    let modes = match word(values) {
        Some(word) if setting == "transaction_isolation" => {
            let level = if word == "default" { Some(Level::Serializable) } else { Level::of(&word) };
            level.map(|level| Modes { level, ..before })
        }
        Some(word) if setting == "transaction_deferrable" => {
            let deferrable = if word == "default" { Some(false) } else { bool_of(&word) };
            deferrable.map(|deferrable| Modes { deferrable, ..before })
        }
        Some(word) if word == "default" => Some(Modes { read_only: false, ..before }),
        Some(word) => bool_of(&word).map(|read_only| Modes { read_only, ..before }),
        None => None,
    };
    let Some(modes) = modes else {
        let allowed = match setting {
            "transaction_isolation" => "'serializable', 'snapshot', 'repeatable read', 'read committed'",
            _ => "on, off",
        };
        return Some(Err(Error::invalid(format!("{name} takes one of: {allowed}"))));
    };
    if of_session {
        block.set_defaults(modes);
        return Some(Ok(Outcome::done("SET")));
    }
    Some(block.set_modes(modes).map(|_| Outcome::done("SET")))
}

fn with_modes(mut modes: Modes, said: &[TransactionMode], deferrable: Option<bool>) -> Modes {
    for mode in said {
        match mode {
            TransactionMode::AccessMode(access) => modes.read_only = *access == TransactionAccessMode::ReadOnly,
            TransactionMode::IsolationLevel(level) => modes.level = level_of(*level),
        }
    }
    modes.deferrable = deferrable.unwrap_or(modes.deferrable);
    modes
}

fn level_of(level: TransactionIsolationLevel) -> Level {
    match level {
        TransactionIsolationLevel::ReadUncommitted => Level::ReadUncommitted,
        TransactionIsolationLevel::ReadCommitted => Level::ReadCommitted,
        TransactionIsolationLevel::RepeatableRead => Level::RepeatableRead,
        TransactionIsolationLevel::Snapshot => Level::Snapshot,
        TransactionIsolationLevel::Serializable => Level::Serializable,
    }
}
