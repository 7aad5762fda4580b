//! The parser of SUMMARIZE, which is DuckDB's: `SUMMARIZE t`, `SUMMARIZE 'file'`, `SUMMARIZE SELECT ...`.

use sqlparser::ast::{Query, SelectItem, WildcardAdditionalOptions};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;

use crate::Error;
use crate::sql::tokens::is_word;
use crate::sql::{build, syntax};

/// The query that is summarized; otherwise the parser has not moved.
pub(super) fn summarized(parser: &mut Parser) -> Result<Option<Box<Query>>, Error> {
    let next = &parser.peek_token_ref().token;
    if !is_word(next, "summarize") {
        return Ok(None);
    }
    parser.advance_token();
    let begins_query = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES];
    if begins_query.into_iter().any(|keyword| parser.peek_keyword(keyword)) {
        return parser.parse_query().map(Some).map_err(syntax);
    }
    let relation = parser.parse_table_factor().map_err(syntax)?;
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    Ok(Some(Box::new(build::query_of(build::select(vec![all], vec![build::alone(relation)])))))
}
