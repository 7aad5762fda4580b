//! MERGE as PostgreSQL writes it.
//!
//! sqlparser's own parser of MERGE knows neither `DO NOTHING` nor `INSERT DEFAULT VALUES`, but its tree can say both: an
//! UPDATE that sets nothing, and an INSERT of neither columns nor values. So the tree is the same, and whoever goes
//! through trees (parameters, depth) goes through these. Not here: what MERGE does (`statement/merge.rs`).

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, OutputClause,
    SetExpr, Statement, With,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{IsOptional, Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{build, overriding};

/// The MERGE that the parser stands before, if it does; with a WITH, a query of it.
pub(super) fn merge(parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
    if parser.parse_keyword(Keyword::MERGE) {
        return Some(parse(parser).map(Statement::Merge));
    }
    if !matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::WITH) {
        return None;
    }
    let with = parser.maybe_parse(|parser| {
        parser.expect_keyword_is(Keyword::WITH)?;
        let with_token = last_token(parser);
        let recursive = parser.parse_keyword(Keyword::RECURSIVE);
        let cte_tables = parser.parse_comma_separated(Parser::parse_cte)?;
        parser.expect_keyword_is(Keyword::MERGE)?;
        Ok(With { with_token, recursive, cte_tables })
    });
    match with {
        Ok(None) => None,
        Ok(Some(with)) => Some(parse(parser).map(|merge| {
            let mut query = build::query(SetExpr::Merge(Statement::Merge(merge)));
            query.with = Some(with);
            Statement::Query(Box::new(query))
        })),
        Err(error) => Some(Err(error)),
    }
}

fn parse(parser: &mut Parser) -> Result<Merge, ParserError> {
    let merge_token = last_token(parser);
    let into = parser.parse_keyword(Keyword::INTO);
    let table = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::USING)?;
    let source = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::ON)?;
    let on = Box::new(parser.parse_expr()?);
    let mut clauses = Vec::new();
    while parser.parse_keyword(Keyword::WHEN) {
        clauses.push(clause(parser)?);
    }
    if clauses.is_empty() {
        return parser.expected_ref("WHEN", parser.peek_token_ref());
    }
    let output = if parser.parse_keyword(Keyword::RETURNING) {
        Some(OutputClause::Returning {
            returning_token: last_token(parser),
            select_items: parser.parse_comma_separated(Parser::parse_select_item)?,
        })
    } else {
        None
    };
    Ok(Merge { merge_token, optimizer_hints: Vec::new(), into, table, source, on, clauses, output })
}

/// What follows WHEN.
fn clause(parser: &mut Parser) -> Result<MergeClause, ParserError> {
    let when_token = last_token(parser);
    let is_not = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::MATCHED)?;
    let clause_kind = if !is_not {
        MergeClauseKind::Matched
    } else if parser.parse_keywords(&[Keyword::BY, Keyword::SOURCE]) {
        MergeClauseKind::NotMatchedBySource
    } else if parser.parse_keywords(&[Keyword::BY, Keyword::TARGET]) {
        MergeClauseKind::NotMatchedByTarget
    } else {
        MergeClauseKind::NotMatched
    };
    let predicate = if parser.parse_keyword(Keyword::AND) { Some(parser.parse_expr()?) } else { None };
    parser.expect_keyword_is(Keyword::THEN)?;
    let action = action(parser, clause_kind)?;
    Ok(MergeClause { when_token, clause_kind, predicate, action })
}

