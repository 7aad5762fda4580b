//! The parser of DECLARE, FETCH, MOVE and CLOSE.
//!
//! ```text
//! DECLARE name [BINARY] [ASENSITIVE | INSENSITIVE] [[NO] SCROLL] CURSOR [{WITH | WITHOUT} HOLD] FOR query
//! FETCH | MOVE [direction] [FROM | IN] name
//! CLOSE name | ALL
//! direction: NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | n | ALL | {FORWARD | BACKWARD} [n | ALL]
//! ```
//! The query stays a text, which is executed as any other. Not here: what cursors are (`statement::cursors`).

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::names;
use super::options::shown_place;
use super::schema_elements::place_in;
use super::tokens::is_word;
use crate::Error;

/// A statement about cursors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CursorStatement {
    Declare(Declaration),
    Fetch(Fetch),
    /// CLOSE; `None` closes all.
    Close(Option<String>),
}

/// DECLARE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) is_binary: bool,
    pub(crate) is_insensitive: bool,
    /// `None` where nothing was said.
    pub(crate) scroll: Option<bool>,
    /// Whether it outlives its transaction.
    pub(crate) is_holdable: bool,
    pub(crate) query: String,
    /// The statement as it was written.
    pub(crate) text: String,
}

/// FETCH, or MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) is_move: bool,
}

/// Which rows FETCH gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// So many from the present place on, backwards if it is negative; 0 is the present row again.
    Forward(i64),
    ForwardAll,
    BackwardAll,
    /// The row of this number, from the end if it is negative.
    Absolute(i64),
    /// The row so many behind the present one.
    Relative(i64),
}

/// The statement `sql`, if it is one about cursors; `tokens` are its own.
pub(super) fn statement(sql: &str, tokens: &[TokenWithSpan]) -> Result<Option<CursorStatement>, Error> {
    let is_space = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_) | Token::EOF);
    let Some(first) = tokens.iter().find(|token| !is_space(token)) else { return Ok(None) };
    let is = |word: &str| is_word(&first.token, word);
    if !(is("DECLARE") || is("FETCH") || is("MOVE") || is("CLOSE")) {
        return Ok(None);
    }
    let words: Vec<&TokenWithSpan> = tokens.iter().filter(|token| !is_space(token)).collect();
    let mut reader = Reader { sql, words: &words, at: 1 };
    let statement = if is("DECLARE") {
        CursorStatement::Declare(reader.declaration()?)
    } else if is("CLOSE") {
        CursorStatement::Close(if reader.takes("ALL") { None } else { Some(reader.name()?) })
    } else {
        let direction = reader.direction()?;
        let _ = reader.takes("FROM") || reader.takes("IN");
        CursorStatement::Fetch(Fetch { name: reader.name()?, direction, is_move: is("MOVE") })
    };
    while reader.next().is_some_and(|next| next.token == Token::SemiColon) {
        reader.at += 1;
    }
    if reader.next().is_some() {
        return Err(reader.expected("the end of the statement"));
    }
    Ok(Some(statement))
}

/// Refuses `WHERE CURRENT OF` by name.
pub(super) fn refuse_current_of(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let said = || tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let is_change =
        said().next().is_some_and(|token| is_word(&token.token, "UPDATE") || is_word(&token.token, "DELETE"));
    if !is_change {
        return Ok(());
    }
    let words: Vec<&TokenWithSpan> = said().collect();
    let is_it = |three: &&[&TokenWithSpan]| {
        ["WHERE", "CURRENT", "OF"].iter().zip(three.iter()).all(|(word, token)| is_word(&token.token, word))
    };
    match words.windows(3).find(is_it) {
        Some(_) => Err(Error::unsupported(
            "WHERE CURRENT OF is not supported; name the row by its key, which the cursor can give",
        )),
        None => Ok(()),
    }
}

struct Reader<'a> {
    sql: &'a str,
    words: &'a [&'a TokenWithSpan],
    at: usize,
}

