//! `JOIN ... USING (k)` and NATURAL JOIN: the two columns `k` become one.
//!
//! The planner takes the column of the left side for it, which is NULL where a RIGHT or FULL JOIN found no row there, and
//! leaves both where they were. So such joins are written with ON, as PostgreSQL understands them: the merged column is
//! that of the side whose rows are all there, or `COALESCE` of both; `*` gives the merged columns first, then the others
//! of the left and of the right side; and `k` alone means the merged column in all of the SELECT. `a.k` and `b.k` stay
//! what they are. `count(t.*)` is seen to here, too (`row_counts`), since it also needs to know what stands in FROM.

pub(super) mod from_items;
mod row_counts;

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, Join, JoinConstraint,
    ObjectName, OrderBy, OrderByKind, Select, SelectItem, Statement, TableFactor, TableWithJoins, Visitor,
};

use super::planner::Planner;
use crate::sql::expressions::each_own;
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, names};
use crate::{Error, ErrorKind};
use from_items::{FromColumn, FromItems, Side, constraint, each_select};
pub(super) use from_items::{factors, folded};

/// Writes the joins of `statement` with ON, and what depends on them.
pub(in crate::datafusion) fn resolve(planner: &Planner, statement: &mut Statement) -> Result<(), Error> {
    if Visit::visit(&*statement, &mut Needed).is_continue() {
        return Ok(());
    }
    each_select(planner, statement, |select, order_by, items| Resolver { items }.select(select, order_by))
}

/// Finds out whether there is something to do at all.
struct Needed;

impl Visitor for Needed {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.from.iter().any(merges) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        let FunctionArguments::List(list) = &call.args else { return ControlFlow::Continue(()) };
        let is_row = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)));
        if list.args.iter().any(is_row) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whether a join within `item` merges columns.
fn merges(item: &TableWithJoins) -> bool {
    let within = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => merges(table_with_joins),
        _ => false,
    };
    let by_name = |join: &Join| {
        let by = constraint(&mut join.join_operator.clone()).map(|(_, by)| by.clone());
        matches!(by, Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
    };
    within(&item.relation) || item.joins.iter().any(|join| by_name(join) || within(&join.relation))
}

struct Resolver<'a> {
    items: &'a FromItems<'a>,
}

impl Resolver<'_> {
    fn select(&self, select: &mut Select, mut order_by: Option<&mut OrderBy>) -> Result<(), Error> {
        row_counts::resolve(select, order_by.as_deref_mut(), self.items)?;
        if !select.from.iter().any(merges) || is_left_alone(&select.from)? {
            return Ok(());
        }
        let mut columns = Vec::new();
        for item in &mut select.from {
            columns.append(&mut self.join(item)?);
        }
        let merged = Replacer::new(&columns);
        let mut projection = Vec::new();
        for mut item in std::mem::take(&mut select.projection) {
            match &mut item {
                SelectItem::Wildcard(options) if options.opt_exclude.is_none() && options.opt_replace.is_none() => {
                    projection.extend((0..columns.len()).map(|place| selected_apart(&columns, place)));
                    continue;
                }
                SelectItem::Wildcard(_) => {
                    return Err(Error::unsupported(
                        "* that leaves out or replaces columns of a join by USING or NATURAL; name the columns",
                    ));
                }
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                    if let Some(column) = columns.iter().find(|column| merged.knows(name) == Some(&column.expr)) {
                        item = selected(column);
                    }
                }
                item => merged.put_into(item)?,
            }
            projection.push(item);
        }
        select.projection = projection;
        merged.put_into(&mut select.selection)?;
        merged.put_into(&mut select.having)?;
        merged.put_into(&mut select.qualify)?;
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            merged.put_into(keys)?;
        }
        if let Some(Distinct::On(keys)) = &mut select.distinct {
            merged.put_into(keys)?;
        }
        if let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = order_by {
            let named: Vec<String> = select.projection.iter().filter_map(name_of).collect();
            for key in keys {
                // The name of a column of the result comes first.
                let is_named = matches!(&key.expr, Expr::Identifier(name) if named.contains(&folded(name)));
                if !is_named {
                    merged.put_into(&mut key.expr)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the joins of `item` with ON. Returns its columns in the order in which `*` gives them.
    fn join(&self, item: &mut TableWithJoins) -> Result<Vec<FromColumn>, Error> {
        let mut columns = self.factor(&mut item.relation)?;
        for join in &mut item.joins {
            let right = self.factor(&mut join.relation)?;
            let Some((side, by)) = constraint(&mut join.join_operator) else {
                return Err(Error::unsupported("joins of this kind beside a join by USING or NATURAL; write ON"));
            };
            let names = match &mut *by {
                JoinConstraint::Using(names) => {
                    let name =
                        |name: &ObjectName| names::relation(name).map_err(|_| Error::syntax(format!("USING ({name})")));
                    names.iter().map(name).collect::<Result<Vec<_>, _>>()?
                }
                JoinConstraint::Natural => {
                    let is_common = |name: &&String| right.iter().any(|column| column.name == **name);
                    columns.iter().map(|column| &column.name).filter(is_common).cloned().collect()
                }
                other => {
                    Replacer::new(&columns).put_into(other)?;
                    columns.extend(right);
                    continue;
                }
            };
            let mut conditions = Vec::new();
            let mut all = Vec::new();
            for name in &names {
                let (left, right) = (the_one(&columns, name, "left")?, the_one(&right, name, "right")?);
                conditions.push(build::equal(left.expr.clone(), right.expr.clone()));
                let expr = match side {
                    Side::Both | Side::Left => left.expr.clone(),
                    Side::Right => right.expr.clone(),
                    Side::Full => build::call("COALESCE", vec![left.expr.clone(), right.expr.clone()]),
                };
                let nullable = left.nullable || right.nullable;
                all.push(FromColumn { name: name.clone(), expr, nullable, is_merged: true });
            }
            *by = JoinConstraint::On(build::all(conditions));
            all.extend(columns.into_iter().chain(right).filter(|column| !names.contains(&column.name)));
            columns = all;
        }
        Ok(columns)
    }

    fn factor(&self, factor: &mut TableFactor) -> Result<Vec<FromColumn>, Error> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.join(table_with_joins),
            TableFactor::NestedJoin { table_with_joins, alias } if merges(table_with_joins) => {
                let columns = self.join(table_with_joins)?;
                let projection = columns.iter().map(selected).collect();
                let select = build::select(projection, vec![(**table_with_joins).clone()]);
                let subquery = Box::new(build::query_of(select));
                *factor = TableFactor::Derived { lateral: false, subquery, alias: alias.take(), sample: None };
                self.items.columns(factor)
            }
            factor => self.items.columns(factor),
        }
    }
}

