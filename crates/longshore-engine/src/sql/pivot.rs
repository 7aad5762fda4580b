//! DuckDB's PIVOT and UNPIVOT: values of a column become columns, and columns become values of one.
//!
//! ```text
//! PIVOT relation [ON expression [IN (value, ...)], ...] [USING aggregate [AS name], ...] [GROUP BY column, ...]
//! UNPIVOT relation ON column, ... | COLUMNS(...) [INTO NAME name VALUE value]
//! FROM relation PIVOT (aggregate [AS name], ... FOR column IN (value [AS name], ...))
//! FROM relation UNPIVOT [INCLUDE NULLS] (value FOR name IN (column, ...))
//! ```
//! Each becomes a query that says the same. In FROM that is done here, since all values are given; the statements look at the
//! data first (`statement::pivot`).

use std::fmt::Write as _;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ExprWithAlias, Ident, LimitClause, NullInclusion, OrderBy, PivotValueSource, Query, SelectItem, SetExpr,
    TableAlias, TableFactor, Visitor, WildcardAdditionalOptions,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::Error;
use crate::sql::visit::Visit;
use crate::sql::{build, names, parse_query, syntax};

/// PIVOT or UNPIVOT as a statement.
#[derive(Debug)]
pub(crate) struct PivotStatement {
    pub(crate) relation: TableFactor,
    pub(crate) what: Turn,
    pub(crate) order_by: Option<OrderBy>,
    pub(crate) limit: Option<LimitClause>,
}

/// What is turned.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Values into columns.
    Pivot {
        /// What the new columns stand for, with their values if these are given.
        on: Vec<(Expr, Option<Vec<Expr>>)>,
        using: Vec<ExprWithAlias>,
        group_by: Vec<Expr>,
    },
    /// Columns into values.
    Unpivot {
        /// Columns, or COLUMNS(...).
        on: Vec<Expr>,
        name: Ident,
        value: Ident,
    },
}

/// The statement, if it is one of these; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<PivotStatement>, Error> {
    let statement = match &parser.peek_token_ref().token {
        Token::Word(word) if word.keyword == Keyword::PIVOT && word.quote_style.is_none() => pivot(parser),
        Token::Word(word) if word.keyword == Keyword::UNPIVOT && word.quote_style.is_none() => unpivot(parser),
        _ => return Ok(None),
    };
    statement.map(Some).map_err(syntax)
}

fn pivot(parser: &mut Parser) -> Result<PivotStatement, ParserError> {
    parser.advance_token();
    let relation = parser.parse_table_factor()?;
    let on = if parser.parse_keyword(Keyword::ON) { parser.parse_comma_separated(pivoted)? } else { Vec::new() };
    let using = if parser.parse_keyword(Keyword::USING) {
        parser.parse_comma_separated(Parser::parse_expr_with_alias)?
    } else {
        Vec::new()
    };
    let group_by = if parser.parse_keywords(&[Keyword::GROUP, Keyword::BY]) {
        parser.parse_comma_separated(Parser::parse_expr)?
    } else {
        Vec::new()
    };
    ended(parser, relation, Turn::Pivot { on, using, group_by })
}

/// `expression [IN (value, ...)]`
fn pivoted(parser: &mut Parser) -> Result<(Expr, Option<Vec<Expr>>), ParserError> {
    Ok(match parser.parse_expr()? {
        Expr::InList { expr, list, negated: false } => (*expr, Some(list)),
        expr => (expr, None),
    })
}

fn unpivot(parser: &mut Parser) -> Result<PivotStatement, ParserError> {
    parser.advance_token();
    let relation = parser.parse_table_factor()?;
    parser.expect_keyword(Keyword::ON)?;
    let on = parser.parse_comma_separated(Parser::parse_expr)?;
    let (mut name, mut value) = (Ident::new("name"), Ident::new("value"));
    if parser.parse_keyword(Keyword::INTO) {
        parser.expect_keyword(Keyword::NAME)?;
        name = parser.parse_identifier()?;
        parser.expect_keyword(Keyword::VALUE)?;
        value = parser.parse_identifier()?;
    }
    ended(parser, relation, Turn::Unpivot { on, name, value })
}

