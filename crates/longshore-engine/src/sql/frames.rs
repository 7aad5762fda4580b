//! Frames of windows as sqlparser does not read them: EXCLUDE, and bounds that are expressions.
//!
//! Before the statement is parsed, a bound is put in parentheses where it is more than one word, and EXCLUDE becomes a call
//! around the first bound, under a name that nobody can write. It is taken out of the tree again by [`Exclusion::take`].

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, WindowFrame, WindowFrameBound};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::build;

/// Rows that a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Exclusion {
    CurrentRow,
    /// The current row, and those that are level with it in the order.
    Group,
    /// The rows that are level with the current one.
    Ties,
}

const ALL: [Exclusion; 3] = [Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
/// What stands in the place of a bound without an offset.
const UNBOUNDED: &str = "unbounded";
const CURRENT_ROW: &str = "current row";

impl Exclusion {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::CurrentRow => "exclude current row",
            Self::Group => "exclude group",
            Self::Ties => "exclude ties",
        }
    }

    /// The exclusion that a name of ours ends with, and what stands before it.
    pub(crate) fn of_name(name: &str) -> Option<(&str, Self)> {
        ALL.into_iter().find_map(|exclusion| {
            let name = name.strip_suffix(exclusion.words())?.strip_suffix(' ')?;
            Some((name, exclusion))
        })
    }

    /// Takes the exclusion out of a frame.
    pub(crate) fn take(frame: &mut WindowFrame) -> Option<Self> {
        let (WindowFrameBound::Preceding(Some(bound)) | WindowFrameBound::Following(Some(bound))) =
            &mut frame.start_bound
        else {
            return None;
        };
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = bound.as_ref() else {
            return None;
        };
        let name = build::last_name(name).ok()?;
        let exclusion = ALL.into_iter().find(|exclusion| exclusion.words() == name.value)?;
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(offset))] = list.args.as_slice() else { return None };
        let offset = offset.clone();
        let word = match &offset {
            Expr::Identifier(word) if word.quote_style == Some('"') => Some(word.value.as_str()),
            _ => None,
        };
        match word {
            Some(CURRENT_ROW) => frame.start_bound = WindowFrameBound::CurrentRow,
            Some(UNBOUNDED) => {
                let (WindowFrameBound::Preceding(bound) | WindowFrameBound::Following(bound)) = &mut frame.start_bound
                else {
                    return None;
                };
                *bound = None;
            }
            _ => **bound = offset,
        }
        Some(exclusion)
    }
}

/// Writes the frames of all windows as sqlparser reads them.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is_any(&tokens[at].token, &["ROWS", "RANGE", "GROUPS"])
            && let Some(end) = end_of_list(tokens, at)
            && let Some(frame) = spelled_out(&tokens[at + 1..end])
        {
            let length = frame.len();
            tokens.splice(at + 1..end, frame);
            at += length;
        }
        at += 1;
    }
}

/// The closing parenthesis of the list that a token is in.
fn end_of_list(tokens: &[TokenWithSpan], first: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(first) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return Some(at),
            Token::RParen => depth -= 1,
            Token::SemiColon => return None,
            _ => {}
        }
    }
    None
}