fn action(parser: &mut Parser, kind: MergeClauseKind) -> Result<MergeAction, ParserError> {
    if parser.parse_keywords(&[Keyword::DO, Keyword::NOTHING]) {
        return Ok(MergeAction::Update(MergeUpdateExpr {
            update_token: last_token(parser),
            assignments: Vec::new(),
            update_predicate: None,
            delete_predicate: None,
        }));
    }
    let has_row = matches!(kind, MergeClauseKind::Matched | MergeClauseKind::NotMatchedBySource);
    if !has_row && parser.parse_keyword(Keyword::INSERT) {
        return insert(parser).map(MergeAction::Insert);
    }
    if has_row && parser.parse_keyword(Keyword::DELETE) {
        return Ok(MergeAction::Delete { delete_token: last_token(parser) });
    }
    if has_row && parser.parse_keyword(Keyword::UPDATE) {
        let update_token = last_token(parser);
        parser.expect_keyword_is(Keyword::SET)?;
        let assignments = parser.parse_comma_separated(Parser::parse_assignment)?;
        return Ok(MergeAction::Update(MergeUpdateExpr {
            update_token,
            assignments,
            update_predicate: None,
            delete_predicate: None,
        }));
    }
    let expected = if has_row { "UPDATE, DELETE or DO NOTHING" } else { "INSERT or DO NOTHING" };
    parser.expected_ref(&format!("{expected} behind WHEN {kind} ... THEN"), parser.peek_token_ref())
}

/// What follows INSERT.
fn insert(parser: &mut Parser) -> Result<MergeInsertExpr, ParserError> {
    let insert_token = last_token(parser);
    let mut insert = MergeInsertExpr {
        insert_token: insert_token.clone(),
        columns: Vec::new(),
        kind_token: insert_token,
        kind: MergeInsertKind::Row,
        insert_predicate: None,
    };
    if parser.parse_keywords(&[Keyword::DEFAULT, Keyword::VALUES]) {
        return Ok(insert);
    }
    insert.columns = parser.parse_parenthesized_qualified_column_list(IsOptional::Optional, false)?;
    insert.insert_predicate = overriding::of_merge(parser)?;
    parser.expect_keyword_is(Keyword::VALUES)?;
    insert.kind_token = last_token(parser);
    let values = parser.parse_values(false, false)?;
    if values.rows.len() != 1 {
        return parser.expected_ref("the values of one row", parser.peek_token_ref());
    }
    insert.kind = MergeInsertKind::Values(values);
    Ok(insert)
}

fn last_token(parser: &Parser) -> AttachedToken {
    parser.get_current_token().clone().into()
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    fn read(sql: &str) -> String {
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => statement.to_string(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn all_clauses_are_read() {
        let sql = "MERGE INTO t AS a USING (SELECT 1 AS k) AS b ON a.k = b.k \
                   WHEN MATCHED AND a.n > 1 THEN DELETE WHEN MATCHED THEN UPDATE SET n = b.k, (x, y) = (1, 2) \
                   WHEN NOT MATCHED BY TARGET AND b.k > 1 THEN INSERT (k) VALUES (b.k) \
                   WHEN NOT MATCHED THEN INSERT VALUES (b.k, 1) \
                   WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING a.k, *";
        assert_eq!(read(sql), sql);
        for sql in [
            "MERGE INTO t USING s ON true WHEN MATCHED THEN DO NOTHING",
            "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN DO NOTHING",
            "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT DEFAULT VALUES",
            "PREPARE p (int) AS MERGE INTO t USING s ON t.k = $1 WHEN NOT MATCHED BY SOURCE THEN DO NOTHING",
        ] {
            assert!(parse(sql).is_ok(), "{}", read(sql));
        }
    }

    #[test]
    fn actions_that_have_no_row_to_act_on_are_refused() {
        for (sql, expected) in [
            ("MERGE INTO t USING s ON true", "expected WHEN"),
            ("MERGE INTO t USING s ON true WHEN MATCHED THEN INSERT VALUES (1)", "UPDATE, DELETE or DO NOTHING"),
            ("MERGE INTO t USING s ON true WHEN NOT MATCHED THEN DELETE", "INSERT or DO NOTHING"),
            ("MERGE INTO t USING s ON true WHEN NOT MATCHED THEN UPDATE SET a = 1", "INSERT or DO NOTHING"),
            ("MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT VALUES (1), (2)", "the values of one row"),
        ] {
            assert!(read(sql).contains(expected), "{sql}: {}", read(sql));
        }
    }
}