/// What may stand behind both.
fn ended(parser: &mut Parser, relation: TableFactor, what: Turn) -> Result<PivotStatement, ParserError> {
    let order_by = parser.parse_optional_order_by()?;
    let limit = if parser.parse_keyword(Keyword::LIMIT) {
        let limit = Some(parser.parse_expr()?);
        Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() })
    } else {
        None
    };
    Ok(PivotStatement { relation, what, order_by, limit })
}

/// Puts the query that says the same in place of PIVOT and UNPIVOT in FROM.
pub(super) fn written_out(factor: &mut TableFactor) -> Result<(), Error> {
    let (query, alias) = match factor {
        TableFactor::Pivot { table, aggregate_functions, value_column, value_source, default_on_null, alias } => {
            let PivotValueSource::List(values) = value_source else {
                return Err(Error::unsupported(
                    "PIVOT in FROM needs the list of its values; the statement PIVOT ... ON finds them",
                ));
            };
            if default_on_null.is_some() {
                return Err(Error::unsupported("PIVOT with DEFAULT ON NULL is not supported; write coalesce(...)"));
            }
            let [column] = value_column.as_slice() else {
                return Err(Error::unsupported(
                    "PIVOT of several columns in FROM is not supported; write PIVOT ... ON a, b",
                ));
            };
            let values = values.iter().map(|value| NewColumn {
                name: value.alias.as_ref().map_or_else(|| shown(&value.expr), identifier),
                condition: format!("({column}) = ({})", value.expr),
            });
            let used = std::iter::once(column).chain(aggregate_functions.iter().map(|aggregate| &aggregate.expr));
            let group = everything_but(&columns_in(used));
            (pivoting(&table.to_string(), &group, aggregate_functions, &values.collect::<Vec<_>>())?, alias.take())
        }
        TableFactor::Unpivot { table, value, name, columns, null_inclusion, alias } => {
            let Expr::Identifier(value) = value else {
                return Err(Error::unsupported("UNPIVOT into several columns of values is not supported"));
            };
            let with_nulls = matches!(null_inclusion, Some(NullInclusion::IncludeNulls));
            (unpivoting(&table.to_string(), columns, name, value, with_nulls)?, alias.take())
        }
        _ => return Ok(()),
    };
    let alias = alias.or_else(|| {
        let name = Ident::new(if matches!(factor, TableFactor::Pivot { .. }) { "pivot" } else { "unpivot" });
        Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None })
    });
    *factor = TableFactor::Derived { lateral: false, subquery: query, alias, sample: None };
    Ok(())
}

/// A column that PIVOT makes.
pub(crate) struct NewColumn {
    pub(crate) name: String,
    /// What holds for the rows that are counted in it.
    pub(crate) condition: String,
}

/// The query of a PIVOT: `group` is what stands before the new columns in its list.
pub(crate) fn pivoting(
    relation: &str,
    group: &str,
    using: &[ExprWithAlias],
    columns: &[NewColumn],
) -> Result<Box<Query>, Error> {
    let mut list = group.to_owned();
    for NewColumn { name, condition } in columns {
        for aggregate in using {
            let Expr::Function(call) = &aggregate.expr else {
                return Err(Error::unsupported(format!("PIVOT: {} is not a call of an aggregate", aggregate.expr)));
            };
            let mut call = call.clone();
            let own = call.filter.take().map_or_else(String::new, |filter| format!(" AND ({filter})"));
            let name = match (&aggregate.alias, using.len()) {
                (Some(alias), _) => format!("{name}_{}", identifier(alias)),
                (None, 1) => name.clone(),
                (None, _) => format!("{name}_{call}"),
            };
            let separator = if list.is_empty() { "" } else { ", " };
            let _ = write!(list, "{separator}{call} FILTER (WHERE {condition}{own}) AS {}", names::quoted(&name));
        }
    }
    if list.is_empty() {
        return Err(Error::invalid("PIVOT: there are no values, so no columns come of it"));
    }
    let grouped = if group.is_empty() { "" } else { " GROUP BY ALL" };
    parse_query(&format!("SELECT {list} FROM {relation}{grouped}"))
}