/// The tokens behind ROWS, RANGE or GROUPS; `None` if they are no frame, or can stay as they are.
fn spelled_out(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let tokens: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let (tokens, exclusion) = without_exclusion(&tokens);
    let bounds = match tokens.split_first() {
        Some((between, rest)) if is_any(&between.token, &["BETWEEN"]) => {
            let and = (1..rest.len()).find(|at| {
                is_any(&rest[*at].token, &["AND"]) && is_any(&rest[*at - 1].token, &["PRECEDING", "FOLLOWING", "ROW"])
            })?;
            vec![&rest[..and], &rest[and + 1..]]
        }
        _ => vec![tokens],
    };
    let is_bound = |bound: &&[&TokenWithSpan]| {
        bound.last().is_some_and(|last| is_any(&last.token, &["PRECEDING", "FOLLOWING", "ROW"]))
    };
    if !bounds.iter().all(is_bound) {
        return None;
    }
    let mut written: Vec<TokenWithSpan> = Vec::new();
    let span = tokens.first()?.span;
    let mut put = |token: Token| written.push(TokenWithSpan { token, span });
    put(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space));
    if bounds.len() == 2 {
        put(word("BETWEEN", None, Keyword::BETWEEN));
    }
    for (number, bound) in bounds.iter().enumerate() {
        let (last, offset) = bound.split_last()?;
        let is_current = is_any(&last.token, &["ROW"]);
        let is_unbounded = matches!(offset, [only] if is_any(&only.token, &["UNBOUNDED"]));
        if number == 1 {
            put(word("AND", None, Keyword::AND));
        }
        match exclusion.filter(|_| number == 0) {
            Some(exclusion) => {
                put(word(exclusion.words(), Some('"'), Keyword::NoKeyword));
                put(Token::LParen);
                if is_current {
                    put(word(CURRENT_ROW, Some('"'), Keyword::NoKeyword));
                } else if is_unbounded {
                    put(word(UNBOUNDED, Some('"'), Keyword::NoKeyword));
                } else {
                    for token in offset {
                        put(token.token.clone());
                    }
                }
                put(Token::RParen);
                put(if is_current { word("PRECEDING", None, Keyword::PRECEDING) } else { last.token.clone() });
            }
            None if is_current || is_one_operand(offset) || is_ours(offset[0]) => {
                for token in *bound {
                    put(token.token.clone());
                }
            }
            None => {
                put(Token::LParen);
                for token in offset {
                    put(token.token.clone());
                }
                put(Token::RParen);
                put(last.token.clone());
            }
        }
    }
    Some(written)
}

/// Whether sqlparser reads these tokens to their end: the text of a view, which has such parentheses, is read again.
fn is_one_operand(offset: &[&TokenWithSpan]) -> bool {
    match offset {
        [] | [_] => true,
        [interval, text] => {
            is_any(&interval.token, &["INTERVAL"]) && matches!(text.token, Token::SingleQuotedString(_))
        }
        [open, inner @ .., close] => {
            let mut depth = 1;
            let is_inside = |token: &&TokenWithSpan| {
                match token.token {
                    Token::LParen => depth += 1,
                    Token::RParen => depth -= 1,
                    _ => {}
                }
                depth > 0
            };
            open.token == Token::LParen && close.token == Token::RParen && inner.iter().all(is_inside)
        }
    }
}

/// Whether a call of ours begins here: the text of a view is read again.
fn is_ours(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style == Some('"')
        && ALL.into_iter().any(|exclusion| exclusion.words() == word.value))
}

/// The frame without EXCLUDE at its end, and what that says.
fn without_exclusion<'t, 'a>(tokens: &'t [&'a TokenWithSpan]) -> (&'t [&'a TokenWithSpan], Option<Exclusion>) {
    let words = |words: &[&str]| {
        let Some(first) = tokens.len().checked_sub(words.len()).filter(|first| *first > 0) else { return false };
        tokens[first..].iter().zip(words).all(|(token, word)| is_any(&token.token, &[word]))
    };
    for (said, exclusion) in [
        (&["EXCLUDE", "CURRENT", "ROW"][..], Some(Exclusion::CurrentRow)),
        (&["EXCLUDE", "GROUP"], Some(Exclusion::Group)),
        (&["EXCLUDE", "TIES"], Some(Exclusion::Ties)),
        (&["EXCLUDE", "NO", "OTHERS"], None),
    ] {
        if words(said) {
            return (&tokens[..tokens.len() - said.len()], exclusion);
        }
    }
    (tokens, None)
}

fn word(value: &str, quote_style: Option<char>, keyword: Keyword) -> Token {
    Token::Word(Word { value: value.to_owned(), quote_style, keyword })
}

fn is_any(token: &Token, words: &[&str]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none()
        && words.iter().any(|other| word.value.eq_ignore_ascii_case(other)))
}
