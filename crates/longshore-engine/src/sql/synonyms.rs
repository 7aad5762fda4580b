//! Other spellings of the same: ABORT for ROLLBACK, `name := value`, `pg_catalog.name`, `OPERATOR(pg_catalog.=) ANY`,
//! `character varying`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::BuiltinType;
use crate::sql::tokens::{is_said, is_word};

/// Spells them out.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    free_argument_names(tokens);
    name_operators(tokens);
    leave_out_system_schema(tokens);
    call_varchar_so(tokens);
    let Some(first) = tokens.iter().position(|token| is_said(&token.token)) else { return };
    if is_word(&tokens[first].token, "ABORT") {
        tokens[first].token = Token::make_keyword("ROLLBACK");
    }
}

/// Makes every word before `=>` a mere name: `trim => true` is no call of TRIM. `:=` is an older word for `=>`.
fn free_argument_names(tokens: &mut [TokenWithSpan]) {
    let mut name = None;
    for index in 0..tokens.len() {
        match (&tokens[index].token, name) {
            (Token::Whitespace(_), _) => {}
            (Token::Word(word), _) if word.quote_style.is_none() => name = Some(index),
            (Token::RArrow | Token::Assignment, Some(before)) => {
                if let Token::Word(word) = &mut tokens[before].token {
                    word.keyword = Keyword::NoKeyword;
                }
                tokens[index].token = Token::RArrow;
                name = None;
            }
            _ => name = None,
        }
    }
}

/// `a OPERATOR(pg_catalog.=) ANY (...)` as `a = ANY (...)`: the parser reads the long form between two values only.
fn name_operators(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at + 5 < tokens.len() {
        let [word, open, schema, period, _, close] = [0, 1, 2, 3, 4, 5].map(|ahead| &tokens[at + ahead].token);
        let is_operator = is_word(word, "operator")
            && *open == Token::LParen
            && is_word(schema, "pg_catalog")
            && *period == Token::Period
            && *close == Token::RParen;
        let next = tokens[at + 6..].iter().find(|token| is_said(&token.token));
        let is_quantified =
            next.is_some_and(|next| ["any", "all", "some"].iter().any(|word| is_word(&next.token, word)));
        if is_operator && is_quantified {
            tokens.drain(at + 5..=at + 5);
            tokens.drain(at..at + 4);
        }
        at += 1;
    }
}

/// Leaves `pg_catalog.` out before the name of a function, type or table: that schema is looked through anyway.
fn leave_out_system_schema(tokens: &mut Vec<TokenWithSpan>) {
    let is_called = |token: &Token, name| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(name));
    // The functions of the other one are its own.
    let is_function = |token: &Token| matches!(token, Token::Word(word) if word.value.starts_with("_pg_"));
    let is_it = |token: &Token, name: &Token| {
        is_called(token, "pg_catalog") || is_called(token, "information_schema") && is_function(name)
    };
    let may_be = |token: &Token| is_called(token, "pg_catalog") || is_called(token, "information_schema");
    if !tokens.iter().any(|token| may_be(&token.token)) {
        return;
    }
    let mut at = 0;
    while at + 2 < tokens.len() {
        let follows_period = at > 0 && tokens[at - 1].token == Token::Period;
        let is_prefix = is_it(&tokens[at].token, &tokens[at + 2].token)
            && tokens[at + 1].token == Token::Period
            && matches!(tokens[at + 2].token, Token::Word(_));
        if is_prefix && !follows_period {
            tokens.drain(at..at + 2);
            if at > 0 && tokens[at - 1].token == Token::DoubleColon {
                unquote_type(&mut tokens[at].token);
            }
        }
        at += 1;
    }
}

/// `"int4"` as `int4`, where a type stands; `"char"` is another type than `char`.
fn unquote_type(token: &mut Token) {
    let Token::Word(Word { value, quote_style: Some(_), .. }) = token else { return };
    let name = value.strip_prefix('_').unwrap_or(value);
    if name != "char" && BuiltinType::named(name).is_some() {
        *token = Token::make_word(value, None);
    }
}

/// `character varying` as `varchar`, which the planner knows in casts.
fn call_varchar_so(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is_word(&token.token, "varying")) {
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens[at + 1..].iter().position(|token| !matches!(token.token, Token::Whitespace(_)));
        let next = next.map(|skipped| at + 1 + skipped);
        if is_word(&tokens[at].token, "character")
            && let Some(next) = next.filter(|next| is_word(&tokens[*next].token, "varying"))
        {
            tokens[at].token = Token::make_keyword("VARCHAR");
            tokens.drain(at + 1..=next);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn they_are_spelled_out() {
        for (sql, expected) in [
            ("ABORT", "ROLLBACK"),
            ("abort work;", "ROLLBACK"),
            ("SELECT a OPERATOR(pg_catalog.=) ANY (b)", "SELECT a = ANY(b)"),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
}
