//! `CREATE SCHEMA name CREATE TABLE ... CREATE VIEW ...`: a schema and what is made in it at once, as statements of their own.
//!
//! Not here: how they are executed (`statement/schema_elements`).

use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::options::shown_place;
use super::tokens::is_word;
use crate::Error;

/// A schema and what is made in it.
#[derive(Debug)]
pub(crate) struct SchemaElements {
    /// The statement that makes the schema alone.
    pub(crate) schema: String,
    /// The statements that make what is in it, in the order in which that can be done.
    pub(crate) elements: Vec<String>,
}

/// What can be made with a schema, in the order in which PostgreSQL makes it.
const KINDS: [&str; 5] = ["sequence", "table", "view", "index", "grant"];

/// The parts of the statement `sql`, if it makes a schema and something in it; `tokens` are its own.
pub(super) fn split(sql: &str, tokens: &[TokenWithSpan]) -> Result<Option<SchemaElements>, Error> {
    let said = || tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    // Most statements are none, and some are long.
    let is_one = said().zip(["create", "schema"]).filter(|(token, word)| is_word(&token.token, word)).count() == 2;
    if !is_one {
        return Ok(None);
    }
    let words: Vec<&TokenWithSpan> = said().collect();
    let is = |at: usize, text: &str| words.get(at).is_some_and(|token| is_word(&token.token, text));
    let mut depth = 0_usize;
    let mut starts = Vec::new();
    for (at, token) in words.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if at > 1 && depth == 0 && (is(at, "create") || is(at, "grant")) => starts.push(at),
            _ => {}
        }
    }
    let Some(&first) = starts.first() else { return Ok(None) };
    if is(2, "if") && is(3, "not") && is(4, "exists") {
        return Err(Error::unsupported("CREATE SCHEMA IF NOT EXISTS cannot include schema elements"));
    }
    let end = words.iter().find(|token| token.token == Token::SemiColon);
    let end = end.map_or(sql.len(), |token| place_in(sql, token.span.start));
    let bounds: Vec<usize> = starts.iter().map(|at| place_in(sql, words[*at].span.start)).chain([end]).collect();
    let mut elements = Vec::with_capacity(starts.len());
    for (at, part) in starts.iter().zip(bounds.windows(2)) {
        // What is made stands behind CREATE and words such as UNIQUE.
        let kind = (*at..(*at + 4).min(words.len())).find_map(|at| KINDS.iter().position(|kind| is(at, kind)));
        let Some(kind) = kind else {
            return Err(Error::syntax(format!(
                "CREATE SCHEMA makes tables, views, indexes and sequences beside the schema, and no such thing as at {}",
                shown_place(words[*at].span.start)
            )));
        };
        elements.push((kind, sql[part[0]..part[1]].to_owned()));
    }
    elements.sort_by_key(|(kind, _)| *kind);
    let schema = sql[..place_in(sql, words[first].span.start)].to_owned();
    Ok(Some(SchemaElements { schema, elements: elements.into_iter().map(|(_, element)| element).collect() }))
}

/// Where in a text a place is that is given by line and column.
pub(super) fn place_in(sql: &str, place: Location) -> usize {
    let lines = usize::try_from(place.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let columns = usize::try_from(place.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let start = match lines.checked_sub(1) {
        None => 0,
        Some(before) => sql.match_indices('\n').nth(before).map_or(sql.len(), |(at, _)| at + 1),
    };
    sql[start..].char_indices().nth(columns).map_or(sql.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn what_others_need_comes_first() {
        let sql = "CREATE SCHEMA s -- ä\n CREATE UNIQUE INDEX i ON t (a) CREATE VIEW v AS SELECT 'ä', a FROM t\n\
                   CREATE TABLE t (a int CHECK (a > 0)); ";
        let Ok(Parsed::SchemaElements(parts)) = parse(sql) else { panic!("it makes more than a schema") };
        assert_eq!(parts.schema, "CREATE SCHEMA s -- ä\n ");
        assert_eq!(
            parts.elements,
            [
                "CREATE TABLE t (a int CHECK (a > 0))",
                "CREATE VIEW v AS SELECT 'ä', a FROM t\n",
                "CREATE UNIQUE INDEX i ON t (a) "
            ]
        );
    }

    #[test]
    fn a_schema_alone_is_a_statement_like_others() {
        assert!(matches!(parse("CREATE SCHEMA s"), Ok(Parsed::Sql(_))));
        assert!(parse("CREATE SCHEMA IF NOT EXISTS s CREATE TABLE t (a int)").is_err());
        assert!(parse("CREATE SCHEMA s CREATE ROLE r").is_err());
    }
}
