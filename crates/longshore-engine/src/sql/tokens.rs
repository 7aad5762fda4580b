//! What a token is: a keyword, a word, or a part of the statement at all.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// Whether it is this keyword, and no name in quotes.
pub(super) fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword && word.quote_style.is_none())
}

/// Whether it is this word in any case, and no name in quotes; for words that sqlparser has no keyword for.
pub(super) fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

/// Whether it is a part of the statement itself: no white space, semicolon or end.
pub(super) fn is_said(token: &Token) -> bool {
    !matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
}
