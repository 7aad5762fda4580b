//! SELECT about one row or few: columns, or aggregates of all the rows; in the order of an index, the first of them.

use std::sync::Arc;

use arrow_schema::Schema;
use longshore_storage::{Direction, RowLock};
use sqlparser::ast::{
    Expr, GroupByExpr, LimitClause, LockClause, LockType, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr,
};

use super::aggregate::Aggregate;
use super::conditions::Conditions;
use super::named_table::NamedTable;
use super::{Kind, Operand, Output, PointQueryPlan};
use crate::catalog::Catalog;
use crate::sql::{build, names};

/// The query as one about one row or few, if it is such a one.
pub(super) fn select(query: &Query, catalog: &Catalog) -> Option<PointQueryPlan> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    // Built again of the parts that are understood, so that no clause is overlooked.
    let mut plain = build::select(select.projection.clone(), select.from.clone());
    plain.selection.clone_from(&select.selection);
    let is_plain_query = query.with.is_none()
        && query.fetch.is_none()
        && query.locks.len() <= 1
        && query.for_clause.is_none()
        && query.settings.is_none()
        && query.format_clause.is_none()
        && query.pipe_operators.is_empty();
    if !is_plain_query || !is_same(select, &plain) {
        return None;
    }
    let lock = match query.locks.first() {
        None => None,
        Some(LockClause { of: None, nonblock: None, lock_type: LockType::Update }) => Some(RowLock::Update),
        Some(LockClause { of: None, nonblock: None, lock_type: LockType::Share }) => Some(RowLock::Share),
        Some(_) => return None,
    };
    let [from] = select.from.as_slice() else { return None };
    let named = NamedTable::new(from, catalog)?;
    let conditions = named.conditions(select.selection.as_ref())?;
    let limit = match &query.limit_clause {
        None => None,
        Some(LimitClause::LimitOffset { limit, offset: None, limit_by }) if limit_by.is_empty() => {
            limit.as_ref().map(Operand::of).map_or(Some(None), |limit| limit.map(Some))?
        }
        Some(_) => return None,
    };
    if let Some(items) = aggregates(&select.projection, &named) {
        let is_all = query.order_by.is_none() && limit.is_none() && lock.is_none();
        return is_all.then(|| aggregated(named, &conditions, items)).flatten();
    }
    let order = match &query.order_by {
        None => Vec::new(),
        Some(order) => by_columns(order, &select.projection, &named)?,
    };
    let (columns, fields) = named.projected(&select.projection)?;
    let schema = Arc::new(Schema::new(fields));
    if let (None, Some(key)) = (&limit, named.key(&conditions)) {
        return Some(PointQueryPlan { lock, ..named.plan(Kind::Select { key, columns, schema }) });
    }
    if conditions.is_empty() && limit.is_none() {
        return None;
    }
    let (range, direction) = named.range(&conditions, &order)?;
    let kind = Kind::Few { range, direction, limit, output: Output::Columns(columns), schema };
    Some(PointQueryPlan { lock, ..named.plan(kind) })
}

fn is_same(select: &Select, plain: &Select) -> bool {
    let no_groups =
        matches!(&select.group_by, GroupByExpr::Expressions(groups, rest) if groups.is_empty() && rest.is_empty());
    no_groups && select == plain
}

/// The columns of ORDER BY, and whether they descend.
fn by_columns(order: &OrderBy, items: &[SelectItem], named: &NamedTable) -> Option<Vec<(usize, bool)>> {
    let OrderBy { kind: OrderByKind::Expressions(by), interpolate: None } = order else { return None };
    let by = by.iter().map(|by| {
        // What is returned under a name comes before a column of that name.
        let is_alias = items.iter().any(|item| match (item, &by.expr) {
            (SelectItem::ExprWithAlias { alias, .. }, Expr::Identifier(name)) => {
                names::identifier(alias).ok() == names::identifier(name).ok()
            }
            _ => false,
        });
        let is_plain = by.with_fill.is_none() && !is_alias;
        Some((named.column(&by.expr).filter(|_| is_plain)?, by.options.asc == Some(false)))
    });
    by.collect()
}

/// The aggregates that are returned, if there are no other things, and what they are called.
fn aggregates(list: &[SelectItem], named: &NamedTable) -> Option<Vec<(Aggregate, String)>> {
    let items = list.iter().map(|item| match item {
        SelectItem::UnnamedExpr(expr) => Aggregate::of(expr, named),
        SelectItem::ExprWithAlias { expr, alias } => {
            Some((Aggregate::of(expr, named)?.0, names::identifier(alias).ok()?))
        }
        _ => None,
    });
    let items: Vec<(Aggregate, String)> = items.collect::<Option<_>>()?;
    // The planner gives other names to what is given one twice.
    let is_given = |at: usize| matches!(list[at], SelectItem::ExprWithAlias { .. });
    let is_twice = |at: usize| is_given(at) && (0..at).any(|before| is_given(before) && items[before].1 == items[at].1);
    (!(0..items.len()).any(is_twice)).then_some(items)
}

fn aggregated(named: NamedTable, conditions: &Conditions, items: Vec<(Aggregate, String)>) -> Option<PointQueryPlan> {
    // The least and the greatest value that an index is ordered by stand at its ends.
    let end = match items.as_slice() {
        [(Aggregate::Min(column), name)] => Some((*column, false, name)),
        [(Aggregate::Max(column), name)] => Some((*column, true, name)),
        _ => None,
    };
    if let Some((column, descends, name)) = end
        && !conditions.has_value(column)
        && let Some((range, direction)) = named.range(conditions, &[(column, descends)])
    {
        let schema = Arc::new(Schema::new(vec![items[0].0.edge(name.clone(), named.schema())?]));
        let (limit, output) = (Some(Operand::Integer(1)), Output::Aggregates(vec![items[0].0]));
        return Some(named.plan(Kind::Few { range, direction, limit, output, schema }));
    }
    if conditions.is_empty() {
        return None;
    }
    let (aggregates, names): (Vec<Aggregate>, Vec<String>) = items.into_iter().unzip();
    let fields = aggregates.iter().zip(names).map(|(aggregate, name)| aggregate.field(name, named.schema()));
    let schema = Arc::new(Schema::new(fields.collect::<Option<Vec<_>>>()?));
    let (range, _) = named.range(conditions, &[])?;
    let (direction, output) = (Direction::Forward, Output::Aggregates(aggregates));
    Some(named.plan(Kind::Few { range, direction, limit: None, output, schema }))
}