/// Whether FROM has what can be looked up only beside the rest of it; then the planner does what it can.
fn is_left_alone(from: &[TableWithJoins]) -> Result<bool, Error> {
    let is_lateral = |factor: &TableFactor| match factor {
        TableFactor::Derived { lateral, .. } | TableFactor::Function { lateral, .. } => *lateral,
        TableFactor::UNNEST { .. } => true,
        _ => false,
    };
    if !factors(from).iter().any(|(factor, _)| is_lateral(factor)) {
        return Ok(false);
    }
    let is_one_sided = |join: &Join| {
        let mut operator = join.join_operator.clone();
        matches!(
            constraint(&mut operator),
            Some((Side::Right | Side::Full, JoinConstraint::Using(_) | JoinConstraint::Natural,))
        )
    };
    if from.iter().flat_map(|item| &item.joins).any(is_one_sided) {
        return Err(Error::unsupported("a RIGHT or FULL JOIN by USING or NATURAL beside LATERAL; write ON"));
    }
    Ok(true)
}

fn the_one<'a>(columns: &'a [FromColumn], name: &str, side: &str) -> Result<&'a FromColumn, Error> {
    let mut found = columns.iter().filter(|column| column.name == *name);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => {
            Err(Error::no_column(format!("column \"{name}\" specified in USING clause does not exist in {side} table")))
        }
        _ => Err(Error::new(
            ErrorKind::Ambiguous,
            format!("common column name \"{name}\" appears more than once in {side} table; write ON"),
        )),
    }
}

/// The column in a select list.
fn selected(column: &FromColumn) -> SelectItem {
    let is_named = match &column.expr {
        Expr::Identifier(name) => name.value == column.name,
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|name| name.value == column.name),
        _ => false,
    };
    let expr = column.expr.clone();
    if is_named {
        SelectItem::UnnamedExpr(expr)
    } else {
        SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', &column.name) }
    }
}

/// A column in `*`; one that has the name of a merged one before it is numbered, as elsewhere.
fn selected_apart(columns: &[FromColumn], place: usize) -> SelectItem {
    let column = &columns[place];
    let before = columns[..place].iter().filter(|other| other.name == column.name).collect::<Vec<_>>();
    if before.iter().any(|other| other.is_merged) || (column.is_merged && !before.is_empty()) {
        let alias = Ident::with_quote('"', format!("{}_{}", column.name, before.len()));
        return SelectItem::ExprWithAlias { expr: column.expr.clone(), alias };
    }
    selected(column)
}

/// What a column of the result is called.
fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(folded(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(folded),
        _ => None,
    }
}

/// Puts merged columns in the place of their names, but not in the queries within.
struct Replacer {
    merged: Vec<(String, Expr)>,
}

impl Replacer {
    fn new(columns: &[FromColumn]) -> Self {
        let is_only = |column: &&FromColumn| columns.iter().filter(|other| other.name == column.name).count() == 1;
        let merged = columns.iter().filter(|column| column.is_merged).filter(is_only);
        let merged = merged.map(|column| (column.name.clone(), column.expr.clone()));
        Self { merged: merged.collect() }
    }

    fn knows(&self, name: &Ident) -> Option<&Expr> {
        let name = folded(name);
        self.merged.iter().find(|(other, _)| *other == name).map(|(_, expr)| expr)
    }

    fn put_into(&self, node: &mut impl VisitMut) -> Result<(), Error> {
        each_own(node, |expr| {
            if let Expr::Identifier(name) = expr
                && let Some(merged) = self.knows(name)
            {
                *expr = merged.clone();
            }
            Ok(())
        })
    }
}
