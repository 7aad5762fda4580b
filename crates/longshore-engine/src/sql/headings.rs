//! What columns without an alias are called, as PostgreSQL calls them: `sum` for `sum(a)`, `int4` for `1::int`, `?column?`
//! for `a + 1`.
//!
//! The planner refuses two columns of one name, and PostgreSQL does not. So what is computed, and shares its name with
//! another column of the list, gets a mark and a number behind its name. Nobody can refer to such a name, and [`shown`]
//! takes them off what a query returns. Beside a star every name is marked, since the star may have it.
//! Not here: names that stand twice because the statement says so (`repeated`).

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, DataType, Distinct, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Insert, ObjectName, ObjectNamePart, OrderBy, OrderByKind, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, TrimWhereField, Visitor, VisitorMut,
};

use crate::sql::call_syntax;
use crate::sql::visit::{Visit, VisitMut};

/// What is called nothing else.
const UNNAMED: &str = "?column?";
/// Stands behind a name before its number; Unicode keeps it for the inside of programs.
const MARK: char = '\u{fdd0}';

/// Names the columns of `query` itself.
pub(crate) fn name(query: &mut Query) {
    // Those of other queries have numbers only.
    Names { place: "list ", marked: 0, is_within: false }.query(query);
}

/// Names the columns of all queries of `statement` in FROM and WITH.
pub(crate) fn name_within(statement: &mut Statement) {
    struct Within(Names);
    impl VisitorMut for Within {
        type Break = Infallible;

        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
            let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
            tables.for_each(|table| self.0.query(&mut table.query));
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
            if let TableFactor::Derived { subquery, .. } = factor {
                self.0.query(subquery);
            }
            ControlFlow::Continue(())
        }
    }
    if let Statement::Insert(Insert { source: Some(source), .. }) = statement
        && matches!(source.body.as_ref(), SetExpr::Values(_))
    {
        // May be long, and has no list.
        return;
    }
    let ControlFlow::Continue(()) =
        VisitMut::visit(statement, &mut Within(Names { place: "", marked: 0, is_within: true }));
}

/// The name of a column as it is shown; `None` if it is as it is.
pub(crate) fn shown(name: &str) -> Option<&str> {
    name.split_once(MARK).map(|(name, _)| name)
}

/// A name that is shown as `name`, but is another one than those with another `number`.
pub(crate) fn marked(name: &str, number: &str) -> String {
    format!("{name}{MARK}{number}")
}

/// A name that is shown as `name`, for a column that shares it.
pub(crate) fn numbered(name: &str, number: usize) -> String {
    format!("{name}{MARK}columns {number}")
}

/// `COLUMNS(...)`, which stands for several columns (`datafusion/planning/stars`).
pub(crate) fn columns_call(expr: &Expr) -> Option<&Function> {
    let Expr::Function(call) = expr else { return None };
    let [ObjectNamePart::Identifier(name)] = call.name.0.as_slice() else { return None };
    let is_it = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("columns");
    (is_it && call.over.is_none() && call.filter.is_none()).then_some(call)
}

/// Whether `expr` is repeated for several columns, which name it.
pub(crate) fn has_columns(expr: &Expr) -> bool {
    struct Calls;
    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if columns_call(expr).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    expr.visit(&mut Calls).is_break()
}

/// What PostgreSQL calls `expr`.
pub(crate) fn of(expr: &Expr) -> String {
    figured(expr).map_or_else(|| UNNAMED.to_owned(), |(name, _)| name)
}

/// Gives names, and numbers to those that are marked, so that no two of a statement are the same.
struct Names {
    place: &'static str,
    marked: usize,
    /// Whether the list is that of a query in FROM or WITH.
    is_within: bool,
}