impl Reader<'_> {
    fn next(&self) -> Option<&TokenWithSpan> {
        self.words.get(self.at).copied()
    }

    /// Whether this word comes, and nothing else; moves over it.
    fn takes(&mut self, word: &str) -> bool {
        let takes = self.next().is_some_and(|next| is_word(&next.token, word));
        self.at += usize::from(takes);
        takes
    }

    /// The same for a word that may as well be the name of the cursor, which is the last one.
    fn takes_before_name(&mut self, word: &str) -> bool {
        let is_last = self.words.get(self.at + 1).is_none_or(|next| next.token == Token::SemiColon);
        !is_last && self.takes(word)
    }

    fn expected(&self, what: &str) -> Error {
        Error::syntax(match self.next() {
            Some(next) => format!(
                "syntax error at {}: expected {what}, found {}",
                shown_place(next.span.start),
                names::shown(&next.token)
            ),
            None => format!("syntax error: expected {what}, found the end"),
        })
    }

    fn name(&mut self) -> Result<String, Error> {
        let Some(Token::Word(word)) = self.next().map(|next| &next.token) else {
            return Err(self.expected("the name of a cursor"));
        };
        let ident = Ident {
            value: word.value.clone(),
            quote_style: word.quote_style,
            span: sqlparser::tokenizer::Span::empty(),
        };
        self.at += 1;
        names::identifier(&ident)
    }

    /// A whole number that comes, with its sign.
    fn number(&mut self) -> Result<Option<i64>, Error> {
        let sign = self.next().map(|next| &next.token);
        let (is_negative, signs) = match sign {
            Some(Token::Minus) => (true, 1),
            Some(Token::Plus) => (false, 1),
            _ => (false, 0),
        };
        let Some(Token::Number(digits, false)) = self.words.get(self.at + signs).map(|next| &next.token) else {
            return if signs == 0 { Ok(None) } else { Err(self.expected("a number of rows")) };
        };
        let number = digits.parse::<i64>().ok().filter(|number| i32::try_from(*number).is_ok());
        let number = number.ok_or_else(|| self.expected("a number of rows"))?;
        self.at += signs + 1;
        Ok(Some(if is_negative { -number } else { number }))
    }

    fn declaration(&mut self) -> Result<Declaration, Error> {
        let name = self.name()?;
        let (mut is_binary, mut is_insensitive, mut scroll) = (false, false, None);
        loop {
            if self.takes("BINARY") {
                is_binary = true;
            } else if self.takes("INSENSITIVE") {
                is_insensitive = true;
            } else if self.takes("ASENSITIVE") {
                is_insensitive = false;
            } else if self.takes("SCROLL") {
                scroll = Some(true);
            } else if self.takes("NO") {
                if !self.takes("SCROLL") {
                    return Err(self.expected("SCROLL"));
                }
                scroll = Some(false);
            } else {
                break;
            }
        }
        if !self.takes("CURSOR") {
            return Err(self.expected("CURSOR"));
        }
        let is_holdable = self.takes("WITH");
        if (is_holdable || self.takes("WITHOUT")) && !self.takes("HOLD") {
            return Err(self.expected("HOLD"));
        }
        if !self.takes("FOR") {
            return Err(self.expected("FOR"));
        }
        let Some(first) = self.next() else { return Err(self.expected("a query")) };
        let begins = ["SELECT", "WITH", "VALUES", "TABLE", "FROM"].iter().any(|word| is_word(&first.token, word));
        if !begins && first.token != Token::LParen {
            return Err(self.expected("a query"));
        }
        let query = self.sql[place_in(self.sql, first.span.start)..].to_owned();
        // What is behind it is told when it is executed.
        self.at = self.words.len();
        let text = self.sql.to_owned();
        Ok(Declaration { name, is_binary, is_insensitive, scroll, is_holdable, query, text })
    }

    fn direction(&mut self) -> Result<Direction, Error> {
        for (word, direction) in [
            ("NEXT", Direction::Forward(1)),
            ("PRIOR", Direction::Forward(-1)),
            ("FIRST", Direction::Absolute(1)),
            ("LAST", Direction::Absolute(-1)),
            ("ALL", Direction::ForwardAll),
        ] {
            if self.takes_before_name(word) {
                return Ok(direction);
            }
        }
        for (word, direction) in [("ABSOLUTE", Direction::Absolute as fn(i64) -> _), ("RELATIVE", Direction::Relative)]
        {
            if self.takes_before_name(word) {
                return self.number()?.map(direction).ok_or_else(|| self.expected("a number of rows"));
            }
        }
        let is_backward = self.takes_before_name("BACKWARD");
        if is_backward || self.takes_before_name("FORWARD") {
            if self.takes_before_name("ALL") {
                return Ok(if is_backward { Direction::BackwardAll } else { Direction::ForwardAll });
            }
            let rows = self.number()?.unwrap_or(1);
            return Ok(Direction::Forward(if is_backward { -rows } else { rows }));
        }
        Ok(Direction::Forward(self.number()?.unwrap_or(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn of(sql: &str) -> CursorStatement {
        match parse(sql) {
            Ok(Parsed::Cursor(statement)) => *statement,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn every_direction_has_its_meaning() {
        for (said, expected) in [
            ("", Direction::Forward(1)),
            ("FROM", Direction::Forward(1)),
            ("NEXT FROM", Direction::Forward(1)),
            ("prior in", Direction::Forward(-1)),
            ("FIRST", Direction::Absolute(1)),
            ("LAST", Direction::Absolute(-1)),
            ("ABSOLUTE -3", Direction::Absolute(-3)),
            ("RELATIVE 0 IN", Direction::Relative(0)),
            ("7", Direction::Forward(7)),
            ("-7", Direction::Forward(-7)),
            ("ALL FROM", Direction::ForwardAll),
            ("FORWARD", Direction::Forward(1)),
            ("FORWARD 5", Direction::Forward(5)),
            ("FORWARD ALL", Direction::ForwardAll),
            ("BACKWARD", Direction::Forward(-1)),
            ("BACKWARD -2", Direction::Forward(2)),
            ("BACKWARD ALL IN", Direction::BackwardAll),
        ] {
            for (verb, is_move) in [("FETCH", false), ("MOVE", true)] {
                let expected = Fetch { name: "c".to_owned(), direction: expected, is_move };
                assert_eq!(of(&format!("{verb} {said} C;")), CursorStatement::Fetch(expected), "{said}");
            }
        }
        // Words are names where nothing else is one.
        let next = Fetch { name: "next".to_owned(), direction: Direction::Forward(1), is_move: false };
        assert_eq!(of("FETCH next"), CursorStatement::Fetch(next));
    }

    #[test]
    fn cursors_are_declared_and_closed() {
        let CursorStatement::Declare(declared) =
            of("DECLARE \"My c\" BINARY INSENSITIVE NO SCROLL CURSOR WITH HOLD FOR\n SELECT ';' AS x;")
        else {
            panic!("a declaration");
        };
        assert_eq!((declared.name.as_str(), declared.query.as_str()), ("My c", "SELECT ';' AS x;"));
        assert!(declared.is_binary && declared.is_insensitive && declared.is_holdable);
        assert_eq!(declared.scroll, Some(false));
        assert_eq!(of("CLOSE ALL"), CursorStatement::Close(None));
        assert_eq!(of("close C"), CursorStatement::Close(Some("c".to_owned())));
        for (sql, part) in [
            ("DECLARE c CURSOR", "expected FOR, found the end"),
            ("DECLARE c CURSOR FOR INSERT INTO t VALUES (1)", "line 1, column 22: expected a query, found \"INSERT\""),
            ("DECLARE c NO CURSOR FOR SELECT 1", "expected SCROLL"),
            ("FETCH ABSOLUTE FROM c", "expected a number of rows"),
            ("FETCH 99999999999 FROM c", "expected a number of rows"),
            ("FETCH c d", "expected the end of the statement"),
            ("CLOSE", "expected the name of a cursor"),
            ("UPDATE t SET a = 1 WHERE CURRENT OF c", "WHERE CURRENT OF is not supported"),
        ] {
            let message = parse(sql).map(|_| ()).expect_err(sql).to_string();
            assert!(message.contains(part), "{sql}: {message}");
        }
    }
}