/// The query of an UNPIVOT.
pub(crate) fn unpivoting(
    relation: &str,
    columns: &[ExprWithAlias],
    name: &Ident,
    value: &Ident,
    with_nulls: bool,
) -> Result<Box<Query>, Error> {
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for column in columns {
        labels.push(names::literal(&column.alias.as_ref().map_or_else(|| shown(&column.expr), identifier)));
        values.push(column.expr.to_string());
    }
    let others = everything_but(&columns_in(columns.iter().map(|column| &column.expr)));
    let query = format!(
        "SELECT {others}, unnest(ARRAY[{}]) AS {name}, unnest(ARRAY[{}]) AS {value} FROM {relation}",
        labels.join(", "),
        values.join(", ")
    );
    parse_query(&if with_nulls {
        query
    } else {
        format!("SELECT * FROM ({query}) AS unpivoted WHERE {value} IS NOT NULL")
    })
}

/// `*` without these columns.
fn everything_but(columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| names::quoted(column)).collect();
    if columns.is_empty() { "*".to_owned() } else { format!("* EXCLUDE ({})", columns.join(", ")) }
}

/// The names of columns in expressions, each once.
pub(crate) fn columns_in<'a>(exprs: impl Iterator<Item = &'a Expr>) -> Vec<String> {
    struct Names(Vec<String>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            if let Some(name) = name.map(identifier)
                && !self.0.contains(&name)
            {
                self.0.push(name);
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    for expr in exprs {
        _ = expr.visit(&mut names);
    }
    names.0
}

/// What a value is called as a column: a text as it is, without quotes.
pub(crate) fn shown(expr: &Expr) -> String {
    match expr {
        Expr::Value(value) => value.value.clone().into_string().unwrap_or_else(|| value.value.to_string()),
        Expr::Identifier(name) => identifier(name),
        Expr::CompoundIdentifier(parts) => parts.last().map_or_else(String::new, identifier),
        Expr::TypedString(typed) => typed.value.value.clone().into_string().unwrap_or_else(|| expr.to_string()),
        other => other.to_string(),
    }
}

/// The name that an identifier stands for.
pub(crate) fn identifier(name: &Ident) -> String {
    names::identifier(name).unwrap_or_else(|_| name.value.clone())
}

impl PivotStatement {
    /// `query` with what stands behind the statement.
    pub(crate) fn finished(self, mut query: Box<Query>) -> Box<Query> {
        if self.order_by.is_none() && self.limit.is_none() {
            return query;
        }
        if matches!(query.body.as_ref(), SetExpr::Select(_)) && query.order_by.is_none() {
            query.order_by = self.order_by;
            query.limit_clause = self.limit;
            return query;
        }
        let inner = build::derived(*query, &Ident::new("turned"));
        let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let mut outer = build::query_of(build::select(vec![everything], vec![build::alone(inner)]));
        outer.order_by = self.order_by;
        outer.limit_clause = self.limit;
        Box::new(outer)
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn in_from_they_become_queries() {
        for (sql, expected) in [
            (
                "SELECT * FROM t PIVOT (sum(x) FOR year IN (2000, 2010 AS b))",
                "SELECT * FROM (SELECT * EXCLUDE (\"year\", x), sum(x) FILTER (WHERE (year) = (2000)) AS \"2000\", sum(x) \
                 FILTER (WHERE (year) = (2010)) AS b FROM t GROUP BY ALL) AS pivot",
            ),
            (
                "SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a, B)) AS u",
                "SELECT * FROM (SELECT * EXCLUDE (a, b), unnest(ARRAY['a', 'b']) AS n, unnest(ARRAY[a, B]) AS v FROM \
                 t) AS u",
            ),
        ] {
            match parse(sql) {
                Ok(Parsed::Sql(statement)) => assert_eq!(statement.to_string(), expected, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
        for (sql, said) in [
            ("SELECT * FROM t PIVOT (sum(x) FOR y IN (ANY))", "the list of its values"),
            ("SELECT * FROM t PIVOT (sum(x) FOR (y, z) IN ((1, 2)))", "several columns"),
        ] {
            let message = parse(sql).map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(said), "{sql}: {message}");
        }
    }
}
