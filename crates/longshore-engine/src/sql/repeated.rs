//! Columns that a query has twice: `SELECT *, filename FROM ...` has two columns `filename`, and so have `SELECT filename,
//! filename` and `SELECT count(*), count(*)` with their names.
//!
//! The planner refuses two columns of one name. So the second gets another one, which clients are not shown
//! (`headings::shown`); files are written with `filename_1`. What is the same twice is numbered in every list. Different values that
//! somebody may refer to by one name are numbered only where the list is the outermost: nothing else can refer to its names
//! by mistake. The planner names what contains a query by a part of it, so that `(SELECT count(*) FROM a)` and `(SELECT
//! count(*) FROM b)` meet; such columns get names in every list.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, Statement, Visitor,
    VisitorMut, WildcardAdditionalOptions,
};

use crate::Error;
use crate::sql::headings;
use crate::sql::visit::{Visit, VisitMut};

/// Gives columns of `query` their headings, and those that stand beside `*`, or have the name of an earlier one, names of
/// their own, which nobody is shown.
pub(crate) fn name_apart(query: &mut Query) {
    headings::name(query);
    let is_set_operation = !matches!(query.body.as_ref(), SetExpr::Select(_));
    if let Some(select) = first_select_mut(&mut query.body) {
        let has_star = select.projection.iter().any(|item| is_all(item) || relation_of_star(item).is_some());
        rename(select, Name::hidden, |item| {
            let is_met = item.is_repeated || (is_set_operation && item.has_name_of_other);
            is_met || (item.name.is_column && has_star)
        });
    }
}

/// Gives columns of `query` their headings, for a view or a table: those that it names all the same are named apart.
pub(crate) fn name_for(query: &mut Query, has_names: bool) {
    if has_names { name_apart(query) } else { headings::name(query) }
}

/// The same for what goes to files and tables, where columns need names: such names are numbered.
pub(crate) fn number_apart(query: &mut Query) {
    headings::name(query);
    if let SetExpr::Select(select) = query.body.as_mut() {
        let has_all = select.projection.iter().any(is_all);
        let of_relations: Vec<String> = select.projection.iter().filter_map(relation_of_star).collect();
        let is_alone = matches!(select.from.as_slice(), [from] if from.joins.is_empty());
        let is_in_star = |name: &Name| match &name.qualifier {
            Some(relation) => of_relations.contains(relation),
            None => is_alone && !of_relations.is_empty(),
        };
        let needs =
            |item: &Candidate<'_>| item.is_repeated || (item.name.is_column && (has_all || is_in_star(item.name)));
        rename(select, Name::numbered, needs);
    }
}

/// Gives columns of all queries in `statement` that contain queries, or have an equal one before them, names of their own.
/// What compares with ANY or ALL gets one in any case: the planner writes it as something else, under another name.
pub(crate) fn name_repeated(statement: &mut Statement) {
    struct Lists;
    impl VisitorMut for Lists {
        type Break = Infallible;

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
            rename(select, Name::numbered, |item| item.needs_alias);
            ControlFlow::Continue(())
        }
    }
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Lists);
}

/// Gives columns of one name that INTERSECT or EXCEPT compares, in `query` itself, names of their own: the planner looks
/// for them by their names alone, and would refuse the query, or compare others.
pub(crate) fn name_compared(query: &mut Query) {
    name_compared_in(&mut query.body);
}

fn name_compared_in(body: &mut SetExpr) {
    let SetExpr::SetOperation { op, left, right, .. } = body else { return };
    for side in [left, right] {
        if *op != SetOperator::Union
            && let Some(select) = first_select_mut(side)
        {
            rename(select, Name::numbered, |item| item.has_name_of_other);
        }
        name_compared_in(side);
    }
}

/// Refuses a list in which two columns have one name that somebody may refer to, for the columns of `relation`, such as
/// `table t`. What is computed, and has no alias, gets another name where it must.
pub(crate) fn refuse(query: &Query, relation: &str) -> Result<(), Error> {
    let Some(select) = first_select(&query.body) else { return Ok(()) };
    let mut names: Vec<String> = Vec::new();
    for item in &select.projection {
        let is_given = matches!(item, SelectItem::ExprWithAlias { .. });
        let Some(name) = Name::of(item).filter(|name| name.is_column || is_given) else { continue };
        let name = folded(&name.ident);
        if names.contains(&name) {
            return Err(Error::duplicate_column(relation, &name));
        }
        names.push(name);
    }
    Ok(())
}

/// The list that gives a query the names of its columns.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&query.body),
        _ => None,
    }
}

fn first_select_mut(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select_mut(left),
        SetExpr::Query(query) => first_select_mut(&mut query.body),
        _ => None,
    }
}

