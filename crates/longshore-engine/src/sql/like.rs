//! `LIKE u INCLUDING ...` among the columns of CREATE TABLE, of which sqlparser knows little.
//!
//! It is read as a column whose name nobody else can write, and whose type is the table, with what it includes and
//! excludes as modifiers. Not here: the columns that it stands for (`statement::create::like`).

use sqlparser::ast::{ColumnDef, DataType, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::tokens::is_keyword;

/// The name of the column.
const MARK: &str = "\0like";

/// What LIKE says.
pub(crate) struct Like<'a> {
    pub(crate) table: &'a ObjectName,
    /// Words `including_...` and `excluding_...`, in the order of the statement.
    pub(crate) options: &'a [String],
}

/// What a column stands for, if it stands for LIKE.
pub(crate) fn of_column(column: &ColumnDef) -> Option<Like<'_>> {
    match &column.data_type {
        DataType::Custom(table, options) if column.name.value == MARK => Some(Like { table, options }),
        _ => None,
    }
}

/// The name of the table of which a column has the columns, if it stands for LIKE.
pub(crate) fn table_of(column: &mut ColumnDef) -> Option<&mut ObjectName> {
    match &mut column.data_type {
        DataType::Custom(table, _) if column.name.value == MARK => Some(table),
        _ => None,
    }
}

/// The same, to be read.
pub(crate) fn table_in(column: &ColumnDef) -> Option<&ObjectName> {
    match &column.data_type {
        DataType::Custom(table, _) if column.name.value == MARK => Some(table),
        _ => None,
    }
}

/// Puts columns in the place of LIKE.
pub(super) fn read_tokens(tokens: &mut Vec<TokenWithSpan>) {
    let words: Vec<&Token> = tokens.iter().map(|token| &token.token).filter(|token| !is_space(token)).take(6).collect();
    let begins = words.first().is_some_and(|first| is_keyword(first, Keyword::CREATE));
    if !begins || !words.iter().any(|word| is_keyword(word, Keyword::TABLE)) {
        return;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    let mut may_begin = false;
    while at < tokens.len() {
        let token = &tokens[at].token;
        match token {
            _ if is_space(token) => {}
            Token::LParen => {
                depth += 1;
                may_begin = depth == 1;
            }
            Token::RParen => {
                depth = depth.saturating_sub(1);
                may_begin = false;
            }
            Token::Comma => may_begin = depth == 1,
            token if may_begin && is_keyword(token, Keyword::LIKE) => {
                at = replace(tokens, at);
                may_begin = false;
            }
            _ => may_begin = false,
        }
        at += 1;
    }
}

/// Replaces LIKE and what belongs to it; gives the place of its last token.
fn replace(tokens: &mut Vec<TokenWithSpan>, at: usize) -> usize {
    let span = tokens[at].span;
    let made = |token: Token| TokenWithSpan { token, span };
    let quoted = |value: String| made(Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword }));
    tokens[at] = quoted(MARK.to_owned());
    let mut end = at;
    // The name of the table, which no type is to be known by.
    while let Some(next) = after(tokens, end) {
        match &tokens[next].token {
            Token::Period => {}
            Token::Word(word) if end == at || tokens[end].token == Token::Period => {
                let value =
                    if word.quote_style.is_none() { word.value.to_ascii_lowercase() } else { word.value.clone() };
                tokens[next] = quoted(value);
            }
            _ => break,
        }
        end = next;
    }
    let mut options: Vec<TokenWithSpan> = Vec::new();
    let mut last = end;
    while let Some(verb) = after(tokens, last)
        && let Token::Word(said) = &tokens[verb].token
        && ["including", "excluding"].iter().any(|word| said.value.eq_ignore_ascii_case(word))
        && let Some(what) = after(tokens, verb)
        && let Token::Word(what_word) = &tokens[what].token
    {
        let value = format!("{}_{}", said.value, what_word.value).to_ascii_lowercase();
        options.push(made(if options.is_empty() { Token::LParen } else { Token::Comma }));
        options.push(made(Token::Word(Word { value, quote_style: None, keyword: Keyword::NoKeyword })));
        last = what;
    }
    if !options.is_empty() {
        options.push(made(Token::RParen));
    }
    let count = options.len();
    tokens.splice(end + 1..=last, options);
    end + count
}

/// The next token behind `at` that is no space.
fn after(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|next| !is_space(&tokens[*next].token))
}

fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}
