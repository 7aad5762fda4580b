//! What stands in FROM: its columns, as `SELECT *` would give them, and which of it outer joins can leave out.

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::TableReference;
use datafusion::sql::parser::Statement as Parsed;
use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, OrderBy, Query, Select, SelectItem, SetExpr, SetOperator,
    Statement, TableFactor, TableWithJoins, VisitorMut, WildcardAdditionalOptions, With,
};

use crate::Error;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::planning::planner::Planner;
use crate::sql::expressions::flow;
use crate::sql::visit::VisitMut;
use crate::sql::{build, names};

/// A column of something in FROM.
#[derive(Clone)]
pub(in crate::datafusion::planning) struct FromColumn {
    pub(in crate::datafusion::planning) name: String,
    /// What gives its value to the query.
    pub(in crate::datafusion::planning) expr: Expr,
    pub(in crate::datafusion::planning) nullable: bool,
    /// Whether it stands for two columns that a join merges.
    pub(in crate::datafusion::planning) is_merged: bool,
}

/// Looks things in FROM up, in the queries that a visitor is within.
pub(in crate::datafusion::planning) struct FromItems<'a> {
    planner: &'a Planner,
    scopes: Vec<Scope>,
}

/// The WITH of one query.
struct Scope {
    with: Option<With>,
    /// How many of its definitions have ended.
    ended: usize,
}

/// Gives each SELECT of `statement` to `act`, those within others first, with the ORDER BY of its query and what can stand in its
/// FROM.
///
/// # Errors
/// The first of `act`, which ends it.
pub(in crate::datafusion::planning) fn each_select(
    planner: &Planner,
    statement: &mut Statement,
    act: impl FnMut(&mut Select, Option<&mut OrderBy>, &FromItems<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Selects { items: FromItems::new(planner), act }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Selects<'a, A> {
    items: FromItems<'a>,
    act: A,
}

impl<A> VisitorMut for Selects<'_, A>
where
    A: FnMut(&mut Select, Option<&mut OrderBy>, &FromItems<'_>) -> Result<(), Error>,
{
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.items.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Query { body, order_by, .. } = query;
        flow(self.body(body, order_by.as_mut()))?;
        self.items.leave_changed(query);
        ControlFlow::Continue(())
    }
}

impl<A> Selects<'_, A>
where
    A: FnMut(&mut Select, Option<&mut OrderBy>, &FromItems<'_>) -> Result<(), Error>,
{
    fn body(&mut self, body: &mut SetExpr, order_by: Option<&mut OrderBy>) -> Result<(), Error> {
        match body {
            SetExpr::Select(select) => (self.act)(select, order_by, &self.items),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, None)?;
                self.body(right, None)
            }
            _ => Ok(()),
        }
    }
}

impl<'a> FromItems<'a> {
    fn new(planner: &'a Planner) -> Self {
        Self { planner, scopes: Vec::new() }
    }

    /// The visitor enters `query`.
    fn enter(&mut self, query: &Query) {
        self.scopes.push(Scope { with: query.with.clone(), ended: 0 });
    }

    /// The visitor leaves the query that it entered last.
    fn leave(&mut self) {
        self.scopes.pop();
        if let Some(Scope { with: Some(with), ended }) = self.scopes.last_mut()
            && *ended < with.cte_tables.len()
        {
            *ended += 1;
        }
    }

    /// The visitor leaves the query that it entered last, and has changed it to `query`.
    fn leave_changed(&mut self, query: &Query) {
        let outer = self.scopes.len().checked_sub(2).and_then(|at| self.scopes.get_mut(at));
        if let Some(Scope { with: Some(with), ended }) = outer
            && let Some(definition) = with.cte_tables.get_mut(*ended)
        {
            *definition.query = query.clone();
        }
        self.leave();
    }