/// An item of a list that may need another name.
struct Candidate<'a> {
    name: &'a Name,
    /// Whether an earlier item has its name.
    is_repeated: bool,
    /// Whether an earlier item has its name, be it of another relation.
    has_name_of_other: bool,
    /// Whether it has no alias, and is the same as an earlier one, or contains a query so that the planner needs one.
    needs_alias: bool,
}

/// Gives items of a list names of their own, by their numbers, where `needs` says so.
fn rename(select: &mut Select, other: fn(&Name, u32) -> Name, needs: impl Fn(&Candidate<'_>) -> bool) {
    let mut taken: Vec<Name> = select.projection.iter().filter_map(Name::given).collect();
    let mut before: Vec<Name> = Vec::new();
    let mut queries = 0;
    for at in 0..select.projection.len() {
        let (earlier, rest) = select.projection.split_at_mut(at);
        let item = &mut rest[0];
        let Some(name) = Name::of(item) else { continue };
        let unnamed = if let SelectItem::UnnamedExpr(expr) = &*item { Some(expr) } else { None };
        let is_query = unnamed.is_some_and(has_query);
        let is_repeated = before.iter().any(|other| other.meets(&name));
        let is_later_query = is_query && queries > 0;
        let has_quantifier = is_query && unnamed.is_some_and(has_quantifier);
        let is_same = is_repeated && unnamed.is_some() && earlier.contains(item);
        queries += usize::from(is_query);
        let needs_alias = is_same || is_later_query || has_quantifier;
        let has_name_of_other = before.iter().any(|other| folded(&other.ident) == folded(&name.ident));
        if needs(&Candidate { name: &name, is_repeated, has_name_of_other, needs_alias }) {
            let free = |alias: &Name| !taken.iter().chain(&before).any(|other| other.meets(alias));
            let own = Some(Name { qualifier: None, ident: name.ident.clone(), is_column: false });
            let own = own.filter(|_| (is_later_query || has_quantifier) && !is_repeated);
            if let Some(alias) = own.into_iter().chain((1..u32::MAX).map(|number| other(&name, number))).find(free) {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = &*item {
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: alias.ident.clone() };
                }
                taken.push(alias);
            }
        }
        before.push(name);
    }
}

fn has_query(expr: &Expr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Queries).is_break()
}

fn has_quantifier(expr: &Expr) -> bool {
    struct Quantifiers;
    impl Visitor for Quantifiers {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_one = matches!(expr, Expr::AnyOp { .. } | Expr::AllOp { .. });
            if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    expr.visit(&mut Quantifiers).is_break()
}

fn is_all(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(options) if takes_all(options))
}

/// The relation whose columns `relation.*` stands for.
fn relation_of_star(item: &SelectItem) -> Option<String> {
    let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item else { return None };
    let parts = name.0.iter().map(|part| part.as_ident().map(folded));
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("."))
}

/// What a column of the result is called.
struct Name {
    qualifier: Option<String>,
    ident: Ident,
    /// Whether it is the name of a column that is read, as it is.
    is_column: bool,
}

impl Name {
    /// What `item` is called; `None` for stars.
    fn of(item: &SelectItem) -> Option<Name> {
        let named = |ident: &Ident| Name { qualifier: None, ident: ident.clone(), is_column: false };
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(Name { is_column: true, ..named(ident) }),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                let (last, qualifiers) = parts.split_last()?;
                let qualifier = qualifiers.iter().map(folded).collect::<Vec<_>>().join(".");
                Some(Name { qualifier: Some(qualifier), is_column: true, ..named(last) })
            }
            // Both are called as what is in them.
            SelectItem::UnnamedExpr(Expr::Cast { expr, .. } | Expr::Nested(expr)) => {
                Name::of(&SelectItem::UnnamedExpr(expr.as_ref().clone())).map(|name| Name { is_column: false, ..name })
            }
            SelectItem::UnnamedExpr(Expr::Subquery(query)) => {
                let SetExpr::Select(select) = query.body.as_ref() else { return Some(named(&Ident::new("query"))) };
                let name = select.projection.first().and_then(Name::of);
                Some(name.map_or_else(|| named(&Ident::new("query")), |name| named(&name.ident)))
            }
            SelectItem::UnnamedExpr(other) => Some(named(&Ident::with_quote('"', other.to_string()))),
            SelectItem::ExprWithAlias { alias, .. } => Some(named(alias)),
            _ => None,
        }
    }

    /// The alias of `item`.
    fn given(item: &SelectItem) -> Option<Name> {
        matches!(item, SelectItem::ExprWithAlias { .. }).then(|| Name::of(item)).flatten()
    }

    fn numbered(&self, number: u32) -> Name {
        let value = format!("{}_{number}", self.ident.value);
        let ident = Ident { value, quote_style: self.ident.quote_style, span: self.ident.span };
        Name { qualifier: None, ident, is_column: false }
    }

    fn hidden(&self, number: u32) -> Name {
        let value = headings::marked(&folded(&self.ident), &format!("again {number}"));
        Name { qualifier: None, ident: Ident::with_quote('"', value), is_column: false }
    }

    /// Whether the planner takes both for one name.
    fn meets(&self, other: &Name) -> bool {
        let qualifiers_meet = match (&self.qualifier, &other.qualifier) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        qualifiers_meet && folded(&self.ident) == folded(&other.ident)
    }
}

fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// Whether the star leaves nothing out and replaces nothing.
fn takes_all(options: &WildcardAdditionalOptions) -> bool {
    let none = WildcardAdditionalOptions { wildcard_token: options.wildcard_token.clone(), ..Default::default() };
    *options == none
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn apart(sql: &str) -> String {
        let Ok(Parsed::Sql(statement)) = parse(sql) else { panic!("{sql}") };
        let Statement::Query(mut query) = *statement else { panic!("{sql}") };
        number_apart(&mut query);
        query.to_string()
    }

    #[test]
    fn only_columns_that_would_repeat_a_name_are_renamed() {
        for (sql, expected) in [
            ("SELECT *, a FROM t", "SELECT *, a AS a_1 FROM t"),
            ("SELECT t.\"B\", *, t.\"B\" FROM t", "SELECT t.\"B\" AS \"B_1\", *, t.\"B\" AS \"B_2\" FROM t"),
            ("SELECT t.a, t.* FROM t, u", "SELECT t.a AS a_1, t.* FROM t, u"),
            ("SELECT a, t.* FROM t", "SELECT a AS a_1, t.* FROM t"),
            ("SELECT a, u.a, t.* FROM t, u", "SELECT a, u.a AS a_1, t.* FROM t, u"),
            ("SELECT *, a AS b FROM t", "SELECT *, a AS b FROM t"),
            ("SELECT a, A, t.a, b AS a FROM t", "SELECT a, A AS A_1, t.a AS a_2, b AS a_3 FROM t"),
            ("SELECT a, a, 1 AS a_1 FROM t", "SELECT a, a AS a_2, 1 AS a_1 FROM t"),
            ("SELECT t.a, u.a FROM t, u", "SELECT t.a, u.a FROM t, u"),
            ("SELECT \"A\", a FROM t", "SELECT \"A\", a FROM t"),
            ("SELECT a, (a), b::int FROM t", "SELECT a, (a) AS a_1, b::INT AS \"b\" FROM t"),
            ("SELECT x FROM (SELECT *, a FROM t)", "SELECT x FROM (SELECT *, a FROM t)"),
        ] {
            assert_eq!(apart(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_is_the_same_and_queries_get_names_in_every_list() {
        for (sql, expected) in [
            ("SELECT (SELECT 1), 2", "SELECT (SELECT 1), 2"),
            (
                "SELECT x FROM (SELECT a, a, t.a FROM t) AS s (x)",
                "SELECT x FROM (SELECT a, a AS a_1, t.a FROM t) AS s (x)",
            ),
            ("SELECT EXISTS (SELECT 1, 1, 2)", "SELECT EXISTS (SELECT 1, 1 AS \"1_1\", 2)"),
            ("SELECT (SELECT a FROM t), (SELECT b FROM t)", "SELECT (SELECT a FROM t), (SELECT b FROM t) AS b"),
            (
                "SELECT a > ALL (SELECT a FROM u) FROM t",
                "SELECT a > ALL(SELECT a FROM u) AS \"a > ALL(SELECT a FROM u)\" FROM t",
            ),
            ("SELECT (SELECT a FROM t), (SELECT a FROM u)", "SELECT (SELECT a FROM t), (SELECT a FROM u) AS a_1"),
            (
                "SELECT x FROM (SELECT EXISTS (SELECT 1), EXISTS (SELECT 2), 3 AS x)",
                "SELECT x FROM (SELECT EXISTS (SELECT 1), EXISTS (SELECT 2) AS \"EXISTS (SELECT 2)\", 3 AS x)",
            ),
            (
                "SELECT (SELECT 1 UNION SELECT 1), (SELECT 2 UNION SELECT 2) UNION SELECT 1, 2",
                "SELECT (SELECT 1 UNION SELECT 1), (SELECT 2 UNION SELECT 2) AS query_1 UNION SELECT 1, 2",
            ),
        ] {
            let Ok(Parsed::Sql(mut statement)) = parse(sql) else { panic!("{sql}") };
            name_repeated(&mut statement);
            assert_eq!(statement.to_string(), expected, "{sql}");
        }
    }
}
