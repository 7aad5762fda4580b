//! What says the same as something longer, written out: `FROM t` and `FROM t SELECT a`, FETCH FIRST, ORDER BY ALL, SELECT
//! INTO, PIVOT and UNPIVOT in FROM (`pivot`), GROUP BY (`grouping`). Not here: `TABLE t`, and `FROM t` with more clauses (`table`), which the parser does not read.

mod ties;

use std::ops::ControlFlow;

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Fetch, Ident, LimitClause, ObjectName, ObjectNamePart, OrderByExpr, OrderByKind, Query,
    Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, Value,
    VisitorMut, WildcardAdditionalOptions,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::Error;
use crate::sql::expressions::flow;
use crate::sql::visit::VisitMut;
use crate::sql::{grouping, pivot};

/// Writes out what stands in `tree`.
///
/// # Errors
/// For what cannot be said otherwise, and is not supported.
pub(super) fn write_out(tree: &mut impl VisitMut) -> Result<(), Error> {
    match VisitMut::visit(tree, &mut Writer) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a statement of these tokens may have any of it: a long list of VALUES need not be walked.
pub(super) fn may_stand_in(tokens: &[TokenWithSpan]) -> bool {
    let keywords = [Keyword::FROM, Keyword::FETCH, Keyword::ALL, Keyword::GROUP, Keyword::HAVING];
    tokens.iter().any(|token| matches!(&token.token, Token::Word(word) if keywords.contains(&word.keyword)))
}

/// Makes `SELECT ... INTO t` the CREATE TABLE AS that it is.
pub(super) fn select_into(statement: &mut Statement) {
    if let Statement::Query(query) = statement
        && let SetExpr::Select(select) = query.body.as_mut()
        && select.into.as_ref().is_some_and(|into| !into.unlogged)
        && let Some(into) = select.into.take()
    {
        *statement =
            CreateTableBuilder::new(into.name).temporary(into.temporary).query(Some(query.clone())).build().into();
    }
}

struct Writer;

impl VisitorMut for Writer {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        order_by_all(query);
        flow(query.fetch.take().map_or(Ok(()), |fetch| fetch_first(query, fetch)))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        flow(pivot::written_out(factor))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        select.flavor = SelectFlavor::Standard;
        for item in &mut select.projection {
            if let SelectItem::Wildcard(options)
            | SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), options) = item
            {
                star(options);
            }
        }
        flow(grouping::write_out(select))
    }
}

fn fetch_first(query: &mut Query, fetch: Fetch) -> Result<(), Error> {
    let Fetch { with_ties, percent, quantity } = fetch;
    if percent {
        return Err(Error::unsupported("FETCH FIRST n PERCENT is not supported; write a number of rows"));
    }
    let rows = quantity.unwrap_or_else(|| number(1));
    if with_ties {
        return ties::first_with_ties(query, rows);
    }
    let limit_clause = &mut query.limit_clause;
    match limit_clause {
        None => {
            *limit_clause = Some(LimitClause::LimitOffset { limit: Some(rows), offset: None, limit_by: Vec::new() });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(rows),
        Some(_) => return Err(Error::syntax("LIMIT and FETCH FIRST say the same; leave one out")),
    }
    Ok(())
}

/// By all columns from the first to the last. Beside a star the planner does it, which knows how many there are.
fn order_by_all(query: &mut Query) {
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::All(options) = &order_by.kind else { return };
    let Some(columns) = columns(&query.body) else { return };
    let key = |place| OrderByExpr { expr: number(place), options: *options, with_fill: None };
    order_by.kind = OrderByKind::Expressions((1..=columns).map(key).collect());
}

/// How many columns a query has, if it has no star.
fn columns(body: &SetExpr) -> Option<usize> {
    let is_one = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    match body {
        SetExpr::Select(select) => select.projection.iter().all(is_one).then_some(select.projection.len()),
        SetExpr::Query(query) => columns(&query.body),
        SetExpr::SetOperation { left, .. } => columns(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}

/// Folds the names in EXCLUDE and REPLACE, which the planner takes as they are.
fn star(options: &mut WildcardAdditionalOptions) {
    match &mut options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => fold_last(name),
        Some(ExcludeSelectItem::Multiple(names)) => names.iter_mut().for_each(fold_last),
        None => {}
    }
    if let Some(replace) = &mut options.opt_replace {
        replace.items.iter_mut().for_each(|item| fold(&mut item.column_name));
    }
}

fn fold_last(name: &mut ObjectName) {
    if let Some(ObjectNamePart::Identifier(ident)) = name.0.last_mut() {
        fold(ident);
    }
}

fn fold(ident: &mut Ident) {
    if ident.quote_style.is_none() {
        ident.value = ident.value.to_lowercase();
    }
}

fn number(number: usize) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn what_is_short_is_written_out() {
        for (sql, expected) in [
            ("FROM t", "SELECT * FROM t"),
            ("FROM t WHERE a > 1 ORDER BY a", "SELECT * FROM t WHERE a > 1 ORDER BY a"),
            ("FROM t JOIN u USING (a) SELECT b WHERE b > 1", "SELECT b FROM t JOIN u USING(a) WHERE b > 1"),
            ("FROM t UNION ALL FROM u", "SELECT * FROM t UNION ALL SELECT * FROM u"),
            ("SELECT a FROM (FROM t LIMIT 1) AS s", "SELECT a FROM (SELECT * FROM t LIMIT 1) AS s"),
            ("WITH s AS (FROM t) FROM s", "WITH s AS (SELECT * FROM t) SELECT * FROM s"),
            ("EXPLAIN FROM t WHERE a", "EXPLAIN SELECT * FROM t WHERE a"),
            ("SELECT a FROM t FETCH FIRST ROW ONLY", "SELECT a FROM t LIMIT 1"),
            ("SELECT a FROM t OFFSET 2 FETCH NEXT 3 ROWS ONLY", "SELECT a FROM t LIMIT 3 OFFSET 2"),
            (
                "SELECT a AS b FROM t ORDER BY b, 1 FETCH FIRST 2 ROWS WITH TIES",
                "SELECT a AS b FROM t QUALIFY rank() OVER (ORDER BY a, a) <= 2 ORDER BY b, 1",
            ),
            ("SELECT a, b FROM t ORDER BY ALL DESC", "SELECT a, b FROM t ORDER BY 1 DESC, 2 DESC"),
            ("SELECT a INTO u FROM t WHERE a > 1", "CREATE TABLE u AS SELECT a FROM t WHERE a > 1"),
            (
                "SELECT * EXCLUDE (A, \"B\") REPLACE (1 AS C) FROM t",
                "SELECT * EXCLUDE (a, \"B\") REPLACE (1 AS c) FROM t",
            ),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_written_out_is_refused() {
        for (sql, said) in [
            ("SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES", "WITH TIES"),
            ("SELECT a FROM t FETCH FIRST 10 PERCENT ROWS ONLY", "PERCENT"),
            ("SELECT a FROM t LIMIT 1 FETCH FIRST 2 ROWS ONLY", "leave one out"),
        ] {
            let message = parse(sql).map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(said), "{sql}: {message}");
        }
    }
}
