//! The parser of who a session acts as:
//!
//! ```text
//! SET [SESSION | LOCAL] ROLE {role | NONE}                       RESET ROLE
//! SET [SESSION | LOCAL] SESSION AUTHORIZATION {role | DEFAULT}   RESET SESSION AUTHORIZATION
//! ```
//! Not here: what that means (`statement::identity`).

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::roles::name;
use super::syntax;
use super::tokens::is_word;
use crate::Error;

/// Who a session acts as from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetIdentity {
    /// SET SESSION AUTHORIZATION, not SET ROLE.
    pub(crate) is_session: bool,
    pub(crate) is_local: bool,
    /// `None` for what it was at first.
    pub(crate) role: Option<String>,
    pub(crate) is_reset: bool,
}

/// SET ROLE and SET SESSION AUTHORIZATION, and RESET of them; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<SetIdentity>, Error> {
    let is = |at: usize, word: &str| is_word(&parser.peek_nth_token_ref(at).token, word);
    let reset = |is_session| SetIdentity { is_session, is_local: false, role: None, is_reset: true };
    if is(0, "reset") {
        let words = match (is(1, "role"), is(1, "session") && is(2, "authorization")) {
            (true, _) => 2,
            (_, true) => 3,
            _ => return Ok(None),
        };
        (0..words).for_each(|_| parser.advance_token());
        return Ok(Some(reset(words == 3)));
    }
    if !is(0, "set") {
        return Ok(None);
    }
    let is_local = is(1, "local");
    let is_scoped = is_local || is(1, "session") && (is(2, "role") || is(2, "session"));
    let at = 1 + usize::from(is_scoped);
    let (is_session, words) = match (is(at, "role"), is(at, "session") && is(at + 1, "authorization")) {
        (true, _) => (false, at + 1),
        (_, true) => (true, at + 2),
        _ => return Ok(None),
    };
    // `role` may also be set as other settings are.
    let has_sign = matches!(parser.peek_nth_token_ref(words).token, Token::Eq) || is(words, "to");
    let words = words + usize::from(has_sign);
    let none = if is_session { "default" } else { "none" };
    let is_none = is(words, none) || is(words, "default");
    (0..words).for_each(|_| parser.advance_token());
    let role = if is_none {
        parser.advance_token();
        None
    } else {
        Some(name_or_text(parser).map_err(syntax)?)
    };
    Ok(Some(SetIdentity { is_session, is_local, role, is_reset: false }))
}

fn name_or_text(parser: &mut Parser) -> Result<String, ParserError> {
    let is_text = matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_));
    if is_text { parser.parse_literal_string() } else { name(parser) }
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn a_session_acts_as_somebody() {
        for (sql, is_session, role) in [
            ("SET ROLE a", false, Some("a")),
            ("SET LOCAL ROLE 'A'", false, Some("A")),
            ("SET SESSION ROLE none", false, None),
            ("SET SESSION AUTHORIZATION a", true, Some("a")),
            ("SET SESSION SESSION AUTHORIZATION DEFAULT", true, None),
            ("RESET SESSION AUTHORIZATION", true, None),
            ("RESET ROLE", false, None),
        ] {
            let Ok(Parsed::Identity(set)) = parse(sql) else { panic!("{sql}") };
            assert_eq!((set.is_session, set.role.as_deref()), (is_session, role), "{sql}");
        }
    }
}