    /// The definitions that are in scope.
    fn with(&self) -> Option<With> {
        let mut all: Option<With> = None;
        for Scope { with, ended } in &self.scopes {
            let Some(with) = with else { continue };
            let mut visible = With { cte_tables: with.cte_tables[..*ended].to_vec(), ..with.clone() };
            if with.recursive
                && let Some(open) = with.cte_tables.get(*ended)
            {
                // What it reads of itself has the columns of its first part, which does not read itself; nor does a
                // query of one part, which must not be looked up here: that would look up its own FROM, and so on.
                let mut open = open.clone();
                if let SetExpr::SetOperation { op: SetOperator::Union, left, .. } = *open.query.body {
                    open.query.body = left;
                    visible.cte_tables.push(open);
                }
            }
            if let Some(outer) = all {
                let is_hidden = |name: &Ident| visible.cte_tables.iter().any(|inner| inner.alias.name == *name);
                let outer_tables = outer.cte_tables.into_iter().filter(|table| !is_hidden(&table.alias.name));
                let outer_tables: Vec<_> = outer_tables.collect();
                visible.cte_tables.splice(0..0, outer_tables);
                visible.recursive |= outer.recursive;
            }
            all = Some(visible);
        }
        all.filter(|with| !with.cte_tables.is_empty())
    }

    /// The columns of `factor`.
    pub(in crate::datafusion::planning) fn columns(&self, factor: &TableFactor) -> Result<Vec<FromColumn>, Error> {
        let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let select = build::select(vec![everything], vec![build::alone(factor.clone())]);
        let query = Query { with: self.with(), ..build::query_of(select) };
        self.planner.columns_of(Statement::Query(Box::new(query)))
    }

    /// The columns of all of `from`.
    pub(in crate::datafusion::planning) fn columns_of_all(
        &self,
        from: &[TableWithJoins],
    ) -> Result<Vec<FromColumn>, Error> {
        let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let select = build::select(vec![everything], from.to_vec());
        let query = Query { with: self.with(), ..build::query_of(select) };
        self.planner.columns_of(Statement::Query(Box::new(query)))
    }
}

impl Planner {
    /// The columns of a query.
    fn columns_of(&self, mut statement: Statement) -> Result<Vec<FromColumn>, Error> {
        super::resolve(self, &mut statement)?;
        let statement = Parsed::Statement(Box::new(statement));
        let plan = self.plan_statement(statement).map_err(from_datafusion)?;
        let column = |(qualifier, field): (Option<&TableReference>, &FieldRef)| {
            let name = Ident::with_quote('"', field.name());
            let expr = match qualifier {
                Some(table) => Expr::CompoundIdentifier(vec![Ident::with_quote('"', table.table()), name]),
                None => Expr::Identifier(name),
            };
            FromColumn { name: field.name().clone(), expr, nullable: field.is_nullable(), is_merged: false }
        };
        Ok(plan.schema().iter().map(column).collect())
    }
}

/// How the two sides of a join take part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::datafusion::planning) enum Side {
    /// The rows of both sides that meet.
    Both,
    /// Also the rows of the left side that meet none; and so on.
    Left,
    Right,
    Full,
}

/// How `join` is joined, and by what; `None` for joins that other systems have.
pub(in crate::datafusion::planning) fn constraint(join: &mut JoinOperator) -> Option<(Side, &mut JoinConstraint)> {
    match join {
        JoinOperator::Join(by) | JoinOperator::Inner(by) | JoinOperator::CrossJoin(by) => Some((Side::Both, by)),
        JoinOperator::Left(by) | JoinOperator::LeftOuter(by) => Some((Side::Left, by)),
        JoinOperator::Right(by) | JoinOperator::RightOuter(by) => Some((Side::Right, by)),
        JoinOperator::FullOuter(by) => Some((Side::Full, by)),
        _ => None,
    }
}

/// The things in FROM, and whether there are rows of the join without one of them.
pub(in crate::datafusion::planning) fn factors(from: &[TableWithJoins]) -> Vec<(&TableFactor, bool)> {
    from.iter().flat_map(factors_of).collect()
}

fn parts(factor: &TableFactor) -> Vec<(&TableFactor, bool)> {
    match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => factors_of(table_with_joins),
        _ => vec![(factor, false)],
    }
}

fn factors_of(item: &TableWithJoins) -> Vec<(&TableFactor, bool)> {
    let mut all = parts(&item.relation);
    for Join { relation, join_operator, .. } in &item.joins {
        let mut right = parts(relation);
        let (left_is_missing, right_is_missing) = match join_operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
            JoinOperator::FullOuter(_) => (true, true),
            _ => (false, false),
        };
        for (_, missing) in &mut all {
            *missing |= left_is_missing;
        }
        for (_, missing) in &mut right {
            *missing |= right_is_missing;
        }
        all.append(&mut right);
    }
    all
}

/// The same name, whether it is quoted or not.
pub(in crate::datafusion::planning) fn folded(name: &Ident) -> String {
    names::identifier(name).unwrap_or_else(|_| name.value.clone())
}
