//! `[NOT] DEFERRABLE` among the modes of a transaction, which sqlparser does not know.
//!
//! It is taken out before the parser sees the statement, and kept as the modifier of BEGIN, and as the snapshot of SET
//! TRANSACTION, which no such statement has in PostgreSQL's dialect.

use sqlparser::ast::{Set, Statement, TransactionModifier, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::tokens::is_word;

/// The snapshots that stand for the mode.
const MODES: [&str; 2] = ["not deferrable", "deferrable"];

/// Takes the mode out of BEGIN, START TRANSACTION and SET TRANSACTION; the last one counts.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Option<bool> {
    let first = tokens.iter().position(|token| !is_space(&token.token))?;
    let starts_with = |word: &str| is_word(&tokens[first].token, word);
    if !(starts_with("begin") || starts_with("start") || starts_with("set")) {
        return None;
    }
    let mut found = None;
    while let Some(at) = tokens.iter().position(|token| is_word(&token.token, "deferrable")) {
        if tokens[..at].iter().all(|token| !is_word(&token.token, "transaction") && !is_word(&token.token, "begin")) {
            return None;
        }
        let before = |at: usize| tokens[..at].iter().rposition(|token| !is_space(&token.token));
        let (mut from, mut to) = (at, at);
        let mut is_deferrable = true;
        if let Some(not) = before(at).filter(|not| is_word(&tokens[*not].token, "not")) {
            (from, is_deferrable) = (not, false);
        }
        let after = tokens[at + 1..].iter().position(|token| !is_space(&token.token)).map(|skipped| at + 1 + skipped);
        // With the comma that parts it from another mode.
        if let Some(comma) = before(from).filter(|comma| tokens[*comma].token == Token::Comma) {
            from = comma;
        } else if let Some(comma) = after.filter(|comma| tokens[*comma].token == Token::Comma) {
            to = comma;
        }
        tokens.drain(from..=to);
        found = Some(is_deferrable);
    }
    found
}

/// Puts the mode back into the statement.
pub(super) fn put(is_deferrable: bool, statement: &mut Statement) {
    match statement {
        Statement::StartTransaction { modifier: modifier @ None, .. } => {
            *modifier =
                Some(if is_deferrable { TransactionModifier::Deferred } else { TransactionModifier::Immediate });
        }
        Statement::Set(Set::SetTransaction { snapshot: snapshot @ None, .. }) => {
            *snapshot = Some(Value::Placeholder(MODES[usize::from(is_deferrable)].to_owned()).into());
        }
        _ => {}
    }
}

/// The mode that BEGIN or START TRANSACTION says, `None` if none; `Err` for a modifier that is something else.
pub(crate) fn of_begin(modifier: Option<TransactionModifier>) -> Result<Option<bool>, TransactionModifier> {
    match modifier {
        None => Ok(None),
        Some(TransactionModifier::Deferred) => Ok(Some(true)),
        Some(TransactionModifier::Immediate) => Ok(Some(false)),
        Some(other) => Err(other),
    }
}

/// The mode that stands for the snapshot of SET TRANSACTION; `None` if that is a snapshot.
pub(crate) fn of_snapshot(snapshot: &Value) -> Option<bool> {
    let Value::Placeholder(mode) = snapshot else { return None };
    MODES.iter().position(|known| known == mode).map(|known| known == 1)
}

fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{self, Parsed};

    fn mode(text: &str) -> Option<bool> {
        let Ok(Parsed::Sql(statement)) = sql::parse(text) else { panic!("{text} is a statement") };
        match *statement {
            Statement::StartTransaction { modifier, .. } => of_begin(modifier).unwrap(),
            Statement::Set(Set::SetTransaction { snapshot, .. }) => {
                snapshot.and_then(|value| of_snapshot(&value.value))
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_mode_stands_anywhere() {
        for (text, expected) in [
            ("BEGIN", None),
            ("BEGIN DEFERRABLE", Some(true)),
            ("BEGIN TRANSACTION NOT DEFERRABLE", Some(false)),
            ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE", Some(true)),
            ("START TRANSACTION DEFERRABLE, READ ONLY", Some(true)),
            ("BEGIN ISOLATION LEVEL SERIALIZABLE NOT DEFERRABLE READ ONLY", Some(false)),
            ("SET TRANSACTION DEFERRABLE", Some(true)),
            ("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE, NOT DEFERRABLE", Some(false)),
        ] {
            assert_eq!(mode(text), expected, "{text}");
        }
    }
}
