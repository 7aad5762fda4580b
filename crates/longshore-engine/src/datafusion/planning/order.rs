//! The order of a query in FROM, where it counts.
//!
//! Rows have no order but by ORDER BY; yet who writes `FROM (SELECT ... ORDER BY k) s LIMIT 3`, or `array_agg(v)` over
//! such a query or view, means its order, and PostgreSQL keeps it. `DataFusion` keeps a sort only where an operator asks
//! for one. So the order is repeated where it counts: below LIMIT, within aggregate and window functions that go through
//! rows one by one and have no ORDER BY of their own, and at the root. The sort below then is all that is left to do.
//! What a query sorts by and does not return is handed up in hidden columns.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{
    AggregateFunction, Exists, InSubquery, SetComparison, WindowFunction, WindowFunctionDefinition,
};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Limit, LogicalPlan, Projection, Sort, SortExpr, Statement, SubqueryAlias, Window,
};

/// How the names of hidden columns begin.
const HIDDEN: &str = "order (hidden) ";
/// Functions whose result depends on the order of rows.
const AGGREGATES: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];
const WINDOWS: [&str; 9] =
    ["array_agg", "string_agg", "first_value", "last_value", "nth_value", "row_number", "ntile", "lag", "lead"];

/// The plan in which the order of queries in FROM counts.
pub(in crate::datafusion) fn with_order(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let node = match node {
            LogicalPlan::Sort(sort) if sort.expr.iter().any(|key| has_query(&key.expr)) => by_columns(sort)?,
            other => other,
        };
        let sorted = match &node {
            LogicalPlan::Limit(limit) => sorted_limit(limit)?,
            LogicalPlan::Aggregate(aggregate) => sorted_aggregate(aggregate)?,
            LogicalPlan::Window(window) => sorted_window(window)?,
            _ => None,
        };
        Ok(sorted.map_or_else(|| Transformed::no(node), Transformed::yes))
    })?;
    root(plan.data)
}

/// Whether an expression has a query that looks whether rows are there, which is planned in lists and conditions only, or that
/// depends on the query around it, which cannot be repeated above it.
fn has_query(expr: &Expr) -> bool {
    let is_one = |part: &Expr| {
        Ok(match part {
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => true,
            Expr::ScalarSubquery(query) => !query.outer_ref_columns.is_empty(),
            _ => false,
        })
    };
    expr.exists(is_one).unwrap_or(false)
}

/// A sort by hidden columns, which the list below computes.
fn by_columns(sort: Sort) -> Result<LogicalPlan> {
    let Sort { expr, input, fetch } = sort;
    let shown: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let is_below = |key: &SortExpr, below: &Projection| {
        let outside = outer_columns(&key.expr);
        !outside.iter().all(|column| input.schema().has_column(column))
            && outside.iter().all(|column| below.input.schema().has_column(column))
    };
    let (mut list, input) = match input.as_ref() {
        // The queries of the keys look at columns that the list does not show.
        LogicalPlan::Projection(below) if expr.iter().any(|key| is_below(key, below)) => {
            (below.expr.clone(), Arc::clone(&below.input))
        }
        _ => (shown.clone(), input),
    };
    let mut keys = Vec::with_capacity(expr.len());
    for (at, SortExpr { expr, asc, nulls_first }) in expr.into_iter().enumerate() {
        let key = if has_query(&expr) {
            let name = format!("{HIDDEN}key {at}");
            list.push(over(expr, input.schema(), &list)?.alias(&name));
            Expr::Column(Column::from_name(name))
        } else {
            expr
        };
        keys.push(SortExpr { expr: key, asc, nulls_first });
    }
    let below = Arc::new(LogicalPlan::Projection(Projection::try_new(list, input)?));
    let sorted = Arc::new(LogicalPlan::Sort(Sort { expr: keys, input: below, fetch }));
    Ok(LogicalPlan::Projection(Projection::try_new(shown, sorted)?))
}