impl Names {
    fn query(&mut self, query: &mut Query) {
        match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, query.order_by.as_mut()),
            other => self.body(other),
        }
    }

    fn body(&mut self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select, None),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, .. } => self.body(left),
            _ => {}
        }
    }

    fn select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>) {
        let is_star =
            |item: &SelectItem| !matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
        let has_star = select.projection.iter().any(is_star);
        let names: Vec<Option<String>> = select.projection.iter().map(item_name).collect();
        let mut keys: Vec<&mut Expr> = match order_by.map(|order_by| &mut order_by.kind) {
            Some(OrderByKind::Expressions(keys)) => keys.iter_mut().map(|key| &mut key.expr).collect(),
            _ => Vec::new(),
        };
        // There, the planner would take a name for this column, and PostgreSQL takes it for one of FROM.
        let mut meant_otherwise: Vec<String> = Vec::new();
        // Beside a column of FROM that is named there, one of the same name in the list is another.
        let mut qualified: Vec<String> = Vec::new();
        let computed = keys.iter().map(|key| &**key).filter(|key| !matches!(key, Expr::Identifier(_)));
        let clauses = select.having.iter().chain(&select.qualify).chain(computed);
        clauses.for_each(|expr| identifiers(expr, &mut meant_otherwise, &mut qualified));
        let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
        for (at, item) in select.projection.iter_mut().enumerate() {
            let Some(name) = names[at].clone() else { continue };
            let is_shared = names.iter().enumerate().any(|(other, taken)| other != at && taken.as_ref() == Some(&name));
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item else { continue };
            if has_columns(expr) {
                continue;
            }
            let is_named = matches!(item, SelectItem::ExprWithAlias { .. }) || is_column(expr);
            // Who refers to a name of a query in FROM that two columns have, means neither.
            let is_beside = qualified.contains(&name) && !is_column(expr);
            if is_named && !(self.is_within && is_shared && !has_star) && !is_beside {
                continue;
            }
            let expr = expr.clone();
            let expr = &expr;
            let is_marked = has_star || is_shared || is_beside || meant_otherwise.contains(&name);
            let alias = Ident::with_quote('"', if is_marked { self.marked(&name) } else { name.clone() });
            if is_beside {
                let means_it = |key: &Expr| matches!(key, Expr::Identifier(own) if folded(own) == name);
                for key in keys.iter_mut().filter(|key| means_it(key)) {
                    **key = Expr::Identifier(alias.clone());
                }
            }
            // A number there is the place of a column.
            if is_distinct && !matches!(expr, Expr::Value(_)) {
                for key in keys.iter_mut().filter(|key| **key == expr) {
                    **key = Expr::Identifier(alias.clone());
                }
            }
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }

    fn marked(&mut self, name: &str) -> String {
        self.marked += 1;
        format!("{name}{MARK}{}{}", self.place, self.marked)
    }
}

fn item_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(of(expr)),
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    }
}

/// Whether it is a column of a relation, which the planner calls by its name.
fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(expr) => is_column(expr),
        _ => false,
    }
}

/// Adds the names of columns without a qualifier in `expr` to `plain`, those of others to `qualified`.
fn identifiers(expr: &Expr, plain: &mut Vec<String>, qualified: &mut Vec<String>) {
    struct Identifiers<'a>(&'a mut Vec<String>, &'a mut Vec<String>);
    impl Visitor for Identifiers<'_> {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
            match expr {
                Expr::Identifier(ident) => self.0.push(folded(ident)),
                Expr::CompoundIdentifier(parts) => self.1.extend(parts.last().map(folded)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let ControlFlow::Continue(()) = expr.visit(&mut Identifiers(plain, qualified));
}

/// The name of `expr`, if it has one, and whether a cast of it keeps it (`FigureColname` in PostgreSQL).
fn figured(expr: &Expr) -> Option<(String, bool)> {
    let fixed = |name: &str| Some((name.to_owned(), true));
    match expr {
        Expr::Identifier(ident) => Some((folded(ident), true)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|ident| (folded(ident), true)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some(folded(ident)),
                _ => None,
            });
            field.map_or_else(|| figured(root), |field| Some((field, true)))
        }
        Expr::Nested(expr) | Expr::Collate { expr, .. } => figured(expr),
        Expr::Cast { expr, data_type, .. } => Some(kept_or(Some(expr), type_name(data_type))),
        Expr::TypedString(typed) => Some((type_name(&typed.data_type), false)),
        Expr::Interval(_) => Some(("interval".to_owned(), false)),
        Expr::Case { else_result, .. } => Some(kept_or(else_result.as_deref(), "case".to_owned())),
        Expr::Function(call) => match uuid_cast(call) {
            Some(value) => Some(kept_or(Some(value), "uuid".to_owned())),
            None => last_part(&call.name).map(|name| (call_syntax::own_name(&name).to_owned(), true)),
        },
        Expr::Subquery(query) => of_query(&query.body),
        Expr::Exists { negated: false, .. } => fixed("exists"),
        Expr::Array(_) => fixed("array"),
        Expr::Tuple(_) => fixed("row"),
        Expr::AtTimeZone { .. } => fixed("timezone"),
        Expr::Extract { .. } => fixed("extract"),
        Expr::Ceil { .. } => fixed("ceil"),
        Expr::Floor { .. } => fixed("floor"),
        Expr::Position { .. } => fixed("position"),
        Expr::Substring { .. } => fixed("substring"),
        Expr::Overlay { .. } => fixed("overlay"),
        Expr::Trim { trim_where, .. } => fixed(match trim_where {
            None | Some(TrimWhereField::Both) => "btrim",
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
        }),
        _ => None,
    }
}

/// The name of `part`, if what is made of it keeps that, and `other` otherwise, which nothing keeps.
fn kept_or(part: Option<&Expr>, other: String) -> (String, bool) {
    part.and_then(figured).filter(|(_, is_kept)| *is_kept).unwrap_or((other, false))
}

/// The name of the only column of a query that is a value.
fn of_query(body: &SetExpr) -> Option<(String, bool)> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::ExprWithAlias { alias, .. } => Some((folded(alias), true)),
            SelectItem::UnnamedExpr(expr) => Some((of(expr), true)),
            _ => None,
        },
        SetExpr::Query(query) => of_query(&query.body),
        SetExpr::SetOperation { left, .. } => of_query(left),
        SetExpr::Values(_) => Some(("column1".to_owned(), true)),
        _ => None,
    }
}

/// What a call casts to UUID, if it is such a cast, which has become a function.
fn uuid_cast(call: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &call.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] if last_part(&call.name)? == "uuid_in" => Some(value),
        _ => None,
    }
}

fn last_part(name: &ObjectName) -> Option<String> {
    match name.0.last()? {
        ObjectNamePart::Identifier(ident) => Some(folded(ident)),
        ObjectNamePart::Function(_) => None,
    }
}

/// The name that PostgreSQL's catalog has for a type.
fn type_name(data_type: &DataType) -> String {
    if let DataType::Array(element) = data_type {
        return match element {
            ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Parenthesis(element) => type_name(element),
            ArrayElemTypeDef::None => "array".to_owned(),
        };
    }
    let text = data_type.to_string().to_lowercase();
    let has_zone = text.ends_with("with time zone") || text.ends_with("tz");
    let word = text.split(['(', ' ']).next().unwrap_or_default();
    match (word, text.as_str()) {
        (_, "double precision") | ("double" | "float8", _) => "float8",
        ("float" | "float64", _) => match data_type {
            DataType::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => "float4",
            _ => "float8",
        },
        ("real" | "float4", _) => "float4",
        ("int" | "integer" | "int4", _) => "int4",
        ("bigint" | "int8", _) => "int8",
        ("smallint" | "int2", _) => "int2",
        ("decimal" | "numeric" | "dec", _) => "numeric",
        ("varchar", _) => "varchar",
        ("character" | "char", text) => {
            if text.contains("varying") {
                "varchar"
            } else {
                "bpchar"
            }
        }
        ("boolean" | "bool", _) => "bool",
        ("timestamp" | "timestamptz", _) => {
            if has_zone {
                "timestamptz"
            } else {
                "timestamp"
            }
        }
        ("time" | "timetz", _) => {
            if has_zone {
                "timetz"
            } else {
                "time"
            }
        }
        _ => return word.rsplit('.').next().unwrap_or_default().trim_matches('"').to_owned(),
    }
    .to_owned()
}

fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{parse_expression, parse_query};

    #[test]
    fn expressions_are_called_as_in_postgresql() {
        for (expr, expected) in [
            ("1 + 1", "?column?"),
            ("-a", "?column?"),
            ("'x'", "?column?"),
            ("a", "a"),
            ("(T.A)", "a"),
            ("t.\"A\"", "A"),
            ("sum(a)", "sum"),
            ("count(*)", "count"),
            ("\"Mine\"(1)", "Mine"),
            ("row_number() OVER (ORDER BY a)", "row_number"),
            ("ARRAY[1]", "array"),
            ("1::int", "int4"),
            ("uuid_in('a')", "uuid"),
            ("uuid_in(a)", "a"),
            ("uuid_in('a')::text", "text"),
            ("CAST(1 AS double precision)", "float8"),
            ("'1'::numeric(3,1)", "numeric"),
            ("'a'::character varying(3)", "varchar"),
            ("'a'::char(3)", "bpchar"),
            ("DATE '2024-01-01'", "date"),
            ("'2024-01-01'::timestamp with time zone", "timestamptz"),
            ("TIMESTAMP '2024-01-01 00:00:00'", "timestamp"),
            ("INTERVAL '1 day'", "interval"),
            ("true", "?column?"),
            ("NULL", "?column?"),
            ("a::text", "a"),
            ("lower(a)::text", "lower"),
            ("(1 + 1)::bigint", "int8"),
            ("CASE WHEN a THEN 1 ELSE 2 END", "case"),
            ("CASE WHEN a THEN 1 ELSE b END", "b"),
            ("(CASE WHEN a THEN 1 END)::smallint", "int2"),
            ("coalesce(a, b)", "coalesce"),
            ("EXTRACT(year FROM a)", "extract"),
            ("substring(a FROM 1)", "substring"),
            ("trim(a)", "btrim"),
            ("current_date", "current_date"),
            ("(SELECT max(b) FROM t)", "max"),
            ("(SELECT 1 AS one)", "one"),
            ("EXISTS (SELECT 1)", "exists"),
            ("a IN (1, 2)", "?column?"),
            ("a IS NULL", "?column?"),
            ("a[1]", "a"),
        ] {
            assert_eq!(of(&parse_expression(expr).unwrap()), expected, "{expr}");
        }
    }

    #[test]
    fn names_that_meet_are_marked() {
        for (sql, expected) in [
            ("SELECT a, a + 1, sum(b) FROM t", "SELECT a, a + 1 AS \"?column?\", sum(b) AS \"sum\" FROM t"),
            ("SELECT sum(a), sum(b), sum", "SELECT sum(a) AS \"sum#list 1\", sum(b) AS \"sum#list 2\", sum"),
            ("SELECT *, count(*)", "SELECT *, count(*) AS \"count#list 1\""),
            (
                "SELECT a::text FROM t HAVING a > 1 ORDER BY a",
                "SELECT a::TEXT AS \"a#list 1\" FROM t HAVING (a > 1) AND count(1) >= 0 ORDER BY a",
            ),
            ("SELECT a::text FROM t ORDER BY t.a", "SELECT a::TEXT AS \"a#list 1\" FROM t ORDER BY t.a"),
            (
                "SELECT a + 1 AS a FROM t ORDER BY t.a, a",
                "SELECT a + 1 AS \"a#list 1\" FROM t ORDER BY t.a, \"a#list 1\"",
            ),
            ("SELECT a::text FROM t ORDER BY a + 1", "SELECT a::TEXT AS \"a#list 1\" FROM t ORDER BY a + 1"),
            (
                "SELECT DISTINCT a + 1 FROM t ORDER BY a + 1 DESC",
                "SELECT DISTINCT a + 1 AS \"?column?\" FROM t ORDER BY \"?column?\" DESC",
            ),
            ("SELECT DISTINCT 2, a FROM t ORDER BY 2, 1", "SELECT DISTINCT 2 AS \"?column?\", a FROM t ORDER BY 2, 1"),
            ("SELECT 1 UNION SELECT 2", "SELECT 1 AS \"?column?\" UNION SELECT 2"),
        ] {
            let mut query = parse_query(sql).unwrap();
            name(&mut query);
            assert_eq!(query.to_string().replace(MARK, "#"), expected, "{sql}");
        }
        assert_eq!(shown("a"), None);
        assert_eq!(shown(&format!("sum{MARK}1")), Some("sum"));
    }
}