/// The columns of the query around them that the queries in an expression look at.
fn outer_columns(expr: &Expr) -> Vec<Column> {
    let mut found = Vec::new();
    let _ = expr.apply(|part| {
        if let Expr::ScalarSubquery(query)
        | Expr::Exists(Exists { subquery: query, .. })
        | Expr::InSubquery(InSubquery { subquery: query, .. })
        | Expr::SetComparison(SetComparison { subquery: query, .. }) = part
        {
            let columns = query.outer_ref_columns.iter().filter_map(|column| match column {
                Expr::OuterReferenceColumn(_, column) => Some(column.clone()),
                _ => None,
            });
            found.extend(columns);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

/// An expression over columns of this schema, in which names of a list mean what the list computes.
fn over(expr: Expr, schema: &DFSchema, list: &[Expr]) -> Result<Expr> {
    let named = expr.transform_up(|part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        let is_named = |item: &&Expr| item.qualified_name() == (column.relation.clone(), column.name.clone());
        match list.iter().find(is_named).filter(|_| !schema.has_column(column)) {
            Some(item) => Ok(Transformed::yes(item.clone().unalias())),
            None => Ok(Transformed::no(part)),
        }
    })?;
    Ok(named.data)
}

/// The plan of a statement, whose rows come in order.
fn root(plan: LogicalPlan) -> Result<LogicalPlan> {
    let inner = |plan: Arc<LogicalPlan>| root(Arc::unwrap_or_clone(plan)).map(Arc::new);
    match plan {
        LogicalPlan::Dml(mut change) => {
            // What stands there is a projection of the query to the columns of the table.
            let input = Arc::unwrap_or_clone(change.input);
            change.input = Arc::new(match input {
                LogicalPlan::Projection(Projection { expr, input, .. }) => {
                    LogicalPlan::Projection(Projection::try_new(expr, inner(input)?)?)
                }
                other => other,
            });
            Ok(LogicalPlan::Dml(change))
        }
        LogicalPlan::Explain(mut explain) => {
            explain.plan = inner(explain.plan)?;
            Ok(LogicalPlan::Explain(explain))
        }
        LogicalPlan::Analyze(mut analyze) => {
            analyze.input = inner(analyze.input)?;
            Ok(LogicalPlan::Analyze(analyze))
        }
        LogicalPlan::Statement(Statement::Prepare(mut prepare)) => {
            prepare.input = inner(prepare.input)?;
            Ok(LogicalPlan::Statement(Statement::Prepare(prepare)))
        }
        plan => match Ordered::of(&plan)?.filter(|ordered| ordered.is_nested) {
            Some(ordered) => projected(ordered.sorted(), &plan),
            None => Ok(plan),
        },
    }
}

/// A plan whose rows come in the order of `keys`.
struct Ordered {
    /// The same with hidden columns behind the others.
    plan: LogicalPlan,
    keys: Vec<SortExpr>,
    /// Whether it has its order from a query in FROM.
    is_nested: bool,
}

impl Ordered {
    /// `None` if the rows of `plan` are in no order.
    fn of(plan: &LogicalPlan) -> Result<Option<Self>> {
        let input = match plan {
            LogicalPlan::Sort(sort) => {
                let is_volatile = sort.expr.iter().any(|key| key.expr.is_volatile());
                let keys = sort.expr.clone();
                return Ok((!is_volatile).then(|| Self { plan: plan.clone(), keys, is_nested: false }));
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. })
            | LogicalPlan::Projection(Projection { input, .. })
            | LogicalPlan::Filter(Filter { input, .. })
            | LogicalPlan::Limit(Limit { input, .. }) => input,
            _ => return Ok(None),
        };
        let Some(Self { plan: below, keys, is_nested }) = Self::of(input)? else { return Ok(None) };
        let below = Arc::new(below);
        Ok(Some(match plan {
            LogicalPlan::SubqueryAlias(alias) => {
                let from = Arc::clone(below.schema());
                let plan = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(below, alias.alias.clone())?);
                let keys = renamed(keys, |column| Ok(plan.schema().columns()[from.index_of_column(column)?].clone()))?;
                Self { plan, keys, is_nested: true }
            }
            LogicalPlan::Projection(projection) => {
                let mut exprs = projection.expr.clone();
                let mut places = Vec::new();
                for column in keys.iter().flat_map(|key| key.expr.column_refs()) {
                    let is_it = |expr: &Expr| matches!(expr.clone().unalias(), Expr::Column(other) if other == *column);
                    let place = exprs.iter().position(is_it).unwrap_or_else(|| {
                        exprs.push(Expr::Column(column.clone()).alias(format!("{HIDDEN}{}", exprs.len())));
                        exprs.len() - 1
                    });
                    places.push((column.clone(), place));
                }
                let plan = LogicalPlan::Projection(Projection::try_new(exprs, below)?);
                let columns = plan.schema().columns();
                let keys = renamed(keys, |column| {
                    let place = places.iter().find(|(other, _)| other == column).map(|(_, place)| *place);
                    Ok(place.map_or_else(|| column.clone(), |place| columns[place].clone()))
                })?;
                Self { plan, keys, is_nested }
            }
            LogicalPlan::Filter(filter) => {
                let plan = LogicalPlan::Filter(Filter::try_new(filter.predicate.clone(), below)?);
                Self { plan, keys, is_nested }
            }
            LogicalPlan::Limit(limit) => {
                Self { plan: LogicalPlan::Limit(Limit { input: below, ..limit.clone() }), keys, is_nested }
            }
            _ => return Ok(None),
        }))
    }

    fn sorted(self) -> LogicalPlan {
        LogicalPlan::Sort(Sort { expr: self.keys, input: Arc::new(self.plan), fetch: None })
    }
}

/// The keys with other names of their columns.
fn renamed(keys: Vec<SortExpr>, name: impl Fn(&Column) -> Result<Column>) -> Result<Vec<SortExpr>> {
    let rename = |expr: Expr| {
        expr.transform_up(|part| match part {
            Expr::Column(column) => Ok(Transformed::yes(Expr::Column(name(&column)?))),
            other => Ok(Transformed::no(other)),
        })
    };
    keys.into_iter().map(|key| Ok(SortExpr { expr: rename(key.expr)?.data, ..key })).collect()
}

/// The first columns of `plan`, with the names that those of `original` have.
fn projected(plan: LogicalPlan, original: &LogicalPlan) -> Result<LogicalPlan> {
    if plan.schema().columns() == original.schema().columns() {
        return Ok(plan);
    }
    let names = original.schema().iter();
    let columns = plan.schema().columns().into_iter().zip(names).map(|(column, (qualifier, field))| {
        if column.relation.as_ref() == qualifier && column.name == *field.name() {
            Expr::Column(column)
        } else {
            Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
        }
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

fn sorted_limit(limit: &Limit) -> Result<Option<LogicalPlan>> {
    let Some(ordered) = Ordered::of(&limit.input)?.filter(|ordered| ordered.is_nested) else { return Ok(None) };
    let limited = LogicalPlan::Limit(Limit { input: Arc::new(ordered.sorted()), ..limit.clone() });
    projected(limited, &LogicalPlan::Limit(limit.clone())).map(Some)
}

fn sorted_aggregate(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let wants_order = |expr: &Expr| {
        matches!(expr, Expr::AggregateFunction(AggregateFunction { func, params })
            if params.order_by.is_empty() && !params.distinct && AGGREGATES.contains(&func.name()))
    };
    if !aggregate.aggr_expr.iter().any(wants_order) {
        return Ok(None);
    }
    let Some(ordered) = Ordered::of(&aggregate.input)? else { return Ok(None) };
    let exprs = aggregate.aggr_expr.iter().map(|expr| match expr {
        Expr::AggregateFunction(AggregateFunction { func, params }) if wants_order(expr) => {
            let mut params = params.clone();
            params.order_by.clone_from(&ordered.keys);
            Expr::AggregateFunction(AggregateFunction { func: Arc::clone(func), params })
        }
        other => other.clone(),
    });
    let exprs = exprs.collect();
    let sorted = Aggregate::try_new(Arc::new(ordered.plan), aggregate.group_expr.clone(), exprs)?;
    projected(LogicalPlan::Aggregate(sorted), &LogicalPlan::Aggregate(aggregate.clone())).map(Some)
}

fn sorted_window(window: &Window) -> Result<Option<LogicalPlan>> {
    let wants_order = |call: &WindowFunction| {
        let name = match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => function.name(),
            WindowFunctionDefinition::WindowUDF(function) => function.name(),
        };
        call.params.order_by.is_empty() && WINDOWS.contains(&name)
    };
    if !window.window_expr.iter().any(|expr| matches!(expr, Expr::WindowFunction(call) if wants_order(call))) {
        return Ok(None);
    }
    let Some(ordered) = Ordered::of(&window.input)? else { return Ok(None) };
    let exprs = window.window_expr.iter().map(|expr| match expr {
        Expr::WindowFunction(call) if wants_order(call) => {
            let mut call = call.clone();
            call.params.order_by.clone_from(&ordered.keys);
            Expr::WindowFunction(call)
        }
        other => other.clone(),
    });
    let exprs = exprs.collect();
    let columns = window.input.schema().fields().len();
    let hidden = ordered.plan.schema().fields().len() - columns;
    let sorted = LogicalPlan::Window(Window::try_new(exprs, Arc::new(ordered.plan))?);
    // The hidden columns stand before those of the window functions.
    let mut order = sorted.schema().columns();
    order.drain(columns..columns + hidden);
    let kept = Projection::try_new(order.into_iter().map(Expr::Column).collect(), Arc::new(sorted))?;
    projected(LogicalPlan::Projection(kept), &LogicalPlan::Window(window.clone())).map(Some)
}
